/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/hints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

/* The hint for `command` cut at blanks, 1 to `max` devices. */
static const char *hint(enum launch_form form, int32_t max, const char *command)
{
    struct submit submit;
    char text[200];
    const char *found;
    char *rest = text;
    char *word;

    submit_init(&submit);
    submit.launch.form = form;
    submit.spec.sizes = (struct size_set){.min = 1, .max = max, .step = 1};
    (void)snprintf(text, sizeof text, "%s", command);
    while ((word = strtok_r(rest, " ", &rest)) != NULL)
        assert_int_equal(launch_add_arg(&submit.launch, word, NULL), 0);
    found = hints_launch(&submit);
    submit_release(&submit);
    return found;
}

static void launcher_on_every_device_is_pointed_out(void **state)
{
    (void)state;
    assert_non_null(strstr(hint(LAUNCH_RANK, 4, "torchrun train.py"), "--launch node"));
    assert_non_null(hint(LAUNCH_RANK, 2, "/venv/bin/accelerate launch train.py"));
    assert_non_null(hint(LAUNCH_RANK, 2, "python3 -m torch.distributed.run train.py"));
    assert_null(hint(LAUNCH_RANK, 1, "torchrun train.py"));
    assert_null(hint(LAUNCH_RANK, 4, "python3 torchrunner.py mytorchrun torchrun.py"));
}

static void place_without_its_launch_form_is_pointed_out(void **state)
{
    (void)state;
    assert_non_null(hint(LAUNCH_RANK, 1, "train --procs={nproc}"));
    assert_null(hint(LAUNCH_NODE, 4, "torchrun --nproc_per_node={nproc} train.py"));
    assert_non_null(
        strstr(hint(LAUNCH_NODE, 4, "torchrun train.py"), "LOCAL_WORLD_SIZE"));
    assert_null(hint(LAUNCH_ONCE, 1, "train.sh"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launcher_on_every_device_is_pointed_out),
        cmocka_unit_test(place_without_its_launch_form_is_pointed_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
