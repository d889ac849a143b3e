/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.c - is a better size worth the move?
 *
 * The policy names the best sizes for this instant; it knows nothing about what a move
 * costs. Moves come in three kinds (DESIGN 4.7):
 *   forced     lost devices, a size no longer allowed: at once;
 *   admission  a waiting job starts, and others shrink for it: unless a victim is younger
 *              than min_run or about to end by itself; after admit_wait not even then;
 *   voluntary  only if the speed gained over the time it will last exceeds the speed lost
 *              while the jobs of the move stand still.
 * A move that takes devices from running jobs to give them to others is judged as one
 * group. Invariants:
 *   1. A job inside a move is not here: the caller pinned it.
 *   2. Two voluntary moves of one job lie at least min_gap apart.
 *   3. Holding back is monotone: what was held back in this plan stays so, so asking
 * again ends after at most as many rounds as there are jobs. Speeds are the row's values:
 * relative to one device, times the job's weight. Not here: choosing sizes (policy/,
 * alloc/), carrying moves out (plan_apply.c). */
#include "core/scaler.h"

#include <stdio.h>

#include "base/assert.h"

#define UNKNOWN_S       1e12 /* a span that never is the shortest */
#define HORIZON_LEAST_S 60.0

static double seconds(usec_t span_us)
{
    return (double)span_us / (double)USEC_PER_SEC;
}

usec_t scaler_stall_us(const struct config *config, const struct job_run *run)
{
    usec_t measured = run->stall_us[JOB_STALL_RESTART];

    return (measured > 0 ? measured : config->stall_guess_us) + run->warm_up_us;
}

double scaler_remaining_s(const struct plan_item *item, const struct row_option *at)
{
    const struct job_spec *spec = &item->job->spec;
    const struct job_run *run = &item->job->run;
    int64_t total = job_samples_total(spec, run);
    double left = (double)(total - run->samples_done);
    double rate = at->rate;

    if (total == 0)
        return UNKNOWN_S;
    if (left <= 0.0)
        return 0.0;
    if (run->rate_milli > 0 && item->now.size > 0 && item->now.rate > 0.0)
        rate = (double)run->rate_milli / 1000.0 * (at->rate / item->now.rate);
    else if (item->job->model.source == MODEL_PRIOR)
        return UNKNOWN_S;
    return rate > 0.0 ? left / rate : UNKNOWN_S;
}

/* Mean span between arrivals and departures so far; nothing is known before two of them.
 */
static double expected_quiet_s(const struct scaler_view *v)
{
    int64_t n = v->globals->arrivals + v->globals->departures;

    if (n < 2)
        return UNKNOWN_S;
    return seconds(v->now_us - v->globals->since_us) / (double)n;
}

/* How long the new size is expected to last. */
static double horizon_s(const struct scaler_view *v, const struct plan_item *item)
{
    double quiet = expected_quiet_s(v);
    double left = scaler_remaining_s(item, &item->target);

    if (quiet < HORIZON_LEAST_S)
        quiet = HORIZON_LEAST_S;
    return left < quiet ? left : quiet;
}

static bool is_shrink(const struct plan_item *item)
{
    return item->act == PLAN_RESIZE && item->target.size < item->now.size;
}

/* Speed gained minus speed lost, in device-equivalents times seconds. */
static double net_gain(const struct scaler_view *v, const struct plan_item *item)
{
    double before = (double)item->now.value / 1e6;
    double after = (double)item->target.value / 1e6;
    double stall = seconds(scaler_stall_us(v->config, &item->job->run));

    return (after - before) * horizon_s(v, item) - before * stall;
}

static void hold_back(struct plan_item *item, usec_t until_us, const char *why)
{
    item->act = PLAN_KEEP;
    item->is_held_back = true;
    item->held_until_us = until_us;
    (void)snprintf(item->reason, sizeof item->reason, "%s", why);
}

/* Ends by itself before a move would be through. */
static bool ends_soon(const struct scaler_view *v, const struct plan_item *item)
{
    usec_t move = scaler_stall_us(v->config, &item->job->run) + item->job->spec.grace_us;

    return scaler_remaining_s(item, &item->now) < seconds(move);
}

/* The longest time that one of the jobs about to start has waited. */
static usec_t longest_wait(const struct scaler_view *v)
{
    usec_t longest = 0;

    for (int32_t i = 0; i < v->n_moves; i++)
        if (v->moves[i]->act == PLAN_START)
            longest = i64_max(longest, v->now_us - v->moves[i]->job->run.since_us);
    return longest;
}

/* Devices that starting jobs need beyond those that are free or coming free anyway. */
static int64_t admission_deficit(const struct scaler_view *v)
{
    int64_t need = 0;

    for (int32_t i = 0; i < v->n_moves; i++) {
        const struct plan_item *item = v->moves[i];

        if (item->act == PLAN_START)
            need += item->target.size;
        if (item->act == PLAN_RESIZE && item->is_forced)
            need += i32_max(0, item->target.size - item->now.size);
    }
    return need - v->free - v->releasing;
}

