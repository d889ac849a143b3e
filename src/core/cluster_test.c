/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"

static struct node node_of(const struct cluster *c, const char *name, const char *type,
                           int32_t devices)
{
    struct node node = {
        .index = (uint32_t)c->n_nodes, .devices = devices, .first = c->n_devices};

    (void)snprintf(node.name, sizeof node.name, "%s", name);
    (void)snprintf(node.device_type, sizeof node.device_type, "%s", type);
    return node;
}

static void add(struct cluster *c, const char *name, const char *type, int32_t devices)
{
    const struct node node = node_of(c, name, type, devices);

    assert_int_equal(cluster_put_node(c, &node), 0);
}

static void set_state(struct cluster *c, const char *name, enum node_state state)
{
    const struct node *old = cluster_find_node(c, name);
    struct node node;

    assert_non_null(old);
    node = *old;
    node.state = state;
    if (state == NODE_UP && old->state == NODE_LOST && old->devices == 7)
        memcpy(node.device_type, "rebuilt", sizeof "rebuilt"); /* comes back as another */
    assert_int_equal(cluster_put_node(c, &node), 0);
}

static void hold(struct cluster *c, int32_t first, int32_t count, uint32_t job,
                 uint32_t flags)
{
    const struct hold h = {.first = first, .count = count, .job = job, .flags = flags};

    cluster_put_hold(c, &h);
}

static void mark(struct cluster *c, int32_t device, enum device_state state)
{
    const struct device_mark m = {.device = device, .state = state, .who = "ada"};

    assert_int_equal(cluster_put_mark(c, &m), 0);
}

static void assert_counts(const struct cluster *c, int32_t held, int32_t free,
                          int32_t gone)
{
    struct cluster_count count = cluster_count(c);

    assert_int_equal(count.held, held);
    assert_int_equal(count.free, free);
    assert_int_equal(count.gone, gone);
    assert_int_equal(count.total, c->n_devices);
    assert_int_equal(count.withheld, c->n_devices - held - free - gone);
}

static void cluster_counts_a_lost_node_as_gone(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_counts(&c, 0, 0, 0);
    assert_int_equal(cluster_held(&c, 1, HOLD_NOW), 0);
    add(&c, "n2", "a100", 4);
    add(&c, "n1", "v100", 2);
    add(&c, "n0", "a100", 0);
    hold(&c, 2, 3, 7, HOLD_NOW);
    assert_counts(&c, 3, 3, 0);
    set_state(&c, "n2", NODE_LOST);
    assert_counts(&c, 1, 1, 4);
    assert_int_equal(cluster_held(&c, 7, HOLD_NOW), 3);
    assert_int_equal(cluster_capacity(&c, ""), 2);
    assert_int_equal(cluster_capacity(&c, "a100"), 0);
    assert_int_equal(cluster_configured(&c, "a100"), 4);
    assert_int_equal(cluster_configured(&c, ""), 6);
    hold(&c, 2, 2, 0, 0);
    assert_counts(&c, 1, 1, 4);
    set_state(&c, "n2", NODE_UP);
    assert_counts(&c, 1, 5, 0);
    assert_int_equal(cluster_capacity(&c, "a100"), 4);
    cluster_release(&c);
}

static void cluster_keeps_a_device_until_both_flags_are_cleared(void **state)
{
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add(&c, "n1", "", 4);
    hold(&c, 0, 4, 3, HOLD_NOW | HOLD_NEXT);
    hold(&c, 0, 1, 3, HOLD_NEXT);
    assert_int_equal(cluster_held(&c, 3, HOLD_NOW), 3);
    assert_int_equal(cluster_held(&c, 3, HOLD_NEXT), 4);
    assert_int_equal(cluster_held(&c, 3, HOLD_NOW | HOLD_NEXT), 4);
    assert_int_equal(cluster_held(&c, 3, 0), 0);
    hold(&c, 0, 1, 3, 0);
    assert_int_equal(c.devices[0].job, 0);
    assert_int_equal(cluster_held(&c, 3, HOLD_NOW | HOLD_NEXT), 3);
    assert_counts(&c, 3, 1, 0);
    hold(&c, 0, 0, 9, HOLD_NOW);
    assert_counts(&c, 3, 1, 0);
    cluster_release(&c);
}

