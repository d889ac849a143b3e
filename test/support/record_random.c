/* SPDX-License-Identifier: Apache-2.0 */
/* record_random.c - see record_random.h. */
#include "record_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

struct rng record_rng(uint64_t seed)
{
    print_message("# seed %llu\n", (unsigned long long)seed);
    return rng_stream(seed, "records");
}

static void random_text(struct rng *rng, char *text, size_t size)
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
    size_t want = 1 + rng_below(rng, (uint64_t)size);
    size_t n = 0;

    for (;;) {
        const char *letter = letters[rng_below(rng, sizeof letters / sizeof letters[0])];

        if (n + strlen(letter) >= size || n + strlen(letter) > want)
            break;
        memcpy(text + n, letter, strlen(letter));
        n += strlen(letter);
    }
    text[n] = '\0';
}

/* Small, large, negative, and the ends of the range. */
static int64_t random_i64(struct rng *rng)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, -1, 1, INT32_MIN, INT32_MAX};
    uint64_t bits = rng_u64(rng);

    if (rng_below(rng, 8) == 0)
        return ends[rng_below(rng, 6)];
    return (int64_t)(bits >> rng_below(rng, 64)) * (rng_below(rng, 4) ? 1 : -1);
}

static void random_array(const struct field *f, struct rng *rng, char *record)
{
    int32_t n = (int32_t)rng_below(rng, (uint64_t)f->count_max + 1);
    char *item = record + f->offset;

    memcpy(record + f->count_offset, &n, sizeof n);
    for (int32_t i = 0; i < n; i++, item += f->size) {
        int32_t value = (int32_t)rng_u64(rng);

        if (f->type)
            record_random(f->type, rng, item);
        else
            memcpy(item, &value, sizeof value);
    }
}

static void random_pointer(const struct field *f, struct rng *rng, char *at)
{
    char text[200];
    void *p;

    if (f->tag == FIELD_TEXT) {
        random_text(rng, text, sizeof text);
        p = mem_text(text);
    } else {
        p = mem_new(1, f->type->size);
    }
    assert_non_null(p);
    if (f->tag == FIELD_POINTER)
        record_random(f->type, rng, p);
    memcpy(at, &p, sizeof p);
}

static void random_field(const struct field *f, struct rng *rng, char *record)
{
    char *at = record + f->offset;
    int64_t i64 = random_i64(rng);
    int32_t i32 = (int32_t)i64;

    switch (f->tag) {
    case FIELD_BOOL:
        *(bool *)at = rng_below(rng, 2);
        return;
    case FIELD_I32:
    case FIELD_U32:
        memcpy(at, &i32, sizeof i32);
        return;
    case FIELD_I64:
        memcpy(at, &i64, sizeof i64);
        return;
    case FIELD_ENUM:
        i32 = (int32_t)rng_below(rng, (uint64_t)f->count_max);
        memcpy(at, &i32, sizeof i32);
        return;
    case FIELD_CHARS:
        random_text(rng, at, f->size);
        return;
    case FIELD_TEXT:
    case FIELD_POINTER:
        random_pointer(f, rng, at);
        return;
    case FIELD_RECORD:
        record_random(f->type, rng, at);
        return;
    case FIELD_ARRAY:
        random_array(f, rng, record);
        return;
    }
}

void record_random(const struct record_type *type, struct rng *rng, void *record)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];

        if (type->kind && f->offset == type->kind->offset)
            continue;
        if (!schema_has_field(type, f, record))
            continue;
        if ((f->flags & FIELD_NEED) || rng_below(rng, 4))
            random_field(f, rng, record);
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
