/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jobfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "support/mem_fault.h"

static void jobfile_reads_every_field(void **state)
{
    static const char text[] = "name: mlp\n"
                               "gpus: [1, 2, 4]\n"
                               "batch: 128..1024\n"
                               "gpu-batch: 512\n"
                               "base-batch: 256\n"
                               "accumulate: never\n"
                               "lr-rule: sqrt\n"
                               "profile: passive\n"
                               "level: elastic\n"
                               "grace: 45s\n"
                               "time-limit: 1h30m\n"
                               "samples: 10 x 60000\n"
                               "retries: 3\n"
                               "family: vision\n"
                               "device-type: a100\n"
                               "weight: 1.5\n"
                               "cpus: 2\n"
                               "mem: 16G\n"
                               "launch: node\n"
                               "cwd: /tmp\n"
                               "env: {B: two words, A: \"1\"}\n"
                               "export: PATH,TOKEN\n"
                               "output: /tmp/logs\n"
                               "command: [python3, train.py, --lr, '0.1']\n"
                               "proc: {64: 0.138, 128: 250ms}\n"
                               "comm: {2: 0.005}\n";
    struct submit s;
    struct job_places places;

    (void)state;
    assert_int_equal(jobfile_parse(text, strlen(text), &s, &places, NULL), 0);
    assert_int_equal(s.given, BIT(JOB_FIELD_MAX) - 1);
    assert_string_equal(s.spec.name, "mlp");
    assert_int_equal(s.spec.sizes.n_listed, 3);
    assert_int_equal(s.spec.sizes.listed[2], 4);
    assert_int_equal(s.spec.batch_min, 128);
    assert_int_equal(s.spec.batch_max, 1024);
    assert_int_equal(s.spec.gpu_batch, 512);
    assert_int_equal(s.spec.batch_base, 256);
    assert_int_equal(s.spec.accumulate, JOB_ACCUMULATE_NEVER);
    assert_int_equal(s.spec.lr_rule, JOB_LR_SQRT);
    assert_int_equal(s.spec.profile, JOB_PROFILE_PASSIVE);
    assert_int_equal(s.spec.level, JOB_ELASTIC);
    assert_int_equal(s.spec.grace_us, 45 * USEC_PER_SEC);
    assert_int_equal(s.spec.time_limit_us, 90 * USEC_PER_MIN);
    assert_int_equal(s.spec.samples_total, 600000);
    assert_int_equal(s.spec.retries, 3);
    assert_string_equal(s.spec.family, "vision");
    assert_string_equal(s.spec.device_type, "a100");
    assert_int_equal(s.spec.weight_ppm, 1500000);
    assert_int_equal(s.spec.cpus_per_device, 2);
    assert_int_equal(s.spec.mem_bytes_per_device, (int64_t)16 << 30);
    assert_int_equal(s.launch.form, LAUNCH_NODE);
    assert_string_equal(s.launch.cwd, "/tmp");
    assert_string_equal(s.launch.log_dir, "/tmp/logs");
    assert_string_equal(s.exported, "PATH,TOKEN");
    assert_int_equal(s.launch.n_env, 2);
    assert_string_equal(s.launch.env[0], "A=1");
    assert_string_equal(s.launch.env[1], "B=two words");
    assert_int_equal(s.launch.n_args, 4);
    assert_string_equal(s.launch.argv[3], "0.1");
    assert_null(s.launch.argv[4]);
    assert_true(s.has_model);
    assert_int_equal(s.model.n_proc, 2);
    assert_int_equal(s.model.proc[1].micro_batch, 128);
    assert_int_equal(s.model.proc[1].time_ns, 250000000);
    assert_int_equal(s.model.comm[0].time_ns, 5000000);
    assert_int_equal(places.of[JOB_FIELD_BATCH].line, 3);
    submit_release(&s);
}

static void jobfile_takes_a_command_line_for_the_shell(void **state)
{
    static const char text[] =
        "command: |\n  cd x\n  exec ./train\nenv:\n  - A=b\n  - HOME\n";
    struct submit s;
    struct job_places places;

    (void)state;
    assert_int_equal(jobfile_parse(text, strlen(text), &s, &places, NULL), 0);
    assert_int_equal(s.launch.n_args, 3);
    assert_string_equal(s.launch.argv[0], "/bin/sh");
    assert_string_equal(s.launch.argv[2], "cd x\nexec ./train\n");
    assert_string_equal(s.launch.env[1], "HOME");
    submit_release(&s);
}

