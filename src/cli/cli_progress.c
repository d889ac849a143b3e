/* SPDX-License-Identifier: Apache-2.0 */
/* cli_progress.c - how a script tells how far its training is.
 *
 * It runs inside a job and speaks to no daemon: it appends one line to the file that
 * ELASTANE_PROGRESS names (docs/environment.md). Outside of a job there is no such name,
 * and nothing to do: the same script runs alone. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "core/limits.h"
#include "wire/progress.h"
#include "wire/quantity.h"

static const struct cli_option options[] = {
    {'n', "samples", "N", "trained so far, by all ranks and starts"},
    {'t', "total", "N", "length of the training: 600000 or 10x60000"},
    {'v', "verbose", NULL, "say so when this is no job of elastaned"},
};

struct wish {
    struct progress_line line;
    bool has_samples;
    bool is_verbose;
};

static int take(const struct cli *cli, struct wish *wish, int id, const char *value)
{
    struct err err = {0};

    switch (id) {
    case 'n':
        wish->has_samples = true;
        if (quantity_count(value, 0, TRAINED_MAX, &wish->line.samples, &err) < 0)
            return cli_usage(cli, "--samples: %s", err.text);
        break;
    case 't':
        if (quantity_samples(value, &wish->line.total, &err) < 0)
            return cli_usage(cli, "--total: %s", err.text);
        break;
    default:
        wish->is_verbose = true;
        break;
    }
    return CLI_OK;
}

/* The file is made if need be; anything else of that name is left alone. */
static int append(const struct cli *cli, const char *path, const char *text, size_t n)
{
    struct stat st;
    struct err err = {0};
    ssize_t done = -1;
    int fd = open(
        path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

    if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
        errno = EINVAL;
    else if (fd >= 0)
        done = write(fd, text, n);
    if (done != (ssize_t)n)
        (void)err_set(&err, E_IO, "cannot append to %s: %s", path,
                      done < 0 ? strerror(errno) : "the disk is full");
    if (fd >= 0)
        (void)close(fd);
    return err.code ? cli_fail(cli, &err) : CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    const char *path = getenv("ELASTANE_PROGRESS");
    char text[PROGRESS_LINE_MAX + 1];
    struct wish wish = {0};
    struct cli_args args;
    int exit = CLI_OK;
    int id;

    cli_args_init(&args, cli, &cli_progress, argc, argv);
    while ((id = cli_args_next(&args)) > 0)
        if (take(cli, &wish, id, args.value) != CLI_OK)
            return CLI_USAGE;
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc > args.first)
        return cli_usage(cli, "takes no operands");
    if (!wish.has_samples)
        return cli_usage(cli, "--samples is missing");
    if (wish.line.total > 0 && wish.line.total < wish.line.samples)
        return cli_usage(cli, "--total: is less than --samples");
    if (path && path[0])
        exit = append(cli, path, text, progress_line_format(&wish.line, text));
    else if (wish.is_verbose)
        cli_note(cli, "ELASTANE_PROGRESS is not set: this is no job of elastaned, and "
                      "nobody is told");
    if (exit == CLI_OK && cli->is_json)
        printf("{\"samples\":%" PRId64 ",\"total\":%" PRId64 "}\n", wish.line.samples,
               wish.line.total);
    return exit;
}

const struct cli_command cli_progress = {
    .name = "progress",
    .usage = "[OPTION]... --samples N",
    .summary = "tell, inside a job, how far its training is",
    .details =
        "Appends a line to the file that ELASTANE_PROGRESS names. Does nothing, with "
        "success, outside of a job.\n",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .no_daemon = true,
    .run = run,
};
