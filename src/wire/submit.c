/* SPDX-License-Identifier: Apache-2.0 */
/* submit.c - see submit.h. One table says which field of the spec has which key, limits
 * and flag; both directions and both bodies (new job, update) walk it, so they cannot
 * drift apart. What is not a plain number or word (sizes, model, launch) has a function
 * per direction. */
#include "wire/submit.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "wire/jobfield.h"
#include "wire/jsonin.h"

enum key_kind {
    KEY_TEXT,
    KEY_I32,
    KEY_I64,
    KEY_LEVEL,
    KEY_ACCUMULATE,
    KEY_LR_RULE,
    KEY_PROFILE
};

struct key {
    const char *name;
    enum key_kind kind;
    size_t offset; /* in struct job_spec */
    int64_t max;
    enum job_field_id field;
};

#define AT(member) offsetof(struct job_spec, member)

static const struct key keys[] = {
    {"name", KEY_TEXT, AT(name), 0, JOB_FIELD_NAME},
    {"family", KEY_TEXT, AT(family), 0, JOB_FIELD_FAMILY},
    {"device_type", KEY_TEXT, AT(device_type), 0, JOB_FIELD_DEVICE_TYPE},
    {"level", KEY_LEVEL, AT(level), 0, JOB_FIELD_LEVEL},
    {"batch_min", KEY_I32, AT(batch_min), BATCH_MAX, JOB_FIELD_BATCH},
    {"batch_max", KEY_I32, AT(batch_max), BATCH_MAX, JOB_FIELD_BATCH},
    {"batch_base", KEY_I32, AT(batch_base), BATCH_MAX, JOB_FIELD_BASE_BATCH},
    {"gpu_batch", KEY_I32, AT(gpu_batch), BATCH_MAX, JOB_FIELD_GPU_BATCH},
    {"accumulate", KEY_ACCUMULATE, AT(accumulate), 0, JOB_FIELD_ACCUMULATE},
    {"lr_rule", KEY_LR_RULE, AT(lr_rule), 0, JOB_FIELD_LR_RULE},
    {"profile", KEY_PROFILE, AT(profile), 0, JOB_FIELD_PROFILE},
    {"samples_total", KEY_I64, AT(samples_total), INT64_MAX, JOB_FIELD_SAMPLES},
    {"time_limit_us", KEY_I64, AT(time_limit_us), INT64_MAX, JOB_FIELD_TIME_LIMIT},
    {"grace_us", KEY_I64, AT(grace_us), INT64_MAX, JOB_FIELD_GRACE},
    {"retries", KEY_I32, AT(retries), RETRIES_MAX, JOB_FIELD_RETRIES},
    {"cpus_per_device", KEY_I32, AT(cpus_per_device), INT32_MAX, JOB_FIELD_CPUS},
    {"mem_bytes_per_device", KEY_I64, AT(mem_bytes_per_device), INT64_MAX, JOB_FIELD_MEM},
    {"weight_ppm", KEY_I64, AT(weight_ppm), 1000 * PPM, JOB_FIELD_WEIGHT},
};

static const char *level_name(int value)
{
    return job_level_name((enum job_level)value);
}

static const char *accumulate_name(int value)
{
    return job_accumulate_name((enum job_accumulate)value);
}

static const char *lr_rule_name(int value)
{
    return job_lr_rule_name((enum job_lr_rule)value);
}

static const char *profile_name(int value)
{
    return job_profile_name((enum job_profile)value);
}

void submit_init(struct submit *submit)
{
    *submit = (struct submit){0};
}

void submit_release(struct submit *submit)
{
    job_spec_release(&submit->spec);
    launch_release(&submit->launch);
    mem_free(submit->exported);
    submit_init(submit);
}

void submit_complete(struct submit *submit)
{
    struct job_spec *spec = &submit->spec;

    if (spec->sizes.min == 0 && spec->sizes.max == 0 && spec->sizes.n_listed == 0)
        spec->sizes = (struct size_set){.min = 1, .max = 1, .step = 1};
    job_spec_complete(spec);
    if (!(submit->given & BIT(JOB_FIELD_LEVEL)) &&
        (spec->sizes.min != spec->sizes.max || spec->batch_min != spec->batch_max))
        spec->level = JOB_RESTARTABLE;
}

static json_t *encode_key(const struct job_spec *spec, const struct key *key)
{
    const char *at = (const char *)spec + key->offset;

    switch (key->kind) {
    case KEY_TEXT:
        return json_string(at);
    case KEY_I32:
        return json_integer(*(const int32_t *)(const void *)at);
    case KEY_I64:
        return json_integer(*(const int64_t *)(const void *)at);
    case KEY_LEVEL:
        return json_string(job_level_name(spec->level));
    case KEY_ACCUMULATE:
        return json_string(job_accumulate_name(spec->accumulate));
    case KEY_LR_RULE:
        return json_string(job_lr_rule_name(spec->lr_rule));
    case KEY_PROFILE:
        return json_string(job_profile_name(spec->profile));
    }
    return NULL;
}

