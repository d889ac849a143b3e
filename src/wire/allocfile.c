/* SPDX-License-Identifier: Apache-2.0 */
/* allocfile.c - see allocfile.h.
 *
 * Values come as decimals and are rounded once, here: what the allocator adds up are
 * whole millionths (DESIGN 4.4). Two passes over the JSON: the first counts, so that all
 * options lie in one piece of memory. */
#include "wire/allocfile.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/units.h"
#include "wire/jsonin.h"
#include "wire/jsonout.h"

#define VALUE_UNIT 1000000.0
#define WEIGHT_MAX 1000.0
#define NAMED_MAX  4 /* jobs that an error names */
#define PATH_BYTES 64

void allocfile_init(struct allocfile *f)
{
    *f = (struct allocfile){0};
}

void allocfile_release(struct allocfile *f)
{
    mem_free(f->options);
    mem_free(f->jobs);
    mem_free((void *)f->problem.rows);
    allocfile_init(f);
}

/* A number, whole or not, within the limits. */
static bool take_number(struct jsonin *in, const char *name, double most, double *inout)
{
    json_t *value = jsonin_any(in, name);

    if (!value)
        return false;
    if (!json_is_number(value)) {
        (void)jsonin_fail(in, E_INVALID, name, "is not a number");
        return false;
    }
    if (!(fabs(json_number_value(value)) <= most)) {
        (void)jsonin_fail(in, E_INVALID, name,
                          "is %g; give at most %g, or as much below 0",
                          json_number_value(value), most);
        return false;
    }
    *inout = json_number_value(value);
    return true;
}

static void take_option(struct jsonin *in, double weight, int32_t last_size,
                        struct alloc_option *ret)
{
    double most = (double)VALUE_MAX / VALUE_UNIT;
    double value = 0.0;
    bool has_size = jsonin_i32(in, "size", 1, SIZE_MAX_DEVICES, &ret->size);
    bool has_value = take_number(in, "value", most, &value);

    /* A word that nobody knows is perhaps the one that is missing. */
    if (jsonin_end(in) == 0 && !has_size)
        (void)jsonin_fail(in, E_INVALID, "size", "is missing; give a number of devices");
    if (in->rc == 0 && !has_value)
        (void)jsonin_fail(in, E_INVALID, "value", "is missing; give a number");
    if (in->rc == 0 && ret->size <= last_size)
        (void)jsonin_fail(in, E_INVALID, "size",
                          "is %" PRId32 " after %" PRId32 "; sizes must rise", ret->size,
                          last_size);
    if (in->rc == 0 && fabs(value * weight) > most)
        (void)jsonin_fail(in, E_INVALID, "value",
                          "times the weight of the job is %g; at most %g", value * weight,
                          most);
    ret->value = llround(value * weight * VALUE_UNIT);
}

static int take_options(json_t *array, const char *path, double weight,
                        struct alloc_option *options, struct err *err)
{
    size_t n = json_array_size(array);
    int32_t last = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n; i++) {
        char at[PATH_BYTES];
        struct jsonin in;

        (void)snprintf(at, sizeof at, "%soptions[%zu].", path, i);
        jsonin_begin(&in, json_array_get(array, i), at, err);
        take_option(&in, weight, last, &options[i]);
        last = options[i].size;
        rc = in.rc;
    }
    return rc;
}

static bool take_bool(struct jsonin *in, const char *name)
{
    json_t *value = jsonin_any(in, name);

    if (value && !json_is_boolean(value))
        (void)jsonin_fail(in, E_INVALID, name, "is neither true nor false");
    return json_is_true(value);
}

/* Everything of job i but its options, of which `array` is lent. */
static int take_job(struct allocfile *f, json_t *value, size_t i, const char *path,
                    json_t **array, struct err *err)
{
    struct alloc_row *row = (struct alloc_row *)&f->problem.rows[i];
    struct allocfile_job *job = &f->jobs[i];
    struct jsonin in;
    bool has_id;

    job->weight = 1.0;
    jsonin_begin(&in, value, path, err);
    has_id = jsonin_copy(&in, "id", job->id, sizeof job->id);
    (void)take_number(&in, "weight", WEIGHT_MAX, &job->weight);
    if (in.rc == 0 && job->weight < 0.0)
        (void)jsonin_fail(&in, E_INVALID, "weight", "is below 0; give 0 to %g",
                          WEIGHT_MAX);
    (void)jsonin_i32(&in, "current", 0, SIZE_MAX_DEVICES, &row->held);
    row->may_wait = take_bool(&in, "may_wait");
    *array = jsonin_array(&in, "options", SIZE_MAX_DEVICES);
    row->n_options = (int32_t)json_array_size(*array);
    if (jsonin_end(&in) == 0 && job->id[0] == '\0')
        (void)jsonin_fail(&in, E_INVALID, "id", "is %s; give each job a name",
                          has_id ? "empty" : "missing");
    if (in.rc == 0 && row->n_options == 0 && !row->may_wait)
        (void)jsonin_fail(&in, E_INVALID, "options",
                          "are none; give at least one, or let the job wait "
                          "(\"may_wait\": true)");
    return in.rc;
}

