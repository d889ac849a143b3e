/* SPDX-License-Identifier: Apache-2.0 */
/* dryrun.c - one row for the whole job, and for each size that is not in it a row of that
 * size alone, which fails with the reason. */
#include "wire/dryrun.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "core/perf/row.h"
#include "core/perf/split.h"

/* As the planner asks for a job that has no plan yet: the base batch breaks ties. */
static struct row_rule rule_of(const struct job_spec *spec)
{
    return (struct row_rule){.batch = ROW_BATCH_JOINT,
                             .devices_per_node = NODE_DEVICES_MAX,
                             .batch_in_force = spec->batch_base};
}

static int64_t lr_factor_ppm(const struct job_spec *spec, int32_t global_batch)
{
    double ratio;

    if (global_batch == 0 || spec->batch_base == 0)
        return PPM;
    ratio = (double)global_batch / (double)spec->batch_base;
    switch (spec->lr_rule) {
    case JOB_LR_LINEAR:
        return (int64_t)(ratio * 1e6 + 0.5);
    case JOB_LR_SQRT:
        return (int64_t)(sqrt(ratio) * 1e6 + 0.5);
    case JOB_LR_NONE:
    case JOB_LR_RULE_MAX:
        break;
    }
    return PPM;
}

static int explain_size(const struct job_spec *spec, const struct perf_model *model,
                        int32_t size, struct err *why)
{
    const struct row_rule rule = rule_of(spec);
    struct job_spec alone = *spec;
    struct row row;
    int rc;

    alone.sizes = (struct size_set){.min = size, .max = size, .step = 1};
    row_init(&row);
    rc = row_build(&row, &alone, model, &rule, why);
    row_release(&row);
    if (rc == 0)
        (void)err_set(why, E_INFEASIBLE, "has no plan");
    return rc == E_NOMEM ? rc : 0;
}

static void fill_line(struct dryrun_line *line, const struct job_spec *spec,
                      const struct perf_model *model, const struct row_option *option)
{
    line->is_feasible = true;
    line->global_batch = option->global_batch;
    line->micro_batch = option->micro_batch;
    line->accumulation = option->accumulation;
    if (option->global_batch > 0)
        line->ranks_more = option->global_batch % option->size;
    line->lr_ppm = lr_factor_ppm(spec, option->global_batch);
    line->speed_ppm = option->value;
    if (model->n_proc > 0)
        line->rate_milli = (int64_t)(option->rate * 1e3 + 0.5);
}

static size_t count_sizes(const struct size_set *set)
{
    size_t n = 0;

    for (int32_t k = size_set_next(set, 1); k > 0; k = size_set_next(set, k + 1))
        n++;
    return n;
}

static int fill_lines(struct dryrun *d, const struct job_spec *spec,
                      const struct perf_model *model, const struct row *row)
{
    const struct size_set *set = &spec->sizes;

    for (int32_t k = size_set_next(set, 1); k > 0; k = size_set_next(set, k + 1)) {
        const struct row_option *option = row_find(row, k);
        struct dryrun_line *line = &d->lines[d->n++];

        line->size = k;
        if (option) {
            fill_line(line, spec, model, option);
            d->n_feasible++;
        } else if (explain_size(spec, model, k, &line->why) < 0) {
            return E_NOMEM;
        }
    }
    return 0;
}

/* A batch above the base must have been measured or stated to be better. */
static bool has_batch_range(const struct job_spec *spec, bool is_known)
{
    return spec->batch_max > spec->batch_base &&
           (is_known || spec->profile != JOB_PROFILE_OFF);
}

static enum dryrun_growth growth(bool has_range, bool is_measured_first)
{
    if (!has_range)
        return DRYRUN_NEVER;
    return is_measured_first ? DRYRUN_ONCE_MEASURED : DRYRUN_AT_ONCE;
}

int dryrun_build(const struct job_spec *spec, const struct perf_model *model,
                 struct dryrun *ret)
{
    const struct perf_model prior = {.source = MODEL_PRIOR};
    const struct row_rule rule = rule_of(spec);
    struct job_spec plain = *spec;
    struct dryrun d = {0};
    struct row row;
    int rc;

