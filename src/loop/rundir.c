/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.c - see rundir.h.
 *
 * Shims and ranks of an earlier daemon know the path that it had, so that one comes
 * first, whatever the environment says now. A place in /tmp may have been made by anybody
 * before us: nothing is used that is not a directory of ours, closed to all others, and
 * not reached through a link. */
#include "loop/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

#define NOTE "run"

static mode_t mode_wanted(void)
{
    return geteuid() == 0 ? 0711 : 0700;
}

static int make_ours(const char *path, struct err *err)
{
    struct stat st;

    if (mkdir(path, mode_wanted()) < 0 && errno != EEXIST)
        return err_set(err, errno == EACCES ? E_DENIED : E_IO, "cannot make %s: %s", path,
                       strerror(errno));
    if (lstat(path, &st) < 0)
        return err_set(err, E_IO, "cannot look at %s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return err_set(err, E_DENIED,
                       "%s is not a directory that only we can write; remove it", path);
    return 0;
}

/* The directory `path`, and the one above it when its name ends as ours do. */
static int try_path(const char *path, struct err *err)
{
    char above[PATH_MAX];
    char *slash;
    int n = snprintf(above, sizeof(above), "%s", path);

    if (n < 0 || (size_t)n >= sizeof(above) || path[0] != '/')
        return err_set(err, E_LIMIT, "%s is no path for sockets", path);
    slash = strrchr(above, '/');
    *slash = '\0';
    if (slash == above || make_ours(above, err) < 0)
        return err->code ? err->code : E_DENIED;
    return make_ours(path, err);
}

static bool read_note(const char *state_dir, char *ret, size_t cap)
{
    char path[PATH_MAX];
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/" NOTE, state_dir);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, ret, cap - 1);
    (void)close(fd);
    ret[n > 0 ? n : 0] = '\0';
    ret[strcspn(ret, "\n")] = '\0';
    return ret[0] == '/';
}

static int write_note(const char *state_dir, const char *run_dir, struct err *err)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX + 8];
    bool is_written;
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/" NOTE, state_dir);
    (void)snprintf(temporary, sizeof(temporary), "%s.new", path);
    out = fopen(temporary, "we");
    is_written = out && fprintf(out, "%s\n", run_dir) > 0;
    if (out)
        is_written = fclose(out) == 0 && is_written;
    if (!is_written || rename(temporary, path) < 0)
        return err_set(err, E_IO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* The nth place for such directories; false when there are no more. An empty one is
 * passed over. */
static bool base_of(int nth, char *ret, size_t cap)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    unsigned uid = (unsigned)geteuid();

    ret[0] = '\0';
    if (uid == 0) {
        (void)snprintf(ret, cap, "/run/elastane");
        return nth == 0;
    }
    if (nth == 0 && runtime && runtime[0] == '/')
        (void)snprintf(ret, cap, "%s/elastane", runtime);
    else if (nth == 1)
        (void)snprintf(ret, cap, "/run/user/%u/elastane", uid);
    else if (nth == 2)
        (void)snprintf(ret, cap, "/tmp/elastane-%u", uid);
    return nth <= 2;
}

int rundir_open(const char *state_dir, char *ret, size_t cap, struct err *err)
{
    char base[PATH_MAX / 2];
    struct digest digest;
    struct err why = {0};
    int rc = E_IO;

    if (read_note(state_dir, ret, cap) && try_path(ret, &why) == 0)
        return 0;
    digest_init(&digest);
    digest_add_text(&digest, state_dir);
    for (int i = 0; rc < 0 && base_of(i, base, sizeof(base)); i++) {
        err_clear(&why);
        if (!base[0])
            continue;
        if (snprintf(ret, cap, "%s/%016llx", base, (unsigned long long)digest.value) >=
            (int)cap)
            return err_set(err, E_LIMIT, "%s is too long for sockets", base);
        rc = try_path(ret, &why);
    }
    if (rc < 0)
        return err_set(err, rc, "no place for sockets: %s", why.text);
    return write_note(state_dir, ret, err);
}
