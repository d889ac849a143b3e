/* SPDX-License-Identifier: Apache-2.0 */
#include "libelastane/elastane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdlib.h>
#include <cmocka.h>

/* The channel itself is tested with a real shim: test/runtime. */

static int forget_environment(void **state)
{
    static const char *const names[] = {"ELASTANE_CHANNEL", "ELASTANE_GLOBAL_BATCH",
                                        "RANK", "WORLD_SIZE"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
    return 0;
}

static void client_alone_trains_as_if_nobody_were_there(void **state)
{
    struct elastane_plan plan;
    struct elastane *e;

    (void)state;
    assert_int_equal(elastane_init(64, &e), 0);
    assert_int_equal(elastane_get_mode(e), ELASTANE_ALONE);
    elastane_get_plan(e, &plan);
    assert_int_equal(plan.size, 1);
    assert_int_equal(plan.rank, 0);
    assert_int_equal(plan.global_batch, 64);
    assert_true(elastane_lr_factor(&plan, 0) == 1.0);
    assert_int_equal(elastane_resume(e, 640), 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(elastane_step(e, 64), ELASTANE_CONTINUE);
    assert_int_equal(elastane_get_samples_done(e), 1280);
    assert_int_equal(elastane_saved(e, "m"), ELASTANE_CONTINUE);
    assert_int_equal(elastane_save_failed(e, NULL), ELASTANE_CONTINUE);
    elastane_set_phase(e, ELASTANE_PHASE_EVAL);
    elastane_measured_micro(e, 8, 100);
    elastane_measured_comm(e, 100, 8);
    elastane_out_of_memory(e, 8);
    elastane_done(e);
    elastane_free(e);
}

static void client_alone_takes_rank_and_size_from_a_launcher(void **state)
{
    struct elastane_plan plan;
    struct elastane *e;

    (void)state;
    (void)setenv("RANK", "2", 1);
    (void)setenv("WORLD_SIZE", "4", 1);
    (void)setenv("ELASTANE_GLOBAL_BATCH", "not a number", 1);
    assert_int_equal(elastane_init(32, &e), 0);
    elastane_get_plan(e, &plan);
    assert_int_equal(plan.rank, 2);
    assert_int_equal(plan.size, 4);
    assert_int_equal(plan.global_batch, 32);
    elastane_free(e);
}

static void client_that_cannot_reach_its_channel_is_disabled_and_harmless(void **state)
{
    struct elastane *e;

    (void)state;
    (void)setenv("ELASTANE_CHANNEL", "/nonexistent/channel", 1);
    assert_int_equal(elastane_init(32, &e), 0);
    assert_int_equal(elastane_get_mode(e), ELASTANE_DISABLED);
    assert_true(strlen(elastane_get_message(e)) > 0);
    assert_int_equal(elastane_step(e, 32), ELASTANE_CONTINUE);
    elastane_free(e);
    (void)setenv("ELASTANE_CHANNEL", "no-slash", 1);
    assert_int_equal(elastane_init(32, &e), 0);
    assert_int_equal(elastane_get_mode(e), ELASTANE_DISABLED);
    elastane_free(e);
}

static void client_accepts_no_handle_and_refuses_nonsense(void **state)
{
    struct elastane_plan plan;
    struct elastane *e;

    (void)state;
    assert_int_equal(elastane_step(NULL, 1), ELASTANE_CONTINUE);
    assert_int_equal(elastane_saved(NULL, NULL), ELASTANE_CONTINUE);
    elastane_get_plan(NULL, &plan);
    assert_int_equal(plan.size, 1);
    elastane_free(NULL);
    elastane_done(NULL);
    assert_int_equal(elastane_init(-1, &e), ELASTANE_E_INVALID);
    assert_int_equal(elastane_init(1, NULL), ELASTANE_E_INVALID);
    assert_int_equal(elastane_init(1, &e), 0);
    assert_int_equal(elastane_step(e, -1), ELASTANE_E_INVALID);
    assert_int_equal(elastane_resume(e, -1), ELASTANE_E_INVALID);
    assert_int_equal(elastane_resume(e, INT64_MAX), 0);
    assert_int_equal(elastane_step(e, INT64_MAX), ELASTANE_CONTINUE);
    assert_true(elastane_get_samples_done(e) == INT64_MAX);
    elastane_free(e);
}

#define CASE(test) cmocka_unit_test_setup(test, forget_environment)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(client_alone_trains_as_if_nobody_were_there),
        CASE(client_alone_takes_rank_and_size_from_a_launcher),
        CASE(client_that_cannot_reach_its_channel_is_disabled_and_harmless),
        CASE(client_accepts_no_handle_and_refuses_nonsense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
