/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/submit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "support/mem_fault.h"
#include "wire/jobfield.h"

static void set(struct submit *s, const char *field, const char *value)
{
    struct err err = {0};

    if (job_field_set(s, job_field_find(field), value, &err) < 0)
        fail_msg("%s: %s", err.field, err.text);
}

static void make(struct submit *s)
{
    submit_init(s);
    set(s, "name", "mlp");
    set(s, "gpus", "1..4");
    set(s, "batch", "128..1024");
    set(s, "gpu-batch", "512");
    set(s, "base-batch", "256");
    set(s, "accumulate", "never");
    set(s, "lr-rule", "linear");
    set(s, "profile", "passive");
    set(s, "level", "elastic");
    set(s, "grace", "45s");
    set(s, "weight", "2.5");
    set(s, "command", "exec ./train");
    set(s, "env", "B=2");
    set(s, "env", "A=\n\xc3\xa4\"");
    set(s, "env", "B=3");
    set(s, "cwd", "/tmp");
    set(s, "proc", "64:0.138,128:0.25");
    set(s, "comm", "2:0.005");
    submit_complete(s);
}

#define GOLDEN                                                                           \
    "{\"accumulate\":\"never\",\"batch_base\":256,\"batch_max\":1024,\"batch_min\":128," \
    "\"cpus_per_device\":0,\"device_type\":\"\",\"family\":\"\",\"gpu_batch\":512,"      \
    "\"grace_us\":45000000,\"launch\":{\"argv\":[\"/bin/sh\",\"-c\",\"exec ./train\"],"  \
    "\"cwd\":\"/"                                                                        \
    "tmp\",\"env\":{\"A\":\"\\n\xc3\xa4\\\"\",\"B\":\"3\"},\"log_dir\":\"\"},"           \
    "\"level\":\"elastic\",\"lr_rule\":\"linear\",\"mem_bytes_per_device\":0,"           \
    "\"model\":{\"comm\":[{\"size\":2,\"time_ns\":5000000}],"                            \
    "\"proc\":[{\"micro_batch\":64,\"time_ns\":138000000},"                              \
    "{\"micro_batch\":128,\"time_ns\":250000000}]},"                                     \
    "\"name\":\"mlp\",\"profile\":\"passive\",\"retries\":0,\"samples_total\":0,"        \
    "\"sizes\":{\"max\":4,\"min\":1,\"step\":1},\"time_limit_us\":0,\"weight_ppm\":"     \
    "2500000}"

static void submit_travels_there_and_back(void **state)
{
    struct submit s, back;
    struct buf b, again;
    struct err err = {0};

    (void)state;
    make(&s);
    buf_init(&b, SUBMIT_BODY_MAX);
    buf_init(&again, SUBMIT_BODY_MAX);
    assert_int_equal(submit_encode(&s, &b, &err), 0);
    assert_string_equal(b.text, GOLDEN);
    if (submit_decode(b.text, b.len, &back, &err) < 0)
        fail_msg("%s: %s", err.field, err.text);
    assert_int_equal(submit_encode(&back, &again, NULL), 0);
    assert_string_equal(again.text, GOLDEN);
    assert_non_null(back.spec.launch);
    assert_true(strstr(GOLDEN, back.spec.launch) != NULL);
    assert_int_equal(back.launch.n_args, 3);
    assert_null(back.launch.argv[3]);
    assert_string_equal(back.launch.env[0], "A=\n\xc3\xa4\"");
    assert_null(back.launch.env[2]);
    assert_string_equal(launch_get_env(&back.launch, "B"), "3");
    assert_null(launch_get_env(&back.launch, "C"));
    assert_int_equal(back.model.source, MODEL_STATED);
    assert_int_equal(back.spec.profile, JOB_PROFILE_PASSIVE);
    submit_release(&s);
    submit_release(&back);
    buf_release(&b);
    buf_release(&again);
}

#define LAUNCH "\"launch\":{\"argv\":[\"true\"],\"cwd\":\"/\"}"

static void submit_of_little_gets_defaults(void **state)
{
    static const char text[] = "{\"name\":\"a\"," LAUNCH "}";
    struct submit s;

    (void)state;
    assert_int_equal(submit_decode(text, strlen(text), &s, NULL), 0);
    assert_int_equal(s.spec.level, JOB_RIGID);
    assert_int_equal(s.spec.sizes.min, 1);
    assert_int_equal(s.spec.sizes.max, 1);
    assert_int_equal(s.spec.batch_max, 0);
    assert_int_equal(s.spec.weight_ppm, PPM);
    assert_int_equal(s.spec.profile, JOB_PROFILE_PROBE);
    assert_int_equal(s.spec.grace_us, 30 * USEC_PER_SEC);
    assert_false(s.has_model);
    assert_null(s.launch.log_dir);
    submit_release(&s);
}

