/* SPDX-License-Identifier: Apache-2.0 */
/* split.h - a global batch over ranks and passes, exactly.
 *
 * Rank r of k gets floor(B/k) samples, the first B mod k ranks one more; a rank's samples
 * go through in a passes of at most m. Only plans whose global batch is exact exist
 * (R15). The training side (libelastane) follows the same rule from the same plan. */
#ifndef CORE_PERF_SPLIT_H
#define CORE_PERF_SPLIT_H

#include <stdint.h>

#include "base/err.h"

/* Samples of one optimizer step on this rank. 0 <= rank < size; 0 is possible (B < k). */
int32_t split_rank(int32_t global_batch, int32_t size, int32_t rank);
/* Index within the step's batch of the rank's first sample. */
int32_t split_offset(int32_t global_batch, int32_t size, int32_t rank);
/* Samples of pass p (0 <= p < a) on this rank: as equal as possible, first ones larger.
 */
int32_t split_pass(int32_t rank_samples, int32_t accumulation, int32_t pass);
/* Whether (k, B, m, a) is a plan: k, B, m, a >= 1 and within limits.h, and
 * ceil(ceil(B/k)/a) <= m. Names the field otherwise. */
int split_check(int32_t size, int32_t global_batch, int32_t micro_batch,
                int32_t accumulation, struct err *err);

#endif
