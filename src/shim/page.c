/* SPDX-License-Identifier: Apache-2.0 */
/* page.c - a file that ranks map and we read.
 *
 * The file is the job's, who may cut it short at any time, and memory that is mapped to
 * what is no longer there kills who touches it. So only ranks map it; a slot is read by
 * pread() and `notices`, which we alone write, by pwrite(): the kernel shows both sides
 * the same bytes, and a short file only means a slot of zeros. A beat reads each slot
 * once, so this costs nothing that could be noticed.
 *
 * The writer of a slot is a process that may be killed at any instruction or write
 * nonsense; the worst that comes of it is a wrong number in a display or a dropped
 * measurement, because every value is range-checked where it is used. */
#include "shim/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

static off_t place(int32_t index)
{
    return RANK_PAGE_HEAD + (off_t)index * RANK_SLOT_BYTES;
}

/* The file, as long as it has to be, so that no rank runs into a full disk. */
static int make_file(int dir_fd, const char *name, off_t len,
                     const struct rank_page_head *head)
{
    int fd;
    int code;

    (void)unlinkat(dir_fd, name, 0);
    fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    code = posix_fallocate(fd, 0, len);
    if (code == 0 && pwrite(fd, head, sizeof(*head), 0) != (ssize_t)sizeof(*head))
        code = errno;
    if (code == 0)
        return fd;
    (void)close(fd);
    errno = code;
    return -1;
}

int page_create(struct page *page, int dir_fd, const char *name, int32_t n_slots,
                uint32_t generation, struct err *err)
{
    const struct rank_page_head head = {RANK_PAGE_MAGIC, RANK_PAGE_LAYOUT,
                                        (uint32_t)n_slots, generation};
    struct rank_slot *slot = mem_new(1, sizeof(*slot));
    uint32_t *notices = mem_new((size_t)n_slots, sizeof(*notices));
    int fd = -1;
    int rc = 0;

    if (!slot || !notices)
        rc = err_set(err, E_NOMEM, "out of memory");
    if (rc == 0)
        fd = make_file(dir_fd, name, place(n_slots), &head);
    if (rc == 0 && fd < 0)
        rc = err_set(err, E_IO, "cannot make the shared page: %s", strerror(errno));
    if (rc < 0) {
        mem_free(slot);
        mem_free(notices);
        return rc;
    }
    *page = (struct page){.slot = slot, .notices = notices, .fd = fd, .n_slots = n_slots};
    return 0;
}

void page_release(struct page *page)
{
    if (page->slot)
        (void)close(page->fd);
    mem_free(page->slot);
    mem_free(page->notices);
    *page = (struct page){0};
}

const struct rank_slot *page_slot(const struct page *page, int32_t index)
{
    char *bytes = (char *)page->slot;
    ssize_t n;

    ASSERT(index >= 0);
    ASSERT(index < page->n_slots);
    n = pread(page->fd, bytes, sizeof(*page->slot), place(index));
    if (n < 0)
        n = 0;
    memset(bytes + n, 0, sizeof(*page->slot) - (size_t)n);
    return page->slot;
}

void page_notify(const struct page *page, int32_t index)
{
    ASSERT(index >= 0);
    ASSERT(index < page->n_slots);
    page->notices[index]++;
    /* A rank that does not see it looks at its socket once a second. */
    (void)!pwrite(page->fd, &page->notices[index], sizeof(page->notices[index]),
                  place(index) + (off_t)offsetof(struct rank_slot, notices));
}

void page_drain(const struct rank_slot *slot, uint64_t *taken, struct observe *observe)
{
    uint64_t n = atomic_load_explicit(&slot->n_observed, memory_order_acquire);

    if (n < *taken) { /* a new process took the slot over */
        *taken = n;
        return;
    }
    if (n - *taken > RANK_OBSERVED_CAP)
        *taken = n - RANK_OBSERVED_CAP;
    for (; *taken < n; (*taken)++) {
        const struct rank_observed *seen = &slot->observed[*taken % RANK_OBSERVED_CAP];
        uint32_t what = atomic_load_explicit(&seen->what, memory_order_relaxed);
        uint32_t micro = atomic_load_explicit(&seen->micro_batch, memory_order_relaxed);
        int64_t time_ns = atomic_load_explicit(&seen->time_ns, memory_order_relaxed);

        if (what < SHIM_OBSERVED_MAX && micro <= INT32_MAX)
            observe_add(observe, (enum shim_observed)what, (int32_t)micro, time_ns);
    }
}
