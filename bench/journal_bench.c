/* SPDX-License-Identifier: Apache-2.0 */
/* journal_bench.c - how many journal rows a second can be written and read, and how long
 * the snapshot of 10,000 jobs takes.
 *
 * A row is the usual one: a report from a shim, and the changes globals, run and hold.
 * Each figure is the best of three runs. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wire/journal.h"
#include "wire/snapshot.h"

#define ROWS 50000
#define JOBS 10000
#define RUNS 3

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static struct job_run run_of(uint32_t job)
{
    struct job_run run = {
        .id = job,
        .state = JOB_RUNNING,
        .goal = JOB_RUNNING,
        .has_started = true,
        .generation = 3,
        .incarnation = 2,
        .plan = {3, 4, 512, 128, 1},
        .order = job,
        .submit_us = 1700000000000000,
        .since_us = 1700000060000000,
        .start_us = 1700000005000000,
        .moved_us = 1700000050000000,
        .active_us = 55000000,
        .device_us = 220000000,
        .samples_done = 1234567,
        .rate_milli = 4321000,
        .stall_us = {5000000, 80000, 0},
        .retries_left = 2,
        .resizes = 1,
    };

    (void)snprintf(run.reason, sizeof run.reason, "2 to 4: pays back in 90 s");
    return run;
}

static void add_row(struct changes *changes, uint32_t job)
{
    struct change *change = changes_add(changes, CHANGE_GLOBALS);

    if (change)
        change->u.globals = (struct globals){.next_job = job + 1,
                                             .next_order = job + 1,
                                             .now_us = 1700000060000000,
                                             .planned_us = 1700000059000000,
                                             .plan_wake_us = USEC_NEVER,
                                             .needs_plan = true,
                                             .plans = job};
    change = changes_add(changes, CHANGE_RUN);
    if (change)
        change->u.run = run_of(job);
    change = changes_add(changes, CHANGE_HOLD);
    if (change)
        change->u.hold = (struct hold){4, 4, job, HOLD_NOW};
}

/* One run of rows; the time for writing and for reading them. */
static int time_rows(int64_t *ret_write_ns, int64_t *ret_read_ns, size_t *ret_bytes)
{
    const struct event event = {.kind = EVENT_PERF,
                                .time_us = 1700000060000000,
                                .job = 77,
                                .incarnation = 2,
                                .samples = 1234567,
                                .rate_milli = 4321000};
    struct changes changes, back;
    struct wire_event e;
    struct buf input, output;
    int64_t start;
    int rc = 0;

    changes_init(&changes);
    changes_init(&back);
    buf_init(&input, WIRE_ROW_MAX);
    buf_init(&output, WIRE_ROW_MAX);
    add_row(&changes, 77);
    start = now_ns();
    for (int i = 0; i < ROWS; i++) {
        buf_clear(&input);
        buf_clear(&output);
        wire_event_encode(&event, &input);
        wire_changes_encode(&changes, &output);
    }
    *ret_write_ns = now_ns() - start;
    *ret_bytes = input.len + output.len;
    start = now_ns();
    for (int i = 0; i < ROWS && rc == 0; i++) {
        rc = wire_event_decode(input.text, input.len, &e, NULL);
        if (rc == 0)
            wire_event_release(&e);
        changes_clear(&back);
        if (rc == 0)
            rc = wire_changes_decode(output.text, output.len, &back, NULL);
    }
    *ret_read_ns = now_ns() - start;
    changes_release(&changes);
    changes_release(&back);
    buf_release(&input);
    buf_release(&output);
    return rc;
}

static int time_snapshot(int64_t *ret_write_ns, int64_t *ret_read_ns, size_t *ret_bytes)
{
    struct changes changes, back;
    struct buf text;
    int64_t seq;
    int64_t start;
    int rc;

    changes_init(&changes);
    changes_init(&back);
    buf_init(&text, WIRE_SNAPSHOT_MAX);
    for (uint32_t job = 1; job <= JOBS; job++)
        add_row(&changes, job);
    start = now_ns();
    snapshot_encode(&changes, JOBS, &text);
    *ret_write_ns = now_ns() - start;
    *ret_bytes = text.len;
    start = now_ns();
    rc = wire_snapshot_decode(text.text, text.len, &back, &seq, NULL);
    *ret_read_ns = now_ns() - start;
    changes_release(&changes);
    changes_release(&back);
    buf_release(&text);
    return rc;
}

static void keep_least(int64_t *least, int64_t value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

static void print_figure(const char *name, double value, const char *unit,
                         const char *better)
{
    printf("{\"bench\": \"%s\", \"value\": %.1f, \"unit\": \"%s\", \"better\": \"%s\"}\n",
           name, value, unit, better);
}

int main(void)
{
    int64_t row_write = 0, row_read = 0, all_write = 0, all_read = 0;
    int64_t write_ns, read_ns;
    size_t row_bytes = 0, all_bytes = 0;
    int rc = 0;

    for (int run = 0; run < RUNS && rc == 0; run++) {
        rc = time_rows(&write_ns, &read_ns, &row_bytes);
        keep_least(&row_write, write_ns);
        keep_least(&row_read, read_ns);
        if (rc == 0)
            rc = time_snapshot(&write_ns, &read_ns, &all_bytes);
        keep_least(&all_write, write_ns);
        keep_least(&all_read, read_ns);
    }
    if (rc < 0) {
        (void)fprintf(stderr, "journal_bench: %s\n", err_name(rc));
        return 1;
    }
    print_figure("journal_rows_written", (double)ROWS * 1e9 / (double)row_write, "rows/s",
                 "more");
    print_figure("journal_rows_read", (double)ROWS * 1e9 / (double)row_read, "rows/s",
                 "more");
    print_figure("journal_row_size", (double)row_bytes, "bytes", "less");
    print_figure("snapshot_written_10000_jobs", (double)all_write / 1e6, "ms", "less");
    print_figure("snapshot_read_10000_jobs", (double)all_read / 1e6, "ms", "less");
    print_figure("snapshot_size_10000_jobs", (double)all_bytes / 1e6, "MB", "less");
    return 0;
}
