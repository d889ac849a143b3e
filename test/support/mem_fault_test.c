/* SPDX-License-Identifier: Apache-2.0 */
#include "support/mem_fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/heap.h"
#include "base/mem.h"

static void the_nth_allocation_fails_and_no_other(void **state)
{
    void *blocks[4];

    (void)state;
    mem_fault_arm(3);
    for (int i = 0; i < 4; i++)
        blocks[i] = mem_new(2, 8);
    assert_true(mem_fault_disarm());
    assert_non_null(blocks[0]);
    assert_non_null(blocks[1]);
    assert_null(blocks[2]);
    assert_non_null(blocks[3]);
    assert_int_equal(mem_fault_calls(), 4);
    assert_int_equal(mem_fault_blocks(), 3);
    for (int i = 0; i < 4; i++)
        mem_free(blocks[i]);
    assert_int_equal(mem_fault_blocks(), 0);
    mem_fault_arm(3);
    assert_false(mem_fault_disarm());
}

static void a_resize_keeps_contents_and_fails_without_harm(void **state)
{
    char *p = mem_new(3, 1);
    char *q;

    (void)state;
    memcpy(p, "abc", 3);
    mem_fault_arm(1);
    assert_null(mem_resize(p, 100, 1));
    assert_true(mem_fault_disarm());
    assert_memory_equal(p, "abc", 3);
    q = mem_resize(p, 100, 1);
    assert_non_null(q);
    assert_memory_equal(q, "abc", 3);
    assert_null(mem_resize(q, SIZE_MAX, 2));
    mem_free(q);
    mem_free(NULL);
    assert_int_equal(mem_fault_blocks(), 0);
}

static int write_a_long_text(void)
{
    struct buf b;
    int rc;

    buf_init(&b, 1000);
    for (int i = 0; i < 100; i++)
        buf_puts(&b, "abcdef");
    rc = buf_error(&b);
    assert_true(rc < 0 || b.len == 600);
    buf_release(&b);
    return rc;
}

static int fill_a_heap(void)
{
    struct heap heap;
    int rc = 0;

    heap_init(&heap);
    for (uint64_t i = 0; i < 100 && rc == 0; i++)
        rc = heap_push(&heap, -(int64_t)i, i, NULL);
    assert_true(rc < 0 || heap.n == 100);
    heap_release(&heap);
    return rc;
}

/* Returns how many allocations the scenario makes. */
static uint64_t fail_each_allocation(int (*scenario)(void))
{
    uint64_t nth = 0;
    int rc;

    do {
        mem_fault_arm(++nth);
        rc = scenario();
        assert_int_equal(mem_fault_blocks(), 0);
        assert_int_equal(rc, mem_fault_disarm() ? E_NOMEM : 0);
    } while (rc < 0);
    return nth - 1;
}

static void buf_and_heap_survive_each_failure(void **state)
{
    (void)state;
    assert_int_equal(fail_each_allocation(write_a_long_text), 8); /* 8, 16, .. 1024 */
    assert_int_equal(fail_each_allocation(fill_a_heap), 5);       /* 8, 16, .. 128 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_allocation_fails_and_no_other),
        cmocka_unit_test(a_resize_keeps_contents_and_fails_without_harm),
        cmocka_unit_test(buf_and_heap_survive_each_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
