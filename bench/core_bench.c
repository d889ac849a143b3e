/* SPDX-License-Identifier: Apache-2.0 */
/* core_bench.c - how long the steps of a large core take: decide and apply, no journal.
 *
 * A cluster of nodes with 8 devices each is filled with as many elastic jobs as it has
 * devices, each with a model of its own. Then jobs end one after the other and new ones
 * come, and after each of these inputs a plan is made, as in a busy daemon. Last, nodes
 * are lost. Every step's processor time is taken, since a core waits for nothing; `value`
 * is the 99th percentile, `median` the 50th, `worst` the largest of them.
 *
 * One JSON line for each kind of step. Usage: core_bench [jobs [rounds]] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/rng.h"
#include "core/core.h"
#include "core/duty.h"

#define NODE_DEVICES 8
#define JOBS         10000
#define ROUNDS       200
#define NODES_LOST   20
#define SAMPLES_MAX  40000

enum figure { FIRST_PLAN, PLAN, SUBMIT, STARTED, EXIT, LOST, FIGURE_MAX };

static const char *const names[FIGURE_MAX] = {
    [FIRST_PLAN] = "first_plan", [PLAN] = "plan",      [SUBMIT] = "submit_step",
    [STARTED] = "started_step",  [EXIT] = "exit_step", [LOST] = "node_lost_step",
};

struct bench {
    struct core *core;
    struct changes changes;
    struct rng rng;
    usec_t now_us;
    int64_t *ns[FIGURE_MAX];
    size_t n[FIGURE_MAX];
};

static int64_t now_ns(void)
{
    return (int64_t)clock() * (1000000000 / CLOCKS_PER_SEC);
}

static void note(struct bench *b, enum figure figure, int64_t ns)
{
    if (b->n[figure] < SAMPLES_MAX)
        b->ns[figure][b->n[figure]++] = ns;
}

static void step(struct bench *b, enum figure figure, struct event event)
{
    int64_t began = now_ns();

    b->now_us += 1000;
    event.time_us = b->now_us;
    changes_clear(&b->changes);
    ASSERT(core_decide(b->core, &event, &b->changes, NULL) == 0);
    for (size_t i = 0; i < b->changes.n; i++)
        ASSERT(core_apply(b->core, &b->changes.items[i]) == 0);
    note(b, figure, now_ns() - began);
}

static void add_nodes(struct bench *b, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        struct event event = {.kind = EVENT_NODE_UP,
                              .time_us = b->now_us,
                              .node = {.devices = NODE_DEVICES, .device_type = "gpu"}};

        (void)snprintf(event.node.name, sizeof event.node.name, "n%d", i);
        changes_clear(&b->changes);
        ASSERT(core_decide(b->core, &event, &b->changes, NULL) == 0);
        for (size_t k = 0; k < b->changes.n; k++)
            ASSERT(core_apply(b->core, &b->changes.items[k]) == 0);
    }
}

static void submit(struct bench *b)
{
    int64_t fixed_ns = 5000000 + (int64_t)rng_below(&b->rng, 40000000);
    int64_t sample_ns = 100000 + (int64_t)rng_below(&b->rng, 4000000);
    struct perf_model model = {.source = MODEL_STATED,
                               .n_proc = 3,
                               .proc = {{1, fixed_ns + sample_ns},
                                        {16, fixed_ns + 16 * sample_ns},
                                        {64, fixed_ns + 64 * sample_ns}},
                               .comm_form = MODEL_COMM_RING,
                               .comm_alpha_ns = 100000,
                               .comm_bytes = (int64_t)rng_below(&b->rng, 480000000) + 1,
                               .comm_bytes_per_sec = 3000000000};
    struct job_spec spec = {.name = "job",
                            .level = JOB_ELASTIC,
                            .sizes = {.min = 1, .max = 10, .step = 1},
                            .batch_min = 32,
                            .batch_max = 512,
                            .gpu_batch = 64,
                            .samples_total = 100000000};

    step(b, SUBMIT, (struct event){.kind = EVENT_SUBMIT, .spec = &spec, .model = &model});
}

static void plan(struct bench *b, enum figure figure)
{
    step(b, figure, (struct event){.kind = EVENT_PLAN});
}

/* One node of a job that must stop says that its processes have ended. */
static void report_exit(struct bench *b, const struct job *job, enum job_cause cause)
{
    const struct cluster *c = core_cluster(b->core);
    struct event event = {.kind = EVENT_EXIT,
                          .job = job->spec.id,
                          .incarnation = job->run.incarnation,
                          .cause = cause,
                          .samples = -1};
    int32_t device = 0;

    ASSERT(duty_devices(c, job->spec.id, HOLD_NOW, &device, 1) > 0);
    event.node = c->nodes[c->devices[device].node];
    step(b, EXIT, event);
}

