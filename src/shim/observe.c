/* SPDX-License-Identifier: Apache-2.0 */
/* observe.c - the warm-up rule and medians.
 *
 * Before a kind has settled its window holds the latest values, so that "three in a row
 * agree" looks at the last three; when they do, these three are the first that count. */
#include "shim/observe.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"

#define AGREE_PERCENT 20

static int i64_cmp(const void *pa, const void *pb)
{
    int64_t a = *(const int64_t *)pa;
    int64_t b = *(const int64_t *)pb;

    return (a > b) - (a < b);
}

int64_t observe_median(int64_t *values, int32_t n)
{
    ASSERT(n >= 1);
    qsort(values, (size_t)n, sizeof(values[0]), i64_cmp);
    return values[(n - 1) / 2];
}

static struct observe_kind *kind_find(struct observe *observe, enum shim_observed what,
                                      int32_t micro_batch)
{
    struct observe_kind *kind;

    for (int32_t i = 0; i < observe->n_kinds; i++) {
        kind = &observe->kinds[i];
        if (kind->what == what && kind->micro_batch == micro_batch)
            return kind;
    }
    if (observe->n_kinds == OBSERVE_KINDS_MAX)
        return NULL;
    kind = &observe->kinds[observe->n_kinds++];
    *kind = (struct observe_kind){.what = what, .micro_batch = micro_batch};
    return kind;
}

static void window_push(struct observe_kind *kind, int64_t time_ns)
{
    if (kind->n < OBSERVE_WINDOW) {
        kind->time_ns[kind->n++] = time_ns;
        return;
    }
    kind->time_ns[kind->next] = time_ns;
    kind->next = (kind->next + 1) % OBSERVE_WINDOW;
}

/* The larger one is at most 20 % above the smaller one. */
static bool agree(int64_t low, int64_t high)
{
    return high - low <= low / 100 * AGREE_PERCENT + low % 100 * AGREE_PERCENT / 100;
}

static bool three_agree(const struct observe_kind *kind)
{
    const int64_t *t = kind->time_ns + kind->n - 3;

    return agree(i64_min(t[0], i64_min(t[1], t[2])), i64_max(t[0], i64_max(t[1], t[2])));
}

static void try_to_settle(struct observe_kind *kind)
{
    kind->n_seen++;
    if (kind->n >= 3 && three_agree(kind)) {
        for (int32_t i = 0; i < 3; i++)
            kind->time_ns[i] = kind->time_ns[kind->n - 3 + i];
        kind->n = 3;
        kind->is_settled = true;
    } else if (kind->n_seen >= OBSERVE_SETTLE_MAX) {
        kind->is_settled = true;
        kind->is_noisy = true;
    }
}

void observe_add(struct observe *observe, enum shim_observed what, int32_t micro_batch,
                 int64_t time_ns)
{
    struct observe_kind *kind;

    if ((unsigned)what >= SHIM_OBSERVED_MAX || micro_batch < 0 || time_ns <= 0)
        return;
    kind = kind_find(observe, what, micro_batch);
    if (!kind)
        return;
    window_push(kind, time_ns);
    if (!kind->is_settled)
        try_to_settle(kind);
}

bool observe_take(struct observe *observe, struct observe_summary *ret)
{
    for (int32_t i = 0; i < observe->n_kinds; i++) {
        struct observe_kind *kind = &observe->kinds[i];

        if (!kind->is_settled || kind->n == 0)
            continue;
        ret->what = kind->what;
        ret->micro_batch = kind->micro_batch;
        ret->count = kind->n;
        ret->median_ns = observe_median(kind->time_ns, kind->n);
        ret->is_noisy = kind->is_noisy;
        kind->n = 0;
        kind->next = 0;
        return true;
    }
    return false;
}

/* The faster of the first two neighbours in the window that agree; 0: none do. */
static int64_t first_pair(const struct observe_kind *kind)
{
    for (int32_t i = 1; i < kind->n; i++) {
        int64_t low = i64_min(kind->time_ns[i - 1], kind->time_ns[i]);

        if (agree(low, i64_max(kind->time_ns[i - 1], kind->time_ns[i])))
            return low;
    }
    return 0;
}

int64_t observe_step_ns(const struct observe *observe)
{
    for (int32_t i = 0; i < observe->n_kinds; i++) {
        const struct observe_kind *kind = &observe->kinds[i];
        int64_t copy[OBSERVE_WINDOW];
        int64_t step_ns = first_pair(kind);

        if (kind->what != SHIM_OBSERVED_STEP)
            continue;
        if (step_ns > 0 || !kind->is_settled || kind->n == 0)
            return step_ns;
        memcpy(copy, kind->time_ns, sizeof copy);
        return observe_median(copy, kind->n);
    }
    return 0;
}
