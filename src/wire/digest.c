/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - the state of a core as a snapshot, and as a number.
 *
 * The digest is taken over the text of the snapshot, so two states are equal exactly when
 * their snapshots are, whatever order they were built in. It tells runs apart, it is no
 * protection against forgery: FNV-1a, 64 bits. */
#include "wire/journal.h"

#include "wire/snapshot.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME  UINT64_C(0x100000001b3)

int wire_snapshot_encode(const struct core *core, int64_t seq, struct buf *out)
{
    struct changes changes;
    int rc;

    changes_init(&changes);
    rc = core_snapshot(core, &changes);
    if (rc == 0) {
        snapshot_encode(&changes, seq, out);
        rc = buf_error(out);
    }
    changes_release(&changes);
    return rc;
}

int wire_digest(const struct core *core, uint64_t *ret)
{
    uint64_t digest = FNV_OFFSET;
    struct buf b;
    int rc;

    buf_init(&b, WIRE_SNAPSHOT_MAX);
    rc = wire_snapshot_encode(core, 0, &b);
    for (size_t i = 0; i < b.len; i++)
        digest = (digest ^ (unsigned char)b.text[i]) * FNV_PRIME;
    buf_release(&b);
    if (rc == 0)
        *ret = digest;
    return rc;
}
