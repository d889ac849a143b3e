/* SPDX-License-Identifier: Apache-2.0 */
/* touch.c - see touch.h. Everything here reads the core before a step is folded in; so a
 * step knows afterwards what it moved, without asking the core to remember.
 *
 * A change of a hold touches the job that gets the devices and those that had them. */
#include "engine/touch.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

/* Room that is kept between steps; what a very large step took is given back. */
#define BEFORE_KEPT 1024

void touches_release(struct touches *t)
{
    mem_free(t->items);
    mem_free(t->before);
    *t = (struct touches){0};
}

static int touch_cmp(const void *pa, const void *pb)
{
    const struct touch *a = pa, *b = pb;

    if (a->job != b->job)
        return a->job < b->job ? -1 : 1;
    return (int)a->is_setup - (int)b->is_setup;
}

static int touch_add(struct touches *t, uint32_t job, bool is_setup)
{
    void *p = t->items;
    int rc;

    if (job == 0)
        return 0;
    if (t->n > 0 && t->items[t->n - 1].job == job) {
        t->items[t->n - 1].is_setup |= is_setup;
        return 0;
    }
    rc = mem_reserve(&p, &t->cap, t->n + 1, sizeof *t->items);
    if (rc < 0)
        return rc;
    t->items = p;
    t->items[t->n++] = (struct touch){.job = job, .is_setup = is_setup};
    return 0;
}

static int touch_hold(struct touches *t, const struct cluster *cluster,
                      const struct hold *hold)
{
    int32_t end = hold->first + hold->count;
    int rc = touch_add(t, hold->job, true);

    for (int32_t i = hold->first; i < end && i < cluster->n_devices && rc == 0; i++)
        if (cluster->devices[i].job != hold->job)
            rc = touch_add(t, cluster->devices[i].job, true);
    return rc;
}

static int touch_change(struct touches *t, const struct core *core,
                        const struct change *change)
{
    switch (change->kind) {
    case CHANGE_HOLD:
        return touch_hold(t, core_cluster(core), &change->u.hold);
    case CHANGE_SPEC:
        return touch_add(t, change->u.spec->id, true);
    case CHANGE_RUN:
        return touch_add(t, change->u.run.id, false);
    case CHANGE_GLOBALS:
    case CHANGE_CONFIG:
    case CHANGE_NODE:
    case CHANGE_MODEL:
    case CHANGE_PROFILE:
    case CHANGE_MARK:
    case CHANGE_KIND_MAX:
        break;
    }
    return 0;
}

static void sort_unique(struct touches *t)
{
    size_t n = 0;

    if (t->n > 1)
        qsort(t->items, t->n, sizeof *t->items, touch_cmp);
    for (size_t i = 0; i < t->n; i++)
        if (n > 0 && t->items[n - 1].job == t->items[i].job)
            t->items[n - 1].is_setup |= t->items[i].is_setup;
        else
            t->items[n++] = t->items[i];
    t->n = n;
}

int touches_collect(struct touches *t, const struct core *core,
                    const struct changes *changes)
{
    void *p;
    int rc = 0;

    t->n = 0;
    for (size_t i = 0; i < changes->n && rc == 0; i++)
        rc = touch_change(t, core, &changes->items[i]);
    if (rc < 0)
        return rc;
    sort_unique(t);
    if (t->cap_before > BEFORE_KEPT && t->n <= BEFORE_KEPT) {
        mem_free(t->before);
        t->before = NULL;
        t->cap_before = 0;
    }
    p = t->before;
    rc = mem_reserve(&p, &t->cap_before, t->n, sizeof *t->before);
    if (rc < 0)
        return rc;
    t->before = p;
    for (size_t i = 0; i < t->n; i++) {
        const struct job *job = core_find_job(core, t->items[i].job);

        t->before[i] = job ? *job : (struct job){0};
        t->before[i].spec.launch = NULL;
        t->before[i].memo = NULL;
    }
    return 0;
}

size_t touches_index(const struct touches *t, uint32_t job)
{
    size_t low = 0;
    size_t high = t->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->items[mid].job < job)
            low = mid + 1;
        else
            high = mid;
    }
    ASSERT(low < t->n);
    ASSERT(t->items[low].job == job);
    return low;
}