/* The world does what the jobs are owed: starts, saves and exits, all at once. */
static void obey(struct bench *b)
{
    for (size_t i = 0; i < core_n_jobs(b->core); i++) {
        const struct job *job = core_job_at(b->core, i);
        struct duty duty = job_duty(job);

        if (duty.kind == DUTY_START) {
            step(b, STARTED,
                 (struct event){.kind = EVENT_STARTED,
                                .job = duty.job,
                                .incarnation = duty.incarnation});
        } else if (duty.kind == DUTY_SAVE || duty.kind == DUTY_STOP) {
            report_exit(b, job, JOB_CAUSE_STOPPED);
            i--; /* it may start now, or still hold other nodes */
        }
    }
}

static void run(struct bench *b, int32_t n_jobs, int32_t rounds)
{
    add_nodes(b, (n_jobs + NODE_DEVICES - 1) / NODE_DEVICES);
    for (int32_t i = 0; i < n_jobs; i++)
        submit(b);
    plan(b, FIRST_PLAN);
    obey(b);
    for (int32_t i = 0; i < rounds; i++) {
        size_t at = (size_t)rng_below(&b->rng, core_n_jobs(b->core));

        b->now_us += 30 * USEC_PER_SEC;
        report_exit(b, core_job_at(b->core, at), JOB_CAUSE_DONE);
        plan(b, PLAN);
        obey(b);
        if (i % 4 != 0)
            submit(b);
        plan(b, PLAN);
        obey(b);
    }
    for (int32_t i = 0; i < NODES_LOST; i++) {
        struct event lost = {.kind = EVENT_NODE_LOST};

        (void)snprintf(lost.node.name, sizeof lost.node.name, "n%d", i);
        step(b, LOST, lost);
        plan(b, PLAN);
        obey(b);
    }
}

static int by_size(const void *pa, const void *pb)
{
    const int64_t *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

static void print(const struct bench *b, int32_t n_jobs, enum figure figure)
{
    const int64_t *ns = b->ns[figure];
    size_t n = b->n[figure];

    if (n == 0)
        return;
    qsort(b->ns[figure], n, sizeof *ns, by_size);
    (void)printf("{\"bench\": \"core_%s_%dx%d\", \"value\": %.1f, \"unit\": \"us\", "
                 "\"better\": \"less\", \"median\": %.1f, \"worst\": %.1f, "
                 "\"steps\": %zu}\n",
                 names[figure], n_jobs, n_jobs, (double)ns[(n - 1) * 99 / 100] / 1e3,
                 (double)ns[(n - 1) / 2] / 1e3, (double)ns[n - 1] / 1e3, n);
}

int main(int argc, char **argv)
{
    int32_t n_jobs = argc > 1 ? (int32_t)strtol(argv[1], NULL, 10) : JOBS;
    int32_t rounds = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : ROUNDS;
    struct bench b = {.core = core_new(), .rng = rng_stream(1, "core_bench")};

    if (n_jobs < NODE_DEVICES || rounds < 1 || !b.core) {
        (void)fprintf(stderr, "usage: core_bench [jobs [rounds]]\n");
        return 2;
    }
    changes_init(&b.changes);
    b.now_us = USEC_PER_SEC;
    for (int i = 0; i < FIGURE_MAX; i++) {
        b.ns[i] = mem_new(SAMPLES_MAX, sizeof *b.ns[i]);
        ASSERT(b.ns[i] != NULL);
    }
    run(&b, n_jobs, rounds);
    for (int i = 0; i < FIGURE_MAX; i++) {
        print(&b, n_jobs, (enum figure)i);
        mem_free(b.ns[i]);
    }
    changes_release(&b.changes);
    core_free(b.core);
    return 0;
}
