/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/variant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"
#include "support/alloc_cases.h"
#include "support/mem_fault.h"

#define SEED    20250301
#define ROWS    4
#define N_CASES 6000

static struct alloc_case problem;
static struct alloc_scratch scratch;
static struct alloc_variant variant;
static struct alloc_rule rules[ROWS];
static int32_t forbidden[ROWS][9];

/* Everything below is written down anew from what the words mean, and tries every
 * combination. Size 0 is option -1. */
struct choice {
    int32_t size;
    int64_t value;
    bool is_allowed;
};

static struct choice choice_of(const struct alloc_row *row, int32_t option)
{
    if (option < 0)
        return (struct choice){0, 0, row->may_wait};
    return (struct choice){row->options[option].size, row->options[option].value, true};
}

static bool next_combination(const struct alloc_problem *p, int32_t *option)
{
    for (int32_t j = 0; j < p->n_rows; j++) {
        if (++option[j] < p->rows[j].n_options)
            return true;
        option[j] = -1;
    }
    return false;
}

static struct choice by_rule(const struct alloc_row *row, const struct alloc_rule *rule,
                             int32_t option)
{
    struct choice c = choice_of(row, option);
    int64_t weighted = c.value * rule->weight_ppm;

    if (rule->size_max > 0 && c.size > rule->size_max)
        c.is_allowed = false;
    for (int32_t i = 0; i < rule->n_forbidden; i++)
        c.is_allowed = c.is_allowed && rule->forbidden[i] != c.size;
    c.value = weighted / PPM;
    weighted -= c.value * PPM;
    if (weighted >= PPM / 2)
        c.value++;
    if (weighted < -PPM / 2)
        c.value--;
    if (row->held > 0 && c.size != row->held)
        c.value -= rule->change_cost;
    return c;
}

static bool best_by_rules(const struct alloc_problem *p, int64_t *ret_value)
{
    int32_t option[ROWS] = {-1, -1, -1, -1};
    bool is_found = false;

    do {
        int64_t value = 0, used = 0;
        bool is_allowed = true;

        for (int32_t j = 0; j < p->n_rows; j++) {
            struct choice c = by_rule(&p->rows[j], &rules[j], option[j]);

            is_allowed = is_allowed && c.is_allowed;
            value += c.value;
            used += c.size;
        }
        if (!is_allowed || used > p->devices || (is_found && value <= *ret_value))
            continue;
        *ret_value = value;
        is_found = true;
    } while (next_combination(p, option));
    return is_found;
}

/* Which rules a test draws. */
enum { WEIGHTS = 1, FORBIDDEN = 2, BOUNDS = 4, COSTS = 8 };

static void draw_rules(struct rng *rng, unsigned kinds)
{
    for (int32_t j = 0; j < ROWS; j++) {
        rules[j] = alloc_rule_none;
        if (kinds & WEIGHTS)
            rules[j].weight_ppm = rng_between(rng, 0, 3) * 333333;
        if (kinds & BOUNDS)
            rules[j].size_max = (int32_t)rng_between(rng, 0, 8);
        if (kinds & COSTS)
            rules[j].change_cost = rng_between(rng, 0, 40);
        if (!(kinds & FORBIDDEN))
            continue;
        rules[j].forbidden = forbidden[j];
        for (int32_t size = 0; size <= 8; size++)
            if (rng_below(rng, 4) == 0)
                forbidden[j][rules[j].n_forbidden++] = size;
    }
}

static void check_rules(unsigned kinds)
{
    const struct case_range range = {ROWS, 8, 14};
    struct rng rng = rng_stream(SEED + kinds, "rules");
    int n_feasible = 0;

    print_message("# seed %d + %u\n", SEED, kinds);
    for (int i = 0; i < N_CASES; i++) {
        int32_t sizes[CASE_ROWS_MAX];
        struct alloc_result result;
        int64_t expected = 0;
        bool is_feasible;
        int rc;

        do
            alloc_case_random(&problem, &rng, i % 2 ? CASE_REAL : CASE_WILD, &range);
        while (problem.problem.n_rows == 0);
        draw_rules(&rng, kinds);
        rc = alloc_variant_rules(&variant, &problem.problem, rules);
        if (rc == E_LIMIT) /* a cost on top of the largest value */
            continue;
        assert_int_equal(rc, 0);
        is_feasible = best_by_rules(&problem.problem, &expected);
        rc = alloc_solve(&variant.problem, &scratch, sizes, &result);
        assert_int_equal(rc == 0, is_feasible);
        if (rc < 0)
            continue;
        assert_true(result.value + variant.offset == expected);
        n_feasible++;
    }
    assert_true(n_feasible > N_CASES / 5);
}

static void weights_count_as_they_say(void **state)
{
    (void)state;
    check_rules(WEIGHTS);
}

static void forbidden_pairs_are_not_given(void **state)
{
    (void)state;
    check_rules(FORBIDDEN);
}

static void upper_bounds_hold(void **state)
{
    (void)state;
    check_rules(BOUNDS);
}

static void a_change_happens_where_it_is_worth_its_cost(void **state)
{
    (void)state;
    check_rules(COSTS);
}

