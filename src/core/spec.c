/* SPDX-License-Identifier: Apache-2.0 */
/* spec.c - the rules that a job's spec must keep, each with its field, reason and remedy.
 *
 * Checked here is what can be said without the cluster and without a model; whether any
 * size can serve the batch range is row_build()'s answer, and whether the cluster is
 * large enough is core_decide()'s. */
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "core/job.h"

#define GRACE_DEFAULT_US (30 * USEC_PER_SEC)
#define SPAN_MAX_US      (366 * USEC_PER_DAY)

void job_spec_complete(struct job_spec *spec)
{
    if (spec->sizes.n_listed > 0) {
        spec->sizes.min = spec->sizes.listed[0];
        spec->sizes.max = spec->sizes.listed[spec->sizes.n_listed - 1];
    }
    if (spec->sizes.step == 0)
        spec->sizes.step = 1;
    if (spec->batch_base == 0)
        spec->batch_base = spec->batch_min;
    if (spec->weight_ppm == 0)
        spec->weight_ppm = PPM;
    if (spec->grace_us == 0)
        spec->grace_us = GRACE_DEFAULT_US;
}

void job_spec_family(const struct job_spec *spec, char ret[NAME_MAX_BYTES])
{
    size_t n;

    memcpy(ret, spec->family[0] ? spec->family : spec->name, NAME_MAX_BYTES);
    if (spec->family[0])
        return;
    n = strlen(ret);
    while (n > 1 && ret[n - 1] >= '0' && ret[n - 1] <= '9')
        n--;
    while (n > 1 && (ret[n - 1] == '-' || ret[n - 1] == '_' || ret[n - 1] == '.'))
        n--;
    ret[n] = '\0';
}

static int check_text(const char *text, const char *field, bool may_be_empty,
                      struct err *err)
{
    const char *end = memchr(text, '\0', NAME_MAX_BYTES);

