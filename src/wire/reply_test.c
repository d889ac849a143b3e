/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"
#include "support/mem_fault.h"

#define JOB                                                                              \
    "{\"id\":17,\"name\":\"mlp\",\"state\":\"running\",\"size\":2,\"is_unconfirmed\":"   \
    "true,\"sizes\":{\"min\":1,\"max\":4,\"step\":1},\"argv\":[\"a\",\"b c\"],"          \
    "\"nodes\":[{\"name\":\"n1\",\"devices\":2},{\"name\":\"n2\",\"devices\":1}],"       \
    "\"future\":{\"x\":[1.5]},\"history\":[{\"time_us\":5,\"size\":1,\"reason\":\"r\"}]" \
    "}"

static void reply_reads_a_job_and_ignores_the_unknown(void **state)
{
    struct reply_job job = {0};

    (void)state;
    assert_int_equal(reply_job_decode(JOB, strlen(JOB), &job, NULL), 0);
    assert_int_equal(job.id, 17);
    assert_int_equal(job.size, 2);
    assert_true(job.is_unconfirmed);
    assert_string_equal(job.sizes, "1..4");
    assert_string_equal(job.command, "a 'b c'");
    assert_string_equal(job.nodes, "n1:2 n2:1");
    assert_int_equal(job.n_history, 1);
    assert_string_equal(job.history[0].reason, "r");
    assert_string_equal(job.cause, "");
    reply_job_release(&job);
}

static void reply_reads_lists(void **state)
{
    static const char text[] = "{\"jobs\":[" JOB "," JOB "],\"next\":17}";
    static const char nodes_text[] =
        "{\"nodes\":[{\"name\":\"n\",\"devices\":4,\"free\":1,\"jobs\":"
        "[{\"id\":17,\"devices\":3}],\"marks\":[{\"device\":2,\"state\":\"foreign\","
        "\"who\":\"ada\"}]}]}";
    struct reply_jobs jobs = {0};
    struct reply_nodes nodes = {0};

    (void)state;
    assert_int_equal(reply_jobs_decode(text, strlen(text), &jobs, NULL), 0);
    assert_int_equal(jobs.n, 2);
    assert_int_equal(jobs.next, 17);
    reply_jobs_release(&jobs);
    assert_int_equal(reply_nodes_decode(nodes_text, strlen(nodes_text), &nodes, NULL), 0);
    assert_int_equal(nodes.n, 1);
    assert_int_equal(nodes.items[0].free, 1);
    assert_string_equal(nodes.items[0].jobs, "17:3");
    assert_int_equal(nodes.items[0].n_marks, 1);
    assert_int_equal(nodes.items[0].marks[0].device, 2);
    assert_string_equal(nodes.items[0].marks[0].who, "ada");
    reply_nodes_release(&nodes);
}

static void reply_reads_status_and_small_answers(void **state)
{
    static const char status_text[] =
        "{\"version\":\"0.1.0\",\"policy\":\"joint\",\"devices\":{\"total\":4,\"free\":1}"
        ","
        "\"jobs\":{\"queued\":0,\"running\":2},\"is_blocked\":false}";
    static const char accepted_text[] = "{\"id\":3,\"warnings\":[\"a\",\"b\"]}";
    static const char explain_text[] = "{\"text\":\"why\\nnot\"}";
    static const char calibration_text[] =
        "{\"state\":\"done\",\"points\":[{\"bytes\":4,\"size\":2,\"time_ns\":5}]}";
    struct reply_status status = {0};
    struct reply_accepted accepted = {0};
    struct reply_calibration calibration = {0};
    char *text = NULL;

    (void)state;
    assert_int_equal(reply_status_decode(status_text, strlen(status_text), &status, NULL),
                     0);
    assert_int_equal(status.total, 4);
    assert_string_equal(status.jobs, "2 running");
    assert_int_equal(
        reply_accepted_decode(accepted_text, strlen(accepted_text), &accepted, NULL), 0);
    assert_string_equal(accepted.warnings, "a\nb\n");
    reply_accepted_release(&accepted);
    assert_int_equal(reply_text_decode(explain_text, strlen(explain_text), &text, NULL),
                     0);
    assert_string_equal(text, "why\nnot");
    mem_free(text);
    assert_int_equal(reply_calibration_decode(calibration_text, strlen(calibration_text),
                                              &calibration, NULL),
                     0);
    assert_int_equal(calibration.points[0].time_ns, 5);
    reply_calibration_release(&calibration);
}

