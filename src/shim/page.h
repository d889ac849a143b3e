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
    uint8_t *bytes; /* NULL: none */
    size_t len;
    int32_t n_slots;
};

/* Creates the file, replacing an older one, and maps it. E_IO. */
int page_create(struct page *page, int dir_fd, const char *name, int32_t n_slots,
                uint32_t generation, struct err *err) ATTR_MUST_USE;
void page_release(struct page *page);
struct rank_slot *page_slot(const struct page *page, int32_t index);

/* Makes the rank look at its channel. */
void page_notify(struct rank_slot *slot);
/* Moves new measurements of a slot to observe; *taken counts those taken so far. */
void page_drain(struct rank_slot *slot, uint64_t *taken, struct observe *observe);

#endif
