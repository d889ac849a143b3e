/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - see folder.h.
 *
 * The lock decides between daemon and shim. A shim keeps it for its life; the kernel
 * drops it when the shim is gone. It is a lock on the directory itself, so that a job
 * that clears the directory cannot take it away, and one on the file `lock`, which is all
 * there is where a file system cannot lock directories (NFS). We take it only for an
 * instant, to look or to write an end; a shim that begins in that instant says
 * "already-running", leaves, and is started again by the next look. What the job has made
 * unreadable counts as if its shim had left nothing: nobody waits for a file to heal.
 * Files become valid by rename, and nothing is synced: that may take as long as the disk
 * is busy, and this is the thread that answers everybody. What a crash of the machine
 * takes is written again, for the journal knows what was ordered; a shim syncs its order
 * before it says that it has started. An order is written before the folder becomes the
 * user's, so nobody else can have chosen it. */
#include "backend/local/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define NAME_BYTES 24

static int fail(struct err *err, const char *what, const char *name)
{
    int rc = E_IO;

    if (errno == ENOENT || errno == ENOTDIR)
        rc = E_NOTFOUND;
    else if (errno == EACCES || errno == EPERM)
        rc = E_DENIED;
    return err_set(err, rc, "cannot %s %s: %s", what, name, strerror(errno));
}

const char *folder_path(uint32_t job, uint32_t incarnation, char text[FOLDER_PATH_BYTES])
{
    (void)snprintf(text, FOLDER_PATH_BYTES, "jobs/%u/%u", job, incarnation);
    return text;
}

static int open_dir_at(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return fail(err, "open", name);
    *ret_fd = fd;
    return 0;
}

static int make_dir_at(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
    if (mkdirat(dir_fd, name, 0700) < 0 && errno != EEXIST)
        return fail(err, "make", name);
    return open_dir_at(dir_fd, name, ret_fd, err);
}

/* A directory of a job, whose mode the job may have taken from itself and from us. */
static int open_job_dir_at(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
    int rc = open_dir_at(dir_fd, name, ret_fd, err);

    if (rc == E_DENIED && fchmodat(dir_fd, name, 0700, 0) == 0)
        rc = open_dir_at(dir_fd, name, ret_fd, err);
    return rc;
}

int folder_open_jobs(const char *state_dir, int *ret_fd, struct err *err)
{
    int dir_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc;

    if (dir_fd < 0)
        return fail(err, "open", state_dir);
    rc = make_dir_at(dir_fd, "jobs", ret_fd, err);
    (void)close(dir_fd);
    return rc;
}

int folder_renew(int dir_fd, const char *name, struct err *err)
{
    int state_fd = openat(dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = -1;
    int rc;

    if (state_fd < 0)
        return fail(err, "find the state of", name);
    rc = make_dir_at(state_fd, name, &fd, err);
    if (rc == 0 && (fsync(state_fd) < 0 || dup3(fd, dir_fd, O_CLOEXEC) < 0))
        rc = fail(err, "make", name);
    if (fd >= 0)
        (void)close(fd);
    (void)close(state_fd);
    return rc;
}

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

/* Whole as it was, or whole as it is. */
static int write_file(int dir_fd, const char *name, const struct buf *text,
                      struct err *err)
{
    char temporary[NAME_BYTES];
    int rc = buf_error(text);
    int fd;

    if (rc < 0)
        return err_set(err, rc, "%s cannot be written: %s", name, err_name(rc));
    (void)snprintf(temporary, sizeof(temporary), ".%s.new", name);
    (void)unlinkat(dir_fd, temporary, 0);
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0)
        return fail(err, "make", temporary);
    if (write_all(fd, text->text, text->len) < 0)
        rc = fail(err, "write", name);
    if (close(fd) < 0 && rc == 0)
        rc = fail(err, "write", name);
    if (rc == 0 && renameat(dir_fd, temporary, dir_fd, name) < 0)
        rc = fail(err, "write", name);
    if (rc < 0)
        (void)unlinkat(dir_fd, temporary, 0);
    return rc;
}

