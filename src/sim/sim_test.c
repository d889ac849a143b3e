/* SPDX-License-Identifier: Apache-2.0 */
/* The runner as a whole; what the stories of test/golden cannot say. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "support/mem_fault.h"

static const char *const two_jobs =
    "cluster 2 nodes x 2 gpu\n"
    "job a gpus 1..4 batch 64..256, 64 per gpu work 2 gpu-hours at 0\n"
    "job b gpus 1..2 batch 64..128, 64 per gpu work 30 gpu-minutes at 10m\n"
    "fault n2 down at 20m, up at 25m\n"
    "fault daemon restart at 30m for 3s\n";

static void read_text(struct scenario *scn, const char *text)
{
    struct err err = {0};

    scenario_init(scn);
    if (scenario_read(scn, text, strlen(text), &err) < 0)
        fail_msg("%s %s", err.field, err.text);
}

static void run_text(const char *text, struct sim_options options,
                     struct sim_result *result)
{
    struct scenario scn;
    struct err err = {0};

    read_text(&scn, text);
    sim_result_init(result);
    if (sim_run(&scn, &options, result, &err) < 0)
        fail_msg("%s", err.text);
    scenario_release(&scn);
}

static void sim_gives_one_digest_for_one_scenario(void **state)
{
    const struct sim_options options = {.wants_story = true};
    struct sim_result one;
    struct sim_result two;

    (void)state;
    run_text(two_jobs, options, &one);
    run_text(two_jobs, options, &two);
    assert_string_equal(one.story.text, two.story.text);
    assert_true(one.digest == two.digest);
    assert_true(one.story.len > 0);
    sim_result_release(&one);
    sim_result_release(&two);
}

static void sim_tells_the_same_when_engines_are_rebuilt(void **state)
{
    struct sim_options options = {.wants_story = true};
    struct sim_result plain;

    (void)state;
    run_text(two_jobs, options, &plain);
    for (options.rebuild_every = 1; options.rebuild_every < 6; options.rebuild_every++) {
        struct sim_result rebuilt;

        run_text(two_jobs, options, &rebuilt);
        assert_string_equal(rebuilt.story.text, plain.story.text);
        sim_result_release(&rebuilt);
    }
    sim_result_release(&plain);
}

static void sim_table_counts_what_happened(void **state)
{
    const struct sim_options options = {.checks = SIM_CHECK_ALL};
    struct sim_result result;

    (void)state;
    run_text(two_jobs, options, &result);
    assert_int_equal(result.n_jobs, 2);
    assert_int_equal(result.n_unfinished, 0);
    assert_int_equal(result.n_refused, 0);
    assert_int_equal(result.story.len, 0);
    assert_int_equal(result.jobs[1].submit_us, 10 * USEC_PER_MIN);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(result.jobs[i].state, JOB_DONE);
        assert_true(result.jobs[i].start_us >= result.jobs[i].submit_us);
        assert_true(result.jobs[i].end_us > result.jobs[i].start_us);
        assert_true(result.jobs[i].end_us <= result.end_us);
        assert_true(result.jobs[i].device_us >= result.jobs[i].active_us);
    }
    sim_result_release(&result);
}

static void sim_stops_at_until_and_counts_the_unfinished(void **state)
{
    const struct sim_options options = {.checks = SIM_CHECK_ALL};
    struct sim_result result;

    (void)state;
    run_text("cluster 1 nodes x 1 gpu\n"
             "job a gpus 1 batch 64 work 3 gpu-hours\n"
             "job b gpus 1 batch 64 work 3 gpu-hours\n"
             "job c gpus 2 batch 64 work 3 gpu-hours\n"
             "until 1h\n",
             options, &result);
    assert_int_equal(result.end_us, USEC_PER_HOUR);
    assert_int_equal(result.n_unfinished, 2);
    assert_int_equal(result.n_refused, 1);
    assert_int_equal(result.jobs[0].state, JOB_RUNNING);
    assert_true(result.jobs[0].samples_done > 0);
    assert_int_equal(result.jobs[1].state, JOB_QUEUED);
    assert_int_equal(result.jobs[2].id, 0);
    sim_result_release(&result);
}

static void sim_spans_never_share_a_device(void **state)
{
    const struct sim_options options = {.wants_spans = true};
    struct sim_result result;
    const struct sim_span *s;

    (void)state;
    run_text(two_jobs, options, &result);
    assert_true(result.spans.n_done > 4);
    assert_int_equal(result.spans.n_outages, 1);
    assert_int_equal(result.spans.outages[0].from_us - SIM_ZERO_US, 20 * USEC_PER_MIN);
    assert_int_equal(result.spans.outages[0].to_us - SIM_ZERO_US, 25 * USEC_PER_MIN);
    s = result.spans.done;
    for (size_t i = 0; i < result.spans.n_done; i++) {
        assert_true(s[i].to_us > s[i].from_us);
        for (size_t j = 0; j < i; j++) {
            bool in_time = s[i].from_us < s[j].to_us && s[j].from_us < s[i].to_us;
            bool in_space = s[i].first < s[j].first + s[j].count &&
                            s[j].first < s[i].first + s[i].count;

            assert_false(in_time && in_space);
        }
    }
    sim_result_release(&result);
}

static void sim_survives_each_failing_allocation(void **state)
{
    const struct sim_options options = {.wants_story = true, .wants_spans = true};
    struct scenario scn;
    struct err err;
    bool has_failed = true;
    uint64_t n_failed = 0;

    (void)state;
    read_text(&scn, "cluster 1 nodes x 2 gpu\n"
                    "job a gpus 1..2 batch 64..128, 64 per gpu work 3 gpu-minutes\n"
                    "fault daemon restart at 1m for 1s\n");
    for (uint64_t nth = 1; has_failed; nth += 1 + nth / 30) {
        size_t blocks = mem_fault_blocks();
        struct sim_result result;
        int rc;

        sim_result_init(&result);
        mem_fault_arm(nth);
        rc = sim_run(&scn, &options, &result, &err);
        has_failed = mem_fault_disarm();
        n_failed += has_failed;
        if (rc < 0 && (!has_failed || rc != E_NOMEM))
            fail_msg("allocation %llu: %d, %s", (unsigned long long)nth, rc, err.text);
        sim_result_release(&result);
        assert_int_equal(mem_fault_blocks(), blocks);
    }
    assert_true(n_failed > 50);
    scenario_release(&scn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_gives_one_digest_for_one_scenario),
        cmocka_unit_test(sim_tells_the_same_when_engines_are_rebuilt),
        cmocka_unit_test(sim_table_counts_what_happened),
        cmocka_unit_test(sim_stops_at_until_and_counts_the_unfinished),
        cmocka_unit_test(sim_spans_never_share_a_device),
        cmocka_unit_test(sim_survives_each_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
