/* SPDX-License-Identifier: Apache-2.0 */
/* schema_decode.c - the reading half: jansson parses, the table says what may stand
 * there.
 *
 * Reading is generous with keys and strict with values. A key that the table does not
 * know was added by a newer program, which made sure that its absence is harmless; it is
 * skipped. But a value of the wrong type, outside its range, or longer than its array
 * means that the text is damaged or forged, and half a record is worse than none.
 * Invariants:
 *   1. json_t lives in this file only.
 *   2. Whatever the text, the record stays memory-safe: texts end, counts fit, enums have
 *      a name. (NUL in a text, invalid UTF-8 and equal keys are jansson's to refuse, with
 *      the flags given here; schema_test holds it to that.) Rules between fields are the
 * core's (job_spec_check, core_apply).
 *   3. Every refusal names the place, from the outside in: "changes[3].run.plan.size".
 * The walk follows tables, never the text; how deep unknown values may nest is jansson's
 * own limit (2048). */
#include "wire/schema.h"

#include <errno.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/units.h"

#define PATH_DEPTH_MAX 8

/* What decoding one record needs besides the record. */
struct reading {
    const struct record_type *type;
    const struct text_path *path;
    struct err *err;
};

static int decode_record(const struct reading *r, json_t *json, void *record);

int text_path_err(const struct text_path *path, const char *name, int code,
                  struct err *err, const char *fmt, ...)
{
    const struct text_path *way[PATH_DEPTH_MAX];
    char field[ERR_FIELD_MAX] = "";
    char text[ERR_TEXT_MAX];
    struct buf b;
    size_t n = 0;
    va_list args;

    for (; path && n < PATH_DEPTH_MAX; path = path->up)
        way[n++] = path;
    buf_init(&b, sizeof field - 1);
    while (n-- > 0)
        if (way[n]->name)
            buf_printf(&b, "%s%s", b.len ? "." : "", way[n]->name);
        else
            buf_printf(&b, "[%zu]", way[n]->index);
    if (name)
        buf_printf(&b, "%s%s", b.len ? "." : "", name);
    (void)snprintf(field, sizeof field, "%s", b.text);
    buf_release(&b);
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_field(err, code, field, "%s", text);
}

static int wrong_type(const struct reading *r, const struct field *field,
                      const char *wanted)
{
    return text_path_err(r->path, field->name, E_INVALID, r->err, "is not %s", wanted);
}

static int read_integer(const struct reading *r, const struct field *field,
                        const json_t *json, int64_t bounds[2], int64_t *ret)
{
    int64_t value;

    if (!json_is_integer(json))
        return wrong_type(r, field, "an integer");
    value = json_integer_value(json);
    if (value < bounds[0] || value > bounds[1])
        return text_path_err(r->path, field->name, E_INVALID, r->err,
                             "is %lld; it must lie between %lld and %lld",
                             (long long)value, (long long)bounds[0],
                             (long long)bounds[1]);
    *ret = value;
    return 0;
}

static int decode_number(const struct reading *r, const struct field *field,
                         const json_t *json, void *at)
{
    int64_t bounds[2] = {INT64_MIN, INT64_MAX};
    int64_t value = 0;
    int32_t i32;
    uint32_t u32;
    int rc;

    if (field->tag == FIELD_I32 || field->tag == FIELD_ARRAY)
        bounds[0] = INT32_MIN, bounds[1] = INT32_MAX;
    if (field->tag == FIELD_U32)
        bounds[0] = 0, bounds[1] = UINT32_MAX;
    rc = read_integer(r, field, json, bounds, &value);
    if (rc < 0)
        return rc;
    if (field->tag == FIELD_I64) {
        memcpy(at, &value, sizeof value);
    } else if (field->tag == FIELD_U32) {
        u32 = (uint32_t)value;
        memcpy(at, &u32, sizeof u32);
    } else {
        i32 = (int32_t)value;
        memcpy(at, &i32, sizeof i32);
    }
    return 0;
}

/* Says which words would be accepted. */
static int unknown_word(const struct reading *r, const struct field *field,
                        const char *word)
{
    struct buf known;
    int code = field == r->type->kind ? E_VERSION : E_INVALID;
    int rc;

    buf_init(&known, ERR_TEXT_MAX / 2);
    for (int32_t i = 0; i < field->count_max; i++)
        buf_printf(&known, "%s%s", i ? ", " : "", field->word(i));
    rc = text_path_err(r->path, field->name, code, r->err, "is \"%.64s\"; known are %s%s",
                       word, known.text, buf_error(&known) ? ", ..." : "");
    buf_release(&known);
    return rc;
}

static int decode_enum(const struct reading *r, const struct field *field,
                       const json_t *json, void *at)
{
    const char *word = json_string_value(json);

    if (!word)
        return wrong_type(r, field, "a text");
    for (int32_t i = 0; i < field->count_max; i++)
        if (strcmp(word, field->word(i)) == 0) {
            memcpy(at, &i, sizeof i);
            return 0;
        }
    return unknown_word(r, field, word);
}

static int decode_text(const struct reading *r, const struct field *field,
                       const json_t *json, void *at)
{
    const char *text = json_string_value(json);
    size_t len = json_string_length(json);
    char *copy;

    if (!text)
        return wrong_type(r, field, "a text");
    if (len >= field->size)
        return text_path_err(r->path, field->name, E_INVALID, r->err,
                             "has %zu bytes; at most %zu", len, field->size - 1);
    if (field->tag == FIELD_CHARS) {
        memcpy(at, text, len + 1);
        return 0;
    }
    copy = mem_text(text);
    if (!copy)
        return err_set(r->err, E_NOMEM, "out of memory");
    memcpy(at, &copy, sizeof copy);
    return 0;
}

