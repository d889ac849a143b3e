/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - the words for the core's enums, as they stand in journals, messages and
 * tables. The arrays are append-only, like the enums. */
#include "base/assert.h"
#include "core/change.h"
#include "core/cluster.h"
#include "core/config.h"
#include "core/duty.h"
#include "core/event.h"
#include "core/job.h"
#include "core/perf/model.h"

#define NAME_FUNCTION(function, type, max, ...)                                          \
    const char *function(enum type value)                                                \
    {                                                                                    \
        static const char *const names[max] = {__VA_ARGS__};                             \
                                                                                         \
        ASSERT((unsigned)value < (unsigned)(max));                                       \
        return names[value];                                                             \
    }

NAME_FUNCTION(job_phase_name, job_phase, JOB_PHASE_MAX, "none", "save", "exit", "start")
NAME_FUNCTION(job_level_name, job_level, JOB_LEVEL_MAX, "rigid", "restartable", "elastic")
NAME_FUNCTION(job_accumulate_name, job_accumulate, JOB_ACCUMULATE_MAX, "needed", "never",
              "free")
NAME_FUNCTION(job_lr_rule_name, job_lr_rule, JOB_LR_RULE_MAX, "none", "linear", "sqrt")
NAME_FUNCTION(job_profile_name, job_profile, JOB_PROFILE_MAX, "probe", "passive", "off")
NAME_FUNCTION(job_cause_name, job_cause, JOB_CAUSE_MAX, "none", "done", "stopped",
              "user-error", "killed", "node-lost", "start-failed", "lost", "time-limit",
              "out-of-memory", "device-busy")
NAME_FUNCTION(node_state_name, node_state, NODE_STATE_MAX, "up", "lost")
NAME_FUNCTION(device_state_name, device_state, DEVICE_STATE_MAX, "clean", "foreign",
              "stuck")
NAME_FUNCTION(model_source_name, model_source, MODEL_SOURCE_MAX, "prior", "stated",
              "family", "measured")
NAME_FUNCTION(model_comm_name, model_comm, MODEL_COMM_MAX, "table", "ring", "tree")
NAME_FUNCTION(config_admission_name, config_admission, CONFIG_ADMISSION_MAX, "queue",
              "skip", "drop")
NAME_FUNCTION(config_scaler_name, config_scaler, CONFIG_SCALER_MAX, "payback", "none")
NAME_FUNCTION(event_kind_name, event_kind, EVENT_KIND_MAX, "config", "node-up",
              "node-lost", "submit", "update", "cancel", "pause", "resume", "started",
              "saved", "save-failed", "exit", "perf", "model", "daemon-start", "adopted",
              "wake", "plan", "device")
NAME_FUNCTION(change_kind_name, change_kind, CHANGE_KIND_MAX, "globals", "config", "node",
              "hold", "spec", "model", "run", "profile", "mark")
NAME_FUNCTION(duty_kind_name, duty_kind, DUTY_KIND_MAX, "none", "start", "save", "stop",
              "go-on")
