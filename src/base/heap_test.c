/* SPDX-License-Identifier: Apache-2.0 */
#include "base/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/rng.h"
#include "support/mem_fault.h"

#define SEED 4711

static void heap_of_nothing_gives_nothing(void **state)
{
    struct heap_item item = {.id = 9};
    struct heap heap;

    (void)state;
    heap_init(&heap);
    assert_null(heap_first(&heap));
    assert_false(heap_pop(&heap, &item));
    assert_int_equal(item.id, 9);
    heap_release(&heap);
}

/* Few distinct keys, so that ties are the rule; pushes and pops interleave. */
static void heap_is_a_stable_sort(void **state)
{
    struct rng rng = rng_stream(SEED, "heap");
    struct heap_item last = {.key = INT64_MIN}, item;
    struct heap heap;
    size_t n = 0;

    (void)state;
    print_message("# seed %d\n", SEED);
    heap_init(&heap);
    for (uint64_t i = 0; i < 5000; i++) {
        assert_int_equal(heap_push(&heap, rng_between(&rng, -5, 5), i, NULL), 0);
        if (rng_below(&rng, 4) == 0)
            assert_true(heap_pop(&heap, &item));
    }
    while (heap_first(&heap)) {
        int64_t first = heap_first(&heap)->key;

        assert_true(heap_pop(&heap, &item));
        assert_true(item.key == first);
        assert_true(item.seq == item.id);
        assert_true(item.key > last.key || (item.key == last.key && item.seq > last.seq));
        last = item;
        n++;
    }
    assert_true(n > 3000);
    heap_release(&heap);
}

static void heap_takes_extreme_keys_and_pointers(void **state)
{
    struct heap_item item;
    struct heap heap;
    int object;

    (void)state;
    heap_init(&heap);
    assert_int_equal(heap_push(&heap, INT64_MAX, 1, NULL), 0);
    assert_int_equal(heap_push(&heap, INT64_MIN, 2, &object), 0);
    assert_true(heap_pop(&heap, &item));
    assert_int_equal(item.id, 2);
    assert_ptr_equal(item.data, &object);
    heap_clear(&heap);
    assert_null(heap_first(&heap));
    assert_int_equal(heap_push(&heap, 3, 3, NULL), 0);
    assert_int_equal(heap_first(&heap)->seq, 0);
    heap_release(&heap);
}

static void heap_is_untouched_when_memory_ends(void **state)
{
    struct heap heap;

    (void)state;
    heap_init(&heap);
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(heap_push(&heap, (int64_t)i, i, NULL), 0);
    mem_fault_arm(1);
    assert_int_equal(heap_push(&heap, -1, 99, NULL), E_NOMEM);
    mem_fault_disarm();
    assert_int_equal(heap.n, 8);
    assert_int_equal(heap_first(&heap)->id, 0);
    assert_int_equal(heap_push(&heap, -1, 99, NULL), 0);
    assert_int_equal(heap_first(&heap)->id, 99);
    heap_release(&heap);
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_of_nothing_gives_nothing),
        cmocka_unit_test(heap_is_a_stable_sort),
        cmocka_unit_test(heap_takes_extreme_keys_and_pointers),
        cmocka_unit_test(heap_is_untouched_when_memory_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
