/* SPDX-License-Identifier: Apache-2.0 */
/* agree.c - the first half of a resize: stop at step S (DESIGN 5).
 *
 * Training ranks are within one step of each other, because each step has an all-reduce;
 * so S = largest seen + 2 nearly always lies ahead of all. A rank that is past S says so,
 * and S is raised by a margin that doubles, so the procedure also ends for ranks that do
 * not wait for each other. Invariants:
 *   1. Nobody saves before all have acknowledged the same S: a rank that stands at S
 * waits for AGREED, and until then S may still rise.
 *   2. Acknowledgements of an older S do not count.
 *   3. S never falls while one procedure lasts. */
#include "shim/agree.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

#define MARGIN_FIRST 2
#define MARGIN_MAX   4096

int agree_init(struct agree *agree, int32_t n_ranks)
{
    ASSERT(n_ranks > 0);
    memset(agree, 0, sizeof(*agree));
    agree->marks = mem_new((size_t)n_ranks, 1);
    if (!agree->marks)
        return E_NOMEM;
    agree->n_ranks = n_ranks;
    return 0;
}

void agree_release(struct agree *agree)
{
    mem_free(agree->marks);
    memset(agree, 0, sizeof(*agree));
}

static void unmark(struct agree *agree)
{
    memset(agree->marks, 0, (size_t)agree->n_ranks);
    agree->n_marked = 0;
}

static bool mark(struct agree *agree, int32_t rank)
{
    ASSERT(rank >= 0);
    ASSERT(rank < agree->n_ranks);
    if (agree->marks[rank])
        return false;
    agree->marks[rank] = 1;
    agree->n_marked++;
    return agree->n_marked == agree->n_ranks;
}

void agree_begin(struct agree *agree, int64_t largest_step)
{
    unmark(agree);
    agree->state = AGREE_ASKING;
    agree->margin = MARGIN_FIRST;
    agree->step = largest_step + agree->margin;
    agree->samples_done = -1;
    agree->manifest[0] = '\0';
}

bool agree_ack(struct agree *agree, int32_t rank, int64_t step)
{
    if (agree->state != AGREE_ASKING || step != agree->step)
        return false;
    if (!mark(agree, rank))
        return false;
    unmark(agree);
    agree->state = AGREE_SAVING;
    return true;
}

bool agree_late(struct agree *agree, int64_t step)
{
    if (agree->state != AGREE_ASKING || step < agree->step)
        return false;
    unmark(agree);
    if (agree->margin < MARGIN_MAX)
        agree->margin *= 2;
    agree->step = step + agree->margin;
    return true;
}

bool agree_saved(struct agree *agree, int32_t rank, int64_t step, int64_t samples_done,
                 const char *manifest)
{
    if (agree->state != AGREE_SAVING || step != agree->step)
        return false;
    if (rank == 0)
        agree->samples_done = samples_done;
    if (manifest[0])
        (void)snprintf(agree->manifest, sizeof(agree->manifest), "%s", manifest);
    if (!mark(agree, rank))
        return false;
    agree->state = AGREE_HELD;
    return true;
}

void agree_end(struct agree *agree)
{
    unmark(agree);
    agree->state = AGREE_NONE;
}

int32_t agree_missing(const struct agree *agree)
{
    if (agree->state != AGREE_ASKING && agree->state != AGREE_SAVING)
        return -1;
    for (int32_t i = 0; i < agree->n_ranks; i++)
        if (!agree->marks[i])
            return i;
    return -1;
}
