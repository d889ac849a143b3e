/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "core/job.h"
#include "core/perf/model.h"

#include "wire/records.h"

static void assert_written(const char *text, const char *expected)
{
    struct buf b;

    buf_init(&b, 1000);
    schema_encode_text(text, strlen(text), &b);
    assert_string_equal(b.text, expected);
    buf_release(&b);
}

static void schema_escapes_what_json_wants_escaped(void **state)
{
    (void)state;
    assert_written("", "\"\"");
    assert_written("plain text/", "\"plain text/\"");
    assert_written("a\"b\\c", "\"a\\\"b\\\\c\"");
    assert_written("\n\t\r\b\x1f", "\"\\n\\t\\u000d\\u0008\\u001f\"");
    assert_written("\x7f", "\"\x7f\"");
    assert_written("\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb1",
                   "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\xb1\"");
}

static void schema_writes_a_mark_for_each_byte_that_is_no_utf8(void **state)
{
    (void)state;
    assert_written("a\x80z", "\"a?z\"");
    assert_written("\xc3", "\"?\"");                /* cut short */
    assert_written("\xe2\x82", "\"??\"");           /* cut short */
    assert_written("\xf0\x9f\x90", "\"???\"");      /* cut short */
    assert_written("\xc0\xaf", "\"??\"");           /* longer than needed */
    assert_written("\xe0\x80\xaf", "\"???\"");      /* longer than needed */
    assert_written("\xed\xa0\x80", "\"???\"");      /* a surrogate */
    assert_written("\xf4\x90\x80\x80", "\"????\""); /* above the last character */
    assert_written("\xf8\x88\x80\x80\x80", "\"?????\"");
    assert_written("\xff\"\xc3\xa9\xfe", "\"?\\\"\xc3\xa9?\"");
}

/* Decodes as a spec; the refusal must name this field, and its text hold these words. */
static void assert_refused(const char *text, const char *field, const char *words)
{
    struct job_spec spec = {0};
    struct err err = {0};

    assert_int_equal(schema_decode(&record_spec, text, strlen(text), &spec, NULL, &err),
                     E_INVALID);
    assert_string_equal(err.field, field);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_true(schema_decode(&record_spec, text, strlen(text), &spec, NULL, NULL) < 0);
    job_spec_release(&spec);
}

static void schema_refuses_values_of_the_wrong_type(void **state)
{
    (void)state;
    assert_refused("{\"uid\":\"7\"}", "uid", "integer");
    assert_refused("{\"uid\":7.0}", "uid", "integer");
    assert_refused("{\"uid\":null}", "uid", "integer");
    assert_refused("{\"name\":7}", "name", "text");
    assert_refused("{\"name\":null}", "name", "text");
    assert_refused("{\"launch\":{}}", "launch", "text");
    assert_refused("{\"level\":1}", "level", "text");
    assert_refused("{\"sizes\":[]}", "sizes", "object");
    assert_refused("{\"sizes\":{\"listed\":1}}", "sizes.listed", "list");
    assert_refused("{\"sizes\":{\"listed\":[1,2,\"3\"]}}", "sizes.listed[2]", "integer");
    assert_refused("[]", "", "object");
}

static void schema_refuses_values_out_of_range(void **state)
{
    char text[600];
    size_t n = 0;

    (void)state;
    assert_refused("{\"uid\":-1}", "uid", "between 0 and 4294967295");
    assert_refused("{\"uid\":4294967296}", "uid", "4294967296");
    assert_refused("{\"batch_min\":2147483648}", "batch_min", "2147483647");
    assert_refused("{\"batch_min\":-2147483649}", "batch_min", "-2147483648");
    assert_refused("{\"grace_us\":9223372036854775808}", "", "not JSON");
    assert_refused("{\"level\":\"Rigid\"}", "level", "rigid, restartable, elastic");
    assert_refused("{\"level\":\"\"}", "level", "rigid");
    memset(text, 'x', sizeof text);
    memcpy(text, "{\"name\":\"", 9);
    memcpy(text + 9 + NAME_MAX_BYTES, "\"}", 3);
    assert_refused(text, "name", "64 bytes; at most 63");
    n = (size_t)snprintf(text, sizeof text, "{\"sizes\":{\"listed\":[0");
    for (int i = 0; i < SIZES_LISTED_MAX; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, ",%d", i);
    (void)snprintf(text + n, sizeof text - n, "]}}");
    assert_refused(text, "sizes.listed", "65 items; at most 64");
}

