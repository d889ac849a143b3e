/* SPDX-License-Identifier: Apache-2.0 */
/* variant.h - other questions about the same rows, asked of the same solver.
 *
 * Weights, forbidden sizes, upper bounds and a cost of change are other rows:
 * alloc_variant_rules() makes them. Max-min is the largest value that everybody can have,
 * and after that the largest sum. (Do the minimums fit? alloc_is_feasible().) */
#ifndef CORE_ALLOC_VARIANT_H
#define CORE_ALLOC_VARIANT_H

#include <stddef.h>
#include <stdint.h>

#include "core/alloc/alloc.h"

/* What is different for one row. */
struct alloc_rule {
    int64_t weight_ppm;  /* values count so many millionths (0 to 2^32), rounded */
    int64_t change_cost; /* value lost when a row that holds a size gets another */
    int32_t size_max;    /* no larger size; 0: no bound */
    const int32_t
        *forbidden; /* sizes it must not get, ascending; 0 among them: waiting */
    int32_t n_forbidden;
};

/* A rule that changes nothing. */
extern const struct alloc_rule alloc_rule_none;

/* Memory of a variant's rows; kept between calls. */
struct alloc_variant {
    struct alloc_problem problem;
    struct alloc_row *rows;
    struct alloc_option *options;
    size_t cap_rows, cap_options;
    /* Solved, the problem's value plus this is the weighted value less the cost of all
     * changes. (A row that stays is paid its cost of change, since size 0 has no value
     * to take it from; this takes all of them back.) */
    int64_t offset;
};

void alloc_variant_init(struct alloc_variant *v);
void alloc_variant_release(struct alloc_variant *v);

/* Makes v->problem from p, with a rule for each row. Returns 0; E_LIMIT when a value
 * passes VALUE_MAX; E_NOMEM. On failure v->problem is undefined. */
int alloc_variant_rules(struct alloc_variant *v, const struct alloc_problem *p,
                        const struct alloc_rule *rules);

/* Finds the largest *ret_least such that every row can have a value of at least that, and
 * then, of the solutions with that property, one of the largest sum of w (the rows stand
 * in v->problem). Size 0 counts as value 0. Returns 0; E_INFEASIBLE; E_NOMEM. */
int alloc_variant_maxmin(struct alloc_variant *v, const struct alloc_problem *p,
                         struct alloc_scratch *s, int32_t *ret_sizes,
                         struct alloc_result *ret, int64_t *ret_least);

#endif
