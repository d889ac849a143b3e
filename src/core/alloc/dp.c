/* SPDX-License-Identifier: Apache-2.0 */
/* dp.c - dynamic programming over rows and devices: exact, whatever the tables look like.
 *
 * Source: V. Saxena, K. R. Jayaram, S. Basu, Y. Sabharwal, A. Verma, "Effective Elastic
 * Scaling of Deep Learning Workloads" (arXiv 2006.13878). With S_j(g) the value of g
 * devices to job j, P(j,k) the best sum of the first j jobs on at most k devices:
 *
 *     P(0,k) = 0
 *     P(j,k) = max over g <= k of  P(j-1, k-g) + S_j(g)
 *
 * and the choice that gave the maximum is kept, so that walking back from P(J,K) names
 * every job's size. Here this runs over a reduced problem (reduced.h): g counts devices
 * above the least size, g = 0 is always allowed and gains 0, so each P(j,k) is a number;
 * and in place of S stand the weights w = v*T + [size = held], whose sum is largest for
 * the most value and, among equals, for the most jobs left unchanged: T is above the
 * number of jobs, so all the bonuses together weigh less than one unit of value.
 *
 * Three things make it quick, and none changes an answer:
 *   - Windows. Row j cannot use more than the largest steps of rows 1..j together (P is
 *     constant above), and no answer needs fewer devices than what the rows after j
 *     cannot use. Only cells between the two are computed.
 *   - One array. P(j,k) looks at cells at or below k alone, so going down from the top
 *     row j overwrites row j-1 in place.
 *   - Blocks. A block of cells is finished in local arrays, one step of the row after
 *     another; the inner loop is a plain pass over contiguous integers.
 *
 * Invariants:
 *   1. Before row j, best[k] = P(j-1,k) for all k in its window, and P does not fall.
 *   2. A later step replaces an earlier one only if it gains more: ties keep the fewest
 *      devices, and so the answer depends on the rows in their order and on the room.
 *   3. Sums are sums of one gain per row; reduced.c shows that they fit 64 bits.
 *
 * Left out: problems beyond the budget of dp.h; the main solver (solver.h) knows no such
 * end.
 */
#include "core/alloc/dp.h"

#include "base/assert.h"
#include "base/units.h"

#define BLOCK 64

/* The largest step of row j; 0 when it has none. */
static int32_t largest(const struct reduced *r, int32_t j)
{
    return r->end[j] > r->first[j] ? r->steps[r->end[j] - 1].devices : 0;
}

static int64_t sum_of_largest(const struct reduced *r)
{
    int64_t sum = 0;

    for (int32_t j = 0; j < r->n_rows; j++)
        sum += largest(r, j);
    return sum;
}

struct dp_size dp_measure(const struct reduced *r)
{
    struct dp_size size = {0};
    int64_t before = 0;
    int64_t after = sum_of_largest(r);

    size.room = (int32_t)i64_min(r->room, after);
    for (int32_t j = 0; j < r->n_rows; j++) {
        int64_t cells;

        before += largest(r, j);
        after -= largest(r, j);
        cells = i64_min(size.room, before) - i64_max(0, size.room - after) + 1;
        size.cells += cells;
        size.work += cells * (r->end[j] - r->first[j] + 1);
    }
    return size;
}

static void set_windows(const struct reduced *r, int32_t room, struct dp_work *work)
{
    int64_t before = 0;
    int64_t after = sum_of_largest(r);
    int64_t cell = 0;

    for (int32_t j = 0; j < r->n_rows; j++) {
        before += largest(r, j);
        after -= largest(r, j);
        work->low[j] = (int32_t)i64_max(0, room - after);
        work->high[j] = (int32_t)i64_min(room, before);
        work->cell[j] = cell;
        cell += work->high[j] - work->low[j] + 1;
    }
}

/* The cells k .. k + n - 1 of one row. */
static void run_block(const struct step *steps, int32_t n_steps, int64_t *cells,
                      int32_t k, int32_t n, uint16_t *choice)
{
    int64_t best[BLOCK];
    int64_t pick[BLOCK] = {0};

    for (int32_t t = 0; t < n; t++)
        best[t] = cells[t];
    for (int32_t i = 0; i < n_steps; i++) {
        int32_t devices = steps[i].devices;
        int64_t gain = steps[i].gain;

        for (int32_t t = i32_max(0, devices - k); t < n; t++) {
            int64_t sum = cells[t - devices] + gain;
            int64_t is_more = sum > best[t];

            best[t] = is_more ? sum : best[t];
            pick[t] = is_more ? i + 1 : pick[t];
        }
    }
    for (int32_t t = 0; t < n; t++) {
        cells[t] = best[t];
        choice[t] = (uint16_t)pick[t];
    }
}

static void run_row(const struct reduced *r, int32_t j, struct dp_work *work)
{
    const struct step *steps = &r->steps[r->first[j]];
    int32_t n_steps = r->end[j] - r->first[j];
    int32_t reached = j > 0 ? work->high[j - 1] : 0;
    int32_t top = work->high[j] + 1;

    for (int32_t k = reached + 1; k < top; k++)
        work->best[k] = work->best[reached];
    while (top > work->low[j]) {
        int32_t k = i32_max(work->low[j], top - BLOCK);

        run_block(steps, n_steps, work->best + k, k, top - k,
                  work->choice + work->cell[j] + (k - work->low[j]));
        top = k;
    }
}

/* Names the steps, last row first. */
static void walk_back(const struct reduced *r, int32_t room, const struct dp_work *work,
                      int32_t *step)
{
    int32_t k = room;

    for (int32_t j = r->n_rows - 1; j >= 0; j--) {
        int32_t choice;

        k = i32_min(k, work->high[j]);
        ASSERT(k >= work->low[j]);
        choice = work->choice[work->cell[j] + (k - work->low[j])];
        step[j] = choice > 0 ? r->first[j] + choice - 1 : -1;
        if (choice > 0)
            k -= r->steps[step[j]].devices;
        ASSERT(k >= 0);
    }
}

int64_t dp_solve(const struct reduced *r, const struct dp_size *size,
                 struct dp_work *work, int32_t *step)
{
    ASSERT(size->cells <= DP_CELLS_MAX);
    set_windows(r, size->room, work);
    work->best[0] = 0;
    for (int32_t j = 0; j < r->n_rows; j++)
        run_row(r, j, work);
    walk_back(r, size->room, work, step);
    return work->best[size->room];
}
