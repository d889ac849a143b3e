/* SPDX-License-Identifier: Apache-2.0 */
/* counter.c - see counter.h.
 *
 * A beat is a coarse clock: of steps of 0.7 s, one or two end within a beat, and a rate
 * taken at beats would swing by half. The file knows better: its time of change is the
 * moment of its last line. It is believed when it lies within the last beats, and when no
 * torn line came after the last whole one; else the moment of the reading must do. A user
 * who sets that time to something else falsifies no more than his own numbers.
 *
 * `echo N >FILE` instead of `>>` is an easy mistake, so a file that has changed and has
 * not grown is read from its start, and so is one whose bytes before the place where
 * reading stopped are others now: it was written anew, or replaced. */
#include "shim/counter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "wire/shim_msg.h"

#define AGE_MAX_US (3 * SHIM_BEAT_US)

static bool is_unchanged(const struct counter *c, const struct stat *st)
{
    return c->has_file && st->st_size == c->file.st_size &&
           st->st_mtim.tv_sec == c->file.st_mtim.tv_sec &&
           st->st_mtim.tv_nsec == c->file.st_mtim.tv_nsec;
}

/* Reads exactly n bytes; false when they are not there. */
static bool read_at(int fd, char *to, size_t n, off_t offset)
{
    while (n > 0) {
        ssize_t done = pread(fd, to, n, offset);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        to += done;
        offset += done;
        n -= (size_t)done;
    }
    return true;
}

static bool has_only_grown(const struct counter *c, int fd, const struct stat *st)
{
    char tail[sizeof(c->tail)];

    return c->has_file && st->st_dev == c->file.st_dev && st->st_ino == c->file.st_ino &&
           st->st_size > c->offset &&
           read_at(fd, tail, c->n_tail, c->offset - (off_t)c->n_tail) &&
           memcmp(tail, c->tail, c->n_tail) == 0;
}

static void keep_tail(struct counter *c, int fd)
{
    c->n_tail = sizeof(c->tail);
    if (c->offset < (off_t)c->n_tail)
        c->n_tail = (size_t)c->offset;
    if (!read_at(fd, c->tail, c->n_tail, c->offset - (off_t)c->n_tail))
        c->n_tail = 0;
}

static void read_new(struct counter *c, int fd, const struct stat *st)
{
    char chunk[4096];

    if (!has_only_grown(c, fd, st)) {
        progress_cut(&c->lines, false);
        c->offset = 0;
    }
    if (st->st_size - c->offset > COUNTER_READ_MAX) {
        progress_cut(&c->lines, true);
        c->offset = st->st_size - COUNTER_READ_MAX;
    }
    while (c->offset < st->st_size) {
        off_t left = st->st_size - c->offset;
        size_t n = left < (off_t)sizeof(chunk) ? (size_t)left : sizeof(chunk);

        if (!read_at(fd, chunk, n, c->offset))
            break; /* it was cut meanwhile; the next beat sees that */
        progress_feed(&c->lines, chunk, n);
        c->offset += (off_t)n;
    }
    keep_tail(c, fd);
    c->file = *st;
    c->has_file = true;
}

/* When the last line was written, on the clock of now_us. */
static usec_t moment_of(const struct counter *c, usec_t now_us)
{
    const struct timespec *m = &c->file.st_mtim;
    struct timespec t;
    int64_t age_us;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    if (c->lines.n_part > 0 || c->lines.is_skipping || m->tv_sec > t.tv_sec ||
        t.tv_sec - m->tv_sec > AGE_MAX_US / USEC_PER_SEC)
        return now_us;
    age_us =
        ((int64_t)t.tv_sec - m->tv_sec) * USEC_PER_SEC + (t.tv_nsec - m->tv_nsec) / 1000;
    return age_us < 0 || age_us > AGE_MAX_US ? now_us : now_us - age_us;
}

static bool take_window(struct counter *c, usec_t now_us, struct counter_window *ret)
{
    usec_t moment_us = moment_of(c, now_us);
    bool is_first = c->since_samples < 0;

    if (!is_first && moment_us - c->since_us < COUNTER_WINDOW_US)
        return false;
    if (is_first)
        c->first_samples = c->lines.samples;
    *ret = (struct counter_window){c->lines.samples - c->since_samples,
                                   moment_us - c->since_us};
    c->since_samples = c->lines.samples;
    c->since_us = moment_us;
    return !is_first;
}

bool counter_read(struct counter *c, int dir_fd, const char *name, usec_t now_us,
                  struct counter_window *ret)
{
    int64_t known = c->lines.samples;
    struct stat st;
    int fd =
        openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0) {
        c->is_no_file = c->is_no_file || (errno != ENOENT && errno != EMFILE &&
                                          errno != ENFILE && errno != ENOMEM);
        return false;
    }
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        c->is_no_file = true;
    else if (!is_unchanged(c, &st))
        read_new(c, fd, &st);
    (void)close(fd);
    return c->lines.samples > known && take_window(c, now_us, ret);
}
