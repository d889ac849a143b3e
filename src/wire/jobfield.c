/* SPDX-License-Identifier: Apache-2.0 */
/* jobfield.c - the table, and a setter per field. Setters judge a value by itself; how
 * values go together is job_spec_check()'s business, after all sources were merged. */
#include "wire/jobfield.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "wire/quantity.h"
#include "wire/suggest.h"

static int set_text(char *to, const char *text, struct err *err)
{
    size_t len = strlen(text);

    if (len == 0)
        return err_set(err, E_INVALID, "is empty; give 1 to %d characters",
                       NAME_MAX_BYTES - 1);
    if (len >= NAME_MAX_BYTES)
        return err_set(err, E_INVALID, "is longer than %d bytes", NAME_MAX_BYTES - 1);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return err_set(err, E_INVALID,
                           "has a blank or control character at "
                           "position %zu; leave it out",
                           i + 1);
    memcpy(to, text, len + 1);
    return 0;
}

static int set_count(int32_t *to, const char *text, int32_t min, int32_t max,
                     struct err *err)
{
    int64_t value = 0;
    int rc = quantity_count(text, min, max, &value, err);

    if (rc == 0)
        *to = (int32_t)value;
    return rc;
}

static int set_name(struct submit *s, const char *text, struct err *err)
{
    return set_text(s->spec.name, text, err);
}

static int set_family(struct submit *s, const char *text, struct err *err)
{
    return set_text(s->spec.family, text, err);
}

static int set_device_type(struct submit *s, const char *text, struct err *err)
{
    if (strcmp(text, "any") == 0) {
        s->spec.device_type[0] = '\0';
        return 0;
    }
    return set_text(s->spec.device_type, text, err);
}

static int set_gpus(struct submit *s, const char *text, struct err *err)
{
    return quantity_sizes(text, &s->spec.sizes, err);
}

static int set_batch(struct submit *s, const char *text, struct err *err)
{
    return quantity_range(text, BATCH_MAX, &s->spec.batch_min, &s->spec.batch_max, err);
}

static int set_gpu_batch(struct submit *s, const char *text, struct err *err)
{
    return set_count(&s->spec.gpu_batch, text, 1, BATCH_MAX, err);
}

static int set_base_batch(struct submit *s, const char *text, struct err *err)
{
    return set_count(&s->spec.batch_base, text, 1, BATCH_MAX, err);
}

static int set_level(struct submit *s, const char *text, struct err *err)
{
    for (unsigned i = 0; i < JOB_LEVEL_MAX; i++)
        if (strcmp(text, job_level_name((enum job_level)i)) == 0) {
            s->spec.level = (enum job_level)i;
            return 0;
        }
    return err_set(err, E_INVALID, "is '%.40s'; give rigid, restartable or elastic",
                   text);
}

static int set_accumulate(struct submit *s, const char *text, struct err *err)
{
    for (unsigned i = 0; i < JOB_ACCUMULATE_MAX; i++)
        if (strcmp(text, job_accumulate_name((enum job_accumulate)i)) == 0) {
            s->spec.accumulate = (enum job_accumulate)i;
            return 0;
        }
    return err_set(err, E_INVALID, "is '%.40s'; give needed, never or free", text);
}

static int set_lr_rule(struct submit *s, const char *text, struct err *err)
{
    for (unsigned i = 0; i < JOB_LR_RULE_MAX; i++)
        if (strcmp(text, job_lr_rule_name((enum job_lr_rule)i)) == 0) {
            s->spec.lr_rule = (enum job_lr_rule)i;
            return 0;
        }
    return err_set(err, E_INVALID, "is '%.40s'; give none, linear or sqrt", text);
}

static int set_profile(struct submit *s, const char *text, struct err *err)
{
    for (unsigned i = 0; i < JOB_PROFILE_MAX; i++)
        if (strcmp(text, job_profile_name((enum job_profile)i)) == 0) {
            s->spec.profile = (enum job_profile)i;
            return 0;
        }
    return err_set(err, E_INVALID, "is '%.40s'; give probe, passive or off", text);
}

static int set_grace(struct submit *s, const char *text, struct err *err)
{
    usec_t span = 0;
    int rc = quantity_span(text, &span, err);

    if (rc == 0 && span < 1)
        return err_set(err, E_INVALID, "is 0; give at least 1us, such as 30s");
    if (rc == 0)
        s->spec.grace_us = span;
    return rc;
}

