/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - one conversation with the daemon over its Unix socket (docs/api.md).
 *
 * The socket is --socket, else ELASTANE_SOCKET, else $XDG_RUNTIME_DIR/elastane.sock if it
 * exists, else /run/elastane/elastane.sock. Before a word is said its owner is looked at:
 * a socket of a stranger in a directory that strangers may write to is refused, because a
 * submit carries the caller's environment. */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cli.h"

/* How long a call may take. */
#define CLIENT_CALL_S   30
#define CLIENT_WAIT_S   30 /* what long polls ask for */
#define CLIENT_FOLLOW_S 90 /* the longest silence of a long poll or stream */

struct client;

/* E_IO when there is no daemon to speak to, with the way out; E_DENIED; E_NOMEM. */
int client_open(const struct cli *cli, struct client **ret, struct err *err);
void client_close(struct client *client);

/* One request. `body` may be NULL. The answer's body replaces what *out held. A problem
 * document comes back as the error that it names. E_IO, E_LIMIT, E_NOMEM and the codes of
 * problems. */
int client_call(struct client *client, const char *method, const char *path,
                const char *body, struct buf *out, struct err *err);
/* The same with GET, for an answer that may take CLIENT_FOLLOW_S. */
int client_wait(struct client *client, const char *path, struct buf *out,
                struct err *err);

/* The number that a header of the present answer holds; E_NOTFOUND. For sinks. */
int client_header(struct client *client, const char *name, int64_t *ret);

/* GET with the body handed on as it comes. A negative value of the sink ends the stream
 * and is returned. */
typedef int (*client_sink_fn)(void *arg, const char *bytes, size_t n);
int client_stream(struct client *client, const char *path, client_sink_fn sink, void *arg,
                  struct err *err);

#endif
