/* SPDX-License-Identifier: Apache-2.0 */
/* simtable.c - see simtable.h. The numbers are those of sim_table(), which golden stories
 * hold to; here they fit the terminal. */
#include "cli/simtable.h"

#include "base/span.h"
#include "base/units.h"
#include "cli/say.h"
#include "cli/table.h"

static const struct table_column columns[] = {
    {"JOB", TABLE_LEFT, 8, 0},        {"STATE", TABLE_LEFT, 0, 0},
    {"SUBMIT", TABLE_RIGHT, 0, 2},    {"START", TABLE_RIGHT, 0, 3},
    {"END", TABLE_RIGHT, 0, 4},       {"TOOK", TABLE_RIGHT, 0, 0},
    {"GPU-HOURS", TABLE_RIGHT, 0, 1}, {"RESIZES", TABLE_RIGHT, 0, 5},
};

#define STATE_COLUMN 1

static void add_moment(struct table *t, usec_t moment)
{
    char text[SPAN_TEXT_MAX];

    table_cell(t, "%s", moment < 0 ? "-" : span_clock(moment, text));
}

int simtable_print(const struct cli *cli, const struct scenario *scn,
                   const struct sim_result *result)
{
    struct table t;
    int exit;

    table_init(&t, columns, ARRAY_SIZE(columns));
    for (size_t i = 0; i < result->n_jobs; i++) {
        const struct sim_job *job = &result->jobs[i];

        table_cell(&t, "%s", scn->jobs[job->index].spec.name);
        table_cell(&t, "%s", job->id ? job_state_name(job->state) : "refused");
        add_moment(&t, job->submit_us);
        add_moment(&t, job->start_us);
        add_moment(&t, job->end_us);
        add_moment(&t, job->end_us < 0 ? -1 : job->end_us - job->submit_us);
        table_cell(&t, "%.2f", (double)job->device_us / (double)USEC_PER_HOUR);
        table_cell(&t, "%d", job->resizes);
    }
    exit = say_table(cli, &t, STATE_COLUMN);
    table_release(&t);
    return exit;
}
