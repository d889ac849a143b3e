/* SPDX-License-Identifier: Apache-2.0 */
/* other_world.c - a library to preload: another file system, another boot.
 *
 * With ELASTANE_TEST_NETWORK=DIR, statfs() says NFS of DIR and all below. With
 * ELASTANE_TEST_BOOT=FILE, whoever opens the kernel's boot id gets FILE. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#define BOOT_FILE "/proc/sys/kernel/random/boot_id"
#define NFS_TYPE  0x6969

int statfs(const char *path, struct statfs *ret);
int open(const char *path, int flags, ...);

int statfs(const char *path, struct statfs *ret)
{
    const char *dir = getenv("ELASTANE_TEST_NETWORK");
    int (*next)(const char *, struct statfs *);
    void *symbol = dlsym(RTLD_NEXT, "statfs");
    int rc;

    memcpy(&next, &symbol, sizeof next);
    rc = next(path, ret);
    if (rc == 0 && dir && strncmp(path, dir, strlen(dir)) == 0)
        ret->f_type = NFS_TYPE;
    return rc;
}

int open(const char *path, int flags, ...)
{
    const char *boot = getenv("ELASTANE_TEST_BOOT");
    int (*next)(const char *, int, ...);
    void *symbol = dlsym(RTLD_NEXT, "open");
    mode_t mode = 0;
    va_list args;

    va_start(args, flags);
    if (flags & (O_CREAT | O_TMPFILE))
        mode = va_arg(args, mode_t);
    va_end(args);
    memcpy(&next, &symbol, sizeof next);
    return next(boot && strcmp(path, BOOT_FILE) == 0 ? boot : path, flags, mode);
}
