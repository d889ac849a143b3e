/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.c - the record of a scenario, and the reader's table of line kinds.
 *
 * One line is one statement; the first word says which. A statement may use only names
 * that stand above it, so a text is read in one pass. What the core would refuse (a job
 * below its minimum, say) is read without complaint: the refusal belongs to the story. */
#include "sim/scenario.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "sim/scn_line.h"
#include "sim/scn_read.h"

#define UNTIL_DEFAULT_US (24 * USEC_PER_HOUR)

void scenario_init(struct scenario *scn)
{
    memset(scn, 0, sizeof *scn);
    scn->seed = 1;
    scn->until_us = UNTIL_DEFAULT_US;
    config_defaults(&scn->config);
    scn->delays = (struct scn_delays){
        .start_us = 20 * USEC_PER_SEC,
        .restart_us = 20 * USEC_PER_SEC,
        .save_us = 5 * USEC_PER_SEC,
        .stop_us = USEC_PER_SEC,
        .resend_us = 30 * USEC_PER_SEC,
        .perf_us = 60 * USEC_PER_SEC,
    };
}

void scenario_release(struct scenario *scn)
{
    for (size_t i = 0; i < scn->n_jobs; i++)
        job_spec_release(&scn->jobs[i].spec);
    for (size_t i = 0; i < scn->n_actions; i++) {
        mem_free(scn->actions[i].spec);
        mem_free(scn->actions[i].config);
    }
    mem_free(scn->nodes);
    mem_free(scn->jobs);
    mem_free(scn->actions);
    scenario_init(scn);
}

struct scn_node *scenario_add_node(struct scenario *scn)
{
    void *p = scn->nodes;

    if (scn->n_nodes >= NODES_MAX ||
        mem_reserve(&p, &scn->cap_nodes, scn->n_nodes + 1, sizeof *scn->nodes) < 0)
        return NULL;
    scn->nodes = p;
    memset(&scn->nodes[scn->n_nodes], 0, sizeof *scn->nodes);
    return &scn->nodes[scn->n_nodes++];
}

struct scn_job *scenario_add_job(struct scenario *scn)
{
    void *p = scn->jobs;
    struct scn_job *job;

    if (scn->n_jobs >= SCN_JOBS_MAX ||
        mem_reserve(&p, &scn->cap_jobs, scn->n_jobs + 1, sizeof *scn->jobs) < 0)
        return NULL;
    scn->jobs = p;
    job = &scn->jobs[scn->n_jobs++];
    memset(job, 0, sizeof *job);
    job->spec.level = JOB_ELASTIC;
    job->spec.sizes = (struct size_set){.min = 1, .max = 1, .step = 1};
    job->spec.grace_us = 30 * USEC_PER_SEC;
    job->device_us = USEC_PER_HOUR;
    job->is_known = true;
    job->save_every_us = -1;
    job->truth = (struct perf_model){
        .source = MODEL_STATED,
        .n_proc = 2,
        .proc = {{1, 11000000}, {1001, 1011000000}}, /* 10 ms + 1 ms a sample */
        .comm_form = MODEL_COMM_TABLE,
        .n_comm = 2,
        .comm = {{2, 5000000}, {SIZE_MAX_DEVICES, 5000000}},
    };
    return job;
}

struct scn_action *scenario_add_action(struct scenario *scn)
{
    void *p = scn->actions;

    if (scn->n_actions >= SCN_ACTIONS_MAX ||
        mem_reserve(&p, &scn->cap_actions, scn->n_actions + 1, sizeof *scn->actions) < 0)
        return NULL;
    scn->actions = p;
    memset(&scn->actions[scn->n_actions], 0, sizeof *scn->actions);
    return &scn->actions[scn->n_actions++];
}

/* Insertion sort: it is stable, and scripts are short and mostly in order. */
void scenario_sort(struct scenario *scn)
{
    for (size_t i = 1; i < scn->n_actions; i++) {
        struct scn_action moved = scn->actions[i];
        size_t j = i;

        for (; j > 0 && scn->actions[j - 1].at_us > moved.at_us; j--)
            scn->actions[j] = scn->actions[j - 1];
        scn->actions[j] = moved;
    }
}

int32_t scenario_find_job(const struct scenario *scn, const char *name)
{
    for (size_t i = 0; i < scn->n_jobs; i++)
        if (strcmp(scn->jobs[i].spec.name, name) == 0)
            return (int32_t)i;
    return -1;
}

int32_t scenario_find_node(const struct scenario *scn, const char *name)
{
    for (size_t i = 0; i < scn->n_nodes; i++)
        if (strcmp(scn->nodes[i].name, name) == 0)
            return (int32_t)i;
    return -1;
}

static int read_seed(struct scenario *scn, struct scn_line *line)
{
    int64_t seed = 0;
    int rc = scn_count(line, "seed", 0, (int64_t)1000000000000, &seed);

    if (rc == 0)
        scn->seed = (uint64_t)seed;
    return rc;
}

static int read_until(struct scenario *scn, struct scn_line *line)
{
    return scn_span(line, "until", &scn->until_us);
}

static int read_statement(struct scenario *scn, struct scn_line *line)
{
    static const struct {
        const char *word;
        int (*read)(struct scenario *scn, struct scn_line *line);
        int skip; /* words consumed before read is called */
    } kinds[] = {
        {"cluster", scn_read_cluster, 1}, {"node", scn_read_node, 1},
        {"policy", scn_read_config, 0},   {"scaler", scn_read_config, 0},
        {"set", scn_read_config, 0},      {"job", scn_read_job, 1},
        {"user", scn_read_user, 1},       {"update", scn_read_update, 1},
        {"fault", scn_read_fault, 1},     {"delays", scn_read_delays, 1},
        {"seed", read_seed, 1},           {"until", read_until, 1},
    };
    const char *word = scn_peek(line);
    int rc;

    if (!word)
        return 0;
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strcmp(word, kinds[i].word) != 0)
            continue;
        line->at = kinds[i].skip;
        rc = kinds[i].read(scn, line);
        if (rc == 0 && scn_peek(line))
            rc = scn_fail(line, kinds[i].word, "has '%.40s' too much", scn_peek(line));
        return rc;
    }
    return scn_fail(
        line, "line",
        "begins with '%.40s'; give cluster, node, policy, scaler, set, job, user, "
        "update, fault, delays, seed, until or '#'",
        word);
}

int scenario_read(struct scenario *scn, const char *text, size_t len, struct err *err)
{
    struct scn_line line = {.err = err};
    size_t pos = 0;
    int rc = 0;

    ASSERT(scn->n_jobs == 0);
    if (len > SCN_TEXT_MAX)
        return err_set(err, E_LIMIT, "a scenario has at most %zu bytes", SCN_TEXT_MAX);
    while (rc == 0 && pos < len) {
        rc = scn_line_split(&line, text, len, &pos);
        if (rc == 0)
            rc = read_statement(scn, &line);
    }
    if (rc == E_NOMEM || rc == E_LIMIT)
        err_set(err, rc, "line %d: %s", line.number,
                rc == E_NOMEM ? "out of memory" : "too many lines of this kind");
    if (rc < 0) {
        scenario_release(scn);
        return rc;
    }
    scenario_sort(scn);
    return 0;
}
