/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - see replay.h.
 *
 * A row's recorded changes are what is folded in, whatever is decided now, so one
 * difference does not bring on others. Texts are compared after the recorded one was
 * decoded and encoded again: a field that a later version added with its default is no
 * difference. The event is decoded only when somebody wants it (to decide, to watch), so
 * a journal whose inputs are from another version still folds. */
#include "engine/replay.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "core/change.h"
#include "core/core.h"
#include "wire/journal.h"

struct replay {
    const struct replay_options *options;
    struct replay_report *report;
    struct core *core;
    struct changes recorded;
    struct changes decided;
    struct buf recorded_text;
    struct buf decided_text;
};

static void replay_init(struct replay *r, const struct replay_options *options,
                        struct replay_report *report)
{
    *r = (struct replay){.options = options, .report = report, .core = core_new()};
    changes_init(&r->recorded);
    changes_init(&r->decided);
    buf_init(&r->recorded_text, WIRE_ROW_MAX);
    buf_init(&r->decided_text, WIRE_ROW_MAX);
}

static void replay_release(struct replay *r)
{
    core_free(r->core);
    changes_release(&r->recorded);
    changes_release(&r->decided);
    buf_release(&r->recorded_text);
    buf_release(&r->decided_text);
}

/* What stands in a journal and cannot be read is damage; the place comes first. */
static int at_row(int64_t seq, const char *what, int rc, const struct err *inner,
                  struct err *err)
{
    return err_set(err, rc == E_INVALID ? E_CORRUPT : rc, "row %lld, %s: %s%s%s",
                   (long long)seq, what, inner->field, inner->field[0] ? " " : "",
                   inner->text);
}

static int load_snapshot(struct replay *r, struct err *err)
{
    const struct replay_options *o = r->options;
    struct err inner = {0};
    int64_t seq = 0;
    int rc;

    if (!o->snapshot)
        return 0;
    changes_clear(&r->recorded);
    rc = wire_snapshot_decode(o->snapshot, o->snapshot_len, &r->recorded, &seq, &inner);
    if (rc < 0)
        return at_row(o->snapshot_seq, "snapshot", rc, &inner, err);
    for (size_t i = 0; i < r->recorded.n && rc == 0; i++)
        rc = core_apply(r->core, &r->recorded.items[i]);
    if (rc < 0)
        return err_set(err, rc, "snapshot %lld does not fit an empty state",
                       (long long)seq);
    r->report->last_seq = seq;
    r->report->last_us = core_globals(r->core)->now_us;
    return 0;
}

static void note_difference(struct replay *r, const struct engine_row *row)
{
    struct replay_report *report = r->report;
    const char *a = r->recorded_text.text;
    const char *b = r->decided_text.text;
    size_t at = 0;

    report->different++;
    if (report->first_seq != 0)
        return;
    while (a[at] && a[at] == b[at])
        at++;
    report->first_seq = row->seq;
    report->first_rules = row->rules;
    report->first_at = at;
    (void)snprintf(report->first_kind, sizeof report->first_kind, "%s", row->kind);
    (void)snprintf(report->recorded, sizeof report->recorded, "%s", a + at);
    (void)snprintf(report->now, sizeof report->now, "%s", b + at);
}

static int compare(struct replay *r, const struct engine_row *row, struct err *err)
{
    int rc;

    buf_clear(&r->recorded_text);
    buf_clear(&r->decided_text);
    wire_changes_encode(&r->recorded, &r->recorded_text);
    wire_changes_encode(&r->decided, &r->decided_text);
    rc = buf_error(&r->recorded_text) < 0 ? buf_error(&r->recorded_text)
                                          : buf_error(&r->decided_text);
    if (rc < 0)
        return err_set(err, rc, "row %lld is too large to compare", (long long)row->seq);
    r->report->decided++;
    if (strcmp(r->recorded_text.text, r->decided_text.text) == 0)
        return 0;
    note_difference(r, row);
    if (row->rules != CORE_RULES)
        return 0;
    return err_set(err, E_CORRUPT,
                   "row %lld (%s) is decided differently now, though the rules (%d) are "
                   "the same",
                   (long long)row->seq, row->kind, row->rules);
}