static int id_cmp(const void *pa, const void *pb)
{
    const struct allocfile_job *const *a = pa;
    const struct allocfile_job *const *b = pb;

    return strcmp((*a)->id, (*b)->id);
}

static int refuse_twins(const struct allocfile *f, struct err *err)
{
    size_t n = (size_t)f->problem.n_rows;
    const struct allocfile_job **order = mem_new(n + 1, sizeof *order);
    int rc = order ? 0 : err_set(err, E_NOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < n; i++)
        order[i] = &f->jobs[i];
    if (rc == 0)
        qsort(order, n, sizeof *order, id_cmp);
    for (size_t i = 1; rc == 0 && i < n; i++)
        if (strcmp(order[i - 1]->id, order[i]->id) == 0)
            rc = err_field(err, E_INVALID, "jobs",
                           "has '%.40s' twice; give each job an id of its own",
                           order[i]->id);
    mem_free(order);
    return rc;
}

/* Options lie in one piece, so their number is needed first. */
static size_t count_options(const json_t *jobs)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(jobs); i++)
        n += json_array_size(json_object_get(json_array_get(jobs, i), "options"));
    return n;
}

static int take_jobs(struct allocfile *f, json_t *jobs, struct err *err)
{
    size_t n = json_array_size(jobs);
    size_t n_options = count_options(jobs);
    struct alloc_row *rows = mem_new(n + 1, sizeof *rows);
    size_t first = 0;
    int rc = 0;

    f->problem.rows = rows;
    f->problem.n_rows = (int32_t)n;
    f->jobs = mem_new(n + 1, sizeof *f->jobs);
    f->options = mem_new(n_options + 1, sizeof *f->options);
    if (!rows || !f->jobs || !f->options)
        return err_set(err, E_NOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < n; i++) {
        char path[PATH_BYTES];
        json_t *options = NULL;

        (void)snprintf(path, sizeof path, "jobs[%zu].", i);
        rc = take_job(f, json_array_get(jobs, i), i, path, &options, err);
        f->jobs[i].first = first;
        rows[i].options = f->options + first;
        if (rc == 0)
            rc = take_options(options, path, f->jobs[i].weight, f->options + first, err);
        first += (size_t)rows[i].n_options;
        ASSERT(first <= n_options);
    }
    return rc < 0 ? rc : refuse_twins(f, err);
}

int allocfile_read(struct allocfile *f, const char *text, size_t len, struct err *err)
{
    struct jsonin in;
    json_t *root = NULL;
    bool has_devices;
    json_t *jobs;
    int rc = jsonin_parse(text, len, ALLOCFILE_BYTES_MAX, &root, err);

    if (rc < 0)
        return rc;
    jsonin_begin(&in, root, "", err);
    has_devices = jsonin_i32(&in, "devices", 0, DEVICES_MAX, &f->problem.devices);
    jobs = jsonin_array(&in, "jobs", JOBS_MAX);
    if (jsonin_end(&in) == 0 && !has_devices)
        (void)jsonin_fail(&in, E_INVALID, "devices", "is missing; give their number");
    if (in.rc == 0 && !jobs)
        (void)jsonin_fail(&in, E_INVALID, "jobs", "is missing; give an array of jobs");
    rc = in.rc;
    if (rc == 0)
        rc = take_jobs(f, jobs, err);
    json_decref(root);
    if (rc < 0)
        allocfile_release(f);
    return rc;
}

int allocfile_explain_infeasible(const struct allocfile *f, struct err *err)
{
    const struct alloc_problem *p = &f->problem;
    char named[ERR_TEXT_MAX / 2] = "";
    size_t at = 0;
    int64_t need = 0;
    int n = 0;

    for (int32_t i = 0; i < p->n_rows; i++) {
        if (p->rows[i].may_wait)
            continue;
        need += p->rows[i].options[0].size;
        if (n < NAMED_MAX && at < sizeof named)
            at += (size_t)snprintf(named + at, sizeof named - at, "%s%.16s %" PRId32,
                                   n > 0 ? ", " : "", f->jobs[i].id,
                                   p->rows[i].options[0].size);
        n++;
    }
    return err_field(err, E_INFEASIBLE, "devices",
                     "the smallest sizes of the jobs that may not wait need %" PRId64
                     ", %" PRId64 " more than the %" PRId32 " there are: %s%s",
                     need, need - p->devices, p->devices, named,
                     n > NAMED_MAX ? ", ..." : "");
}