static void decode_key(struct jsonin *in, struct job_spec *spec, const struct key *key)
{
    char *at = (char *)spec + key->offset;
    int word = 0;

    switch (key->kind) {
    case KEY_TEXT:
        (void)jsonin_copy(in, key->name, at, NAME_MAX_BYTES);
        break;
    case KEY_I32:
        (void)jsonin_i32(in, key->name, 0, (int32_t)key->max, (int32_t *)(void *)at);
        break;
    case KEY_I64:
        (void)jsonin_i64(in, key->name, 0, key->max, (int64_t *)(void *)at);
        break;
    case KEY_LEVEL:
        if (jsonin_enum(in, key->name, level_name, JOB_LEVEL_MAX, &word))
            spec->level = (enum job_level)word;
        break;
    case KEY_ACCUMULATE:
        if (jsonin_enum(in, key->name, accumulate_name, JOB_ACCUMULATE_MAX, &word))
            spec->accumulate = (enum job_accumulate)word;
        break;
    case KEY_LR_RULE:
        if (jsonin_enum(in, key->name, lr_rule_name, JOB_LR_RULE_MAX, &word))
            spec->lr_rule = (enum job_lr_rule)word;
        break;
    case KEY_PROFILE:
        if (jsonin_enum(in, key->name, profile_name, JOB_PROFILE_MAX, &word))
            spec->profile = (enum job_profile)word;
        break;
    }
}

static json_t *encode_sizes(const struct size_set *set)
{
    json_t *listed;

    if (set->n_listed == 0)
        return json_pack("{s:i, s:i, s:i}", "min", set->min, "max", set->max, "step",
                         set->step);
    listed = json_array();
    for (int32_t i = 0; listed && i < set->n_listed; i++)
        if (json_array_append_new(listed, json_integer(set->listed[i])) < 0) {
            json_decref(listed);
            return NULL;
        }
    return json_pack("{s:o}", "listed", listed);
}

static int decode_listed(struct jsonin *in, struct size_set *set)
{
    json_t *listed = jsonin_array(in, "listed", SIZES_LISTED_MAX);
    json_t *item;
    size_t i;

    if (!listed)
        return in->rc;
    if (json_array_size(listed) == 0)
        return jsonin_fail(in, E_INVALID, "listed", "is empty; give at least one size");
    json_array_foreach(listed, i, item)
    {
        json_int_t n = json_integer_value(item);

        if (!json_is_integer(item) || n < 1 || n > SIZE_MAX_DEVICES)
            return jsonin_fail(in, E_INVALID, "listed",
                               "has an entry that is not a whole number from 1 to %d",
                               SIZE_MAX_DEVICES);
        set->listed[i] = (int32_t)n;
    }
    set->n_listed = (int32_t)json_array_size(listed);
    return 0;
}

static int decode_sizes(struct jsonin *outer, struct size_set *ret)
{
    json_t *value = jsonin_any(outer, "sizes");
    struct size_set set = {.step = 1};
    struct jsonin in;
    bool has_min, has_max, has_step;

    if (!value)
        return outer->rc;
    jsonin_begin(&in, value, "sizes.", outer->err);
    has_min = jsonin_i32(&in, "min", 1, SIZE_MAX_DEVICES, &set.min);
    has_max = jsonin_i32(&in, "max", 1, SIZE_MAX_DEVICES, &set.max);
    has_step = jsonin_i32(&in, "step", 1, SIZE_MAX_DEVICES, &set.step);
    (void)decode_listed(&in, &set);
    if (set.n_listed > 0 && (has_min || has_max || has_step))
        (void)jsonin_fail(&in, E_INVALID, "listed",
                          "stands beside min, max or step; give one or the other");
    if (set.n_listed == 0 && !(has_min && has_max))
        (void)jsonin_fail(&in, E_INVALID, has_min ? "max" : "min",
                          "is missing; give min and max, or listed");
    outer->rc = jsonin_end(&in);
    if (outer->rc == 0)
        *ret = set;
    return outer->rc;
}

