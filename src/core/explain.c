/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - the plan of this moment, read from the side of one job.
 *
 * What one device more would gain is the next larger option of the job's own row; who
 * would lose least is found in the rows of the running jobs of the same device type. How
 * long a queued job still waits is an estimate: running jobs end in the order of their
 * remaining time, and it starts once the minimums of those left, of those ahead and its
 * own fit. */
#include "core/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "core/plan.h"
#include "core/scaler.h"
#include "core/withheld.h"

static void find_neighbours(const struct plan_item *item, struct explain *x)
{
    for (int32_t i = 0; i < item->row->n_options; i++) {
        const struct row_option *option = &item->row->options[i];

        if (option->size < item->now.size)
            x->less = *option;
        if (option->size > item->now.size && x->more.size == 0)
            x->more = *option;
    }
    if (item->row->n_options > 0)
        x->least = item->row->options[0];
}

/* The running job of the same type that loses least value by its next smaller size. */
static void find_loser(const struct plan *plan, const struct plan_item *item,
                       struct explain *x)
{
    for (int32_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *other = &plan->items[i];
        const struct row_option *smaller = NULL;

        if (other == item || other->standing != POLICY_RUNNING ||
            other->type != item->type)
            continue;
        for (int32_t j = 0; j < other->row->n_options; j++)
            if (other->row->options[j].size < other->now.size)
                smaller = &other->row->options[j];
        if (!smaller || (x->loser.job != 0 &&
                         x->loser.value_ppm >= smaller->value - other->now.value))
            continue;
        x->loser.job = other->job->spec.id;
        x->loser.from = other->now.size;
        x->loser.to = smaller->size;
        x->loser.value_ppm = smaller->value - other->now.value;
        (void)snprintf(x->loser.name, sizeof x->loser.name, "%s", other->job->spec.name);
    }
}

/* Who stands before it, and whom the scaler spares meanwhile. */
static void find_obstacles(const struct plan *plan, const struct plan_item *item,
                           usec_t now_us, struct explain *x)
{
    for (int32_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *other = &plan->items[i];

        x->n_ahead += other->standing == POLICY_WAITING &&
                      other->job->run.order < item->job->run.order;
        if (!other->is_spared || other->type != item->type || item->target.size > 0 ||
            x->spared.job != 0)
            continue;
        x->spared.job = other->job->spec.id;
        x->spared.from = x->spared.to = other->now.size;
        (void)snprintf(x->spared.name, sizeof x->spared.name, "%s",
                       other->job->spec.name);
        (void)snprintf(x->spared_why, sizeof x->spared_why, "%s", other->reason);
        if (other->held_until_us != USEC_NEVER)
            x->held_us = i64_max(0, other->held_until_us - now_us);
    }
}

struct ending {
    double left_s;
    int32_t least;
    uint32_t id;
};

