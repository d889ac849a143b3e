/* SPDX-License-Identifier: Apache-2.0 */
/* record_testing.c - see record_testing.h. The random numbers are splitmix64. */
#include "wire/record_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

static uint64_t dice_bits(struct dice *d)
{
    uint64_t z = d->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

struct dice dice_init(uint64_t seed)
{
    print_message("# seed %llu\n", (unsigned long long)seed);
    return (struct dice){seed};
}

uint32_t dice_roll(struct dice *d, uint32_t n)
{
    return (uint32_t)(dice_bits(d) >> 32) % n;
}

static void random_text(struct dice *d, char *text, size_t size)
{
    static const char *const letters[] = {
        "a",
        "b",
        "Z",
        "0",
        "-",
        "_",
        " ",
        "/",
        "\"",
        "\\",
        "\n",
        "\t",
        "\r",
        "\x01",
        "\x1f",
        "\x7f",
        "{",
        "\xc3\xa9",
        "\xe2\x82\xac",
        "\xef\xbf\xbf",
        "\xf0\x9f\x90\xb1",
    };
    size_t want = 1 + dice_roll(d, (uint32_t)size);
    size_t n = 0;

    for (;;) {
        const char *letter = letters[dice_roll(d, sizeof letters / sizeof letters[0])];

        if (n + strlen(letter) >= size || n + strlen(letter) > want)
            break;
        memcpy(text + n, letter, strlen(letter));
        n += strlen(letter);
    }
    text[n] = '\0';
}

/* Small, large, negative, and the ends of the range. */
static int64_t random_i64(struct dice *d)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, -1, 1, INT32_MIN, INT32_MAX};
    uint64_t bits = dice_bits(d);

    if (dice_roll(d, 8) == 0)
        return ends[dice_roll(d, 6)];
    return (int64_t)(bits >> dice_roll(d, 64)) * (dice_roll(d, 4) ? 1 : -1);
}

static void random_array(const struct field *f, struct dice *d, char *record)
{
    int32_t n = (int32_t)dice_roll(d, (uint32_t)f->count_max + 1);
    char *item = record + f->offset;

    memcpy(record + f->count_offset, &n, sizeof n);
    for (int32_t i = 0; i < n; i++, item += f->size) {
        int32_t value = (int32_t)dice_bits(d);

        if (f->type)
            record_random(f->type, d, item);
        else
            memcpy(item, &value, sizeof value);
    }
}

static void random_pointer(const struct field *f, struct dice *d, char *at)
{
    char text[200];
    void *p;

    if (f->tag == FIELD_TEXT) {
        random_text(d, text, sizeof text);
        p = mem_text(text);
    } else {
        p = mem_new(1, f->type->size);
    }
    assert_non_null(p);
    if (f->tag == FIELD_POINTER)
        record_random(f->type, d, p);
    memcpy(at, &p, sizeof p);
}

static void random_field(const struct field *f, struct dice *d, char *record)
{
    char *at = record + f->offset;
    int64_t i64 = random_i64(d);
    int32_t i32 = (int32_t)i64;

    switch (f->tag) {
    case FIELD_BOOL:
        *(bool *)at = dice_roll(d, 2);
        return;
    case FIELD_I32:
    case FIELD_U32:
        memcpy(at, &i32, sizeof i32);
        return;
    case FIELD_I64:
        memcpy(at, &i64, sizeof i64);
        return;
    case FIELD_ENUM:
        i32 = (int32_t)dice_roll(d, (uint32_t)f->count_max);
        memcpy(at, &i32, sizeof i32);
        return;
    case FIELD_CHARS:
        random_text(d, at, f->size);
        return;
    case FIELD_TEXT:
    case FIELD_POINTER:
        random_pointer(f, d, at);
        return;
    case FIELD_RECORD:
        record_random(f->type, d, at);
        return;
    case FIELD_ARRAY:
        random_array(f, d, record);
        return;
    }
}

void record_random(const struct record_type *type, struct dice *d, void *record)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];

        if (type->kind && f->offset == type->kind->offset)
            continue;
        if (!schema_has_field(type, f, record))
            continue;
        if ((f->flags & FIELD_NEED) || dice_roll(d, 4))
            random_field(f, d, record);
    }
}

static void *pointer_at(const char *at)
{
    void *p;

    memcpy(&p, at, sizeof p);
    return p;
}

static bool array_equal(const struct field *f, const char *a, const char *b,
                        const char **ret_name)
{
    int32_t n;

    if (memcmp(a + f->count_offset, b + f->count_offset, sizeof n) != 0)
        return false;
    memcpy(&n, a + f->count_offset, sizeof n);
    for (size_t i = 0; i < (size_t)n; i++) {
        const char *ia = a + f->offset + i * f->size;
        const char *ib = b + f->offset + i * f->size;

        if (f->type ? !record_equal(f->type, ia, ib, ret_name)
                    : memcmp(ia, ib, f->size) != 0)
            return false;
    }
    return true;
}

static bool field_equal(const struct field *f, const char *a, const char *b,
                        const char **ret_name)
{
    const char *fa = a + f->offset;
    const char *fb = b + f->offset;

    switch (f->tag) {
    case FIELD_BOOL:
        return *(const bool *)fa == *(const bool *)fb;
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM:
        return memcmp(fa, fb, 4) == 0;
    case FIELD_I64:
        return memcmp(fa, fb, 8) == 0;
    case FIELD_CHARS:
        return strcmp(fa, fb) == 0;
    case FIELD_TEXT:
    case FIELD_POINTER:
        fa = pointer_at(fa);
        fb = pointer_at(fb);
        if (!fa || !fb)
            return fa == fb;
        return f->tag == FIELD_TEXT ? strcmp(fa, fb) == 0
                                    : record_equal(f->type, fa, fb, ret_name);
    case FIELD_RECORD:
        return record_equal(f->type, fa, fb, ret_name);
    case FIELD_ARRAY:
        return array_equal(f, a, b, ret_name);
    }
    return false;
}

bool record_equal(const struct record_type *type, const void *a, const void *b,
                  const char **ret_name)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        if (!schema_has_field(type, &type->fields[i], a))
            continue;
        *ret_name = type->fields[i].name;
        if (!field_equal(&type->fields[i], a, b, ret_name))
            return false;
    }
    return true;
}

void record_release(const struct record_type *type, void *record)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];
        char *at = (char *)record + f->offset;

        if (!schema_has_field(type, f, record))
            continue;
        if (f->tag == FIELD_RECORD)
            record_release(f->type, at);
        if (f->tag != FIELD_TEXT && f->tag != FIELD_POINTER)
            continue;
        if (f->tag == FIELD_POINTER && pointer_at(at))
            record_release(f->type, pointer_at(at));
        mem_free(pointer_at(at));
        memset(at, 0, sizeof(void *));
    }
}
