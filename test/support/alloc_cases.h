/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_cases.h - random allocation problems, and two slow ways to solve them. */
#ifndef TEST_SUPPORT_ALLOC_CASES_H
#define TEST_SUPPORT_ALLOC_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "core/alloc/alloc.h"
#include "core/alloc/sample.h"

#define CASE_ROWS_MAX    128
#define CASE_OPTIONS_MAX 64

struct alloc_case {
    struct alloc_problem problem; /* its rows are those below */
    struct alloc_row rows[CASE_ROWS_MAX];
    struct alloc_option options[CASE_ROWS_MAX][CASE_OPTIONS_MAX];
};

/* How the values of a row run with size. */
enum case_shape {
    CASE_WILD, /* gaps, dips, negative values, ties, rows that may wait or have nothing */
    CASE_CONCAVE, /* no gaps, falling gains, everybody runs */
    CASE_REAL, /* like measured jobs: communication makes dips, some sizes are missing */
    CASE_SHAPE_MAX
};

struct case_range {
    int32_t rows;  /* at most this many rows, sizes and devices */
    int32_t sizes; /* <= CASE_OPTIONS_MAX */
    int32_t devices;
};

/* Fills c with numbers of rows and devices drawn from 0 up to the range. */
void alloc_case_random(struct alloc_case *c, struct rng *rng, enum case_shape shape,
                       const struct case_range *range);

/* The same from sample.h, whose shapes are those of the benchmark; at least one row. */
void alloc_case_sample(struct alloc_case *c, struct rng *rng, enum sample_shape shape,
                       const struct case_range *range);

/* The best by lexicographic order (value, unchanged), weights not involved. */
struct case_answer {
    bool is_feasible;
    int64_t value;
    int32_t unchanged;
};

/* Tries every combination. */
struct case_answer alloc_case_brute(const struct alloc_problem *p);

/* The recurrence of seed-paper 5.2 as it stands there, over all rows, devices and
 * options, with infeasible as a state; for problems within the sizes above and at most
 * CASE_DEVICES_MAX devices. */
#define CASE_DEVICES_MAX 4096
struct case_answer alloc_case_recurrence(const struct alloc_problem *p);

#endif
