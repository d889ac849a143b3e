/* SPDX-License-Identifier: Apache-2.0 */
/* jsonin.h - strict reading of JSON objects that people or other programs send.
 *
 * A struct jsonin is one object being read: each field is taken by name, and
 * jsonin_end() refuses what nobody took. Errors stick: after the first one the readers do
 * nothing. The field of an error is the path of the value ("sizes.min"). Absent fields
 * leave the result as it is, which is how defaults work.
 *
 * This header is the inner side of the door: only .c files of wire include it. */
#ifndef WIRE_JSONIN_H
#define WIRE_JSONIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define JSONIN_DEPTH_MAX  8
#define JSONIN_FIELDS_MAX 48 /* names that one object may ask for */

struct jsonin {
    json_t *object;   /* lent */
    const char *path; /* of the object: "" or "sizes." */
    const char *taken[JSONIN_FIELDS_MAX];
    size_t n_taken;
    struct err *err; /* may be NULL */
    int rc;          /* 0, or the first error */
};

/* Parses one value: UTF-8, no duplicate keys, nothing behind it, at most max bytes and
 * JSONIN_DEPTH_MAX deep. E_INVALID with line and column, E_LIMIT, E_NOMEM. */
int jsonin_parse(const char *text, size_t len, size_t max, json_t **ret, struct err *err);

/* value must be an object, else E_INVALID is already set in `in`. */
void jsonin_begin(struct jsonin *in, json_t *value, const char *path, struct err *err);

/* The value of a field, lent; NULL when absent (or after an error). */
json_t *jsonin_any(struct jsonin *in, const char *name);
/* Each returns whether the field was there and right. */
bool jsonin_i64(struct jsonin *in, const char *name, int64_t min, int64_t max,
                int64_t *inout);
bool jsonin_i32(struct jsonin *in, const char *name, int32_t min, int32_t max,
                int32_t *inout);
/* Lends the text until the JSON value dies. */
bool jsonin_text(struct jsonin *in, const char *name, const char **inout);
/* Copies into a field of `size` bytes. */
bool jsonin_copy(struct jsonin *in, const char *name, char *inout, size_t size);
/* The index of the text among n names. */
bool jsonin_enum(struct jsonin *in, const char *name, const char *(*name_of)(int value),
                 int n, int *inout);
/* The field as an array of at most max items, lent. */
json_t *jsonin_array(struct jsonin *in, const char *name, size_t max);
/* Sets the error, with the path of the field. */
int jsonin_fail(struct jsonin *in, int code, const char *name, const char *fmt, ...)
    ATTR_PRINTF(4, 5);

/* Refuses fields that were not taken, with the nearest known name. Returns in->rc. */
int jsonin_end(struct jsonin *in);

#endif