static int decide_again(struct replay *r, const struct engine_row *row,
                        const struct event *event, struct err *err)
{
    int rc;

    if (event->time_us < core_globals(r->core)->now_us)
        return err_set(err, E_CORRUPT, "row %lld (%s): time goes back",
                       (long long)row->seq, row->kind);
    changes_clear(&r->decided);
    /* A refusal is no change at all, and an event that was journalled had some. */
    rc = core_decide(r->core, event, &r->decided, NULL);
    if (rc == E_NOMEM)
        return err_set(err, rc, "out of memory at row %lld", (long long)row->seq);
    return compare(r, row, err);
}

static int fold(struct replay *r, const struct engine_row *row, const struct event *event,
                struct err *err)
{
    const struct engine_watch_port *watch = r->options->watch;
    struct err inner = {0};
    int rc;

    for (size_t i = 0; i < r->recorded.n; i++) {
        const struct change *change = &r->recorded.items[i];

        if (watch && watch->change)
            watch->change(watch->ctx, r->core, event, change);
        rc = core_apply(r->core, change);
        if (rc < 0)
            return err_set(err, rc, "row %lld: change %zu (%s) does not fit the state",
                           (long long)row->seq, i, change_kind_name(change->kind));
    }
    if (watch && watch->step)
        watch->step(watch->ctx, r->core, event);
    if (!r->options->check)
        return 0;
    rc = core_check(r->core, &inner);
    return rc < 0 ? at_row(row->seq, "state", rc, &inner, err) : 0;
}

static int replay_row(struct replay *r, const struct engine_row *row, struct err *err)
{
    bool wants_event = r->options->decide || r->options->watch;
    struct wire_event event = {0};
    struct err inner = {0};
    int rc;

    if (row->seq != r->report->last_seq + 1)
        return err_set(err, E_CORRUPT, "row %lld follows row %lld; rows are missing",
                       (long long)row->seq, (long long)r->report->last_seq);
    changes_clear(&r->recorded);
    rc = wire_changes_decode(row->changes, strlen(row->changes), &r->recorded, &inner);
    if (rc < 0)
        return at_row(row->seq, "changes", rc, &inner, err);
    if (wants_event) {
        rc = wire_event_decode(row->input, strlen(row->input), &event, &inner);
        if (rc < 0)
            return at_row(row->seq, "input", rc, &inner, err);
    }
    if (r->options->decide)
        rc = decide_again(r, row, &event.event, err);
    if (rc == 0)
        rc = fold(r, row, &event.event, err);
    if (wants_event)
        wire_event_release(&event);
    if (rc < 0)
        return rc;
    r->report->rows++;
    r->report->last_seq = row->seq;
    r->report->last_us = row->time_us;
    return 0;
}

static int replay_rows(struct replay *r, const struct replay_source *source,
                       struct err *err)
{
    struct engine_row row;
    int rc = 0;

    while (r->options->until_seq == 0 || r->report->last_seq < r->options->until_seq) {
        rc = source->next(source->ctx, &row, err);
        if (rc <= 0)
            break;
        rc = replay_row(r, &row, err);
        if (rc < 0)
            break;
    }
    return rc < 0 ? rc : 0;
}

int replay_run(const struct replay_options *options, const struct replay_source *source,
               struct replay_report *ret, struct err *err)
{
    struct replay_report report = {0};
    struct replay r;
    int rc = E_NOMEM;

    replay_init(&r, options, &report);
    if (r.core)
        rc = load_snapshot(&r, err);
    if (rc == 0)
        rc = replay_rows(&r, source, err);
    if (rc == 0)
        rc = wire_digest(r.core, &report.digest);
    if (rc != E_NOMEM)
        *ret = report;
    replay_release(&r);
    return rc;
}
