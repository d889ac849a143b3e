/* SPDX-License-Identifier: Apache-2.0 */
/* Random scenarios with faults, by seed. Whatever happens: the invariants hold after each
 * step (the runner checks them), two runs have one digest, engines that are rebuilt from
 * their journal tell the same story, and once the faults have stopped every job ends. */
#include "sim/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"

#define SEEDS    50
#define JOBS_TOP 9

/* Seeds that once failed; always run. */
static const uint64_t hard_seeds[] = {0};

static const char *pick(struct rng *rng, const char *const *words, size_t n)
{
    return words[rng_below(rng, n)];
}

static int minutes(struct rng *rng, int low, int high)
{
    return (int)rng_between(rng, low, high);
}

static void add_job(struct rng *rng, struct buf *out, int number)
{
    static const char *const sizes[] = {"1..4", "1..8",  "1..6",       "1",
                                        "2",    "1,2,4", "2..6",       "3,5",
                                        "1..8", "1..3",  "1..8 step 2"};
    static const char *const batches[] = {"64..256, 64 per gpu", "64..512, 32 per gpu",
                                          "96, 64 per gpu", "128..256, 64 per gpu",
                                          "60..250, 50 per gpu"};
    static const char *const extras[] = {"",
                                         "level restartable",
                                         "retries 2",
                                         "accumulate free",
                                         "model unknown",
                                         "saves 3m",
                                         "weight 2",
                                         "grace 3s",
                                         "limit 40m",
                                         "length unknown",
                                         "comm 40ms",
                                         "accumulate never"};

    buf_printf(out, "job j%d gpus %s batch %s work %d gpu-minutes at %ds %s\n", number,
               pick(rng, sizes, ARRAY_SIZE(sizes)),
               pick(rng, batches, ARRAY_SIZE(batches)), minutes(rng, 2, 90),
               (int)rng_between(rng, 0, 2500), pick(rng, extras, ARRAY_SIZE(extras)));
}

static void add_fault(struct rng *rng, struct buf *out, int n_jobs, int n_nodes)
{
    int job = (int)rng_between(rng, 1, n_jobs);
    int node = (int)rng_between(rng, 1, n_nodes);
    int at = minutes(rng, 1, 90);

    switch (rng_below(rng, 13)) {
    case 0:
    case 1:
        buf_printf(out, "fault n%d down at %dm, up at %dm\n", node, at,
                   at + minutes(rng, 1, 40));
        break;
    case 2:
        buf_printf(out, "fault j%d crash at %dm\n", job, at);
        break;
    case 3:
        buf_printf(out, "fault j%d save fails at %dm, save hangs at %dm\n", job, at,
                   at + 20);
        break;
    case 4:
        buf_printf(out, "fault daemon restart at %dm%ds for %ds\n", at,
                   minutes(rng, 0, 59), minutes(rng, 0, 90));
        break;
    case 5:
        buf_printf(out, "fault store fails at %dm until %dm\n", at,
                   at + minutes(rng, 1, 5));
        break;
    case 6:
        buf_printf(out, "fault answer lost j%d exit at %dm\n", job, at);
        break;
    case 7:
        buf_printf(out, "fault answer late j%d started by %ds at %dm\n", job,
                   minutes(rng, 1, 90), at);
        break;
    case 8:
        buf_printf(out, "user pause j%d at %dm, resume j%d at %dm\n", job, at, job,
                   at + minutes(rng, 1, 20));
        break;
    case 10:
    case 11:
        buf_printf(out, "fault n%d device 0 %s at %dm until %dm\n", node,
                   rng_below(rng, 3) ? "foreign" : "stuck", at, at + minutes(rng, 1, 60));
        break;
    case 9:
        buf_printf(out, "user cancel j%d at %dm\n", job, at);
        break;
    default:
        buf_printf(out, "update j%d gpus 1..%d at %dm\n", job, minutes(rng, 1, 4), at);
        break;
    }
}

