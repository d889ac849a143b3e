/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"

static void assert_sound(const struct bench_rows *b, int32_t max_size)
{
    int64_t n = 0;

    for (int32_t i = 0; i < b->problem.n_rows; i++) {
        const struct alloc_row *row = &b->problem.rows[i];

        assert_true(row->n_options >= 1);
        for (int32_t k = 0; k < row->n_options; k++) {
            assert_true(row->options[k].size > (k > 0 ? row->options[k - 1].size : 0));
            assert_true(row->options[k].size <= max_size);
            assert_true(row->options[k].value >= 0);
            assert_true(row->options[k].value <= VALUE_MAX);
        }
        n += row->n_options;
    }
    assert_int_equal(n, b->n_options);
    assert_true(b->problem.rows[0].may_wait || alloc_is_feasible(&b->problem));
}

static void rows_of_every_shape_and_size_are_sound(void **state)
{
    static const int32_t sizes[] = {1, 2, 3, 7, 64, SIZE_MAX_DEVICES};

    (void)state;
    for (int shape = 0; shape < BENCH_SHAPE_MAX; shape++)
        for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
            struct bench_rows b;

            assert_int_equal(
                bench_rows_make(&b, (enum bench_shape)shape, 12, 20, sizes[i], 3), 0);
            assert_sound(&b, sizes[i]);
            bench_rows_release(&b);
        }
}

static bool are_same(const struct bench_rows *a, const struct bench_rows *b)
{
    bool are = a->n_options == b->n_options;

    for (int32_t i = 0; are && i < a->problem.n_rows; i++)
        for (int32_t k = 0; are && k < a->problem.rows[i].n_options; k++)
            are = a->problem.rows[i].options[k].value ==
                  b->problem.rows[i].options[k].value;
    return are;
}

static void rows_are_a_function_of_the_seed(void **state)
{
    struct bench_rows a, again, other;

    (void)state;
    assert_int_equal(bench_rows_make(&a, BENCH_NOISY, 9, 40, 16, 7), 0);
    assert_int_equal(bench_rows_make(&again, BENCH_NOISY, 9, 40, 16, 7), 0);
    assert_int_equal(bench_rows_make(&other, BENCH_NOISY, 9, 40, 16, 8), 0);
    assert_true(are_same(&a, &again));
    assert_false(are_same(&a, &other));
    bench_rows_release(&a);
    bench_rows_release(&again);
    bench_rows_release(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_every_shape_and_size_are_sound),
        cmocka_unit_test(rows_are_a_function_of_the_seed),
    };

    return cmocka_run_group_tests_name("bench_rows", tests, NULL, NULL);
}
