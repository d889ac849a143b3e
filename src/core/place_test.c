/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/rng.h"

#define N_MAX 64

/* Nodes of the given sizes, all of one type unless `types` says otherwise. */
static void build(struct cluster *c, const int32_t *sizes, const char *const *types,
                  int n)
{
    cluster_init(c);
    for (int i = 0; i < n; i++) {
        struct node node = {
            .index = (uint32_t)i, .devices = sizes[i], .first = c->n_devices};

        (void)snprintf(node.name, sizeof node.name, "n%d", i);
        (void)snprintf(node.device_type, sizeof node.device_type, "%s",
                       types ? types[i] : "");
        assert_int_equal(cluster_put_node(c, &node), 0);
    }
}

/* place_choose() from all that is free now. */
static int choose(const struct cluster *c, uint32_t job, int32_t type, int32_t size,
                  int32_t *devices)
{
    struct place_pool pool;
    int32_t before[N_MAX];
    int rc;

    assert_int_equal(place_pool_init(&pool, c), 0);
    memcpy(before, pool.on_node, (size_t)c->n_nodes * sizeof *before);
    rc = place_choose(&pool, job, type, size, devices);
    assert_memory_equal(before, pool.on_node, (size_t)c->n_nodes * sizeof *before);
    for (int32_t i = 0; i < c->n_nodes; i++)
        assert_int_equal(pool.held[i], 0);
    place_pool_release(&pool);
    return rc;
}

static void assert_chosen(const int32_t *devices, int n, const int32_t *expected)
{
    for (int i = 0; i < n; i++)
        assert_int_equal(devices[i], expected[i]);
}

static void place_keeps_what_is_held_and_grows_on_its_node(void **state)
{
    struct cluster c;
    int32_t devices[N_MAX];

    (void)state;
    build(&c, (const int32_t[]){4, 4}, NULL, 2);
    cluster_put_hold(&c, &(struct hold){5, 1, 7, HOLD_NOW});
    assert_int_equal(choose(&c, 7, 0, 3, devices), 0);
    assert_chosen(devices, 3, (const int32_t[]){4, 5, 6});
    assert_int_equal(place_nodes(&c, devices, 3), 1);
    cluster_release(&c);
}

static void place_takes_the_node_that_fits_best(void **state)
{
    struct cluster c;
    int32_t devices[N_MAX];

    (void)state;
    build(&c, (const int32_t[]){8, 2, 4}, NULL, 3);
    assert_int_equal(choose(&c, 1, 0, 2, devices), 0);
    assert_chosen(devices, 2, (const int32_t[]){8, 9});
    assert_int_equal(choose(&c, 1, 0, 3, devices), 0);
    assert_chosen(devices, 3, (const int32_t[]){10, 11, 12});
    assert_int_equal(choose(&c, 1, 0, 11, devices), 0);
    assert_int_equal(place_nodes(&c, devices, 11), 2);
    assert_int_equal(choose(&c, 1, 0, 15, devices), E_INFEASIBLE);
    cluster_release(&c);
}

static void place_shrinks_onto_the_node_with_most(void **state)
{
    struct cluster c;
    int32_t devices[N_MAX];

    (void)state;
    build(&c, (const int32_t[]){4, 4}, NULL, 2);
    cluster_put_hold(&c, &(struct hold){3, 1, 1, HOLD_NOW});
    cluster_put_hold(&c, &(struct hold){4, 3, 1, HOLD_NOW});
    assert_int_equal(choose(&c, 1, 0, 2, devices), 0);
    assert_chosen(devices, 2, (const int32_t[]){4, 5});
    cluster_release(&c);
}

static void place_never_mixes_device_types(void **state)
{
    static const char *const types[] = {"v100", "a100", "v100"};
    struct cluster c;
    int32_t devices[N_MAX];

    (void)state;
    build(&c, (const int32_t[]){1, 4, 1}, types, 3);
    assert_int_equal(choose(&c, 1, 0, 2, devices), 0);
    assert_chosen(devices, 2, (const int32_t[]){0, 5});
    assert_int_equal(choose(&c, 1, 0, 3, devices), E_INFEASIBLE);
    assert_int_equal(choose(&c, 1, 1, 3, devices), 0);
    assert_chosen(devices, 3, (const int32_t[]){1, 2, 3});
    cluster_release(&c);
}

static void place_pool_gives_nothing_twice(void **state)
{
    struct cluster c;
    struct place_pool pool;
    int32_t devices[N_MAX];

    (void)state;
    build(&c, (const int32_t[]){4, 4}, NULL, 2);
    cluster_put_hold(&c, &(struct hold){0, 1, 9, HOLD_NOW});
    assert_int_equal(place_pool_init(&pool, &c), 0);
    assert_int_equal(pool.of_type[0], 7);
    assert_int_equal(place_choose(&pool, 1, 0, 2, devices), 0);
    assert_chosen(devices, 2, (const int32_t[]){1, 2});
    place_pool_take(&pool, devices, 2);
    place_pool_take(&pool, devices, 2);
    assert_int_equal(pool.of_type[0], 5);
    assert_int_equal(place_choose(&pool, 2, 0, 5, devices), 0);
    assert_chosen(devices, 5, (const int32_t[]){3, 4, 5, 6, 7});
    place_pool_take(&pool, devices, 5);
    assert_int_equal(place_choose(&pool, 3, 0, 1, devices), E_INFEASIBLE);
    assert_int_equal(place_choose(&pool, 9, 0, 1, devices), 0);
    assert_chosen(devices, 1, (const int32_t[]){0});
    place_pool_release(&pool);
    cluster_release(&c);
}

static void place_gives_exactly_what_is_free_or_held_or_nothing(void **state)
{
    struct rng rng = rng_stream(42, "place");

    (void)state;
    print_message("# seed 42\n");
    for (int run = 0; run < 2000; run++) {
        struct cluster c;
        int32_t devices[N_MAX];
        int32_t sizes[8];
        int32_t n_usable = 0;
        int32_t n_nodes = 1 + (int32_t)rng_below(&rng, 8);
        int32_t size = 1 + (int32_t)rng_below(&rng, 20);
        int rc;

        for (int32_t i = 0; i < n_nodes; i++)
            sizes[i] = (int32_t)rng_below(&rng, 6);
        build(&c, sizes, NULL, n_nodes);
        for (int32_t i = 0; i < c.n_devices; i++)
            if (rng_below(&rng, 2))
                cluster_put_hold(
                    &c, &(struct hold){i, 1, 1 + (uint32_t)rng_below(&rng, 3), HOLD_NOW});
        for (int32_t i = 0; i < c.n_devices; i++)
            n_usable += c.devices[i].job <= 1;
        rc = choose(&c, 1, 0, size, devices);
        assert_int_equal(rc, size <= n_usable ? 0 : E_INFEASIBLE);
        for (int32_t i = 0; i < size && rc == 0; i++) {
            assert_true(c.devices[devices[i]].job <= 1);
            assert_true(i == 0 || devices[i] > devices[i - 1]);
        }
        cluster_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(place_keeps_what_is_held_and_grows_on_its_node),
        cmocka_unit_test(place_takes_the_node_that_fits_best),
        cmocka_unit_test(place_shrinks_onto_the_node_with_most),
        cmocka_unit_test(place_never_mixes_device_types),
        cmocka_unit_test(place_pool_gives_nothing_twice),
        cmocka_unit_test(place_gives_exactly_what_is_free_or_held_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