static void schema_refuses_what_is_no_json(void **state)
{
    (void)state;
    assert_refused("", "", "not JSON");
    assert_refused("{", "", "not JSON");
    assert_refused("{\"uid\":1}x", "", "not JSON");
    assert_refused("{\"uid\":01}", "", "not JSON");
    assert_refused("{\"uid\":1,}", "", "not JSON");
    assert_refused("{\"uid\":1,\"uid\":1}", "", "duplicate");
    assert_refused("{\"name\":\"\xff\"}", "", "not JSON");
    assert_refused("{\"name\":\"\xed\xa0\x80\"}", "", "not JSON");
    assert_refused("{\"name\":\"\\ud800\"}", "", "not JSON");
    assert_refused("{\"name\":\"a\nb\"}", "", "not JSON");
    assert_refused("{\"name\":\"a\\u0000b\"}", "", "not JSON");
    assert_refused("{\"na\\u0000me\":\"a\"}", "", "not JSON");
}

static void schema_refuses_a_nul_byte_anywhere(void **state)
{
    static const char text[] = "{\"name\":\"ab\"}";
    char damaged[sizeof text];
    struct job_spec spec;

    (void)state;
    for (size_t i = 0; i < sizeof text - 1; i++) {
        memcpy(damaged, text, sizeof text);
        damaged[i] = '\0';
        memset(&spec, 0, sizeof spec);
        assert_int_equal(
            schema_decode(&record_spec, damaged, sizeof text - 1, &spec, NULL, NULL),
            E_INVALID);
    }
}

static void schema_refuses_deep_nesting(void **state)
{
    enum { DEPTH = 100000 };
    struct job_spec spec = {0};
    char *text = mem_new(DEPTH + 16, 1);
    struct err err;

    (void)state;
    assert_non_null(text);
    memset(text, '[', DEPTH);
    memcpy(text, "{\"x\":", 5);
    assert_int_equal(schema_decode(&record_spec, text, DEPTH, &spec, NULL, &err),
                     E_INVALID);
    assert_non_null(strstr(err.text, "depth"));
    mem_free(text);
}

static void schema_skips_unknown_keys_and_fills_in_absent_ones(void **state)
{
    static const char text[] =
        " {\"zebra\": {\"deep\":[1.5,null,{}]} , \"sizes\":{\"min\":2, "
        "\"colour\":\"red\"},"
        "\"batch_max\":-0, \"\":1, \"weight_ppm\":9223372036854775807, "
        "\"name\":\"\\u00e9\"}\n";
    struct job_spec spec = {0};

    (void)state;
    assert_int_equal(schema_decode(&record_spec, text, strlen(text), &spec, NULL, NULL),
                     0);
    assert_int_equal(spec.sizes.min, 2);
    assert_int_equal(spec.sizes.max, 0);
    assert_int_equal(spec.batch_max, 0);
    assert_true(spec.weight_ppm == INT64_MAX);
    assert_string_equal(spec.name, "\xc3\xa9");
    assert_null(spec.launch);
}

static void schema_names_the_place_from_the_outside_in(void **state)
{
    static const char text[] = "{\"proc\":[{},{\"time_ns\":true}]}";
    const struct text_path list = {.name = "changes"};
    const struct text_path item = {.up = &list, .index = 3};
    const struct text_path model = {.up = &item, .name = "model"};
    struct perf_model m = {0};
    struct err err;

    (void)state;
    assert_int_equal(schema_decode(&record_model, text, strlen(text), &m, &model, &err),
                     E_INVALID);
    assert_string_equal(err.field, "changes[3].model.proc[1].time_ns");
}

static void schema_leaves_defaults_out(void **state)
{
    struct job_run run = {.id = 4, .plan = {.size = 2}};
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    schema_encode(&record_run, &run, &b);
    assert_string_equal(b.text, "{\"id\":4,\"plan\":{\"size\":2},\"state\":\"queued\"}");
    buf_clear(&b);
    schema_encode(&record_plan, &(struct job_plan){0}, &b);
    assert_string_equal(b.text, "{}");
    buf_release(&b);
}

static void schema_reports_a_full_buffer(void **state)
{
    struct job_run run = {.id = 4};
    struct buf b;

    (void)state;
    buf_init(&b, 10);
    schema_encode(&record_run, &run, &b);
    assert_int_equal(buf_error(&b), E_LIMIT);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema_escapes_what_json_wants_escaped),
        cmocka_unit_test(schema_writes_a_mark_for_each_byte_that_is_no_utf8),
        cmocka_unit_test(schema_refuses_values_of_the_wrong_type),
        cmocka_unit_test(schema_refuses_values_out_of_range),
        cmocka_unit_test(schema_refuses_what_is_no_json),
        cmocka_unit_test(schema_refuses_a_nul_byte_anywhere),
        cmocka_unit_test(schema_refuses_deep_nesting),
        cmocka_unit_test(schema_skips_unknown_keys_and_fills_in_absent_ones),
        cmocka_unit_test(schema_names_the_place_from_the_outside_in),
        cmocka_unit_test(schema_leaves_defaults_out),
        cmocka_unit_test(schema_reports_a_full_buffer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
