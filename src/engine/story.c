/* SPDX-License-Identifier: Apache-2.0 */
/* story.c - changes as lines for people.
 *
 * A line is told for what an operator would want to know: a job changes its state, or the
 * reason why it waits; a node is lost, back or new; settings change; the daemon restarts.
 * Phases of a resize, progress reports and bookkeeping are not told. Invariants:
 *   1. The text depends on the changes alone: replaying a journal gives the same story.
 *   2. A reason is told when it is new; a state that only inherits it stays silent, and
 *      so does a job that waits for the same thing in other numbers.
 *   3. A job that stops and has ended in one step gets one line, from the state before.
 *   4. Work that must be repeated is remembered when the loss is journalled, and told on
 *      the line where the job trains on. */
#include "engine/story.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/span.h"

#define NAME_WIDTH_MIN 3
#define TEXT_MAX       128

/* Columns after the time stamp and the name. */
enum { FROM_COLUMN = 9, TO_COLUMN = 23, DETAIL_WIDTH = 20 };

void story_init(struct story *story, struct buf *out, usec_t zero_us, int name_width)
{
    *story = (struct story){.out = out,
                            .zero_us = zero_us,
                            .name_width = i32_max(name_width, NAME_WIDTH_MIN)};
}

void story_release(struct story *story)
{
    mem_free(story->debts);
    *story = (struct story){.out = story->out};
}

/* Blanks until the line, which began at `start`, has reached the column. */
static void pad_from(struct buf *out, size_t start, size_t column)
{
    while (out->len - start < column && !buf_error(out))
        buf_putc(out, ' ');
}

static void flush_stop(struct story *s);

static size_t begin_line(struct story *s, usec_t time_us, const char *name)
{
    char clock[SPAN_TEXT_MAX];
    size_t start;

    flush_stop(s);
    buf_printf(s->out, "[%s] ", span_clock(time_us - s->zero_us, clock));
    start = s->out->len;
    buf_puts(s->out, name);
    pad_from(s->out, start, (size_t)s->name_width);
    buf_putc(s->out, ' ');
    return s->out->len;
}

static void end_line(struct story *s, size_t start, const char *detail,
                     const char *reason)
{
    if (detail[0] || reason[0]) {
        pad_from(s->out, start, TO_COLUMN);
        start = s->out->len;
        buf_puts(s->out, detail);
    }
    if (reason[0]) {
        pad_from(s->out, start, DETAIL_WIDTH - 2);
        if (detail[0] || s->out->len - start >= DETAIL_WIDTH - 2)
            buf_puts(s->out, "  ");
        else
            pad_from(s->out, start, DETAIL_WIDTH);
        buf_puts(s->out, reason);
    }
    buf_putc(s->out, '\n');
}

void story_note(struct story *story, usec_t time_us, const char *name, const char *what,
                const char *detail, const char *reason)
{
    size_t start = begin_line(story, time_us, name);

    buf_puts(story->out, what);
    end_line(story, start, detail, reason);
}

/* One move, as it will be printed. */
struct move {
    usec_t time_us;
    const char *name;
    enum job_state from;
    enum job_state to;
    const char *detail;
    const char *reason;
};

static void tell_move(struct story *s, const struct move *m)
{
    size_t start = begin_line(s, m->time_us, m->name);

    buf_puts(s->out, job_state_name(m->from));
    pad_from(s->out, start, FROM_COLUMN);
    buf_printf(s->out, "-> %s", job_state_name(m->to));
    end_line(s, start, m->detail, m->reason);
}

/* Tells a stop that was kept back: its end has not come in the same step. */
static void flush_stop(struct story *s)
{
    struct story_stop *stop = &s->stop;
    char detail[TEXT_MAX];

    if (!stop->is_open)
        return;
    stop->is_open = false;
    (void)snprintf(detail, sizeof detail, "then %s", job_state_name(stop->run.goal));
    tell_move(s, &(struct move){stop->time_us, stop->name, stop->from, JOB_STOPPING,
                                detail, stop->run.reason});
}

static struct story_debt *find_debt(struct story *s, uint32_t job)
{
    for (size_t i = 0; i < s->n_debts; i++)
        if (s->debts[i].job == job)
            return &s->debts[i];
    return NULL;
}

/* How long so many samples take at this rate; a count may be anything. */
static usec_t span_of(int64_t samples, int64_t rate_milli)
{
    double span_us = (double)samples * 1e9 / (double)rate_milli;

    return span_us < (double)USEC_NEVER ? (usec_t)span_us : USEC_NEVER;
}

static void note_debt(struct story *s, const struct job *before,
                      const struct job_run *after)
{
    int64_t more = after->samples_repeated - before->run.samples_repeated;
    struct story_debt *debt = find_debt(s, after->id);
    void *p = s->debts;

    if (more <= 0)
        return;
    if (!debt) {
        if (mem_reserve(&p, &s->cap_debts, s->n_debts + 1, sizeof *s->debts) < 0) {
            s->out->error = E_NOMEM;
            return;
        }
        s->debts = p;
        debt = &s->debts[s->n_debts++];
        *debt = (struct story_debt){.job = after->id};
    }
    debt->samples += more;
    if (before->run.rate_milli > 0)
        debt->span_us =
            i64_add_capped(debt->span_us, span_of(more, before->run.rate_milli));
}

