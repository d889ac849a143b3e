/* SPDX-License-Identifier: Apache-2.0 */
/* joblog.c - see joblog.h. Nothing is kept between two reads: files of ended incarnations
 * do not change, and adding their sizes up costs a look at each. The files are the
 * user's, and of long ones the beginning is a hole (src/shim/tidy.c): only regular ones
 * with one name and of the right owner are read, and no link is followed within the
 * daemon's own directories. */
#include "backend/local/joblog.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/folder.h"
#include "base/err.h"
#include "base/units.h"

struct cursor {
    int64_t skip; /* bytes that still lie before the offset */
    struct joblog_piece *piece;
    bool any;
    bool is_full; /* or what follows does not join on */
};

/* Where the part begins that is kept. */
static int64_t head_of(int fd, int64_t size)
{
    off_t at = lseek(fd, 0, SEEK_DATA);

    return at > 0 && at <= size ? at : 0;
}

static int read_piece(int fd, int64_t size, struct cursor *c)
{
    struct joblog_piece *piece = c->piece;
    int64_t gone = head_of(fd, size) - c->skip;
    size_t want = piece->room - piece->n;
    ssize_t got;

    if (gone > 0 && piece->n > 0) {
        c->is_full = true;
        return 0;
    }
    if (gone > 0) {
        c->skip += gone;
        piece->offset += gone;
    }
    if ((int64_t)want > size - c->skip)
        want = (size_t)(size - c->skip);
    got = pread(fd, (char *)piece->bytes + piece->n, want, c->skip);
    c->skip = 0;
    piece->n += got > 0 ? (size_t)got : 0;
    c->is_full = piece->n >= piece->room;
    return got < 0 ? E_IO : 0;
}

/* E_NOTFOUND when the file is not there or not to be read. */
static int open_log(int dir_fd, const struct joblog *log, int *ret_fd, int64_t *ret_size)
{
    struct stat st;
    char name[32];
    int fd;

    (void)snprintf(name, sizeof(name), "rank-%d.log", log->rank);
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return E_NOTFOUND;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
        (st.st_uid != log->uid && st.st_uid != geteuid())) {
        (void)close(fd);
        return E_NOTFOUND;
    }
    *ret_fd = fd;
    *ret_size = st.st_size;
    return 0;
}

static int read_from(int dir_fd, const struct joblog *log, struct cursor *c)
{
    int64_t size = 0;
    int fd = -1;
    int rc = 0;

    if (open_log(dir_fd, log, &fd, &size) < 0)
        return 0;
    c->any = true;
    if (c->skip >= size)
        c->skip -= size;
    else
        rc = read_piece(fd, size, c);
    (void)close(fd);
    return rc;
}

static int read_folders(const struct joblog *log, struct cursor *c)
{
    int rc = 0;

    for (uint32_t i = 1; i <= log->incarnations && rc == 0 && !c->is_full; i++) {
        int dir_fd = -1;

        if (folder_open(log->jobs_fd, log->job, i, &dir_fd, NULL) < 0)
            continue;
        rc = read_from(dir_fd, log, c);
        (void)close(dir_fd);
    }
    return rc;
}

int joblog_read(const struct joblog *log, int64_t offset, struct joblog_piece *inout)
{
    struct cursor c = {.skip = offset, .piece = inout};
    int rc = 0;

    inout->n = 0;
    inout->offset = offset;
    if (log->log_dir && log->log_dir[0]) {
        int dir_fd = open(log->log_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (dir_fd < 0)
            return E_NOTFOUND;
        rc = read_from(dir_fd, log, &c);
        (void)close(dir_fd);
    } else {
        rc = read_folders(log, &c);
    }
    return rc == 0 && !c.any ? E_NOTFOUND : rc;
}
