/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - see reply.h. Tables say which field of an answer lands where; only what is
 * composed for the eye (sizes, command, nodes, counts) has code of its own. */
#include "wire/reply.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "wire/jsonin.h"
#include "wire/shellword.h"

enum slot_kind { SLOT_NUMBER, SLOT_TEXT, SLOT_BOOL };

struct slot {
    const char *name;
    enum slot_kind kind;
    size_t offset;
    size_t size;
};

/* One slot of a table, inside its braces. */
#define NUMBER(type, member) #member, SLOT_NUMBER, offsetof(struct type, member), 0
#define BOOL(type, member)   #member, SLOT_BOOL, offsetof(struct type, member), 0
#define TEXT(type, member)                                                               \
#member, SLOT_TEXT, offsetof(struct type, member), sizeof((struct type *)0)->member

static const struct slot job_slots[] = {
    {NUMBER(reply_job, id)},
    {NUMBER(reply_job, uid)},
    {TEXT(reply_job, name)},
    {TEXT(reply_job, family)},
    {TEXT(reply_job, device_type)},
    {TEXT(reply_job, level)},
    {TEXT(reply_job, state)},
    {TEXT(reply_job, goal)},
    {TEXT(reply_job, cause)},
    {TEXT(reply_job, accumulate)},
    {TEXT(reply_job, launch)},
    {TEXT(reply_job, lr_rule)},
    {TEXT(reply_job, profile)},
    {TEXT(reply_job, model_source)},
    {BOOL(reply_job, is_unconfirmed)},
    {NUMBER(reply_job, size)},
    {NUMBER(reply_job, global_batch)},
    {NUMBER(reply_job, micro_batch)},
    {NUMBER(reply_job, accumulation)},
    {NUMBER(reply_job, generation)},
    {NUMBER(reply_job, incarnation)},
    {NUMBER(reply_job, next_size)},
    {NUMBER(reply_job, next_global_batch)},
    {NUMBER(reply_job, samples_done)},
    {NUMBER(reply_job, samples_repeated)},
    {NUMBER(reply_job, samples_total)},
    {NUMBER(reply_job, rate_milli)},
    {NUMBER(reply_job, warm_up_us)},
    {NUMBER(reply_job, queue_place)},
    {NUMBER(reply_job, submit_us)},
    {NUMBER(reply_job, since_us)},
    {NUMBER(reply_job, start_us)},
    {NUMBER(reply_job, end_us)},
    {NUMBER(reply_job, retry_us)},
    {NUMBER(reply_job, active_us)},
    {NUMBER(reply_job, device_us)},
    {NUMBER(reply_job, exit_code)},
    {NUMBER(reply_job, retries_left)},
    {NUMBER(reply_job, resizes)},
    {NUMBER(reply_job, batch_min)},
    {NUMBER(reply_job, batch_max)},
    {NUMBER(reply_job, batch_base)},
    {NUMBER(reply_job, gpu_batch)},
    {NUMBER(reply_job, grace_us)},
    {NUMBER(reply_job, time_limit_us)},
    {NUMBER(reply_job, weight_ppm)},
    {TEXT(reply_job, reason)},
    {TEXT(reply_job, note)},
    {TEXT(reply_job, cwd)},
    {TEXT(reply_job, log_dir)},
    {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot move_slots[] = {
    {NUMBER(reply_move, time_us)}, {NUMBER(reply_move, generation)},
    {NUMBER(reply_move, size)},    {NUMBER(reply_move, global_batch)},
    {TEXT(reply_move, state)},     {TEXT(reply_move, reason)},
    {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot node_slots[] = {
    {TEXT(reply_node, name)},       {TEXT(reply_node, device_type)},
    {TEXT(reply_node, state)},      {NUMBER(reply_node, since_us)},
    {NUMBER(reply_node, devices)},  {NUMBER(reply_node, held)},
    {NUMBER(reply_node, free)},     {NUMBER(reply_node, gone)},
    {NUMBER(reply_node, withheld)}, {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot mark_slots[] = {
    {NUMBER(reply_mark, device)},   {NUMBER(reply_mark, job)},
    {NUMBER(reply_mark, since_us)}, {TEXT(reply_mark, state)},
    {TEXT(reply_mark, who)},        {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot status_slots[] = {
    {TEXT(reply_status, version)},    {TEXT(reply_status, policy)},
    {TEXT(reply_status, admission)},  {TEXT(reply_status, scaler)},
    {NUMBER(reply_status, now_us)},   {NUMBER(reply_status, pid)},
    {NUMBER(reply_status, rules)},    {NUMBER(reply_status, seq)},
    {BOOL(reply_status, is_blocked)}, {TEXT(reply_status, blocked_reason)},
    {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot devices_slots[] = {
    {NUMBER(reply_status, total)},    {NUMBER(reply_status, held)},
    {NUMBER(reply_status, free)},     {NUMBER(reply_status, gone)},
    {NUMBER(reply_status, withheld)}, {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot calibration_slots[] = {
    {TEXT(reply_calibration, state)},
    {TEXT(reply_calibration, reason)},
    {NUMBER(reply_calibration, time_us)},
    {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot point_slots[] = {
    {NUMBER(reply_point, bytes)}, {NUMBER(reply_point, size)},
    {NUMBER(reply_point, nodes)}, {NUMBER(reply_point, time_ns)},
    {NULL, SLOT_BOOL, 0, 0},
};

static const struct slot accepted_slots[] = {
    {NUMBER(reply_accepted, id)},
    {TEXT(reply_accepted, state)},
    {NULL, SLOT_BOOL, 0, 0},
};

static int wrong(struct err *err, const char *name)
{
    return err_set(err, E_CORRUPT,
                   "the daemon's answer makes no sense: '%.40s' has the wrong type",
                   name);
}

/* Copies as much as fits, never half of a UTF-8 character. */
static void copy_cut(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size) {
        n = size - 1;
        while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
            n--;
    }
    memcpy(to, text, n);
    to[n] = '\0';
}

static int fill(void *record, const struct slot *slots, json_t *object, struct err *err)
{
    if (!json_is_object(object))
        return err_set(err, E_CORRUPT,
                       "the daemon's answer makes no sense: an object is "
                       "missing");
    for (const struct slot *s = slots; s->name; s++) {
        json_t *value = json_object_get(object, s->name);
        char *at = (char *)record + s->offset;

        if (!value)
            continue;
        switch (s->kind) {
        case SLOT_NUMBER:
            if (!json_is_integer(value))
                return wrong(err, s->name);
            *(int64_t *)(void *)at = json_integer_value(value);
            break;
        case SLOT_TEXT:
            if (!json_is_string(value))
                return wrong(err, s->name);
            copy_cut(at, s->size, json_string_value(value));
            break;
        case SLOT_BOOL:
            if (!json_is_boolean(value))
                return wrong(err, s->name);
            *(bool *)(void *)at = json_is_true(value);
            break;
        }
    }
    return 0;
}

static int parse(const char *text, size_t len, json_t **ret, struct err *err)
{
    struct err why = {0};
    int rc = jsonin_parse(text, len, REPLY_MAX, ret, &why);

    if (rc == E_INVALID)
        return err_set(err, E_CORRUPT, "the daemon's answer %s", why.text);
    if (rc < 0)
        return err_set(err, rc, "the daemon's answer %s", why.text);
    return 0;
}

/* The array of a field, or NULL with 0 when it is absent. */
static int array_of(json_t *object, const char *name, json_t **ret, struct err *err)
{
    json_t *value = json_object_get(object, name);

    if (value && !json_is_array(value))
        return wrong(err, name);
    *ret = value;
    return 0;
}

/* Reads an array of records of `item_size` bytes into fresh memory. */
static int fill_array(json_t *array, const struct slot *slots, size_t item_size,
                      void **ret, size_t *ret_n, struct err *err)
{
    size_t n = json_array_size(array);
    char *items = mem_new(n, item_size);

    if (!items)
        return err_set(err, E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        int rc = fill(items + i * item_size, slots, json_array_get(array, i), err);

        if (rc < 0) {
            mem_free(items);
            return rc;
        }
    }
    *ret = items;
    *ret_n = n;
    return 0;
}

static void sizes_for_people(json_t *sizes, struct buf *out)
{
    json_t *listed = json_object_get(sizes, "listed");
    long long min = json_integer_value(json_object_get(sizes, "min"));
    long long max = json_integer_value(json_object_get(sizes, "max"));
    long long step = json_integer_value(json_object_get(sizes, "step"));

    if (json_array_size(listed) > 0) {
        for (size_t i = 0; i < json_array_size(listed); i++)
            buf_printf(out, "%s%lld", i ? "," : "",
                       (long long)json_integer_value(json_array_get(listed, i)));
        return;
    }
    buf_printf(out, "%lld", min);
    if (max > min)
        buf_printf(out, "..%lld", max);
    if (step > 1)
        buf_printf(out, "/%lld", step);
}

/* "a:2 b:1" from an array of objects with a name and a number. */
static void shares_for_people(json_t *array, const char *key, struct buf *out)
{
    json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        json_t *who = json_object_get(item, key);

        if (i > 0)
            buf_putc(out, ' ');
        if (json_is_string(who))
            buf_puts(out, json_string_value(who));
        else
            buf_printf(out, "%lld", (long long)json_integer_value(who));
        buf_printf(out, ":%lld",
                   (long long)json_integer_value(json_object_get(item, "devices")));
    }
}

static void words_for_people(json_t *array, struct buf *out)
{
    json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        if (i > 0)
            buf_putc(out, ' ');
        if (json_is_string(item))
            shell_word(json_string_value(item), out);
    }
}

/* Ends a composed text: into the field, and the buffer is ready for the next. */
static int settle(struct buf *b, char *to, size_t size)
{
    int rc = buf_error(b);

    copy_cut(to, size, b->text);
    buf_clear(b);
    return rc == E_NOMEM ? rc : 0;
}

static int fill_job(struct reply_job *job, json_t *object, struct err *err)
{
    json_t *history = NULL;
    struct buf b;
    void *moves = NULL;
    int rc = fill(job, job_slots, object, err);

    if (rc == 0)
        rc = array_of(object, "history", &history, err);
    if (rc == 0 && history)
        rc = fill_array(history, move_slots, sizeof *job->history, &moves,
                        &job->n_history, err);
    if (rc < 0)
        return rc;
    job->history = moves;
    buf_init(&b, REPLY_MAX);
    sizes_for_people(json_object_get(object, "sizes"), &b);
    rc = settle(&b, job->sizes, sizeof job->sizes);
    shares_for_people(json_object_get(object, "nodes"), "name", &b);
    rc = rc < 0 ? rc : settle(&b, job->nodes, sizeof job->nodes);
    words_for_people(json_object_get(object, "argv"), &b);
    job->command = buf_take(&b);
    buf_init(&b, REPLY_MAX);
    words_for_people(json_object_get(object, "env"), &b);
    job->env = buf_take(&b);
    if (!job->command || !job->env)
        rc = E_NOMEM;
    if (rc < 0)
        return err_set(err, rc, "out of memory");
    if (job->id < 1 || job->state[0] == '\0')
        return err_set(err, E_CORRUPT,
                       "the daemon's answer makes no sense: a job without id or state");
    return 0;
}

int reply_job_decode(const char *text, size_t len, struct reply_job *ret, struct err *err)
{
    struct reply_job job = {0};
    json_t *value = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = fill_job(&job, value, err);
    if (rc == 0)
        *ret = job;
    else
        reply_job_release(&job);
    json_decref(value);
    return rc;
}

int reply_jobs_decode(const char *text, size_t len, struct reply_jobs *ret,
                      struct err *err)
{
    struct reply_jobs jobs = {0};
    json_t *value = NULL, *array = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = array_of(value, "jobs", &array, err);
    if (rc == 0 && !array)
        rc = wrong(err, "jobs");
    if (rc < 0)
        goto out;
    jobs.next = json_integer_value(json_object_get(value, "next"));
    jobs.items = mem_new(json_array_size(array), sizeof *jobs.items);
    if (!jobs.items) {
        rc = err_set(err, E_NOMEM, "out of memory");
        goto out;
    }
    for (; rc == 0 && jobs.n < json_array_size(array); jobs.n++)
        rc = fill_job(&jobs.items[jobs.n], json_array_get(array, jobs.n), err);
    if (rc < 0)
        goto out;
    *ret = jobs;
    jobs = (struct reply_jobs){0};
out:
    reply_jobs_release(&jobs);
    json_decref(value);
    return rc;
}

static int fill_marks(struct reply_node *node, json_t *object, struct err *err)
{
    json_t *array = NULL;
    void *items = NULL;
    int rc = array_of(object, "marks", &array, err);

    if (rc == 0 && array)
        rc = fill_array(array, mark_slots, sizeof *node->marks, &items, &node->n_marks,
                        err);
    node->marks = items;
    return rc;
}

static int fill_nodes(struct reply_nodes *nodes, json_t *array, struct err *err)
{
    void *items = NULL;
    struct buf b;
    int rc = fill_array(array, node_slots, sizeof *nodes->items, &items, &nodes->n, err);

    if (rc < 0)
        return rc;
    nodes->items = items;
    buf_init(&b, REPLY_MAX);
    for (size_t i = 0; rc == 0 && i < nodes->n; i++) {
        shares_for_people(json_object_get(json_array_get(array, i), "jobs"), "id", &b);
        rc = settle(&b, nodes->items[i].jobs, sizeof nodes->items[i].jobs);
        if (rc < 0)
            rc = err_set(err, rc, "out of memory");
        else
            rc = fill_marks(&nodes->items[i], json_array_get(array, i), err);
    }
    buf_release(&b);
    return rc;
}

int reply_nodes_decode(const char *text, size_t len, struct reply_nodes *ret,
                       struct err *err)
{
    struct reply_nodes nodes = {0};
    json_t *value = NULL, *array = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = array_of(value, "nodes", &array, err);
    if (rc == 0 && !array)
        rc = wrong(err, "nodes");
    if (rc == 0)
        rc = fill_nodes(&nodes, array, err);
    if (rc == 0)
        *ret = nodes;
    else
        reply_nodes_release(&nodes);
    json_decref(value);
    return rc;
}

static void counts_for_people(json_t *counts, struct buf *out)
{
    const char *state;
    json_t *n;

    json_object_foreach(counts, state, n)
    {
        if (json_integer_value(n) == 0)
            continue;
        buf_printf(out, "%s%lld %s", out->len ? ", " : "",
                   (long long)json_integer_value(n), state);
    }
    if (out->len == 0)
        buf_puts(out, "none");
}

int reply_status_decode(const char *text, size_t len, struct reply_status *ret,
                        struct err *err)
{
    struct reply_status status = {0};
    json_t *value = NULL;
    struct buf b;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = fill(&status, status_slots, value, err);
    if (rc == 0)
        rc = fill(&status, devices_slots, json_object_get(value, "devices"), err);
    if (rc == 0) {
        buf_init(&b, REPLY_MAX);
        counts_for_people(json_object_get(value, "jobs"), &b);
        rc = settle(&b, status.jobs, sizeof status.jobs);
        buf_release(&b);
    }
    if (rc == 0)
        *ret = status;
    json_decref(value);
    return rc;
}

int reply_calibration_decode(const char *text, size_t len, struct reply_calibration *ret,
                             struct err *err)
{
    struct reply_calibration calibration = {0};
    json_t *value = NULL, *array = NULL;
    void *points = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = fill(&calibration, calibration_slots, value, err);
    if (rc == 0)
        rc = array_of(value, "points", &array, err);
    if (rc == 0 && array)
        rc = fill_array(array, point_slots, sizeof *calibration.points, &points,
                        &calibration.n_points, err);
    if (rc == 0 && calibration.state[0] == '\0')
        rc = wrong(err, "state");
    calibration.points = points;
    if (rc == 0)
        *ret = calibration;
    else
        reply_calibration_release(&calibration);
    json_decref(value);
    return rc;
}

static int take_warnings(json_t *array, char **ret, struct err *err)
{
    struct buf b;
    json_t *item;
    size_t i;

    buf_init(&b, REPLY_MAX);
    json_array_foreach(array, i, item)
    {
        if (!json_is_string(item)) {
            buf_release(&b);
            return wrong(err, "warnings");
        }
        buf_printf(&b, "%s\n", json_string_value(item));
    }
    *ret = buf_take(&b);
    return *ret ? 0 : err_set(err, E_NOMEM, "out of memory");
}

int reply_accepted_decode(const char *text, size_t len, struct reply_accepted *ret,
                          struct err *err)
{
    struct reply_accepted accepted = {0};
    json_t *value = NULL, *array = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = fill(&accepted, accepted_slots, value, err);
    if (rc == 0)
        rc = array_of(value, "warnings", &array, err);
    if (rc == 0 && accepted.id < 1)
        rc = wrong(err, "id");
    if (rc == 0 && array)
        rc = take_warnings(array, &accepted.warnings, err);
    if (rc == 0)
        *ret = accepted;
    json_decref(value);
    return rc;
}

int reply_text_decode(const char *text, size_t len, char **ret, struct err *err)
{
    json_t *value = NULL;
    char *copy = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0 && !json_is_string(json_object_get(value, "text")))
        rc = wrong(err, "text");
    if (rc == 0) {
        copy = mem_text(json_string_value(json_object_get(value, "text")));
        rc = copy ? 0 : err_set(err, E_NOMEM, "out of memory");
    }
    if (rc == 0)
        *ret = copy;
    json_decref(value);
    return rc;
}

struct problem {
    char code[REPLY_WORD_MAX];
    char title[ERR_TEXT_MAX];
    char detail[ERR_TEXT_MAX];
    char field[ERR_FIELD_MAX];
};

static const struct slot problem_slots[] = {
    {TEXT(problem, code)},  {TEXT(problem, title)},  {TEXT(problem, detail)},
    {TEXT(problem, field)}, {NULL, SLOT_BOOL, 0, 0},
};

static int code_of(const char *word)
{
    for (int code = E_AGAIN; code < E_OK; code++)
        if (strcmp(err_name(code), word) == 0)
            return code;
    return E_IO;
}

void reply_problem_decode(const char *text, size_t len, long status, struct err *ret)
{
    struct problem p = {0};
    json_t *value = NULL;
    struct err why = {0};

    if (parse(text, len, &value, &why) < 0 || fill(&p, problem_slots, value, &why) < 0 ||
        (p.detail[0] == '\0' && p.title[0] == '\0'))
        (void)err_set(ret, status == 404 ? E_NOTFOUND : E_IO,
                      "the daemon answered with status %ld and no reason", status);
    else
        (void)err_field(ret, code_of(p.code), p.field, "%s",
                        p.detail[0] ? p.detail : p.title);
    json_decref(value);
}

void reply_job_release(struct reply_job *job)
{
    mem_free(job->history);
    mem_free(job->command);
    mem_free(job->env);
    *job = (struct reply_job){0};
}

void reply_jobs_release(struct reply_jobs *jobs)
{
    for (size_t i = 0; i < jobs->n; i++)
        reply_job_release(&jobs->items[i]);
    mem_free(jobs->items);
    *jobs = (struct reply_jobs){0};
}

void reply_nodes_release(struct reply_nodes *nodes)
{
    for (size_t i = 0; nodes->items && i < nodes->n; i++)
        mem_free(nodes->items[i].marks);
    mem_free(nodes->items);
    *nodes = (struct reply_nodes){0};
}

void reply_calibration_release(struct reply_calibration *calibration)
{
    mem_free(calibration->points);
    *calibration = (struct reply_calibration){0};
}

void reply_accepted_release(struct reply_accepted *accepted)
{
    mem_free(accepted->warnings);
    *accepted = (struct reply_accepted){0};
}

static int print(json_t *value, struct buf *out, struct err *err)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

    if (text)
        buf_puts(out, text);
    free(text);
    if (!text || buf_error(out))
        return err_set(err, text ? buf_error(out) : E_NOMEM,
                       "the answer cannot be written: out of memory");
    return 0;
}

int reply_tidy(const char *text, size_t len, struct buf *out, struct err *err)
{
    json_t *value = NULL;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = print(value, out, err);
    if (rc == 0)
        buf_putc(out, '\n');
    json_decref(value);
    return rc;
}

int reply_jobs_append(const char *text, size_t len, struct buf *out, size_t *inout_n,
                      struct err *err)
{
    json_t *value = NULL, *array = NULL, *item;
    size_t i;
    int rc = parse(text, len, &value, err);

    if (rc == 0)
        rc = array_of(value, "jobs", &array, err);
    json_array_foreach(array, i, item)
    {
        if (rc < 0)
            break;
        buf_putc(out, *inout_n ? ',' : '[');
        rc = print(item, out, err);
        (*inout_n)++;
    }
    json_decref(value);
    return rc;
}
