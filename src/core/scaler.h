/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.h - which of the targets are worth a move now (DESIGN 4.7). */
#ifndef CORE_SCALER_H
#define CORE_SCALER_H

#include "core/plan.h"

/* What the scaler looks at: the items of one device type, with targets set, and of these
 * the ones that start or resize. */
struct scaler_view {
    const struct config *config;
    const struct globals *globals;
    usec_t now_us;
    int32_t free;      /* devices nobody holds */
    int32_t releasing; /* devices that ending or shrinking jobs will give back */
    struct plan_item **items;
    int32_t n_items;
    struct plan_item **moves;
    int32_t n_moves;
};

/* Marks moves that must not be made now as held back (reason, held_until_us) and shrinks
 * that pay for an admission as is_for_admission. Returns how many it newly held back: the
 * caller pins those jobs and asks the policy again. With CONFIG_SCALER_NONE it holds back
 * nothing. */
int32_t scaler_review(const struct scaler_view *view);

/* What the voluntary moves among the items bring: speed gained minus speed lost, in
 * device-equivalents times seconds. Comparable between plans of one moment. */
double scaler_gain(const struct scaler_view *view);

/* Holds back, on trial, all shrinks that only pay for growths. Returns how many there
 * were; scaler_end_trial() lets them go again, or makes the hold final. */
int32_t scaler_try_without_shrinks(const struct scaler_view *view);
void scaler_end_trial(const struct scaler_view *view, bool hold);

/* Seconds until the job ends by itself at this rate; a very large number when not known.
 */
double scaler_remaining_s(const struct plan_item *item, const struct row_option *at);

/* What a restart of this job costs in time: its stall, measured or the configured guess,
 * and the warm-up that comes after it. */
usec_t scaler_stall_us(const struct config *config, const struct job_run *run);

#endif
