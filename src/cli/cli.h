/* SPDX-License-Identifier: Apache-2.0 */
/* cli.h - what the commands of `elastane` share: the table that they stand in, their
 * options, their exit codes, and how they speak to people.
 *
 * A command is one file cli_NAME.c with one const struct cli_command; cli.c lists them.
 * A command parses its options with cli_args_next(), does its work, prints to standard
 * output (with --json: one JSON value and nothing else), complains on standard error, and
 * returns an exit code. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Exit codes; documented in elastane(1). */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,      /* refused, or went wrong */
    CLI_USAGE = 2,       /* the command line itself is wrong */
    CLI_UNREACHABLE = 3, /* no daemon answered */
    CLI_NOT_FOUND = 4,   /* no such job, node, rank or file */
    CLI_JOB_FAILED = 10, /* wait: how the job ended; CLI_OK is done */
    CLI_JOB_CANCELLED = 11,
    CLI_JOB_DROPPED = 12,
    CLI_WAIT_TIMEOUT = 13, /* wait: --timeout passed first */
};

struct cli_command;

struct cli {
    const struct cli_command *command; /* NULL: none is known yet */
    const char *socket;                /* --socket, or NULL: see client.h */
    bool is_json;                      /* --json */
    bool seems_json; /* the word --json stands somewhere: a command line that is wrong
                        before it is refused in JSON too */
};

struct cli_option {
    int id;           /* the letter of the short form, or a number from CLI_LONG up */
    const char *name; /* of the long form, without the dashes */
    const char *arg;  /* word for the value in the help; NULL: takes none */
    const char *help; /* one line, no full stop */
};

#define CLI_LONG 256 /* ids of options without a letter start here */

struct cli_command {
    const char *name;
    const char *usage;   /* what follows the name: "[OPTION]... ID" */
    const char *summary; /* one line, no full stop */
    const char *details; /* further text of the help, one paragraph; may be NULL */
    const struct cli_option *options;
    size_t n_options;
    bool no_daemon; /* --socket has no meaning; the help does not name it */
    /* argv[0] is the command's name. */
    int (*run)(struct cli *cli, int argc, char **argv);
};

/* The commands, in the order of the help; NULL past the end. */
const struct cli_command *cli_command_at(size_t index);

/* What main() calls. */
int cli_main(int argc, char **argv);

/* Options of one command, one after the other. --json, --socket and --help are handled
 * inside. Options end at "--" or at the first operand unless `mixed` is set. */
struct cli_args {
    struct cli *cli;
    const struct cli_command *command;
    int argc;
    char **argv;
    const char *value; /* of the option just returned */
    int first;         /* after the end: index of the first operand */
    int exit;          /* after CLI_ARGS_DONE */
    bool is_mixed;     /* options may follow operands */
};

enum {
    CLI_ARGS_END = 0,   /* no more options; operands begin at `first` */
    CLI_ARGS_DONE = -1, /* help was printed or the usage is wrong: return `exit` */
};

void cli_args_init(struct cli_args *args, struct cli *cli,
                   const struct cli_command *command, int argc, char **argv);
/* The id of the next option, or one of the above. */
int cli_args_next(struct cli_args *args);
/* For commands that take none but the common options: parses all, and checks the number
 * of operands. Returns CLI_ARGS_END or CLI_ARGS_DONE. */
int cli_args_plain(struct cli_args *args, int min_operands, int max_operands);
/* What goes wrong is told on standard error: for people "elastane: field: text", with
 * --json one object {"code","error","exit","field"} on a line. All return the exit code.
 */

/* The command line is wrong, and how help is had; CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* The exit code follows from err->code. */
int cli_fail(const struct cli *cli, const struct err *err);
/* The same with the place in a file, "job.yaml:3:1". */
int cli_fail_at(const struct cli *cli, const char *place, const struct err *err);
#define CLI_PLACE_MAX 512
/* The same with another exit code. */
int cli_fail_with(const struct cli *cli, int exit, const struct err *err);
/* "elastane: warning: ..." on standard error; with --json {"warning":"..."}. */
void cli_warn(const struct cli *cli, const char *fmt, ...) ATTR_PRINTF(2, 3);
/* The same for what is only said by the way; with --json {"note":"..."}. */
void cli_note(const struct cli *cli, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* A decimal number within the limits, all of the text. E_INVALID, with the reason. */
int cli_number(const char *text, int64_t min, int64_t max, int64_t *ret, struct err *err);
/* The id of a job. */
int cli_job_id(const char *text, uint32_t *ret, struct err *err);

extern const struct cli_command cli_submit;
extern const struct cli_command cli_list;
extern const struct cli_command cli_show;
extern const struct cli_command cli_logs;
extern const struct cli_command cli_wait;
extern const struct cli_command cli_cancel;
extern const struct cli_command cli_pause;
extern const struct cli_command cli_resume;
extern const struct cli_command cli_update;
extern const struct cli_command cli_explain;
extern const struct cli_command cli_nodes;
extern const struct cli_command cli_status;
extern const struct cli_command cli_calibrate;
extern const struct cli_command cli_progress;
extern const struct cli_command cli_replay;
extern const struct cli_command cli_simulate;
extern const struct cli_command cli_allocate;
extern const struct cli_command cli_bench;

#endif
