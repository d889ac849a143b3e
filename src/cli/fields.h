/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h - the fields of a job as options of a command, made from wire's table. */
#ifndef CLI_FIELDS_H
#define CLI_FIELDS_H

#include <stddef.h>

#include "cli/cli.h"
#include "wire/jobfield.h"

#define FIELDS_OPTION (CLI_LONG + 100) /* ids of fields without a letter start here */
#define FIELDS_MAX    512              /* flags of one command line */

enum fields_use {
    FIELDS_SUBMIT, /* all of them */
    FIELDS_UPDATE, /* those that may change */
};

/* Flags in the order given; texts are lent by argv. They are kept until the job file was
 * read, because they count more. */
struct fields {
    struct {
        const struct job_field *field;
        const char *value;
    } items[FIELDS_MAX];
    size_t n;
};

/* Writes the options of `use` to `to`, which has room for JOB_FIELD_MAX; how many. */
size_t fields_options(enum fields_use use, struct cli_option *to);
/* Keeps a flag if `id` is one of a field: 1 if it was, 0 if it is none; E_LIMIT, or
 * E_INVALID when a field that may not repeat was given before. */
int fields_take(struct fields *fields, int id, const char *value, struct err *err);
/* Sets them, one after the other. On failure err names the field. */
int fields_apply(const struct fields *fields, struct submit *submit, struct err *err);

#endif
