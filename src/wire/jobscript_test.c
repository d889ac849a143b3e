/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jobscript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void jobscript_reads_the_lines_at_the_top(void **state)
{
    static const char text[] = "#!/bin/sh\r\n"
                               "#ELASTANE --gpus 1..4 --batch=128..1024 # a remark\r\n"
                               "# an ordinary remark\n"
                               "\n"
                               "#ELASTANE -n \"m\\\"n\" -e 'A=two words' --env=B=3\n"
                               "#ELASTANE --profile=off\n"
                               "#ELASTANE\n"
                               "#ELASTANEX --nonsense\n"
                               "echo hello\n";
    struct submit s;
    struct job_places places;
    int32_t late = 7;

    (void)state;
    assert_int_equal(jobscript_parse(text, strlen(text), &s, &places, &late, NULL), 0);
    assert_int_equal(late, 0);
    assert_int_equal(s.spec.sizes.max, 4);
    assert_int_equal(s.spec.batch_max, 1024);
    assert_int_equal(s.spec.profile, JOB_PROFILE_OFF);
    assert_string_equal(s.spec.name, "m\"n");
    assert_int_equal(s.launch.n_env, 2);
    assert_string_equal(s.launch.env[0], "A=two words");
    assert_string_equal(s.launch.env[1], "B=3");
    assert_int_equal(places.of[JOB_FIELD_NAME].line, 5);
    assert_int_equal(places.of[JOB_FIELD_NAME].column, 11);
    submit_release(&s);
}

static void jobscript_tells_of_lines_that_come_too_late(void **state)
{
    static const char text[] = "#!/bin/sh\necho hello\n#ELASTANE --gpus 4\n";
    struct submit s;
    struct job_places places;
    int32_t late = 0;

    (void)state;
    assert_int_equal(jobscript_parse(text, strlen(text), &s, &places, &late, NULL), 0);
    assert_int_equal(late, 3);
    assert_int_equal(s.given, 0);
    submit_release(&s);
}

static void jobscript_of_nothing_says_nothing(void **state)
{
    static const char *const texts[] = {"", "\n\n", "#!/bin/sh", "echo\n", "#ELASTANE"};

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct submit s;
        struct job_places places;
        int32_t late = 0;

        assert_int_equal(
            jobscript_parse(texts[i], strlen(texts[i]), &s, &places, &late, NULL), 0);
        assert_int_equal(s.given, 0);
        submit_release(&s);
    }
}

static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"#ELASTANE --gpu 4\n", "1:11 gpu: is not a known field; did you mean 'gpus'?"},
    {"#!/bin/sh\n#ELASTANE --gpus 4 --gpus 5\n",
     "2:20 gpus: is given twice, first on line 2; keep one"},
    {"#ELASTANE --gpus\n", "1:11 gpus: needs a value (SIZES)"},
    {"#ELASTANE --gpus # 4\n", "1:11 gpus: needs a value (SIZES)"},
    {"#ELASTANE --gpus=\n",
     "1:11 gpus: is ''; give one size (4), a range (1..8), a range in steps (2..8/2) or "
     "a list (1,2,4), up to 8192"},
    {"#ELASTANE gpus 4\n", "1:11 : has a word where a flag such as --gpus is expected"},
    {"#ELASTANE -- 4\n", "1:11 : has a word where a flag such as --gpus is expected"},
    {"#ELASTANE -q 4\n", "1:11 : has an unknown short flag; elastane-job(5) lists them"},
    {"#ELASTANE --name 'a\n", "1:18 : has a quote that is not closed"},
    {"#ELASTANE --name \"a\n", "1:18 : has a quote that is not closed"},
    {"#ELASTANE --batch 0\n", "1:19 batch: begins at 0; give 1 or more"},
    {"#ELASTANE --command 'a\x01'\n",
     "1:21 command: has a control character; leave it out"},
};

static void jobscript_refuses_with_place_field_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct submit s;
        struct job_places places;
        struct err err = {0};
        int32_t late = 0;
        char seen[2 * ERR_TEXT_MAX];
        int rc = jobscript_parse(refused[i].text, strlen(refused[i].text), &s, &places,
                                 &late, &err);

        assert_true(rc < 0);
        (void)snprintf(seen, sizeof seen, "%d:%d %s: %s", places.fault.line,
                       places.fault.column, err.field, err.text);
        assert_string_equal(seen, refused[i].message);
    }
}

static void jobscript_refuses_a_nul(void **state)
{
    static const char text[] = "#ELASTANE --name a\0b\n";
    struct submit s;
    struct job_places places;
    struct err err = {0};
    int32_t late = 0;

    (void)state;
    assert_int_equal(jobscript_parse(text, sizeof text - 1, &s, &places, &late, &err),
                     E_INVALID);
    assert_string_equal(err.text, "has a NUL character");
    assert_int_equal(places.fault.column, 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobscript_reads_the_lines_at_the_top),
        cmocka_unit_test(jobscript_tells_of_lines_that_come_too_late),
        cmocka_unit_test(jobscript_of_nothing_says_nothing),
        cmocka_unit_test(jobscript_refuses_with_place_field_and_reason),
        cmocka_unit_test(jobscript_refuses_a_nul),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
