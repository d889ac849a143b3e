/* SPDX-License-Identifier: Apache-2.0 */
/* split.c - exact shares of a step's batch.
 *
 * A batch need not be divisible by anything: the first ranks take one sample more, and
 * within a rank the first passes do. What must hold is that nothing is lost or doubled:
 *   1. The shares of all ranks sum to B, the passes of a rank to its share.
 *   2. Shares (and passes) differ by at most one sample, and never rise with the index.
 * A world size of zero, and a micro-batch that was changed without the accumulation, are
 * errors with a name and not a rounded batch (R15). */
#include "core/perf/split.h"

#include "base/assert.h"
#include "base/units.h"
#include "core/limits.h"

static int32_t part(int32_t whole, int32_t parts, int32_t index)
{
    ASSERT(parts >= 1);
    ASSERT(index >= 0 && index < parts);
    return whole / parts + (index < whole % parts ? 1 : 0);
}

int32_t split_rank(int32_t global_batch, int32_t size, int32_t rank)
{
    return part(global_batch, size, rank);
}

int32_t split_offset(int32_t global_batch, int32_t size, int32_t rank)
{
    ASSERT(size >= 1);
    ASSERT(rank >= 0 && rank < size);
    return rank * (global_batch / size) + i32_min(rank, global_batch % size);
}

int32_t split_pass(int32_t rank_samples, int32_t accumulation, int32_t pass)
{
    return part(rank_samples, accumulation, pass);
}

int split_check(int32_t size, int32_t global_batch, int32_t micro_batch,
                int32_t accumulation, struct err *err)
{
    int64_t share, passes;

    if (size < 1)
        return err_field(err, E_INVALID, "gpus",
                         "is %d: the world size is not set; at least 1", size);
    if (size > SIZE_MAX_DEVICES)
        return err_field(err, E_LIMIT, "gpus", "is %d; the largest size is %d", size,
                         SIZE_MAX_DEVICES);
    if (global_batch < 1 || global_batch > BATCH_MAX)
        return err_field(err, E_INVALID, "batch", "is %d; 1 to %d samples", global_batch,
                         BATCH_MAX);
    if (micro_batch < 1)
        return err_field(err, E_INVALID, "micro-batch", "is %d; at least 1 sample",
                         micro_batch);
    if (accumulation < 1)
        return err_field(err, E_INVALID, "accumulation", "is %d; at least 1 pass",
                         accumulation);
    share = i64_div_up(global_batch, size);
    passes = i64_div_up(share, micro_batch);
    if (passes > accumulation)
        return err_field(err, E_INVALID, "accumulation",
                         "is %d, but a batch of %d over %d gpus gives %lld samples to a "
                         "rank; with micro-batches of %d that takes %lld passes",
                         accumulation, global_batch, size, (long long)share, micro_batch,
                         (long long)passes);
    return 0;
}
