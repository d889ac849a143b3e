/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"

struct thing {
    uint32_t a;
    int64_t b;
    char text[8];
};

static const struct frame_field fields[] = {
    FRAME_FIELD(FRAME_U32, struct thing, a),
    FRAME_FIELD(FRAME_I64, struct thing, b),
    FRAME_FIELD(FRAME_TEXT, struct thing, text),
};
static const struct frame_layout layout = {fields, ARRAY_SIZE(fields)};
static const struct frame_layout older = {fields, 2};

static void feed(struct frame_reader *reader, const uint8_t *bytes, size_t n)
{
    size_t room;
    uint8_t *to = frame_reader_space(reader, &room);

    assert_true(n <= room);
    memcpy(to, bytes, n);
    frame_reader_added(reader, n);
}

static void frame_survives_being_cut_into_single_bytes(void **state)
{
    struct thing in = {7, INT64_MIN, "hello"};
    struct thing out = {0};
    struct frame_reader reader = {0};
    uint8_t bytes[FRAME_MAX];
    size_t n = frame_pack(bytes, 9, &layout, &in);
    struct frame frame;

    (void)state;
    assert_int_equal(n, FRAME_HEAD_BYTES + 20);
    for (int round = 0; round < 500; round++) {
        for (size_t i = 0; i + 1 < n; i++) {
            feed(&reader, bytes + i, 1);
            assert_int_equal(frame_reader_next(&reader, &frame), 0);
        }
        feed(&reader, bytes + n - 1, 1);
        assert_int_equal(frame_reader_next(&reader, &frame), 1);
        assert_int_equal(frame.kind, 9);
        assert_int_equal(frame_unpack(&frame, &layout, &out), 0);
        assert_int_equal(out.a, 7);
        assert_true(out.b == INT64_MIN);
        assert_string_equal(out.text, "hello");
    }
}

static void frame_of_an_older_writer_leaves_new_fields_zero(void **state)
{
    struct thing in = {1, 2, "x"};
    struct thing out = {9, 9, "dirty"};
    struct frame_reader reader = {0};
    uint8_t bytes[FRAME_MAX];
    struct frame frame;

    (void)state;
    feed(&reader, bytes, frame_pack(bytes, 1, &older, &in));
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    assert_int_equal(frame_unpack(&frame, &layout, &out), 0);
    assert_int_equal(out.a, 1);
    assert_int_equal(out.b, 2);
    assert_string_equal(out.text, "");
}

static void frame_of_a_newer_writer_is_read_as_far_as_known(void **state)
{
    struct thing in = {1, 2, "x"};
    struct thing out = {0};
    struct frame_reader reader = {0};
    uint8_t bytes[FRAME_MAX];
    struct frame frame;

    (void)state;
    feed(&reader, bytes, frame_pack(bytes, 1, &layout, &in));
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    assert_int_equal(frame_unpack(&frame, &older, &out), 0);
    assert_int_equal(out.b, 2);
    assert_string_equal(out.text, "");
}

static void frame_with_a_field_cut_off_is_corrupt(void **state)
{
    struct thing in = {1, 2, "x"};
    struct thing out = {0};
    uint8_t bytes[FRAME_MAX];
    struct frame frame = {1, 1, 0, bytes + FRAME_HEAD_BYTES};

    (void)state;
    (void)frame_pack(bytes, 1, &layout, &in);
    frame.len = 7;
    assert_int_equal(frame_unpack(&frame, &layout, &out), E_CORRUPT);
}

static void frame_text_without_end_is_corrupt(void **state)
{
    struct thing in = {1, 2, "1234567"};
    struct thing out = {0};
    uint8_t bytes[FRAME_MAX];
    struct frame frame = {1, 1, 20, bytes + FRAME_HEAD_BYTES};

    (void)state;
    (void)frame_pack(bytes, 1, &layout, &in);
    bytes[FRAME_HEAD_BYTES + 19] = '8';
    assert_int_equal(frame_unpack(&frame, &layout, &out), E_CORRUPT);
}

static void frame_never_carries_bytes_behind_the_end_of_a_text(void **state)
{
    struct thing in = {1, 2, "a\0secret"};
    uint8_t bytes[FRAME_MAX];

    (void)state;
    (void)frame_pack(bytes, 1, &layout, &in);
    for (size_t i = 1; i < sizeof(in.text); i++)
        assert_int_equal(bytes[FRAME_HEAD_BYTES + 12 + i], 0);
}

static int refusal(size_t at, uint8_t value)
{
    struct thing in = {1, 2, "x"};
    struct frame_reader reader = {0};
    uint8_t bytes[FRAME_MAX];
    size_t n = frame_pack(bytes, 1, &layout, &in);
    struct frame frame;

    bytes[at] = value;
    feed(&reader, bytes, n);
    return frame_reader_next(&reader, &frame);
}

static uint16_t version_spoken_to(uint32_t peer)
{
    struct thing in = {1, 2, "x"};
    struct frame_reader reader = {0};
    uint8_t bytes[FRAME_MAX];
    size_t n = frame_pack(bytes, 1, &layout, &in);
    struct frame frame;

    frame_speak(bytes, peer);
    feed(&reader, bytes, n);
    assert_int_equal(frame_reader_next(&reader, &frame), 1);
    return frame.version;
}

static void frame_speaks_the_lower_of_both_versions(void **state)
{
    (void)state;
    assert_int_equal(version_spoken_to(0), FRAME_VERSION_OLDEST);
    assert_int_equal(version_spoken_to(FRAME_VERSION_OLDEST), FRAME_VERSION_OLDEST);
    assert_int_equal(version_spoken_to(FRAME_VERSION - 1), FRAME_VERSION - 1);
    assert_int_equal(version_spoken_to(FRAME_VERSION), FRAME_VERSION);
    assert_int_equal(version_spoken_to(FRAME_VERSION + 7), FRAME_VERSION);
}

static void frame_stream_that_is_not_ours_is_refused(void **state)
{
    (void)state;
    assert_int_equal(refusal(0, 'G'), E_CORRUPT);
    assert_int_equal(refusal(4, 0), E_VERSION);
    assert_int_equal(refusal(4, FRAME_VERSION + 1), E_VERSION);
    assert_int_equal(refusal(10, 1), E_LIMIT); /* 65,556 bytes of payload */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_speaks_the_lower_of_both_versions),
        cmocka_unit_test(frame_survives_being_cut_into_single_bytes),
        cmocka_unit_test(frame_of_an_older_writer_leaves_new_fields_zero),
        cmocka_unit_test(frame_of_a_newer_writer_is_read_as_far_as_known),
        cmocka_unit_test(frame_with_a_field_cut_off_is_corrupt),
        cmocka_unit_test(frame_text_without_end_is_corrupt),
        cmocka_unit_test(frame_never_carries_bytes_behind_the_end_of_a_text),
        cmocka_unit_test(frame_stream_that_is_not_ours_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
