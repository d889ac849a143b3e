/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - the writing half: a record becomes text by one walk over its table.
 *
 * The daemon writes several records in every step, so text goes straight into the buffer
 * and no tree is built on the way. Invariants:
 *   1. Keys come out sorted, because tables are (a test proves it).
 *   2. A field at its default is left out unless it is flagged. So a row is short, the
 *      same state has one text only, and a field added later costs old rows nothing:
 *      what is absent reads as 0, "" or false, whoever wrote it and when.
 *   3. What is written can be read. The core cuts its reasons at a number of bytes and
 *      passes on names that users chose, so a text may hold half a character; JSON has no
 *      way to say that. Such bytes are written as '?', one for one: no text grows past
 *      its limit, and writing what was read gives the same text again.
 * The walk follows tables, never data, so its depth is fixed (four levels at present). */
#include "wire/schema.h"

#include <string.h>

#include "base/assert.h"
#include "base/units.h"

static void put_integer(struct buf *out, int64_t value)
{
    char text[24];
    char *p = text + sizeof text;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--p = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest);
    if (value < 0)
        *--p = '-';
    buf_add(out, p, (size_t)(text + sizeof text - p));
}

/* Bytes of the character at p, of which `left` >= 1 may be read; 0 when it is no UTF-8:
 * cut short, longer than needed, a surrogate, or above U+10FFFF. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : 4;
    uint32_t code = p[0] & (0x7fu >> n);

    if (n == 1)
        return 1;
    if ((n == 4 && p[0] >> 3 != 30) || n > left)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        code = code << 6 | (p[i] & 0x3fu);
    }
    if (code < least[n] || code > 0x10ffff || code >> 11 == 0xd800 >> 11)
        return 0;
    return n;
}

static void put_escaped(struct buf *out, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    char text[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};

    if (c == '"' || c == '\\')
        text[1] = (char)c;
    else if (c == '\n')
        text[1] = 'n';
    else if (c == '\t')
        text[1] = 't';
    buf_add(out, text, text[1] == 'u' ? 6 : 2);
}

void schema_encode_text(const char *text, size_t len, struct buf *out)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t plain = 0; /* everything from here to i goes out as it is */
    size_t i = 0;

    buf_putc(out, '"');
    while (i < len) {
        size_t n = 1;

        if (bytes[i] >= 0x80)
            n = utf8_length(bytes + i, len - i);
        if (n > 0 && bytes[i] >= ' ' && bytes[i] != '"' && bytes[i] != '\\') {
            i += n;
            continue;
        }
        buf_add(out, text + plain, i - plain);
        if (n == 0)
            buf_putc(out, '?');
        else
            put_escaped(out, bytes[i]);
        plain = ++i;
    }
    buf_add(out, text + plain, len - plain);
    buf_putc(out, '"');
}

static int32_t read_i32(const void *at)
{
    int32_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static int64_t read_i64(const void *at)
{
    int64_t value;

    memcpy(&value, at, sizeof value);
    return value;
}

static const void *read_pointer(const void *at)
{
    const void *value;

    memcpy(&value, at, sizeof value);
    return value;
}

bool schema_has_field(const struct record_type *type, const struct field *field,
                      const void *record)
{
    int32_t kind;

    if (!type->kind || field->kinds == 0)
        return true;
    kind = read_i32((const char *)record + type->kind->offset);
    ASSERT(kind >= 0);
    ASSERT(kind < type->kind->count_max);
    return (field->kinds & BIT(kind)) != 0;
}

static bool is_default(const struct record_type *type, const void *record);

/* `record` is the struct that has the field. */
static bool field_is_default(const struct field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;

    switch (field->tag) {
    case FIELD_BOOL:
        return !*(const bool *)at;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM:
        return read_i32(at) == 0;
    case FIELD_I64:
        return read_i64(at) == 0;
    case FIELD_CHARS:
        return *at == '\0';
    case FIELD_TEXT:
    case FIELD_POINTER:
        return read_pointer(at) == NULL;
    case FIELD_RECORD:
        return is_default(field->type, at);
    case FIELD_ARRAY:
        return read_i32((const char *)record + field->count_offset) == 0;
    }
    return false;
}

static bool is_default(const struct record_type *type, const void *record)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (!field_is_default(&type->fields[i], record))
            return false;
    return true;
}

static void put_text(const char *text, struct buf *out)
{
    schema_encode_text(text, strlen(text), out);
}

static void put_chars(const char *text, size_t size, struct buf *out)
{
    const char *end = memchr(text, '\0', size);

    ASSERT(end != NULL);
    schema_encode_text(text, (size_t)(end - text), out);
}

static void put_array(const struct field *field, const void *record, struct buf *out)
{
    const char *item = (const char *)record + field->offset;
    int32_t n = read_i32((const char *)record + field->count_offset);

    ASSERT(n >= 0);
    ASSERT(n <= field->count_max);
    buf_putc(out, '[');
    for (int32_t i = 0; i < n; i++, item += field->size) {
        if (i > 0)
            buf_putc(out, ',');
        if (field->type)
            schema_encode(field->type, item, out);
        else
            put_integer(out, read_i32(item));
    }
    buf_putc(out, ']');
}

static void put_value(const struct field *field, const void *record, struct buf *out)
{
    const char *at = (const char *)record + field->offset;

    switch (field->tag) {
    case FIELD_BOOL:
        buf_puts(out, *(const bool *)at ? "true" : "false");
        return;
    case FIELD_I32:
        put_integer(out, read_i32(at));
        return;
    case FIELD_U32:
        put_integer(out, (uint32_t)read_i32(at));
        return;
    case FIELD_I64:
        put_integer(out, read_i64(at));
        return;
    case FIELD_ENUM:
        put_text(field->word(read_i32(at)), out);
        return;
    case FIELD_CHARS:
        put_chars(at, field->size, out);
        return;
    case FIELD_TEXT:
        put_text(read_pointer(at), out);
        return;
    case FIELD_RECORD:
        schema_encode(field->type, at, out);
        return;
    case FIELD_POINTER:
        schema_encode(field->type, read_pointer(at), out);
        return;
    case FIELD_ARRAY:
        put_array(field, record, out);
        return;
    }
}

void schema_encode(const struct record_type *type, const void *record, struct buf *out)
{
    char before = '{';

    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *field = &type->fields[i];

        if (!schema_has_field(type, field, record))
            continue;
        if (!field->flags && field_is_default(field, record))
            continue;
        buf_putc(out, before);
        buf_putc(out, '"');
        buf_puts(out, field->name);
        buf_add(out, "\":", 2);
        put_value(field, record, out);
        before = ',';
    }
    if (before == '{')
        buf_putc(out, '{');
    buf_putc(out, '}');
}
