/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/solver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "core/alloc/dp.h"
#include "core/alloc/strike.h"
#include "support/alloc_cases.h"
#include "support/alloc_lab.h"

#define SEED    1979
#define N_CASES 20000

static struct alloc_case problem;

/* What the steps gain; fails the test if they do not fit. */
static int64_t weigh(const struct reduced *r, const int32_t *step)
{
    int64_t gain = 0, devices = 0;

    for (int32_t j = 0; j < r->n_rows; j++) {
        if (step[j] < 0)
            continue;
        assert_in_range(step[j], r->first[j], r->end[j] - 1);
        gain += r->steps[step[j]].gain;
        devices += r->steps[step[j]].devices;
    }
    assert_true(devices <= r->room);
    return gain;
}

static bool is_earlier(const struct edge *a, int32_t i, const struct edge *b, int32_t k)
{
    int64_t left = a->gain * b->devices, right = b->gain * a->devices;

    if (left != right)
        return left > right;
    return a->row != b->row ? a->row < b->row : i < k;
}

/* Exactly the edges before the price are taken, and they leave no room for it. */
static void check_relaxation(const struct solver *s)
{
    int32_t used = 0, first = s->price.gain > 0 ? s->curves[s->price.row].taken : 0;

    for (int32_t j = 0; j < s->n_rows; j++)
        for (int32_t i = 0; i < s->curves[j].n_corners; i++) {
            struct edge e = edge_of(s, j, i);
            bool is_taken = i < s->curves[j].taken;

            assert_true(e.gain > 0 && e.devices > 0);
            used += is_taken ? e.devices : 0;
            assert_int_equal(is_taken,
                             s->price.gain == 0 || is_earlier(&e, i, &s->price, first));
        }
    assert_int_equal(s->used, used);
    assert_true(used <= s->room);
    if (s->price.gain > 0)
        assert_true(s->price.devices > s->room - used);
}

static void the_relaxation_takes_what_stands_before_its_price(void **state)
{
    const struct case_range range = {30, 12, 200};
    struct rng rng = rng_stream(SEED, "relax");
    int n_feasible = 0;

    (void)state;
    print_message("# seed %d\n", SEED);
    for (int i = 0; i < N_CASES / 4; i++) {
        struct alloc_result result;
        const struct solver *s;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        s = alloc_lab_solver(&problem.problem, &result);
        if (!s)
            continue;
        n_feasible++;
        check_relaxation(s);
    }
    assert_true(n_feasible > N_CASES / 40);
}

/* Enough rows that the first guesses come from a sample. */
static void many_rows_make_no_difference(void **state)
{
    enum { N = 2500, SIZES = 24 };
    static struct alloc_option options[N * SIZES];
    static struct alloc_row rows[N];
    static int32_t sizes[N];
    struct rng rng = rng_stream(SEED, "many");

    (void)state;
    for (int shape = 0; shape < SAMPLE_SHAPE_MAX; shape++)
        for (int i = 0; i < 8; i++) {
            const struct alloc_problem p = {rows, N,
                                            (int32_t)rng_between(&rng, N, 60000)};
            struct alloc_scratch scratch;
            struct alloc_result result;

            if (shape == SAMPLE_GAPS) /* the search takes a tenth of a second */
                continue;
            sample_fill(&rng, (enum sample_shape)shape, N, SIZES, rows, options);
            alloc_scratch_init(&scratch);
            if (alloc_solve(&p, &scratch, sizes, &result) == 0)
                check_relaxation(scratch.solver);
            alloc_scratch_release(&scratch);
        }
}

static void its_bound_is_not_below_the_optimum(void **state)
{
    const struct case_range range = {6, 8, 40};
    struct rng rng = rng_stream(SEED, "bound");
    int32_t step[CASE_ROWS_MAX];

    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct alloc_result result;
        const struct reduced *r;
        const struct solver *s;
        int64_t optimum;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        r = alloc_lab_reduce(&problem.problem);
        s = alloc_lab_solver(&problem.problem, &result);
        assert_int_equal(r != NULL, s != NULL);
        if (!r)
            continue;
        optimum = alloc_lab_dp(r, step);
        assert_true(s->gain <= optimum);
        assert_true(optimum <=
                    s->gain + s->price.gain * (s->room - s->used) / s->price.devices);
        assert_true(result.objective == r->base + optimum);
    }
}

