/* SPDX-License-Identifier: Apache-2.0 */
/* row.h - what the allocator sees of a job: for each allowed size the best plan, its rate
 * and its integer value (DESIGN 4.2, 4.3; seed-paper.md sections 4 and 8).
 *
 * A size without a feasible plan is not in the row: infeasible is a state, never a
 * number. */
#ifndef CORE_PERF_ROW_H
#define CORE_PERF_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "core/alloc/alloc.h"
#include "core/job.h"
#include "core/perf/model.h"

struct row_option {
    int32_t size;
    int32_t global_batch; /* 0 when the job states none */
    int32_t micro_batch;
    int32_t accumulation;
    double rate;   /* samples/s; relative to one device (S) where nothing was measured */
    int64_t value; /* round(1e6 * S(k)), weighted */
};

struct row {
    struct row_option *options;  /* sizes strictly ascending; owned */
    struct alloc_option *values; /* their sizes and values, for the allocator; owned */
    int32_t n_options;
    size_t cap;
    size_t cap_values;
};

/* How the batch of a size is chosen. */
enum row_batch {
    ROW_BATCH_JOINT,     /* the best of the range: the paper */
    ROW_BATCH_MIN,       /* constant: batch_min */
    ROW_BATCH_MAX,       /* constant: batch_max, a = 1 only */
    ROW_BATCH_MAX_ACCUM, /* constant: batch_max, accumulating as needed */
    ROW_BATCH_BASE,      /* constant: batch_base, accumulating as needed */
    ROW_BATCH_MAX_KIND
};

struct row_rule {
    enum row_batch batch;
    int32_t
        devices_per_node;   /* largest node; a size k is assumed to need ceil(k / this) */
    int32_t size_limit;     /* no larger sizes; 0: none (probing: twice the measured) */
    int32_t batch_in_force; /* breaks ties; 0: none */
    int32_t
        nodes_for_size; /* placement needed nodes_needed nodes for this size; 0: none */
    int32_t nodes_needed;
};

void row_init(struct row *row);
void row_release(struct row *row);

/* Builds the row, in place of what it held. Returns 0, E_NOMEM, or E_INFEASIBLE when no
 * size has a plan, with the field and reason in err (what range or limit stood in the
 * way); on failure the row keeps what it held. The spec must be complete and pass
 * job_spec_check(), the model model_check(). Whatever rule->size_limit says, the smallest
 * size that has a plan is in the row: every job may start. */
int row_build(struct row *row, const struct job_spec *spec,
              const struct perf_model *model, const struct row_rule *rule,
              struct err *err);

/* The newest row of one job, remembered with the rule that it was built by. A row is a
 * pure function of spec, model and rule, so remembering it is not a part of any state. */
struct row_memo {
    struct row row; /* without options: no size has a plan */
    struct row_rule rule;
    bool is_valid;
};

/* The row of a job by this rule, built anew only when the rule is another than the last
 * time. Lent until the next call for the same memo. Whoever changes the spec or the model
 * calls row_forget(). Returns 0 or E_NOMEM. */
int row_recall(struct row_memo *memo, const struct job_spec *spec,
               const struct perf_model *model, const struct row_rule *rule,
               const struct row **ret);
void row_forget(struct row_memo *memo);
void row_memo_release(struct row_memo *memo);

/* The option for exactly this size, or NULL. */
const struct row_option *row_find(const struct row *row, int32_t size);
/* Smallest size in the row; 0 when it is empty. */
int32_t row_min_size(const struct row *row);

#endif
