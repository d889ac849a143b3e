/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/calibration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const char good[] = "{\"backend\":\"gloo\",\"bytes\":[4096,65536],\"sizes\":[2,4],"
                           "\"time_ns\":[[1,2],[3,4]]}";

static void a_table_is_read_and_its_points_are_told(void **state)
{
    struct calibration c;
    struct buf out;

    (void)state;
    assert_int_equal(wire_calibration_decode(good, strlen(good), &c, NULL), 0);
    assert_int_equal(c.n_sizes, 2);
    assert_int_equal(c.sizes[1], 4);
    assert_int_equal(c.time_ns[1][0], 3);
    buf_init(&out, 4096);
    wire_calibration_points(&c, &out);
    assert_string_equal(out.text,
                        "[{\"bytes\":4096,\"nodes\":1,\"size\":2,\"time_ns\":1},"
                        "{\"bytes\":65536,\"nodes\":1,\"size\":2,\"time_ns\":2},"
                        "{\"bytes\":4096,\"nodes\":1,\"size\":4,\"time_ns\":3},"
                        "{\"bytes\":65536,\"nodes\":1,\"size\":4,\"time_ns\":4}]");
    buf_release(&out);
}

static void a_table_that_makes_no_sense_is_refused_by_field(void **state)
{
    static const struct {
        const char *text;
        const char *field;
    } bad[] = {
        {"{}", "sizes"},
        {"[]", "sizes"},
        {"{\"sizes\":[2],\"bytes\":[]}", "bytes"},
        {"{\"sizes\":[1],\"bytes\":[1],\"time_ns\":[[1]]}", "sizes"},
        {"{\"sizes\":[2,2],\"bytes\":[1],\"time_ns\":[[1],[1]]}", "sizes"},
        {"{\"sizes\":[2],\"bytes\":[2,1],\"time_ns\":[[1,1]]}", "bytes"},
        {"{\"sizes\":[2],\"bytes\":[1],\"time_ns\":[]}", "time_ns"},
        {"{\"sizes\":[2],\"bytes\":[1],\"time_ns\":[[]]}", "time_ns"},
        {"{\"sizes\":[2],\"bytes\":[1],\"time_ns\":[[-1]]}", "time_ns"},
        {"{\"sizes\":[2],\"bytes\":[1],\"time_ns\":[[1.5]]}", "time_ns"},
        {"{\"sizes\":\"2\",\"bytes\":[1],\"time_ns\":[[1]]}", "sizes"},
    };
    struct calibration c = {.n_sizes = 7};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};

        assert_true(wire_calibration_decode(bad[i].text, strlen(bad[i].text), &c, &err) <
                    0);
        assert_string_equal(err.field, bad[i].field);
    }
    assert_true(wire_calibration_decode("{", 1, &c, NULL) < 0);
    assert_int_equal(c.n_sizes, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_and_its_points_are_told),
        cmocka_unit_test(a_table_that_makes_no_sense_is_refused_by_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
