/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - durable files by rename.
 *
 * Everything is done relative to the directory's descriptor, so a path that somebody
 * replaces meanwhile changes nothing. A failed write leaves the old file and removes the
 * temporary one. */
#include "shim/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, bytes, n);

        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        bytes += done;
        n -= (size_t)done;
    }
    return 0;
}

int record_write(int dir_fd, const char *name, const struct buf *text, struct err *err)
{
    char temporary[64];
    int fd;
    int rc = 0;

    (void)snprintf(temporary, sizeof(temporary), "%s.tmp", name);
    (void)unlinkat(dir_fd, temporary, 0);
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return err_set(err, E_IO, "cannot create %s: %s", temporary, strerror(errno));
    if (write_all(fd, text->text, text->len) < 0 || fsync(fd) < 0)
        rc = err_set(err, E_IO, "cannot write %s: %s", temporary, strerror(errno));
    if (close(fd) < 0 && rc == 0)
        rc = err_set(err, E_IO, "cannot close %s: %s", temporary, strerror(errno));
    if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
        rc = err_set(err, E_IO, "cannot rename %s: %s", temporary, strerror(errno));
    if (rc == 0 && fsync(dir_fd) < 0)
        rc = err_set(err, E_IO, "cannot sync the directory: %s", strerror(errno));
    if (rc < 0)
        (void)unlinkat(dir_fd, temporary, 0);
    return rc;
}

int record_sync(int dir_fd, const char *name, struct err *err)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int rc = 0;

    if (fd < 0 || fsync(fd) < 0)
        rc = err_set(err, E_IO, "cannot sync %s: %s", name, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int record_read(int dir_fd, const char *name, struct buf *out, struct err *err)
{
    char chunk[4096];
    struct stat st;
    ssize_t n;
    int rc = 0;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return err_set(err, errno == ENOENT ? E_NOTFOUND : E_IO, "cannot open %s: %s",
                       name, strerror(errno));
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(err, E_CORRUPT, "%s is not a regular file", name);
    while (rc == 0 && (n = read(fd, chunk, sizeof(chunk))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = err_set(err, E_IO, "cannot read %s: %s", name, strerror(errno));
            break;
        }
        buf_add(out, chunk, (size_t)n);
        rc = buf_error(out);
        if (rc < 0)
            (void)err_set(err, rc, "%s is too long", name);
    }
    (void)close(fd);
    return rc;
}

bool record_exists(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int record_lock(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
    bool has_dir = flock(dir_fd, LOCK_EX | LOCK_NB) == 0;
    int why = errno;
    int fd;

    if (!has_dir && why == EWOULDBLOCK)
        return err_set(err, E_BUSY, "another shim holds the directory");
    fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                0600);
    if (fd < 0 && !has_dir)
        return err_set(err, E_IO, "cannot open %s: %s", name, strerror(errno));
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
        *ret_fd = fd;
        return 0;
    }
    why = errno;
    (void)close(fd);
    if (has_dir)
        (void)flock(dir_fd, LOCK_UN);
    if (why == EWOULDBLOCK)
        return err_set(err, E_BUSY, "another shim holds %s", name);
    return err_set(err, E_IO, "cannot lock %s: %s", name, strerror(why));
}

int record_boot_id(char *ret, size_t cap, struct err *err)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret, cap - 1);

    if (fd >= 0)
        (void)close(fd);
    if (n < 1)
        return err_set(err, E_IO, "cannot read the boot id: %s", strerror(errno));
    ret[n] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return 0;
}
