/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c - see guard.h. Four calls of stat() before a commit that waits for the disk.
 * What is removed between the look and the commit is noticed by the next commit. */
#include "store/guard.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/sql.h"

static const char *const names[GUARD_FILES] = {"lock", SQL_FILE, SQL_FILE "-wal",
                                               SQL_FILE "-shm"};

static int look(const char *dir, const char *name, struct stat *ret)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);

    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return stat(path, ret);
}

int guard_init(struct guard *guard, const char *dir, struct err *err)
{
    char path[PATH_MAX]; /* whole: the process may change its directory */

    *guard = (struct guard){.dir = mem_text(realpath(dir, path) ? path : dir)};
    if (!guard->dir)
        return err_set(err, E_NOMEM, "out of memory");
    for (int i = 0; i < GUARD_FILES; i++) {
        struct stat st;

        if (look(guard->dir, names[i], &st) == 0)
            guard->files[i] = (struct guard_file){true, st.st_dev, st.st_ino};
    }
    return 0;
}

void guard_release(struct guard *guard)
{
    mem_free(guard->dir);
    guard->dir = NULL;
}

int guard_check(const struct guard *guard, struct err *err)
{
    for (int i = 0; i < GUARD_FILES; i++) {
        const struct guard_file *file = &guard->files[i];
        struct stat st;

        if (!file->is_known)
            continue;
        if (look(guard->dir, names[i], &st) < 0)
            return err_set(err, E_IO,
                           "%s of the state directory %s is gone (%s); put it back, or "
                           "stop the daemon",
                           names[i], guard->dir, strerror(errno));
        if (st.st_dev != file->device || st.st_ino != file->inode)
            return err_set(err, E_IO,
                           "%s of the state directory %s is another file now; put the "
                           "first one back, or stop the daemon",
                           names[i], guard->dir);
    }
    return 0;
}
