/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void read_good(struct scenario *scn, const char *text)
{
    struct err err = {0};

    scenario_init(scn);
    if (scenario_read(scn, text, strlen(text), &err) < 0)
        fail_msg("%s %s", err.field, err.text);
}

static void scenario_of_the_style_guide_is_read(void **state)
{
    struct scenario scn;

    (void)state;
    read_good(&scn,
              "# a comment\n"
              "cluster  2 nodes x 2 gpu\n"
              "policy   joint\n"
              "\n"
              "job a    gpus 1..4  batch 64..256, 64 per gpu  work 6 gpu-hours  at 0\n"
              "fault    n2 down at 30m, up at 50m\n");
    assert_int_equal(scn.n_nodes, 2);
    assert_string_equal(scn.nodes[1].name, "n2");
    assert_int_equal(scn.nodes[1].devices, 2);
    assert_int_equal(scn.n_jobs, 1);
    assert_int_equal(scn.jobs[0].spec.sizes.max, 4);
    assert_int_equal(scn.jobs[0].spec.batch_min, 64);
    assert_int_equal(scn.jobs[0].spec.batch_max, 256);
    assert_int_equal(scn.jobs[0].spec.gpu_batch, 64);
    assert_int_equal(scn.jobs[0].spec.level, JOB_ELASTIC);
    assert_int_equal(scn.jobs[0].device_us, 6 * USEC_PER_HOUR);
    assert_int_equal(scn.n_actions, 2);
    assert_int_equal(scn.actions[0].kind, SCN_NODE_DOWN);
    assert_int_equal(scn.actions[0].at_us, 30 * USEC_PER_MIN);
    assert_int_equal(scn.actions[1].kind, SCN_NODE_UP);
    assert_int_equal(scn.actions[1].node, 1);
    scenario_release(&scn);
}

static void scenario_reads_every_key_of_a_job(void **state)
{
    const struct scn_job *job;
    struct scenario scn;

    (void)state;
    read_good(&scn, "job j gpus 1,2,4 batch 32..64, 8 per gpu base 32 level restartable "
                    "accumulate free lr sqrt profile passive samples 25M proc 10ms+2ms*m "
                    "comm ring 25M "
                    "params 1.25GB/s alpha 100us inter 1.5 model unknown length unknown "
                    "saves 4m at 1h30m grace 45s retries 3 limit 2h weight 0.5 type a100 "
                    "family mlp\n");
    job = &scn.jobs[0];
    assert_int_equal(job->spec.sizes.n_listed, 3);
    assert_int_equal(job->spec.sizes.listed[2], 4);
    assert_int_equal(job->spec.batch_base, 32);
    assert_int_equal(job->spec.level, JOB_RESTARTABLE);
    assert_int_equal(job->spec.accumulate, JOB_ACCUMULATE_FREE);
    assert_int_equal(job->spec.lr_rule, JOB_LR_SQRT);
    assert_int_equal(job->spec.profile, JOB_PROFILE_PASSIVE);
    assert_int_equal(job->spec.samples_total, 25000000);
    assert_int_equal(job->device_us, 0);
    assert_int_equal(job->truth.proc[0].time_ns, 12000000);
    assert_int_equal(job->truth.proc[1].time_ns - job->truth.proc[0].time_ns,
                     (int64_t)2000000 * (job->truth.proc[1].micro_batch -
                                         job->truth.proc[0].micro_batch));
    assert_int_equal(job->truth.comm_form, MODEL_COMM_RING);
    assert_int_equal(job->truth.comm_bytes, 100000000);
    assert_int_equal(job->truth.comm_bytes_per_sec, 1250000000);
    assert_int_equal(job->truth.comm_alpha_ns, 100000);
    assert_int_equal(job->truth.inter_node_ppm, 1500000);
    assert_int_equal(model_check(&job->truth, NULL), 0);
    assert_false(job->is_known);
    assert_true(job->is_endless);
    assert_int_equal(job->save_every_us, 4 * USEC_PER_MIN);
    assert_int_equal(job->at_us, 90 * USEC_PER_MIN);
    assert_int_equal(job->spec.grace_us, 45 * USEC_PER_SEC);
    assert_int_equal(job->spec.retries, 3);
    assert_int_equal(job->spec.time_limit_us, 2 * USEC_PER_HOUR);
    assert_int_equal(job->spec.weight_ppm, 500000);
    assert_string_equal(job->spec.device_type, "a100");
    assert_string_equal(job->spec.family, "mlp");
    scenario_release(&scn);
}

static void scenario_orders_actions_by_time_and_keeps_equals_in_order(void **state)
{
    static const enum scn_kind expected[] = {
        SCN_PAUSE, SCN_STORE_FAILS, SCN_CONFIG, SCN_UPDATE, SCN_CANCEL, SCN_STORE_WORKS};
    struct scenario scn;

    (void)state;
    read_good(&scn, "job a gpus 1..2 batch 64\n"
                    "user cancel a at 20m, pause a at 5m\n"
                    "fault store fails at 10m until 20m\n"
                    "policy fifo drop at 10m\n"
                    "update a gpus 1..3 at 11m\n");
    assert_int_equal(scn.n_actions, 6);
    for (size_t i = 0; i < scn.n_actions; i++)
        assert_int_equal(scn.actions[i].kind, expected[i]);
    assert_string_equal(scn.actions[2].config->policy, "fifo");
    assert_int_equal(scn.actions[2].config->admission, CONFIG_ADMIT_DROP);
    assert_int_equal(scn.actions[3].spec->sizes.max, 3);
    assert_int_equal(scn.actions[3].spec->batch_max, 64);
    scenario_release(&scn);
}

