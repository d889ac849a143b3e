/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - the settings of decisions: what they are when nobody says otherwise, and
 * what they may be. */
#include "core/config.h"

#include <stdio.h>
#include <string.h>

#include "core/policy/policy.h"

#define SPAN_MAX_US (366 * USEC_PER_DAY)

void config_defaults(struct config *config)
{
    *config = (struct config){
        .admission = CONFIG_ADMIT_QUEUE,
        .scaler = CONFIG_SCALER_PAYBACK,
        .min_run_us = 60 * USEC_PER_SEC,
        .min_gap_us = 30 * USEC_PER_SEC,
        .admit_wait_us = 120 * USEC_PER_SEC,
        .reserve_us = 24 * USEC_PER_HOUR,
        .stall_guess_us = 5 * USEC_PER_SEC,
    };
    (void)snprintf(config->policy, sizeof config->policy, "%s", policy_at(0)->name);
}

static int check_policy(const char *name, struct err *err)
{
    char known[200] = "";
    size_t len = 0;

    if (memchr(name, '\0', NAME_MAX_BYTES) && policy_find(name))
        return 0;
    for (size_t i = 0; policy_at(i) && len < sizeof known; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s",
                                i > 0 ? ", " : "", policy_at(i)->name);
    return err_field(err, E_INVALID, "policy", "is '%.*s', which is unknown; one of %s",
                     NAME_MAX_BYTES - 1, name, known);
}

int config_check(const struct config *config, struct err *err)
{
    const struct {
        const char *field;
        usec_t span;
    } spans[] = {
        {"interval", config->interval_us}, {"min-run", config->min_run_us},
        {"min-gap", config->min_gap_us},   {"admit-wait", config->admit_wait_us},
        {"reserve", config->reserve_us},   {"stall-guess", config->stall_guess_us},
    };
    int rc = check_policy(config->policy, err);

    if (rc < 0)
        return rc;
    if ((unsigned)config->admission >= CONFIG_ADMISSION_MAX)
        return err_field(err, E_INVALID, "admission", "is unknown; queue, skip or drop");
    if ((unsigned)config->scaler >= CONFIG_SCALER_MAX)
        return err_field(err, E_INVALID, "scaler", "is unknown; payback or none");
    for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
        if (spans[i].span < 0)
            return err_field(err, E_INVALID, spans[i].field,
                             "is negative; 0 to 366 days");
        if (spans[i].span > SPAN_MAX_US)
            return err_field(err, E_LIMIT, spans[i].field, "is longer than 366 days");
    }
    return 0;
}
