/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - a growing list of changes, and who frees what hangs on them.
 *
 * The kinds with a pointer own what it points to (a spec, a model, a profile). Everything
 * else in a change is plain data, so releasing a list is a walk over those three. */
#include "core/change.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static void change_release(struct change *change)
{
    if (change->kind == CHANGE_SPEC && change->u.spec) {
        job_spec_release(change->u.spec);
        mem_free(change->u.spec);
    }
    if (change->kind == CHANGE_MODEL)
        mem_free(change->u.model.model);
    if (change->kind == CHANGE_PROFILE)
        mem_free(change->u.profile);
}

void changes_init(struct changes *changes)
{
    *changes = (struct changes){0};
}

void changes_release(struct changes *changes)
{
    changes_clear(changes);
    mem_free(changes->items);
    changes_init(changes);
}

void changes_clear(struct changes *changes)
{
    changes_truncate(changes, 0);
}

void changes_truncate(struct changes *changes, size_t n)
{
    ASSERT(n <= changes->n);
    while (changes->n > n)
        change_release(&changes->items[--changes->n]);
}

struct change *changes_add(struct changes *changes, enum change_kind kind)
{
    void *items = changes->items;
    struct change *change;

    ASSERT((unsigned)kind < CHANGE_KIND_MAX);
    if (mem_reserve(&items, &changes->cap, changes->n + 1, sizeof *changes->items) < 0)
        return NULL;
    changes->items = items;
    change = &changes->items[changes->n++];
    memset(change, 0, sizeof *change);
    change->kind = kind;
    return change;
}
