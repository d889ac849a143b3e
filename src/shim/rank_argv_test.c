/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/rank_argv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "shim/rank_env.h"

static void words_are(enum launch_form form, const char *const *given,
                      const char *const *expected)
{
    struct order_rank ranks[] = {
        {.rank = 0, .device = 3}, {.rank = 1, .device = 5}, {.rank = 2, .device = 6}};
    struct order_words words = {0};
    struct order order;
    size_t n = 0;

    order_init(&order);
    order.launch = form;
    order.plan.size = 3;
    order.ranks = ranks;
    order.n_ranks = 3;
    order.n_nodes = 2;
    order.node_rank = 1;
    for (size_t i = 0; given[i]; i++)
        assert_int_equal(order_words_add(&order.argv, given[i]), 0);
    assert_int_equal(rank_argv_build(&order, 4321, &words), 0);
    for (; expected[n]; n++)
        assert_string_equal(words.words[n], expected[n]);
    assert_int_equal(words.n, n);
    rank_env_release(&words);
    order.ranks = NULL; /* lent */
    order_release(&order);
}

static void launcher_gets_what_it_must_know(void **state)
{
    static const char *const given[] = {"torchrun",
                                        "--nproc_per_node={nproc}",
                                        "--nnodes",
                                        "{nnodes}",
                                        "--node_rank",
                                        "{node_rank}",
                                        "--rdzv",
                                        "{master_addr}:{master_port}",
                                        "{nproc}{nproc}",
                                        "",
                                        NULL};
    static const char *const expected[] = {
        "torchrun", "--nproc_per_node=3", "--nnodes", "2", "--node_rank", "1",
        "--rdzv",   "127.0.0.1:4321",     "33",       "",  NULL};

    (void)state;
    words_are(LAUNCH_NODE, given, expected);
    words_are(LAUNCH_ONCE, given, expected);
}

static void other_braces_stay(void **state)
{
    static const char *const given[] = {"{}", "{nprocs}", "{\"lr\": {nproc}}", "${nproc",
                                        NULL};
    static const char *const expected[] = {"{}", "{nprocs}", "{\"lr\": 3}", "${nproc",
                                           NULL};

    (void)state;
    words_are(LAUNCH_NODE, given, expected);
}

static void words_of_a_rank_are_its_own(void **state)
{
    static const char *const given[] = {"train", "{nproc}", NULL};

    (void)state;
    words_are(LAUNCH_RANK, given, given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launcher_gets_what_it_must_know),
        cmocka_unit_test(other_braces_stay),
        cmocka_unit_test(words_of_a_rank_are_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