static int set_time_limit(struct submit *s, const char *text, struct err *err)
{
    return quantity_span(text, &s->spec.time_limit_us, err);
}

static int set_samples(struct submit *s, const char *text, struct err *err)
{
    return quantity_samples(text, &s->spec.samples_total, err);
}

static int set_retries(struct submit *s, const char *text, struct err *err)
{
    return set_count(&s->spec.retries, text, 0, RETRIES_MAX, err);
}

static int set_weight(struct submit *s, const char *text, struct err *err)
{
    int64_t ppm = 0;
    int rc = quantity_decimal(text, 6, &ppm, err);

    if (rc == 0 && (ppm < 1 || ppm > 1000 * PPM))
        return err_set(err, E_INVALID, "is '%.40s'; give 0.000001 to 1000", text);
    if (rc == 0)
        s->spec.weight_ppm = ppm;
    return rc;
}

static int set_cpus(struct submit *s, const char *text, struct err *err)
{
    return set_count(&s->spec.cpus_per_device, text, 0, 4096, err);
}

static int set_mem(struct submit *s, const char *text, struct err *err)
{
    return quantity_bytes(text, &s->spec.mem_bytes_per_device, err);
}

static int set_launch(struct submit *s, const char *text, struct err *err)
{
    for (unsigned i = 0; i < LAUNCH_FORM_MAX; i++)
        if (strcmp(text, launch_form_name((enum launch_form)i)) == 0) {
            s->launch.form = (enum launch_form)i;
            return 0;
        }
    return err_set(err, E_INVALID, "is '%.40s'; give rank, node or once", text);
}

static int set_cwd(struct submit *s, const char *text, struct err *err)
{
    return launch_set_cwd(&s->launch, text, err);
}

static int set_output(struct submit *s, const char *text, struct err *err)
{
    return launch_set_log_dir(&s->launch, text, err);
}

static int set_env(struct submit *s, const char *text, struct err *err)
{
    return launch_set_env(&s->launch, text, err);
}

static int set_export(struct submit *s, const char *text, struct err *err)
{
    char *copy;

    if (text[0] == '\0' || strpbrk(text, "= \t\n"))
        return err_set(err, E_INVALID, "is '%.40s'; give NONE, or names as in A,B", text);
    copy = mem_text(text);
    if (!copy)
        return err_set(err, E_NOMEM, "out of memory");
    mem_free(s->exported);
    s->exported = copy;
    return 0;
}

/* One text is a line for the shell. */
static int set_command(struct submit *s, const char *text, struct err *err)
{
    int rc;

    if (text[strspn(text, " \t\n")] == '\0')
        return err_set(err, E_INVALID, "is empty; give the program to run");
    launch_clear_args(&s->launch);
    rc = launch_add_arg(&s->launch, "/bin/sh", err);
    if (rc == 0)
        rc = launch_add_arg(&s->launch, "-c", err);
    if (rc == 0)
        rc = launch_add_arg(&s->launch, text, err);
    return rc;
}

/* The next "KEY:TIME" of a table; the text after it in *at. */
static int table_entry(const char **at, int64_t *ret_key, int64_t *ret_ns,
                       struct err *err)
{
    char key[24], value[24];
    size_t n_key = strcspn(*at, ":,");
    size_t n_value = (*at)[n_key] == ':' ? strcspn(*at + n_key + 1, ",") : 0;
    int rc;

    if (n_value == 0 || n_key >= sizeof key || n_value >= sizeof value)
        return err_set(err, E_INVALID,
                       "has '%.40s'; give pairs such as 64:0.138,128:0.25 (seconds)",
                       *at);
    memcpy(key, *at, n_key);
    key[n_key] = '\0';
    memcpy(value, *at + n_key + 1, n_value);
    value[n_value] = '\0';
    rc = quantity_count(key, 1, BATCH_MAX, ret_key, err);
    if (rc == 0)
        rc = quantity_seconds_ns(value, ret_ns, err);
    if (rc == 0)
        *at += n_key + 1 + n_value;
    return rc;
}

struct pair {
    int64_t key;
    int64_t ns;
};

static int table_read(const char *text, struct pair *pairs, int32_t max, int32_t *ret_n,
                      struct err *err)
{
    const char *p = text;
    int32_t n = 0;

