/* SPDX-License-Identifier: Apache-2.0 */
/* notify.c - see notify.h. */
#include "loop/notify.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void notify_send(const char *address, const char *state)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t n = address ? strlen(address) : 0;
    int fd;

    if (n < 2 || n >= sizeof(to.sun_path) || (address[0] != '/' && address[0] != '@'))
        return;
    memcpy(to.sun_path, address, n);
    if (address[0] == '@')
        to.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    (void)close(fd);
}
