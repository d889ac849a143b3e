/* SPDX-License-Identifier: Apache-2.0 */
/* scn_fault.c - what goes wrong, and what users do, at stated moments.
 *
 * A subject comes once and its misfortunes follow, parted by commas:
 *     fault n2 down at 30m, up at 50m */
#include "sim/scn_read.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

static const char *const answers[] = {"started", "saved", "exit"};

static int add(struct scenario *scn, const struct scn_action *action)
{
    struct scn_action *a = scenario_add_action(scn);

    if (!a)
        return scn->n_actions < SCN_ACTIONS_MAX ? E_NOMEM : E_LIMIT;
    *a = *action;
    return 0;
}

static int read_at(struct scn_line *line, const char *field, usec_t *ret)
{
    int rc = scn_expect(line, field, "at");

    return rc < 0 ? rc : scn_span(line, field, ret);
}

/* device N foreign|stuck at T [until T] */
static int read_device_fault(struct scenario *scn, struct scn_line *line, int32_t node)
{
    static const char *const verbs[] = {"foreign", "stuck"};
    struct scn_action action = {.kind = SCN_DEVICE, .node = node};
    struct scn_action clean = action;
    int64_t device = 0;
    int verb = 0;
    int rc;

    if (scn->nodes[node].devices == 0)
        return scn_fail(line, "device", "is not there: the node has none");
    rc = scn_count(line, "device", 0, scn->nodes[node].devices - 1, &device);
    if (rc == 0)
        rc = scn_choice(line, "fault", verbs, 2, &verb);
    action.device = clean.device = (int32_t)device;
    action.device_state = verb == 0 ? DEVICE_FOREIGN : DEVICE_STUCK;
    if (rc == 0)
        rc = read_at(line, "fault", &action.at_us);
    if (rc == 0)
        rc = add(scn, &action);
    if (rc < 0 || !scn_take(line, "until"))
        return rc;
    rc = scn_span(line, "fault", &clean.at_us);
    if (rc == 0 && clean.at_us < action.at_us)
        rc = scn_fail(line, "fault", "ends before it begins");
    return rc < 0 ? rc : add(scn, &clean);
}

/* down at T | up at T | device ... */
static int read_node_fault(struct scenario *scn, struct scn_line *line, int32_t node)
{
    static const char *const verbs[] = {"down", "up", "device"};
    struct scn_action action = {.node = node};
    int verb = 0;
    int rc = scn_choice(line, "fault", verbs, 3, &verb);

    if (rc == 0 && verb == 2)
        return read_device_fault(scn, line, node);
    action.kind = verb == 0 ? SCN_NODE_DOWN : SCN_NODE_UP;
    if (rc == 0)
        rc = read_at(line, "fault", &action.at_us);
    return rc < 0 ? rc : add(scn, &action);
}

/* crash at T [exit N] | save fails at T | save hangs at T | start fails at T */
static int read_job_fault(struct scenario *scn, struct scn_line *line, int32_t job)
{
    struct scn_action action = {.job = job, .exit_code = 1};
    int64_t code = 1;
    int rc = 0;

    if (scn_take(line, "crash"))
        action.kind = SCN_CRASH;
    else if (scn_take(line, "start") && scn_take(line, "fails"))
        action.kind = SCN_START_FAILS;
    else if (scn_take(line, "save") && scn_take(line, "fails"))
        action.kind = SCN_SAVE_FAILS;
    else if (scn_take(line, "hangs"))
        action.kind = SCN_SAVE_HANGS;
    else
        rc = scn_fail(line, "fault",
                      "of a job is 'crash', 'save fails', 'save hangs' or 'start fails'");
    if (rc == 0)
        rc = read_at(line, "fault", &action.at_us);
    if (rc == 0 && action.kind == SCN_CRASH && scn_take(line, "exit"))
        rc = scn_count(line, "exit", 1, 255, &code);
    action.exit_code = (int32_t)code;
    return rc < 0 ? rc : add(scn, &action);
}

/* answer lost|late|twice JOB started|saved|exit [by T] at T */
static int read_answer_fault(struct scenario *scn, struct scn_line *line)
{
    static const char *const verbs[] = {"lost", "late", "twice"};
    static const enum scn_kind kinds[] = {SCN_LOST, SCN_LATE, SCN_TWICE};
    struct scn_action action = {.kind = SCN_LOST};
    int verb = 0;
    int answer = 0;
    int rc = scn_choice(line, "fault", verbs, 3, &verb);

    action.kind = kinds[verb];
    if (rc == 0)
        rc = scn_read_job_name(scn, line, "fault", &action.job);
    if (rc == 0)
        rc = scn_choice(line, "fault", answers, SCN_ANSWER_MAX, &answer);
    action.answer = (enum scn_answer)answer;
    if (rc == 0 && action.kind == SCN_LATE) {
        rc = scn_expect(line, "fault", "by");
        if (rc == 0)
            rc = scn_span(line, "fault", &action.by_us);
    }
    if (rc == 0)
        rc = read_at(line, "fault", &action.at_us);
    return rc < 0 ? rc : add(scn, &action);
}

