/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/rank_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

static struct order_words built(const struct order *order, int32_t index)
{
    struct order_words words;

    assert_int_equal(rank_env_build(order, index, 4321, "/i", &words), 0);
    return words;
}

static const char *value(const struct order_words *words, const char *name)
{
    const char *found = NULL;
    size_t n = strlen(name);

    for (size_t i = 0; i < words->n; i++) {
        if (strncmp(words->words[i], name, n) != 0 || words->words[i][n] != '=')
            continue;
        assert_null(found); /* a name stands once */
        found = words->words[i] + n + 1;
    }
    return found;
}

static void order_of_two(struct order *order)
{
    static struct order_rank ranks[2];

    ranks[0] = (struct order_rank){.rank = 0, .device = 3};
    ranks[1] = (struct order_rank){.rank = 1, .device = 5};
    order_init(order);
    order->job = 7;
    order->plan = (struct job_plan){9, 2, 100, 25, 2};
    order->batch_base = 50;
    order->ranks = ranks;
    order->n_ranks = 2;
}

static void forget(struct order *order)
{
    order->ranks = NULL; /* lent */
    order_release(order);
}

static void rank_env_names_rank_and_plan(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    words = built(&order, 1);
    assert_string_equal(value(&words, "RANK"), "1");
    assert_string_equal(value(&words, "WORLD_SIZE"), "2");
    assert_string_equal(value(&words, "MASTER_PORT"), "4321");
    assert_string_equal(value(&words, "OMP_NUM_THREADS"), "1");
    assert_string_equal(value(&words, "ELASTANE_GENERATION"), "9");
    assert_string_equal(value(&words, "ELASTANE_GLOBAL_BATCH"), "100");
    assert_string_equal(value(&words, "ELASTANE_LR_FACTOR"), "1.000000");
    assert_string_equal(value(&words, "ELASTANE_CHANNEL"), "/i/channel");
    assert_string_equal(value(&words, "ELASTANE_PROGRESS"), "/i/progress");
    assert_string_equal(value(&words, "ELASTANE_PROFILE"), "probe");
    assert_null(value(&words, "ELASTANE_CHECKPOINT_DIR"));
    rank_env_release(&words);
    forget(&order);
}

/* Whatever the submitter's environment says, and for a job without a batch too. */
static void ranks_are_told_how_their_job_is_measured(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    order.profile = JOB_PROFILE_PASSIVE;
    order.plan.global_batch = 0;
    assert_int_equal(order_words_add(&order.env, "ELASTANE_PROFILE=probe"), 0);
    words = built(&order, 0);
    assert_string_equal(value(&words, "ELASTANE_PROFILE"), "passive");
    rank_env_release(&words);
    forget(&order);
}

static void every_start_is_one_run_in_the_tracker(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    (void)snprintf(order.run_id, sizeof(order.run_id), "elastane-7-abc");
    order.restart_count = 3;
    order.samples_done = 640;
    words = built(&order, 0);
    assert_string_equal(value(&words, "ELASTANE_RUN_ID"), "elastane-7-abc");
    assert_string_equal(value(&words, "WANDB_RUN_ID"), "elastane-7-abc");
    assert_string_equal(value(&words, "WANDB_RESUME"), "allow");
    assert_string_equal(value(&words, "ELASTANE_JOB_ID"), "7");
    assert_string_equal(value(&words, "ELASTANE_RESTART_COUNT"), "3");
    assert_string_equal(value(&words, "ELASTANE_SAMPLES_DONE"), "640");
    rank_env_release(&words);
    assert_int_equal(order_words_add(&order.env, "WANDB_RUN_ID=mine"), 0);
    assert_int_equal(order_words_add(&order.env, "WANDB_RESUME=never"), 0);
    words = built(&order, 0);
    assert_string_equal(value(&words, "WANDB_RUN_ID"), "mine");
    assert_string_equal(value(&words, "WANDB_RESUME"), "never");
    rank_env_release(&words);
    forget(&order);
}