static int read_file(int dir_fd, const char *name, struct buf *out, struct err *err)
{
    char chunk[4096];
    struct stat st;
    ssize_t n = 0;
    int rc = 0;
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return fail(err, "open", name);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(err, E_CORRUPT, "%s is not a file", name);
    while (rc == 0 && (n = read(fd, chunk, sizeof(chunk))) > 0) {
        buf_add(out, chunk, (size_t)n);
        rc = buf_error(out);
    }
    if (n < 0)
        rc = fail(err, "read", name);
    (void)close(fd);
    return rc;
}

static bool is_root(void)
{
    return geteuid() == 0;
}

static int give_away(int fd, const struct order *order, const char *name, struct err *err)
{
    if (is_root() && fchown(fd, order->uid, order->gid) < 0)
        return fail(err, "give away", name);
    return 0;
}

/* A file for the job's user. */
static int write_theirs(int dir_fd, const struct order *order, const char *name,
                        const struct buf *text, struct err *err)
{
    int rc = write_file(dir_fd, name, text, err);
    int fd;

    if (rc < 0)
        return rc;
    fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail(err, "open", name);
    rc = give_away(fd, order, name, err);
    (void)close(fd);
    return rc;
}

/* The environment first: an order is carried out by whoever finds it. */
static int write_order(int dir_fd, const struct order *order, struct err *err)
{
    struct buf text;
    int rc = 0;

    buf_init(&text, ORDER_TEXT_MAX);
    if (order->has_env_file) {
        order_words_encode(&order->env, &text);
        rc = write_theirs(dir_fd, order, ORDER_ENV, &text, err);
        buf_clear(&text);
    }
    if (rc == 0) {
        order_encode(order, &text);
        rc = write_theirs(dir_fd, order, ORDER_FILE, &text, err);
    }
    buf_release(&text);
    return rc;
}

/* The job's own directory of checkpoints, shared by its incarnations. */
static int make_checkpoints(int job_fd, const struct order *order, struct err *err)
{
    int fd = -1;
    int rc = make_dir_at(job_fd, "checkpoints", &fd, err);

    if (rc == 0) {
        rc = give_away(fd, order, "checkpoints", err);
        (void)close(fd);
    }
    return rc;
}

static int make_incarnation(int job_fd, const struct order *order, struct err *err)
{
    char name[NAME_BYTES];
    int fd = -1;
    int rc;

    (void)snprintf(name, sizeof(name), "%u", order->incarnation);
    rc = make_dir_at(job_fd, name, &fd, err);
    if (rc < 0)
        return rc;
    rc = write_order(fd, order, err);
    if (rc == 0)
        rc = give_away(fd, order, name, err);
    (void)close(fd);
    return rc;
}

int folder_make(int jobs_fd, const struct order *order, struct err *err)
{
    char name[NAME_BYTES];
    int job_fd = -1;
    int rc;

    (void)snprintf(name, sizeof(name), "%u", order->job);
    rc = make_dir_at(jobs_fd, name, &job_fd, err);
    if (rc < 0)
        return rc;
    /* Users pass through to what is theirs, and list nothing. */
    if (is_root() && fchmod(job_fd, 0711) < 0)
        rc = fail(err, "open", name);
    if (rc == 0)
        rc = make_checkpoints(job_fd, order, err);
    if (rc == 0)
        rc = make_incarnation(job_fd, order, err);
    (void)close(job_fd);
    return rc;
}

