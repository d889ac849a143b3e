/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_cli.c - alloc_solve() for other programs: a problem on standard input, the answer
 * on standard output. Whole numbers, parted by blanks:
 *
 *     ROWS DEVICES
 *     MAY_WAIT HELD OPTIONS  SIZE VALUE  SIZE VALUE ...        one line a row
 *
 * The answer is "infeasible", or "VALUE OBJECTIVE BOUND UNCHANGED USED CERTIFIED" and on
 * a second line the sizes. Exit status 2: the input is no such problem. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "core/alloc/alloc.h"

static int64_t read_number(int64_t min, int64_t max)
{
    int64_t number;

    if (scanf("%" SCNd64, &number) != 1 || number < min || number > max) {
        (void)fprintf(stderr,
                      "alloc_cli: a number in %" PRId64 "..%" PRId64 " is missing\n", min,
                      max);
        exit(2);
    }
    return number;
}

static void *new_array(int32_t n, size_t item_size)
{
    void *p = mem_new((size_t)n, item_size);

    if (!p) {
        (void)fprintf(stderr, "alloc_cli: out of memory\n");
        exit(1);
    }
    return p;
}

static void read_row(struct alloc_row *row)
{
    struct alloc_option *options;
    int32_t last = 0;

    row->may_wait = read_number(0, 1) == 1;
    row->held = (int32_t)read_number(-1, SIZE_MAX_DEVICES);
    row->n_options = (int32_t)read_number(0, SIZE_MAX_DEVICES);
    options = new_array(row->n_options, sizeof *options);
    for (int32_t i = 0; i < row->n_options; i++) {
        options[i].size = (int32_t)read_number(last + 1, SIZE_MAX_DEVICES);
        options[i].value = read_number(-VALUE_MAX, VALUE_MAX);
        last = options[i].size;
    }
    row->options = options;
}

static void print_answer(const struct alloc_problem *p, const int32_t *sizes,
                         const struct alloc_result *r)
{
    (void)printf("%" PRId64 " %" PRId64 " %" PRId64 " %d %d %d\n", r->value, r->objective,
                 r->bound, r->unchanged, r->used, r->is_certified);
    for (int32_t j = 0; j < p->n_rows; j++)
        (void)printf("%d ", sizes[j]);
    (void)printf("\n");
}

int main(void)
{
    int32_t n_rows = (int32_t)read_number(0, JOBS_MAX);
    struct alloc_row *rows = new_array(n_rows, sizeof *rows);
    int32_t *sizes = new_array(n_rows, sizeof *sizes);
    struct alloc_problem p = {rows, n_rows, (int32_t)read_number(0, DEVICES_MAX)};
    struct alloc_scratch scratch;
    struct alloc_result result;
    int rc;

    for (int32_t j = 0; j < n_rows; j++)
        read_row(&rows[j]);
    alloc_scratch_init(&scratch);
    rc = alloc_solve(&p, &scratch, sizes, &result);
    if (rc == E_INFEASIBLE)
        (void)printf("infeasible\n");
    else if (rc == 0)
        print_answer(&p, sizes, &result);
    alloc_scratch_release(&scratch);
    for (int32_t j = 0; j < n_rows; j++)
        mem_free((void *)(uintptr_t)rows[j].options);
    mem_free(rows);
    mem_free(sizes);
    return rc == 0 || rc == E_INFEASIBLE ? 0 : 1;
}
