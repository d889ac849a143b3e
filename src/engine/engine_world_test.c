/* SPDX-License-Identifier: Apache-2.0 */
/* R09 and R12 by chance: the daemon dies at any moment, reports come late, twice and in
 * any order, the disk fills up; the world asserts what must hold (world_testing.h). */
#include "engine/world_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "engine/replay.h"

/* Seeds that failed once join this list. */
static const uint64_t seeds[] = {1, 2, 3, 4, 5, 6, 7};

static void live_through(uint64_t seed, uint64_t crash_one_in)
{
    struct world *w = calloc(1, sizeof *w);
    struct journal_walk walk = {0};
    struct replay_options options = {.decide = true, .check = true};
    struct replay_source source;
    struct replay_report report;
    struct err err = {0};

    print_message("# seed %llu\n", (unsigned long long)seed);
    assert_non_null(w);
    world_init(w, seed);
    for (int i = 0; i < 500; i++) {
        world_act(w);
        if (crash_one_in > 0 && rng_below(&w->rng, crash_one_in) == 0)
            world_crash(w);
    }
    world_settle(w);
    assert_true(w->performed > 10);
    walk.journal = &w->journal;
    source = journal_source(&walk);
    if (replay_run(&options, &source, &report, &err) < 0)
        fail_msg("%s\nrecorded: %s\nnow:      %s", err.text, report.recorded, report.now);
    assert_int_equal(report.digest, w->digests[w->journal.n]);
    world_release(w);
    free(w);
}

static void a_slow_and_failing_disk_breaks_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
        live_through(seeds[i], 0);
}

static void r09_crashes_at_any_moment_break_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(seeds); i++)
        live_through(seeds[i] + 100, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_and_failing_disk_breaks_nothing),
        cmocka_unit_test(r09_crashes_at_any_moment_break_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