/* daemon restart at T [for T] */
static int read_daemon_fault(struct scenario *scn, struct scn_line *line)
{
    struct scn_action action = {.kind = SCN_DAEMON};
    int rc = scn_expect(line, "fault", "restart");

    if (rc == 0)
        rc = read_at(line, "fault", &action.at_us);
    if (rc == 0 && scn_take(line, "for"))
        rc = scn_span(line, "fault", &action.by_us);
    return rc < 0 ? rc : add(scn, &action);
}

/* store fails at T until T */
static int read_store_fault(struct scenario *scn, struct scn_line *line)
{
    struct scn_action fails = {.kind = SCN_STORE_FAILS};
    struct scn_action works = {.kind = SCN_STORE_WORKS};
    int rc = scn_expect(line, "fault", "fails");

    if (rc == 0)
        rc = read_at(line, "fault", &fails.at_us);
    if (rc == 0)
        rc = scn_expect(line, "fault", "until");
    if (rc == 0)
        rc = scn_span(line, "fault", &works.at_us);
    if (rc == 0 && works.at_us < fails.at_us)
        rc = scn_fail(line, "fault", "ends before it begins");
    if (rc == 0)
        rc = add(scn, &fails);
    return rc < 0 ? rc : add(scn, &works);
}

static int read_one_fault(struct scenario *scn, struct scn_line *line, int32_t job,
                          int32_t node)
{
    if (job >= 0)
        return read_job_fault(scn, line, job);
    if (node >= 0)
        return read_node_fault(scn, line, node);
    return scn_fail(line, "fault", "has one event only; begin another line");
}

int scn_read_fault(struct scenario *scn, struct scn_line *line)
{
    int32_t job = -1;
    int32_t node = -1;
    int rc;

    if (scn_take(line, "answer")) {
        rc = read_answer_fault(scn, line);
    } else if (scn_take(line, "daemon")) {
        rc = read_daemon_fault(scn, line);
    } else if (scn_take(line, "store")) {
        rc = read_store_fault(scn, line);
    } else {
        const char *word = scn_next(line);

        job = word ? scenario_find_job(scn, word) : -1;
        node = word && job < 0 ? scenario_find_node(scn, word) : -1;
        if (job < 0 && node < 0)
            return scn_fail(line, "fault",
                            "is of '%.30s'; a job or node of the lines above, or "
                            "'daemon', 'store' or 'answer'",
                            word ? word : "nothing");
        rc = read_one_fault(scn, line, job, node);
    }
    while (rc == 0 && scn_take(line, ","))
        rc = read_one_fault(scn, line, job, node);
    return rc;
}

int scn_read_user(struct scenario *scn, struct scn_line *line)
{
    static const char *const verbs[] = {"cancel", "pause", "resume"};
    static const enum scn_kind kinds[] = {SCN_CANCEL, SCN_PAUSE, SCN_RESUME};
    int rc;

    do {
        struct scn_action action = {.kind = SCN_CANCEL};
        int verb = 0;

        rc = scn_choice(line, "user", verbs, 3, &verb);
        action.kind = kinds[verb];
        if (rc == 0)
            rc = scn_read_job_name(scn, line, "user", &action.job);
        if (rc == 0)
            rc = read_at(line, "user", &action.at_us);
        if (rc == 0)
            rc = add(scn, &action);
    } while (rc == 0 && scn_take(line, ","));
    return rc;
}

/* The spec as the last update above has left it. */
static const struct job_spec *newest_spec(const struct scenario *scn, int32_t job)
{
    const struct job_spec *spec = &scn->jobs[job].spec;

    for (size_t i = 0; i < scn->n_actions; i++)
        if (scn->actions[i].kind == SCN_UPDATE && scn->actions[i].job == job)
            spec = scn->actions[i].spec;
    return spec;
}

int scn_read_update(struct scenario *scn, struct scn_line *line)
{
    struct scn_action action = {.kind = SCN_UPDATE};
    int rc = scn_read_job_name(scn, line, "update", &action.job);

    if (rc < 0)
        return rc;
    action.spec = mem_new(1, sizeof *action.spec);
    if (!action.spec)
        return E_NOMEM;
    *action.spec = *newest_spec(scn, action.job);
    ASSERT(!action.spec->launch);
    while (rc == 0 && scn_peek(line) && strcmp(scn_peek(line), "at") != 0)
        rc = scn_read_setting(line, action.spec);
    if (rc == E_NOTFOUND)
        rc = scn_fail(
            line, "update",
            "has no key '%.30s'; gpus, batch, base, level, accumulate, lr, profile, "
            "grace, retries, limit, weight, type or family, then 'at'",
            scn_peek(line));
    if (rc == 0)
        rc = read_at(line, "update", &action.at_us);
    if (rc == 0)
        rc = add(scn, &action);
    if (rc < 0)
        mem_free(action.spec);
    return rc;
}