static void cluster_withholds_a_marked_device_once_nobody_holds_it(void **state)
{
    struct device_mark wrong = {.device = 4, .state = DEVICE_STUCK};
    struct cluster c;

    (void)state;
    cluster_init(&c);
    add(&c, "n1", "a100", 4);
    hold(&c, 0, 1, 7, HOLD_NOW);
    mark(&c, 0, DEVICE_FOREIGN);
    assert_counts(&c, 1, 3, 0);
    assert_int_equal(cluster_capacity(&c, "a100"), 4);
    assert_int_equal(cluster_held_marked(&c, 7), 1);
    hold(&c, 0, 1, 0, 0);
    assert_counts(&c, 0, 3, 0);
    assert_int_equal(cluster_capacity(&c, "a100"), 3);
    assert_int_equal(cluster_configured(&c, "a100"), 4);
    mark(&c, 3, DEVICE_STUCK);
    mark(&c, 0, DEVICE_STUCK);
    assert_int_equal(c.marks.n, 2);
    assert_int_equal(cluster_find_mark(&c, 0)->state, DEVICE_STUCK);
    assert_counts(&c, 0, 2, 0);
    set_state(&c, "n1", NODE_LOST);
    assert_counts(&c, 0, 0, 4);
    set_state(&c, "n1", NODE_UP);
    assert_counts(&c, 0, 2, 0);
    mark(&c, 0, DEVICE_CLEAN);
    mark(&c, 0, DEVICE_CLEAN);
    assert_null(cluster_find_mark(&c, 0));
    assert_counts(&c, 0, 3, 0);
    assert_int_equal(cluster_put_mark(&c, &wrong), E_CORRUPT);
    wrong.device = -1;
    assert_int_equal(cluster_put_mark(&c, &wrong), E_CORRUPT);
    cluster_release(&c);
}

static void cluster_refuses_a_node_that_contradicts_it(void **state)
{
    struct cluster c;
    struct node node;

    (void)state;
    cluster_init(&c);
    add(&c, "n1", "", 4);
    node = node_of(&c, "n1", "", 4);
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = node_of(&c, "n2", "", NODE_DEVICES_MAX + 1);
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = node_of(&c, "n2", "", -1);
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = node_of(&c, "n2", "", 1), node.first = 0;
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = node_of(&c, "n2", "", 1), node.index = 2;
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = c.nodes[0], node.devices = 5;
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = c.nodes[0], node.name[0] = 'm';
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    node = c.nodes[0], node.first = 1;
    assert_int_equal(cluster_put_node(&c, &node), E_CORRUPT);
    assert_int_equal(c.n_nodes, 1);
    assert_counts(&c, 0, 4, 0);
    assert_true(cluster_has_range(&c, 0, 4));
    assert_true(cluster_has_range(&c, 4, 0));
    assert_false(cluster_has_range(&c, 1, 4));
    assert_false(cluster_has_range(&c, -1, 1));
    assert_false(cluster_has_range(&c, 0, -1));
    assert_false(cluster_has_range(&c, INT32_MAX, INT32_MAX));
    cluster_release(&c);
}

static void cluster_finds_nodes_whatever_their_order(void **state)
{
    static const char *const names[] = {"m", "z", "a", "n10", "n9", "n1", "b"};
    struct cluster c;

    (void)state;
    cluster_init(&c);
    assert_null(cluster_find_node(&c, "m"));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        add(&c, names[i], "", 1);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        const struct node *node = cluster_find_node(&c, names[i]);

        assert_non_null(node);
        assert_int_equal(node->index, i);
    }
    assert_null(cluster_find_node(&c, "n"));
    assert_null(cluster_find_node(&c, "zz"));
    assert_null(cluster_find_node(&c, ""));
    cluster_release(&c);
}

static void count_devices(const struct cluster *c, const struct node *node,
                          struct cluster_type *seen)
{
    for (int32_t k = 0; k < node->devices && node->state == NODE_UP; k++) {
        const struct device *d = &c->devices[node->first + k];

        seen->up += d->job != 0 || d->state == DEVICE_CLEAN;
        seen->free += d->job == 0 && d->state == DEVICE_CLEAN;
        seen->withheld += d->job == 0 && d->state != DEVICE_CLEAN;
    }
}

static void assert_types(const struct cluster *c)
{
    for (int32_t t = 0; t < c->n_types; t++) {
        struct cluster_type seen = {0};

        for (int32_t i = 0; i < c->n_nodes; i++) {
            const struct node *node = &c->nodes[i];

            assert_int_equal(strcmp(node->device_type, c->types[t].name) == 0,
                             c->node_types[i] == t);
            if (c->node_types[i] != t)
                continue;
            seen.configured += node->devices;
            seen.largest_node = i32_max(seen.largest_node, node->devices);
            count_devices(c, node, &seen);
        }
        assert_int_equal(c->types[t].withheld, seen.withheld);
        assert_int_equal(c->types[t].configured, seen.configured);
        assert_int_equal(c->types[t].up, seen.up);
        assert_int_equal(c->types[t].free, seen.free);
        assert_int_equal(c->types[t].largest_node, seen.largest_node);
    }
}

