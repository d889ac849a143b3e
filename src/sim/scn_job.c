/* SPDX-License-Identifier: Apache-2.0 */
/* scn_job.c - the `job` line: what its owner asks for, and how fast it really runs.
 *
 * Keys come in any order, each with its value. The rules of a spec are not repeated here:
 * what the core refuses is part of the story, so a scenario may well submit nonsense. */
#include "sim/scn_read.h"

#include <string.h>

#include "base/assert.h"
#include "core/perf/model.h"

static const char *const levels[] = {"rigid", "restartable", "elastic"};
static const char *const accumulates[] = {"needed", "never", "free"};
static const char *const lr_rules[] = {"none", "linear", "sqrt"};
static const char *const profiles[] = {"probe", "passive", "off"};

static int read_batch(struct scn_line *line, struct job_spec *spec)
{
    int64_t per_gpu = 0;
    int rc = scn_range(line, "batch", &spec->batch_min, &spec->batch_max);

    if (rc < 0 || !scn_take(line, ","))
        return rc;
    rc = scn_count(line, "batch", 1, BATCH_MAX, &per_gpu);
    if (rc == 0)
        rc = scn_expect(line, "batch", "per");
    if (rc == 0)
        rc = scn_expect(line, "batch", "gpu");
    if (rc == 0)
        spec->gpu_batch = (int32_t)per_gpu;
    return rc;
}

static int read_base(struct scn_line *line, struct job_spec *spec)
{
    int64_t base = 0;
    int rc = scn_count(line, "base", 1, BATCH_MAX, &base);

    spec->batch_base = rc == 0 ? (int32_t)base : spec->batch_base;
    return rc;
}

static int read_retries(struct scn_line *line, struct job_spec *spec)
{
    int64_t retries = 0;
    int rc = scn_count(line, "retries", 0, RETRIES_MAX, &retries);

    spec->retries = rc == 0 ? (int32_t)retries : spec->retries;
    return rc;
}

static int read_words(struct scn_line *line, const char *key, struct job_spec *spec)
{
    int choice = 0;
    int rc;

    if (strcmp(key, "level") == 0) {
        rc = scn_choice(line, key, levels, JOB_LEVEL_MAX, &choice);
        spec->level = rc == 0 ? (enum job_level)choice : spec->level;
    } else if (strcmp(key, "accumulate") == 0) {
        rc = scn_choice(line, key, accumulates, JOB_ACCUMULATE_MAX, &choice);
        spec->accumulate = rc == 0 ? (enum job_accumulate)choice : spec->accumulate;
    } else if (strcmp(key, "profile") == 0) {
        rc = scn_choice(line, key, profiles, JOB_PROFILE_MAX, &choice);
        spec->profile = rc == 0 ? (enum job_profile)choice : spec->profile;
    } else {
        rc = scn_choice(line, key, lr_rules, JOB_LR_RULE_MAX, &choice);
        spec->lr_rule = rc == 0 ? (enum job_lr_rule)choice : spec->lr_rule;
    }
    return rc;
}

int scn_read_setting(struct scn_line *line, struct job_spec *spec)
{
    if (scn_take(line, "gpus"))
        return scn_sizes(line, "gpus", &spec->sizes);
    if (scn_take(line, "batch"))
        return read_batch(line, spec);
    if (scn_take(line, "base"))
        return read_base(line, spec);
    if (scn_take(line, "retries"))
        return read_retries(line, spec);
    if (scn_take(line, "grace"))
        return scn_span(line, "grace", &spec->grace_us);
    if (scn_take(line, "limit"))
        return scn_span(line, "limit", &spec->time_limit_us);
    if (scn_take(line, "weight"))
        return scn_decimal(line, "weight", &spec->weight_ppm);
    if (scn_take(line, "type"))
        return scn_name(line, "type", spec->device_type);
    if (scn_take(line, "family"))
        return scn_name(line, "family", spec->family);
    if (scn_take(line, "level"))
        return read_words(line, "level", spec);
    if (scn_take(line, "accumulate"))
        return read_words(line, "accumulate", spec);
    if (scn_take(line, "lr"))
        return read_words(line, "lr", spec);
    if (scn_take(line, "profile"))
        return read_words(line, "profile", spec);
    return E_NOTFOUND;
}

/* "10ms+2ms*m": two points of the line, far apart. */
static int read_affine(struct scn_line *line, const char *word, struct perf_model *model)
{
    const int32_t far = 1 + PPM / 1000;
    const char *rest = word;
    int64_t fixed = 0;
    int64_t each = 0;
    int rc = scn_nanos(line, "proc", word, &fixed, &rest);

    if (rc == 0 && *rest == '+') {
        rc = scn_nanos(line, "proc", rest + 1, &each, &rest);
        if (rc == 0 && strcmp(rest, "*m") != 0)
            rc = scn_fail(line, "proc", "is '%.40s'; give 10ms+2ms*m", word);
    } else if (rc == 0 && strcmp(rest, "*m") == 0) {
        each = fixed;
        fixed = 0;
    } else if (rc == 0 && *rest) {
        rc = scn_fail(line, "proc", "is '%.40s'; give 10ms+2ms*m", word);
    }
    if (rc == 0 && (fixed + each <= 0 || fixed + each > 3600 * 1000000000LL))
        rc = scn_fail(line, "proc", "is '%.40s'; more than 0 and at most 1 hour", word);
    if (rc < 0)
        return rc;
    model->n_proc = 2;
    model->proc[0] = (struct proc_point){.micro_batch = 1, .time_ns = fixed + each};
    model->proc[1] = (struct proc_point){far, fixed + each * far};
    return 0;
}