static void submit_guesses_the_level_from_the_ranges(void **state)
{
    static const struct {
        const char *field, *value;
        enum job_level level;
    } cases[] = {
        {"gpus", "4", JOB_RIGID},           {"gpus", "1..4", JOB_RESTARTABLE},
        {"gpus", "1,2", JOB_RESTARTABLE},   {"batch", "256", JOB_RIGID},
        {"batch", "1..2", JOB_RESTARTABLE}, {"level", "elastic", JOB_ELASTIC},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct submit s;

        submit_init(&s);
        set(&s, cases[i].field, cases[i].value);
        submit_complete(&s);
        assert_int_equal(s.spec.level, cases[i].level);
        submit_release(&s);
    }
}

/* A body and "field: text" of its refusal. */
static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"{\"name\":\"a\"}", "launch: is missing"},
    {"{" LAUNCH "}", "name: is empty; give 1 to 63 characters"},
    {"{\"name\":1," LAUNCH "}", "name: is not a text"},
    {"{\"name\":\"a\",\"sizs\":{}," LAUNCH "}",
     "sizs: is not a known field; did you mean 'sizes'?"},
    {"{\"name\":\"a\",\"uid\":0," LAUNCH "}", "uid: is not a known field"},
    {"{\"name\":\"a\",\"retries\":1.5," LAUNCH "}", "retries: is not a whole number"},
    {"{\"name\":\"a\",\"retries\":101," LAUNCH "}", "retries: is 101; give 0 to 100"},
    {"{\"name\":\"a\",\"level\":\"x\"," LAUNCH "}",
     "level: is 'x'; give one of rigid, restartable, elastic"},
    {"{\"name\":\"a\",\"profile\":\"x\"," LAUNCH "}",
     "profile: is 'x'; give one of probe, passive, off"},
    {"{\"name\":\"a\",\"sizes\":4," LAUNCH "}", ": sizes is not an object"},
    {"{\"name\":\"a\",\"sizes\":{\"min\":1}," LAUNCH "}",
     "sizes.max: is missing; give min and max, or listed"},
    {"{\"name\":\"a\",\"sizes\":{\"min\":0,\"max\":1}," LAUNCH "}",
     "sizes.min: is 0; give 1 to 8192"},
    {"{\"name\":\"a\",\"sizes\":{\"listed\":[1,2],\"min\":1}," LAUNCH "}",
     "sizes.listed: stands beside min, max or step; give one or the other"},
    {"{\"name\":\"a\",\"sizes\":{\"listed\":[1,\"2\"]}," LAUNCH "}",
     "sizes.listed: has an entry that is not a whole number from 1 to 8192"},
    {"{\"name\":\"a\",\"sizes\":{\"min\":1,\"max\":2}," LAUNCH "}",
     "gpus: is 1..2 for a rigid job; give one size, or level restartable or elastic"},
    {"{\"name\":\"a\",\"launch\":{\"argv\":[],\"cwd\":\"/\"}}",
     "launch.argv: is empty; give the command"},
    {"{\"name\":\"a\",\"launch\":{\"argv\":[\"x\"],\"cwd\":\"y\"}}",
     "launch.cwd: does not begin with '/'"},
    {"{\"name\":\"a\",\"launch\":{\"argv\":[\"x\"]}}", "launch.cwd: is missing"},
    {"{\"name\":\"a\",\"launch\":{\"argv\":[\"x\"],\"cwd\":\"/\",\"env\":[]}}",
     "launch.env: is not an object"},
    {"{\"name\":\"a\",\"launch\":{\"argv\":[\"x\"],\"cwd\":\"/\",\"shell\":1}}",
     "launch.shell: is not a known field"},
    {"{\"name\":\"a\",\"launch\":7}", "launch: is not an object"},
    {"{\"name\":\"a\",\"model\":{\"proc\":[{\"micro_batch\":1}]}," LAUNCH "}",
     "model.proc[0].time_ns: is missing"},
    {"{\"name\":\"a\",\"name\":\"b\"," LAUNCH "}",
     ": is not JSON: line 1, column 18: duplicate object key near '\"name\"'"},
    {"[]", ": is not an object"},
    {"{} x", ": is not JSON: line 1, column 4: end of file expected near 'x'"},
    {"{\"a\":[[[[[[[[[[]]]]]]]]]]}", ": is nested deeper than 8 levels"},
};

static void submit_decode_refuses_with_field_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct submit s;
        struct err err = {0};
        char seen[2 * ERR_TEXT_MAX];

        assert_true(submit_decode(refused[i].text, strlen(refused[i].text), &s, &err) <
                    0);
        (void)snprintf(seen, sizeof seen, "%s: %s", err.field, err.text);
        assert_string_equal(seen, refused[i].message);
    }
}