static void scenario_refuses_with_line_field_and_reason(void **state)
{
    static const struct {
        const char *line;
        const char *field;
        const char *says;
    } bad[] = {
        {"clutser 2 nodes x 2 gpu", "line", "line 2: begins with 'clutser'"},
        {"cluster two nodes x 2 gpu", "cluster", "is 'two'; give a number"},
        {"cluster 2 nodes by 2 gpu", "cluster", "has 'by' where 'x' is expected"},
        {"cluster 2 nodes x 2 gpu really", "cluster", "has 'really' too much"},
        {"node n1 2 gpu", "node", "'n1' is there already"},
        {"job", "job", "needs a name"},
        {"job old gpus 1", "job", "is there already"},
        {"job j gpus 1..x", "gpus", "give 2, 1..8 or a list"},
        {"job j gpus 99999999999999", "gpus", "give 2, 1..8 or a list"},
        {"job j batch 64..256, 64 by gpu", "batch", "where 'per' is expected"},
        {"job j work 6 hours", "work", "gpu-hours, gpu-minutes or gpu-seconds"},
        {"job j work", "work", "is 'nothing'"},
        {"job j proc 10", "proc", "where a time such as 10ms"},
        {"job j proc 0ms", "proc", "more than 0"},
        {"job j proc 8:1ms,8:2ms", "proc", "rising sizes"},
        {"job j comm ring 25M params 1.25", "comm", "give 1.25GB/s"},
        {"job j comm 1:2ms", "comm", "from 2 on"},
        {"job j comm 521d", "comm", "0 to 366 days"}, /* found by scn_fuzz */
        {"job j comm 2:521d", "comm", "0 to 366 days"},
        {"job j proc 1:521d", "proc", "to 366 days"},
        {"job j comm 1ms inter 9000000", "inter-node", "line 2: is 9000000000000 ppm"},
        {"job j at soon", "at", "give a span"},
        {"job j at 999999999d", "at", "give a span"},
        {"job j colour blue", "job", "has no key 'colour'"},
        {"job j weight 1.2345678", "weight", "give a number"},
        {"fault n9 down at 1m", "fault", "a job or node of the lines above"},
        {"fault n1 melts at 1m", "fault", "give down, up or device"},
        {"fault old save explodes at 1m", "fault", "'save hangs'"},
        {"fault store fails at 2m until 1m", "fault", "ends before it begins"},
        {"fault daemon restart at 1m, crash at 2m", "fault", "one event only"},
        {"fault answer eaten old exit at 1m", "fault", "lost, late or twice"},
        {"user nudge old at 1m", "user", "cancel, pause or resume"},
        {"user cancel new at 1m", "user", "no job of the lines above"},
        {"update old colour blue at 1m", "update", "has no key 'colour'"},
        {"update old gpus 1..2", "update", "'at' is expected"},
        {"policy magic", "policy", "is 'magic', which is unknown; one of joint, "},
        {"policy joint maybe", "policy", "queue, skip or drop"},
        {"set speed 1s", "set", "interval, min_run"},
        {"delays start 1s, lunch 1h", "delays", "start, restart"},
        {"seed -1", "seed", "give a number"},
        {"until", "until", "is 'nothing'"},
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct scenario scn;
        struct err err = {0};
        int n = snprintf(text, sizeof text, "cluster 1 nodes x 1 gpu\n%s\n", bad[i].line);

        if (strstr(bad[i].line, "old"))
            n = snprintf(text, sizeof text,
                         "cluster 1 nodes x 1 gpu\njob old gpus 1\n%s\n", bad[i].line);
        scenario_init(&scn);
        assert_int_equal(scenario_read(&scn, text, (size_t)n, &err), E_INVALID);
        assert_string_equal(err.field, bad[i].field);
        if (!strstr(err.text, bad[i].says))
            fail_msg("'%s' gives '%s', not '%s'", bad[i].line, err.text, bad[i].says);
        assert_int_equal(scn.n_jobs, 0);
        assert_int_equal(scn.n_nodes, 0);
        scenario_release(&scn);
    }
}

static void scenario_refuses_long_lines_zero_bytes_and_too_many_words(void **state)
{
    static char text[6000];
    struct scenario scn;
    struct err err = {0};

    (void)state;
    scenario_init(&scn);
    memset(text, 'x', 3000);
    assert_int_equal(scenario_read(&scn, text, 3000, &err), E_INVALID);
    for (size_t i = 0; i < 600; i++)
        text[i] = i % 2 ? ' ' : 'x';
    assert_int_equal(scenario_read(&scn, text, 600, &err), E_INVALID);
    assert_int_equal(scenario_read(&scn, "see\0d 1", 7, &err), E_INVALID);
    assert_non_null(strstr(err.text, "zero byte"));
    assert_int_equal(scenario_read(&scn, ",,, ,", 5, &err), E_INVALID);
    assert_int_equal(scenario_read(&scn, "", 0, &err), 0);
    scenario_release(&scn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenario_of_the_style_guide_is_read),
        cmocka_unit_test(scenario_reads_every_key_of_a_job),
        cmocka_unit_test(scenario_orders_actions_by_time_and_keeps_equals_in_order),
        cmocka_unit_test(scenario_refuses_with_line_field_and_reason),
        cmocka_unit_test(scenario_refuses_long_lines_zero_bytes_and_too_many_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
