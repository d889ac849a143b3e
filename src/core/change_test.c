/* SPDX-License-Identifier: Apache-2.0 */
#include "core/change.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

/* A list with n changes, each third a spec with a launch text, each third a model. */
static void fill(struct changes *changes, int n)
{
    for (int i = 0; i < n; i++) {
        struct change *change = changes_add(changes, i % 3 == 0   ? CHANGE_SPEC
                                                     : i % 3 == 1 ? CHANGE_MODEL
                                                                  : CHANGE_HOLD);

        assert_non_null(change);
        if (change->kind == CHANGE_SPEC) {
            change->u.spec = mem_new(1, sizeof *change->u.spec);
            assert_non_null(change->u.spec);
            change->u.spec->launch = mem_text("{}");
        } else if (change->kind == CHANGE_MODEL) {
            change->u.model.model = mem_new(1, sizeof *change->u.model.model);
        } else {
            change->u.hold.count = i;
        }
    }
}

static void changes_add_lends_a_zeroed_change(void **state)
{
    static const struct job_run nothing;
    struct changes changes;
    struct change *change;

    (void)state;
    changes_init(&changes);
    fill(&changes, 8);
    changes_clear(&changes);
    assert_int_equal(changes.n, 0);
    for (int i = 0; i < 20; i++) {
        change = changes_add(&changes, CHANGE_RUN);
        assert_non_null(change);
        assert_int_equal(change->kind, CHANGE_RUN);
        assert_memory_equal(&change->u.run, &nothing, sizeof nothing);
        memset(&change->u.run, 0x5a, sizeof change->u.run);
    }
    assert_int_equal(changes.n, 20);
    changes_release(&changes);
    assert_null(changes.items);
}

static void changes_truncate_keeps_what_stands_before(void **state)
{
    struct changes changes;

    (void)state;
    changes_init(&changes);
    fill(&changes, 30);
    changes_truncate(&changes, 12);
    assert_int_equal(changes.n, 12);
    assert_string_equal(changes.items[9].u.spec->launch, "{}");
    assert_int_equal(changes.items[11].u.hold.count, 11);
    changes_truncate(&changes, 12);
    assert_int_equal(changes.n, 12);
    changes_release(&changes);
}

static void changes_release_accepts_halves(void **state)
{
    struct changes changes;

    (void)state;
    changes_init(&changes);
    assert_non_null(changes_add(&changes, CHANGE_SPEC));
    assert_non_null(changes_add(&changes, CHANGE_MODEL));
    changes_release(&changes);
    changes_release(&changes);
    assert_int_equal(changes.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_add_lends_a_zeroed_change),
        cmocka_unit_test(changes_truncate_keeps_what_stands_before),
        cmocka_unit_test(changes_release_accepts_halves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
