/* SPDX-License-Identifier: Apache-2.0 */
/* memo.h - one allocation problem that changes little by little.
 *
 * Keeps from each solve what the next one needs: after a change of one row, an arrival, a
 * departure or another number of devices only that is looked at again, and every other
 * row costs a few nanoseconds. The answer is that of alloc_solve() on the same rows in
 * the same order, bit for bit, whatever came before.
 *
 * Rows are numbered from 0 in their order. The options of a row are borrowed until the
 * row is replaced or removed. */
#ifndef CORE_ALLOC_MEMO_H
#define CORE_ALLOC_MEMO_H

#include <stdint.h>

#include "core/alloc/alloc.h"

struct alloc_memo;

/* No rows, no devices. NULL when there is no memory. */
struct alloc_memo *alloc_memo_new(void);
void alloc_memo_free(struct alloc_memo *m);

/* Puts a row in front of number `at` (at the end: n_rows). Returns 0; E_LIMIT beyond
 * JOBS_MAX rows; E_NOMEM. */
int alloc_memo_insert(struct alloc_memo *m, int32_t at, const struct alloc_row *row);
void alloc_memo_replace(struct alloc_memo *m, int32_t at, const struct alloc_row *row);
void alloc_memo_remove(struct alloc_memo *m, int32_t at);
void alloc_memo_set_devices(struct alloc_memo *m, int32_t devices);

/* The problem as it stands; valid until it is changed. */
struct alloc_problem alloc_memo_problem(const struct alloc_memo *m);

/* As alloc_solve(). Allocates nothing once the memo has grown. */
int alloc_memo_solve(struct alloc_memo *m, int32_t *ret_sizes, struct alloc_result *ret);

/* The best sum of w when row `at` must take exactly this size of its own (0 where it may
 * wait). Minus the objective, that is what the change would be worth to all: exact, if
 * *ret is certified. Returns 0; E_NOTFOUND when the row has no such size; E_INFEASIBLE;
 * E_NOMEM. The problem is afterwards as it was. */
int alloc_memo_what_if(struct alloc_memo *m, int32_t at, int32_t size,
                       struct alloc_result *ret);

#endif