static void all_rules_hold_together(void **state)
{
    (void)state;
    check_rules(WEIGHTS | FORBIDDEN | BOUNDS | COSTS);
}

static void values_beyond_the_limit_are_refused(void **state)
{
    const struct alloc_option large[] = {{1, VALUE_MAX}};
    const struct alloc_row row = {.options = large, .n_options = 1, .held = 1};
    const struct alloc_problem p = {&row, 1, 1};
    struct alloc_rule rule = alloc_rule_none;

    (void)state;
    assert_int_equal(alloc_variant_rules(&variant, &p, &rule), 0);
    rule.weight_ppm = PPM + 1;
    assert_int_equal(alloc_variant_rules(&variant, &p, &rule), E_LIMIT);
    rule.weight_ppm = INT64_MAX;
    assert_int_equal(alloc_variant_rules(&variant, &p, &rule), E_LIMIT);
    rule = alloc_rule_none;
    rule.change_cost = 1;
    assert_int_equal(alloc_variant_rules(&variant, &p, &rule), E_LIMIT);
}

/* The best (least value of all, then sum of w) of all combinations. */
static bool best_maxmin(const struct alloc_problem *p, int64_t *ret_least,
                        int64_t *ret_objective)
{
    int32_t option[ROWS] = {-1, -1, -1, -1};
    int64_t factor = 1;
    bool is_found = false;

    while (factor <= p->n_rows)
        factor *= 2;
    do {
        int64_t objective = 0, used = 0, least = VALUE_MAX;
        bool is_allowed = true;

        for (int32_t j = 0; j < p->n_rows; j++) {
            struct choice c = choice_of(&p->rows[j], option[j]);

            is_allowed = is_allowed && c.is_allowed;
            objective += c.value * factor + (c.size == p->rows[j].held);
            used += c.size;
            least = i64_min(least, c.value);
        }
        if (!is_allowed || used > p->devices)
            continue;
        if (is_found &&
            (least < *ret_least || (least == *ret_least && objective <= *ret_objective)))
            continue;
        *ret_least = least;
        *ret_objective = objective;
        is_found = true;
    } while (next_combination(p, option));
    return is_found;
}

static void maxmin_raises_the_least_first_and_then_the_sum(void **state)
{
    const struct case_range range = {ROWS, 8, 16};
    struct rng rng = rng_stream(SEED, "maxmin");
    int n_feasible = 0;

    (void)state;
    for (int i = 0; i < N_CASES; i++) {
        int64_t expected_least = 0, expected_objective = 0, least;
        int32_t sizes[CASE_ROWS_MAX];
        struct alloc_result result;
        bool is_feasible;
        int rc;

        alloc_case_random(&problem, &rng, (enum case_shape)(i % CASE_SHAPE_MAX), &range);
        is_feasible = best_maxmin(&problem.problem, &expected_least, &expected_objective);
        rc = alloc_variant_maxmin(&variant, &problem.problem, &scratch, sizes, &result,
                                  &least);
        assert_int_equal(rc, is_feasible ? 0 : E_INFEASIBLE);
        if (rc < 0)
            continue;
        assert_true(least == expected_least);
        assert_true(result.objective == expected_objective);
        n_feasible++;
    }
    assert_true(n_feasible > N_CASES / 5);
}

static void no_memory_is_said(void **state)
{
    const struct case_range range = {ROWS, 8, 40};
    struct rng rng = rng_stream(SEED, "memory");
    bool has_failed = true;

    (void)state;
    do
        alloc_case_random(&problem, &rng, CASE_REAL, &range);
    while (problem.problem.n_rows < ROWS || !alloc_is_feasible(&problem.problem));
    for (uint64_t nth = 1; has_failed; nth++) {
        struct alloc_variant v;
        struct alloc_scratch s;
        int32_t sizes[ROWS] = {-1};
        struct alloc_result result;
        int64_t least = -5;
        int rc;

        alloc_variant_init(&v);
        alloc_scratch_init(&s);
        mem_fault_arm(nth);
        rc = alloc_variant_maxmin(&v, &problem.problem, &s, sizes, &result, &least);
        has_failed = mem_fault_disarm();
        assert_int_equal(rc, has_failed ? E_NOMEM : 0);
        if (has_failed)
            assert_true(sizes[0] == -1 && least == -5);
        alloc_variant_release(&v);
        alloc_scratch_release(&s);
    }
}

static int release(void **state)
{
    (void)state;
    alloc_scratch_release(&scratch);
    alloc_variant_release(&variant);
    return mem_fault_blocks() == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_count_as_they_say),
        cmocka_unit_test(forbidden_pairs_are_not_given),
        cmocka_unit_test(upper_bounds_hold),
        cmocka_unit_test(a_change_happens_where_it_is_worth_its_cost),
        cmocka_unit_test(all_rules_hold_together),
        cmocka_unit_test(values_beyond_the_limit_are_refused),
        cmocka_unit_test(maxmin_raises_the_least_first_and_then_the_sum),
        cmocka_unit_test(no_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, release);
}