static int ending_cmp(const void *pa, const void *pb)
{
    const struct ending *a = pa, *b = pb;

    if (a->left_s < b->left_s || a->left_s > b->left_s)
        return a->left_s < b->left_s ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Fills endings with the running jobs of the item's type; returns the devices that must
 * still come free before the item can start beside them. */
static int64_t collect_endings(const struct plan *plan, const struct plan_item *item,
                               int32_t capacity, struct ending *endings, int32_t *ret_n)
{
    int64_t need = -(int64_t)capacity;

    *ret_n = 0;
    for (int32_t i = 0; i < plan->n_items; i++) {
        const struct plan_item *other = &plan->items[i];
        bool is_ahead = other->standing != POLICY_WAITING ||
                        other->job->run.order <= item->job->run.order;
        int32_t least = row_min_size(other->row);

        if (!is_ahead || other->type != item->type)
            continue;
        need += least;
        if (other->standing == POLICY_WAITING)
            continue;
        endings[*ret_n] = (struct ending){scaler_remaining_s(other, &other->now), least,
                                          other->job->spec.id};
        ++*ret_n;
    }
    return need;
}

static int estimate_wait(const struct plan *plan, const struct plan_item *item,
                         int32_t capacity, usec_t *ret)
{
    struct ending *endings = mem_new((size_t)plan->n_items, sizeof *endings);
    int32_t n;
    int64_t need;
    double wait_s = 0.0;

    if (!endings)
        return E_NOMEM;
    need = collect_endings(plan, item, capacity, endings, &n);
    qsort(endings, (size_t)n, sizeof *endings, ending_cmp);
    for (int32_t i = 0; i < n && need > 0; i++) {
        need -= endings[i].least;
        wait_s = endings[i].left_s;
    }
    mem_free(endings);
    *ret = need > 0 || wait_s > 1e9 ? USEC_NEVER : (usec_t)(wait_s * 1e6);
    return 0;
}

static int fill(const struct core *core, const struct plan *plan,
                const struct plan_item *item, usec_t now_us, struct explain *x)
{
    const struct cluster_type *types = core_cluster(core)->types;

    x->is_planned = true;
    x->now = item->now;
    x->target = item->target;
    x->is_held_back = item->is_held_back;
    if (item->held_until_us != USEC_NEVER)
        x->held_us = i64_max(0, item->held_until_us - now_us);
    x->is_certified = plan->result.is_certified;
    x->objective = plan->result.objective;
    x->bound = plan->result.bound;
    if (item->reason[0])
        (void)snprintf(x->reason, sizeof x->reason, "%s", item->reason);
    find_neighbours(item, x);
    find_loser(plan, item, x);
    if (item->type >= 0) {
        x->free_now = types[item->type].free;
        x->up_now = types[item->type].up;
        x->withheld_now = types[item->type].withheld;
        if (x->withheld_now > 0)
            withheld_text(core_cluster(core), item->type, x->withheld);
    }
    if (item->standing != POLICY_WAITING)
        return 0;
    find_obstacles(plan, item, now_us, x);
    return estimate_wait(plan, item, x->up_now, &x->wait_us);
}

int explain_job(const struct core *core, uint32_t id, usec_t now_us, struct explain *ret,
                struct err *err)
{
    const struct job *job = core_find_job(core, id);
    const struct plan_item *item;
    struct explain x = {.job = id, .held_us = USEC_NEVER, .wait_us = USEC_NEVER};
    struct plan plan;
    int rc;

    if (!job)
        return err_field(err, E_NOTFOUND, "id", "%u is not a live job", id);
    rc = plan_make(core, now_us, &plan);
    item = rc < 0 ? NULL : plan_find(&plan, id);
    (void)snprintf(x.name, sizeof x.name, "%s", job->spec.name);
    (void)snprintf(x.reason, sizeof x.reason, "%s", job->run.reason);
    x.run = job->run;
    x.model = job->model.source;
    x.profile = job->spec.profile;
    x.is_noisy = job->model.is_noisy;
    x.retry_us = i64_max(0, job->run.retry_us - now_us);
    if (item)
        rc = fill(core, &plan, item, now_us, &x);
    plan_release(&plan);
    if (rc < 0)
        return err_set(err, rc, "out of memory");
    *ret = x;
    return 0;
}

/* For people. */

static void label(struct buf *out, const char *text)
{
    buf_printf(out, "  %s", text);
    buf_pad(out, 18);
}

static void print_option(struct buf *out, const struct row_option *option)
{
    buf_printf(out, "%d gpu%s", option->size, option->size == 1 ? "" : "s");
    if (option->global_batch > 0)
        buf_printf(out, ", batch %d (micro-batch %d, accumulation %d)",
                   option->global_batch, option->micro_batch, option->accumulation);
}

static void print_step(struct buf *out, const char *what, const struct row_option *to,
                       const struct row_option *now)
{
    int64_t by = to->value - now->value;

    if (to->size == 0)
        return;
    label(out, what);
    print_option(out, to);
    buf_printf(out, ": %+.2f", (double)by / 1e6);
    if (now->value > 0)
        buf_printf(out, " (%+.0f %%)", 100.0 * (double)by / (double)now->value);
    buf_putc(out, '\n');
}

static void print_span(struct buf *out, usec_t span_us)
{
    int64_t s = span_us / USEC_PER_SEC;

    if (s >= 3600)
        buf_printf(out, "%" PRId64 "h %" PRId64 "m", s / 3600, s % 3600 / 60);
    else if (s >= 60)
        buf_printf(out, "%" PRId64 "m %" PRId64 "s", s / 60, s % 60);
    else
        buf_printf(out, "%" PRId64 "s", s);
}

static void print_speed(const struct explain *x, struct buf *out)
{
    static const char *const sources[MODEL_SOURCE_MAX] = {
        [MODEL_PRIOR] = "assumed to scale as gpus^0.8: nothing was measured yet",
        [MODEL_STATED] = "by the model stated with the job",
        [MODEL_FAMILY] = "by the stored profile of its family",
        [MODEL_MEASURED] = "by its own measured steps",
    };

    bool is_left_unknown = x->profile == JOB_PROFILE_OFF && x->model == MODEL_PRIOR;

    label(out, "speed");
    buf_printf(out, "%.2f of one gpu's, %s%s\n", (double)x->now.value / 1e6,
               is_left_unknown
                   ? "assumed to scale as gpus^0.8 (not measured: profile off)"
                   : sources[x->model],
               x->is_noisy ? " (noisy)" : "");
}

static void print_until(struct buf *out, const char *what, usec_t span_us)
{
    label(out, what);
    buf_puts(out, "in ");
    print_span(out, span_us);
    buf_puts(out, " at the latest, and whenever something changes\n");
}

/* When a job that waits is expected to start. */
static void print_start(const struct explain *x, struct buf *out)
{
    label(out, "starts");
    if (x->retry_us > 0) {
        buf_puts(out, "not before its next attempt, in ");
        print_span(out, x->retry_us);
        buf_putc(out, '\n');
    } else if (x->least.size > x->up_now) {
        int32_t more = x->least.size - x->up_now;

        buf_printf(out, "not before %d more gpu%s %s\n", more,
                   more == 1 ? " is" : "s are", more <= x->withheld_now ? "clean" : "up");
    } else if (x->target.size > 0) {
        buf_puts(out, "as soon as its gpus are free\n");
    } else if (x->spared.job != 0) {
        buf_puts(out, "when that job may be moved, or ends\n");
    } else if (x->wait_us == USEC_NEVER) {
        buf_puts(out, "not known: nobody knows when the jobs that run will end\n");
    } else {
        buf_puts(out, "in about ");
        print_span(out, x->wait_us);
        buf_puts(out, ", when those before it end (estimate)\n");
    }
}

static void print_waiting(const struct explain *x, struct buf *out)
{
    if (x->least.size > 0) {
        label(out, "needs");
        buf_printf(out, "%d gpu%s at least; %d free now\n", x->least.size,
                   x->least.size == 1 ? "" : "s", x->free_now);
    }
    if (x->withheld_now > 0 && strcmp(x->withheld, x->reason) != 0) {
        label(out, "withheld");
        buf_printf(out, "%s\n", x->withheld);
    }
    if (x->n_ahead > 0) {
        label(out, "queue");
        buf_printf(out, "%d job%s before it\n", x->n_ahead,
                   x->n_ahead == 1 ? " stands" : "s stand");
    }
    if (x->spared.job != 0) {
        label(out, "who could give");
        buf_printf(out, "%s: %s\n", x->spared.name, x->spared_why);
        if (x->held_us != USEC_NEVER)
            print_until(out, "looked at again", x->held_us);
    }
    print_start(x, out);
}

static void print_holding(const struct explain *x, struct buf *out)
{
    print_speed(x, out);
    print_step(out, "with more", &x->more, &x->now);
    print_step(out, "with less", &x->less, &x->now);
    if (x->more.size > 0 && x->loser.job != 0) {
        label(out, "who would lose");
        buf_printf(out, "%s, least of all: %d to %d gpus, %+.2f\n", x->loser.name,
                   x->loser.from, x->loser.to, (double)x->loser.value_ppm / 1e6);
    }
    if (x->is_held_back && x->held_us != USEC_NEVER)
        print_until(out, "looked at again", x->held_us);
    else if (x->retry_us > 0)
        print_until(out, "looked at again", x->retry_us);
}

void explain_print(const struct explain *x, struct buf *out)
{
    buf_printf(out, "job %u (%s) is %s", x->job, x->name, job_state_name(x->run.state));
    if (x->run.state == JOB_RESIZING)
        buf_printf(out, " from %d gpu%s to ", x->run.plan.size,
                   x->run.plan.size == 1 ? "" : "s");
    else if (x->now.size > 0)
        buf_puts(out, " on ");
    if (x->now.size > 0)
        print_option(out, &x->now);
    buf_putc(out, '\n');
    label(out, "why");
    buf_printf(out, "%s\n", x->reason[0] ? x->reason : "nothing stands against it");
    if (x->run.state == JOB_QUEUED) {
        print_waiting(x, out);
    } else if (x->run.state == JOB_PAUSED) {
        label(out, "starts");
        buf_printf(out, "not before it is resumed: elastane resume %u\n", x->job);
    } else if (x->now.size > 0) {
        print_holding(x, out);
    }
    if (x->note[0]) {
        label(out, "its reports");
        buf_printf(out, "%s\n", x->note);
    }
    if (!x->is_planned)
        return;
    label(out, "plan");
    if (x->is_certified)
        buf_puts(out, "proven best for what is known of the jobs\n");
    else
        buf_printf(out, "not proven best: at most %.2f %% better is possible\n",
                   100.0 * (double)(x->bound - x->objective) /
                       (double)i64_max(1, x->objective));
}
