/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - see fields.h. */
#include "cli/fields.h"

static int option_id(enum job_field_id id)
{
    int letter = job_field_at(id)->letter;

    return letter ? letter : FIELDS_OPTION + (int)id;
}

size_t fields_options(enum fields_use use, struct cli_option *to)
{
    size_t n = 0;

    for (unsigned i = 0; i < JOB_FIELD_MAX; i++) {
        const struct job_field *f = job_field_at((enum job_field_id)i);

        if (use == FIELDS_UPDATE && !f->may_change)
            continue;
        to[n++] = (struct cli_option){option_id((enum job_field_id)i), f->name, f->arg,
                                      f->help};
    }
    return n;
}

int fields_take(struct fields *fields, int id, const char *value, struct err *err)
{
    for (unsigned i = 0; i < JOB_FIELD_MAX; i++) {
        const struct job_field *f = job_field_at((enum job_field_id)i);

        if (option_id((enum job_field_id)i) != id)
            continue;
        if (fields->n == FIELDS_MAX)
            return err_set(err, E_LIMIT, "more than %d flags", FIELDS_MAX);
        for (size_t j = 0; j < fields->n && !f->may_repeat; j++)
            if (fields->items[j].field == f)
                return err_set(err, E_INVALID, "--%s is given twice; keep one", f->name);
        fields->items[fields->n].field = f;
        fields->items[fields->n++].value = value;
        return 1;
    }
    return 0;
}

int fields_apply(const struct fields *fields, struct submit *submit, struct err *err)
{
    for (size_t i = 0; i < fields->n; i++) {
        int rc =
            job_field_set(submit, fields->items[i].field, fields->items[i].value, err);

        if (rc < 0)
            return rc;
    }
    return 0;
}