/* The price, and how far a solution that is not the best lies below its bound. */
static struct strike_price price_below(const struct solver *s, int64_t gain)
{
    return (struct strike_price){s->price.gain, s->price.devices,
                                 s->price.gain * (s->room - s->used) -
                                     s->price.devices * (gain - s->gain)};
}

static void striking_out_loses_no_better_solution(void **state)
{
    const struct case_range range = {12, 8, 60};
    struct rng rng = rng_stream(SEED, "strike");
    int32_t step[CASE_ROWS_MAX];
    int n_better = 0, n_smaller = 0;

    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        struct alloc_result result;
        struct strike_price price;
        const struct solver *s;
        struct reduced *r;
        int64_t optimum, base, work, gain;
        bool is_open;

        alloc_case_random(&problem, &rng, i % 2 ? CASE_WILD : CASE_REAL, &range);
        r = alloc_lab_reduce(&problem.problem);
        s = alloc_lab_solver(&problem.problem, &result);
        if (!r || s->price.gain == 0)
            continue;
        base = r->base;
        optimum = alloc_lab_dp(r, step);
        gain = i % 3 ? s->gain : optimum;
        price = price_below(s, gain);
        work = dp_measure(r).work;
        is_open = strike_out(r, &price);
        if (optimum > gain) {
            assert_true(is_open);
            assert_true(r->base + alloc_lab_dp(r, step) == base + optimum);
            assert_true(r->base + weigh(r, step) == base + optimum);
            n_better++;
        } else if (is_open) {
            assert_true(r->base + alloc_lab_dp(r, step) <= base + optimum);
        }
        n_smaller += is_open && dp_measure(r).work < work;
    }
    assert_true(n_better > 100);
    assert_true(n_smaller > 100);
}

static void it_is_exact_where_gains_fall(void **state)
{
    const struct case_range range = {40, 16, 300};
    struct rng rng = rng_stream(SEED, "concave");
    int32_t step[CASE_ROWS_MAX];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct alloc_result result;
        const struct reduced *r;

        alloc_case_random(&problem, &rng, CASE_CONCAVE, &range);
        r = alloc_lab_reduce(&problem.problem);
        if (!r)
            continue;
        assert_non_null(alloc_lab_solver(&problem.problem, &result));
        assert_int_equal(result.proof, ALLOC_PROOF_LP);
        assert_true(result.objective == r->base + alloc_lab_dp(r, step));
    }
}

/* Devices one by one would stop at the dip; seed-paper 6.1, row 8. */
static void the_hull_sees_across_a_dip(void **state)
{
    const struct alloc_option dip[] = {{1, 100}, {2, 60}, {3, 90}, {4, 180}};
    const struct alloc_row row = {.options = dip, .n_options = 4};
    struct corner corners[4];
    struct curve c;

    (void)state;
    curve_begin(&c, &row);
    assert_int_equal(curve_trace(&c, &row, 2, 8, corners), 1);
    assert_int_equal(corners[0].gain, 80 * 2);
    assert_int_equal(corners[0].devices, 3);
    assert_int_equal(c.divisor, 3);
}

static int release(void **state)
{
    (void)state;
    alloc_lab_release();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_relaxation_takes_what_stands_before_its_price),
        cmocka_unit_test(many_rows_make_no_difference),
        cmocka_unit_test(its_bound_is_not_below_the_optimum),
        cmocka_unit_test(striking_out_loses_no_better_solution),
        cmocka_unit_test(it_is_exact_where_gains_fall),
        cmocka_unit_test(the_hull_sees_across_a_dip),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
