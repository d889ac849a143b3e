/* SPDX-License-Identifier: Apache-2.0 */
/* alloc.c - one problem, solved from nothing, and the check of its proof.
 *
 * The work is done by solver.c. Here the rows are walked through before (every one is
 * begun, so that infeasible ends here) and after: the sizes are looked up in the rows as
 * they were given and must add up to the objective. That costs little, and no answer
 * leaves unchecked.
 *
 * alloc_check_lp() shares no code with the solver. With the price g/d, any solution is
 * worth at most
 *
 *     base + sum over rows of max(gain - g/d * devices) + g/d * room
 *
 * where base is what the least sizes are worth, and gain, devices and room count from
 * there. Sums are kept as quotient and rest of d; only the whole is rounded. */
#include "core/alloc/alloc.h"

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/alloc/reduced.h"
#include "core/alloc/solver.h"

void alloc_scratch_init(struct alloc_scratch *s)
{
    *s = (struct alloc_scratch){0};
}

void alloc_scratch_release(struct alloc_scratch *s)
{
    if (s->solver)
        solver_release(s->solver);
    mem_free(s->solver);
    alloc_scratch_init(s);
}

int64_t alloc_shortage(const struct alloc_problem *p)
{
    int64_t sum = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        int32_t least = reduced_least(&p->rows[j]);

        if (least < 0)
            return INT64_MAX;
        sum += least;
    }
    return sum - p->devices;
}

bool alloc_is_feasible(const struct alloc_problem *p)
{
    return alloc_shortage(p) <= 0;
}

static int64_t value_of(const struct alloc_row *row, int32_t size)
{
    int32_t low = 0, high = row->n_options;

    if (size == 0)
        return 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row->options[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    ASSERT(low < row->n_options);
    ASSERT(row->options[low].size == size);
    return row->options[low].value;
}

/* Adds up what the sizes are worth, from the rows as they were given. */
static void audit(const struct alloc_problem *p, const int32_t *sizes,
                  const struct alloc_result *result)
{
    int64_t value = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        ASSERT(sizes[j] > 0 || p->rows[j].may_wait);
        value += value_of(&p->rows[j], sizes[j]);
    }
    ASSERT(result->value == value);
    ASSERT(result->used <= p->devices);
}

static int begin(struct solver *s, const struct alloc_problem *p)
{
    void *curves = s->curves;
    int rc = mem_reserve(&curves, &s->cap_curves, (size_t)i32_max(1, p->n_rows),
                         sizeof *s->curves);

    s->curves = curves;
    if (rc < 0)
        return rc;
    s->rows = p->rows;
    s->n_rows = p->n_rows;
    s->devices = p->devices;
    for (int32_t j = 0; j < p->n_rows; j++)
        curve_begin(&s->curves[j], &p->rows[j]);
    return 0;
}

int alloc_solve(const struct alloc_problem *p, struct alloc_scratch *scratch,
                int32_t *ret_sizes, struct alloc_result *ret)
{
    struct alloc_result result;
    struct solver *s;
    int rc;

    ASSERT(p->n_rows >= 0 && p->n_rows <= JOBS_MAX);
    ASSERT(p->devices >= 0 && p->devices <= DEVICES_MAX);
    if (!scratch->solver)
        scratch->solver = mem_new(1, sizeof *scratch->solver);
    s = scratch->solver;
    if (!s)
        return E_NOMEM;
    rc = begin(s, p);
    if (rc == 0 && !solver_is_feasible(s))
        return E_INFEASIBLE;
    if (rc == 0)
        rc = solver_run(s, SOLVER_COLD, &result);
    if (rc < 0)
        return rc;
    audit(p, s->sizes, &result);
    for (int32_t j = 0; j < p->n_rows; j++)
        ret_sizes[j] = s->sizes[j];
    *ret = result;
    return 0;
}

/* What alloc_check_lp() adds up: base + quotient + rest / price_devices. */
struct proof_sum {
    int64_t base;
    int64_t quotient;
    int64_t rest;
    int32_t divisor; /* of all steps worth a look */
};

static void add_to(struct proof_sum *sum, int64_t amount, int32_t devices)
{
    int64_t rest = amount % devices;

    rest += rest < 0 ? devices : 0;
    sum->quotient += (amount - rest) / devices;
    sum->rest += rest;
}

static int32_t common_divisor(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* Adds the row's base and its best net gain. Steps that gain no more than a smaller one
 * are passed over: nobody needs to take them. */
static void add_row(struct proof_sum *sum, const struct alloc_row *row, int64_t factor,
                    int64_t room, const struct alloc_result *price)
{
    int32_t least = row->may_wait ? 0 : row->options[0].size;
    int64_t base = value_of(row, least) * factor + (least == row->held);
    int64_t best_gain = 0, best_net = 0;

    for (int32_t i = 0; i < row->n_options && row->options[i].size - least <= room; i++) {
        const struct alloc_option *o = &row->options[i];
        int64_t gain = o->value * factor + (o->size == row->held) - base;

        if (gain <= best_gain)
            continue;
        best_gain = gain;
        sum->divisor = common_divisor(o->size - least, sum->divisor);
        best_net = i64_max(best_net, gain * price->price_devices -
                                         price->price_gain * (o->size - least));
    }
    sum->base += base;
    add_to(sum, best_net, price->price_devices);
}

bool alloc_check_lp(const struct alloc_problem *p, const struct alloc_result *result)
{
    struct proof_sum sum = {0};
    const int64_t gain_max = ((int64_t)1 << 47) + 1; /* of one row: reduced.c */
    int64_t room = -alloc_shortage(p);
    int64_t factor = 1;

    while (factor <= p->n_rows)
        factor *= 2;
    if (room < 0 || result->price_devices < 1 || result->price_gain < 0 ||
        result->price_devices > SIZE_MAX_DEVICES || result->price_gain > gain_max)
        return false;
    for (int32_t j = 0; j < p->n_rows; j++)
        add_row(&sum, &p->rows[j], factor, room, result);
    room -= sum.divisor > 0 ? room % sum.divisor : room;
    add_to(&sum, result->price_gain % result->price_devices * room,
           result->price_devices);
    sum.quotient += sum.rest / result->price_devices;
    /* A price that is worth more than everything proves nothing, and would not fit. */
    if (room > 0 &&
        result->price_gain / result->price_devices > (INT64_MAX - sum.quotient) / room)
        return false;
    sum.quotient += result->price_gain / result->price_devices * room;
    return result->bound == result->objective &&
           (uint64_t)result->objective == (uint64_t)sum.base + (uint64_t)sum.quotient;
}
