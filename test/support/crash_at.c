/* SPDX-License-Identifier: Apache-2.0 */
/* crash_at.c - a library to preload: kills elastaned at its nth write.
 *
 * Counts what changes files of the daemon: pwrite, write to regular files, fsync,
 * fdatasync, rename. At call number ELASTANE_TEST_CRASH_AT, before it is carried out, the
 * process ends by SIGKILL. With ELASTANE_TEST_COUNT=FILE the number of calls so far is
 * kept in that file (8 bytes, native), so that a test knows how many there are. Programs
 * of other names are left alone, since children inherit the environment. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_llong calls;
static long long crash_at;
static _Atomic long long *shown;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("ELASTANE_TEST_CRASH_AT");
    const char *count = getenv("ELASTANE_TEST_COUNT");
    int fd;

    if (strcmp(program_invocation_short_name, "elastaned") != 0)
        return;
    crash_at = at ? strtoll(at, NULL, 10) : 0;
    fd = count ? open(count, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd < 0)
        return;
    if (ftruncate(fd, sizeof(long long)) == 0) {
        void *page =
            mmap(NULL, sizeof(long long), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        shown = page == MAP_FAILED ? NULL : page;
    }
    (void)close(fd);
}

static void note(void)
{
    long long n = atomic_fetch_add(&calls, 1) + 1;

    if (shown)
        atomic_store(shown, n);
    if (crash_at > 0 && n == crash_at) {
        (void)raise(SIGKILL);
        for (;;)
            (void)pause();
    }
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static int is_file(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* The same function under its two names; the headers turn one into the other. */
ssize_t pwrite_short(int fd, const void *bytes, size_t n, off_t at) __asm__("pwrite");

ssize_t pwrite_short(int fd, const void *bytes, size_t n, off_t at)
{
    ssize_t (*real)(int, const void *, size_t, off_t);

    *(void **)&real = next("pwrite");
    note();
    return real(fd, bytes, n, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off64_t at)
{
    ssize_t (*real)(int, const void *, size_t, off64_t);

    *(void **)&real = next("pwrite64");
    note();
    return real(fd, bytes, n, at);
}

ssize_t write(int fd, const void *bytes, size_t n)
{
    ssize_t (*real)(int, const void *, size_t);

    *(void **)&real = next("write");
    if (fd > 2 && is_file(fd))
        note();
    return real(fd, bytes, n);
}

int fsync(int fd)
{
    int (*real)(int);

    *(void **)&real = next("fsync");
    note();
    return real(fd);
}

int fdatasync(int fd)
{
    int (*real)(int);

    *(void **)&real = next("fdatasync");
    note();
    return real(fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    int (*real)(int, const char *, int, const char *);

    *(void **)&real = next("renameat");
    note();
    return real(from_dir, from, to_dir, to);
}
