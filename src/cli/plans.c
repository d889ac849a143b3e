/* SPDX-License-Identifier: Apache-2.0 */
/* plans.c - see plans.h. Why a size has no plan stands below the table, in full: a table
 * is cut at the edge of the terminal, a reason must not be. */
#include "cli/plans.h"

#include <string.h>

#include "base/units.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/say.h"
#include "cli/table.h"

#define SIZES_TEXT_MAX ((size_t)64 << 10)

static const struct table_column columns[] = {
    {"GPUS", TABLE_RIGHT, 0, 0},  {"BATCH", TABLE_RIGHT, 0, 0},
    {"MICRO", TABLE_RIGHT, 0, 1}, {"PASSES", TABLE_RIGHT, 0, 3},
    {"LR", TABLE_RIGHT, 0, 2},    {"SPEED", TABLE_RIGHT, 0, 0},
    {"RATE", TABLE_RIGHT, 0, 4},  {"SAMPLES PER RANK", TABLE_LEFT, 16, 5},
};

static void add_split(struct table *t, const struct dryrun_line *line)
{
    int least = line->global_batch / line->size;

    if (line->global_batch == 0)
        table_cell(t, "as the job likes");
    else if (line->ranks_more == 0)
        table_cell(t, "%d x %d", line->size, least);
    else
        table_cell(t, "%d x %d, %d x %d", line->ranks_more, least + 1,
                   line->size - line->ranks_more, least);
}

static void add_count(struct table *t, int32_t value)
{
    if (value > 0)
        table_cell(t, "%d", value);
    else
        table_cell(t, "-");
}

static void add_line(struct table *t, const struct dryrun_line *line)
{
    char text[FORMAT_MAX];

    table_cell(t, "%d", line->size);
    if (!line->is_feasible) {
        for (int i = 0; i < 6; i++)
            table_cell(t, "-");
        table_cell(t, "no plan, see below");
        return;
    }
    add_count(t, line->global_batch);
    add_count(t, line->micro_batch);
    add_count(t, line->accumulation);
    table_cell(t, "%s", format_factor(text, line->lr_ppm));
    table_cell(t, "%s", format_factor(text, line->speed_ppm));
    table_cell(t, "%s", format_rate(text, line->rate_milli));
    add_split(t, line);
}

/* "2..4, 8" */
static void put_feasible(const struct dryrun *dryrun, struct buf *out)
{
    for (size_t i = 0; i < dryrun->n; i++) {
        size_t first = i;

        if (!dryrun->lines[i].is_feasible)
            continue;
        while (i + 1 < dryrun->n && dryrun->lines[i + 1].is_feasible &&
               dryrun->lines[i + 1].size == dryrun->lines[i].size + 1)
            i++;
        buf_printf(out, "%s%d", out->len > 0 ? ", " : "", dryrun->lines[first].size);
        if (i > first)
            buf_printf(out, "%s%d", i > first + 1 ? ".." : ", ", dryrun->lines[i].size);
    }
}

/* What the table does not show: what may come, and when. */
static void print_outlook(const struct job_spec *spec, const struct dryrun *dryrun)
{
    struct buf sizes;

    buf_init(&sizes, SIZES_TEXT_MAX);
    put_feasible(dryrun, &sizes);
    if (dryrun->n_feasible > 0)
        say_line("feasible: %s gpu%s", sizes.text,
                 strcmp(sizes.text, "1") == 0 ? "" : "s");
    buf_release(&sizes);
    if (spec->profile == JOB_PROFILE_OFF && dryrun->source == MODEL_PRIOR &&
        dryrun->n_feasible > 0)
        say_line("Not measured, profile off: it is planned by that guess%s.",
                 spec->batch_max > spec->batch_base ? ", and its batch stays at the base"
                                                    : "");
    if (dryrun->size_growth == DRYRUN_ONCE_MEASURED && dryrun->n_feasible > 1)
        say_line("Not measured yet: it starts on its smallest size, then gets at most "
                 "twice the largest size that has been measured.");
    if (dryrun->batch_growth == DRYRUN_ONCE_MEASURED && dryrun->n_feasible > 0)
        say_line("Not measured yet: batches above the base, %d, come only once the job "
                 "has been measured while it trains; then up to %d.",
                 spec->batch_base, spec->batch_max);
}

int plans_print(const struct cli *cli, const struct job_spec *spec,
                const struct dryrun *dryrun)
{
    struct table t;
    int exit;

    say_line("%s, %s; %s", spec->name, job_level_name(spec->level),
             dryrun->source == MODEL_PRIOR
                 ? "speeds are a guess, k^0.8: nothing is stated or measured"
                 : "speeds from the stated model");
    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < dryrun->n; i++)
        add_line(&t, &dryrun->lines[i]);
    exit = say_table(cli, &t, -1);
    table_release(&t);
    for (size_t i = 0; i < dryrun->n; i++) {
        const struct dryrun_line *line = &dryrun->lines[i];

        if (!line->is_feasible)
            say_line("no plan for %d gpu%s: %s%s%s", line->size,
                     line->size == 1 ? "" : "s", line->why.field,
                     line->why.field[0] ? ": " : "", line->why.text);
    }
    print_outlook(spec, dryrun);
    return exit;
}