/* One "8:12ms" of a list; *p moves behind it. */
static int read_point(struct scn_line *line, const char *field, const char **p,
                      int64_t *ret_at, int64_t *ret_ns)
{
    int64_t at = 0;

    for (; **p >= '0' && **p <= '9' && at < BATCH_MAX; (*p)++)
        at = at * 10 + (**p - '0');
    if (at < 1 || at > BATCH_MAX || **p != ':')
        return scn_fail(line, field, "has a point '%.20s'; give 8:12ms,16:20ms", *p);
    (*p)++;
    *ret_at = at;
    return scn_nanos(line, field, *p, ret_ns, p);
}

int scn_read_proc(struct scn_line *line, struct perf_model *model)
{
    const char *word = scn_next(line);
    const char *p = word;
    int32_t n = 0;

    if (!word)
        return scn_fail(line, "proc", "is missing; give 10ms+2ms*m or 8:12ms,16:20ms");
    if (!strchr(word, ':'))
        return read_affine(line, word, model);
    for (;;) {
        int64_t at = 0;
        int64_t ns = 0;
        int rc = read_point(line, "proc", &p, &at, &ns);

        if (rc < 0)
            return rc;
        if (n == PROC_POINTS_MAX || ns < 1 ||
            (n > 0 && at <= model->proc[n - 1].micro_batch))
            return scn_fail(line, "proc", "needs rising sizes, at most %d, times above 0",
                            PROC_POINTS_MAX);
        model->proc[n++] = (struct proc_point){(int32_t)at, ns};
        if (*p != ',')
            break;
        p++;
    }
    if (*p)
        return scn_fail(line, "proc", "has '%.20s' after its points", p);
    model->n_proc = n;
    return 0;
}

/* "1.25GB/s" in bytes per second. */
static int read_bandwidth(struct scn_line *line, int64_t *ret)
{
    const char *word = scn_next(line);
    char number[32] = "";
    size_t n = word ? strlen(word) : 0;
    struct scn_line one = {.number = line->number, .err = line->err};
    int rc;

    if (n < 4 || n >= sizeof number || strcmp(word + n - 3, "B/s") != 0)
        return scn_fail(line, "comm", "has bandwidth '%.40s'; give 1.25GB/s",
                        word ? word : "nothing");
    memcpy(number, word, n - 3);
    one.words[0] = number;
    one.n_words = 1;
    rc = scn_count(&one, "comm", 1000, (int64_t)1000000000000, ret);
    return rc;
}

/* ring|tree PARAMS params BANDWIDTH [alpha T] */
static int read_form(struct scn_line *line, struct perf_model *model)
{
    const char *rest = "";
    int64_t params = 0;
    int rc = scn_count(line, "comm", 1, (int64_t)1000000000000, &params);

    if (rc == 0)
        rc = scn_expect(line, "comm", "params");
    if (rc == 0)
        rc = read_bandwidth(line, &model->comm_bytes_per_sec);
    if (rc == 0 && scn_take(line, "alpha")) {
        const char *word = scn_next(line);

        rc = scn_nanos(line, "comm", word ? word : "", &model->comm_alpha_ns, &rest);
        if (rc == 0 && *rest)
            rc = scn_fail(line, "comm", "has '%.20s' after its alpha", rest);
    }
    model->comm_bytes = params * 4;
    return rc;
}

static int read_comm_points(struct scn_line *line, const char *word,
                            struct perf_model *model)
{
    const char *p = word;
    int32_t n = 0;

    for (;;) {
        int64_t at = 0;
        int64_t ns = 0;
        int rc = read_point(line, "comm", &p, &at, &ns);

        if (rc < 0)
            return rc;
        if (n == COMM_POINTS_MAX || at < 2 || at > SIZE_MAX_DEVICES ||
            (n > 0 && at <= model->comm[n - 1].size))
            return scn_fail(line, "comm", "needs rising sizes from 2 on, at most %d",
                            COMM_POINTS_MAX);
        model->comm[n++] = (struct comm_point){(int32_t)at, ns};
        if (*p != ',')
            break;
        p++;
    }
    if (*p)
        return scn_fail(line, "comm", "has '%.20s' after its points", p);
    model->n_comm = n;
    return 0;
}