/* The best with at most so many devices; false: it cannot be with so few. */
static bool value_within(const struct alloc_row *row, int32_t devices, int64_t *ret)
{
    bool is_possible = row->may_wait && devices >= 0;
    int64_t best = 0;

    for (int32_t i = 0; i < row->n_options && row->options[i].size <= devices; i++) {
        if (!is_possible || row->options[i].value > best)
            best = row->options[i].value;
        is_possible = true;
    }
    *ret = best;
    return is_possible;
}

struct allocfile_worth allocfile_worth(const struct alloc_row *row, int32_t size)
{
    struct allocfile_worth worth = {0};
    int64_t less, more;

    for (int32_t i = 0; i < row->n_options; i++)
        if (row->options[i].size == size)
            worth.value = row->options[i].value;
    worth.can_be_less = value_within(row, size - 1, &less);
    if (worth.can_be_less)
        worth.one_less = i64_min(0, less - worth.value);
    if (value_within(row, size + 1, &more))
        worth.one_more = i64_max(0, more - worth.value);
    return worth;
}

/* T of DESIGN 4.4. */
static int64_t factor_of(const struct allocfile *f)
{
    int64_t t = 1;

    while (t <= f->problem.n_rows)
        t *= 2;
    return t;
}

int64_t allocfile_price(const struct allocfile *f, const struct alloc_result *result)
{
    return result->price_gain / (result->price_devices * factor_of(f));
}

int64_t allocfile_bound(const struct allocfile *f, const struct alloc_result *result)
{
    int64_t t = factor_of(f);

    return result->bound >= 0 ? result->bound / t : -((t - 1 - result->bound) / t);
}

const char *allocfile_value(char to[ALLOCFILE_VALUE_BYTES], int64_t value)
{
    int64_t whole = value < 0 ? -value : value;

    (void)snprintf(to, ALLOCFILE_VALUE_BYTES, "%s%" PRId64 ".%06" PRId64,
                   value < 0 ? "-" : "", whole / 1000000, whole % 1000000);
    return to;
}

const char *alloc_proof_name(enum alloc_proof proof)
{
    static const char *const names[] = {"none", "search", "lp"};

    ASSERT((unsigned)proof < ARRAY_SIZE(names));
    return names[proof];
}

static void put_job(struct jsonout *j, const struct allocfile *f, int32_t i, int32_t size)
{
    struct allocfile_worth worth = allocfile_worth(&f->problem.rows[i], size);
    char text[ALLOCFILE_VALUE_BYTES];

    jsonout_open(j, NULL, '{');
    jsonout_text(j, "id", f->jobs[i].id);
    jsonout_raw(j, "one_less",
                worth.can_be_less ? allocfile_value(text, worth.one_less) : "null");
    jsonout_raw(j, "one_more", allocfile_value(text, worth.one_more));
    jsonout_i64(j, "size", size);
    jsonout_raw(j, "value", allocfile_value(text, worth.value));
    jsonout_close(j, '}');
}

void allocfile_write(const struct allocfile *f, const int32_t *sizes,
                     const struct alloc_result *result, struct buf *out)
{
    struct jsonout j = {.out = out};
    char text[ALLOCFILE_VALUE_BYTES];

    jsonout_open(&j, NULL, '{');
    jsonout_i64(&j, "bound", result->bound);
    jsonout_bool(&j, "certified", result->is_certified);
    jsonout_i64(&j, "devices", f->problem.devices);
    jsonout_open(&j, "jobs", '[');
    for (int32_t i = 0; i < f->problem.n_rows; i++)
        put_job(&j, f, i, sizes[i]);
    jsonout_close(&j, ']');
    jsonout_i64(&j, "objective", result->objective);
    jsonout_raw(&j, "price", allocfile_value(text, allocfile_price(f, result)));
    jsonout_text(&j, "proof", alloc_proof_name(result->proof));
    jsonout_i64(&j, "unchanged", result->unchanged);
    jsonout_i64(&j, "used", result->used);
    jsonout_raw(&j, "value", allocfile_value(text, result->value));
    jsonout_raw(&j, "value_bound", allocfile_value(text, allocfile_bound(f, result)));
    jsonout_close(&j, '}');
    buf_putc(out, '\n');
}
