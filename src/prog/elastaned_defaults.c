/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned_defaults.c - what the command line leaves open, and whether the whole can
 * work.
 *
 * Defaults that are a number stand in the table's file; those here depend on who runs the
 * daemon, and where. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "prog/elastaned_options.h"

#define PATROL_LEAST_US (10 * USEC_PER_MSEC)

/* Clients have no way around this limit. */
#define SOCKET_MAX (sizeof((struct sockaddr_un *)0)->sun_path)

static int join(char *to, size_t size, const char *dir, const char *name, struct err *err)
{
    int n = snprintf(to, size, "%s/%s", dir, name);

    return n >= 0 && (size_t)n < size ? 0 : err_set(err, E_LIMIT, "%s is too long", dir);
}

/* The directories above a place that we have chosen ourselves. What cannot be made is
 * told by who misses it. */
static void make_above(char *path, mode_t mode)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, mode);
        *slash = '/';
    }
}

static int state_place(struct options *o, struct err *err)
{
    const char *dir = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");

    if (geteuid() == 0)
        return join(o->state, sizeof(o->state), "/var/lib", "elastane", err);
    if (dir && dir[0] == '/')
        return join(o->state, sizeof(o->state), dir, "elastane", err);
    if (home && home[0] == '/')
        return join(o->state, sizeof(o->state), home, ".local/state/elastane", err);
    return err_field(err, E_INVALID, "state", "has no default without HOME; name one");
}

static int default_state(struct options *o, struct err *err)
{
    int rc = state_place(o, err);

    if (rc == 0)
        make_above(o->state, 0700);
    return rc;
}

/* Where elastane(1) looks. */
static int default_socket(struct options *o, struct err *err)
{
    static const char for_root[] = "/run/elastane/elastane.sock";
    const char *named = getenv("ELASTANE_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (named && named[0])
        return snprintf(o->socket, sizeof(o->socket), "%s", named) <
                       (int)sizeof(o->socket)
                   ? 0
                   : err_set(err, E_LIMIT, "ELASTANE_SOCKET is too long");
    if (geteuid() == 0) {
        (void)snprintf(o->socket, sizeof(o->socket), "%s", for_root);
        make_above(o->socket, 0711);
        return 0;
    }
    if (runtime && runtime[0] == '/')
        return join(o->socket, sizeof(o->socket), runtime, "elastane.sock", err);
    return err_field(err, E_INVALID, "socket",
                     "has no default without XDG_RUNTIME_DIR; name one");
}

static int default_shim(struct options *o, struct err *err)
{
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0)
        return err_set(err, E_IO, "cannot find myself: %s", strerror(errno));
    self[n] = '\0';
    *strrchr(self, '/') = '\0';
    return join(o->shim, sizeof(o->shim), self, "elastane-shim", err);
}

static int default_node(struct options *o, struct err *err)
{
    if (gethostname(o->node, sizeof(o->node) - 1) < 0 || o->node[0] == '\0')
        return err_field(err, E_INVALID, "node-name", "has no default: no host name");
    o->node[strcspn(o->node, ".")] = '\0';
    return 0;
}

static int check_shim(const char *path, struct err *err)
{
    struct stat st;

    if (access(path, X_OK) < 0 || stat(path, &st) < 0)
        return err_field(err, E_NOTFOUND, "shim", "%s cannot be executed: %s", path,
                         strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_field(err, E_INVALID, "shim", "%s is no program", path);
    return 0;
}

int options_complete(struct options *o, struct err *err)
{
    int rc = o->state[0] ? 0 : default_state(o, err);

    if (rc == 0 && o->patrol_us < PATROL_LEAST_US)
        rc = err_field(err, E_INVALID, "patrol", "is too short; 10ms or more");
    if (rc == 0 && !o->socket[0])
        rc = default_socket(o, err);
    if (rc == 0 && strlen(o->socket) >= SOCKET_MAX)
        rc = err_field(err, E_LIMIT, "socket",
                       "%s has %zu bytes; the path of a socket has at most %zu: name a "
                       "shorter one",
                       o->socket, strlen(o->socket), SOCKET_MAX - 1);
    if (rc == 0 && !o->shim[0])
        rc = default_shim(o, err);
    if (rc == 0 && !o->node[0])
        rc = default_node(o, err);
    if (rc == 0)
        rc = check_shim(o->shim, err);
    return rc;
}
