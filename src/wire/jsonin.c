/* SPDX-License-Identifier: Apache-2.0 */
/* jsonin.c - see jsonin.h. jansson refuses bad UTF-8, "\u0000" and trailing bytes by
 * itself; its own depth limit (2048) is harmless, ours is for meaning: no record of ours
 * is deeper. */
#include "wire/jsonin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "wire/suggest.h"

/* Depth by counting brackets outside of texts: before parsing, so that no tree of silly
 * depth is ever built (or freed) by recursion. */
static bool is_too_deep(const char *text, size_t len)
{
    int depth = 0;
    bool in_text = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (in_text) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_text = false;
        } else if (c == '"') {
            in_text = true;
        } else if (c == '{' || c == '[') {
            if (++depth > JSONIN_DEPTH_MAX)
                return true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return false;
}

int jsonin_parse(const char *text, size_t len, size_t max, json_t **ret, struct err *err)
{
    json_error_t why;
    json_t *value;

    if (len > max)
        return err_set(err, E_LIMIT, "has %zu bytes; at most %zu", len, max);
    if (is_too_deep(text, len))
        return err_set(err, E_LIMIT, "is nested deeper than %d levels", JSONIN_DEPTH_MAX);
    value = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!value && json_error_code(&why) == json_error_out_of_memory)
        return err_set(err, E_NOMEM, "out of memory");
    if (!value)
        return err_set(err, E_INVALID, "is not JSON: line %d, column %d: %s", why.line,
                       why.column, why.text);
    *ret = value;
    return 0;
}

int jsonin_fail(struct jsonin *in, int code, const char *name, const char *fmt, ...)
{
    char field[ERR_FIELD_MAX];
    char text[ERR_TEXT_MAX];
    va_list args;

    if (in->rc < 0)
        return in->rc;
    (void)snprintf(field, sizeof field, "%s%s", in->path, name);
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    in->rc = err_field(in->err, code, field, "%s", text);
    return in->rc;
}

void jsonin_begin(struct jsonin *in, json_t *value, const char *path, struct err *err)
{
    *in = (struct jsonin){.object = value, .path = path, .err = err};
    if (!json_is_object(value)) {
        size_t n = strlen(path);

        in->object = NULL;
        in->rc = err_set(err, E_INVALID, "%.*s%sis not an object", n ? (int)n - 1 : 0,
                         path, n ? " " : "");
    }
}

json_t *jsonin_any(struct jsonin *in, const char *name)
{
    if (in->rc < 0)
        return NULL;
    ASSERT(in->n_taken < JSONIN_FIELDS_MAX);
    in->taken[in->n_taken++] = name;
    return json_object_get(in->object, name);
}

bool jsonin_i64(struct jsonin *in, const char *name, int64_t min, int64_t max,
                int64_t *inout)
{
    json_t *value = jsonin_any(in, name);
    json_int_t n;

    if (!value)
        return false;
    if (!json_is_integer(value)) {
        (void)jsonin_fail(in, E_INVALID, name, "is not a whole number");
        return false;
    }
    n = json_integer_value(value);
    if (n < min || n > max) {
        (void)jsonin_fail(in, E_INVALID, name, "is %lld; give %lld to %lld", (long long)n,
                          (long long)min, (long long)max);
        return false;
    }
    *inout = n;
    return true;
}

bool jsonin_i32(struct jsonin *in, const char *name, int32_t min, int32_t max,
                int32_t *inout)
{
    int64_t n = 0;

    if (!jsonin_i64(in, name, min, max, &n))
        return false;
    *inout = (int32_t)n;
    return true;
}

bool jsonin_text(struct jsonin *in, const char *name, const char **inout)
{
    json_t *value = jsonin_any(in, name);

    if (!value)
        return false;
    if (!json_is_string(value)) {
        (void)jsonin_fail(in, E_INVALID, name, "is not a text");
        return false;
    }
    *inout = json_string_value(value);
    return true;
}

bool jsonin_copy(struct jsonin *in, const char *name, char *inout, size_t size)
{
    const char *text = NULL;

    if (!jsonin_text(in, name, &text))
        return false;
    if (strlen(text) >= size) {
        (void)jsonin_fail(in, E_INVALID, name, "is longer than %zu bytes", size - 1);
        return false;
    }
    memcpy(inout, text, strlen(text) + 1);
    return true;
}

bool jsonin_enum(struct jsonin *in, const char *name, const char *(*name_of)(int value),
                 int n, int *inout)
{
    const char *text = NULL;
    char known[200] = "";
    size_t at = 0;

    if (!jsonin_text(in, name, &text))
        return false;
    for (int i = 0; i < n; i++)
        if (strcmp(text, name_of(i)) == 0) {
            *inout = i;
            return true;
        }
    for (int i = 0; i < n && at < sizeof known; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, "%s%s", i ? ", " : "",
                               name_of(i));
    (void)jsonin_fail(in, E_INVALID, name, "is '%.40s'; give one of %s", text, known);
    return false;
}

json_t *jsonin_array(struct jsonin *in, const char *name, size_t max)
{
    json_t *value = jsonin_any(in, name);

    if (!value)
        return NULL;
    if (!json_is_array(value)) {
        (void)jsonin_fail(in, E_INVALID, name, "is not an array");
        return NULL;
    }
    if (json_array_size(value) > max) {
        (void)jsonin_fail(in, E_LIMIT, name, "has %zu entries; at most %zu",
                          json_array_size(value), max);
        return NULL;
    }
    return value;
}

static const char *taken_word(const void *ctx, size_t index)
{
    const struct jsonin *in = ctx;

    return index < in->n_taken ? in->taken[index] : NULL;
}

static bool was_taken(const struct jsonin *in, const char *key)
{
    for (size_t i = 0; i < in->n_taken; i++)
        if (strcmp(in->taken[i], key) == 0)
            return true;
    return false;
}

int jsonin_end(struct jsonin *in)
{
    const char *key;
    json_t *value;

    if (in->rc < 0)
        return in->rc;
    json_object_foreach(in->object, key, value)
    {
        const char *near;
        char short_key[41];

        if (was_taken(in, key))
            continue;
        near = suggest_nearest(key, taken_word, in);
        (void)snprintf(short_key, sizeof short_key, "%s", key);
        if (near)
            return jsonin_fail(in, E_INVALID, short_key,
                               "is not a known field; did you mean '%s'?", near);
        return jsonin_fail(in, E_INVALID, short_key, "is not a known field");
    }
    return 0;
}
