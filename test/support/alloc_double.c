/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_double.c - a knapsack that is obviously right, in the allocator's place.
 *
 * The plain recurrence of seed-paper.md section 5.2 over a full table, with the
 * objective of alloc.h. For tests of policies, so that they fail on their own account. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/alloc/alloc.h"

#define NONE INT64_MIN

void alloc_scratch_init(struct alloc_scratch *s)
{
    *s = (struct alloc_scratch){0};
}

void alloc_scratch_release(struct alloc_scratch *s)
{
    mem_free(s->memory);
    alloc_scratch_init(s);
}

bool alloc_is_feasible(const struct alloc_problem *p)
{
    int64_t least = 0;

    for (int32_t j = 0; j < p->n_rows; j++) {
        if (p->rows[j].may_wait)
            continue;
        if (p->rows[j].n_options == 0)
            return false;
        least += p->rows[j].options[0].size;
    }
    return least <= p->devices;
}

/* Best of row j with at most `devices`; before[] is the table of the rows before it. */
static int64_t best(const struct alloc_row *row, int64_t unit, const int64_t *before,
                    int32_t devices, int32_t *ret_size)
{
    int64_t top = NONE;

    if (row->may_wait && before[devices] != NONE) {
        top = before[devices] + (row->held == 0);
        *ret_size = 0;
    }
    for (int32_t i = 0; i < row->n_options; i++) {
        int32_t size = row->options[i].size;
        int64_t w = row->options[i].value * unit + (size == row->held);

        if (size > devices || before[devices - size] == NONE)
            continue;
        if (top == NONE || before[devices - size] + w > top) {
            top = before[devices - size] + w;
            *ret_size = size;
        }
    }
    return top;
}

static void tell(const struct alloc_problem *p, const int32_t *sizes, int64_t objective,
                 struct alloc_result *ret)
{
    *ret = (struct alloc_result){
        .objective = objective,
        .bound = objective,
        .is_certified = true,
        .proof = ALLOC_PROOF_SEARCH,
    };
    for (int32_t j = 0; j < p->n_rows; j++) {
        ret->used += sizes[j];
        ret->unchanged += sizes[j] == p->rows[j].held;
        for (int32_t i = 0; i < p->rows[j].n_options; i++)
            if (p->rows[j].options[i].size == sizes[j])
                ret->value += p->rows[j].options[i].value;
    }
}

int alloc_solve(const struct alloc_problem *p, struct alloc_scratch *s,
                int32_t *ret_sizes, struct alloc_result *ret)
{
    size_t width = (size_t)p->devices + 1;
    int64_t *table;
    int32_t *choice;
    int64_t unit = 1;
    int32_t left = p->devices;

    (void)s;
    if (!alloc_is_feasible(p))
        return E_INFEASIBLE;
    while (unit <= p->n_rows)
        unit *= 2;
    table = mem_new(width * ((size_t)p->n_rows + 1), sizeof *table);
    choice = mem_new(width * ((size_t)p->n_rows + 1), sizeof *choice);
    if (!table || !choice) {
        mem_free(table);
        mem_free(choice);
        return E_NOMEM;
    }
    for (int32_t j = 0; j < p->n_rows; j++)
        for (int32_t d = 0; d <= p->devices; d++) {
            size_t at = (size_t)(j + 1) * width + (size_t)d;

            table[at] =
                best(&p->rows[j], unit, table + (size_t)j * width, d, &choice[at]);
        }
    for (int32_t j = p->n_rows; j > 0; j--) {
        ret_sizes[j - 1] = choice[(size_t)j * width + (size_t)left];
        left -= ret_sizes[j - 1];
    }
    tell(p, ret_sizes, table[(size_t)p->n_rows * width + (size_t)p->devices], ret);
    mem_free(table);
    mem_free(choice);
    return 0;
}