int scn_read_comm(struct scn_line *line, struct perf_model *model)
{
    const char *word = scn_next(line);
    const char *rest = "";
    int64_t ns = 0;
    int rc = 0;

    model->n_comm = 0;
    model->comm_form = MODEL_COMM_TABLE;
    if (!word)
        return scn_fail(line, "comm",
                        "is missing; give 3ms, 2:3ms,4:5ms or ring 25M params 1.25GB/s");
    if (strcmp(word, "ring") == 0 || strcmp(word, "tree") == 0) {
        model->comm_form = word[0] == 'r' ? MODEL_COMM_RING : MODEL_COMM_TREE;
        rc = read_form(line, model);
    } else if (strchr(word, ':')) {
        rc = read_comm_points(line, word, model);
    } else {
        rc = scn_nanos(line, "comm", word, &ns, &rest);
        if (rc == 0 && *rest)
            rc = scn_fail(line, "comm", "has '%.20s' after its time", rest);
        model->n_comm = 2;
        model->comm[0] = (struct comm_point){2, ns};
        model->comm[1] = (struct comm_point){SIZE_MAX_DEVICES, ns};
    }
    if (rc == 0 && scn_take(line, "inter"))
        rc = scn_decimal(line, "inter", &model->inter_node_ppm);
    return rc;
}

/* work 6 gpu-hours */
static int read_work(struct scn_line *line, struct scn_job *job)
{
    static const char *const units[] = {"gpu-hours", "gpu-minutes", "gpu-seconds"};
    static const usec_t spans[] = {USEC_PER_HOUR, USEC_PER_MIN, USEC_PER_SEC};
    int64_t ppm = 0;
    int unit = 0;
    int rc = scn_decimal(line, "work", &ppm);

    if (rc == 0)
        rc = scn_choice(line, "work", units, (int)ARRAY_SIZE(units), &unit);
    if (rc < 0)
        return rc;
    if (ppm < 1 || ppm > 1000000 * PPM)
        return scn_fail(line, "work", "must be more than 0 and at most 1000000");
    job->device_us = ppm / 1000 * (spans[unit] / 1000);
    job->spec.samples_total = 0;
    return 0;
}

static int read_samples(struct scn_line *line, struct scn_job *job)
{
    int rc = scn_count(line, "samples", 1, (int64_t)1000000000000000,
                       &job->spec.samples_total);

    if (rc == 0)
        job->device_us = 0;
    return rc;
}

/* A key that only the `job` line has. */
static int read_own_key(struct scn_line *line, struct scn_job *job)
{
    static const char *const models[] = {"known", "unknown"};
    static const char *const lengths[] = {"known", "unknown"};
    int choice = 0;
    int rc;

    if (scn_take(line, "at"))
        return scn_span(line, "at", &job->at_us);
    if (scn_take(line, "work"))
        return read_work(line, job);
    if (scn_take(line, "samples"))
        return read_samples(line, job);
    if (scn_take(line, "proc"))
        return scn_read_proc(line, &job->truth);
    if (scn_take(line, "comm"))
        return scn_read_comm(line, &job->truth);
    if (scn_take(line, "saves"))
        return scn_span(line, "saves", &job->save_every_us);
    if (scn_take(line, "model")) {
        rc = scn_choice(line, "model", models, 2, &choice);
        job->is_known = choice == 0;
        return rc;
    }
    if (scn_take(line, "length")) {
        rc = scn_choice(line, "length", lengths, 2, &choice);
        job->is_endless = choice == 1;
        return rc;
    }
    return E_NOTFOUND;
}

/* The model that is true is no wish: the world runs on it, so it must be sound. */
static int check_truth(struct scn_line *line, const struct perf_model *truth)
{
    struct err why = {0};

    if (model_check(truth, &why) == 0)
        return 0;
    return scn_fail(line, why.field, "%s", why.text);
}

int scn_read_job(struct scenario *scn, struct scn_line *line)
{
    struct scn_job *job;
    char name[NAME_MAX_BYTES];
    int rc = scn_name(line, "job", name);

    if (rc < 0)
        return rc;
    if (scenario_find_job(scn, name) >= 0)
        return scn_fail(line, "job", "'%s' is there already; give another name", name);
    if (scn->n_jobs >= SCN_TEXT_JOBS_MAX)
        return E_LIMIT;
    job = scenario_add_job(scn);
    if (!job)
        return E_NOMEM;
    memcpy(job->spec.name, name, sizeof name);
    while (rc == 0 && scn_peek(line)) {
        rc = scn_read_setting(line, &job->spec);
        if (rc == E_NOTFOUND)
            rc = read_own_key(line, job);
        if (rc == E_NOTFOUND)
            rc = scn_fail(
                line, "job",
                "has no key '%.30s'; gpus, batch, base, level, accumulate, lr, "
                "profile, work, samples, proc, comm, model, length, saves, at, grace, "
                "retries, limit, weight, type or family",
                scn_peek(line));
    }
    return rc < 0 ? rc : check_truth(line, &job->truth);
}

int scn_read_job_name(const struct scenario *scn, struct scn_line *line,
                      const char *field, int32_t *ret_job)
{
    char name[NAME_MAX_BYTES];
    int32_t job;
    int rc = scn_name(line, field, name);

    if (rc < 0)
        return rc;
    job = scenario_find_job(scn, name);
    if (job < 0)
        return scn_fail(line, field, "'%s' is no job of the lines above", name);
    *ret_job = job;
    return 0;
}