static void a_launcher_sees_all_devices_and_is_no_rank(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    order.device_kind = ORDER_CUDA;
    order.launch = LAUNCH_NODE;
    assert_int_equal(order_words_add(&order.env, "RANK=9"), 0);
    words = built(&order, 0);
    assert_null(value(&words, "RANK"));
    assert_null(value(&words, "LOCAL_RANK"));
    assert_string_equal(value(&words, "WORLD_SIZE"), "2");
    assert_string_equal(value(&words, "CUDA_VISIBLE_DEVICES"), "3,5");
    rank_env_release(&words);
    forget(&order);
}

static void rank_env_lets_no_foreign_rank_leak_in(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    assert_int_equal(order_words_add(&order.env, "RANK=8"), 0);
    assert_int_equal(order_words_add(&order.env, "RANKING=first"), 0);
    assert_int_equal(order_words_add(&order.env, "ELASTANE_SOCKET=/s"), 0);
    words = built(&order, 0);
    assert_string_equal(value(&words, "RANK"), "0");
    assert_string_equal(value(&words, "RANKING"), "first");
    assert_null(value(&words, "ELASTANE_SOCKET"));
    rank_env_release(&words);
    forget(&order);
}

static void rank_env_of_a_gpu_names_the_device(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    order.device_kind = ORDER_CUDA;
    assert_int_equal(order_words_add(&order.env, "OMP_NUM_THREADS=6"), 0);
    assert_int_equal(order_words_add(&order.env, "CUDA_VISIBLE_DEVICES=0,1,2"), 0);
    words = built(&order, 1);
    assert_string_equal(value(&words, "CUDA_VISIBLE_DEVICES"), "5");
    assert_string_equal(value(&words, "OMP_NUM_THREADS"), "6");
    rank_env_release(&words);
    forget(&order);
}

static void rank_env_names_gpus_by_uuid_when_all_have_one(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    order.device_kind = ORDER_CUDA;
    memcpy(order.ranks[1].uuid, "GPU-b", sizeof "GPU-b");
    words = built(&order, 1); /* never one of each kind */
    assert_string_equal(value(&words, "CUDA_VISIBLE_DEVICES"), "5");
    rank_env_release(&words);
    memcpy(order.ranks[0].uuid, "GPU-a", sizeof "GPU-a");
    words = built(&order, 1);
    assert_string_equal(value(&words, "CUDA_VISIBLE_DEVICES"), "GPU-b");
    rank_env_release(&words);
    order.launch = LAUNCH_NODE;
    words = built(&order, 0);
    assert_string_equal(value(&words, "CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
    rank_env_release(&words);
    forget(&order);
}

static void rank_env_of_a_job_without_batch_has_no_batch(void **state)
{
    struct order order;
    struct order_words words;

    (void)state;
    order_of_two(&order);
    order.plan.global_batch = 0;
    words = built(&order, 0);
    assert_null(value(&words, "ELASTANE_GLOBAL_BATCH"));
    assert_null(value(&words, "ELASTANE_LR_FACTOR"));
    assert_string_equal(value(&words, "ELASTANE_JOB_ID"), "7");
    rank_env_release(&words);
    forget(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_env_names_rank_and_plan),
        cmocka_unit_test(ranks_are_told_how_their_job_is_measured),
        cmocka_unit_test(every_start_is_one_run_in_the_tracker),
        cmocka_unit_test(a_launcher_sees_all_devices_and_is_no_rank),
        cmocka_unit_test(rank_env_lets_no_foreign_rank_leak_in),
        cmocka_unit_test(rank_env_of_a_gpu_names_the_device),
        cmocka_unit_test(rank_env_names_gpus_by_uuid_when_all_have_one),
        cmocka_unit_test(rank_env_of_a_job_without_batch_has_no_batch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