/* Writes what must be repeated, and forgets it; "" when there is nothing. */
static void take_debt(struct story *s, uint32_t job, char text[TEXT_MAX])
{
    struct story_debt *debt = find_debt(s, job);

    text[0] = '\0';
    if (!debt)
        return;
    if (debt->span_us > 0)
        (void)snprintf(text, TEXT_MAX, "%lld s of work repeated",
                       (long long)((debt->span_us + USEC_PER_SEC / 2) / USEC_PER_SEC));
    else
        (void)snprintf(text, TEXT_MAX, "%lld samples repeated", (long long)debt->samples);
    *debt = s->debts[--s->n_debts];
}

static int plan_text(const struct job_plan *plan, char *text, size_t size)
{
    int n = 0;

    if (plan->global_batch > 0)
        n = snprintf(text, size, ", batch %d", plan->global_batch);
    if (plan->global_batch > 0 && plan->accumulation > 1)
        n += snprintf(text + n, size - (size_t)n, " in %d passes", plan->accumulation);
    return n;
}

static void resize_text(const struct job_run *run, char text[TEXT_MAX])
{
    int n;

    if (run->next.size != run->plan.size)
        n = snprintf(text, TEXT_MAX, "%d to %d", run->plan.size, run->next.size);
    else
        n = snprintf(text, TEXT_MAX, "%d gpu", run->plan.size);
    (void)plan_text(&run->next, text + n, TEXT_MAX - (size_t)n);
}

/* What stands in the detail column when a job enters the state. */
static void detail_text(const struct story *s, const struct job *before,
                        const struct job_run *after, char text[TEXT_MAX])
{
    char clock[SPAN_TEXT_MAX];
    int n;

    text[0] = '\0';
    switch (after->state) {
    case JOB_STARTING:
        n = snprintf(text, TEXT_MAX, "%d gpu", after->plan.size);
        (void)plan_text(&after->plan, text + n, TEXT_MAX - (size_t)n);
        break;
    case JOB_RESIZING:
        resize_text(after, text);
        break;
    case JOB_RUNNING:
        if (before->run.state == JOB_RESIZING &&
            before->run.plan.generation == after->plan.generation)
            (void)snprintf(text, TEXT_MAX, "stays at %d gpu", after->plan.size);
        break;
    case JOB_QUEUED:
        if (after->retry_us > after->since_us)
            (void)snprintf(text, TEXT_MAX, "not before %s",
                           span_clock(after->retry_us - s->zero_us, clock));
        break;
    case JOB_DONE:
    case JOB_FAILED:
    case JOB_CANCELLED:
        if (after->start_us > 0)
            (void)snprintf(text, TEXT_MAX, "ran %s", span_clock(after->active_us, clock));
        break;
    case JOB_STOPPING:
    case JOB_PAUSED:
    case JOB_DROPPED:
    case JOB_STATE_MAX:
        break;
    }
}

static void keep_stop(struct story *s, usec_t now_us, const struct job *before,
                      const struct job_run *run)
{
    flush_stop(s);
    s->stop = (struct story_stop){
        .is_open = true, .time_us = now_us, .from = before->run.state, .run = *run};
    memcpy(s->stop.name, before->spec.name, sizeof s->stop.name);
}

