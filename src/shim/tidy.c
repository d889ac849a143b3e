/* SPDX-License-Identifier: Apache-2.0 */
/* tidy.c - see tidy.h.
 *
 * Ranks and their children hold their log open, and append. Renaming it would not reach
 * them, and copying and cutting it would lose what they write meanwhile. So the file
 * stays, and a hole is punched at its beginning: nothing is lost but that, and every byte
 * keeps its offset, by which those who follow the log go on. Of a log at least the newest
 * log_keep_bytes are kept, and at most twice as much. A file system that knows no holes
 * keeps everything. Logs in a directory that the job named are the user's, and left
 * alone.
 *
 * The shim's own log is replaced by a new one at TIDY_OWN_BYTES, and one older is kept.
 */
#include "shim/tidy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/state.h"

#define TIDY_OWN_BYTES ((off_t)1 << 20)
#define HOLE_UNIT      ((off_t)64 << 10) /* a multiple of any block */

static void cut_head(const struct shim *s, int fd, const char *name, off_t size)
{
    off_t keep = (off_t)s->order.log_keep_bytes;
    off_t head = lseek(fd, 0, SEEK_DATA);
    off_t end = (size - keep) / HOLE_UNIT * HOLE_UNIT;

    if (head < 0 || size - head <= 2 * keep || end <= head)
        return;
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, end) == 0)
        shim_log(s, "%s: its first %lld bytes are no longer kept", name, (long long)end);
}

static void tidy_rank(const struct shim *s, int32_t rank)
{
    char name[32];
    struct stat st;
    int fd;

    (void)snprintf(name, sizeof(name), "rank-%d.log", rank);
    if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
        st.st_size <= 2 * s->order.log_keep_bytes)
        return;
    fd = openat(s->dir_fd, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1)
        cut_head(s, fd, name, st.st_size);
    (void)close(fd);
}

/* Only when it is what our standard error leads to; a foreground shim has a terminal. */
static void tidy_own(const struct shim *s)
{
    struct stat ours;
    struct stat named;
    int fd;

    if (!s->log || fileno(s->log) != STDERR_FILENO || fstat(STDERR_FILENO, &ours) < 0 ||
        !S_ISREG(ours.st_mode) || ours.st_size <= TIDY_OWN_BYTES ||
        fstatat(s->dir_fd, ORDER_SHIM_LOG, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
        named.st_ino != ours.st_ino || named.st_dev != ours.st_dev ||
        renameat(s->dir_fd, ORDER_SHIM_LOG, s->dir_fd, ORDER_SHIM_LOG ".1") < 0)
        return;
    fd = openat(s->dir_fd, ORDER_SHIM_LOG,
                O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return; /* the old one goes on */
    (void)dup2(fd, STDOUT_FILENO);
    (void)dup2(fd, STDERR_FILENO);
    (void)close(fd);
}

void tidy_logs(struct shim *s)
{
    if (s->order.log_keep_bytes > 0 && !s->order.log_dir)
        for (int32_t i = 0; i < s->n_commands; i++)
            tidy_rank(s, s->order.ranks[i].rank);
    tidy_own(s);
}
