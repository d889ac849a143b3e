/* SPDX-License-Identifier: Apache-2.0 */
/* link.c - bytes in, frames out.
 *
 * The two sides exchange a handful of small frames per second, so the queue is a plain
 * array and a full one means that the peer is not alive in any useful sense. */
#include "shim/link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void link_init(struct link *link, int fd)
{
    memset(link, 0, sizeof(*link));
    link->fd = fd;
}

void link_close(struct link *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    link->n_out = 0;
}

void link_flush(struct link *link)
{
    size_t done = 0;

    while (link->fd >= 0 && done < link->n_out) {
        ssize_t n = send(link->fd, link->out + done, link->n_out - done,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n < 0) {
            link_close(link);
            return;
        }
        done += (size_t)n;
    }
    memmove(link->out, link->out + done, link->n_out - done);
    link->n_out -= done;
}

void link_send(struct link *link, const uint8_t *frame, size_t n)
{
    if (link->fd < 0)
        return;
    if (n > LINK_OUT_CAP - link->n_out) {
        link_close(link);
        return;
    }
    memcpy(link->out + link->n_out, frame, n);
    frame_speak(link->out + link->n_out, link->peer_version);
    link->n_out += n;
    link_flush(link);
}

void link_fill(struct link *link)
{
    size_t room;
    uint8_t *to = frame_reader_space(&link->reader, &room);
    ssize_t n;

    if (link->fd < 0 || room == 0)
        return;
    n = recv(link->fd, to, room, MSG_DONTWAIT);
    if (n > 0)
        frame_reader_added(&link->reader, (size_t)n);
    else if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
        link_close(link);
}

int link_next(struct link *link, struct frame *ret)
{
    int rc = frame_reader_next(&link->reader, ret);

    if (rc >= 0)
        return rc;
    link_close(link);
    link->reader.begin = link->reader.end = 0;
    return 0;
}

static int socket_new(struct err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        (void)err_set(err, E_IO, "cannot make a socket: %s", strerror(errno));
    return fd;
}

int link_listen(int dir_fd, const char *name, int *ret_fd, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket_new(err);

    if (fd < 0)
        return E_IO;
    (void)unlinkat(dir_fd, name, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
                   dir_fd, name);
    if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(fd, 128) < 0) {
        (void)err_set(err, E_IO, "cannot listen at %s: %s", name, strerror(errno));
        (void)close(fd);
        return E_IO;
    }
    *ret_fd = fd;
    return 0;
}

/* Fills in the address, by way of the directory's descriptor when the path is too long
 * for it; *ret_dir is then to be closed afterwards, else -1. */
static int address_of(const char *path, struct sockaddr_un *address, int *ret_dir)
{
    const char *slash = strrchr(path, '/');
    char dir[4096];

    *ret_dir = -1;
    address->sun_family = AF_UNIX;
    if (strlen(path) < sizeof(address->sun_path)) {
        memcpy(address->sun_path, path, strlen(path) + 1);
        return 0;
    }
    if (!slash || (size_t)(slash - path) >= sizeof(dir) || strlen(slash) > 64)
        return E_LIMIT;
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    *ret_dir = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir < 0)
        return E_IO;
    (void)snprintf(address->sun_path, sizeof(address->sun_path), "/proc/self/fd/%d%s",
                   *ret_dir, slash);
    return 0;
}

int link_dial(const char *path, int *ret_fd, struct err *err)
{
    struct sockaddr_un address;
    int dir_fd;
    int fd;
    int rc;

    memset(&address, 0, sizeof(address));
    rc = address_of(path, &address, &dir_fd);
    if (rc < 0)
        return err_set(err, rc, "cannot reach %s", path);
    fd = socket_new(err);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
        (void)err_set(err, E_IO, "cannot connect to %s: %s", path, strerror(errno));
        (void)close(fd);
        fd = -1;
    }
    if (dir_fd >= 0)
        (void)close(dir_fd);
    if (fd < 0)
        return E_IO;
    *ret_fd = fd;
    return 0;
}

int link_peer(int fd, pid_t *ret_pid, uid_t *ret_uid)
{
    struct ucred who;
    socklen_t n = sizeof(who);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
        return E_IO;
    *ret_pid = who.pid;
    *ret_uid = who.uid;
    return 0;
}
