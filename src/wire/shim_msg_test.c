/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shim_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"

static int through(const struct shim_msg *in, struct shim_msg *out)
{
    struct frame_reader reader = {0};
    struct frame frame;
    size_t room;
    uint8_t *to = frame_reader_space(&reader, &room);

    assert_true(room >= FRAME_MAX);
    frame_reader_added(&reader, shim_msg_encode(in, to));
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    return shim_msg_decode(&frame, out);
}

static void shim_msg_exit_keeps_every_fact(void **state)
{
    struct shim_msg in = {.kind = SHIM_EXIT,
                          .job = 12,
                          .incarnation = 3,
                          .generation = 5,
                          .cause = JOB_CAUSE_USER_ERROR,
                          .exit_code = 17,
                          .rank = 2,
                          .micro_batch = 64,
                          .samples_done = 4096,
                          .text = "rank 2 ended with status 17"};
    struct shim_msg out;

    (void)state;
    assert_int_equal(through(&in, &out), 0);
    assert_int_equal(out.kind, SHIM_EXIT);
    assert_int_equal(out.job, 12);
    assert_int_equal(out.incarnation, 3);
    assert_int_equal(out.generation, 5);
    assert_int_equal(out.cause, JOB_CAUSE_USER_ERROR);
    assert_int_equal(out.exit_code, 17);
    assert_int_equal(out.rank, 2);
    assert_int_equal(out.micro_batch, 64);
    assert_int_equal(out.samples_done, 4096);
    assert_string_equal(out.text, in.text);
}

static void shim_msg_every_kind_goes_through_and_has_a_name(void **state)
{
    (void)state;
    for (int kind = SHIM_MSG_NONE + 1; kind < SHIM_MSG_MAX; kind++) {
        struct shim_msg in = {.kind = (enum shim_msg_kind)kind, .job = 1, .rank = -1};
        struct shim_msg out;

        assert_non_null(shim_msg_kind_name(in.kind));
        assert_int_equal(through(&in, &out), 0);
        assert_int_equal(out.kind, kind);
        assert_int_equal(out.job, 1);
    }
}

static void shim_msg_out_of_range_is_corrupt(void **state)
{
    struct shim_msg in = {.kind = SHIM_EXIT, .cause = JOB_CAUSE_MAX};
    struct shim_msg out;

    (void)state;
    assert_int_equal(through(&in, &out), E_CORRUPT);
    in = (struct shim_msg){.kind = SHIM_BEAT, .phase = SHIM_PHASE_MAX};
    assert_int_equal(through(&in, &out), E_CORRUPT);
    in = (struct shim_msg){.kind = SHIM_STOP, .grace_us = -1};
    assert_int_equal(through(&in, &out), E_CORRUPT);
    in = (struct shim_msg){.kind = SHIM_SAVED, .samples_done = -2};
    assert_int_equal(through(&in, &out), E_CORRUPT);
}

static void shim_msg_unknown_kind_is_told_apart_from_damage(void **state)
{
    uint8_t bytes[FRAME_PAYLOAD_MAX] = {0};
    struct frame frame = {FRAME_VERSION, SHIM_MSG_MAX, 12, bytes};
    struct shim_msg out;

    (void)state;
    assert_int_equal(shim_msg_decode(&frame, &out), E_VERSION);
    frame.kind = SHIM_ADOPT;
    frame.len = 3;
    assert_int_equal(shim_msg_decode(&frame, &out), E_CORRUPT);
}

/* Lengths on the wire of what was released; they may grow, never shrink. */
static void shim_msg_lengths_are_those_of_version_1(void **state)
{
    static const size_t bytes[SHIM_MSG_MAX] = {
        [SHIM_HELLO] = 184,       [SHIM_STARTED] = 16,  [SHIM_SAVED] = 92,
        [SHIM_SAVE_FAILED] = 148, [SHIM_EXIT] = 164,    [SHIM_BEAT] = 204,
        [SHIM_OBSERVE] = 56,      [SHIM_OOM] = 20,      [SHIM_ADOPT] = 16,
        [SHIM_REFUSE] = 140,      [SHIM_SAVE] = 20,     [SHIM_GO_ON] = 12,
        [SHIM_STOP] = 20,         [SHIM_EXIT_ACK] = 12,
    };

    (void)state;
    for (int kind = SHIM_MSG_NONE + 1; kind < SHIM_MSG_MAX; kind++) {
        struct shim_msg in = {.kind = (enum shim_msg_kind)kind};
        uint8_t out[FRAME_MAX];

        assert_int_equal(shim_msg_encode(&in, out), FRAME_HEAD_BYTES + bytes[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shim_msg_exit_keeps_every_fact),
        cmocka_unit_test(shim_msg_every_kind_goes_through_and_has_a_name),
        cmocka_unit_test(shim_msg_out_of_range_is_corrupt),
        cmocka_unit_test(shim_msg_unknown_kind_is_told_apart_from_damage),
        cmocka_unit_test(shim_msg_lengths_are_those_of_version_1),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
