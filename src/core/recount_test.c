/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recount.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct job_spec spec = {.id = 7, .name = "mlp", .samples_total = 600};

static struct recount three_moves(void)
{
    return (struct recount){
        .n = 3,
        .moves =
            {{10 * USEC_PER_SEC, JOB_QUEUED, {0}, "waits for the next plan"},
             {12 * USEC_PER_SEC, JOB_STARTING, {1, 1, 128, 128, 1}, "fits beside 1 job"},
             {13 * USEC_PER_SEC, JOB_RUNNING, {1, 1, 128, 128, 1}, "fits beside 1 job"}},
    };
}

static void assert_tells(const struct job_run *run, const struct recount *r,
                         const char *wanted)
{
    struct buf out;

    buf_init(&out, 4096);
    recount_print(&spec, run, r, &out);
    assert_int_equal(buf_error(&out), 0);
    assert_string_equal(out.text, wanted);
    buf_release(&out);
}

static void tells_why_a_job_failed_and_what_it_had(void **state)
{
    const struct job_run run = {.state = JOB_FAILED,
                                .cause = JOB_CAUSE_USER_ERROR,
                                .submit_us = 10 * USEC_PER_SEC,
                                .end_us = 90 * USEC_PER_SEC,
                                .active_us = 77 * USEC_PER_SEC,
                                .samples_done = 300,
                                .reason = "rank 0 ended with status 3"};
    const struct recount r = three_moves();

    (void)state;
    assert_tells(&run, &r,
                 "job 7 (mlp) has failed\n"
                 "  why             rank 0 ended with status 3\n"
                 "  cause           its command failed by itself\n"
                 "  ran for         1m 17s, ended 1m 20s after the submit\n"
                 "  samples         300 of 600\n"
                 "  after 0s        queued: waits for the next plan\n"
                 "  after 2s        starting, 1 gpu, batch 128: fits beside 1 job\n");
}

static void tells_of_a_job_that_never_ran(void **state)
{
    const struct job_run run = {.state = JOB_CANCELLED,
                                .submit_us = 10 * USEC_PER_SEC,
                                .end_us = 10 * USEC_PER_SEC,
                                .reason = "cancelled by its owner"};
    const struct recount none = {0};

    (void)state;
    assert_tells(&run, &none,
                 "job 7 (mlp) was cancelled\n"
                 "  why             cancelled by its owner\n"
                 "  ran for         0s\n");
}

static void counts_the_moves_that_it_does_not_tell(void **state)
{
    const struct job_run run = {.submit_us = 10 * USEC_PER_SEC};
    struct recount r = three_moves();
    struct buf out;

    (void)state;
    r.n_before = 2;
    buf_init(&out, 4096);
    recount_print_moves(&run, &r, &out);
    assert_non_null(
        strstr(out.text, "  before          2 older moves: see its history\n"));
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_why_a_job_failed_and_what_it_had),
        cmocka_unit_test(tells_of_a_job_that_never_ran),
        cmocka_unit_test(counts_the_moves_that_it_does_not_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
