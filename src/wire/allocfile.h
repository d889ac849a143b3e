/* SPDX-License-Identifier: Apache-2.0 */
/* allocfile.h - an allocation problem as JSON, and its answer (docs/allocate.md).
 *
 * {"devices": 4, "jobs": [{"id": "a", "weight": 1, "current": 2, "may_wait": false,
 *                          "options": [{"size": 1, "value": 1.0}, ...]}]} */
#ifndef WIRE_ALLOCFILE_H
#define WIRE_ALLOCFILE_H

#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "core/alloc/alloc.h"
#include "core/limits.h"

#define ALLOCFILE_BYTES_MAX ((size_t)64 << 20)

struct allocfile_job {
    char id[NAME_MAX_BYTES];
    double weight;
    size_t first; /* of its options */
};

struct allocfile {
    struct alloc_problem problem; /* values are millionths of weight times value */
    struct allocfile_job *jobs;   /* n_rows */
    struct alloc_option *options; /* of all rows, one behind the other */
};

void allocfile_init(struct allocfile *file);
void allocfile_release(struct allocfile *file);

/* Reads into an initialised, empty file. E_INVALID and E_LIMIT name the field, such as
 * "jobs[3].options[1].size", the reason and what would be accepted; E_NOMEM. On failure
 * the file is empty again. */
int allocfile_read(struct allocfile *file, const char *text, size_t len,
                   struct err *err) ATTR_MUST_USE;

/* Which rows do not fit together, and by how much: the error of an infeasible problem. */
int allocfile_explain_infeasible(const struct allocfile *file, struct err *err);

/* What a row is worth at a size, in millionths, and what one device more or less would
 * change: at most as many may be used, so one_more >= 0 and one_less <= 0. */
struct allocfile_worth {
    int64_t value;
    int64_t one_more;
    int64_t one_less;
    bool can_be_less; /* false: it can neither wait nor be that small */
};
struct allocfile_worth allocfile_worth(const struct alloc_row *row, int32_t size);

/* The price of a device on which proof LP rests, in millionths, rounded down. */
int64_t allocfile_price(const struct allocfile *file, const struct alloc_result *result);

/* What no solution's value exceeds, in millionths. */
int64_t allocfile_bound(const struct allocfile *file, const struct alloc_result *result);

/* Appends the answer as one JSON object and a line feed. */
void allocfile_write(const struct allocfile *file, const int32_t *sizes,
                     const struct alloc_result *result, struct buf *out);

/* "1.692098": millionths as a decimal. */
#define ALLOCFILE_VALUE_BYTES 32
const char *allocfile_value(char to[ALLOCFILE_VALUE_BYTES], int64_t value);

/* "lp", "search" or "none". */
const char *alloc_proof_name(enum alloc_proof proof);

#endif
