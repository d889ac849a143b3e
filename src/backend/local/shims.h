/* SPDX-License-Identifier: Apache-2.0 */
/* shims.h - the connections of shims, as messages.
 *
 * Shims dial; a connection says HELLO first and belongs to that job and incarnation from
 * then on. What is not ours, comes from a stranger, or says something else first, is
 * hung up on. */
#ifndef BACKEND_LOCAL_SHIMS_H
#define BACKEND_LOCAL_SHIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "loop/loop.h"
#include "loop/socket.h"
#include "wire/shim_msg.h"

struct shims;
struct shims_link; /* one connection */

struct shims_ops {
    /* The first message of a connection is HELLO, later ones are never. msg->job and
     * msg->incarnation are those of the HELLO. The link may be closed from within. */
    void (*message)(void *arg, struct shims_link *link, const struct shim_msg *msg);
    /* The peer has hung up; the link is gone when this returns. Not called for
     * shims_close(). */
    void (*closed)(void *arg, struct shims_link *link);
};

/* Listens at the path, which must be in a directory that is ours alone. The ops are lent.
 */
int shims_open(struct loop *loop, const char *path, const struct shims_ops *ops,
               void *arg, struct shims **ret, struct err *err) ATTR_MUST_USE;
void shims_free(struct shims *shims);

/* For when a shim that lives does not dial: listens anew if our socket is no longer at
 * the path, because somebody has removed it. Connections stay. Returns whether it was so
 * and is mended; false with *err filled when it was so and cannot be, for instance
 * because the directory is another one now. */
bool shims_mend(struct shims *shims, struct err *err);

/* Fills job and incarnation in and sends. A peer that does not read is hung up on. */
void shims_send(struct shims_link *link, struct shim_msg *msg);
void shims_close(struct shims_link *link);

const struct socket_peer *shims_peer(const struct shims_link *link);
uint32_t shims_job(const struct shims_link *link);
uint32_t shims_incarnation(const struct shims_link *link);
/* The newest connection of an incarnation, or NULL. */
struct shims_link *shims_find(const struct shims *shims, uint32_t job,
                              uint32_t incarnation);

#endif
