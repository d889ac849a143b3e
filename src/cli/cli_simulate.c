/* SPDX-License-Identifier: Apache-2.0 */
/* cli_simulate.c - a scenario run on virtual time, with the daemon's own scheduler.
 *
 * Needs no daemon. The story comes first, the table of jobs after it; --svg draws who had
 * which devices when. Options override what the scenario says, so that one text serves to
 * compare policies. */
#include <limits.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "cli/simtable.h"
#include "cli/textfile.h"
#include "core/policy/policy.h"
#include "report/run.h"
#include "report/timeline.h"
#include "sim/sim.h"
#include "wire/schema.h"

#define OPT_POLICY    CLI_LONG
#define OPT_ADMISSION (CLI_LONG + 1)
#define OPT_SCALER    (CLI_LONG + 2)
#define OPT_SVG       (CLI_LONG + 3)
#define OPT_TABLE     (CLI_LONG + 4)

#define TEXT_MAX ((size_t)64 << 20)

static const struct cli_option options[] = {
    {OPT_POLICY, "policy", "NAME", "schedule by this policy, whatever the scenario says"},
    {OPT_ADMISSION, "admission", "WORD", "queue, skip or drop"},
    {OPT_SCALER, "scaler", "WORD", "payback or none"},
    {OPT_SVG, "svg", "FILE",
     "where the timeline goes; none: draw none (STORY.svg, here)"},
    {OPT_TABLE, "table", NULL, "print the table of jobs only, no story"},
};

struct wishes {
    const char *policy;
    const char *admission;
    const char *scaler;
    const char *svg; /* NULL: no timeline */
    bool is_table_only;
};

static int choose_word(const char *word, const char *const *words, int n,
                       const char *field, struct err *err)
{
    for (int i = 0; i < n; i++)
        if (strcmp(word, words[i]) == 0)
            return i;
    return err_field(err, E_INVALID, field, "is '%.40s'; give %s%s%s%s%s", word, words[0],
                     n > 2 ? ", " : " or ", words[1], n > 2 ? " or " : "",
                     n > 2 ? words[2] : "");
}

/* The options in place of what the scenario says, at its start and at each later change.
 */
static int override(const struct wishes *w, struct config *config, struct err *err)
{
    static const char *const admissions[] = {"queue", "skip", "drop"};
    static const char *const scalers[] = {"payback", "none"};
    int choice;

    if (w->policy) {
        (void)snprintf(config->policy, sizeof config->policy, "%s", w->policy);
        if (!policy_find(w->policy))
            return config_check(config, err); /* which names those there are */
    }
    if (w->admission) {
        choice = choose_word(w->admission, admissions, 3, "admission", err);
        if (choice < 0)
            return choice;
        config->admission = (enum config_admission)choice;
    }
    if (w->scaler) {
        choice = choose_word(w->scaler, scalers, 2, "scaler", err);
        if (choice < 0)
            return choice;
        config->scaler = (enum config_scaler)choice;
    }
    return 0;
}

static int override_all(const struct wishes *w, struct scenario *scn, struct err *err)
{
    int rc = override(w, &scn->config, err);

    for (size_t i = 0; rc == 0 && i < scn->n_actions; i++)
        if (scn->actions[i].config)
            rc = override(w, scn->actions[i].config, err);
    return rc;
}

static void put_text(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, "\"%s\":", key);
    schema_encode_text(text, strlen(text), out);
}

static void put_job(struct buf *out, const struct scenario *scn,
                    const struct sim_job *job)
{
    buf_printf(out, "{\"active_us\":%" PRId64 ",\"device_us\":%" PRId64 ",",
               (int64_t)job->active_us, job->device_us);
    buf_printf(out, "\"end_us\":%" PRId64 ",\"id\":%" PRIu32 ",", (int64_t)job->end_us,
               job->id);
    put_text(out, "name", scn->jobs[job->index].spec.name);
    buf_putc(out, ',');
    put_text(out, "reason", job->reason);
    buf_printf(out, ",\"resizes\":%" PRId32 ",\"samples_done\":%" PRId64, job->resizes,
               job->samples_done);
    buf_printf(out, ",\"samples_repeated\":%" PRId64 ",\"start_us\":%" PRId64 ",",
               job->samples_repeated, (int64_t)job->start_us);
    put_text(out, "state", job->id ? job_state_name(job->state) : "refused");
    buf_printf(out, ",\"submit_us\":%" PRId64 "}", (int64_t)job->submit_us);
}

