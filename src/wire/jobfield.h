/* SPDX-License-Identifier: Apache-2.0 */
/* jobfield.h - the one table of what can be said about a job.
 *
 * The flags of `elastane submit`, the keys of a job file and the words of #ELASTANE lines
 * are made from it, so all three know the same names, values and messages. */
#ifndef WIRE_JOBFIELD_H
#define WIRE_JOBFIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/submit.h"

/* Bits of submit.given; the order is that of the help. */
enum job_field_id {
    JOB_FIELD_NAME,
    JOB_FIELD_GPUS,
    JOB_FIELD_BATCH,
    JOB_FIELD_GPU_BATCH,
    JOB_FIELD_BASE_BATCH,
    JOB_FIELD_ACCUMULATE,
    JOB_FIELD_LR_RULE,
    JOB_FIELD_PROFILE,
    JOB_FIELD_LEVEL,
    JOB_FIELD_GRACE,
    JOB_FIELD_TIME_LIMIT,
    JOB_FIELD_SAMPLES,
    JOB_FIELD_RETRIES,
    JOB_FIELD_FAMILY,
    JOB_FIELD_DEVICE_TYPE,
    JOB_FIELD_WEIGHT,
    JOB_FIELD_CPUS,
    JOB_FIELD_MEM,
    JOB_FIELD_LAUNCH,
    JOB_FIELD_CWD,
    JOB_FIELD_ENV,
    JOB_FIELD_EXPORT,
    JOB_FIELD_OUTPUT,
    JOB_FIELD_COMMAND,
    JOB_FIELD_PROC,
    JOB_FIELD_COMM,
    JOB_FIELD_MAX
};

/* How a job file may write the value, besides as one scalar. */
enum job_field_shape {
    JOB_SHAPE_WORD,    /* scalar only */
    JOB_SHAPE_SIZES,   /* or a list: [1, 2, 4] */
    JOB_SHAPE_TABLE,   /* or a mapping: {64: 0.138} */
    JOB_SHAPE_ENV,     /* or a list of NAME=VALUE, or a mapping */
    JOB_SHAPE_COMMAND, /* a scalar is for the shell; a list is argv */
};

struct job_field {
    const char *name;
    int letter;       /* short flag, or 0 */
    const char *arg;  /* word for the value in the help */
    const char *help; /* one line, no full stop */
    enum job_field_shape shape;
    bool may_repeat; /* as a flag or on script lines: values add up */
    bool may_change; /* by `elastane update` */
    int (*set)(struct submit *submit, const char *text, struct err *err);
};

const struct job_field *job_field_at(enum job_field_id id);
enum job_field_id job_field_id(const struct job_field *field);
/* NULL when there is none of that name. */
const struct job_field *job_field_find(const char *name);
/* E_INVALID: "is not a known field; did you mean 'gpus'?", with the name as the field. */
int job_field_unknown(const char *name, struct err *err);

/* Reads one value and marks the field as given. The field of an error is its name.
 * E_INVALID, E_LIMIT or E_NOMEM. */
int job_field_set(struct submit *submit, const struct job_field *field, const char *text,
                  struct err *err);

/* Where in a text the fields were given; lines and columns from 1, line 0: not there. */
struct text_place {
    int32_t line;
    int32_t column;
};

struct job_places {
    struct text_place fault; /* of the error, when there is one */
    struct text_place of[JOB_FIELD_MAX];
};

#endif