static json_t *encode_points(const char *key, size_t n, const int64_t (*pairs)[2])
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++) {
        json_t *point = json_pack("{s:I, s:I}", key, (json_int_t)pairs[i][0], "time_ns",
                                  (json_int_t)pairs[i][1]);

        if (json_array_append_new(array, point) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *encode_model(const struct perf_model *model)
{
    int64_t proc[PROC_POINTS_MAX][2], comm[COMM_POINTS_MAX][2];
    json_t *proc_json, *comm_json;

    for (int32_t i = 0; i < model->n_proc; i++) {
        proc[i][0] = model->proc[i].micro_batch;
        proc[i][1] = model->proc[i].time_ns;
    }
    for (int32_t i = 0; i < model->n_comm; i++) {
        comm[i][0] = model->comm[i].size;
        comm[i][1] = model->comm[i].time_ns;
    }
    proc_json =
        encode_points("micro_batch", (size_t)model->n_proc, (const int64_t(*)[2])proc);
    comm_json = encode_points("size", (size_t)model->n_comm, (const int64_t(*)[2])comm);
    return json_pack("{s:o, s:o}", "proc", proc_json, "comm", comm_json);
}

static int decode_point(struct jsonin *outer, json_t *item, const char *path,
                        const char *key, int64_t *ret)
{
    struct jsonin in;
    bool has_key, has_time;

    jsonin_begin(&in, item, path, outer->err);
    has_key = jsonin_i64(&in, key, 1, BATCH_MAX, &ret[0]);
    has_time = jsonin_i64(&in, "time_ns", 0, INT64_MAX, &ret[1]);
    if (!has_key || !has_time)
        (void)jsonin_fail(&in, E_INVALID, has_key ? "time_ns" : key, "is missing");
    return outer->rc = jsonin_end(&in);
}

/* Reads up to max points of the array `name`; how many, or negative. */
static int decode_points(struct jsonin *in, const char *name, const char *key, size_t max,
                         int64_t (*pairs)[2])
{
    json_t *array = jsonin_array(in, name, max);
    char path[ERR_FIELD_MAX];
    json_t *item;
    size_t i;

    json_array_foreach(array, i, item)
    {
        (void)snprintf(path, sizeof path, "model.%s[%zu].", name, i);
        if (decode_point(in, item, path, key, pairs[i]) < 0)
            return in->rc;
    }
    return in->rc < 0 ? in->rc : (int)json_array_size(array);
}

static int decode_model(struct jsonin *outer, struct submit *submit)
{
    json_t *value = jsonin_any(outer, "model");
    struct perf_model *model = &submit->model;
    int64_t proc[PROC_POINTS_MAX][2], comm[COMM_POINTS_MAX][2];
    struct jsonin in;
    int n_proc, n_comm;

    if (!value)
        return outer->rc;
    jsonin_begin(&in, value, "model.", outer->err);
    n_proc = decode_points(&in, "proc", "micro_batch", PROC_POINTS_MAX, proc);
    n_comm = decode_points(&in, "comm", "size", COMM_POINTS_MAX, comm);
    outer->rc = jsonin_end(&in);
    if (outer->rc < 0)
        return outer->rc;
    for (int i = 0; i < n_proc; i++)
        model->proc[i] = (struct proc_point){(int32_t)proc[i][0], proc[i][1]};
    for (int i = 0; i < n_comm; i++)
        model->comm[i] = (struct comm_point){(int32_t)comm[i][0], comm[i][1]};
    model->n_proc = n_proc;
    model->n_comm = n_comm;
    model->comm_form = MODEL_COMM_TABLE;
    model->source = MODEL_STATED;
    submit->has_model = true;
    return 0;
}

/* The launch object is handed on as text, as the core will carry it. */
static int decode_launch(struct jsonin *outer, struct submit *submit)
{
    json_t *value = jsonin_any(outer, "launch");
    struct err why = {0};
    struct buf b;
    char *text;
    int rc;

    if (outer->rc < 0)
        return outer->rc;
    if (!json_is_object(value))
        return jsonin_fail(outer, E_INVALID, "launch",
                           value ? "is not an object" : "is missing");
    text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return outer->rc = err_set(outer->err, E_NOMEM, "out of memory");
    rc = launch_decode(text, strlen(text), &submit->launch, &why);
    free(text);
    if (rc == 0 && submit->launch.vault) /* keys are ours to give */
        rc = err_field(&why, E_INVALID, "vault", "is not a known field");
    if (rc < 0) {
        char field[ERR_FIELD_MAX];

        (void)snprintf(field, sizeof field, "launch%s%.50s", why.field[0] ? "." : "",
                       why.field);
        return outer->rc = err_field(outer->err, rc, field, "%s", why.text);
    }
    buf_init(&b, LAUNCH_MAX_BYTES);
    rc = launch_encode(&submit->launch, &b, outer->err);
    submit->spec.launch = rc == 0 ? buf_take(&b) : NULL;
    if (rc == 0 && !submit->spec.launch)
        rc = err_set(outer->err, E_NOMEM, "out of memory");
    buf_release(&b);
    return outer->rc = rc;
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return value && json_object_set_new(object, key, value) == 0;
}

/* Prints an object; takes it over. */
static int finish(json_t *object, struct buf *out, struct err *err)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    int rc = E_NOMEM;

    if (text) {
        buf_puts(out, text);
        rc = buf_error(out);
    }
    free(text);
    json_decref(object);
    return rc < 0 ? err_set(err, rc, "the request cannot be written: %s", err_name(rc))
                  : 0;
}

static bool encode_spec(json_t *object, const struct job_spec *spec, uint32_t which)
{
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if ((which & BIT((unsigned)keys[i].field)) &&
            !put(object, keys[i].name, encode_key(spec, &keys[i])))
            return false;
    return !(which & BIT(JOB_FIELD_GPUS)) ||
           put(object, "sizes", encode_sizes(&spec->sizes));
}

int submit_encode(const struct submit *submit, struct buf *out, struct err *err)
{
    json_t *object = json_object();
    json_t *launch = NULL;
    struct buf text;
    int rc;

    buf_init(&text, LAUNCH_MAX_BYTES);
    rc = launch_encode(&submit->launch, &text, err);
    if (rc < 0)
        goto fail;
    rc = E_NOMEM;
    launch = json_loadb(text.text, text.len, 0, NULL);
    if (!put(object, "launch", launch))
        goto fail;
    if (!encode_spec(object, &submit->spec, UINT32_MAX)) {
        rc = err_field(err, E_INVALID, "name", "or another word is not UTF-8 text");
        goto fail;
    }
    if (submit->has_model && !put(object, "model", encode_model(&submit->model)))
        goto fail;
    buf_release(&text);
    return finish(object, out, err);
fail:
    buf_release(&text);
    json_decref(object);
    return rc;
}

int submit_decode(const char *text, size_t len, struct submit *ret, struct err *err)
{
    struct submit submit;
    json_t *value = NULL;
    struct jsonin in;
    int rc;

    submit_init(&submit);
    rc = jsonin_parse(text, len, SUBMIT_BODY_MAX, &value, err);
    if (rc < 0)
        goto out;
    jsonin_begin(&in, value, "", err);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        decode_key(&in, &submit.spec, &keys[i]);
    (void)decode_sizes(&in, &submit.spec.sizes);
    (void)decode_model(&in, &submit);
    (void)decode_launch(&in, &submit);
    rc = jsonin_end(&in);
    if (rc < 0)
        goto out;
    /* A body that leaves the level out means rigid; the guess is for people's flags. */
    submit.given |= BIT(JOB_FIELD_LEVEL);
    submit_complete(&submit);
    rc = job_spec_check(&submit.spec, err);
    if (rc == 0 && submit.has_model)
        rc = model_check(&submit.model, err);
    if (rc < 0)
        goto out;
    *ret = submit;
    submit_init(&submit);
out:
    submit_release(&submit);
    json_decref(value);
    return rc;
}

int submit_encode_update(const struct submit *submit, struct buf *out, struct err *err)
{
    json_t *object;

    for (unsigned i = 0; i < JOB_FIELD_MAX; i++) {
        const struct job_field *field = job_field_at((enum job_field_id)i);

        if ((submit->given & BIT(i)) && !field->may_change)
            return err_field(err, E_INVALID, field->name,
                             "cannot change once a job is submitted");
    }
    if (submit->given == 0)
        return err_set(err, E_INVALID, "nothing to change is given");
    object = json_object();
    if (!encode_spec(object, &submit->spec, submit->given)) {
        json_decref(object);
        return err_set(err, E_NOMEM, "out of memory");
    }
    return finish(object, out, err);
}

int submit_decode_update(const char *text, size_t len, struct job_spec *inout,
                         struct err *err)
{
    struct job_spec spec = {0};
    json_t *value = NULL;
    struct jsonin in;
    int rc;

    rc = jsonin_parse(text, len, SUBMIT_BODY_MAX, &value, err);
    if (rc < 0)
        return rc;
    rc = job_spec_copy(&spec, inout);
    if (rc < 0)
        goto out;
    jsonin_begin(&in, value, "", err);
    for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
        if (job_field_at(keys[i].field)->may_change)
            decode_key(&in, &spec, &keys[i]);
    (void)decode_sizes(&in, &spec.sizes);
    rc = jsonin_end(&in);
    if (rc < 0)
        goto out;
    if (spec.sizes.n_listed > 0) {
        spec.sizes.min = spec.sizes.listed[0];
        spec.sizes.max = spec.sizes.listed[spec.sizes.n_listed - 1];
    }
    rc = job_spec_check(&spec, err);
    if (rc < 0)
        goto out;
    mem_free(inout->launch);
    *inout = spec;
    spec = (struct job_spec){0};
out:
    job_spec_release(&spec);
    json_decref(value);
    return rc;
}
