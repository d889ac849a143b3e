/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c - see socket.h.
 *
 * sun_path has 108 bytes; state directories may be deeper. So the directory is opened and
 * the socket addressed as /proc/self/fd/N/NAME. Between our question "does anybody
 * answer?" and the bind, another daemon may come; then its bind or ours fails, and nobody
 * is replaced who answers at the time of asking. */
#include "loop/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096

/* A socket's place: its directory, open, and its name within. */
struct place {
    int dir_fd;
    char name[NAME_MAX + 1];
    struct sockaddr_un address;
};

static int fail(struct err *err, const char *what, const char *path)
{
    int rc = errno == EACCES || errno == EPERM ? E_DENIED : E_IO;

    return err_set(err, rc, "%s %s: %s", what, path, strerror(errno));
}

static int place_open(const char *path, struct place *ret, struct err *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    char dir[PATH_MAX];
    size_t n = slash ? (size_t)(slash - path) : 0;

    if (n >= sizeof(dir) || name[0] == '\0' || strlen(name) > NAME_MAX)
        return err_set(err, E_INVALID, "%s is not a path of a socket", path);
    memcpy(dir, path, n);
    dir[n] = '\0';
    *ret = (struct place){.address = {.sun_family = AF_UNIX}};
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->dir_fd = open(n > 0   ? dir
                       : slash ? "/"
                               : ".",
                       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->dir_fd < 0)
        return err_set(err, errno == EACCES ? E_DENIED : E_IO,
                       "cannot open the directory of %s: %s; make it, or name another "
                       "path with --socket",
                       path, strerror(errno));
    if (snprintf(ret->address.sun_path, sizeof(ret->address.sun_path),
                 "/proc/self/fd/%d/%s", ret->dir_fd,
                 name) >= (int)sizeof(ret->address.sun_path)) {
        (void)close(ret->dir_fd);
        return err_set(err, E_INVALID, "the name of the socket %s is too long", path);
    }
    return 0;
}

static bool answers(const struct place *place)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool yes;

    if (fd < 0)
        return true; /* we cannot know; better not replace it */
    yes = connect(fd, (const struct sockaddr *)&place->address, sizeof(place->address)) ==
              0 ||
          errno == EAGAIN;
    (void)close(fd);
    return yes;
}

/* Makes way for a new socket, if that harms nobody. */
static int clear_place(const struct place *place, const char *path, struct err *err)
{
    struct stat st;

    if (fstatat(place->dir_fd, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : fail(err, "cannot look at", path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, E_EXISTS,
                       "%s exists and is not a socket; remove it or name another path",
                       path);
    if (st.st_uid != geteuid())
        return err_set(err, E_DENIED,
                       "the socket %s belongs to user %u, not to us; name another path "
                       "with --socket",
                       path, (unsigned)st.st_uid);
    if (answers(place))
        return err_set(err, E_BUSY, "another process answers at %s", path);
    if (unlinkat(place->dir_fd, place->name, 0) < 0 && errno != ENOENT)
        return fail(err, "cannot replace", path);
    return 0;
}

static int bind_at(const struct place *place, const char *path, mode_t mode, int *ret_fd,
                   struct err *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int rc = 0;

    if (fd < 0)
        return fail(err, "cannot make", path);
    /* On Linux the mode of the bound file is that of the descriptor, cut by the umask:
     * so nobody can connect between bind and chmod who may not later. */
    if (fchmod(fd, mode) < 0 ||
        bind(fd, (const struct sockaddr *)&place->address, sizeof(place->address)) < 0)
        rc = fail(err, "cannot bind", path);
    else if (fchmodat(place->dir_fd, place->name, mode, 0) < 0 || listen(fd, BACKLOG) < 0)
        rc = fail(err, "cannot listen at", path);
    if (rc < 0)
        (void)close(fd);
    else
        *ret_fd = fd;
    return rc;
}

int socket_listen(const char *path, mode_t mode, int *ret_fd, struct err *err)
{
    struct place place;
    int rc = place_open(path, &place, err);

    if (rc < 0)
        return rc;
    rc = clear_place(&place, path, err);
    if (rc == 0)
        rc = bind_at(&place, path, mode, ret_fd, err);
    (void)close(place.dir_fd);
    return rc;
}

void socket_unlisten(const char *path, int fd)
{
    struct place place;

    if (fd < 0)
        return;
    (void)close(fd);
    if (place_open(path, &place, NULL) < 0)
        return;
    (void)clear_place(&place, path, NULL); /* only one that nobody answers behind */
    (void)close(place.dir_fd);
}

int socket_accept(int fd, int *ret_fd)
{
    int got;

    do
        got = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (got < 0 && (errno == EINTR || errno == ECONNABORTED));
    if (got < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK ? E_AGAIN : E_IO;
    *ret_fd = got;
    return 0;
}

int socket_peer(int fd, struct socket_peer *ret)
{
    struct ucred cred;
    socklen_t n = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) < 0 || n != sizeof(cred))
        return E_IO;
    *ret = (struct socket_peer){.pid = cred.pid, .uid = cred.uid, .gid = cred.gid};
    return 0;
}
