/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - core time: never decreases, restarts included (DESIGN 2).
 *
 * It begins at the larger of the newest journalled time and the wall clock, and from then
 * on runs with CLOCK_BOOTTIME, so that a step of the wall clock moves no deadline and a
 * suspended machine does not stop it. */
#ifndef LOOP_CLOCK_H
#define LOOP_CLOCK_H

#include "base/units.h"

/* A plain value; zero it, or call clock_begin(). */
struct clock {
    usec_t begin_us; /* core time at the beginning */
    usec_t boot_us;  /* CLOCK_BOOTTIME then */
};

/* The rule itself, without any clock of its own. */
struct clock clock_at(usec_t journalled_us, usec_t wall_us, usec_t boot_us);
usec_t clock_read(const struct clock *clock, usec_t boot_us);

/* The same with the machine's clocks. */
struct clock clock_begin(usec_t journalled_us);
usec_t clock_now(const struct clock *clock);

#endif
