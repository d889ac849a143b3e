/* SPDX-License-Identifier: Apache-2.0 */
/* due.c - what may be performed, and when.
 *
 * A duty is a function of a job's state, and while its row is under way the job may move
 * on. So a job has one entry, which follows it. Invariants:
 *   1. The duty of an entry is job_duty() of the job as the core has it now.
 *   2. Its row is the last one that changed anything that the duty tells the outside: the
 *      duty's record and, for a start, the job's spec and devices. So what is performed
 *      comes from durable rows alone.
 *   3. A later row that changes nothing of that does not hold the duty up.
 * An older duty that was never performed is dropped by this. That is sound, because each
 * duty tells all that is to be done in its state: a stop of an incarnation that was never
 * started is answered with an exit, a save that was called off is followed by go-on, and
 * a crash between the row and the deed would have had the same effect. */
#include "engine/due.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/mem.h"

void due_release(struct due_list *list)
{
    mem_free(list->items);
    mem_free(list->taken);
    *list = (struct due_list){0};
}

int due_reserve(struct due_list *list, size_t n)
{
    void *p = list->items;
    int rc = mem_reserve(&p, &list->cap, list->n + n, sizeof *list->items);

    if (rc < 0)
        return rc;
    list->items = p;
    p = list->taken;
    rc = mem_reserve(&p, &list->cap_taken, list->n + n, sizeof *list->taken);
    if (rc < 0)
        return rc;
    list->taken = p;
    return 0;
}

static int by_job(const void *pa, const void *pb)
{
    const struct due *a = pa, *b = pb;

    return (a->job > b->job) - (a->job < b->job);
}

static int by_row(const void *pa, const void *pb)
{
    const struct due *a = pa, *b = pb;

    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return by_job(pa, pb);
}

/* Among the first n entries, which are in order. */
static struct due *find(struct due_list *list, size_t n, uint32_t job)
{
    const struct due key = {.job = job};

    if (n == 0)
        return NULL;
    return bsearch(&key, list->items, n, sizeof key, by_job);
}

static bool plan_equal(const struct job_plan *a, const struct job_plan *b)
{
    return a->generation == b->generation && a->size == b->size &&
           a->global_batch == b->global_batch && a->micro_batch == b->micro_batch &&
           a->accumulation == b->accumulation;
}

static bool duty_equal(const struct duty *a, const struct duty *b)
{
    return a->kind == b->kind && a->job == b->job && a->incarnation == b->incarnation &&
           a->grace_us == b->grace_us && plan_equal(&a->plan, &b->plan);
}

/* The step's word on one job; entry is what waits for the job already, or NULL. Returns
 * true when *ret_due is to replace it. */
static bool judge(const struct due *entry, const struct touch *touch,
                  const struct job *before, const struct job *after, struct due *ret_due)
{
    struct duty duty;

    if (!after) {
        *ret_due = (struct due){.job = touch->job, .is_forget = true};
        return before->run.id != 0;
    }
    duty = job_duty(after);
    *ret_due = (struct due){.job = touch->job, .duty = duty};
    if (before->run.id == 0 ? duty.kind != DUTY_NONE : duty_is_new(before, after))
        return true;
    if (!entry)
        return false;
    return !duty_equal(&entry->duty, &duty) ||
           (duty.kind == DUTY_START && touch->is_setup);
}

void due_note(struct due_list *list, const struct core *core,
              const struct touches *touches, int64_t seq)
{
    size_t n_sorted = list->n;

    for (size_t i = 0; i < touches->n; i++) {
        const struct touch *touch = &touches->items[i];
        const struct job *after = core_find_job(core, touch->job);
        struct due *entry = find(list, n_sorted, touch->job);
        struct due due;

        if (!judge(entry, touch, &touches->before[i], after, &due))
            continue;
        due.seq = seq;
        if (!entry) {
            ASSERT(list->n < list->cap);
            entry = &list->items[list->n++];
        }
        *entry = due;
    }
    if (list->n > n_sorted)
        qsort(list->items, list->n, sizeof *list->items, by_job);
}

size_t due_take(struct due_list *list, int64_t seq, const struct due **ret)
{
    size_t n_left = 0;
    size_t n_taken = 0;

    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].seq > seq)
            list->items[n_left++] = list->items[i];
        else if (list->items[i].is_forget || list->items[i].duty.kind != DUTY_NONE)
            list->taken[n_taken++] = list->items[i];
    }
    list->n = n_left;
    if (n_taken > 1)
        qsort(list->taken, n_taken, sizeof *list->taken, by_row);
    *ret = list->taken;
    return n_taken;
}
