/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - how to start the processes of a job, and its JSON text.
 *
 * The text is job_spec.launch: the core carries it about without looking inside, backends
 * and shims read it with launch_decode(). */
#ifndef WIRE_LAUNCH_H
#define WIRE_LAUNCH_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/limits.h"

#define LAUNCH_ARGS_MAX 4096 /* texts in argv */
#define LAUNCH_ENV_MAX  4096 /* variables */
#define LAUNCH_PATH_MAX 4096 /* bytes of cwd and log_dir, with the '\0' */
#define LAUNCH_KEY      32   /* hexadecimal digits of a vault's key */

/* Who starts the ranks. */
enum launch_form {
    LAUNCH_RANK, /* we: one process per device */
    LAUNCH_NODE, /* the command: it is started once on each node */
    LAUNCH_ONCE, /* the command: it is started once, on the first node */
    LAUNCH_FORM_MAX
};

const char *launch_form_name(enum launch_form form);

/* How to start one process. All texts are owned. Both arrays end with NULL, ready for
 * execve; the environment is what the owner wants, to which the shim adds its own. */
struct launch_request {
    char **argv; /* argv[0] is looked up in the PATH of env unless it has a '/' */
    size_t n_args;
    char **env; /* "NAME=VALUE", names ascending and unique; names alone with a vault */
    size_t n_env;
    char *cwd;     /* absolute; NULL only before it was set */
    char *log_dir; /* absolute; NULL: the daemon's own directory of the job */
    char *vault;   /* the values are kept apart, under this key (launch_part_env) */
    enum launch_form form;
};

void launch_init(struct launch_request *launch);
void launch_release(struct launch_request *launch);
/* Appends one text. E_NOMEM or E_LIMIT. */
int launch_add_arg(struct launch_request *launch, const char *arg, struct err *err);
void launch_clear_args(struct launch_request *launch);
/* Sets one variable from "NAME=VALUE"; a later value replaces an earlier one. "NAME"
 * alone stands for the value that the submitter's environment has and must be resolved
 * before encoding. E_NOMEM, E_LIMIT, or E_INVALID when the name is empty or has a blank
 * or control character. */
int launch_set_env(struct launch_request *launch, const char *text, struct err *err);
/* Looks up every variable that has no value yet; E_INVALID when lookup gives NULL. */
int launch_resolve_env(struct launch_request *launch,
                       const char *(*lookup)(const char *name), struct err *err);
/* The value of a variable, lent; NULL when it is not set. */
const char *launch_get_env(const struct launch_request *launch, const char *name);
/* Appends the environment as NAME=VALUE texts, each with its '\0'. */
int launch_put_env(const struct launch_request *launch, struct buf *out);
/* Leaves the names alone: the values are secrets, are kept under the key, and go to no
 * journal. E_NOMEM. */
int launch_part_env(struct launch_request *launch, const char key[LAUNCH_KEY + 1]);
/* Replace cwd or log_dir. E_NOMEM or E_LIMIT. */
int launch_set_cwd(struct launch_request *launch, const char *path, struct err *err);
int launch_set_log_dir(struct launch_request *launch, const char *path, struct err *err);

/* {"argv":[...],"cwd":"...","env":{...},"form":"node","log_dir":"..."}; no form is one
 * process per device; with a vault "env_names":[...],"vault":"KEY" instead of env.
 * E_INVALID when a text is not
 * UTF-8, E_LIMIT when the whole would pass LAUNCH_MAX_BYTES. */
int launch_encode(const struct launch_request *launch, struct buf *out, struct err *err);
/* The reverse; E_INVALID, E_LIMIT or E_NOMEM. */
int launch_decode(const char *text, size_t len, struct launch_request *ret,
                  struct err *err);

#endif
