/* SPDX-License-Identifier: Apache-2.0 */
/* socket.h - listening on Unix sockets, and knowing who is at the other end. */
#ifndef LOOP_SOCKET_H
#define LOOP_SOCKET_H

#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

#include "loop/loop.h"

struct socket_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

/* Binds a nonblocking socket with this mode to the path (of any length) and listens. A
 * socket file that nobody answers behind is replaced; one that answers is E_BUSY, one of
 * another user E_DENIED, any other file E_EXISTS. Else E_IO. */
int socket_listen(const char *path, mode_t mode, int *ret_fd,
                  struct err *err) ATTR_MUST_USE;
/* Removes the file if it is still the one that belongs to fd, and closes fd. */
void socket_unlisten(const char *path, int fd);
/* The next waiting connection, nonblocking; E_AGAIN when there is none, else E_IO. */
int socket_accept(int fd, int *ret_fd) ATTR_MUST_USE;
/* E_IO when the kernel does not say. */
int socket_peer(int fd, struct socket_peer *ret) ATTR_MUST_USE;

#endif
