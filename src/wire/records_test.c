/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/change.h"
#include "core/event.h"
#include "support/record_random.h"

#define ROUNDS 300

static const struct {
    const char *name;
    const struct record_type *type;
} types[] = {
    {"size_set", &record_size_set}, {"spec", &record_spec},
    {"plan", &record_plan},         {"run", &record_run},
    {"node", &record_node},         {"hold", &record_hold},
    {"globals", &record_globals},   {"config", &record_config},
    {"model", &record_model},       {"event", &record_event},
    {"change", &record_change},     {"profile", &record_profile},
    {"mark", &record_mark},
};

/* Tables of tables are looked at too. */
static void for_each_type(void (*look)(const char *name, const struct record_type *type))
{
    for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
        const struct record_type *type = types[i].type;

        look(types[i].name, type);
        for (size_t j = 0; j < type->n_fields; j++)
            if (type->fields[j].type)
                look(type->fields[j].name, type->fields[j].type);
    }
}

static void look_at_names(const char *name, const struct record_type *type)
{
    assert_true(type->n_fields <= FIELDS_MAX);
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];

        assert_int_equal(strspn(f->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(f->name));
        if (i > 0 && strcmp(type->fields[i - 1].name, f->name) >= 0)
            fail_msg("%s: %s does not come before %s", name, type->fields[i - 1].name,
                     f->name);
    }
}

static void record_tables_are_sorted_by_name(void **state)
{
    (void)state;
    for_each_type(look_at_names);
}

static size_t field_bytes(const struct field *f)
{
    switch (f->tag) {
    case FIELD_BOOL:
        return sizeof(bool);
    case FIELD_I32:
    case FIELD_U32:
    case FIELD_ENUM:
        return 4;
    case FIELD_I64:
        return 8;
    case FIELD_CHARS:
        return f->size;
    case FIELD_TEXT:
    case FIELD_POINTER:
        return sizeof(void *);
    case FIELD_RECORD:
        return f->type->size;
    case FIELD_ARRAY:
        return f->size * (size_t)f->count_max;
    }
    return 0;
}

/* Alignment of what begins at this offset; 8 at the end of a struct. */
static size_t alignment_at(const struct record_type *type, size_t offset)
{
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];

        if (f->tag == FIELD_ARRAY && f->count_offset == offset)
            return 4;
        if (f->offset == offset && f->tag == FIELD_CHARS)
            return 1;
        if (f->offset == offset)
            return field_bytes(f) % 8 ? field_bytes(f) % 4 ? 1 : 4 : 8;
    }
    return 8;
}

static void cover(unsigned char *bytes, size_t offset, size_t n, const char *name)
{
    for (size_t i = offset; i < offset + n; i++) {
        if (bytes[i])
            fail_msg("%s lies over another member", name);
        bytes[i] = 1;
    }
}

/* Every byte of the struct belongs to one field, or is padding before an aligned one. */
static void look_at_cover(const char *name, const struct record_type *type)
{
    unsigned char *bytes = mem_new(type->size, 1);
    size_t gap = 0;

    assert_non_null(bytes);
    if (type->kind) {
        mem_free(bytes);
        return;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct field *f = &type->fields[i];

        cover(bytes, f->offset, field_bytes(f), f->name);
        if (f->tag == FIELD_ARRAY)
            cover(bytes, f->count_offset, sizeof(int32_t), f->name);
    }
    for (size_t i = 0; i <= type->size; i++) {
        if (i < type->size && !bytes[i]) {
            gap++;
            continue;
        }
        if (gap >= alignment_at(type, i))
            fail_msg("%s: a member before byte %zu of %zu has no field", name, i,
                     type->size);
        gap = 0;
    }
    mem_free(bytes);
}

static void record_tables_name_every_member(void **state)
{
    (void)state;
    for_each_type(look_at_cover);
}

/* Encodes, decodes, compares, encodes again. */
static void round_trip(const struct record_type *type, const void *record)
{
    struct buf first, second;
    void *back = mem_new(1, type->size);
    const char *name = "";
    struct err err = {0};

    assert_non_null(back);
    buf_init(&first, 1 << 20);
    buf_init(&second, 1 << 20);
    schema_encode(type, record, &first);
    assert_int_equal(buf_error(&first), 0);
    if (schema_decode(type, first.text, first.len, back, NULL, &err) < 0)
        fail_msg("%s %s: %s", err.field, err.text, first.text);
    if (!record_equal(type, record, back, &name))
        fail_msg("%s came back otherwise: %s", name, first.text);
    schema_encode(type, back, &second);
    assert_string_equal(first.text, second.text);
    record_release(type, back);
    mem_free(back);
    buf_release(&first);
    buf_release(&second);
}

static void random_records_come_back_equal(void **state)
{
    struct rng rng = record_rng(7);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        for (int round = 0; round < ROUNDS; round++) {
            const struct record_type *type = types[i].type;
            void *record = mem_new(1, type->size);
            int32_t kind;

            assert_non_null(record);
            if (type->kind) {
                kind = round % type->kind->count_max;
                memcpy((char *)record + type->kind->offset, &kind, sizeof kind);
            }
            record_random(type, &rng, record);
            round_trip(type, record);
            record_release(type, record);
            mem_free(record);
        }
}

/* A journal of a time when there was no such field. */
static void a_spec_without_a_profile_is_one_that_is_probed(void **state)
{
    static const char old[] = "{\"id\":7,\"level\":\"elastic\",\"name\":\"a\",\"uid\":0}";
    struct job_spec spec = {0};
    struct buf out;

    (void)state;
    assert_int_equal(schema_decode(&record_spec, old, strlen(old), &spec, NULL, NULL), 0);
    assert_int_equal(spec.profile, JOB_PROFILE_PROBE);
    buf_init(&out, 4096);
    schema_encode(&record_spec, &spec, &out);
    assert_string_equal(out.text, old); /* and its digest is what it was */
    buf_clear(&out);
    spec.profile = JOB_PROFILE_OFF;
    schema_encode(&record_spec, &spec, &out);
    assert_non_null(strstr(out.text, "\"profile\":\"off\""));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_tables_are_sorted_by_name),
        cmocka_unit_test(record_tables_name_every_member),
        cmocka_unit_test(random_records_come_back_equal),
        cmocka_unit_test(a_spec_without_a_profile_is_one_that_is_probed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
