/* SPDX-License-Identifier: Apache-2.0 */
/* journal_fuzz.c - bytes as an event, as changes and as a snapshot.
 *
 * What does not decode must be refused without harm; what does must be a fixed point:
 * its text decodes again, to the same text. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/assert.h"
#include "wire/journal.h"
#include "wire/snapshot.h"

#include "fuzz.h"

#define FUZZ_TEXT_MAX ((size_t)64 << 20)

static void try_event(const char *text, size_t len)
{
    struct wire_event e;
    struct buf first, second;

    buf_init(&first, FUZZ_TEXT_MAX);
    buf_init(&second, FUZZ_TEXT_MAX);
    if (wire_event_decode(text, len, &e, NULL) == 0) {
        wire_event_encode(&e.event, &first);
        wire_event_release(&e);
        ASSERT(wire_event_decode(first.text, first.len, &e, NULL) == 0);
        wire_event_encode(&e.event, &second);
        wire_event_release(&e);
        ASSERT(strcmp(first.text, second.text) == 0);
    }
    buf_release(&first);
    buf_release(&second);
}

static void try_changes(const char *text, size_t len)
{
    struct changes changes;
    struct buf first, second;

    changes_init(&changes);
    buf_init(&first, FUZZ_TEXT_MAX);
    buf_init(&second, FUZZ_TEXT_MAX);
    if (wire_changes_decode(text, len, &changes, NULL) == 0) {
        wire_changes_encode(&changes, &first);
        changes_clear(&changes);
        ASSERT(wire_changes_decode(first.text, first.len, &changes, NULL) == 0);
        wire_changes_encode(&changes, &second);
        ASSERT(strcmp(first.text, second.text) == 0);
    } else {
        ASSERT(changes.n == 0);
    }
    changes_release(&changes);
    buf_release(&first);
    buf_release(&second);
}

static void try_snapshot(const char *text, size_t len)
{
    struct changes changes;
    struct buf first, second;
    int64_t seq;

    changes_init(&changes);
    buf_init(&first, FUZZ_TEXT_MAX);
    buf_init(&second, FUZZ_TEXT_MAX);
    if (wire_snapshot_decode(text, len, &changes, &seq, NULL) == 0) {
        snapshot_encode(&changes, seq, &first);
        changes_clear(&changes);
        ASSERT(wire_snapshot_decode(first.text, first.len, &changes, &seq, NULL) == 0);
        snapshot_encode(&changes, seq, &second);
        ASSERT(strcmp(first.text, second.text) == 0);
    } else {
        ASSERT(changes.n == 0);
    }
    changes_release(&changes);
    buf_release(&first);
    buf_release(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const char *text = (const char *)bytes;

    if (n == 0)
        text = ""; /* the fuzzer may hand over NULL then */
    try_event(text, n);
    try_changes(text, n);
    try_snapshot(text, n);
    return 0;
}