/* Whether the name is of a file that daemon or shim have made. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {
        ORDER_FILE,    ORDER_ENV,  ORDER_LOCK,     ORDER_STARTED,      ORDER_EXIT,
        ORDER_CHANNEL, ORDER_PAGE, ORDER_SHIM_LOG, ORDER_SHIM_LOG ".1"};
    size_t n = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return n > 9 && strncmp(name, "rank-", 5) == 0 && strcmp(name + n - 4, ".log") == 0;
}

typedef void (*entry_fn)(int dir_fd, const char *name);

static void each_entry(int dir_fd, entry_fn fn)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    while (dir && (entry = readdir(dir)))
        fn(dir_fd, entry->d_name);
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        (void)close(fd);
}

static void forget_file(int dir_fd, const char *name)
{
    if (is_ours(name))
        (void)unlinkat(dir_fd, name, 0);
}

static void forget_incarnation(int job_fd, const char *name)
{
    int64_t number = 0;
    int fd = -1;

    if (text_parse_int(name, strlen(name), 1, UINT32_MAX, &number, NULL) < 0 ||
        open_job_dir_at(job_fd, name, &fd, NULL) < 0)
        return;
    each_entry(fd, forget_file);
    (void)close(fd);
    (void)unlinkat(job_fd, name, AT_REMOVEDIR);
}

void folder_forget(int jobs_fd, uint32_t job)
{
    char name[NAME_BYTES];
    int fd = -1;

    (void)snprintf(name, sizeof(name), "%u", job);
    if (open_job_dir_at(jobs_fd, name, &fd, NULL) < 0)
        return;
    each_entry(fd, forget_incarnation);
    (void)unlinkat(fd, "checkpoints", AT_REMOVEDIR); /* only when it is empty */
    (void)close(fd);
    (void)unlinkat(jobs_fd, name, AT_REMOVEDIR);
}

char *folder_channel(const char *run_dir, uint32_t job, uint32_t incarnation)
{
    size_t cap = strlen(run_dir) + 2 * NAME_BYTES;
    char *path = mem_new(cap, 1);

    if (path)
        (void)snprintf(path, cap, "%s/%u-%u", run_dir, job, incarnation);
    return path;
}

int folder_make_channel(const struct order *order, struct err *err)
{
    int fd = -1;
    int rc = make_dir_at(AT_FDCWD, order->channel_dir, &fd, err);

    if (rc < 0)
        return rc == E_NOTFOUND ? err_set(err, E_IO, "%s is gone", order->channel_dir)
                                : rc;
    rc = give_away(fd, order, order->channel_dir, err);
    (void)close(fd);
    return rc;
}

void folder_drop_channel(const char *run_dir, uint32_t job, uint32_t incarnation)
{
    char *path = folder_channel(run_dir, job, incarnation);
    int fd = -1;

    if (!path || open_dir_at(AT_FDCWD, path, &fd, NULL) < 0) {
        mem_free(path);
        return;
    }
    (void)unlinkat(fd, ORDER_CHANNEL, 0);
    (void)unlinkat(fd, ORDER_PAGE, 0);
    (void)close(fd);
    (void)rmdir(path);
    mem_free(path);
}

