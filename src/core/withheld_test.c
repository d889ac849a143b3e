/* SPDX-License-Identifier: Apache-2.0 */
#include "core/withheld.h"

#include "core/explain.h"
#include "support/rig.h"

static void assert_text(const struct rig *r, const char *wanted)
{
    char text[REASON_MAX_BYTES];

    withheld_text(core_cluster(r->core), 0, text);
    assert_string_equal(text, wanted);
}

static void withheld_devices_are_told_with_who_is_on_them(void **state)
{
    struct rig r;

    (void)state;
    rig_init_four(&r);
    rig_node(&r, "n2", 1);
    assert_text(&r, "");
    rig_mark(&r, "n1", 0, DEVICE_STUCK, "");
    assert_text(&r, "1 gpu is stuck");
    rig_mark(&r, "n1", 1, DEVICE_FOREIGN, "ada, pid 7");
    assert_text(&r, "1 gpu is in use by somebody else, 1 stuck");
    rig_mark(&r, "n1", 0, DEVICE_FOREIGN, "ada, pid 7");
    assert_text(&r, "2 gpus are in use by somebody else (ada, pid 7)");
    rig_mark(&r, "n1", 1, DEVICE_FOREIGN, "bob, pid 8");
    assert_text(&r, "2 gpus are in use by somebody else (ada, pid 7, ...)");
    rig_mark(&r, "n1", 0, DEVICE_CLEAN, "");
    rig_mark(&r, "n2", 0, DEVICE_FOREIGN, "bob, pid 8");
    rig_lose(&r, "n2"); /* gone, and no longer withheld */
    assert_text(&r, "1 gpu is in use by somebody else (bob, pid 8)");
    rig_release(&r);
}

static void explain_tells_of_withheld_devices_beside_another_reason(void **state)
{
    struct explain x;
    struct buf text;
    struct rig r;
    int b;

    (void)state;
    rig_init_four(&r);
    rig_mark(&r, "n1", 3, DEVICE_STUCK, "job 9, pid 7");
    (void)rig_submit(&r, rig_spec("a", 3, 3));
    b = rig_submit(&r, rig_spec("b", 2, 2));
    rig_plan(&r);
    assert_null(strstr(rig_run(&r, b)->reason, "stuck")); /* one gpu more is too little */
    assert_int_equal(explain_job(r.core, (uint32_t)b, r.now_us, &x, NULL), 0);
    buf_init(&text, 4096);
    explain_print(&x, &text);
    assert_non_null(strstr(text.text, "1 gpu is stuck (job 9, pid 7)"));
    buf_release(&text);
    rig_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(withheld_devices_are_told_with_who_is_on_them),
        cmocka_unit_test(explain_tells_of_withheld_devices_beside_another_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