static void submit_refuses_what_is_not_text(void **state)
{
    struct submit s;
    struct buf b;
    struct err err = {0};

    (void)state;
    buf_init(&b, SUBMIT_BODY_MAX);
    make(&s);
    assert_int_equal(launch_add_arg(&s.launch, "\xff", NULL), 0);
    assert_int_equal(submit_encode(&s, &b, &err), E_INVALID);
    assert_string_equal(err.field, "command");
    submit_release(&s);
    make(&s);
    set(&s, "env", "UNRESOLVED");
    assert_int_equal(submit_encode(&s, &b, &err), E_INVALID);
    assert_string_equal(err.field, "env");
    submit_release(&s);
    buf_release(&b);
}

static const char *lookup(const char *name)
{
    return strcmp(name, "HOME") == 0 ? "/home/x" : NULL;
}

static void launch_takes_variables_from_the_submitter(void **state)
{
    struct launch_request launch;
    struct err err = {0};

    (void)state;
    launch_init(&launch);
    assert_int_equal(launch_set_env(&launch, "HOME", NULL), 0);
    assert_int_equal(launch_resolve_env(&launch, lookup, &err), 0);
    assert_string_equal(launch.env[0], "HOME=/home/x");
    assert_int_equal(launch_set_env(&launch, "NOWHERE", NULL), 0);
    assert_int_equal(launch_resolve_env(&launch, lookup, &err), E_INVALID);
    assert_string_equal(err.text,
                        "names NOWHERE, which is not set here; give NOWHERE=VALUE");
    assert_int_equal(launch_set_env(&launch, "=x", &err), E_INVALID);
    assert_int_equal(launch_set_env(&launch, "a b=x", &err), E_INVALID);
    launch_release(&launch);
}

static void update_carries_only_what_was_given(void **state)
{
    struct submit s;
    struct buf b;
    struct err err = {0};
    struct job_spec spec;

    (void)state;
    make(&s);
    spec = s.spec;
    submit_release(&s);
    submit_init(&s);
    set(&s, "gpus", "2,4");
    set(&s, "profile", "off");
    set(&s, "weight", "3");
    buf_init(&b, SUBMIT_BODY_MAX);
    assert_int_equal(submit_encode_update(&s, &b, &err), 0);
    assert_string_equal(b.text, "{\"profile\":\"off\",\"sizes\":{\"listed\":[2,4]},"
                                "\"weight_ppm\":3000000}");
    assert_int_equal(submit_decode_update(b.text, b.len, &spec, &err), 0);
    assert_int_equal(spec.sizes.n_listed, 2);
    assert_int_equal(spec.sizes.min, 2);
    assert_int_equal(spec.sizes.max, 4);
    assert_int_equal(spec.weight_ppm, 3000000);
    assert_int_equal(spec.batch_max, 1024);
    assert_int_equal(spec.profile, JOB_PROFILE_OFF);
    job_spec_release(&spec);
    submit_release(&s);
    buf_release(&b);
}

static void update_refuses_and_leaves_the_spec_alone(void **state)
{
    static const char *const bodies[] = {
        "{\"name\":\"b\"}",
        "{\"batch_min\":2000}",
        "{\"sizes\":{\"min\":0,\"max\":1}}",
        "{\"launch\":{}}",
        "[]",
        "",
    };
    struct submit s;
    struct buf b;
    struct err err = {0};

    (void)state;
    make(&s);
    for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
        assert_int_equal(
            submit_decode_update(bodies[i], strlen(bodies[i]), &s.spec, &err), E_INVALID);
        assert_int_equal(s.spec.batch_min, 128);
        assert_int_equal(s.spec.sizes.min, 1);
    }
    submit_release(&s);
    submit_init(&s);
    set(&s, "cwd", "/tmp");
    buf_init(&b, SUBMIT_BODY_MAX);
    assert_int_equal(submit_encode_update(&s, &b, &err), E_INVALID);
    assert_string_equal(err.field, "cwd");
    submit_release(&s);
    buf_release(&b);
}

static void submit_survives_every_failed_allocation(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct submit s;
        static const char patch[] = "{\"retries\":1}";
        int rc;

        mem_fault_arm(nth);
        rc = submit_decode(GOLDEN, strlen(GOLDEN), &s, NULL);
        if (rc == 0) {
            rc = submit_decode_update(patch, strlen(patch), &s.spec, NULL);
            submit_release(&s);
        }
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(submit_travels_there_and_back),
        cmocka_unit_test(submit_of_little_gets_defaults),
        cmocka_unit_test(submit_guesses_the_level_from_the_ranges),
        cmocka_unit_test(submit_decode_refuses_with_field_and_reason),
        cmocka_unit_test(submit_refuses_what_is_not_text),
        cmocka_unit_test(launch_takes_variables_from_the_submitter),
        cmocka_unit_test(update_carries_only_what_was_given),
        cmocka_unit_test(update_refuses_and_leaves_the_spec_alone),
        cmocka_unit_test(submit_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