/* Shrinks that an admission needs: chosen by id until they suffice. */
static int32_t review_admission(const struct scaler_view *v)
{
    int64_t deficit = admission_deficit(v);
    usec_t waited = longest_wait(v);
    bool is_patient = waited < v->config->admit_wait_us;
    usec_t patience_us = v->now_us + v->config->admit_wait_us - waited;
    int32_t n_held = 0;

    for (int32_t i = 0; i < v->n_moves && deficit > 0; i++) {
        struct plan_item *item = v->moves[i];
        usec_t old_enough_us = item->job->run.since_us + v->config->min_run_us;

        if (!is_shrink(item) || item->is_forced)
            continue;
        if (is_patient && old_enough_us > v->now_us) {
            hold_back(item, i64_min(old_enough_us, patience_us),
                      "held back: started only a short while ago");
            item->is_spared = true;
            n_held++;
        } else if (is_patient && ends_soon(v, item)) {
            hold_back(item, patience_us, "held back: ends by itself soon");
            item->is_spared = true;
            n_held++;
        } else {
            item->is_for_admission = true;
            deficit -= item->now.size - item->target.size;
        }
    }
    return n_held;
}

static bool is_voluntary(const struct plan_item *item)
{
    return item->act == PLAN_RESIZE && !item->is_forced && !item->is_for_admission;
}

/* Rules about single jobs: min_gap, and not near the end. */
static int32_t review_single(const struct scaler_view *v)
{
    int32_t n_held = 0;

    for (int32_t i = 0; i < v->n_moves; i++) {
        struct plan_item *item = v->moves[i];
        usec_t rested_us = item->job->run.moved_us + v->config->min_gap_us;

        if (!is_voluntary(item))
            continue;
        if (rested_us > v->now_us) {
            hold_back(item, rested_us, "held back: moved only a short while ago");
            n_held++;
        } else if (ends_soon(v, item)) {
            hold_back(item, USEC_NEVER, "held back: near its end");
            n_held++;
        }
    }
    return n_held;
}

double scaler_gain(const struct scaler_view *v)
{
    double gain = 0.0;

    for (int32_t i = 0; i < v->n_moves; i++)
        if (is_voluntary(v->moves[i]))
            gain += net_gain(v, v->moves[i]);
    return gain;
}

/* Voluntary shrinks pay for growths: all of them together must be worth it. */
static int32_t review_group(const struct scaler_view *v)
{
    int32_t n_shrinks = 0;

    for (int32_t i = 0; i < v->n_moves; i++)
        n_shrinks += is_voluntary(v->moves[i]) && is_shrink(v->moves[i]);
    if (n_shrinks == 0 || scaler_gain(v) > 0.0)
        return 0;
    for (int32_t i = 0; i < v->n_moves; i++)
        if (is_voluntary(v->moves[i]) && is_shrink(v->moves[i]))
            hold_back(v->moves[i], USEC_NEVER, "held back: the move would not pay back");
    return n_shrinks;
}

/* Growths into free devices, and changes of the batch alone, each by itself. */
static int32_t review_alone(const struct scaler_view *v)
{
    int32_t n_held = 0;
    bool has_shrinks = false;

    for (int32_t i = 0; i < v->n_moves; i++)
        has_shrinks |= is_voluntary(v->moves[i]) && is_shrink(v->moves[i]);
    for (int32_t i = 0; i < v->n_moves; i++) {
        struct plan_item *item = v->moves[i];
        bool is_in_group = has_shrinks && item->target.size != item->now.size;

        if (!is_voluntary(item) || is_in_group || net_gain(v, item) > 0.0)
            continue;
        hold_back(item, USEC_NEVER, "held back: the move would not pay back");
        n_held++;
    }
    return n_held;
}

int32_t scaler_try_without_shrinks(const struct scaler_view *v)
{
    int32_t n = 0;

    if (v->config->scaler == CONFIG_SCALER_NONE)
        return 0;
    for (int32_t i = 0; i < v->n_moves; i++)
        n += is_voluntary(v->moves[i]) && is_shrink(v->moves[i]);
    if (n == 0)
        return 0;
    for (int32_t i = 0; i < v->n_items; i++)
        v->items[i]->is_on_trial = !v->items[i]->is_held_back;
    for (int32_t i = 0; i < v->n_moves; i++)
        if (is_voluntary(v->moves[i]) && is_shrink(v->moves[i]))
            hold_back(v->moves[i], USEC_NEVER,
                      "held back: others would gain too little from its gpus");
    return n;
}

void scaler_end_trial(const struct scaler_view *v, bool hold)
{
    for (int32_t i = 0; i < v->n_items; i++) {
        if (v->items[i]->is_on_trial && !hold)
            v->items[i]->is_held_back = false;
        v->items[i]->is_on_trial = false;
    }
}

int32_t scaler_review(const struct scaler_view *view)
{
    int32_t n_held;

    if (view->config->scaler == CONFIG_SCALER_NONE)
        return 0;
    n_held = review_admission(view);
    if (n_held == 0)
        n_held = review_single(view);
    if (n_held == 0)
        n_held = review_group(view);
    if (n_held == 0)
        n_held = review_alone(view);
    return n_held;
}
