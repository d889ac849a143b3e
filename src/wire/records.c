/* SPDX-License-Identifier: Apache-2.0 */
/* records.c - which member of which struct has which name in JSON.
 *
 * The macros take name, place and tag from the member itself, so a table cannot disagree
 * with its struct; X_AS is for a member whose JSON name is another. Each table is sorted
 * by JSON name, and every member of a struct stands in its table (records_test proves
 * both). Two liberties:
 *   - An event's node is three flat fields; of a node event that is all there is.
 *   - The stalls of a run are an object with a name for each kind of move. */
#include "wire/records.h"

#include "core/change.h"
#include "core/config.h"
#include "core/event.h"
#include "core/job.h"
#include "core/limits.h"
#include "core/perf/model.h"

/* clang-format off */
#define MEMBER(T, member) (((struct T *)0)->member)

#define SCALAR_AS(json, T, member)                                                       \
    .name = (json), .offset = offsetof(struct T, member),                                \
    .tag = _Generic(MEMBER(T, member), bool: FIELD_BOOL, int32_t: FIELD_I32,             \
                    uint32_t: FIELD_U32, int64_t: FIELD_I64)

#define CHARS_AS(json, T, member)                                                        \
    .name = (json), .offset = offsetof(struct T, member), .tag = FIELD_CHARS,            \
    .size = sizeof MEMBER(T, member) / sizeof MEMBER(T, member[0])

#define RECORD_AS(json, T, member, record)                                               \
    .name = (json), .offset = offsetof(struct T, member), .tag = FIELD_RECORD,           \
    .type = &record_##record

#define POINTER_AS(json, T, member, record)                                              \
    .name = (json), .offset = offsetof(struct T, member), .tag = FIELD_POINTER,          \
    .type = &record_##record

#define SCALAR(T, member)          SCALAR_AS(#member, T, member)
#define CHARS(T, member)           CHARS_AS(#member, T, member)
#define RECORD(T, member, record)  RECORD_AS(#member, T, member, record)
#define POINTER(T, member, record) POINTER_AS(#member, T, member, record)

/* Dividing by 0 is what stops the compiler at an enum that is no int. */
#define ENUM(T, member, what)                                                            \
    .name = #member, .offset = offsetof(struct T, member), .tag = FIELD_ENUM,            \
    .count_max = MAX_##what / (sizeof MEMBER(T, member) == sizeof(int)),                 \
    .word = word_##what

#define ARRAY(T, member, count, record)                                                  \
    .name = #member, .offset = offsetof(struct T, member), .tag = FIELD_ARRAY,           \
    .count_offset = offsetof(struct T, count),                                           \
    .count_max = sizeof MEMBER(T, member) / sizeof MEMBER(T, member[0]),                 \
    .size = sizeof MEMBER(T, member[0]), .type = (record)

#define TABLE(T) .size = sizeof(struct T), .fields = T##_fields,                         \
    .n_fields = sizeof T##_fields / sizeof T##_fields[0]