static int decode_array(const struct reading *r, const struct field *field,
                        const json_t *json, void *record)
{
    struct text_path list = {.up = r->path, .name = field->name};
    struct text_path item = {.up = &list};
    struct reading inner = {.type = field->type, .path = &item, .err = r->err};
    struct field number = {.tag = FIELD_I32};
    char *at = (char *)record + field->offset;
    size_t n = json_array_size(json);
    int32_t count = (int32_t)n;
    int rc = 0;

    if (!json_is_array(json))
        return wrong_type(r, field, "a list");
    if (n > (size_t)field->count_max)
        return text_path_err(r->path, field->name, E_INVALID, r->err,
                             "has %zu items; at most %d", n, field->count_max);
    for (size_t i = 0; i < n && rc == 0; i++, at += field->size) {
        item.index = i;
        rc = field->type ? decode_record(&inner, json_array_get(json, i), at)
                         : decode_number(&inner, &number, json_array_get(json, i), at);
    }
    if (rc == 0)
        memcpy((char *)record + field->count_offset, &count, sizeof count);
    return rc;
}

static int decode_inner(const struct reading *r, const struct field *field, json_t *json,
                        void *at)
{
    struct text_path path = {.up = r->path, .name = field->name};
    struct reading inner = {.type = field->type, .path = &path, .err = r->err};
    void *record = at;

    if (field->tag == FIELD_POINTER) {
        record = mem_new(1, field->type->size);
        if (!record)
            return err_set(r->err, E_NOMEM, "out of memory");
        memcpy(at, &record, sizeof record);
    }
    return decode_record(&inner, json, record);
}

static int decode_field(const struct reading *r, const struct field *field, json_t *json,
                        void *record)
{
    char *at = (char *)record + field->offset;

    switch (field->tag) {
    case FIELD_BOOL:
        if (!json_is_boolean(json))
            return wrong_type(r, field, "true or false");
        *(bool *)at = json_is_true(json);
        return 0;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_I64:
        return decode_number(r, field, json, at);
    case FIELD_ENUM:
        return decode_enum(r, field, json, at);
    case FIELD_CHARS:
    case FIELD_TEXT:
        return decode_text(r, field, json, at);
    case FIELD_RECORD:
    case FIELD_POINTER:
        return decode_inner(r, field, json, at);
    case FIELD_ARRAY:
        return decode_array(r, field, json, record);
    }
    return 0;
}

/* Index of the field of this name, or n_fields. */
static size_t find_field(const struct record_type *type, const char *name)
{
    size_t low = 0;
    size_t high = type->n_fields;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, type->fields[middle].name);

        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return type->n_fields;
}

static int decode_kind(const struct reading *r, json_t *json, void *record)
{
    const struct field *kind = r->type->kind;
    const json_t *word = json_object_get(json, kind->name);

    if (!word)
        return text_path_err(r->path, kind->name, E_INVALID, r->err, "is missing");
    return decode_enum(r, kind, word, (char *)record + kind->offset);
}

static int check_needed(const struct reading *r, const void *record, uint64_t seen)
{
    for (size_t i = 0; i < r->type->n_fields; i++) {
        const struct field *field = &r->type->fields[i];

        if ((field->flags & FIELD_NEED) && !(seen >> i & 1) &&
            schema_has_field(r->type, field, record))
            return text_path_err(r->path, field->name, E_INVALID, r->err, "is missing");
    }
    return 0;
}

static int decode_record(const struct reading *r, json_t *json, void *record)
{
    const char *key;
    json_t *value;
    uint64_t seen = 0;
    int rc = 0;

    ASSERT(r->type->n_fields <= FIELDS_MAX);
    if (!json_is_object(json))
        return text_path_err(r->path, NULL, E_INVALID, r->err, "is not an object");
    if (r->type->kind)
        rc = decode_kind(r, json, record);
    if (rc < 0)
        return rc;
    json_object_foreach(json, key, value)
    {
        size_t i = find_field(r->type, key);

        if (i == r->type->n_fields ||
            !schema_has_field(r->type, &r->type->fields[i], record))
            continue;
        rc = decode_field(r, &r->type->fields[i], value, record);
        if (rc < 0)
            return rc;
        seen |= (uint64_t)1 << i;
    }
    return check_needed(r, record, seen);
}

/* jansson reports a failed allocation as a syntax error, as an error without text, or as
 * what it is; only errno is certain. To call a good journal damaged would be worse. */
static int parse_failed(const struct text_path *path, const json_error_t *why,
                        struct err *err)
{
    if (errno == ENOMEM || json_error_code(why) == json_error_out_of_memory)
        return err_set(err, E_NOMEM, "out of memory");
    return text_path_err(path, NULL, E_INVALID, err, "is not JSON: %s at byte %d",
                         why->text, why->position);
}

int schema_decode(const struct record_type *type, const char *text, size_t len,
                  void *record, const struct text_path *path, struct err *err)
{
    const struct reading r = {.type = type, .path = path, .err = err};
    json_error_t why = {0};
    json_t *json;
    int rc;

    errno = 0;
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!json)
        return parse_failed(path, &why, err);
    rc = decode_record(&r, json, record);
    json_decref(json);
    return rc;
}
