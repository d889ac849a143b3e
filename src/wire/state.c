/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - the state of a core as a snapshot, and as a number.
 *
 * The digest is taken over the text of the snapshot, so two states are equal exactly when
 * their snapshots are, whatever order they were built in. */
#include "wire/journal.h"

#include "base/digest.h"

#include "wire/snapshot.h"

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
    struct digest digest;
    struct buf b;
    int rc;

    buf_init(&b, WIRE_SNAPSHOT_MAX);
    rc = wire_snapshot_encode(core, 0, &b);
    digest_init(&digest);
    digest_add(&digest, b.text, b.len);
    buf_release(&b);
    if (rc == 0)
        *ret = digest.value;
    return rc;
}