    for (;;) {
        int rc;

        if (n == max)
            return err_set(err, E_LIMIT, "has more than %d points; leave some out", max);
        rc = table_entry(&p, &pairs[n].key, &pairs[n].ns, err);
        if (rc < 0)
            return rc;
        if (n > 0 && pairs[n].key <= pairs[n - 1].key)
            return err_set(err, E_INVALID,
                           "has %lld after %lld; the first numbers must "
                           "rise",
                           (long long)pairs[n].key, (long long)pairs[n - 1].key);
        n++;
        if (*p == '\0')
            break;
        p++; /* table_entry() stops at a comma or at the end */
    }
    *ret_n = n;
    return 0;
}

static int set_proc(struct submit *s, const char *text, struct err *err)
{
    struct pair pairs[PROC_POINTS_MAX];
    int32_t n = 0;
    int rc = table_read(text, pairs, PROC_POINTS_MAX, &n, err);

    if (rc < 0)
        return rc;
    for (int32_t i = 0; i < n; i++) {
        if (pairs[i].ns < 1)
            return err_set(err, E_INVALID, "has a time of 0; give more than 0 seconds");
        s->model.proc[i] = (struct proc_point){.micro_batch = (int32_t)pairs[i].key,
                                               .time_ns = pairs[i].ns};
    }
    s->model.n_proc = n;
    s->model.source = MODEL_STATED;
    s->has_model = true;
    return 0;
}

static int set_comm(struct submit *s, const char *text, struct err *err)
{
    struct pair pairs[COMM_POINTS_MAX];
    int32_t n = 0;
    int rc = table_read(text, pairs, COMM_POINTS_MAX, &n, err);

    if (rc < 0)
        return rc;
    if (pairs[0].key < 2)
        return err_set(err, E_INVALID,
                       "has size 1; one device does not communicate, give "
                       "sizes from 2");
    if (pairs[n - 1].key > SIZE_MAX_DEVICES)
        return err_set(err, E_INVALID, "has size %lld; the largest is %d",
                       (long long)pairs[n - 1].key, SIZE_MAX_DEVICES);
    for (int32_t i = 0; i < n; i++)
        s->model.comm[i] =
            (struct comm_point){.size = (int32_t)pairs[i].key, .time_ns = pairs[i].ns};
    s->model.comm_form = MODEL_COMM_TABLE;
    s->model.n_comm = n;
    s->model.source = MODEL_STATED;
    s->has_model = true;
    return 0;
}

#define WORD JOB_SHAPE_WORD

