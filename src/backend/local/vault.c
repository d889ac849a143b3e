/* SPDX-License-Identifier: Apache-2.0 */
/* vault.c - see vault.h. */
#include "backend/local/vault.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/folder.h"
#include "base/mem.h"
#include "base/text.h"

#define NAME_BYTES (LAUNCH_KEY + 1)

static int fail(struct err *err, const char *what)
{
    int code = errno == ENOENT ? E_NOTFOUND : errno == EACCES ? E_DENIED : E_IO;

    return err_set(err, code, "cannot %s the environment of a job: %s", what,
                   strerror(errno));
}

int vault_open(struct vault *vault, const char *state_dir, struct err *err)
{
    int dir_fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = 0;

    *vault = (struct vault){.dir_fd = -1};
    (void)pthread_mutex_init(&vault->lock, NULL);
    if (dir_fd < 0)
        return fail(err, "keep");
    if (mkdirat(dir_fd, "env", 0700) == 0 || errno == EEXIST)
        vault->dir_fd =
            openat(dir_fd, "env", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (vault->dir_fd < 0 || fchmod(vault->dir_fd, 0700) < 0 || fsync(dir_fd) < 0)
        rc = fail(err, "keep");
    (void)close(dir_fd);
    return rc;
}

void vault_close(struct vault *vault)
{
    for (size_t i = 0; i < vault->n_waiting; i++)
        buf_release(&vault->waiting[i].values);
    mem_free(vault->waiting);
    if (vault->dir_fd >= 0)
        (void)close(vault->dir_fd);
    (void)pthread_mutex_destroy(&vault->lock);
    *vault = (struct vault){.dir_fd = -1};
}

static int make_key(char ret[LAUNCH_KEY + 1])
{
    unsigned char bytes[LAUNCH_KEY / 2];

    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return E_IO;
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int wait_for_disk(struct vault *vault, const struct vault_entry *entry)
{
    void *entries;
    int rc;

    (void)pthread_mutex_lock(&vault->lock);
    entries = vault->waiting;
    rc = mem_reserve(&entries, &vault->cap_waiting, vault->n_waiting + 1, sizeof(*entry));
    vault->waiting = entries;
    if (rc == 0)
        vault->waiting[vault->n_waiting++] = *entry;
    vault->writing[0] = '\0';
    (void)pthread_mutex_unlock(&vault->lock);
    return rc;
}

int vault_put(struct vault *vault, struct buf *values, char ret_key[LAUNCH_KEY + 1],
              struct err *err)
{
    struct vault_entry entry = {.values = *values};
    int rc = make_key(entry.key);

    if (rc < 0)
        return fail(err, "name");
    rc = wait_for_disk(vault, &entry);
    if (rc < 0)
        return err_set(err, rc, "out of memory");
    memcpy(ret_key, entry.key, sizeof(entry.key));
    buf_init(values, values->max);
    return 0;
}

/* The newest of them; false: none is left. */
static bool take_waiting(struct vault *vault, struct vault_entry *ret)
{
    bool has_one;

    (void)pthread_mutex_lock(&vault->lock);
    has_one = vault->n_waiting > 0;
    if (has_one) {
        *ret = vault->waiting[--vault->n_waiting];
        memcpy(vault->writing, ret->key, sizeof(ret->key));
        vault->is_dropped = false;
    }
    (void)pthread_mutex_unlock(&vault->lock);
    return has_one;
}

static int create(const struct vault *vault, const char *key)
{
    return openat(vault->dir_fd, key, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static int write_entry(struct vault *vault, const struct vault_entry *entry,
                       struct err *err)
{
    const struct buf *values = &entry->values;
    int fd = create(vault, entry->key);
    size_t done = 0;
    int rc = 0;

    if (fd < 0 && errno == ENOENT && folder_renew(vault->dir_fd, "env", NULL) == 0)
        fd = create(vault, entry->key);
    if (fd < 0)
        return fail(err, "keep");
    while (rc == 0 && done < values->len) {
        ssize_t n = write(fd, values->text + done, values->len - done);

        if (n < 0 && errno != EINTR)
            rc = fail(err, "keep");
        done += n > 0 ? (size_t)n : 0;
    }
    if (rc == 0 && fdatasync(fd) < 0)
        rc = fail(err, "keep");
    (void)close(fd);
    return rc;
}

static void finish_writing(struct vault *vault, const struct vault_entry *entry)
{
    (void)pthread_mutex_lock(&vault->lock);
    if (vault->is_dropped)
        (void)unlinkat(vault->dir_fd, entry->key, 0);
    vault->writing[0] = '\0';
    (void)pthread_mutex_unlock(&vault->lock);
}

int vault_sync(struct vault *vault, struct err *err)
{
    struct vault_entry entry;
    bool has_any = false;

    while (take_waiting(vault, &entry)) {
        int rc = write_entry(vault, &entry, err);

        has_any = true;
        if (rc < 0 && wait_for_disk(vault, &entry) == 0)
            return rc; /* again, with the next try */
        finish_writing(vault, &entry);
        buf_release(&entry.values);
        if (rc < 0)
            return rc;
    }
    if (has_any && fdatasync(vault->dir_fd) < 0)
        return fail(err, "keep");
    return 0;
}

static void name_of(uint32_t job, char ret[NAME_BYTES])
{
    (void)snprintf(ret, NAME_BYTES, "%" PRIu32, job);
}

void vault_settle(struct vault *vault, const char *key, uint32_t job)
{
    char name[NAME_BYTES];

    name_of(job, name);
    (void)renameat(vault->dir_fd, key, vault->dir_fd, name);
}

static int read_values(int fd, struct buf *out, struct err *err)
{
    char piece[4096];
    ssize_t n;

    while ((n = read(fd, piece, sizeof(piece))) > 0)
        buf_add(out, piece, (size_t)n);
    return n < 0 ? fail(err, "read") : buf_error(out);
}

int vault_get(const struct vault *vault, uint32_t job, const char *key, struct buf *out,
              struct err *err)
{
    char name[NAME_BYTES];
    int fd;
    int rc;

    name_of(job, name);
    fd = openat(vault->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        fd = openat(vault->dir_fd, key, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return fail(err, "read");
    rc = read_values(fd, out, err);
    (void)close(fd);
    return rc;
}

void vault_drop(struct vault *vault, uint32_t job)
{
    char name[NAME_BYTES];

    name_of(job, name);
    (void)unlinkat(vault->dir_fd, name, 0);
}

void vault_drop_key(struct vault *vault, const char *key)
{
    size_t kept = 0;

    (void)pthread_mutex_lock(&vault->lock);
    for (size_t i = 0; i < vault->n_waiting; i++) {
        if (strcmp(vault->waiting[i].key, key) == 0)
            buf_release(&vault->waiting[i].values);
        else
            vault->waiting[kept++] = vault->waiting[i];
    }
    vault->n_waiting = kept;
    if (strcmp(vault->writing, key) == 0)
        vault->is_dropped = true;
    (void)unlinkat(vault->dir_fd, key, 0);
    (void)pthread_mutex_unlock(&vault->lock);
}

static void settle_live(struct vault *vault, const struct job *job)
{
    const char *text = job->spec.launch;
    struct launch_request launch;

    launch_init(&launch);
    if (text && launch_decode(text, strlen(text), &launch, NULL) == 0 && launch.vault)
        vault_settle(vault, launch.vault, job->spec.id);
    launch_release(&launch);
}

static bool is_wanted(const char *name, const struct core *core)
{
    int64_t job = 0;

    return text_parse_int(name, strlen(name), 1, UINT32_MAX, &job, NULL) == 0 &&
           core_find_job(core, (uint32_t)job);
}

void vault_sweep(struct vault *vault, const struct core *core)
{
    int fd = openat(vault->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    for (size_t i = 0; i < core_n_jobs(core); i++)
        settle_live(vault, core_job_at(core, i));
    if (!dir) {
        if (fd >= 0)
            (void)close(fd);
        return;
    }
    while ((entry = readdir(dir)))
        if (entry->d_name[0] != '.' && !is_wanted(entry->d_name, core))
            (void)unlinkat(vault->dir_fd, entry->d_name, 0);
    (void)closedir(dir);
}
