/* SPDX-License-Identifier: Apache-2.0 */
/* spans.c - see spans.h. Open spans of all jobs stand in one array; a touched job's are
 * compared with what the core says now, and only those that differ are cut. */
#include "sim/spans.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

void spans_init(struct spans *s)
{
    memset(s, 0, sizeof *s);
}

void spans_release(struct spans *s)
{
    mem_free(s->done);
    mem_free(s->open);
    mem_free(s->outages);
    spans_init(s);
}

static void finish(struct spans *s, size_t index, usec_t now_us)
{
    void *p = s->done;
    struct sim_span span = s->open[index];

    s->n_open--;
    memmove(s->open + index, s->open + index + 1, (s->n_open - index) * sizeof span);
    span.to_us = now_us;
    if (span.from_us == now_us)
        return;
    if (mem_reserve(&p, &s->cap_done, s->n_done + 1, sizeof span) < 0) {
        s->error = E_NOMEM;
        return;
    }
    s->done = p;
    s->done[s->n_done++] = span;
}

static void begin(struct spans *s, const struct sim_span *span)
{
    void *p = s->open;

    if (mem_reserve(&p, &s->cap_open, s->n_open + 1, sizeof *span) < 0) {
        s->error = E_NOMEM;
        return;
    }
    s->open = p;
    s->open[s->n_open++] = *span;
}

static bool is_same(const struct sim_span *a, const struct sim_span *b)
{
    return a->job == b->job && a->first == b->first && a->count == b->count &&
           a->state == b->state && a->size == b->size &&
           a->global_batch == b->global_batch;
}

/* The run of devices of the job that begins at `first`; count 0 at the cluster's end. */
static struct sim_span run_from(const struct core *core, const struct job *job,
                                int32_t first, usec_t now_us)
{
    const struct cluster *c = core_cluster(core);
    struct sim_span span = {.job = job->spec.id,
                            .from_us = now_us,
                            .state = job->run.state,
                            .size = job->run.plan.size,
                            .global_batch = job->run.plan.global_batch};

    while (first < c->n_devices && c->devices[first].job != span.job)
        first++;
    span.first = first;
    while (first + span.count < c->n_devices &&
           c->devices[first + span.count].job == span.job &&
           c->devices[first + span.count].node == c->devices[first].node)
        span.count++;
    return span;
}

/* Index of an open span equal to this one, or n_open. */
static size_t find_open(const struct spans *s, const struct sim_span *span)
{
    size_t i = 0;

    while (i < s->n_open && !is_same(&s->open[i], span))
        i++;
    return i;
}

static bool still_holds(const struct core *core, const struct job *job,
                        const struct sim_span *open)
{
    struct sim_span now;

    if (!job)
        return false;
    now = run_from(core, job, open->first, 0);
    return is_same(&now, open);
}

void spans_touch(struct spans *s, const struct core *core, uint32_t job_id, usec_t now_us)
{
    const struct job *job = core_find_job(core, job_id);
    struct sim_span span;

    for (size_t i = s->n_open; i > 0; i--)
        if (s->open[i - 1].job == job_id && !still_holds(core, job, &s->open[i - 1]))
            finish(s, i - 1, now_us);
    if (!job)
        return;
    span = run_from(core, job, 0, now_us);
    while (span.count > 0) {
        if (find_open(s, &span) == s->n_open)
            begin(s, &span);
        span = run_from(core, job, span.first + span.count, now_us);
    }
}

void spans_node_lost(struct spans *s, const struct node *node, usec_t now_us)
{
    void *p = s->outages;

    if (mem_reserve(&p, &s->cap_outages, s->n_outages + 1, sizeof *s->outages) < 0) {
        s->error = E_NOMEM;
        return;
    }
    s->outages = p;
    s->outages[s->n_outages++] =
        (struct sim_outage){node->first, node->devices, now_us, USEC_NEVER};
}

void spans_node_back(struct spans *s, const struct node *node, usec_t now_us)
{
    for (size_t i = 0; i < s->n_outages; i++)
        if (s->outages[i].first == node->first && s->outages[i].to_us == USEC_NEVER)
            s->outages[i].to_us = now_us;
}

int spans_close(struct spans *s, usec_t now_us)
{
    while (s->n_open > 0)
        finish(s, 0, now_us);
    for (size_t i = 0; i < s->n_outages; i++)
        s->outages[i].to_us = i64_min(s->outages[i].to_us, now_us);
    return s->error;
}
