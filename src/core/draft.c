/* SPDX-License-Identifier: Apache-2.0 */
/* draft.c - see draft.h. */
#include "core/draft.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

void draft_begin(struct draft *d, const struct core *core, usec_t now_us,
                 struct changes *out)
{
    *d = (struct draft){
        .core = core, .out = out, .now_us = now_us, .globals = *core_globals(core)};
    d->globals.now_us = now_us;
    if (d->globals.since_us == 0)
        d->globals.since_us = now_us;
}

static bool globals_moved(const struct globals *a, const struct globals *b)
{
    return a->next_job != b->next_job || a->next_order != b->next_order ||
           a->head_order != b->head_order || a->planned_us != b->planned_us ||
           a->plan_wake_us != b->plan_wake_us ||
           a->confirm_until_us != b->confirm_until_us || a->needs_plan != b->needs_plan ||
           a->plans != b->plans || a->arrivals != b->arrivals ||
           a->departures != b->departures;
}

static struct change *add(struct draft *d, enum change_kind kind)
{
    struct change *change;

    if (d->error)
        return NULL;
    change = changes_add(d->out, kind);
    if (!change)
        d->error = E_NOMEM;
    return change;
}

int draft_end(struct draft *d)
{
    struct change *change;

    if (d->globals.needs_plan && !core_globals(d->core)->needs_plan)
        d->globals.wanted_us = d->now_us;
    if (d->out->n > 0 || globals_moved(&d->globals, core_globals(d->core))) {
        change = add(d, CHANGE_GLOBALS);
        if (change)
            change->u.globals = d->globals;
    }
    if (d->error)
        changes_clear(d->out);
    return d->error;
}

void draft_put_run(struct draft *d, const struct job_run *run)
{
    struct change *change = add(d, CHANGE_RUN);

    if (change)
        change->u.run = *run;
}

void draft_put_spec(struct draft *d, const struct job_spec *spec)
{
    struct change *change = add(d, CHANGE_SPEC);

    if (!change)
        return;
    change->u.spec = mem_new(1, sizeof *change->u.spec);
    if (!change->u.spec || job_spec_copy(change->u.spec, spec) < 0)
        d->error = E_NOMEM;
}

void draft_put_model(struct draft *d, uint32_t job, const struct perf_model *model)
{
    struct change *change = add(d, CHANGE_MODEL);

    if (!change)
        return;
    change->u.model.job = job;
    change->u.model.model = mem_new(1, sizeof *change->u.model.model);
    if (change->u.model.model)
        *change->u.model.model = *model;
    else
        d->error = E_NOMEM;
}

void draft_put_profile(struct draft *d, const struct profile *profile)
{
    struct change *change = add(d, CHANGE_PROFILE);

    if (!change)
        return;
    change->u.profile = mem_new(1, sizeof *change->u.profile);
    if (change->u.profile)
        *change->u.profile = *profile;
    else
        d->error = E_NOMEM;
}

void draft_put_node(struct draft *d, const struct node *node)
{
    struct change *change = add(d, CHANGE_NODE);

    if (change)
        change->u.node = *node;
}

void draft_put_mark(struct draft *d, const struct device_mark *mark)
{
    struct change *change = add(d, CHANGE_MARK);

    if (change)
        change->u.mark = *mark;
}

void draft_put_config(struct draft *d, const struct config *config)
{
    struct change *change = add(d, CHANGE_CONFIG);

    if (change)
        change->u.config = *config;
}

void draft_put_hold(struct draft *d, int32_t device, uint32_t job, uint32_t flags)
{
    struct change *change = d->out->n > 0 ? &d->out->items[d->out->n - 1] : NULL;

    ASSERT((job == 0) == (flags == 0));
    if (!d->error && change && change->kind == CHANGE_HOLD && change->u.hold.job == job &&
        change->u.hold.flags == flags &&
        change->u.hold.first + change->u.hold.count == device) {
        change->u.hold.count++;
        return;
    }
    change = add(d, CHANGE_HOLD);
    if (change)
        change->u.hold = (struct hold){device, 1, job, flags};
}

int32_t draft_update_holds(struct draft *d, uint32_t job, int32_t node, uint32_t keep,
                           uint32_t add_flags)
{
    const struct cluster *c = core_cluster(d->core);
    int32_t n_now = 0;
    int32_t first, end;

    cluster_span(c, job, &first, &end);
    for (int32_t i = first; i < end; i++) {
        uint32_t flags = c->devices[i].flags;

        if (c->devices[i].job != job)
            continue;
        if (node < 0 || c->devices[i].node == (uint32_t)node)
            flags = (flags & keep) | add_flags;
        if (flags & HOLD_NOW)
            n_now++;
        if (flags != c->devices[i].flags)
            draft_put_hold(d, i, flags ? job : 0, flags);
    }
    return n_now;
}
