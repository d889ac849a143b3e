/* SPDX-License-Identifier: Apache-2.0 */
/* lock.c - see lock.h. The lock is flock(): it belongs to the open file, so two stores in
 * one process exclude each other as well, and it dies with its owner. On a disk of this
 * machine the text inside is for people only; a stale one means nothing. The file is
 * never removed, because between a removal and the next open two owners could each hold a
 * file of that name.
 *
 * Other machines may have the same directory, and then flock() is what their mount makes
 * of it: perhaps nothing beyond each machine, perhaps not there at all. There the second
 * line of the text counts, "HOST BOOT PID". One that names another host is believed, for
 * nobody here can see whether that process lives; one of this host's earlier boot is
 * stale; one of this boot is stale when flock() gave us the lock, or, where there is no
 * flock(), when no process has that pid. */
#include "store/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text.h"

#define HOLDER_MAX 512
#define HOST_MAX   128
#define BOOT_MAX   64
#define BOOT_FILE  "/proc/sys/kernel/random/boot_id"

struct owner {
    char host[HOST_MAX];
    char boot[BOOT_MAX];
    int64_t pid;
};

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

int lock_make_dir(const char *dir, struct err *err)
{
    int fd = -1;
    int rc = open_dir(dir, &fd, err);

    if (rc == 0)
        (void)close(fd);
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

static void find_self(struct owner *ret)
{
    int fd = open(BOOT_FILE, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, ret->boot, sizeof ret->boot - 1);

    if (fd >= 0)
        (void)close(fd);
    ret->boot[n > 0 ? n : 0] = '\0';
    ret->boot[strcspn(ret->boot, " \n")] = '\0';
    if (!ret->boot[0])
        (void)snprintf(ret->boot, sizeof ret->boot, "unknown");
    ret->host[0] = ret->host[sizeof ret->host - 1] = '\0';
    (void)gethostname(ret->host, sizeof ret->host - 1);
    ret->host[strcspn(ret->host, " \n")] = '\0';
    if (!ret->host[0])
        (void)snprintf(ret->host, sizeof ret->host, "unknown");
    ret->pid = getpid();
}

static void read_text(int fd, char text[HOLDER_MAX])
{
    ssize_t n = pread(fd, text, HOLDER_MAX - 1, 0);

    text[n > 0 ? n : 0] = '\0';
}

/* Whose name the second line of the text has; false when it has none. */
static bool read_owner(const char *text, struct owner *ret)
{
    const char *host = strchr(text, '\n');
    size_t n_host = host ? strcspn(++host, " \n") : 0;
    const char *boot = host && host[n_host] == ' ' ? host + n_host + 1 : "";
    size_t n_boot = strcspn(boot, " \n");
    const char *pid = boot[n_boot] == ' ' ? boot + n_boot + 1 : "";

    if (n_host == 0 || n_host >= HOST_MAX || n_boot == 0 || n_boot >= BOOT_MAX ||
        text_parse_int(pid, strcspn(pid, "\n"), 1, INT32_MAX, &ret->pid, NULL) < 0)
        return false;
    memcpy(ret->host, host, n_host);
    ret->host[n_host] = '\0';
    memcpy(ret->boot, boot, n_boot);
    ret->boot[n_boot] = '\0';
    return true;
}

static int held_by(int fd, const char *dir, struct err *err)
{
    char text[HOLDER_MAX];

    read_text(fd, text);
    text[strcspn(text, "\n")] = '\0';
    return err_set(err, E_BUSY, "%s is held by %s", dir, text[0] ? text : "somebody");
}

/* What the text says where flock() cannot be relied on. */
static int check_owner(int fd, const char *dir, const char *network, bool has_flock,
                       struct err *err)
{
    struct owner self = {0};
    struct owner owner = {0};
    char text[HOLDER_MAX];

    read_text(fd, text);
    if (!read_owner(text, &owner))
        return 0;
    find_self(&self);
    if (strcmp(owner.host, self.host) != 0)
        return err_set(err, E_BUSY,
                       "%s is on %s and held by pid %lld on host %s (boot %s); stop it "
                       "there, or if that host is gone for good, remove %s/lock",
                       dir, network, (long long)owner.pid, owner.host, owner.boot, dir);
    if (!has_flock && strcmp(owner.boot, self.boot) == 0 && owner.pid != self.pid &&
        (kill((pid_t)owner.pid, 0) == 0 || errno == EPERM))
        return held_by(fd, dir, err);
    return 0;
}

static int write_holder(int fd, const char *holder, struct err *err)
{
    struct owner self = {0};
    char text[HOLDER_MAX];
    int n;

    find_self(&self);
    n = snprintf(text, sizeof text, "%.80s, pid %lld on %s, boot %s\n%s %s %lld\n",
                 holder, (long long)self.pid, self.host, self.boot, self.host, self.boot,
                 (long long)self.pid);
    ASSERT(n > 0);
    ASSERT((size_t)n < sizeof text);
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return fail(err, "cannot write", "lock");
    return 0;
}

/* Whether flock() is a thing that this file system does not have at all. */
static bool has_no_flock(int why)
{
    return why == ENOLCK || why == ENOSYS || why == EOPNOTSUPP || why == EINVAL;
}

static int take(int fd, const char *dir, const char *network, struct err *err)
{
    bool has_flock = flock(fd, LOCK_EX | LOCK_NB) == 0;

    if (!has_flock && errno == EWOULDBLOCK)
        return held_by(fd, dir, err);
    if (!has_flock && !(network && has_no_flock(errno)))
        return fail(err, "cannot lock", dir);
    return network ? check_owner(fd, dir, network, has_flock, err) : 0;
}

int lock_take(const char *dir, const char *holder, const char *network, struct err *err)
{
    int fd = -1;
    int rc = open_file(dir, "lock", &fd, err);

    if (rc < 0)
        return rc;
    rc = take(fd, dir, network, err);
    if (rc == 0)
        rc = write_holder(fd, holder, err);
    if (rc == 0 && network && fsync(fd) < 0) /* so that other machines see it */
        rc = fail(err, "cannot write", "lock");
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    return fd;
}

void lock_give(int fd)
{
    (void)!ftruncate(fd, 0);
    (void)close(fd);
}
