/* SPDX-License-Identifier: Apache-2.0 */
/* result.c - what a run leaves behind, and its table for people. */
#include <string.h>

#include "base/mem.h"
#include "base/span.h"
#include "sim/sim.h"

void sim_result_init(struct sim_result *result)
{
    memset(result, 0, sizeof *result);
    buf_init(&result->story, SIM_STORY_MAX);
    spans_init(&result->spans);
}

void sim_result_release(struct sim_result *result)
{
    buf_release(&result->story);
    spans_release(&result->spans);
    mem_free(result->jobs);
    mem_free(result->nodes);
    sim_result_init(result);
}

static const char *moment(usec_t time_us, char text[SPAN_TEXT_MAX])
{
    return time_us < 0 ? "-" : span_clock(time_us, text);
}

static void table_row(const char *name, const struct sim_job *job, struct buf *out)
{
    char text[SPAN_TEXT_MAX];

    buf_puts(out, name);
    buf_pad(out, 16);
    buf_printf(out, " %s", job->id ? job_state_name(job->state) : "refused");
    buf_pad(out, 27);
    buf_printf(out, " %9s", moment(job->submit_us, text));
    buf_printf(out, " %9s", moment(job->start_us, text));
    buf_printf(out, " %9s", moment(job->end_us, text));
    buf_printf(out, " %9s",
               moment(job->end_us < 0 ? -1 : job->end_us - job->submit_us, text));
    buf_printf(out, " %10.2f %7d\n", (double)job->device_us / (double)USEC_PER_HOUR,
               job->resizes);
}

void sim_table(const struct scenario *scn, const struct sim_result *result,
               struct buf *out)
{
    buf_printf(out, "%-16s %-10s %9s %9s %9s %9s %10s %7s\n", "job", "state", "submit",
               "start", "end", "took", "gpu-hours", "resizes");
    for (size_t i = 0; i < result->n_jobs; i++)
        table_row(scn->jobs[result->jobs[i].index].spec.name, &result->jobs[i], out);
}
