/* SPDX-License-Identifier: Apache-2.0 */
/* patience.c - see patience.h. "Stopping" (E_AGAIN) is an answer too, of a daemon that
 * will be away in a moment. */
#include "cli/patience.h"

#include <time.h>

usec_t patience_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_BOOTTIME, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

void patience_heard(struct patience *p)
{
    p->is_heard = true;
    p->lost_us = 0;
}

bool patience_bears(struct patience *p, const struct err *err)
{
    const struct timespec gap = {.tv_nsec = PATIENCE_RETRY_MS * 1000000L};

    if (err->code == E_AGAIN)
        p->is_heard = true;
    if (!p->is_heard || (err->code != E_IO && err->code != E_AGAIN))
        return false;
    if (p->lost_us == 0) {
        p->lost_us = patience_now();
        cli_warn(p->cli, "%s; waiting up to %d s for it to come back", err->text,
                 PATIENCE_S);
    }
    if (patience_now() - p->lost_us > PATIENCE_S * USEC_PER_SEC)
        return false;
    (void)nanosleep(&gap, NULL);
    return true;
}
