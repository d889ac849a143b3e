/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"

static void full(struct order *order)
{
    order_init(order);
    order->job = 12;
    order->incarnation = 2;
    memcpy(order->name, "mnist-a", 8);
    order->uid = 1000;
    order->gid = 1001;
    order->level = JOB_ELASTIC;
    order->plan = (struct job_plan){5, 2, 128, 32, 2};
    order->batch_base = 64;
    order->lr_rule = JOB_LR_SQRT;
    order->profile = JOB_PROFILE_PASSIVE;
    order->lr_from_ppm = 1000000;
    order->lr_to_ppm = 1414214;
    order->ramp_start_samples = 6400;
    order->ramp_samples = 1000;
    order->restart_count = 1;
    order->grace_us = 30 * USEC_PER_SEC;
    order->device_kind = ORDER_CUDA;
    order->ranks = mem_new(2, sizeof(order->ranks[0]));
    order->ranks[0] = (struct order_rank){.rank = 0, .device = 3};
    order->ranks[1] = (struct order_rank){.rank = 1, .device = 5, .uuid = "GPU-b"};
    order->n_ranks = 2;
    order->master_addr = mem_text("127.0.0.1");
    order->cwd = mem_text("/w");
    order->daemon_socket = mem_text("/s/shim.sock");
    order->channel_dir = mem_text("/r/7-3");
    assert_int_equal(order_words_add(&order->argv, "python3"), 0);
    assert_int_equal(order_words_add(&order->argv, "a \"quoted\" word"), 0);
    assert_int_equal(order_words_add(&order->env, "HOME=/h"), 0);
}

static void order_comes_back_as_it_was_written(void **state)
{
    struct order in, out;
    struct buf first, second;
    struct err err;

    (void)state;
    full(&in);
    buf_init(&first, ORDER_TEXT_MAX);
    buf_init(&second, ORDER_TEXT_MAX);
    order_encode(&in, &first);
    assert_int_equal(buf_error(&first), 0);
    assert_int_equal(order_decode(first.text, first.len, &out, &err), 0);
    order_encode(&out, &second);
    assert_string_equal(first.text, second.text);
    assert_int_equal(out.ranks[1].device, 5);
    assert_string_equal(out.ranks[0].uuid, "");
    assert_string_equal(out.ranks[1].uuid, "GPU-b");
    assert_string_equal(out.argv.words[1], "a \"quoted\" word");
    assert_null(out.argv.words[2]);
    assert_null(out.log_dir);
    assert_int_equal(out.plan.accumulation, 2);
    assert_int_equal(out.profile, JOB_PROFILE_PASSIVE);
    order_release(&in);
    order_release(&out);
    buf_release(&first);
    buf_release(&second);
}

static int refused(const char *text, struct err *err)
{
    struct order out;

    err_clear(err);
    return order_decode(text, strlen(text), &out, err);
}

static void order_names_the_field_that_is_wrong(void **state)
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
    assert_int_equal(
        refused("{\"format\":1,\"size\":1,\"ranks\":[{\"rank\":0,\"device\":0,"
                "\"uuid\":\"GPU-a,GPU-b\"}]}",
                &err),
        E_INVALID);
    assert_string_equal(err.field, "ranks");
    assert_int_equal(refused("{\"format\":1,\"level\":\"bendy\",\"size\":1}", &err),
                     E_INVALID);
    assert_string_equal(err.field, "level");
}

static void order_refuses_twins_newer_formats_and_noise(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(refused("{\"format\":1,\"job\":1,\"job\":2}", &err), E_INVALID);
    assert_int_equal(refused("{\"format\":99}", &err), E_VERSION);
    assert_int_equal(refused("{}", &err), E_INVALID);
    assert_int_equal(refused("[]", &err), E_INVALID);
    assert_int_equal(refused("", &err), E_INVALID);
}

static void order_exit_record_comes_back(void **state)
{
    struct order_exit in = {9, 1, 4, JOB_CAUSE_KILLED, 137, 0, 0, -1, "killed"};
    struct order_exit out = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    order_exit_encode(&in, &text);
    assert_int_equal(order_exit_decode(text.text, text.len, &out, NULL), 0);
    assert_int_equal(out.job, 9);
    assert_int_equal(out.cause, JOB_CAUSE_KILLED);
    assert_int_equal(out.exit_code, 137);
    assert_int_equal(out.samples_done, -1);
    assert_string_equal(out.text, "killed");
    buf_release(&text);
}

static void order_exit_record_is_written_whatever_its_text(void **state)
{
    struct order_exit in = {.rank = -1, .text = "cannot run caf\xc3: no"};
    struct order_exit out;
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    order_exit_encode(&in, &text);
    assert_int_equal(buf_error(&text), 0);
    assert_int_equal(order_exit_decode(text.text, text.len, &out, NULL), 0);
    assert_string_equal(out.text, "cannot run caf?: no");
    buf_release(&text);
}

static void order_started_record_comes_back(void **state)
{
    struct order_started in = {9, 1, "boot", 77, 123456, 40001};
    struct order_started out = {0};
    struct buf text;

    (void)state;
    buf_init(&text, 4096);
    order_started_encode(&in, &text);
    assert_int_equal(order_started_decode(text.text, text.len, &out, NULL), 0);
    assert_int_equal(out.shim_pid, 77);
    assert_int_equal(out.shim_start_ticks, 123456);
    assert_int_equal(out.master_port, 40001);
    assert_string_equal(out.boot_id, "boot");
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_comes_back_as_it_was_written),
        cmocka_unit_test(order_names_the_field_that_is_wrong),
        cmocka_unit_test(order_refuses_twins_newer_formats_and_noise),
        cmocka_unit_test(order_exit_record_comes_back),
        cmocka_unit_test(order_exit_record_is_written_whatever_its_text),
        cmocka_unit_test(order_started_record_comes_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
