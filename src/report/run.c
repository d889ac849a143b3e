/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - from the result of a simulated run to what a report needs: names in the order
 * of the core's ids, nodes in the order of their devices. */
#include "report/run.h"

#include "base/mem.h"
#include "report/timeline.h"

/* Jobs that were accepted, by id; ids follow the moments of submit. */
static size_t fill_jobs(const struct scenario *scn, const struct sim_result *result,
                        struct timeline_job *jobs)
{
    size_t n = 0;

    for (size_t i = 0; i < result->n_jobs; i++) {
        size_t at = n;

        if (result->jobs[i].id == 0)
            continue;
        for (; at > 0 && jobs[at - 1].id > result->jobs[i].id; at--)
            jobs[at] = jobs[at - 1];
        jobs[at] = (struct timeline_job){result->jobs[i].id,
                                         scn->jobs[result->jobs[i].index].spec.name};
        n++;
    }
    return n;
}

int run_svg(const struct scenario *scn, const struct sim_result *result,
            const char *title, struct buf *out)
{
    struct timeline_job *jobs = mem_new(result->n_jobs, sizeof *jobs);
    struct timeline_node *nodes = mem_new(result->n_nodes, sizeof *nodes);
    struct timeline t = {.title = title, .jobs = jobs, .nodes = nodes};
    int rc = E_NOMEM;

    if (!jobs || !nodes)
        goto out;
    t.n_jobs = fill_jobs(scn, result, jobs);
    t.n_nodes = result->n_nodes;
    for (size_t i = 0; i < result->n_nodes; i++)
        nodes[i] =
            (struct timeline_node){scn->nodes[result->nodes[i].index].name,
                                   result->nodes[i].first, result->nodes[i].devices};
    t.from_us = SIM_ZERO_US;
    t.to_us = SIM_ZERO_US + result->end_us;
    t.spans = result->spans.done;
    t.n_spans = result->spans.n_done;
    t.outages = result->spans.outages;
    t.n_outages = result->spans.n_outages;
    rc = timeline_svg(&t, out);
out:
    mem_free(jobs);
    mem_free(nodes);
    return rc;
}