static void make_text(uint64_t seed, struct buf *out)
{
    static const char *const policies[] = {
        "joint", "joint", "joint",     "joint skip", "joint drop",
        "joint", "fifo",  "fixed-max", "fixed-min",  "fixed-max-accum"};
    static const char *const delays[] = {"delays detect 10s", "delays commit 20ms",
                                         "delays save 40s, stop 8s", "delays start 90s",
                                         "delays warm_up 45s"};
    struct rng rng = rng_stream(seed, "scenario");
    int nodes = (int)rng_between(&rng, 1, 5);
    int gpus = rng_below(&rng, 8) == 0 ? 1 : minutes(&rng, 2, 4);
    int jobs = (int)rng_between(&rng, 2, JOBS_TOP);
    int faults = (int)rng_between(&rng, 0, 8);

    buf_printf(out, "cluster %d nodes x %d gpu\n", nodes, gpus);
    buf_printf(out, "policy %s\n", pick(&rng, policies, ARRAY_SIZE(policies)));
    buf_printf(out, "%s, perf 5m\nuntil 300d\n", pick(&rng, delays, ARRAY_SIZE(delays)));
    if (rng_below(&rng, 3) == 0)
        buf_puts(out, "scaler none\n");
    for (int i = 1; i <= jobs; i++)
        add_job(&rng, out, i);
    for (int i = 0; i < faults; i++)
        add_fault(&rng, out, jobs, nodes);
}

static void fail_seed(uint64_t seed, const char *text, const char *why, const char *story)
{
    print_message("%s\n%s\n", text, story);
    fail_msg("seed %llu: %s", (unsigned long long)seed, why);
}

/* What all runs together have seen: a generator that goes blind is noticed. */
struct tally {
    int64_t done;
    int64_t resizes;
    int64_t repeats; /* jobs that had to repeat work */
    int64_t refused;
};

static void count(struct tally *tally, const struct sim_result *result)
{
    for (size_t i = 0; i < result->n_jobs; i++) {
        tally->done += result->jobs[i].state == JOB_DONE;
        tally->resizes += result->jobs[i].resizes;
        tally->repeats += result->jobs[i].samples_repeated > 0;
    }
    tally->refused += (int64_t)result->n_refused;
}

static void run_seed(uint64_t seed, struct tally *tally)
{
    struct sim_options options = {.wants_story = true};
    struct sim_result one;
    struct sim_result two;
    struct scenario scn;
    struct err err = {0};
    struct buf text;

    buf_init(&text, SCN_TEXT_MAX);
    scenario_init(&scn);
    sim_result_init(&one);
    sim_result_init(&two);
    make_text(seed, &text);
    if (scenario_read(&scn, text.text, text.len, &err) < 0 ||
        sim_run(&scn, &options, &one, &err) < 0)
        fail_seed(seed, text.text, err.text, one.story.text);
    if (one.n_unfinished > 0)
        fail_seed(seed, text.text, "a job never ends", one.story.text);
    options.rebuild_every = (int64_t)(seed % 7);
    if (sim_run(&scn, &options, &two, &err) < 0)
        fail_seed(seed, text.text, err.text, two.story.text);
    if (strcmp(one.story.text, two.story.text) != 0)
        fail_seed(seed, text.text, "two runs, two stories", one.story.text);
    if (options.rebuild_every == 0)
        assert_true(one.digest == two.digest);
    count(tally, &one);
    sim_result_release(&one);
    sim_result_release(&two);
    scenario_release(&scn);
    buf_release(&text);
}

static void random_scenarios_keep_every_promise(void **state)
{
    struct tally tally = {0};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed, &tally);
    print_message("%d seeds: %lld done, %lld refused, %lld resizes, %lld repeated work\n",
                  SEEDS, (long long)tally.done, (long long)tally.refused,
                  (long long)tally.resizes, (long long)tally.repeats);
    assert_true(tally.done > 2 * SEEDS);
    assert_true(tally.resizes > 2 * SEEDS);
    assert_true(tally.repeats > SEEDS / 10);
    assert_true(tally.refused < 2 * SEEDS);
}

static void hard_seeds_keep_every_promise(void **state)
{
    struct tally tally = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(hard_seeds); i++)
        run_seed(hard_seeds[i], &tally);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hard_seeds_keep_every_promise),
        cmocka_unit_test(random_scenarios_keep_every_promise),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
