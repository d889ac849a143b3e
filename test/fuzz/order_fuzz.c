/* SPDX-License-Identifier: Apache-2.0 */
/* order_fuzz.c - bytes as the three files of an incarnation's directory.
 *
 * They belong to the job's user, so the shim and the daemon must take anything. What does
 * decode is a fixed point: its text decodes again, to the same text. */
#include <string.h>

#include "base/assert.h"
#include "wire/order.h"

#include "fuzz.h"

static void try_order(const char *text, size_t n)
{
    struct order order;
    struct buf first, second;
    int rc;

    if (order_decode(text, n, &order, NULL) < 0)
        return;
    buf_init(&first, ORDER_TEXT_MAX);
    buf_init(&second, ORDER_TEXT_MAX);
    order_encode(&order, &first);
    order_release(&order);
    if (buf_error(&first) == 0) {
        rc = order_decode(first.text, first.len, &order, NULL);
        ASSERT(rc == 0);
        order_encode(&order, &second);
        order_release(&order);
        ASSERT(strcmp(first.text, second.text) == 0);
    }
    buf_release(&first);
    buf_release(&second);
}

static void try_exit(const char *text, size_t n)
{
    struct order_exit record;
    struct buf out;
    int rc;

    if (order_exit_decode(text, n, &record, NULL) < 0)
        return;
    buf_init(&out, ORDER_TEXT_MAX);
    order_exit_encode(&record, &out);
    ASSERT(buf_error(&out) == 0);
    rc = order_exit_decode(out.text, out.len, &record, NULL);
    ASSERT(rc == 0);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct order_started started = {.shim_pid = 1};
    int rc;

    try_order((const char *)bytes, n);
    try_exit((const char *)bytes, n);
    rc = order_started_decode((const char *)bytes, n, &started, NULL);
    ASSERT(rc == 0 || started.shim_pid == 1); /* untouched on failure */
    return 0;
}
