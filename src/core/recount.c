/* SPDX-License-Identifier: Apache-2.0 */
/* recount.c - see recount.h. Moments are told as spans since the submit: the text needs
 * no clock and no time zone, and reads the same everywhere. */
#include "core/recount.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/span.h"

#define LABEL_WIDTH 18

static void label(struct buf *out, const char *text)
{
    buf_printf(out, "  %s", text);
    buf_pad(out, LABEL_WIDTH);
}

static const char *whole_seconds(usec_t span, char text[SPAN_TEXT_MAX])
{
    return span_words(span > 0 ? span - span % USEC_PER_SEC : 0, text);
}

static const char *ending(enum job_state state)
{
    switch (state) {
    case JOB_DONE:
        return "is done";
    case JOB_FAILED:
        return "has failed";
    case JOB_CANCELLED:
        return "was cancelled";
    case JOB_DROPPED:
        return "was dropped";
    case JOB_QUEUED:
    case JOB_STARTING:
    case JOB_RUNNING:
    case JOB_RESIZING:
    case JOB_STOPPING:
    case JOB_PAUSED:
    case JOB_STATE_MAX:
        break;
    }
    return "lives";
}

static const char *meaning(enum job_cause cause)
{
    static const char *const meanings[JOB_CAUSE_MAX] = {
        [JOB_CAUSE_DONE] = "its command ended by itself, with status 0",
        [JOB_CAUSE_STOPPED] = "its command ended when it was told to",
        [JOB_CAUSE_USER_ERROR] = "its command failed by itself",
        [JOB_CAUSE_KILLED] = "its command was killed",
        [JOB_CAUSE_NODE_LOST] = "its node was lost",
        [JOB_CAUSE_START_FAILED] = "its command could not be started",
        [JOB_CAUSE_LOST] = "its processes were gone when the daemon came back",
        [JOB_CAUSE_TIME_LIMIT] = "its time limit was over",
        [JOB_CAUSE_OUT_OF_MEMORY] = "its devices had too little memory",
        [JOB_CAUSE_DEVICE_BUSY] = "its devices were in use when it was to start",
    };

    ASSERT((unsigned)cause < (unsigned)JOB_CAUSE_MAX);
    return meanings[cause];
}

static void print_work(const struct job_spec *spec, const struct job_run *run,
                       struct buf *out)
{
    char span[SPAN_TEXT_MAX];

    label(out, "ran for");
    buf_printf(out, "%s", whole_seconds(run->active_us, span));
    if (run->end_us > run->submit_us)
        buf_printf(out, ", ended %s after the submit",
                   whole_seconds(run->end_us - run->submit_us, span));
    buf_putc(out, '\n');
    if (run->samples_done > 0) {
        label(out, "samples");
        buf_printf(out, "%" PRId64, run->samples_done);
        if (spec->samples_total > 0)
            buf_printf(out, " of %" PRId64, spec->samples_total);
        if (run->samples_repeated > 0)
            buf_printf(out, ", %" PRId64 " repeated", run->samples_repeated);
        buf_putc(out, '\n');
    }
}

/* "running" says no more than the "starting" of the same plan before it. */
static bool is_told(const struct recount *r, size_t i)
{
    const struct recount_move *m = &r->moves[i];
    const struct recount_move *before = i > 0 ? &r->moves[i - 1] : NULL;

    return !before || m->plan.size != before->plan.size ||
           m->plan.global_batch != before->plan.global_batch ||
           strcmp(m->reason, before->reason) != 0;
}

void recount_print_moves(const struct job_run *run, const struct recount *r,
                         struct buf *out)
{
    char span[SPAN_TEXT_MAX];
    char when[SPAN_TEXT_MAX + 8];

    if (r->n_before > 0) {
        label(out, "before");
        buf_printf(out, "%" PRId64 " older move%s: see its history\n", r->n_before,
                   r->n_before == 1 ? "" : "s");
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct recount_move *m = &r->moves[i];

        if (!is_told(r, i))
            continue;
        (void)snprintf(when, sizeof when, "after %s",
                       whole_seconds(m->time_us - run->submit_us, span));
        label(out, when);
        buf_printf(out, "%s", job_state_name(m->state));
        if (m->plan.size > 0)
            buf_printf(out, ", %d gpu%s", m->plan.size, m->plan.size == 1 ? "" : "s");
        if (m->plan.size > 0 && m->plan.global_batch > 0)
            buf_printf(out, ", batch %d", m->plan.global_batch);
        buf_printf(out, "%s%s\n", m->reason[0] ? ": " : "", m->reason);
    }
}

void recount_print(const struct job_spec *spec, const struct job_run *run,
                   const struct recount *r, struct buf *out)
{
    buf_printf(out, "job %u (%s) %s\n", spec->id, spec->name, ending(run->state));
    label(out, "why");
    buf_printf(out, "%s\n", run->reason[0] ? run->reason : "no reason was given");
    if (meaning(run->cause)) {
        label(out, "cause");
        buf_printf(out, "%s\n", meaning(run->cause));
    }
    print_work(spec, run, out);
    recount_print_moves(run, r, out);
}