/* A text and what is said about it: "line:column field: text". */
static const struct {
    const char *text;
    const char *message;
} refused[] = {
    {"gpu: 4\n", "1:1 gpu: is not a known field; did you mean 'gpus'?"},
    {"name: a\ncolour: red\n",
     "2:1 colour: is not a known field; elastane-job(5) lists them"},
    {"gpus: 0\n", "1:7 gpus: begins at 0; the least size is 1"},
    {"gpus: 4\ngpus: 8\n", "2:1 gpus: is given twice, first on line 1; keep one"},
    {"gpus: {a: 1}\n", "1:7 gpus: is a mapping; give one value"},
    {"gpus: [1, [2]]\n", "1:11 gpus: has an entry that is not one word or number"},
    {"gpus: []\n", "1:7 gpus: is an empty list"},
    {"gpus: [4, 2]\n", "1:7 gpus: lists 2 after 4; sizes must rise"},
    {"batch: [1, 2]\n", "1:8 batch: is a list; give one value"},
    {"retries: three\n", "1:10 retries: is 'three'; give a whole number from 0 to 100"},
    {"retries: 101\n", "1:10 retries: is 101; give 0 to 100"},
    {"retries:\n", "1:9 retries: has no value; give one or leave the field out"},
    {"retries: true\n",
     "1:10 retries: is a truth value; put it in quotes if the word is meant"},
    {"name: \"a\\0b\"\n", "1:7 name: has a control character; leave it out"},
    {"name: \"a\\eb\"\n", "1:7 name: has a control character; leave it out"},
    {"name: a b\n",
     "1:7 name: has a blank or control character at position 2; leave it out"},
    {"name: &a x\n", "1:7 : uses an anchor or alias; write the value out"},
    {"name: *a\n", "1:7 : uses an anchor or alias; write the value out"},
    {"&a name: x\n", "1:1 : uses an anchor or alias; write the value out"},
    {"name: !!str x\n", "1:7 : uses a tag; leave it out"},
    {"- name\n", "1:1 : does not hold NAME: VALUE lines at its top"},
    {"just a word\n", "1:1 : does not hold NAME: VALUE lines at its top"},
    {"", "1:1 : is empty; give NAME: VALUE lines"},
    {"# nothing\n", "2:1 : is empty; give NAME: VALUE lines"},
    {"name: a\n---\nname: b\n", "2:1 : holds a second document; one job per file"},
    {"[a]: b\n", "1:1 : has a key that is not a word; give NAME: VALUE"},
    {"env: A\n", "1:6 env: is one word; give a mapping, or a list of NAME=VALUE"},
    {"env: {A: 1, A: 2}\n", "1:13 env: names a variable twice, or with '=' in its name"},
    {"env: {A: [1]}\n", "1:10 env: has a value that is not one word or number"},
    {"env: ['=x']\n", "1:7 env: has a variable without a name; give NAME=VALUE"},
    {"command: ''\n", "1:10 command: is empty; give the program to run"},
    {"proc: {64: 0.1, 32: 0.2}\n",
     "1:7 proc: has 32 after 64; the first numbers must rise"},
    {"proc: {64: 0}\n", "1:7 proc: has a time of 0; give more than 0 seconds"},
    {"comm: {1: 0.1}\n",
     "1:7 comm: has size 1; one device does not communicate, give sizes from 2"},
    {"level: elastik\n", "1:8 level: is 'elastik'; give rigid, restartable or elastic"},
    {"grace: 30\n", "1:8 grace: is '30'; give a span with its unit (us, ms, s, m, h, d), "
                    "such as 30s or 1h30m"},
    {"<<: {name: a}\n", "1:1 <<: is not a known field; elastane-job(5) lists them"},
};

static void jobfile_refuses_with_place_field_and_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        struct submit s;
        struct job_places places;
        struct err err = {0};
        char seen[2 * ERR_TEXT_MAX];
        int rc =
            jobfile_parse(refused[i].text, strlen(refused[i].text), &s, &places, &err);

        assert_true(rc < 0);
        assert_int_equal(rc, err.code);
        (void)snprintf(seen, sizeof seen, "%d:%d %s: %s", places.fault.line,
                       places.fault.column, err.field, err.text);
        assert_string_equal(seen, refused[i].message);
    }
}

static void jobfile_refuses_what_is_not_yaml(void **state)
{
    static const char *const texts[] = {
        "name: [a\n",   "name: 'a\n",       "\tname: a\n", "name: a: b\n",
        "name: \x01\n", "name: \xff\xfe\n", "}",           "a: b\n  c: d\n",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        struct submit s;
        struct job_places places;
        struct err err = {0};

        assert_int_equal(jobfile_parse(texts[i], strlen(texts[i]), &s, &places, &err),
                         E_INVALID);
        assert_true(places.fault.line > 0);
        assert_true(places.fault.column > 0);
    }
}

static void jobfile_refuses_too_much(void **state)
{
    struct buf b;
    struct submit s;
    struct job_places places;
    struct err err = {0};

    (void)state;
    buf_init(&b, JOBFILE_MAX * 2);
    buf_puts(&b, "name: ");
    while (b.len <= JOBFILE_MAX)
        buf_putc(&b, 'x');
    assert_int_equal(jobfile_parse(b.text, b.len, &s, &places, &err), E_LIMIT);
    assert_int_equal(jobfile_parse(b.text, b.len - 10, &s, &places, &err), E_LIMIT);
    buf_clear(&b);
    buf_puts(&b, "name: ");
    for (int i = 0; i < 100000; i++)
        buf_putc(&b, '[');
    assert_int_equal(jobfile_parse(b.text, b.len, &s, &places, &err), E_INVALID);
    buf_clear(&b);
    buf_puts(&b, "command: [");
    for (int i = 0; i <= LAUNCH_ARGS_MAX; i++)
        buf_puts(&b, "a,");
    buf_puts(&b, "]\n");
    assert_int_equal(jobfile_parse(b.text, b.len, &s, &places, &err), E_LIMIT);
    assert_string_equal(err.field, "command");
    buf_release(&b);
}

static void jobfile_survives_every_failed_allocation(void **state)
{
    static const char text[] = "name: a\nenv: {A: b, C: d}\ncommand: [x, y]\n";

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct submit s;
        struct job_places places;
        int rc;

        mem_fault_arm(nth);
        rc = jobfile_parse(text, strlen(text), &s, &places, NULL);
        if (rc == 0)
            submit_release(&s);
        if (!mem_fault_disarm())
            break;
        assert_int_equal(rc, E_NOMEM);
    }
    assert_int_equal(mem_fault_blocks(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobfile_reads_every_field),
        cmocka_unit_test(jobfile_takes_a_command_line_for_the_shell),
        cmocka_unit_test(jobfile_refuses_with_place_field_and_reason),
        cmocka_unit_test(jobfile_refuses_what_is_not_yaml),
        cmocka_unit_test(jobfile_refuses_too_much),
        cmocka_unit_test(jobfile_survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
