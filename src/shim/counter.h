/* SPDX-License-Identifier: Apache-2.0 */
/* counter.h - the file to which a trainer appends how far it is (wire/progress.h), read
 * once a beat.
 *
 * The file is the user's: it is never mapped, links are not followed, anything but a file
 * is left alone, and of what was appended since the last reading at most
 * COUNTER_READ_MAX bytes are read, the newest ones. It may be appended to, written anew
 * or replaced by another file. */
#ifndef SHIM_COUNTER_H
#define SHIM_COUNTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/units.h"
#include "wire/progress.h"

#define COUNTER_READ_MAX  ((off_t)64 << 10)
#define COUNTER_WINDOW_US USEC_PER_SEC /* the least span that a rate is taken from */

struct counter {
    struct progress lines;
    bool is_no_file; /* something else had its name */
    bool has_file;   /* `file` is the state at the last reading */
    struct stat file;
    off_t offset;  /* up to which it was read */
    size_t n_tail; /* the bytes before that; they stay while a file only grows */
    char tail[32];
    int64_t first_samples; /* the first count; -1: none yet */
    int64_t since_samples; /* where the present window began; -1: no count yet */
    usec_t since_us;       /* monotonic */
};

struct counter_window {
    int64_t samples; /* > 0, trained within ... */
    usec_t span_us;  /* >= COUNTER_WINDOW_US */
};

#define COUNTER_INIT                                                                     \
    ((struct counter){.lines = PROGRESS_INIT, .first_samples = -1, .since_samples = -1})

/* Reads what is new. True: a window is complete. */
bool counter_read(struct counter *counter, int dir_fd, const char *name, usec_t now_us,
                  struct counter_window *ret);

#endif
