/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alloc/memo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "support/alloc_cases.h"
#include "support/mem_fault.h"

#define SEED 20240229

static struct alloc_case pool; /* rows to take from */
static struct alloc_scratch scratch;
static int n_answers;

/* The rows that the memo should have, kept here as well. */
struct mirror {
    struct alloc_row rows[CASE_ROWS_MAX];
    int32_t n_rows;
    int32_t devices;
};

static void fill_pool(struct rng *rng, int32_t sizes)
{
    const struct case_range range = {1, sizes, 0};

    for (int32_t j = 0; j < CASE_ROWS_MAX; j++) {
        static struct alloc_case one;

        if (rng_below(rng, 2))
            alloc_case_sample(
                &one, rng, (enum sample_shape)rng_below(rng, SAMPLE_SHAPE_MAX), &range);
        else
            do
                alloc_case_random(
                    &one, rng, (enum case_shape)rng_below(rng, CASE_SHAPE_MAX), &range);
            while (one.problem.n_rows == 0);
        memcpy(pool.options[j], one.options[0], sizeof pool.options[j]);
        pool.rows[j] = one.rows[0];
        pool.rows[j].options = pool.options[j];
    }
}

/* The same answer, to the last bit, as from nothing. */
static void check_memo(struct alloc_memo *memo, const struct mirror *m)
{
    const struct alloc_problem p = {m->rows, m->n_rows, m->devices};
    int32_t warm_sizes[CASE_ROWS_MAX], cold_sizes[CASE_ROWS_MAX];
    struct alloc_result warm, cold;
    int rc = alloc_solve(&p, &scratch, cold_sizes, &cold);

    assert_int_equal(alloc_memo_solve(memo, warm_sizes, &warm), rc);
    if (rc < 0)
        return;
    n_answers++;
    for (int32_t j = 0; j < m->n_rows; j++)
        assert_int_equal(warm_sizes[j], cold_sizes[j]);
    assert_true(warm.objective == cold.objective);
    assert_true(warm.bound == cold.bound);
    assert_true(warm.value == cold.value);
    assert_int_equal(warm.unchanged, cold.unchanged);
    assert_int_equal(warm.used, cold.used);
    assert_int_equal(warm.proof, cold.proof);
    assert_int_equal(warm.is_certified, cold.is_certified);
    assert_true(warm.price_gain == cold.price_gain);
    assert_int_equal(warm.price_devices, cold.price_devices);
}

static void insert(struct alloc_memo *memo, struct mirror *m, int32_t at,
                   const struct alloc_row *row)
{
    assert_int_equal(alloc_memo_insert(memo, at, row), 0);
    memmove(&m->rows[at + 1], &m->rows[at], (size_t)(m->n_rows - at) * sizeof m->rows[0]);
    m->rows[at] = *row;
    m->n_rows++;
}

static void remove_row(struct alloc_memo *memo, struct mirror *m, int32_t at)
{
    alloc_memo_remove(memo, at);
    m->n_rows--;
    memmove(&m->rows[at], &m->rows[at + 1], (size_t)(m->n_rows - at) * sizeof m->rows[0]);
}

static void happen(struct alloc_memo *memo, struct mirror *m, struct rng *rng)
{
    struct alloc_row row = pool.rows[rng_below(rng, CASE_ROWS_MAX)];
    int32_t at = (int32_t)rng_below(rng, (uint64_t)m->n_rows + 1);
    uint64_t event = rng_below(rng, 7);

    if (event < 2 && m->n_rows < CASE_ROWS_MAX - 1) {
        insert(memo, m, at, &row);
    } else if (event == 2 && at < m->n_rows) {
        remove_row(memo, m, at);
    } else if (event < 5 && at < m->n_rows) {
        if (event == 4) { /* it holds another size now */
            row = m->rows[at];
            row.held = (int32_t)rng_below(rng, 8);
        }
        alloc_memo_replace(memo, at, &row);
        m->rows[at] = row;
    } else if (event == 5) {
        m->devices = (int32_t)rng_below(rng, 900);
        alloc_memo_set_devices(memo, m->devices);
    } else {
        m->devices += (int32_t)rng_below(rng, 4);
        alloc_memo_set_devices(memo, m->devices);
    }
}

static void any_run_of_events_ends_like_a_cold_solve(void **state)
{
    (void)state;
    print_message("# seed %d\n", SEED);
    for (int run = 0; run < 40; run++) {
        struct rng rng = rng_stream(SEED + (uint64_t)run, "events");
        struct alloc_memo *memo = alloc_memo_new();
        static struct mirror m;

        m = (struct mirror){0};
        fill_pool(&rng, 1 + (int32_t)rng_below(&rng, 24));
        for (int i = 0; i < 150; i++) {
            happen(memo, &m, &rng);
            if (rng_below(&rng, 4) > 0)
                check_memo(memo, &m);
        }
        alloc_memo_free(memo);
    }
    assert_true(n_answers > 2000);
}

