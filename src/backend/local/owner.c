/* SPDX-License-Identifier: Apache-2.0 */
/* owner.c - see owner.h.
 *
 * What a process of ours starts may drop its environment, but while its job lives it
 * descends from one that has not: the shim takes in what is orphaned. We read only the
 * environments that we may; a daemon that is not root may read those of its own jobs, and
 * has no others. A stranger who forges the name is at worst taken for a job's remainder,
 * and the device is withheld all the same. */
#include "backend/local/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

#define ENVIRON_MAX   ((size_t)1 << 20)
#define STAT_BYTES    512
#define DEPTH_MAX     64 /* ancestors looked at */
#define CHANNEL       "ELASTANE_CHANNEL="
#define JOB_ID        "ELASTANE_JOB_ID="
#define PROCESS_PATHS 64

/* At most cap bytes of a file below /proc/PID; -1 when it cannot be read. */
static ssize_t slurp(int32_t pid, const char *what, char *ret, size_t cap)
{
    char path[PROCESS_PATHS];
    size_t have = 0;
    ssize_t n = 0;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (have < cap) {
        n = read(fd, ret + have, cap - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    (void)close(fd);
    return n < 0 ? -1 : (ssize_t)have;
}

/* The value of a word "NAME=value" of the environment; NULL without. The whole ends with
 * a zero byte. */
static const char *find_word(const char *words, size_t len, const char *name)
{
    for (size_t at = 0; at < len; at += strlen(words + at) + 1)
        if (text_starts_with(words + at, name))
            return words + at + strlen(name);
    return NULL;
}

static bool is_below(const char *path, const char *dir)
{
    return dir && text_starts_with(path, dir) && path[strlen(dir)] == '/';
}

/* The job in whose environment the process lives; 0: none of ours. */
static uint32_t job_of_environ(int32_t pid, const char *state_dir, const char *run_dir,
                               char *words)
{
    ssize_t n = slurp(pid, "environ", words, ENVIRON_MAX - 1);
    const char *channel, *id;
    int64_t job = 0;

    if (n <= 0)
        return 0;
    words[n] = '\0';
    channel = find_word(words, (size_t)n, CHANNEL);
    id = find_word(words, (size_t)n, JOB_ID);
    if (!channel || !id ||
        (!is_below(channel, state_dir) && !is_below(channel, run_dir)) ||
        text_parse_int(id, strlen(id), 1, UINT32_MAX, &job, NULL) < 0)
        return 0;
    return (uint32_t)job;
}

/* 0: none, or it cannot be told. */
static int32_t parent_of(int32_t pid)
{
    char text[STAT_BYTES];
    ssize_t n = slurp(pid, "stat", text, sizeof(text) - 1);
    const char *after;
    long parent;

    if (n <= 0)
        return 0;
    text[n] = '\0';
    after = strrchr(text, ')'); /* the name before may have anything in it */
    if (!after || strlen(after) < sizeof(") S 1") - 1)
        return 0;
    parent = strtol(after + 3, NULL, 10);
    return parent > 0 && parent <= INT32_MAX ? (int32_t)parent : 0;
}

void owner_name(uint32_t uid, char ret[OWNER_NAME_BYTES])
{
    struct passwd entry;
    struct passwd *found = NULL;
    char text[4096];

    (void)snprintf(ret, OWNER_NAME_BYTES, "uid %u", uid);
    if (getpwuid_r(uid, &entry, text, sizeof(text), &found) == 0 && found)
        (void)snprintf(ret, OWNER_NAME_BYTES, "%s", found->pw_name);
}

void owner_find(int32_t pid, const char *state_dir, const char *run_dir,
                struct owner *ret)
{
    char *words = mem_new(ENVIRON_MAX, 1);
    char path[PROCESS_PATHS];
    struct stat st;

    *ret = (struct owner){0};
    (void)snprintf(path, sizeof(path), "/proc/%d", pid);
    ret->is_known = pid > 0 && stat(path, &st) == 0;
    if (ret->is_known)
        ret->uid = st.st_uid;
    for (int depth = 0; ret->is_known && words && pid > 1 && depth < DEPTH_MAX; depth++) {
        ret->job = job_of_environ(pid, state_dir, run_dir, words);
        if (ret->job != 0)
            break;
        pid = parent_of(pid);
    }
    mem_free(words);
}
