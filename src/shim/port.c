/* SPDX-License-Identifier: Apache-2.0 */
/* port.c - holding a port and handing it over without a gap.
 *
 * A socket that is bound with SO_REUSEADDR but does not listen keeps the kernel from
 * giving the port away, to bind(0) and to connect() alike, while another socket with
 * SO_REUSEADDR may bind it by number and listen. The stores of the training frameworks
 * set that option, so the reservation simply stays for the incarnation's life; there is
 * no moment between "released" and "taken" in which somebody else can slip in. A program
 * that binds MASTER_PORT without SO_REUSEADDR is told "address in use": the option is
 * part of the environment contract. */
#include "shim/port.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int try_family(int family, int32_t wish, int32_t *ret_port)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr *address =
        family == AF_INET6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4;
    socklen_t n = family == AF_INET6 ? sizeof(v6) : sizeof(v4);
    int on = 1;
    int off = 0;
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    v6.sin6_port = v4.sin_port = htons((uint16_t)wish);
    if (family == AF_INET6) /* both families at once, as the frameworks' stores do */
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, address, n) < 0 || getsockname(fd, address, &n) < 0) {
        (void)close(fd);
        return -1;
    }
    *ret_port = ntohs(family == AF_INET6 ? v6.sin6_port : v4.sin_port);
    return fd;
}

/* Whether somebody else has bound the port: a bind without SO_REUSEADDR tells. */
static bool is_taken(int32_t port)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken = fd >= 0 && bind(fd, (struct sockaddr *)&v4, sizeof(v4)) < 0;

    if (fd >= 0)
        (void)close(fd);
    return taken;
}

int port_reserve(int32_t wish, int32_t *ret_port, int *ret_fd, struct err *err)
{
    int fd = -1;

    if (wish > 0 && !is_taken(wish)) {
        fd = try_family(AF_INET6, wish, ret_port);
        if (fd < 0)
            fd = try_family(AF_INET, wish, ret_port);
    }
    if (fd < 0)
        fd = try_family(AF_INET6, 0, ret_port);
    if (fd < 0)
        fd = try_family(AF_INET, 0, ret_port);
    if (fd < 0)
        return err_set(err, E_IO, "cannot reserve a port: %s", strerror(errno));
    *ret_fd = fd;
    return 0;
}
