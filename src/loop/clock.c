/* SPDX-License-Identifier: Apache-2.0 */
/* clock.c - see clock.h. CLOCK_BOOTTIME never goes back while the machine is up; a state
 * directory that comes from a machine whose clock was ahead keeps the later time. */
#include "loop/clock.h"

#include <time.h>

static usec_t read_clock(clockid_t id)
{
    struct timespec t = {0};

    (void)clock_gettime(id, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

struct clock clock_at(usec_t journalled_us, usec_t wall_us, usec_t boot_us)
{
    return (struct clock){.begin_us = i64_max(journalled_us, wall_us),
                          .boot_us = boot_us};
}

usec_t clock_read(const struct clock *clock, usec_t boot_us)
{
    return clock->begin_us + i64_max(0, boot_us - clock->boot_us);
}

struct clock clock_begin(usec_t journalled_us)
{
    return clock_at(journalled_us, read_clock(CLOCK_REALTIME),
                    read_clock(CLOCK_BOOTTIME));
}

usec_t clock_now(const struct clock *clock)
{
    return clock_read(clock, read_clock(CLOCK_BOOTTIME));
}
