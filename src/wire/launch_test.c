/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/launch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

static void full(struct launch *launch)
{
    launch_init(launch);
    launch->job = 12;
    launch->incarnation = 2;
    memcpy(launch->name, "mnist-a", 8);
    launch->uid = 1000;
    launch->gid = 1001;
    launch->level = JOB_ELASTIC;
    launch->plan = (struct job_plan){5, 2, 128, 32, 2};
    launch->batch_base = 64;
    launch->lr_rule = JOB_LR_SQRT;
    launch->lr_from_ppm = 1000000;
    launch->lr_to_ppm = 1414214;
    launch->ramp_start_samples = 6400;
    launch->ramp_samples = 1000;
    launch->restart_count = 1;
    launch->grace_us = 30 * USEC_PER_SEC;
    launch->device_kind = LAUNCH_CUDA;
    launch->ranks = mem_new(2, sizeof(launch->ranks[0]));
    launch->ranks[0] = (struct launch_rank){0, 3};
    launch->ranks[1] = (struct launch_rank){1, 5};
    launch->n_ranks = 2;
    launch->master_addr = mem_text("127.0.0.1");
    launch->cwd = mem_text("/w");
    launch->daemon_socket = mem_text("/s/shim.sock");
    assert_int_equal(launch_words_add(&launch->argv, "python3"), 0);
    assert_int_equal(launch_words_add(&launch->argv, "a \"quoted\" word"), 0);
    assert_int_equal(launch_words_add(&launch->env, "HOME=/h"), 0);
}

static void launch_comes_back_as_it_was_written(void **state)
{
    struct launch in, out;
    struct buf first, second;
    struct err err;

    (void)state;
    full(&in);
    buf_init(&first, LAUNCH_TEXT_MAX);
    buf_init(&second, LAUNCH_TEXT_MAX);
    launch_encode(&in, &first);
    assert_int_equal(buf_error(&first), 0);
    assert_int_equal(launch_decode(first.text, first.len, &out, &err), 0);
    launch_encode(&out, &second);
    assert_string_equal(first.text, second.text);
    assert_int_equal(out.ranks[1].device, 5);
    assert_string_equal(out.argv.words[1], "a \"quoted\" word");
    assert_null(out.argv.words[2]);
    assert_null(out.log_dir);
    assert_int_equal(out.plan.accumulation, 2);
    launch_release(&in);
    launch_release(&out);
    buf_release(&first);
    buf_release(&second);
}

static int refused(const char *text, struct err *err)
{
    struct launch out;

    err_clear(err);
    return launch_decode(text, strlen(text), &out, err);
}

static void launch_names_the_field_that_is_wrong(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(refused("{\"format\":1,\"size\":\"two\"}", &err), E_INVALID);
    assert_string_equal(err.field, "size");
    assert_int_equal(refused("{\"format\":1,\"size\":0}", &err), E_INVALID);
    assert_string_equal(err.field, "size");
    assert_int_equal(refused("{\"format\":1,\"size\":1,\"ranks\":[]}", &err), E_INVALID);
    assert_string_equal(err.field, "ranks");
    assert_int_equal(
        refused("{\"format\":1,\"size\":1,\"ranks\":[{\"rank\":1,\"device\":0}]}", &err),
        E_INVALID);
    assert_string_equal(err.field, "ranks");
    assert_int_equal(
        refused("{\"format\":1,\"size\":1,\"ranks\":[{\"rank\":0,\"device\":0}]}", &err),
        E_INVALID);
    assert_string_equal(err.field, "argv");
    assert_int_equal(refused("{\"format\":1,\"level\":\"bendy\",\"size\":1}", &err),
                     E_INVALID);
    assert_string_equal(err.field, "level");
}

static void launch_refuses_twins_newer_formats_and_noise(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(refused("{\"format\":1,\"job\":1,\"job\":2}", &err), E_INVALID);
    assert_int_equal(refused("{\"format\":99}", &err), E_VERSION);
    assert_int_equal(refused("{}", &err), E_INVALID);
    assert_int_equal(refused("[]", &err), E_INVALID);
    assert_int_equal(refused("", &err), E_INVALID);
}

static void launch_exit_record_comes_back(void **state)
{
    struct launch_exit in = {9, 1, 4, JOB_CAUSE_KILLED, 137, 0, 0, -1, "killed"};
    struct launch_exit out = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    launch_exit_encode(&in, &text);
    assert_int_equal(launch_exit_decode(text.text, text.len, &out, NULL), 0);
    assert_int_equal(out.job, 9);
    assert_int_equal(out.cause, JOB_CAUSE_KILLED);
    assert_int_equal(out.exit_code, 137);
    assert_int_equal(out.samples_done, -1);
    assert_string_equal(out.text, "killed");
    buf_release(&text);
}

static void launch_started_record_comes_back(void **state)
{
    struct launch_started in = {9, 1, "boot", 77, 123456, 40001};
    struct launch_started out = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    launch_started_encode(&in, &text);
    assert_int_equal(launch_started_decode(text.text, text.len, &out, NULL), 0);
    assert_int_equal(out.shim_pid, 77);
    assert_int_equal(out.shim_start_ticks, 123456);
    assert_int_equal(out.master_port, 40001);
    assert_string_equal(out.boot_id, "boot");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launch_comes_back_as_it_was_written),
        cmocka_unit_test(launch_names_the_field_that_is_wrong),
        cmocka_unit_test(launch_refuses_twins_newer_formats_and_noise),
        cmocka_unit_test(launch_exit_record_comes_back),
        cmocka_unit_test(launch_started_record_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
