/* SPDX-License-Identifier: Apache-2.0 */
/* cli_replay.c - a state directory read again: the story that its journal tells, and with
 * --decide whether this program would decide the same.
 *
 * The directory is only read, beside a running daemon or without one. The story comes out
 * row by row, so a long journal needs no more memory than its state. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "engine/replay.h"
#include "engine/story.h"
#include "store/reader.h"
#include "store/store.h"

#define OPT_DECIDE CLI_LONG
#define OPT_CHECK  (CLI_LONG + 1)
#define OPT_UNTIL  (CLI_LONG + 2)

#define STORY_MAX  ((size_t)64 << 20) /* of one row */
#define NAME_WIDTH 12

static const struct cli_option options[] = {
    {OPT_DECIDE, "decide", NULL, "decide again, and name the first row that differs"},
    {OPT_CHECK, "check", NULL, "check all invariants after each row"},
    {OPT_UNTIL, "until", "SEQ", "stop after this row"},
};

/* Rows on their way to the replay; prints what the row before had to tell. */
struct teller {
    struct store_reader *reader;
    struct story story;
    struct buf text;
    bool is_silent;
    bool has_begun;
    char *snapshot; /* owned; NULL: from the first row on */
};

static void tell(struct teller *t)
{
    if (!t->is_silent)
        say_story(t->text.text);
    buf_clear(&t->text);
}

static int next_row(void *ctx, struct engine_row *ret_row, struct err *err)
{
    struct teller *t = ctx;
    int rc = store_reader_next(t->reader, ret_row, err);

    tell(t);
    if (rc == 1 && !t->has_begun) {
        t->has_begun = true;
        t->story.zero_us = ret_row->time_us;
    }
    return rc;
}

static void print_json(const struct replay_options *o, const struct replay_report *r)
{
    printf("{\"decided\":%" PRId64 ",\"different\":%" PRId64 ",\"digest\":\"%016" PRIx64
           "\",\"first_different_kind\":\"%s\",\"first_different_seq\":%" PRId64
           ",\"is_decided\":%s,\"last_seq\":%" PRId64 ",\"last_us\":%" PRId64
           ",\"rows\":%" PRId64 "}\n",
           r->decided, r->different, r->digest, r->first_kind, r->first_seq,
           o->decide ? "true" : "false", r->last_seq, (int64_t)r->last_us, r->rows);
}

static void print_report(const struct replay_options *o, const struct replay_report *r)
{
    printf("%" PRId64 " rows up to %" PRId64 ", digest %016" PRIx64 "\n", r->rows,
           r->last_seq, r->digest);
    if (!o->decide)
        return;
    printf("%" PRId64 " decided again, %" PRId64 " differently\n", r->decided,
           r->different);
    if (r->different == 0)
        return;
    printf("first: row %" PRId64 " (%s), decided under rules %d, now %d; from byte %zu\n",
           r->first_seq, r->first_kind, r->first_rules, CORE_RULES, r->first_at);
    printf("  then ");
    say_text(r->recorded);
    printf("\n  now  ");
    say_text(r->now);
    putchar('\n');
}

/* SQLite would only say that it cannot open a file. */
static int look(const char *dir, struct err *err)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof path, "%s/state.db", dir) >= (int)sizeof path)
        return err_set(err, E_NOTFOUND, "the name of the directory is too long");
    if (access(path, R_OK) == 0)
        return 0;
    return err_set(err, errno == ENOENT || errno == ENOTDIR ? E_NOTFOUND : E_STATE,
                   "cannot read %s: %s; give what elastaned --state names", path,
                   strerror(errno));
}

/* Where the first rows are gone the replay begins at the oldest snapshot. */
static int begin(struct teller *t, struct replay_options *o, struct err *err)
{
    const char *text = NULL;
    int64_t first = 0;
    int rc = store_reader_first_seq(t->reader, &first, err);

    for (int i = STORE_SNAPSHOTS_KEPT - 1; rc == 0 && i >= 0 && first > 1; i--) {
        rc = store_reader_snapshot(t->reader, i, &o->snapshot_seq, &text,
                                   &o->snapshot_len, err);
        if (rc <= 0)
            continue;
        t->snapshot = mem_text(text);
        rc = t->snapshot ? 0 : err_set(err, E_NOMEM, "out of memory");
        break;
    }
    o->snapshot = t->snapshot;
    if (rc == 0 && o->snapshot)
        store_reader_seek(t->reader, o->snapshot_seq);
    return rc;
}

static int replay(const struct cli *cli, const char *dir, struct replay_options *o)
{
    struct teller t = {.is_silent = cli->is_json};
    struct replay_source source = {.ctx = &t, .next = next_row};
    struct replay_report report = {0};
    struct engine_watch_port watch;
    struct err err = {0};
    int rc = look(dir, &err);

    if (rc == 0)
        rc = store_reader_open(dir, NULL, &t.reader, &err);
    buf_init(&t.text, STORY_MAX);
    story_init(&t.story, &t.text, 0, NAME_WIDTH);
    watch = story_watch(&t.story);
    o->watch = &watch;
    if (rc == 0)
        rc = begin(&t, o, &err);
    if (rc == 0)
        rc = replay_run(o, &source, &report, &err);
    tell(&t);
    if (report.rows > 0 && cli->is_json)
        print_json(o, &report);
    else if (report.rows > 0)
        print_report(o, &report);
    else if (rc == 0)
        rc = err_set(&err, E_NOTFOUND, "%s holds no rows", dir);
    store_reader_free(t.reader);
    mem_free(t.snapshot);
    story_release(&t.story);
    buf_release(&t.text);
    if (rc == 0)
        return CLI_OK;
    return cli_fail(cli, &err);
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct replay_options o = {0};
    struct cli_args args;
    struct err err = {0};
    int id;

    cli_args_init(&args, cli, &cli_replay, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        if (id == OPT_DECIDE)
            o.decide = true;
        else if (id == OPT_CHECK)
            o.check = true;
        else if (cli_number(args.value, 1, INT64_MAX, &o.until_seq, &err) < 0)
            return cli_usage(cli, "--until: %s", err.text);
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(cli, "give one state directory");
    return replay(cli, argv[args.first], &o);
}

const struct cli_command cli_replay = {
    .name = "replay",
    .usage = "[OPTION]... DIR",
    .summary = "tell the story of a state directory",
    .no_daemon = true,
    .details = "DIR is what elastaned --state names; it is only read.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