static void put_json(struct buf *out, const struct scenario *scn,
                     const struct sim_result *result)
{
    buf_printf(out, "{\"digest\":\"%016" PRIx64 "\",\"end_us\":%" PRId64 ",\"jobs\":[",
               result->digest, (int64_t)result->end_us);
    for (size_t i = 0; i < result->n_jobs; i++) {
        if (i > 0)
            buf_putc(out, ',');
        put_job(out, scn, &result->jobs[i]);
    }
    buf_printf(out,
               "],\"plans\":%" PRId64 ",\"refused\":%zu,\"rows\":%" PRId64
               ",\"unfinished\":%zu}\n",
               result->plans, result->n_refused, result->steps, result->n_unfinished);
}

static int draw(const struct wishes *w, const struct scenario *scn,
                const struct sim_result *result, const char *title, struct err *err)
{
    struct buf svg;
    int rc;

    buf_init(&svg, TIMELINE_SVG_MAX);
    rc = run_svg(scn, result, title, &svg);
    if (rc < 0)
        (void)err_set(err, rc, "the timeline is too large");
    else
        rc = textfile_write(w->svg, &svg, err);
    buf_release(&svg);
    return rc;
}

static int simulate(const struct cli *cli, const struct wishes *w,
                    const struct scenario *scn, const char *title, struct err *err)
{
    const struct sim_options how = {.wants_story = !w->is_table_only && !cli->is_json,
                                    .wants_spans = w->svg != NULL};
    struct sim_result result;
    struct buf out;
    int rc;

    sim_result_init(&result);
    buf_init(&out, TEXT_MAX);
    rc = sim_run(scn, &how, &result, err);
    if (cli->is_json && rc == 0) {
        put_json(&out, scn, &result);
        rc = buf_error(&out);
    } else if (!cli->is_json) {
        say_story(result.story.text);
    }
    if (rc == 0 && cli->is_json) {
        (void)fwrite(out.text, 1, out.len, stdout);
    } else if (rc == 0) {
        fputs(how.wants_story ? "\n" : "", stdout);
        rc = simtable_print(cli, scn, &result) == CLI_OK ? 0 : E_NOMEM;
    }
    if (rc == 0 && w->svg)
        rc = draw(w, scn, &result, title, err);
    if (rc == 0 && w->svg)
        cli_note(cli, "timeline: %s", w->svg);
    buf_release(&out);
    sim_result_release(&result);
    return rc;
}

static int read_and_run(const struct cli *cli, const struct wishes *w, const char *path)
{
    struct scenario scn;
    struct err err = {0};
    struct buf text;
    int rc;

    buf_init(&text, SCN_TEXT_MAX);
    scenario_init(&scn);
    rc = textfile_read(path, &text, &err);
    if (rc == 0)
        rc = scenario_read(&scn, text.text, text.len, &err);
    if (rc == 0)
        rc = override_all(w, &scn, &err);
    if (rc == 0)
        rc = simulate(cli, w, &scn, path, &err);
    scenario_release(&scn);
    buf_release(&text);
    return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

/* Told in full, a story brings its timeline: "a/b.scn" draws "b.svg" into the directory
 * that we are in. Numbers for machines or a table alone bring none, unless a file is
 * named. */
static void choose_svg(const struct cli *cli, struct wishes *w, const char *story,
                       char *name, size_t size)
{
    const char *base = strrchr(story, '/');
    size_t n;

    if (w->svg && strcmp(w->svg, "none") == 0)
        w->svg = NULL;
    else if (!w->svg && !cli->is_json && !w->is_table_only && strcmp(story, "-") != 0) {
        base = base ? base + 1 : story;
        n = strlen(base);
        if (n > 4 && strcmp(base + n - 4, ".scn") == 0)
            n -= 4;
        (void)snprintf(name, size, "%.*s.svg", (int)n, base);
        w->svg = name;
    }
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct wishes w = {0};
    struct cli_args args;
    char svg[PATH_MAX];
    int id;

    cli_args_init(&args, cli, &cli_simulate, argc, argv);
    args.is_mixed = true;
    while ((id = cli_args_next(&args)) > 0) {
        if (id == OPT_POLICY)
            w.policy = args.value;
        else if (id == OPT_ADMISSION)
            w.admission = args.value;
        else if (id == OPT_SCALER)
            w.scaler = args.value;
        else if (id == OPT_SVG)
            w.svg = args.value;
        else
            w.is_table_only = true;
    }
    if (id == CLI_ARGS_DONE)
        return args.exit;
    if (argc - args.first != 1)
        return cli_usage(cli, "give one scenario, or - for standard input");
    choose_svg(cli, &w, argv[args.first], svg, sizeof svg);
    return read_and_run(cli, &w, argv[args.first]);
}

const struct cli_command cli_simulate = {
    .name = "simulate",
    .usage = "[OPTION]... STORY.scn",
    .summary = "run a scenario on virtual time and tell its story",
    .no_daemon = true,
    .details = "The scheduler is the daemon's own; docs/scn.md describes the text.",
    .options = options,
    .n_options = ARRAY_SIZE(options),
    .run = run,
};
