/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - how the first steps of a new job are cut into passes (DESIGN 4.1).
 *
 * The scheduler predicts T_proc(m) from measured points, and a job that starts at one
 * size with one micro-batch would give it only one. So after some steps as planned, some
 * are cut into halves of the planned pass and some into quarters. Only the cuts differ: a
 * step still consumes its whole batch, with the same gradient. Larger passes than the
 * planned one are not tried, because nobody has vouched for the memory.
 *
 * A job whose owner does not want that has another profile than "probe", which the ranks
 * find in their environment. It is read here and not by the callers, so that every
 * trainer obeys, in C and in Python.
 *
 * Three steps for each, since a measurement counts once three in a row agree. */
#include "libelastane/elastane.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_EACH 3
#define LEAST      4 /* samples of a pass; below, the fixed cost hides the rest */

static const int32_t divisors[] = {1, 2, 4};

_Static_assert(sizeof(divisors) / sizeof(divisors[0]) * STEPS_EACH ==
                   ELASTANE_PROBE_STEPS,
               "as the header says");

static bool is_wanted(void)
{
    const char *profile = getenv("ELASTANE_PROFILE");

    return !profile || strcmp(profile, "probe") == 0;
}

int32_t elastane_probe_pass(const struct elastane_batch *batch, int64_t step,
                            int32_t pass)
{
    int32_t planned = elastane_pass(batch, 0);
    int32_t size;

    if (step < STEPS_EACH || step >= ELASTANE_PROBE_STEPS || planned <= LEAST ||
        !is_wanted())
        return elastane_pass(batch, pass);
    size = planned / divisors[step / STEPS_EACH];
    if (size < LEAST)
        size = LEAST;
    if (pass < 0 || pass > batch->own_samples / size)
        return 0;
    return pass < batch->own_samples / size ? size : batch->own_samples % size;
}