static const struct job_field fields[JOB_FIELD_MAX] = {
    [JOB_FIELD_NAME] = {"name", 'n', "NAME", "for people; default: from the command",
                        WORD, false, false, set_name},
    [JOB_FIELD_GPUS] = {"gpus", 'g', "SIZES",
                        "devices: 4, 1..8, 2..8/2 or 1,2,4 (default 1)", JOB_SHAPE_SIZES,
                        false, true, set_gpus},
    [JOB_FIELD_BATCH] = {"batch", 'b', "RANGE",
                         "samples per step: 256 (never changes) or 128..1024", WORD,
                         false, true, set_batch},
    [JOB_FIELD_GPU_BATCH] = {"gpu-batch", 0, "N", "largest batch that fits one device",
                             WORD, false, true, set_gpu_batch},
    [JOB_FIELD_BASE_BATCH] = {"base-batch", 0, "N",
                              "batch the learning rate was chosen for", WORD, false,
                              false, set_base_batch},
    [JOB_FIELD_ACCUMULATE] = {"accumulate", 0, "WHEN",
                              "several passes per step: needed, never or free", WORD,
                              false, true, set_accumulate},
    [JOB_FIELD_LR_RULE] = {"lr-rule", 0, "RULE",
                           "learning rate follows the batch: none, linear or sqrt", WORD,
                           false, false, set_lr_rule},
    [JOB_FIELD_PROFILE] = {"profile", 0, "HOW",
                           "how it is measured: probe (default), passive or off", WORD,
                           false, true, set_profile},
    [JOB_FIELD_LEVEL] = {"level", 'l', "LEVEL",
                         "rigid, restartable or elastic (default: from the ranges)", WORD,
                         false, false, set_level},
    [JOB_FIELD_GRACE] = {"grace", 0, "SPAN", "between notice and kill (default 30s)",
                         WORD, false, true, set_grace},
    [JOB_FIELD_TIME_LIMIT] = {"time-limit", 't', "SPAN", "longest time to run: 90m, 2d",
                              WORD, false, true, set_time_limit},
    [JOB_FIELD_SAMPLES] = {"samples", 0, "N",
                           "length of the training: 600000 or 10x60000", WORD, false,
                           true, set_samples},
    [JOB_FIELD_RETRIES] = {"retries", 0, "N", "restarts after faults (default 0)", WORD,
                           false, true, set_retries},
    [JOB_FIELD_FAMILY] = {"family", 0, "NAME", "jobs of a family share a profile", WORD,
                          false, false, set_family},
    [JOB_FIELD_DEVICE_TYPE] = {"device-type", 0, "TYPE", "type of device, or any", WORD,
                               false, false, set_device_type},
    [JOB_FIELD_WEIGHT] = {"weight", 'w', "X", "importance (default 1)", WORD, false, true,
                          set_weight},
    [JOB_FIELD_CPUS] = {"cpus", 0, "N", "CPUs per device", WORD, false, false, set_cpus},
    [JOB_FIELD_MEM] = {"mem", 0, "BYTES", "memory per device: 16G", WORD, false, false,
                       set_mem},
    [JOB_FIELD_LAUNCH] = {"launch", 0, "FORM",
                          "COMMAND is a rank, or starts them: rank, node or once", WORD,
                          false, false, set_launch},
    [JOB_FIELD_CWD] = {"cwd", 0, "DIR", "working directory (default: here)", WORD, false,
                       false, set_cwd},
    [JOB_FIELD_ENV] = {"env", 'e', "NAME[=VALUE]",
                       "set a variable, or take it from here; repeat for more",
                       JOB_SHAPE_ENV, true, false, set_env},
    [JOB_FIELD_EXPORT] = {"export", 0, "NAMES",
                          "what else to take: NONE, or A,B (default: PATH, HOME, ...)",
                          WORD, false, false, set_export},
    [JOB_FIELD_OUTPUT] = {"output", 'o', "DIR", "where the ranks' logs go", WORD, false,
                          false, set_output},
    [JOB_FIELD_COMMAND] = {"command", 0, "LINE",
                           "run by the shell, instead of -- COMMAND", JOB_SHAPE_COMMAND,
                           false, false, set_command},
    [JOB_FIELD_PROC] = {"proc", 0, "M:SEC,...",
                        "stated seconds of one pass over M samples", JOB_SHAPE_TABLE,
                        false, false, set_proc},
    [JOB_FIELD_COMM] = {"comm", 0, "K:SEC,...",
                        "stated seconds of an all-reduce over K devices", JOB_SHAPE_TABLE,
                        false, false, set_comm},
};

const struct job_field *job_field_at(enum job_field_id id)
{
    ASSERT((unsigned)id < JOB_FIELD_MAX);
    return &fields[id];
}

enum job_field_id job_field_id(const struct job_field *field)
{
    ASSERT(field >= fields && field < fields + JOB_FIELD_MAX);
    return (enum job_field_id)(field - fields);
}

const struct job_field *job_field_find(const char *name)
{
    for (size_t i = 0; i < JOB_FIELD_MAX; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static const char *field_word(const void *ctx, size_t index)
{
    (void)ctx;
    return index < JOB_FIELD_MAX ? fields[index].name : NULL;
}

int job_field_unknown(const char *name, struct err *err)
{
    const char *near = suggest_nearest(name, field_word, NULL);

    if (near)
        return err_field(err, E_INVALID, name, "is not a known field; did you mean '%s'?",
                         near);
    return err_field(err, E_INVALID, name,
                     "is not a known field; elastane-job(5) lists them");
}

int job_field_set(struct submit *submit, const struct job_field *field, const char *text,
                  struct err *err)
{
    struct err why = {0};
    int rc = field->set(submit, text, &why);

    if (rc == 0)
        submit->given |= BIT((unsigned)job_field_id(field));
    else if (rc == E_NOMEM)
        (void)err_set(err, E_NOMEM, "out of memory");
    else
        (void)err_field(err, rc, field->name, "%s", why.text);
    return rc;
}