static void reply_cuts_long_texts_between_characters(void **state)
{
    char text[1024] = "{\"id\":1,\"state\":\"running\",\"name\":\"";
    struct reply_job job = {0};
    size_t n = strlen(text);

    (void)state;
    for (int i = 0; i < 100; i++, n += 2)
        memcpy(text + n, "\xc3\xa4", 2);
    memcpy(text + n, "\"}", 3);
    assert_int_equal(reply_job_decode(text, strlen(text), &job, NULL), 0);
    assert_int_equal(strlen(job.name), NAME_MAX_BYTES - 2);
    reply_job_release(&job);
}

static void reply_refuses_what_makes_no_sense(void **state)
{
    static const char *const texts[] = {
        "",
        "<html>",
        "[]",
        "{}",
        "{\"id\":1}",
        "{\"id\":\"1\",\"state\":\"running\"}",
        "{\"id\":1,\"state\":7}",
        "{\"id\":1,\"state\":\"x\",\"history\":{}}",
        "{\"id\":1,\"state\":\"x\",\"history\":[1]}",
        "{\"id\":1,\"state\":\"x\",\"is_unconfirmed\":1}",
        "{\"id\":1,\"id\":1,\"state\":\"x\"}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct reply_job job = {0};
        struct err err = {0};

        assert_int_equal(reply_job_decode(texts[i], strlen(texts[i]), &job, &err),
                         E_CORRUPT);
        assert_true(strstr(err.text, "the daemon's answer") == err.text);
        assert_null(job.history);
    }
}

static void reply_problem_keeps_code_field_and_reason(void **state)
{
    static const char text[] =
        "{\"code\":\"infeasible\",\"field\":\"batch\",\"detail\":\"no size can serve "
        "it\",\"status\":422,\"title\":\"Unprocessable\"}";
    struct err err = {0};

    (void)state;
    reply_problem_decode(text, strlen(text), 422, &err);
    assert_int_equal(err.code, E_INFEASIBLE);
    assert_string_equal(err.field, "batch");
    assert_string_equal(err.text, "no size can serve it");
    reply_problem_decode("oops", 4, 500, &err);
    assert_int_equal(err.code, E_IO);
    assert_string_equal(err.text, "the daemon answered with status 500 and no reason");
    reply_problem_decode("{}", 2, 404, &err);
    assert_int_equal(err.code, E_NOTFOUND);
}

static void reply_tidy_sorts_keys(void **state)
{
    static const char text[] = " {\"b\": [1, 2],\n \"a\": \"x\"} ";
    struct buf out;

    (void)state;
    buf_init(&out, 100);
    assert_int_equal(reply_tidy(text, strlen(text), &out, NULL), 0);
    assert_string_equal(out.text, "{\"a\":\"x\",\"b\":[1,2]}\n");
    buf_release(&out);
}

static void reply_survives_every_failed_allocation(void **state)
{
    static const char text[] = "{\"jobs\":[" JOB "]}";

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct reply_jobs jobs = {0};
        int rc;

        mem_fault_arm(nth);
        rc = reply_jobs_decode(text, strlen(text), &jobs, NULL);
        reply_jobs_release(&jobs);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reply_reads_a_job_and_ignores_the_unknown),
        cmocka_unit_test(reply_reads_lists),
        cmocka_unit_test(reply_reads_status_and_small_answers),
        cmocka_unit_test(reply_cuts_long_texts_between_characters),
        cmocka_unit_test(reply_refuses_what_makes_no_sense),
        cmocka_unit_test(reply_problem_keeps_code_field_and_reason),
        cmocka_unit_test(reply_tidy_sorts_keys),
        cmocka_unit_test(reply_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