int folder_newest_job(int jobs_fd, uint32_t *ret, struct err *err)
{
    int fd = openat(jobs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    *ret = 0;
    if (!dir) {
        int rc = fail(err, "list", "jobs");

        if (fd >= 0)
            (void)close(fd);
        return rc;
    }
    while ((entry = readdir(dir))) {
        int64_t job = 0;

        if (text_parse_int(entry->d_name, strlen(entry->d_name), 1, UINT32_MAX, &job,
                           NULL) == 0 &&
            job > *ret)
            *ret = (uint32_t)job;
    }
    (void)closedir(dir);
    return 0;
}

int folder_open(int jobs_fd, uint32_t job, uint32_t incarnation, int *ret_fd,
                struct err *err)
{
    char name[NAME_BYTES];
    int job_fd = -1;
    int rc;

    (void)snprintf(name, sizeof(name), "%u", job);
    rc = open_job_dir_at(jobs_fd, name, &job_fd, err);
    if (rc < 0)
        return rc;
    (void)snprintf(name, sizeof(name), "%u", incarnation);
    rc = open_job_dir_at(job_fd, name, ret_fd, err);
    (void)close(job_fd);
    return rc;
}

void folder_drop_env(int jobs_fd, uint32_t job, uint32_t incarnation)
{
    int fd = -1;

    if (folder_open(jobs_fd, job, incarnation, &fd, NULL) < 0)
        return;
    (void)unlinkat(fd, ORDER_ENV, 0);
    (void)close(fd);
}

static bool has_file(int dir_fd, const char *name)
{
    struct stat st;

    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static bool is_locked(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

/* Takes the lock, which is given back by closing both descriptors; E_BUSY when a shim has
 * it. *ret_fd stays -1 when the file cannot be had and the directory could. */
static int take_lock(int dir_fd, int *ret_fd, struct err *err)
{
    bool has_dir = flock(dir_fd, LOCK_EX | LOCK_NB) == 0;
    int rc = 0;
    int fd;

    if (!has_dir && errno == EWOULDBLOCK)
        return err_set(err, E_BUSY, "a shim holds the directory");
    fd = openat(dir_fd, ORDER_LOCK,
                O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return has_dir ? 0 : fail(err, "open", ORDER_LOCK);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        rc = errno == EWOULDBLOCK ? err_set(err, E_BUSY, "a shim holds the lock")
                                  : fail(err, "lock", ORDER_LOCK);
    if (rc < 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return rc;
}

/* A file that is not there, or that the job has made into something else, says nothing:
 * the directory does. We make none, for a lock file must be the shim's to take. */
static bool is_held(int dir_fd)
{
    bool held = is_locked(dir_fd);
    int fd;

    (void)flock(dir_fd, LOCK_UN);
    if (held)
        return true;
    fd = openat(dir_fd, ORDER_LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    held = is_locked(fd);
    (void)close(fd);
    return held;
}

static int read_exit(int dir_fd, struct order_exit *ret, struct err *err)
{
    struct order_exit record;
    struct buf text;
    int rc;

    buf_init(&text, ORDER_TEXT_MAX);
    rc = read_file(dir_fd, ORDER_EXIT, &text, err);
    if (rc == 0)
        rc = order_exit_decode(text.text, text.len, ret ? ret : &record, err);
    buf_release(&text);
    return rc;
}

static int look(int dir_fd, enum folder_sign *ret, struct order_exit *ret_exit,
                struct err *err)
{
    bool held = is_held(dir_fd);
    bool has_end = has_file(dir_fd, ORDER_EXIT);
    int rc = has_end ? read_exit(dir_fd, ret_exit, err) : E_NOTFOUND;

    if (rc == E_NOMEM)
        return rc;
    if (rc == 0)
        *ret = FOLDER_ENDED;
    else if (held)
        *ret = FOLDER_HELD;
    else if (has_end || has_file(dir_fd, ORDER_STARTED))
        *ret = FOLDER_BROKEN;
    else
        *ret = has_file(dir_fd, ORDER_FILE) ? FOLDER_ORDERED : FOLDER_EMPTY;
    err_clear(err);
    return 0;
}

int folder_look(int jobs_fd, uint32_t job, uint32_t incarnation, enum folder_sign *ret,
                struct order_exit *ret_exit, struct err *err)
{
    int dir_fd = -1;
    int rc = folder_open(jobs_fd, job, incarnation, &dir_fd, err);

    if (rc == E_NOTFOUND) {
        *ret = FOLDER_EMPTY;
        return 0;
    }
    if (rc < 0)
        return rc;
    rc = look(dir_fd, ret, ret_exit, err);
    (void)close(dir_fd);
    return rc;
}

int folder_close(int jobs_fd, const struct order_exit *record, struct err *err)
{
    struct buf text;
    int dir_fd = -1;
    int lock_fd = -1;
    int rc = folder_open(jobs_fd, record->job, record->incarnation, &dir_fd, err);

    if (rc < 0)
        return rc;
    rc = take_lock(dir_fd, &lock_fd, err);
    if (rc == 0 && !has_file(dir_fd, ORDER_EXIT)) {
        buf_init(&text, ORDER_TEXT_MAX);
        order_exit_encode(record, &text);
        rc = write_file(dir_fd, ORDER_EXIT, &text, err);
        buf_release(&text);
    }
    if (lock_fd >= 0)
        (void)close(lock_fd);
    (void)close(dir_fd);
    return rc;
}
