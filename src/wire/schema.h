/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - records as JSON objects, driven by tables.
 *
 * A record type is a table of fields, sorted by their JSON names. One table serves both
 * ways, so that nothing can be written that is not read. Memory: text fields and records
 * behind a pointer belong to the record (mem_free); decoding allocates them. */
#ifndef WIRE_SCHEMA_H
#define WIRE_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum field_tag {
    FIELD_BOOL,
    FIELD_I32,
    FIELD_U32,
    FIELD_I64,     /* usec_t too; the JSON name ends with the unit */
    FIELD_ENUM,    /* by name */
    FIELD_CHARS,   /* char[size] */
    FIELD_TEXT,    /* char *, owned; NULL is absent; less than `size` bytes */
    FIELD_RECORD,  /* a struct inside */
    FIELD_POINTER, /* a pointer to a struct, owned; NULL is absent */
    FIELD_ARRAY    /* size_max records, or int32_t where type is NULL; as many as the
                      int32_t at count_offset says */
};

/* Flags. A field without KEEP is left out when it is 0, false, "" or empty. */
enum {
    FIELD_KEEP = 1, /* written always: for people who read without knowing the defaults */
    FIELD_NEED = 2  /* written always, and a text without it is refused */
};

#define FIELDS_MAX 64 /* of one type; one bit for each is kept while decoding */

struct record_type;

struct field {
    const char *name;
    enum field_tag tag;
    unsigned flags;
    unsigned kinds; /* of a record with kinds: one bit for each that has it; 0: all */
    size_t offset;
    size_t size;                    /* CHARS, TEXT: bytes; ARRAY: bytes of an item */
    size_t count_offset;            /* ARRAY */
    int32_t count_max;              /* ARRAY; ENUM: number of values */
    const char *(*word)(int);       /* ENUM */
    const struct record_type *type; /* RECORD, POINTER, ARRAY */
};

struct record_type {
    size_t size;
    const struct field *fields; /* sorted by name */
    size_t n_fields;
    /* The enum that tells which fields there are, or NULL. An unknown name of it is
     * E_VERSION: written by a program that knows more than this one. */
    const struct field *kind;
};

/* Where in a text something stands: "changes[3].run". The outermost has up = NULL. */
struct text_path {
    const struct text_path *up;
    const char *name; /* NULL: an index */
    size_t index;
};

/* Appends {...}; errors stick in the buf. Bytes that are no UTF-8 are written as '?'. */
void schema_encode(const struct record_type *type, const void *record, struct buf *out);
/* Appends "..." with what JSON wants escaped. */
void schema_encode_text(const char *text, size_t len, struct buf *out);

/* Whether the field exists in this record, which counts only where the type has kinds. */
bool schema_has_field(const struct record_type *type, const struct field *field,
                      const void *record);

/* Reads one JSON object into *record, which the caller zeroed. Unknown keys are ignored,
 * absent ones leave 0. Returns 0, E_INVALID, E_VERSION or E_NOMEM; err names the place.
 * After a failure the record may own texts and records: release it as after success. */
int schema_decode(const struct record_type *type, const char *text, size_t len,
                  void *record, const struct text_path *path, struct err *err);

/* err_field() with the path as the field; `name` (may be NULL) is appended to it. */
int text_path_err(const struct text_path *path, const char *name, int code,
                  struct err *err, const char *fmt, ...) ATTR_PRINTF(5, 6);

#endif
