/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/rank_msg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "wire/shim_msg.h"

static int through(const struct rank_msg *in, struct rank_msg *out)
{
    struct frame_reader reader = {0};
    struct frame frame;
    size_t room;
    uint8_t *to = frame_reader_space(&reader, &room);

    frame_reader_added(&reader, rank_msg_encode(in, to));
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    return rank_msg_decode(&frame, out);
}

static void rank_msg_plan_keeps_every_field(void **state)
{
    struct rank_msg in = {.kind = RANK_PLAN,
                          .rank = 3,
                          .generation = 7,
                          .version = FRAME_VERSION,
                          .slot = 3,
                          .size = 4,
                          .global_batch = 130,
                          .micro_batch = 33,
                          .accumulation = 1,
                          .base_batch = 128,
                          .lr_rule = 1,
                          .lr_from_ppm = 1000000,
                          .lr_to_ppm = 1015625,
                          .ramp_start = 640,
                          .ramp_samples = 1000,
                          .grace_us = 30000000,
                          .restart_count = 2,
                          .page = "/p/page"};
    struct rank_msg out;

    (void)state;
    assert_int_equal(through(&in, &out), 0);
    assert_memory_equal(&in, &out, sizeof(in));
}

static void rank_msg_every_kind_goes_through_and_has_a_name(void **state)
{
    (void)state;
    for (int kind = RANK_MSG_FIRST; kind < RANK_MSG_MAX; kind++) {
        struct rank_msg in = {.kind = (enum rank_msg_kind)kind};
        struct rank_msg out;

        assert_non_null(rank_msg_kind_name(in.kind));
        assert_int_equal(through(&in, &out), 0);
        assert_int_equal(out.kind, kind);
    }
}

static void rank_msg_of_the_daemon_is_not_taken_for_a_rank(void **state)
{
    struct shim_msg in = {.kind = SHIM_STOP, .job = 1};
    struct frame_reader reader = {0};
    struct frame frame;
    struct rank_msg out;
    size_t room;
    uint8_t *to = frame_reader_space(&reader, &room);

    (void)state;
    frame_reader_added(&reader, shim_msg_encode(&in, to));
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    assert_int_equal(rank_msg_decode(&frame, &out), E_VERSION);
}

static void rank_msg_negative_numbers_are_corrupt(void **state)
{
    struct rank_msg in = {.kind = RANK_ACK, .step = -1};
    struct rank_msg out;

    (void)state;
    assert_int_equal(through(&in, &out), E_CORRUPT);
    in = (struct rank_msg){.kind = RANK_HELLO, .rank = -1};
    assert_int_equal(through(&in, &out), E_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rank_msg_plan_keeps_every_field),
        cmocka_unit_test(rank_msg_every_kind_goes_through_and_has_a_name),
        cmocka_unit_test(rank_msg_of_the_daemon_is_not_taken_for_a_rank),
        cmocka_unit_test(rank_msg_negative_numbers_are_corrupt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
