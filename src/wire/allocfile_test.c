/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/allocfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "support/mem_fault.h"

#define OPTIONS "\"options\":[{\"size\":1,\"value\":1}]"

/* The worked example of core/alloc/README.md, and a third job that may wait. */
static const char example[] =
    "{\"devices\":4,\"jobs\":["
    "{\"id\":\"a\",\"current\":2,\"options\":[{\"size\":1,\"value\":1.0},"
    "{\"size\":2,\"value\":1.266055},{\"size\":3,\"value\":1.692098},"
    "{\"size\":4,\"value\":2.139535}]},"
    "{\"id\":\"b\",\"weight\":0.5,\"options\":[{\"size\":1,\"value\":2.0},"
    "{\"size\":3,\"value\":-1.5}]},"
    "{\"id\":\"c\",\"may_wait\":true}]}";

static int read_text(struct allocfile *file, const char *text, struct err *err)
{
    allocfile_init(file);
    return allocfile_read(file, text, strlen(text), err);
}

static void allocfile_reads_every_field(void **state)
{
    struct allocfile f;

    (void)state;
    assert_int_equal(read_text(&f, example, NULL), 0);
    assert_int_equal(f.problem.devices, 4);
    assert_int_equal(f.problem.n_rows, 3);
    assert_string_equal(f.jobs[0].id, "a");
    assert_int_equal(f.problem.rows[0].held, 2);
    assert_int_equal(f.problem.rows[0].n_options, 4);
    assert_int_equal(f.problem.rows[0].options[1].value, 1266055);
    assert_false(f.problem.rows[0].may_wait);
    assert_int_equal(f.problem.rows[1].options[0].value, 1000000); /* half of 2.0 */
    assert_int_equal(f.problem.rows[1].options[1].size, 3);
    assert_int_equal(f.problem.rows[1].options[1].value, -750000);
    assert_true(f.problem.rows[2].may_wait);
    assert_int_equal(f.problem.rows[2].n_options, 0);
    allocfile_release(&f);
}