/* All slopes are equal, so that only the order of the rows tells edges apart. */
static void ties_follow_rows_that_move(void **state)
{
    static const struct alloc_option linear[] = {{1, 10}, {2, 20}, {4, 40}, {7, 70}};
    struct alloc_row row = {.options = linear, .n_options = 4, .held = -1};
    struct rng rng = rng_stream(SEED, "ties");
    struct alloc_memo *memo = alloc_memo_new();
    static struct mirror m;

    (void)state;
    m = (struct mirror){0};
    for (int i = 0; i < 2000; i++) {
        int32_t at = (int32_t)rng_below(&rng, (uint64_t)m.n_rows + 1);

        row.n_options = 1 + (int32_t)rng_below(&rng, 4);
        row.held = (int32_t)rng_below(&rng, 12);
        if (at < m.n_rows && rng_below(&rng, 100) < (uint64_t)(m.n_rows > 40 ? 70 : 45)) {
            remove_row(memo, &m, at);
        } else {
            insert(memo, &m, at, &row);
        }
        m.devices = (int32_t)rng_below(&rng, 200);
        alloc_memo_set_devices(memo, m.devices);
        check_memo(memo, &m);
    }
    alloc_memo_free(memo);
}

static void check_what_if(struct alloc_memo *memo, int32_t n_rows)
{
    int32_t sizes[CASE_ROWS_MAX];
    struct alloc_result result, other;

    if (alloc_memo_solve(memo, sizes, &result) < 0)
        return;
    for (int32_t j = 0; j < n_rows; j++) {
        assert_int_equal(alloc_memo_what_if(memo, j, sizes[j], &other), 0);
        assert_true(other.objective == result.objective);
        if (alloc_memo_what_if(memo, j, sizes[j] + 1, &other) == 0)
            assert_true(other.objective <= result.objective);
        assert_int_equal(alloc_memo_what_if(memo, j, 77, &other), E_NOTFOUND);
    }
}

static void what_if_leaves_everything_as_it_was(void **state)
{
    struct rng rng = rng_stream(SEED, "if");

    (void)state;
    for (int run = 0; run < 60; run++) {
        struct alloc_memo *memo = alloc_memo_new();
        static struct mirror m;

        m = (struct mirror){.devices = 90};
        fill_pool(&rng, 8);
        alloc_memo_set_devices(memo, m.devices);
        for (int32_t j = 0; j < 20; j++)
            insert(memo, &m, j, &pool.rows[j]);
        check_memo(memo, &m);
        check_what_if(memo, m.n_rows);
        check_memo(memo, &m);
        alloc_memo_free(memo);
    }
}

static void a_memo_that_has_grown_allocates_nothing(void **state)
{
    struct rng rng = rng_stream(SEED, "steady");
    struct alloc_memo *memo = alloc_memo_new();
    int32_t sizes[CASE_ROWS_MAX];
    struct alloc_result result;
    static struct mirror m;

    (void)state;
    m = (struct mirror){.devices = 400};
    fill_pool(&rng, 16);
    alloc_memo_set_devices(memo, m.devices);
    for (int32_t j = 0; j < 60; j++)
        insert(memo, &m, j, &pool.rows[j]);
    for (int round = 0; round < 2; round++) {
        if (round == 1)
            mem_fault_arm(1);
        for (int32_t j = 0; j < 60; j++) {
            alloc_memo_remove(memo, j);
            assert_int_equal(alloc_memo_insert(memo, j, &pool.rows[j]), 0);
            alloc_memo_set_devices(memo, 380 + j);
            (void)alloc_memo_solve(memo, sizes, &result);
        }
    }
    assert_false(mem_fault_disarm());
    assert_int_equal(mem_fault_calls(), 0);
    alloc_memo_free(memo);
}

/* Whatever allocation fails, the memo goes on to the right answer. */
static void no_memory_costs_one_answer_and_no_more(void **state)
{
    struct rng rng = rng_stream(SEED, "memory");
    int32_t sizes[CASE_ROWS_MAX];
    struct alloc_result result;
    static struct mirror m;
    bool has_failed = true;

    (void)state;
    fill_pool(&rng, 12);
    for (uint64_t nth = 1; has_failed; nth++) {
        struct alloc_memo *memo = alloc_memo_new();

        m = (struct mirror){.devices = 200};
        alloc_memo_set_devices(memo, m.devices);
        mem_fault_arm(nth);
        for (int32_t j = 0; j < 20; j++)
            if (alloc_memo_insert(memo, m.n_rows, &pool.rows[j]) == 0)
                m.rows[m.n_rows++] = pool.rows[j];
        (void)alloc_memo_solve(memo, sizes, &result);
        remove_row(memo, &m, 3);
        if (alloc_memo_insert(memo, 5, &pool.rows[50]) == 0) {
            memmove(&m.rows[6], &m.rows[5], (size_t)(m.n_rows - 5) * sizeof m.rows[0]);
            m.rows[5] = pool.rows[50];
            m.n_rows++;
        }
        (void)alloc_memo_solve(memo, sizes, &result);
        has_failed = mem_fault_disarm();
        check_memo(memo, &m);
        alloc_memo_free(memo);
    }
}

static int release_scratch(void **state)
{
    (void)state;
    alloc_scratch_release(&scratch);
    return mem_fault_blocks() == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_run_of_events_ends_like_a_cold_solve),
        cmocka_unit_test(ties_follow_rows_that_move),
        cmocka_unit_test(what_if_leaves_everything_as_it_was),
        cmocka_unit_test(a_memo_that_has_grown_allocates_nothing),
        cmocka_unit_test(no_memory_costs_one_answer_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, release_scratch);
}