/* The span of a job begins and ends with a device of its own, and none lies outside. */
static void assert_span(const struct cluster *c, uint32_t job)
{
    int32_t first, end;

    cluster_span(c, job, &first, &end);
    assert_int_equal(first<end, cluster_held(c, job, HOLD_NOW | HOLD_NEXT)> 0);
    for (int32_t i = 0; i < c->n_devices; i++)
        if (c->devices[i].job == job)
            assert_in_range(i, first, end - 1);
    if (first < end) {
        assert_int_equal(c->devices[first].job, job);
        assert_int_equal(c->devices[end - 1].job, job);
    }
}

/* What the sums must be, counted the long way. */
static void assert_sums(const struct cluster *c, uint32_t max_job)
{
    int32_t held = 0;
    int32_t gone = 0;
    int32_t withheld = 0;

    for (int32_t i = 0; i < c->n_devices; i++) {
        bool is_up = c->nodes[c->devices[i].node].state == NODE_UP;
        bool is_clean = c->devices[i].state == DEVICE_CLEAN;

        assert_int_equal(cluster_find_mark(c, i) == NULL, is_clean);
        withheld += is_up && !is_clean && c->devices[i].job == 0;

        assert_int_equal(c->devices[i].job != 0, c->devices[i].flags != 0);
        held += is_up && c->devices[i].job != 0;
        gone += !is_up;
    }
    assert_counts(c, held, c->n_devices - held - gone - withheld, gone);
    assert_types(c);
    for (uint32_t job = 1; job <= max_job; job++)
        assert_span(c, job);
    for (uint32_t job = 1; job <= max_job; job++)
        for (uint32_t flags = 1; flags <= (HOLD_NOW | HOLD_NEXT); flags++) {
            int32_t n = 0;

            for (int32_t i = 0; i < c->n_devices; i++)
                n += c->devices[i].job == job && (c->devices[i].flags & flags);
            assert_int_equal(cluster_held(c, job, flags), n);
        }
}

static void cluster_sums_equal_a_long_count(void **state)
{
    const uint64_t seed = 20061387;
    uint64_t x = seed;
    struct cluster c;
    char name[8];

    (void)state;
    print_message("# seed %llu\n", (unsigned long long)seed);
    cluster_init(&c);
    for (int i = 0; i < 9; i++) {
        (void)snprintf(name, sizeof name, "n%d", i * 5 % 9);
        add(&c, name, i % 2 ? "a" : "b", i);
    }
    for (int i = 0; i < 3000; i++) {
        int32_t first;

        x = x * 6364136223846793005u + 1442695040888963407u;
        first = (int32_t)(x >> 33) % c.n_devices;
        hold(&c, first, i32_min((int32_t)(x >> 40) % 6, c.n_devices - first),
             (uint32_t)(x >> 50) % 8, (uint32_t)(x >> 60) & 3);
        if (i % 7 == 0) {
            (void)snprintf(name, sizeof name, "n%d", (int)(x >> 35) % 9);
            set_state(&c, name, (x >> 45) & 1 ? NODE_UP : NODE_LOST);
        }
        if (i % 5 == 0)
            mark(&c, (int32_t)(x >> 38) % c.n_devices, (x >> 48) % DEVICE_STATE_MAX);
        assert_sums(&c, 8);
    }
    cluster_release(&c);
}

static void cluster_of_a_million_devices_answers_at_once(void **state)
{
    struct cluster c;
    char name[16];
    int64_t sum = 0;

    (void)state;
    cluster_init(&c);
    for (int i = 0; i < DEVICES_MAX / NODE_DEVICES_MAX; i++) {
        (void)snprintf(name, sizeof name, "node-%d", i);
        add(&c, name, "gpu", NODE_DEVICES_MAX);
    }
    for (int32_t job = 1; job <= JOBS_MAX; job++)
        hold(&c, (job - 1) * 32, 32, (uint32_t)job, HOLD_NOW);
    for (uint32_t job = 1; job <= JOBS_MAX; job++)
        sum += cluster_held(&c, job, HOLD_NOW) + cluster_count(&c).free;
    assert_int_equal(sum, DEVICES_MAX);
    assert_counts(&c, DEVICES_MAX, 0, 0);
    cluster_release(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cluster_counts_a_lost_node_as_gone),
        cmocka_unit_test(cluster_keeps_a_device_until_both_flags_are_cleared),
        cmocka_unit_test(cluster_withholds_a_marked_device_once_nobody_holds_it),
        cmocka_unit_test(cluster_refuses_a_node_that_contradicts_it),
        cmocka_unit_test(cluster_finds_nodes_whatever_their_order),
        cmocka_unit_test(cluster_sums_equal_a_long_count),
        cmocka_unit_test(cluster_of_a_million_devices_answers_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