    if (!end)
        return err_field(err, E_INVALID, field, "is longer than %d bytes",
                         NAME_MAX_BYTES - 1);
    if (end == text && !may_be_empty)
        return err_field(err, E_INVALID, field, "is empty; give 1 to %d characters",
                         NAME_MAX_BYTES - 1);
    for (const char *p = text; p < end; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            return err_field(err, E_INVALID, field,
                             "has a blank or control character at position %d",
                             (int)(p - text) + 1);
    return 0;
}

static int check_sizes(const struct size_set *set, struct err *err)
{
    if (set->n_listed < 0 || set->n_listed > SIZES_LISTED_MAX)
        return err_field(err, E_LIMIT, "gpus", "lists more than %d sizes; give a range",
                         SIZES_LISTED_MAX);
    for (int32_t i = 1; i < set->n_listed; i++)
        if (set->listed[i] <= set->listed[i - 1])
            return err_field(err, E_INVALID, "gpus", "lists %d after %d; sizes must rise",
                             set->listed[i], set->listed[i - 1]);
    if (set->min < 1)
        return err_field(err, E_INVALID, "gpus", "begins at %d; the least size is 1",
                         set->min);
    if (set->max < set->min)
        return err_field(err, E_INVALID, "gpus",
                         "is %d..%d; the first number must not be "
                         "above the second",
                         set->min, set->max);
    if (set->max > SIZE_MAX_DEVICES)
        return err_field(err, E_LIMIT, "gpus", "ends at %d; the largest size is %d",
                         set->max, SIZE_MAX_DEVICES);
    if (set->step < 1)
        return err_field(err, E_INVALID, "gpus", "has a step of %d; at least 1",
                         set->step);
    return 0;
}

static int check_batch(const struct job_spec *spec, struct err *err)
{
    if (spec->batch_min == 0 && spec->batch_max == 0) {
        if (spec->batch_base != 0)
            return err_field(err, E_INVALID, "base-batch",
                             "is given without a batch; state --batch too");
        if (spec->gpu_batch != 0)
            return err_field(err, E_INVALID, "gpu-batch",
                             "is given without a batch; state --batch too");
        return 0;
    }
    if (spec->batch_min < 1)
        return err_field(err, E_INVALID, "batch", "begins at %d; at least 1 sample",
                         spec->batch_min);
    if (spec->batch_max < spec->batch_min)
        return err_field(err, E_INVALID, "batch",
                         "is %d..%d; the first number must not be "
                         "above the second",
                         spec->batch_min, spec->batch_max);
    if (spec->batch_max > BATCH_MAX)
        return err_field(err, E_LIMIT, "batch", "ends at %d; the largest is %d samples",
                         spec->batch_max, BATCH_MAX);
    if (spec->batch_base < spec->batch_min || spec->batch_base > spec->batch_max)
        return err_field(err, E_INVALID, "base-batch",
                         "is %d; it must lie in the batch "
                         "range %d..%d",
                         spec->batch_base, spec->batch_min, spec->batch_max);
    if (spec->gpu_batch < 0)
        return err_field(err, E_INVALID, "gpu-batch", "is %d; at least 1 sample",
                         spec->gpu_batch);
    return 0;
}

static int check_span(usec_t span, usec_t least, const char *field, struct err *err)
{
    if (span < least)
        return err_field(err, E_INVALID, field, "is %lld microseconds; at least %lld",
                         (long long)span, (long long)least);
    if (span > SPAN_MAX_US)
        return err_field(err, E_LIMIT, field, "is longer than 366 days");
    return 0;
}

static int check_enums(const struct job_spec *spec, struct err *err)
{
    if ((unsigned)spec->level >= JOB_LEVEL_MAX)
        return err_field(err, E_INVALID, "level",
                         "is unknown; rigid, restartable or elastic");
    if ((unsigned)spec->accumulate >= JOB_ACCUMULATE_MAX)
        return err_field(err, E_INVALID, "accumulate",
                         "is unknown; needed, never or free");
    if ((unsigned)spec->lr_rule >= JOB_LR_RULE_MAX)
        return err_field(err, E_INVALID, "lr-rule", "is unknown; none, linear or sqrt");
    if ((unsigned)spec->profile >= JOB_PROFILE_MAX)
        return err_field(err, E_INVALID, "profile", "is unknown; probe, passive or off");
    if (spec->level == JOB_RIGID && spec->sizes.min != spec->sizes.max)
        return err_field(err, E_INVALID, "gpus",
                         "is %d..%d for a rigid job; give one size, "
                         "or level restartable or elastic",
                         spec->sizes.min, spec->sizes.max);
    if (spec->level == JOB_RIGID && spec->batch_min != spec->batch_max)
        return err_field(err, E_INVALID, "batch",
                         "is %d..%d for a rigid job; give one batch, "
                         "or level restartable or elastic",
                         spec->batch_min, spec->batch_max);
    return 0;
}

static int check_numbers(const struct job_spec *spec, struct err *err)
{
    if (spec->samples_total < 0)
        return err_field(err, E_INVALID, "samples",
                         "is %lld; at least 1, or 0 for unknown",
                         (long long)spec->samples_total);
    if (spec->retries < 0 || spec->retries > RETRIES_MAX)
        return err_field(err, E_INVALID, "retries", "is %d; 0 to %d", spec->retries,
                         RETRIES_MAX);
    if (spec->cpus_per_device < 0)
        return err_field(err, E_INVALID, "cpus", "is %d; 0 or more",
                         spec->cpus_per_device);
    if (spec->mem_bytes_per_device < 0)
        return err_field(err, E_INVALID, "mem", "is negative");
    if (spec->weight_ppm < 1 || spec->weight_ppm > 1000 * PPM)
        return err_field(err, E_INVALID, "weight", "must lie between 0.000001 and 1000");
    if (spec->launch && memchr(spec->launch, '\0', LAUNCH_MAX_BYTES) == NULL)
        return err_field(err, E_LIMIT, "command",
                         "with its environment is longer than %d "
                         "bytes",
                         LAUNCH_MAX_BYTES - 1);
    return 0;
}

int job_spec_check(const struct job_spec *spec, struct err *err)
{
    int rc;

    rc = check_text(spec->name, "name", false, err);
    if (rc == 0)
        rc = check_text(spec->family, "family", true, err);
    if (rc == 0)
        rc = check_text(spec->device_type, "device-type", true, err);
    if (rc == 0)
        rc = check_sizes(&spec->sizes, err);
    if (rc == 0)
        rc = check_batch(spec, err);
    if (rc == 0)
        rc = check_enums(spec, err);
    if (rc == 0)
        rc = check_span(spec->grace_us, 1, "grace", err);
    if (rc == 0)
        rc = check_span(spec->time_limit_us, 0, "time-limit", err);
    if (rc == 0)
        rc = check_numbers(spec, err);
    return rc;
}
