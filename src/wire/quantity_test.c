/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#define REFUSED (-1)

/* A text and its value; REFUSED when it must not be read. */
struct sample {
    const char *text;
    int64_t value;
};

typedef int (*read_fn)(const char *text, int64_t *ret, struct err *err);

static bool is_as_wanted(const struct sample *sample, int rc, int64_t value,
                         const struct err *err)
{
    if (sample->value == REFUSED)
        return rc == E_INVALID && strlen(err->text) > 0 && value == 4711;
    return rc == 0 && value == sample->value;
}

static void assert_reads(const struct sample *samples, size_t n, read_fn read)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = 4711;
        struct err err = {0};
        int rc = read(samples[i].text, &value, &err);

        if (!is_as_wanted(&samples[i], rc, value, &err))
            fail_msg("'%s' gave %d, %lld and '%s'", samples[i].text, rc, (long long)value,
                     err.text);
    }
}

static void quantity_reads_spans(void **state)
{
    static const struct sample samples[] = {
        {"0", 0},
        {"30s", 30000000},
        {"1h30m", 5400000000},
        {"500ms", 500000},
        {"90us", 90},
        {"2d", 172800000000},
        {"30", REFUSED},
        {"s", REFUSED},
        {"", REFUSED},
        {"-5s", REFUSED},
        {"1.5.5h", REFUSED},
        {"30sec", REFUSED},
        {"1e3s", REFUSED},
        {"30s ago", REFUSED},
        {"99999999999999999999d", REFUSED},
        {"0x10s", REFUSED},
        {"9999999999h", REFUSED},
    };

    (void)state;
    assert_reads(samples, ARRAY_SIZE(samples), quantity_span);
}

static void quantity_reads_bytes(void **state)
{
    static const struct sample samples[] = {
        {"0", 0},
        {"512M", (int64_t)512 << 20},
        {"16G", (int64_t)16 << 30},
        {"16GiB", (int64_t)16 << 30},
        {"1.5T", (int64_t)3 << 39},
        {"16", REFUSED},
        {"16GB", REFUSED},
        {"-1G", REFUSED},
        {"1.3333333333K", REFUSED},
        {"99999999999T", REFUSED},
        {"", REFUSED},
    };

    (void)state;
    assert_reads(samples, ARRAY_SIZE(samples), quantity_bytes);
}

static void quantity_reads_seconds_exactly(void **state)
{
    static const struct sample samples[] = {
        {"0.138", 138000000},
        {"1", 1000000000},
        {"138ms", 138000000},
        {"90us", 90000},
        {"7ns", 7},
        {"0.1", 100000000},
        {"0.000000001", 1},
        {"0.0000000001", REFUSED},
        {".5", REFUSED},
        {"5.", REFUSED},
        {"1m", REFUSED},
        {"1e-3", REFUSED},
        {"99999999999", REFUSED},
    };

    (void)state;
    assert_reads(samples, ARRAY_SIZE(samples), quantity_seconds_ns);
}

static void quantity_reads_samples(void **state)
{
    static const struct sample samples[] = {
        {"600000", 600000},
        {"10x60000", 600000},
        {"10 x 60000", 600000},
        {"0", REFUSED},
        {"10x0", REFUSED},
        {"10x", REFUSED},
        {"x5", REFUSED},
        {"1x2x3", REFUSED},
        {"ten", REFUSED},
        {"9999999999999999999", REFUSED},
        {"4294967296x4294967296", REFUSED},
    };

    (void)state;
    assert_reads(samples, ARRAY_SIZE(samples), quantity_samples);
}

static int millionths(const char *text, int64_t *ret, struct err *err)
{
    return quantity_decimal(text, 6, ret, err);
}

static void quantity_reads_decimals_without_rounding(void **state)
{
    static const struct sample samples[] = {
        {"1", 1000000},         {"0.1", 100000},  {"2.5", 2500000}, {"0.000001", 1},
        {"0.0000001", REFUSED}, {"1,5", REFUSED}, {"-1", REFUSED},  {"+1", REFUSED},
        {"1e2", REFUSED},       {"nan", REFUSED}, {"", REFUSED},
    };

    (void)state;
    assert_reads(samples, ARRAY_SIZE(samples), millionths);
}

static void quantity_reads_ranges(void **state)
{
    static const struct {
        const char *text;
        int32_t min, max; /* 0: refused */
    } samples[] = {
        {"256", 256, 256}, {"128..1024", 128, 1024}, {"1..1", 1, 1},  {"0", 0, 0},
        {"5..4", 0, 0},    {"1...4", 0, 0},          {"1..", 0, 0},   {"..4", 0, 0},
        {"1-4", 0, 0},     {"1..99999999999", 0, 0}, {" 1..4", 0, 0}, {"1..4 ", 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        int32_t min = 0, max = 0;
        int rc = quantity_range(samples[i].text, BATCH_MAX, &min, &max, NULL);

        assert_int_equal(rc, samples[i].min ? 0 : E_INVALID);
        assert_int_equal(min, samples[i].min);
        assert_int_equal(max, samples[i].max);
    }
}

static void quantity_reads_sizes_in_all_their_forms(void **state)
{
    static const struct {
        const char *text;
        struct size_set set; /* min 0: refused */
    } samples[] = {
        {"4", {.min = 4, .max = 4, .step = 1}},
        {"1..8", {.min = 1, .max = 8, .step = 1}},
        {"2..8/2", {.min = 2, .max = 8, .step = 2}},
        {"1,2,4", {.min = 1, .max = 4, .step = 1, .n_listed = 3, .listed = {1, 2, 4}}},
        {.text = "0"},
        {.text = "0..4"},
        {.text = "8..1"},
        {.text = "1..8/0"},
        {.text = "1..8/"},
        {.text = "1,2,2"},
        {.text = "1,,2"},
        {.text = "1,2,"},
        {.text = "0,1"},
        {.text = "1..4,8"},
        {.text = "8193"},
        {.text = "four"},
        {.text = ""},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct size_set set = {0};
        int rc = quantity_sizes(samples[i].text, &set, NULL);

        if (rc != (samples[i].set.min ? 0 : E_INVALID) ||
            memcmp(&set, &samples[i].set, sizeof set) != 0)
            fail_msg("'%s' gave %d", samples[i].text, rc);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantity_reads_spans),
        cmocka_unit_test(quantity_reads_bytes),
        cmocka_unit_test(quantity_reads_seconds_exactly),
        cmocka_unit_test(quantity_reads_samples),
        cmocka_unit_test(quantity_reads_decimals_without_rounding),
        cmocka_unit_test(quantity_reads_ranges),
        cmocka_unit_test(quantity_reads_sizes_in_all_their_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
