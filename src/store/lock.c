/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - see lock.h. The lock is flock(): it belongs to the open file, so two stores in
 * one process exclude each other as well, and it dies with its owner. The text inside is
 * for people only; a stale one means nothing. The file is never removed, because between
 * a removal and the next open two owners could each hold a file of that name. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"

#define HOLDER_MAX 256

static int fail(struct err *err, const char *what, const char *name)
{
    return err_set(err, errno == EACCES || errno == EPERM ? E_DENIED : E_IO, "%s %s: %s",
                   what, name, strerror(errno));
}

/* Makes the names in a directory durable. */
static int sync_dir(int fd, const char *dir, struct err *err)
{
    if (fsync(fd) == 0 || errno == EINVAL)
        return 0;
    return fail(err, "cannot write", dir);
}

static int open_dir(const char *dir, int *ret_fd, struct err *err)
{
    struct stat st;
    int fd;

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return fail(err, "cannot make", dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail(err, "cannot open", dir);
    if (fstat(fd, &st) < 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        (void)close(fd);
        return err_set(err, E_DENIED,
                       "%s can be written by others; its mode should be 0700", dir);
    }
    if (st.st_uid != geteuid()) { /* who could have it say that we run anything */
        (void)close(fd);
        return err_set(err, E_DENIED, "%s belongs to user %u, not to us", dir,
                       (unsigned)st.st_uid);
    }
    *ret_fd = fd;
    return 0;
}

static int open_file(const char *dir, const char *name, int *ret_fd, struct err *err)
{
    struct stat st;
    int dir_fd = -1;
    int fd;
    int rc = open_dir(dir, &dir_fd, err);

    if (rc < 0)
        return rc;
    fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                0600);
    rc = fd < 0 ? fail(err, "cannot open", name) : sync_dir(dir_fd, dir, err);
    if (rc == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        rc = err_set(err, E_CORRUPT, "%s/%s is not a regular file", dir, name);
    (void)close(dir_fd);
    if (rc < 0 && fd >= 0)
        (void)close(fd);
    if (rc == 0)
        *ret_fd = fd;
    return rc;
}

int lock_make_file(const char *dir, const char *name, struct err *err)
{
    int fd = -1;
    int rc = open_file(dir, name, &fd, err);

    if (rc == 0)
        (void)close(fd);
    return rc;
}

static int held_by(int fd, const char *dir, struct err *err)
{
    char text[HOLDER_MAX];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return err_set(err, E_BUSY, "%s is held by %s", dir, text[0] ? text : "somebody");
}

static int write_holder(int fd, const char *holder, struct err *err)
{
    char host[128] = "";
    char text[HOLDER_MAX];
    int n;

    (void)gethostname(host, sizeof host - 1);
    n = snprintf(text, sizeof text, "%.80s, pid %ld on %s\n", holder, (long)getpid(),
                 host);
    ASSERT(n > 0);
    ASSERT((size_t)n < sizeof text);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return fail(err, "cannot write", "lock");
    return 0;
}

int lock_take(const char *dir, const char *holder, struct err *err)
{
    int fd = -1;
    int rc = open_file(dir, "lock", &fd, err);

    if (rc < 0)
        return rc;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK ? held_by(fd, dir, err) : fail(err, "cannot lock", dir);
    else
        rc = write_holder(fd, holder, err);
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    return fd;
}
