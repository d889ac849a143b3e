/* SPDX-License-Identifier: Apache-2.0 */
/* link.h - one framed connection over a Unix stream socket, never blocking. */
#ifndef SHIM_LINK_H
#define SHIM_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"
#include "wire/frame.h"

#define LINK_OUT_CAP (8 * FRAME_MAX)

struct link {
    uint32_t peer_version; /* that the peer speaks; 0: it has not said yet */
    int fd;                /* -1: closed */
    struct frame_reader reader;
    uint8_t out[LINK_OUT_CAP]; /* what the socket would not take yet */
    size_t n_out;
};

void link_init(struct link *link, int fd);
void link_close(struct link *link);
static inline bool link_is_open(const struct link *link)
{
    return link->fd >= 0;
}

/* Queues one whole frame and sends what can be sent. A peer that does not read until the
 * queue is full is cut off, like one that is gone: the link is closed then. */
void link_send(struct link *link, const uint8_t *frame, size_t n);
/* Sends what is queued. */
void link_flush(struct link *link);
/* Reads what is there. Closes the link when the peer has. */
void link_fill(struct link *link);
/* 1 and *ret, or 0. Frames that came before the end are still given. A stream that is not
 * ours closes the link. */
int link_next(struct link *link, struct frame *ret);

/* Unix sockets at dir_fd/name: through /proc/self/fd, so that the length of the
 * directory's path does not matter. Both give a nonblocking, close-on-exec socket. */
int link_listen(int dir_fd, const char *name, int *ret_fd, struct err *err) ATTR_MUST_USE;
int link_dial(const char *path, int *ret_fd, struct err *err) ATTR_MUST_USE;
/* Who is at the other end. */
int link_peer(int fd, pid_t *ret_pid, uid_t *ret_uid) ATTR_MUST_USE;

#endif
