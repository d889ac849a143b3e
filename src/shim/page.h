/* SPDX-License-Identifier: Apache-2.0 */
/* page.h - the shim's side of the shared page (wire/rank_page.h). */
#ifndef SHIM_PAGE_H
#define SHIM_PAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "shim/observe.h"
#include "wire/rank_page.h"

struct page {
    struct rank_slot *slot; /* the slot that was looked at last; NULL: no page */
    uint32_t *notices;      /* n_slots: what we have raised them to */
    int fd;
    int32_t n_slots;
};

/* Creates the file, replacing an older one. E_IO or E_NOMEM. */
int page_create(struct page *page, int dir_fd, const char *name, int32_t n_slots,
                uint32_t generation, struct err *err) ATTR_MUST_USE;
void page_release(struct page *page);
/* The slot as it is now; lent until the next call. */
const struct rank_slot *page_slot(const struct page *page, int32_t index);

/* Makes the rank look at its channel. */
void page_notify(const struct page *page, int32_t index);
/* Moves new measurements of a slot to observe; *taken counts those taken so far. */
void page_drain(const struct rank_slot *slot, uint64_t *taken, struct observe *observe);

#endif