    plain.weight_ppm = PPM; /* values are then speeds */
    if (!model)
        model = &prior;
    d.source = model->source;
    d.batch_growth = growth(has_batch_range(spec, model->source != MODEL_PRIOR),
                            model->source == MODEL_PRIOR);
    d.size_growth = growth(count_sizes(&spec->sizes) > 1,
                           model->source == MODEL_PRIOR && spec->level == JOB_ELASTIC &&
                               spec->profile != JOB_PROFILE_OFF);
    d.lines = mem_new(count_sizes(&spec->sizes), sizeof *d.lines);
    row_init(&row);
    rc = d.lines ? row_build(&row, &plain, model, &rule, &d.why) : E_NOMEM;
    if (rc == 0 || rc == E_INFEASIBLE)
        rc = fill_lines(&d, &plain, model, &row);
    row_release(&row);
    if (rc < 0) {
        dryrun_release(&d);
        return rc;
    }
    *ret = d;
    return 0;
}

void dryrun_release(struct dryrun *dryrun)
{
    mem_free(dryrun->lines);
    *dryrun = (struct dryrun){0};
}

/* [{"ranks":2,"samples":86},{"ranks":2,"samples":85}] */
static json_t *encode_split(const struct dryrun_line *line)
{
    int least = line->global_batch / line->size;
    json_t *more, *rest;

    if (line->global_batch == 0)
        return json_array();
    rest = json_pack("{s:i, s:i}", "ranks", (int)(line->size - line->ranks_more),
                     "samples", least);
    if (line->ranks_more == 0)
        return json_pack("[o]", rest);
    more = json_pack("{s:i, s:i}", "ranks", (int)line->ranks_more, "samples", least + 1);
    return json_pack("[o, o]", more, rest);
}

static json_t *encode_line(const struct dryrun_line *line)
{
    if (!line->is_feasible)
        return json_pack("{s:i, s:b, s:s, s:s}", "size", (int)line->size, "is_feasible",
                         0, "field", line->why.field, "reason", line->why.text);
    return json_pack(
        "{s:i, s:b, s:i, s:i, s:i, s:o, s:I, s:I, s:I}", "size", (int)line->size,
        "is_feasible", 1, "global_batch", (int)line->global_batch, "micro_batch",
        (int)line->micro_batch, "accumulation", (int)line->accumulation, "split",
        encode_split(line), "lr_ppm", (json_int_t)line->lr_ppm, "speed_ppm",
        (json_int_t)line->speed_ppm, "rate_milli", (json_int_t)line->rate_milli);
}

int dryrun_encode(const struct dryrun *dryrun, struct buf *out, struct err *err)
{
    static const char *const growths[DRYRUN_GROWTH_MAX] = {
        [DRYRUN_NEVER] = "never",
        [DRYRUN_AT_ONCE] = "at-once",
        [DRYRUN_ONCE_MEASURED] = "once-measured",
    };
    json_t *sizes = json_array();
    json_t *feasible = json_array();
    json_t *object;
    char *text = NULL;
    int rc = sizes && feasible ? 0 : E_NOMEM;

    for (size_t i = 0; rc == 0 && i < dryrun->n; i++) {
        const struct dryrun_line *line = &dryrun->lines[i];

        if (json_array_append_new(sizes, encode_line(line)) < 0 ||
            (line->is_feasible &&
             json_array_append_new(feasible, json_integer(line->size)) < 0))
            rc = E_NOMEM;
    }
    object = json_pack("{s:s, s:o, s:s, s:s, s:o}", "batch_growth",
                       growths[dryrun->batch_growth], "feasible", feasible, "model",
                       model_source_name(dryrun->source), "size_growth",
                       growths[dryrun->size_growth], "sizes", sizes);
    if (rc == 0 && object)
        text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (text) {
        buf_printf(out, "%s\n", text);
        rc = buf_error(out);
    } else {
        rc = E_NOMEM;
    }
    free(text);
    json_decref(object);
    return rc < 0 ? err_set(err, rc, "out of memory") : 0;
}
