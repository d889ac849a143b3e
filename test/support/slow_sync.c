/* SPDX-License-Identifier: Apache-2.0 */
/* slow_sync.c - a library to preload: a disk that takes its time.
 *
 * With ELASTANE_TEST_SLOW=PATH, fdatasync() of elastaned does not come back while there
 * is a file PATH.fdatasync, and fsync() none while there is PATH.fsync, as on a disk that
 * others keep busy. Programs of other names are left alone, since children inherit the
 * environment. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int fdatasync(int fd);
int fsync(int fd);

typedef int (*sync_fn)(int fd);

static int sync_slowly(const char *name, int fd)
{
    const char *path = getenv("ELASTANE_TEST_SLOW");
    const struct timespec look = {0, 5000000};
    char file[4096];
    sync_fn next;
    void *symbol = dlsym(RTLD_NEXT, name);

    memcpy(&next, &symbol, sizeof next);
    (void)snprintf(file, sizeof file, "%s.%s", path ? path : "", name);
    if (strcmp(program_invocation_short_name, "elastaned") == 0)
        while (path && access(file, F_OK) == 0)
            (void)nanosleep(&look, NULL);
    return next(fd);
}

int fdatasync(int fd)
{
    return sync_slowly("fdatasync", fd);
}

int fsync(int fd)
{
    return sync_slowly("fsync", fd);
}
