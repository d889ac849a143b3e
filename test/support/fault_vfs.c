/* SPDX-License-Identifier: Apache-2.0 */
/* fault_vfs.c - see fault_vfs.h. The journal of undone writes keeps, for every write and
 * truncation since the file's last sync, what was there before. Since the power is only
 * cut here, a sync does no more than that, and tests do not wait for a disk. */
#include "support/fault_vfs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

struct file {
    sqlite3_file base;
    sqlite3_file *real; /* lies behind this struct */
};

struct undo {
    struct undo *older;
    sqlite3_file *real;
    sqlite3_int64 offset;
    sqlite3_int64 size; /* of the file before */
    int n;
    char bytes[];
};

static atomic_int fault;
static atomic_long countdown; /* the operation that makes it 0 is the first to fail */
static atomic_bool lasting;
static atomic_long n_faults;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct undo *newest;
static sqlite3_vfs *below;
static sqlite3_vfs vfs;

void fault_vfs_arm(enum fault_kind kind, long nth, bool is_lasting)
{
    atomic_store(&n_faults, 0);
    atomic_store(&countdown, nth);
    atomic_store(&lasting, is_lasting);
    atomic_store(&fault, (int)kind);
}

long fault_vfs_disarm(void)
{
    atomic_store(&fault, FAULT_NONE);
    return atomic_load(&n_faults);
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct file *)(void *)f)->real;
}

static void undo_all(void)
{
    for (struct undo *u = newest; u; u = u->older) {
        if (u->n > 0)
            (void)u->real->pMethods->xWrite(u->real, u->bytes, u->n, u->offset);
        (void)u->real->pMethods->xTruncate(u->real, u->size);
    }
}

/* Whether this operation is to fail; does not return in a crash. */
static bool is_struck(void)
{
    long left;

    if (atomic_load(&fault) == FAULT_NONE)
        return false;
    left = atomic_fetch_sub(&countdown, 1) - 1;
    if (left > 0 || (left < 0 && !atomic_load(&lasting)))
        return false;
    (void)atomic_fetch_add(&n_faults, 1);
    if (atomic_load(&fault) == FAULT_CRASH) {
        (void)pthread_mutex_lock(&mutex);
        undo_all();
        _exit(FAULT_VFS_STATUS);
    }
    return true;
}

/* Remembers what [offset, offset + n) holds. */
static void remember(sqlite3_file *real, sqlite3_int64 offset, int n)
{
    struct undo *u;
    sqlite3_int64 size = 0;

    (void)real->pMethods->xFileSize(real, &size);
    if (offset + n > size)
        n = offset < size ? (int)(size - offset) : 0;
    u = calloc(1, sizeof *u + (size_t)n);
    if (!u)
        abort();
    u->real = real;
    u->offset = offset;
    u->size = size;
    u->n = n;
    if (n > 0)
        (void)real->pMethods->xRead(real, u->bytes, n, offset);
    (void)pthread_mutex_lock(&mutex);
    u->older = newest;
    newest = u;
    (void)pthread_mutex_unlock(&mutex);
}

static void forget(const sqlite3_file *real)
{
    (void)pthread_mutex_lock(&mutex);
    for (struct undo **at = &newest; *at;) {
        struct undo *u = *at;

        if (u->real == real) {
            *at = u->older;
            free(u);
        } else {
            at = &u->older;
        }
    }
    (void)pthread_mutex_unlock(&mutex);
}

static int file_close(sqlite3_file *f)
{
    forget(real_of(f));
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int file_read(sqlite3_file *f, void *to, int n, sqlite3_int64 offset)
{
    return real_of(f)->pMethods->xRead(real_of(f), to, n, offset);
}

static int file_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 offset)
{
    if (is_struck())
        return SQLITE_FULL;
    remember(real_of(f), offset, n);
    return real_of(f)->pMethods->xWrite(real_of(f), from, n, offset);
}

static int file_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    sqlite3_int64 old = 0;

    (void)real_of(f)->pMethods->xFileSize(real_of(f), &old);
    if (old > size)
        remember(real_of(f), size, (int)(old - size));
    return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int file_sync(sqlite3_file *f, int flags)
{
    (void)flags;
    if (is_struck())
        return SQLITE_IOERR_FSYNC;
    forget(real_of(f));
    return SQLITE_OK;
}

static int file_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int file_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int file_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int file_check_lock(sqlite3_file *f, int *ret)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int file_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int file_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int file_traits(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int file_shm_map(sqlite3_file *f, int page, int size, int extend,
                        void volatile **ret)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, ret);
}

static int file_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void file_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int file_shm_unmap(sqlite3_file *f, int is_delete)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), is_delete);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* no memory-mapped reads */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

static int vfs_open(sqlite3_vfs *v, const char *path, sqlite3_file *f, int flags,
                    int *ret_flags)
{
    struct file *file = (struct file *)(void *)f;
    int code;

    (void)v;
    file->real = (sqlite3_file *)(void *)(file + 1);
    code = below->xOpen(below, path, file->real, flags, ret_flags);
    file->base.pMethods = file->real->pMethods ? &methods : NULL;
    return code;
}

void fault_vfs_register(void)
{
    if (below)
        return;
    below = sqlite3_vfs_find(NULL);
    vfs = *below;
    vfs.zName = FAULT_VFS_NAME;
    vfs.szOsFile = (int)sizeof(struct file) + below->szOsFile;
    vfs.xOpen = vfs_open;
    vfs.pNext = NULL;
    (void)sqlite3_vfs_register(&vfs, 0);
}
