/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "support/record_random.h"

#include "wire/journal.h"
#include "wire/records.h"

#define HOLD "{\"hold\":{\"count\":1,\"first\":0,\"job\":1},\"kind\":\"hold\"}"

static void snapshot_has_its_text(void **state)
{
    struct changes changes;
    struct change *change;
    struct buf b;

    (void)state;
    changes_init(&changes);
    buf_init(&b, 1000);
    snapshot_encode(&changes, INT64_MAX, &b);
    assert_string_equal(b.text,
                        "{\"changes\":[],\"format\":1,\"seq\":9223372036854775807}");
    change = changes_add(&changes, CHANGE_HOLD);
    assert_non_null(change);
    change->u.hold = (struct hold){.count = 1, .job = 1};
    buf_clear(&b);
    snapshot_encode(&changes, 12, &b);
    assert_string_equal(b.text, "{\"changes\":[" HOLD "],\"format\":1,\"seq\":12}");
    buf_release(&b);
    changes_release(&changes);
}

static void random_snapshots_come_back_equal(void **state)
{
    struct rng rng = record_rng(13);
    struct changes changes, back;
    struct buf first, second;
    int64_t seq = 0;

    (void)state;
    changes_init(&changes);
    changes_init(&back);
    buf_init(&first, WIRE_SNAPSHOT_MAX);
    buf_init(&second, WIRE_SNAPSHOT_MAX);
    for (int round = 0; round < 30; round++) {
        for (uint64_t n = rng_below(&rng, 40); n > 0; n--)
            record_random(&record_change, &rng,
                          changes_add(&changes, (enum change_kind)rng_below(
                                                    &rng, CHANGE_KIND_MAX)));
        snapshot_encode(&changes, round, &first);
        assert_int_equal(wire_snapshot_decode(first.text, first.len, &back, &seq, NULL),
                         0);
        assert_true(seq == round);
        assert_int_equal(back.n, changes.n);
        snapshot_encode(&back, seq, &second);
        assert_string_equal(first.text, second.text);
        changes_clear(&changes);
        changes_clear(&back);
        buf_clear(&first);
        buf_clear(&second);
    }
    buf_release(&first);
    buf_release(&second);
    changes_release(&changes);
    changes_release(&back);
}

static void assert_read(const char *text, size_t n, int64_t seq)
{
    struct changes changes;
    struct err err = {0};
    int64_t got = -1;

    changes_init(&changes);
    if (wire_snapshot_decode(text, strlen(text), &changes, &got, &err) < 0)
        fail_msg("%s %s: %s", err.field, err.text, text);
    assert_int_equal(changes.n, n);
    assert_true(got == seq);
    changes_release(&changes);
}

static void snapshot_is_read_whatever_stands_around_the_list(void **state)
{
    (void)state;
    assert_read("{\"changes\":[],\"format\":1,\"seq\":1}", 0, 1);
    assert_read(" { \"seq\" : 5 , \"format\":1,\n\"changes\" : [ " HOLD " , " HOLD
                " ] } \n",
                2, 5);
    assert_read("{\"a\":{\"changes\":[7]},\"b\":\"\\\"changes\\\":[\",\"c\":[\"}\"],"
                "\"changes\":[" HOLD "],\"d\":\"changes\",\"format\":1,\"seq\":6,"
                "\"z\":null}",
                1, 6);
}

static void assert_refused(const char *text, int code, const char *field)
{
    struct changes changes;
    struct err err = {0};
    int64_t seq = 77;

    changes_init(&changes);
    assert_non_null(changes_add(&changes, CHANGE_HOLD));
    assert_int_equal(wire_snapshot_decode(text, strlen(text), &changes, &seq, &err),
                     code);
    assert_string_equal(err.field, field);
    assert_int_equal(changes.n, 1);
    assert_true(seq == 77);
    changes_release(&changes);
}

static void snapshot_of_a_newer_format_is_refused_by_number(void **state)
{
    static const char text[] = "{\"changes\":[],\"format\":12,\"seq\":1}";
    struct changes changes;
    struct err err;
    int64_t seq;

    (void)state;
    assert_refused("{\"changes\":[{\"kind\":\"quota\"}],\"format\":2,\"seq\":1}",
                   E_VERSION, "format");
    assert_refused("{\"changes\":{},\"format\":2,\"seq\":1}", E_VERSION, "format");
    assert_refused("{\"format\":0,\"changes\":[],\"seq\":1}", E_VERSION, "format");
    changes_init(&changes);
    assert_int_equal(wire_snapshot_decode(text, strlen(text), &changes, &seq, &err),
                     E_VERSION);
    assert_non_null(strstr(err.text, "12"));
    changes_release(&changes);
}

static void damaged_frames_are_refused(void **state)
{
    (void)state;
    assert_refused("", E_INVALID, "");
    assert_refused("[]", E_INVALID, "");
    assert_refused("{}", E_INVALID, "format");
    assert_refused("{\"format\":1}", E_INVALID, "seq");
    assert_refused("{\"format\":1,\"seq\":1}", E_INVALID, "changes");
    assert_refused("{\"changes\":[],\"changes\":[],\"format\":1,\"seq\":1}", E_INVALID,
                   "");
    assert_refused("{\"changes\":[],\"ch\\u0061nges\":[],\"format\":1,\"seq\":1}",
                   E_INVALID, "");
    assert_refused("{\"changes\":[] [],\"format\":1,\"seq\":1}", E_INVALID, "changes");
    assert_refused("{\"changes\":7,\"format\":1,\"seq\":1}", E_INVALID, "changes");
    assert_refused("{\"changes\":,\"format\":1,\"seq\":1}", E_INVALID, "changes");
    assert_refused("{\"changes\":[],\"format\":1,\"seq\":1}}", E_INVALID, "");
    assert_refused("{\"changes\":[],\"format\":1,\"seq\":1.5}", E_INVALID, "seq");
    assert_refused("{\"changes\":[" HOLD ",{\"kind\":\"hold\"}],\"format\":1,\"seq\":1}",
                   E_INVALID, "changes[1].hold");
}

static void damaged_snapshots_do_no_harm(void **state)
{
    static const char text[] =
        "{\"changes\":[" HOLD "," HOLD "],\"format\":1,\"seq\":123}";
    const size_t len = sizeof text - 1;
    struct changes changes;
    int64_t seq;

    (void)state;
    changes_init(&changes);
    for (size_t i = 0; i < len; i++) {
        char *exact = mem_new(i, 1);

        assert_non_null(exact);
        memcpy(exact, text, i);
        assert_int_equal(wire_snapshot_decode(exact, i, &changes, &seq, NULL), E_INVALID);
        mem_free(exact);
    }
    for (size_t i = 0; i < len * 8; i++) {
        char *exact = mem_new(len, 1);

        assert_non_null(exact);
        memcpy(exact, text, len);
        exact[i / 8] = (char)(exact[i / 8] ^ (1 << i % 8));
        (void)wire_snapshot_decode(exact, len, &changes, &seq, NULL);
        mem_free(exact);
    }
    changes_release(&changes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(snapshot_has_its_text),
        cmocka_unit_test(random_snapshots_come_back_equal),
        cmocka_unit_test(snapshot_is_read_whatever_stands_around_the_list),
        cmocka_unit_test(snapshot_of_a_newer_format_is_refused_by_number),
        cmocka_unit_test(damaged_frames_are_refused),
        cmocka_unit_test(damaged_snapshots_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