static void tell_state(struct story *s, usec_t now_us, const struct job *before,
                       const struct job_run *run, const char *reason)
{
    struct story_stop *stop = &s->stop;
    char detail[TEXT_MAX];
    char debt[TEXT_MAX] = "";
    struct move m = {now_us, before->spec.name, before->run.state, run->state, detail,
                     reason};

    if (run->state == JOB_STOPPING) {
        keep_stop(s, now_us, before, run);
        return;
    }
    if (stop->is_open && stop->run.id == run->id && stop->time_us == now_us) {
        stop->is_open = false;
        m.from = stop->from;
        m.reason = run->reason;
    }
    detail_text(s, before, run, detail);
    if (run->state == JOB_RUNNING || job_state_is_final(run->state))
        take_debt(s, run->id, debt);
    if (!m.reason[0] && run->state == JOB_RUNNING)
        m.reason = debt;
    tell_move(s, &m);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether two reasons say the same, numbers aside. */
static bool is_same_reason(const char *a, const char *b)
{
    for (;;) {
        while (is_digit(*a))
            a++;
        while (is_digit(*b))
            b++;
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
        a++;
        b++;
    }
}

static void tell_run(struct story *s, const struct core *core, usec_t now_us,
                     const struct job_run *run)
{
    const struct job *before = core_find_job(core, run->id);
    const char *reason = run->reason;
    char detail[TEXT_MAX];

    if (!before || before->run.order == 0)
        return; /* it has just been submitted; the next plan tells what becomes of it */
    note_debt(s, before, run);
    if (strcmp(before->run.reason, run->reason) == 0 && run->state != JOB_RESIZING)
        reason = ""; /* inherited; a resize begins for a reason of its own */
    if (before->run.state != run->state) {
        tell_state(s, now_us, before, run, reason);
    } else if (run->state == JOB_QUEUED &&
               !is_same_reason(before->run.reason, run->reason)) {
        story_note(s, now_us, before->spec.name, "queued", "", reason);
    } else if (run->state == JOB_STOPPING && run->goal != before->run.goal) {
        (void)snprintf(detail, sizeof detail, "then %s", job_state_name(run->goal));
        story_note(s, now_us, before->spec.name, "stopping", detail, reason);
    } else if (before->run.is_unconfirmed && !run->is_unconfirmed) {
        story_note(s, now_us, before->spec.name, "confirmed", "", "");
    }
}

static void tell_node(struct story *s, const struct core *core, usec_t now_us,
                      const struct node *node)
{
    const struct node *before = cluster_find_node(core_cluster(core), node->name);
    char detail[TEXT_MAX];

    if (!before && now_us <= s->zero_us)
        return;
    if (before && before->state == node->state)
        return;
    (void)snprintf(detail, sizeof detail, "%d gpu %s", node->devices,
                   node->state == NODE_LOST ? "gone" : "free");
    if (node->state == NODE_LOST)
        story_note(s, now_us, node->name, "lost", detail, "");
    else
        story_note(s, now_us, node->name, before ? "back" : "new", detail, "");
}

static void tell_mark(struct story *s, const struct core *core, usec_t now_us,
                      const struct device_mark *mark)
{
    const struct cluster *c = core_cluster(core);
    const struct device *device = &c->devices[mark->device];
    const struct node *node = &c->nodes[device->node];
    char detail[TEXT_MAX];

    (void)snprintf(detail, sizeof detail, "gpu %d%s", mark->device - node->first,
                   device->job != 0 ? ", held" : "");
    story_note(s, now_us, node->name, device_state_name(mark->state), detail, mark->who);
}

static void tell_spec(struct story *s, const struct core *core, usec_t now_us,
                      const struct job_spec *spec)
{
    char detail[TEXT_MAX];
    int n;

    if (!core_find_job(core, spec->id))
        return;
    n = snprintf(detail, sizeof detail, "gpus %d..%d", spec->sizes.min, spec->sizes.max);
    if (spec->batch_max > 0)
        (void)snprintf(detail + n, sizeof detail - (size_t)n, ", batch %d..%d",
                       spec->batch_min, spec->batch_max);
    story_note(s, now_us, spec->name, "updated", detail, "");
}

static void tell_config(struct story *s, usec_t now_us, const struct config *config)
{
    char detail[TEXT_MAX];

    if (now_us <= s->zero_us)
        return;
    (void)snprintf(detail, sizeof detail, "policy %s, %s, scaler %s", config->policy,
                   config_admission_name(config->admission),
                   config_scaler_name(config->scaler));
    story_note(s, now_us, "*", "settings", detail, "");
}

static void watch_change(void *ctx, const struct core *before, const struct event *event,
                         const struct change *change)
{
    struct story *s = ctx;

    switch (change->kind) {
    case CHANGE_RUN:
        tell_run(s, before, event->time_us, &change->u.run);
        break;
    case CHANGE_NODE:
        tell_node(s, before, event->time_us, &change->u.node);
        break;
    case CHANGE_SPEC:
        tell_spec(s, before, event->time_us, change->u.spec);
        break;
    case CHANGE_CONFIG:
        tell_config(s, event->time_us, &change->u.config);
        break;
    case CHANGE_MARK:
        tell_mark(s, before, event->time_us, &change->u.mark);
        break;
    case CHANGE_GLOBALS:
    case CHANGE_HOLD:
    case CHANGE_MODEL:
    case CHANGE_PROFILE:
    case CHANGE_KIND_MAX:
        break;
    }
}

static void watch_step(void *ctx, const struct core *after, const struct event *event)
{
    struct story *s = ctx;
    char detail[TEXT_MAX];
    int n = 0;

    flush_stop(s);
    if (event->kind != EVENT_DAEMON_START)
        return;
    for (size_t i = 0; i < core_n_jobs(after); i++)
        n += core_job_at(after, i)->run.is_unconfirmed;
    (void)snprintf(detail, sizeof detail, "%d job%s unconfirmed", n, n == 1 ? "" : "s");
    story_note(s, event->time_us, "*", "daemon started", detail, "");
}

struct engine_watch_port story_watch(struct story *story)
{
    ASSERT(story->out);
    return (struct engine_watch_port){
        .ctx = story, .change = watch_change, .step = watch_step};
}
