/* SPDX-License-Identifier: Apache-2.0 */
/* cli_logs.c - what a rank wrote.
 *
 * Following is a row of streams, each from the byte where the one before ended
 * (docs/api.md). When a stream brings nothing, the job is asked for: if it had ended
 * before, what is left is read once more, so the last line is never lost. A daemon that
 * goes away meanwhile is waited for; the next stream begins at the byte that is missing.
 *
 * With --json each line of the log becomes an object, its line end included, so that the
 * texts joined are the log again (bytes that are no UTF-8 come as '?'). */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/final.h"
#include "cli/patience.h"
#include "cli/say.h"
#include "core/limits.h"
#include "wire/jsonout.h"
#include "wire/reply.h"

#define QUIET_GAP_MS 500 /* between two streams that brought nothing */

static const struct cli_option options[] = {
    {'f', "follow", NULL, "go on as the log grows, until the job ends"},
    {'r', "rank", "R", "whose log (default 0)"},
};

#define LINE_MAX_BYTES ((size_t)64 << 10) /* longer ones come in pieces */

struct follower {
    const struct cli *cli;
    struct buf line; /* with --json: what came of a line that has not ended */
    struct client *client;
    uint32_t job;
    int64_t rank;
    int64_t offset;
    bool has_begun; /* the present stream has brought bytes */
};

/* What is kept of a line, up to the present offset. */
static int write_line(struct follower *f)
{
    struct jsonout j;
    struct buf out;
    int rc;

    if (f->line.len == 0)
        return 0;
    buf_init(&out, 8 * LINE_MAX_BYTES);
    j = (struct jsonout){.out = &out};
    jsonout_open(&j, NULL, '{');
    jsonout_i64(&j, "offset", f->offset - (int64_t)f->line.len);
    jsonout_text(&j, "text", f->line.text);
    jsonout_close(&j, '}');
    buf_putc(&out, '\n');
    rc = buf_error(&f->line) < 0 ? buf_error(&f->line) : buf_error(&out);
    if (rc == 0 && (fwrite(out.text, 1, out.len, stdout) != out.len || fflush(stdout)))
        rc = E_STATE;
    buf_release(&out);
    buf_clear(&f->line);
    return rc;
}

static int write_lines(struct follower *f, const char *bytes, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        bool is_inside = ((unsigned char)bytes[i] & 0xc0) == 0x80;

        if (f->line.len > LINE_MAX_BYTES - 8 && !is_inside)
            rc = write_line(f);
        buf_putc(&f->line, bytes[i] ? bytes[i] : '?');
        f->offset++;
        if (rc == 0 && bytes[i] == '\n')
            rc = write_line(f);
    }
    return rc;
}

/* What is no longer kept is passed over, and said. */
static void begin_stream(struct follower *f)
{
    int64_t offset = f->offset;

    f->has_begun = true;
    if (client_header(f->client, "Elastane-Log-Offset", &offset) < 0 ||
        offset <= f->offset)
        return;
    cli_note(f->cli, "elastane: %" PRId64 " bytes of the log are no longer kept",
             offset - f->offset);
    (void)write_line(f); /* a line cut in two: its first half */
    f->offset = offset;
}

static int write_out(void *arg, const char *bytes, size_t n)
{
    struct follower *f = arg;

    if (!f->has_begun)
        begin_stream(f);
    if (f->cli->is_json)
        return write_lines(f, bytes, n);
    if (fwrite(bytes, 1, n, stdout) != n || fflush(stdout) != 0)
        return E_STATE;
    f->offset += (int64_t)n;
    return 0;
}

static int read_once(struct follower *f, const char *follow, struct err *err)
{
    char path[160];
    int rc;

    (void)snprintf(path, sizeof path,
                   "/v1/jobs/%" PRIu32 "/logs?rank=%" PRId64 "&offset=%" PRId64 "%s",
                   f->job, f->rank, f->offset, follow);
    f->has_begun = false;
    rc = client_stream(f->client, path, write_out, f, err);
    if (rc == E_STATE && (ferror(stdout) || errno == EPIPE))
        (void)err_set(err, E_STATE, "cannot write to standard output");
    return rc;
}

/* One stream, and after a silent one what became of the job. */
static int follow_once(struct follower *f, bool *ret_ended, struct err *err)
{
    const struct timespec gap = {.tv_nsec = QUIET_GAP_MS * 1000000L};
    int64_t before = f->offset;
    enum job_state state;
    int rc = read_once(f, "&follow=1", err);

    if (rc < 0 || f->offset > before)
        return rc;
    rc = final_ask(f->client, f->job, &state, err);
    if (rc < 0)
        return rc;
    *ret_ended = job_state_is_final(state);
    if (*ret_ended)
        return read_once(f, "", err);
    (void)nanosleep(&gap, NULL);
    return 0;
}

static int follow(struct follower *f, struct err *err)
{
    struct patience patience = {.cli = f->cli};
    bool has_ended = false;
    int rc = read_once(f, "", err); /* what there is; and is there a daemon at all */

    if (rc < 0)
        return rc;
    patience_heard(&patience);
    while (!has_ended) {
        *err = (struct err){0};
        rc = follow_once(f, &has_ended, err);
        if (rc == 0)
            patience_heard(&patience);
        else if (patience_bears(&patience, err))
            has_ended = false;
        else
            return rc;
    }
    return 0;
}

static int logs(const struct cli *cli, struct follower *f, const char *mode)
{
    struct err err = {0};
    int rc = client_open(cli, &f->client, &err);

    if (rc == 0)
        rc = mode[0] ? follow(f, &err) : read_once(f, "", &err);
    client_close(f->client);
    if (rc == 0 && write_line(f) < 0)
        rc = err_set(&err, E_STATE, "cannot write to standard output");
    if (rc < 0)
        return cli_fail(cli, &err);
    if (f->offset == 0)
        cli_note(cli, "elastane: rank %" PRId64 " of job %" PRIu32 " has written nothing",
                 f->rank, f->job);
    return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct follower f = {.cli = cli};
    struct cli_args args;
    struct err err = {0};
    const char *mode = "";
    int id, rc;

    cli_args_init(&args, cli, &cli_logs, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        if (id == 'f')
            mode = "follow";
        else if (cli_number(args.value, 0, SIZE_MAX_DEVICES - 1, &f.rank, &err) < 0)
            return cli_usage(cli, "--rank: %s", err.text);
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(cli, "give the id of one job");
    rc = say_job_id(cli, argv[args.first], &f.job);
    if (rc != 0)
        return rc;
    buf_init(&f.line, LINE_MAX_BYTES);
    rc = logs(cli, &f, mode);
    buf_release(&f.line);
    return rc;
}

const struct cli_command cli_logs = {
    .name = "logs",
    .usage = "[OPTION]... ID",
    .summary = "print what a rank wrote",
    .details = "With --json each line is an object {\"offset\",\"text\"}.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