/* A name function of the core, as tables want it. */
#define WORDS(what, max)                                                                 \
    enum { MAX_##what = (max) };                                                         \
    static const char *word_##what(int value)                                            \
    {                                                                                    \
        return what##_name((enum what)value);                                            \
    }
/* clang-format on */

WORDS(job_state, JOB_STATE_MAX)
WORDS(job_phase, JOB_PHASE_MAX)
WORDS(job_level, JOB_LEVEL_MAX)
WORDS(job_accumulate, JOB_ACCUMULATE_MAX)
WORDS(job_lr_rule, JOB_LR_RULE_MAX)
WORDS(job_profile, JOB_PROFILE_MAX)
WORDS(job_cause, JOB_CAUSE_MAX)
WORDS(node_state, NODE_STATE_MAX)
WORDS(device_state, DEVICE_STATE_MAX)
WORDS(model_source, MODEL_SOURCE_MAX)
WORDS(model_comm, MODEL_COMM_MAX)
WORDS(config_admission, CONFIG_ADMISSION_MAX)
WORDS(config_scaler, CONFIG_SCALER_MAX)
WORDS(event_kind, EVENT_KIND_MAX)
WORDS(change_kind, CHANGE_KIND_MAX)

static const struct field size_set_fields[] = {
    {ARRAY(size_set, listed, n_listed, NULL)},
    {SCALAR(size_set, max)},
    {SCALAR(size_set, min)},
    {SCALAR(size_set, step)},
};
const struct record_type record_size_set = {TABLE(size_set)};

static const struct field job_spec_fields[] = {
    {ENUM(job_spec, accumulate, job_accumulate)},
    {SCALAR(job_spec, batch_base)},
    {SCALAR(job_spec, batch_max)},
    {SCALAR(job_spec, batch_min)},
    {SCALAR(job_spec, cpus_per_device)},
    {CHARS(job_spec, device_type)},
    {CHARS(job_spec, family)},
    {SCALAR(job_spec, gid)},
    {SCALAR(job_spec, gpu_batch)},
    {SCALAR(job_spec, grace_us)},
    {SCALAR(job_spec, id), .flags = FIELD_KEEP},
    {.name = "launch",
     .tag = FIELD_TEXT,
     .offset = offsetof(struct job_spec, launch),
     .size = LAUNCH_MAX_BYTES},
    {ENUM(job_spec, level, job_level), .flags = FIELD_KEEP},
    {ENUM(job_spec, lr_rule, job_lr_rule)},
    {SCALAR(job_spec, mem_bytes_per_device)},
    {CHARS(job_spec, name), .flags = FIELD_KEEP},
    {ENUM(job_spec, profile, job_profile)},
    {SCALAR(job_spec, retries)},
    {SCALAR(job_spec, samples_total)},
    {RECORD(job_spec, sizes, size_set)},
    {SCALAR(job_spec, time_limit_us)},
    {SCALAR(job_spec, uid), .flags = FIELD_KEEP},
    {SCALAR(job_spec, weight_ppm)},
};
const struct record_type record_spec = {TABLE(job_spec)};

static const struct field job_plan_fields[] = {
    {SCALAR(job_plan, accumulation)}, {SCALAR(job_plan, generation)},
    {SCALAR(job_plan, global_batch)}, {SCALAR(job_plan, micro_batch)},
    {SCALAR(job_plan, size)},
};
const struct record_type record_plan = {TABLE(job_plan)};

static const struct field stall_fields[] = {
    {.name = "batch_us",
     .tag = FIELD_I64,
     .offset = sizeof(usec_t) * (size_t)JOB_STALL_BATCH},
    {.name = "in_place_us",
     .tag = FIELD_I64,
     .offset = sizeof(usec_t) * (size_t)JOB_STALL_IN_PLACE},
    {.name = "restart_us",
     .tag = FIELD_I64,
     .offset = sizeof(usec_t) * (size_t)JOB_STALL_RESTART},
};
static const struct record_type record_stalls = {
    .size = sizeof(usec_t) * JOB_STALL_MAX,
    .fields = stall_fields,
    .n_fields = ARRAY_SIZE(stall_fields),
};

static const struct field job_run_fields[] = {
    {SCALAR(job_run, active_us)},
    {ENUM(job_run, cause, job_cause)},
    {SCALAR(job_run, device_us)},
    {SCALAR(job_run, end_us)},
    {SCALAR(job_run, exit_code)},
    {SCALAR(job_run, generation)},
    {ENUM(job_run, goal, job_state)},
    {SCALAR(job_run, has_started)},
    {SCALAR(job_run, id), .flags = FIELD_KEEP},
    {SCALAR(job_run, incarnation)},
    {SCALAR(job_run, is_broken)},
    {SCALAR(job_run, is_unconfirmed)},
    {SCALAR(job_run, moved_us)},
    {RECORD(job_run, next, plan)},
    {SCALAR(job_run, order)},
    {ENUM(job_run, phase, job_phase)},
    {RECORD(job_run, plan, plan)},
    {SCALAR(job_run, rate_milli)},
    {CHARS(job_run, reason)},
    {SCALAR(job_run, resizes)},
    {SCALAR(job_run, retries_left)},
    {SCALAR(job_run, retry_us)},
    {SCALAR(job_run, samples_done)},
    {SCALAR(job_run, samples_repeated)},
    {SCALAR(job_run, samples_saved)},
    {SCALAR(job_run, samples_total)},
    {SCALAR(job_run, saves_failed)},
    {SCALAR(job_run, since_us)},
    {RECORD_AS("stalls", job_run, stall_us, stalls)},
    {SCALAR(job_run, start_us)},
    {ENUM(job_run, state, job_state), .flags = FIELD_KEEP},
    {SCALAR(job_run, submit_us)},
    {SCALAR(job_run, warm_up_us)},
};
const struct record_type record_run = {TABLE(job_run)};

static const struct field node_fields[] = {
    {CHARS(node, device_type)},
    {SCALAR(node, devices), .flags = FIELD_KEEP},
    {SCALAR(node, first), .flags = FIELD_KEEP},
    {SCALAR(node, index), .flags = FIELD_KEEP},
    {CHARS(node, name), .flags = FIELD_KEEP},
    {SCALAR(node, since_us)},
    {ENUM(node, state, node_state), .flags = FIELD_KEEP},
};
const struct record_type record_node = {TABLE(node)};

static const struct field hold_fields[] = {
    {SCALAR(hold, count), .flags = FIELD_KEEP},
    {SCALAR(hold, first), .flags = FIELD_KEEP},
    {SCALAR(hold, flags)},
    {SCALAR(hold, job), .flags = FIELD_KEEP},
};
const struct record_type record_hold = {TABLE(hold)};

static const struct field device_mark_fields[] = {
    {SCALAR(device_mark, device), .flags = FIELD_KEEP},
    {SCALAR(device_mark, since_us)},
    {ENUM(device_mark, state, device_state), .flags = FIELD_KEEP},
    {CHARS(device_mark, who)},
};
const struct record_type record_mark = {TABLE(device_mark)};

static const struct field globals_fields[] = {
    {SCALAR(globals, arrivals)},     {SCALAR(globals, confirm_until_us)},
    {SCALAR(globals, departures)},   {SCALAR(globals, head_order)},
    {SCALAR(globals, needs_plan)},   {SCALAR(globals, next_job)},
    {SCALAR(globals, next_order)},   {SCALAR(globals, now_us)},
    {SCALAR(globals, plan_wake_us)}, {SCALAR(globals, planned_us)},
    {SCALAR(globals, plans)},        {SCALAR(globals, since_us)},
    {SCALAR(globals, wanted_us)},
};
const struct record_type record_globals = {TABLE(globals)};

static const struct field config_fields[] = {
    {ENUM(config, admission, config_admission), .flags = FIELD_KEEP},
    {SCALAR(config, admit_wait_us)},
    {SCALAR(config, interval_us)},
    {SCALAR(config, min_gap_us)},
    {SCALAR(config, min_run_us)},
    {CHARS(config, policy), .flags = FIELD_KEEP},
    {SCALAR(config, reserve_us)},
    {ENUM(config, scaler, config_scaler), .flags = FIELD_KEEP},
    {SCALAR(config, stall_guess_us)},
};
const struct record_type record_config = {TABLE(config)};

static const struct field proc_point_fields[] = {
    {SCALAR(proc_point, micro_batch)},
    {SCALAR(proc_point, time_ns)},
};
static const struct record_type record_proc_point = {TABLE(proc_point)};

static const struct field comm_point_fields[] = {
    {SCALAR(comm_point, size)},
    {SCALAR(comm_point, time_ns)},
};
static const struct record_type record_comm_point = {TABLE(comm_point)};

static const struct field step_point_fields[] = {
    {SCALAR(step_point, accumulation)},
    {SCALAR(step_point, micro_batch)},
    {SCALAR(step_point, size)},
    {SCALAR(step_point, time_ns)},
};
static const struct record_type record_step_point = {TABLE(step_point)};

static const struct field perf_model_fields[] = {
    {ARRAY(perf_model, comm, n_comm, &record_comm_point)},
    {SCALAR(perf_model, comm_alpha_ns)},
    {SCALAR(perf_model, comm_bytes)},
    {SCALAR(perf_model, comm_bytes_per_sec)},
    {ENUM(perf_model, comm_form, model_comm)},
    {SCALAR(perf_model, inter_node_ppm)},
    {SCALAR(perf_model, is_noisy)},
    {SCALAR(perf_model, largest_size)},
    {SCALAR(perf_model, micro_limit)},
    {SCALAR(perf_model, n_off)},
    {ARRAY(perf_model, proc, n_proc, &record_proc_point)},
    {ENUM(perf_model, source, model_source), .flags = FIELD_KEEP},
    {ARRAY(perf_model, steps, n_steps, &record_step_point)},
};
const struct record_type record_model = {TABLE(perf_model)};

static const struct field profile_fields[] = {
    {CHARS(profile, device_type)},
    {CHARS(profile, family), .flags = FIELD_KEEP},
    {SCALAR(profile, is_removed)},
    {RECORD(profile, model, model)},
    {SCALAR(profile, uid), .flags = FIELD_KEEP},
    {SCALAR(profile, updated_us)},
};
const struct record_type record_profile = {TABLE(profile)};

/* Which kinds of event use which field: event.h, as masks. */
enum {
    FROM_SHIM = BIT(EVENT_STARTED) | BIT(EVENT_SAVED) | BIT(EVENT_SAVE_FAILED) |
                BIT(EVENT_EXIT) | BIT(EVENT_PERF) | BIT(EVENT_ADOPTED),
    FROM_PEOPLE = BIT(EVENT_CANCEL) | BIT(EVENT_PAUSE) | BIT(EVENT_RESUME),
    OF_A_JOB = FROM_SHIM | FROM_PEOPLE | BIT(EVENT_UPDATE) | BIT(EVENT_MODEL)
};

static const struct field event_fields[] = {
    {ENUM(event, cause, job_cause), .kinds = BIT(EVENT_EXIT)},
    {RECORD(event, config, config), .flags = FIELD_NEED, .kinds = BIT(EVENT_CONFIG)},
    {SCALAR(event, device), .kinds = BIT(EVENT_DEVICE)},
    {ENUM(event, device_state, device_state), .kinds = BIT(EVENT_DEVICE)},
    {CHARS_AS("device_type", event, node.device_type), .kinds = BIT(EVENT_NODE_UP)},
    {SCALAR_AS("devices", event, node.devices), .kinds = BIT(EVENT_NODE_UP)},
    {SCALAR(event, exit_code), .kinds = BIT(EVENT_EXIT)},
    {SCALAR(event, incarnation), .kinds = FROM_SHIM},
    {SCALAR(event, job), .kinds = OF_A_JOB},
    {ENUM(event, kind, event_kind), .flags = FIELD_KEEP},
    {POINTER(event, model, model), .kinds = BIT(EVENT_SUBMIT) | BIT(EVENT_MODEL)},
    {CHARS_AS("node", event, node.name), .kinds = BIT(EVENT_NODE_UP) |
                                                  BIT(EVENT_NODE_LOST) | BIT(EVENT_EXIT) |
                                                  BIT(EVENT_DEVICE)},
    {SCALAR(event, rate_milli), .kinds = BIT(EVENT_PERF)},
    {SCALAR(event, samples), .kinds = BIT(EVENT_STARTED) | BIT(EVENT_SAVED) |
                                      BIT(EVENT_EXIT) | BIT(EVENT_PERF) |
                                      BIT(EVENT_ADOPTED)},
    {SCALAR(event, samples_total), .kinds = BIT(EVENT_PERF)},
    {POINTER(event, spec, spec), .flags = FIELD_NEED,
     .kinds = BIT(EVENT_SUBMIT) | BIT(EVENT_UPDATE)},
    {CHARS(event, text),
     .kinds = FROM_PEOPLE | BIT(EVENT_SAVE_FAILED) | BIT(EVENT_EXIT) | BIT(EVENT_DEVICE)},
    {SCALAR(event, time_us), .flags = FIELD_KEEP},
    {SCALAR(event, warm_up_us), .kinds = BIT(EVENT_PERF)},
};
static const struct field event_kind_field = {ENUM(event, kind, event_kind)};
const struct record_type record_event = {TABLE(event), .kind = &event_kind_field};

static const struct field change_fields[] = {
    {RECORD_AS("config", change, u.config, config), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_CONFIG)},
    {RECORD_AS("globals", change, u.globals, globals), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_GLOBALS)},
    {RECORD_AS("hold", change, u.hold, hold), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_HOLD)},
    {SCALAR_AS("job", change, u.model.job), .kinds = BIT(CHANGE_MODEL)},
    {ENUM(change, kind, change_kind), .flags = FIELD_KEEP},
    {RECORD_AS("mark", change, u.mark, mark), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_MARK)},
    {POINTER_AS("model", change, u.model.model, model), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_MODEL)},
    {RECORD_AS("node", change, u.node, node), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_NODE)},
    {POINTER_AS("profile", change, u.profile, profile), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_PROFILE)},
    {RECORD_AS("run", change, u.run, run), .flags = FIELD_NEED, .kinds = BIT(CHANGE_RUN)},
    {POINTER_AS("spec", change, u.spec, spec), .flags = FIELD_NEED,
     .kinds = BIT(CHANGE_SPEC)},
};
static const struct field change_kind_field = {ENUM(change, kind, change_kind)};
const struct record_type record_change = {TABLE(change), .kind = &change_kind_field};