static void allocfile_refuses_by_name_with_what_would_do(void **state)
{
    static const struct {
        const char *text, *field, *says;
    } cases[] = {
        {"[]", "", "is not an object"},
        {"{\"jobs\":[]}", "devices", "is missing"},
        {"{\"devices\":4}", "jobs", "is missing"},
        {"{\"devices\":-1,\"jobs\":[]}", "devices", "is -1; give 0 to 1048576"},
        {"{\"devices\":4,\"jobs\":[],\"gpus\":1}", "gpus", ""},
        {"{\"devices\":4,\"job\":[]}", "job", "did you mean 'jobs'?"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"option\":[]}]}", "jobs[0].option",
         "did you mean 'options'?"},
        {"{\"devices\":4,\"jobs\":[7]}", "", "jobs[0] is not an object"},
        {"{\"devices\":4,\"jobs\":[{" OPTIONS "}]}", "jobs[0].id", "is missing"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"\"," OPTIONS "}]}", "jobs[0].id",
         "is empty"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\"}]}", "jobs[0].options", "are none"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"may_wait\":1," OPTIONS "}]}",
         "jobs[0].may_wait", "neither true nor false"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"weight\":-1," OPTIONS "}]}",
         "jobs[0].weight", "below 0"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"weight\":\"2\"," OPTIONS "}]}",
         "jobs[0].weight", "is not a number"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"options\":[{\"size\":1}]}]}",
         "jobs[0].options[0].value", "is missing"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"options\":[{\"value\":1}]}]}",
         "jobs[0].options[0].size", "is missing"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"options\":[{\"size\":2,\"value\":1},"
         "{\"size\":2,\"value\":1}]}]}",
         "jobs[0].options[1].size", "is 2 after 2; sizes must rise"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"options\":[{\"size\":1,"
         "\"value\":2000}]}]}",
         "jobs[0].options[0].value", "give at most 1073.74"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\",\"weight\":900,\"options\":[{\"size\":1,"
         "\"value\":2}]}]}",
         "jobs[0].options[0].value", "times the weight of the job is 1800"},
        {"{\"devices\":4,\"jobs\":[{\"id\":\"a\"," OPTIONS "},{\"id\":\"a\"," OPTIONS
         "}]}",
         "jobs", "has 'a' twice"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct allocfile f;
        struct err err = {0};

        assert_true(read_text(&f, cases[i].text, &err) < 0);
        assert_string_equal(err.field, cases[i].field);
        assert_non_null(strstr(err.text, cases[i].says));
        assert_null(f.problem.rows);
    }
}

static void allocfile_says_what_one_device_more_or_less_is_worth(void **state)
{
    struct allocfile f;
    struct allocfile_worth worth;

    (void)state;
    assert_int_equal(read_text(&f, example, NULL), 0);
    worth = allocfile_worth(&f.problem.rows[0], 3);
    assert_int_equal(worth.value, 1692098);
    assert_int_equal(worth.one_more, 2139535 - 1692098);
    assert_true(worth.can_be_less);
    assert_int_equal(worth.one_less, 1266055 - 1692098);
    worth = allocfile_worth(&f.problem.rows[1], 1); /* 2 is no size of it */
    assert_int_equal(worth.one_more, 0);
    assert_false(worth.can_be_less);
    worth = allocfile_worth(&f.problem.rows[2], 0); /* it waits */
    assert_int_equal(worth.value, 0);
    assert_int_equal(worth.one_more, 0);
    assert_false(worth.can_be_less);
    allocfile_release(&f);
}

static void allocfile_tells_how_much_is_missing(void **state)
{
    static const char text[] =
        "{\"devices\":3,\"jobs\":[{\"id\":\"big\",\"options\":[{\"size\":4,\"value\":1}]}"
        ","
        "{\"id\":\"idle\",\"may_wait\":true,\"options\":[{\"size\":9,\"value\":1}]},"
        "{\"id\":\"small\"," OPTIONS "}]}";
    struct allocfile f;
    struct err err;

    (void)state;
    assert_int_equal(read_text(&f, text, NULL), 0);
    assert_int_equal(allocfile_explain_infeasible(&f, &err), E_INFEASIBLE);
    assert_string_equal(err.field, "devices");
    assert_string_equal(err.text, "the smallest sizes of the jobs that may not wait need "
                                  "5, 2 more than the 3 there are: big 4, small 1");
    allocfile_release(&f);
}

static void allocfile_writes_decimals_and_bounds(void **state)
{
    static const int32_t sizes[] = {3, 1, 0};
    struct alloc_result r = {.value = 2692098,
                             .objective = 10768392,
                             .bound = 10768395,
                             .used = 4,
                             .proof = ALLOC_PROOF_SEARCH,
                             .price_gain = 9,
                             .price_devices = 2};
    char text[ALLOCFILE_VALUE_BYTES];
    struct allocfile f;
    struct buf out;

    (void)state;
    assert_string_equal(allocfile_value(text, -1), "-0.000001");
    assert_string_equal(allocfile_value(text, 1073741824), "1073.741824");
    assert_int_equal(read_text(&f, example, NULL), 0);
    buf_init(&out, 4096);
    allocfile_write(&f, sizes, &r, &out);
    assert_string_equal(
        out.text,
        "{\"bound\":10768395,\"certified\":false,\"devices\":4,\"jobs\":["
        "{\"id\":\"a\",\"one_less\":-0.426043,\"one_more\":0.447437,\"size\":3,"
        "\"value\":1.692098},"
        "{\"id\":\"b\",\"one_less\":null,\"one_more\":0.000000,\"size\":1,"
        "\"value\":1.000000},"
        "{\"id\":\"c\",\"one_less\":null,\"one_more\":0.000000,\"size\":0,"
        "\"value\":0.000000}],\"objective\":10768392,\"price\":0.000001,\"proof\":"
        "\"search\","
        "\"unchanged\":0,\"used\":4,\"value\":2.692098,\"value_bound\":2.692098}\n");
    r.bound = -1; /* T is 4: a value of 0 is above it */
    assert_int_equal(allocfile_bound(&f, &r), -1);
    buf_release(&out);
    allocfile_release(&f);
}

static void allocfile_survives_every_lack_of_memory(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct allocfile f;
        int rc;

        mem_fault_arm(nth);
        rc = read_text(&f, example, NULL);
        if (rc == 0)
            allocfile_release(&f);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
        assert_null(f.problem.rows);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocfile_reads_every_field),
        cmocka_unit_test(allocfile_refuses_by_name_with_what_would_do),
        cmocka_unit_test(allocfile_says_what_one_device_more_or_less_is_worth),
        cmocka_unit_test(allocfile_tells_how_much_is_missing),
        cmocka_unit_test(allocfile_writes_decimals_and_bounds),
        cmocka_unit_test(allocfile_survives_every_lack_of_memory),
    };

    return cmocka_run_group_tests_name("allocfile", tests, NULL, NULL);
}
