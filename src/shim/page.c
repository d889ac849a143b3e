/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - one mapping, read without locks.
 *
 * The writer of a slot is a process that may be killed at any instruction or write
 * nonsense; the worst that comes of it is a wrong number in a display or a dropped
 * measurement, because every value is range-checked where it is used. */
#include "shim/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/assert.h"

int page_create(struct page *page, int dir_fd, const char *name, int32_t n_slots,
                uint32_t generation, struct err *err)
{
    size_t len = RANK_PAGE_HEAD + (size_t)n_slots * RANK_SLOT_BYTES;
    struct rank_page_head *head;
    void *bytes = MAP_FAILED;
    int fd;

    (void)unlinkat(dir_fd, name, 0);
    fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)len) == 0)
        bytes = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return err_set(err, E_IO, "cannot make the shared page: %s", strerror(errno));
    head = bytes;
    *head = (struct rank_page_head){RANK_PAGE_MAGIC, RANK_PAGE_LAYOUT, (uint32_t)n_slots,
                                    generation};
    page->bytes = bytes;
    page->len = len;
    page->n_slots = n_slots;
    return 0;
}

void page_release(struct page *page)
{
    if (page->bytes)
        (void)munmap(page->bytes, page->len);
    *page = (struct page){0};
}

struct rank_slot *page_slot(const struct page *page, int32_t index)
{
    ASSERT(index >= 0);
    ASSERT(index < page->n_slots);
    return (void *)(page->bytes + RANK_PAGE_HEAD + (size_t)index * RANK_SLOT_BYTES);
}

void page_notify(struct rank_slot *slot)
{
    (void)atomic_fetch_add_explicit(&slot->notices, 1, memory_order_release);
}

void page_drain(struct rank_slot *slot, uint64_t *taken, struct observe *observe)
{
    uint64_t n = atomic_load_explicit(&slot->n_observed, memory_order_acquire);

    if (n < *taken) { /* a new process took the slot over */
        *taken = n;
        return;
    }
    if (n - *taken > RANK_OBSERVED_CAP)
        *taken = n - RANK_OBSERVED_CAP;
    for (; *taken < n; (*taken)++) {
        struct rank_observed *seen = &slot->observed[*taken % RANK_OBSERVED_CAP];
        uint32_t what = atomic_load_explicit(&seen->what, memory_order_relaxed);
        uint32_t micro = atomic_load_explicit(&seen->micro_batch, memory_order_relaxed);
        int64_t time_ns = atomic_load_explicit(&seen->time_ns, memory_order_relaxed);

        if (what < SHIM_OBSERVED_MAX && micro <= INT32_MAX)
            observe_add(observe, (enum shim_observed)what, (int32_t)micro, time_ns);
    }
}
