/* SPDX-License-Identifier: Apache-2.0 */
/* answer.c - see answer.h. Keys stand in the order of the alphabet in the source, and so
 * in the text. */
#include "wire/answer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/jsonout.h"
#include "wire/launch.h"
#include "wire/records.h"
#include "wire/schema.h"

static void put_launch(struct jsonout *j, const struct launch_request *launch)
{
    jsonout_open(j, "argv", '[');
    for (size_t i = 0; i < launch->n_args; i++)
        jsonout_text(j, NULL, launch->argv[i]);
    jsonout_close(j, ']');
}

/* Names, never values. */
static void put_env_names(struct jsonout *j, const struct launch_request *launch)
{
    char name[256];

    jsonout_open(j, "env", '[');
    for (size_t i = 0; i < launch->n_env; i++) {
        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(launch->env[i], "="),
                       launch->env[i]);
        jsonout_text(j, NULL, name);
    }
    jsonout_close(j, ']');
}

static void put_sizes(struct jsonout *j, const struct size_set *set)
{
    jsonout_open(j, "sizes", '{');
    if (set->n_listed > 0) {
        jsonout_open(j, "listed", '[');
        for (int32_t i = 0; i < set->n_listed; i++)
            jsonout_i64(j, NULL, set->listed[i]);
        jsonout_close(j, ']');
    } else {
        jsonout_i64(j, "max", set->max);
        jsonout_i64(j, "min", set->min);
        jsonout_i64(j, "step", set->step);
    }
    jsonout_close(j, '}');
}

static int32_t held_on(const struct cluster *cluster, uint32_t job, int32_t node)
{
    const struct node *n = &cluster->nodes[node];
    int32_t held = 0;

    for (int32_t i = n->first; i < n->first + n->devices; i++)
        held += cluster->devices[i].job == job;
    return held;
}

static void put_nodes(struct jsonout *j, const struct answer_job *a)
{
    jsonout_open(j, "nodes", '[');
    for (int32_t i = 0; a->cluster && i < a->cluster->n_nodes; i++) {
        int32_t held = held_on(a->cluster, a->spec->id, i);

        if (held == 0)
            continue;
        jsonout_open(j, NULL, '{');
        jsonout_i64(j, "devices", held);
        jsonout_text(j, "name", a->cluster->nodes[i].name);
        jsonout_close(j, '}');
    }
    jsonout_close(j, ']');
}

/* Spans go on while the job is in the state that they count. */
static int64_t active_us(const struct answer_job *a)
{
    const struct job_run *run = a->run;
    bool is_active = run->state == JOB_RUNNING || run->state == JOB_RESIZING;

    return run->active_us + (is_active ? i64_max(0, a->now_us - run->since_us) : 0);
}

static int64_t device_us(const struct answer_job *a)
{
    const struct job_run *run = a->run;
    int32_t size = i32_max(run->plan.size, run->next.size);

    if (!job_state_holds_devices(run->state))
        size = 0;
    return run->device_us + i64_max(0, a->now_us - run->since_us) * size;
}

/* First half of the alphabet. */
static void put_a_to_i(struct jsonout *j, const struct answer_job *a,
                       const struct launch_request *launch)
{
    const struct job_spec *spec = a->spec;
    const struct job_run *run = a->run;

    jsonout_text(j, "accumulate", job_accumulate_name(spec->accumulate));
    jsonout_i64(j, "accumulation", run->plan.size > 0 ? run->plan.accumulation : 0);
    jsonout_i64(j, "active_us", active_us(a));
    put_launch(j, launch);
    jsonout_i64(j, "batch_base", spec->batch_base);
    jsonout_i64(j, "batch_max", spec->batch_max);
    jsonout_i64(j, "batch_min", spec->batch_min);
    jsonout_text(j, "cause", job_cause_name(run->cause));
    jsonout_text(j, "cwd", launch->cwd);
    jsonout_text(j, "device_type", spec->device_type);
    jsonout_i64(j, "device_us", device_us(a));
    jsonout_i64(j, "end_us", run->end_us);
    put_env_names(j, launch);
    jsonout_i64(j, "exit_code", run->exit_code);
    jsonout_text(j, "family", spec->family);
    jsonout_i64(j, "generation", run->plan.size > 0 ? run->plan.generation : 0);
    jsonout_i64(j, "global_batch", run->plan.size > 0 ? run->plan.global_batch : 0);
    jsonout_text(j, "goal", job_state_name(run->goal));
    jsonout_i64(j, "gpu_batch", spec->gpu_batch);
    jsonout_i64(j, "grace_us", spec->grace_us);
    if (a->history)
        jsonout_raw(j, "history", a->history);
    jsonout_i64(j, "id", spec->id);
    jsonout_i64(j, "incarnation", run->incarnation);
    jsonout_bool(j, "is_unconfirmed", run->is_unconfirmed);
}

static void put_l_to_r(struct jsonout *j, const struct answer_job *a,
                       const struct launch_request *launch)
{
    const struct job_spec *spec = a->spec;
    const struct job_run *run = a->run;

    jsonout_text(j, "launch", launch_form_name(launch->form));
    jsonout_text(j, "level", job_level_name(spec->level));
    jsonout_text(j, "log_dir", launch->log_dir);
    jsonout_text(j, "lr_rule", job_lr_rule_name(spec->lr_rule));
    jsonout_i64(j, "micro_batch", run->plan.size > 0 ? run->plan.micro_batch : 0);
    jsonout_text(j, "model_source",
                 model_source_name(a->model ? a->model->source : MODEL_PRIOR));
    jsonout_text(j, "name", spec->name);
    jsonout_i64(j, "next_global_batch", run->next.global_batch);
    jsonout_i64(j, "next_size", run->next.size);
    put_nodes(j, a);
    jsonout_text(j, "note", a->note);
    jsonout_text(j, "phase", job_phase_name(run->phase));
    jsonout_text(j, "profile", job_profile_name(spec->profile));
    jsonout_i64(j, "queue_place", a->queue_place);
    jsonout_i64(j, "rate_milli", a->rate_milli > 0 ? a->rate_milli : run->rate_milli);
    jsonout_text(j, "reason", run->reason);
    jsonout_i64(j, "resizes", run->resizes);
    jsonout_i64(j, "retries_left", run->retries_left);
    jsonout_i64(j, "retry_us", run->retry_us);
}

static void put_s_to_z(struct jsonout *j, const struct answer_job *a)
{
    const struct job_spec *spec = a->spec;
    const struct job_run *run = a->run;

    jsonout_i64(j, "samples_done", i64_max(a->samples_done, run->samples_done));
    jsonout_i64(j, "samples_repeated", run->samples_repeated);
    jsonout_i64(j, "samples_total", job_samples_total(spec, run));
    jsonout_i64(j, "since_us", run->since_us);
    jsonout_i64(j, "size", run->plan.size);
    put_sizes(j, &spec->sizes);
    jsonout_i64(j, "start_us", run->start_us);
    jsonout_text(j, "state", job_state_name(run->state));
    jsonout_i64(j, "submit_us", run->submit_us);
    jsonout_i64(j, "time_limit_us", spec->time_limit_us);
    jsonout_i64(j, "uid", spec->uid);
    jsonout_i64(j, "warm_up_us", run->warm_up_us);
    jsonout_i64(j, "weight_ppm", spec->weight_ppm);
}

void answer_job(const struct answer_job *a, struct buf *out)
{
    struct jsonout j = {.out = out};
    struct launch_request launch;
    const char *text = a->spec->launch;

    launch_init(&launch);
    if (text && launch_decode(text, strlen(text), &launch, NULL) < 0)
        launch_init(&launch); /* it was checked at submit; better told without */
    jsonout_open(&j, NULL, '{');
    put_a_to_i(&j, a, &launch);
    put_l_to_r(&j, a, &launch);
    put_s_to_z(&j, a);
    jsonout_close(&j, '}');
    launch_release(&launch);
}

static void put_node_jobs(struct jsonout *j, const struct core *core, int32_t node)
{
    const struct cluster *cluster = core_cluster(core);

    jsonout_open(j, "jobs", '[');
    for (size_t i = 0; i < core_n_jobs(core); i++) {
        const struct job *job = core_job_at(core, i);
        int32_t held;

        if (!job_state_holds_devices(job->run.state))
            continue;
        held = held_on(cluster, job->spec.id, node);
        if (held == 0)
            continue;
        jsonout_open(j, NULL, '{');
        jsonout_i64(j, "devices", held);
        jsonout_i64(j, "id", job->spec.id);
        jsonout_close(j, '}');
    }
    jsonout_close(j, ']');
}

/* The devices of the node that may not be given out, and why. */
static void put_marks(struct jsonout *j, const struct cluster *cluster,
                      const struct node *node)
{
    jsonout_open(j, "marks", '[');
    for (int32_t i = 0; i < cluster->marks.n; i++) {
        const struct device_mark *mark = &cluster->marks.items[i];

        if (cluster->devices[mark->device].node != node->index)
            continue;
        jsonout_open(j, NULL, '{');
        jsonout_i64(j, "device", mark->device - node->first);
        jsonout_i64(j, "job", cluster->devices[mark->device].job);
        jsonout_i64(j, "since_us", mark->since_us);
        jsonout_text(j, "state", device_state_name(mark->state));
        jsonout_text(j, "who", mark->who);
        jsonout_close(j, '}');
    }
    jsonout_close(j, ']');
}

static void put_node(struct jsonout *j, const struct core *core, int32_t index)
{
    const struct cluster *cluster = core_cluster(core);
    const struct node *node = &cluster->nodes[index];
    bool is_up = node->state == NODE_UP;
    int32_t held = 0;
    int32_t withheld = 0;

    for (int32_t i = node->first; is_up && i < node->first + node->devices; i++) {
        const struct device *device = &cluster->devices[i];

        held += device->job != 0;
        withheld += device->job == 0 && device->state != DEVICE_CLEAN;
    }
    jsonout_open(j, NULL, '{');
    jsonout_text(j, "device_type", node->device_type);
    jsonout_i64(j, "devices", node->devices);
    jsonout_i64(j, "free", is_up ? node->devices - held - withheld : 0);
    jsonout_i64(j, "gone", is_up ? 0 : node->devices);
    jsonout_i64(j, "held", held);
    put_node_jobs(j, core, index);
    put_marks(j, cluster, node);
    jsonout_text(j, "name", node->name);
    jsonout_i64(j, "since_us", node->since_us);
    jsonout_text(j, "state", node_state_name(node->state));
    jsonout_i64(j, "withheld", withheld);
    jsonout_close(j, '}');
}

void answer_nodes(const struct core *core, struct buf *out)
{
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_open(&j, "nodes", '[');
    for (int32_t i = 0; i < core_cluster(core)->n_nodes; i++)
        put_node(&j, core, i);
    jsonout_close(&j, ']');
    jsonout_close(&j, '}');
}

/* Word and count of each live state, in the order of their names. */
static void put_counts(struct jsonout *j, const struct core *core)
{
    static const enum job_state live[] = {JOB_PAUSED,  JOB_QUEUED,   JOB_RESIZING,
                                          JOB_RUNNING, JOB_STARTING, JOB_STOPPING};
    int64_t counts[JOB_STATE_MAX] = {0};

    for (size_t i = 0; i < core_n_jobs(core); i++)
        counts[core_job_at(core, i)->run.state]++;
    jsonout_open(j, "jobs", '{');
    for (size_t i = 0; i < ARRAY_SIZE(live); i++)
        jsonout_i64(j, job_state_name(live[i]), counts[live[i]]);
    jsonout_close(j, '}');
}

void answer_status(const struct answer_status *s, const struct core *core,
                   struct buf *out)
{
    const struct config *config = core_config(core);
    struct cluster_count count = cluster_count(core_cluster(core));
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, "admission", config_admission_name(config->admission));
    jsonout_text(&j, "blocked_reason", s->blocked_reason);
    jsonout_open(&j, "devices", '{');
    jsonout_i64(&j, "free", count.free);
    jsonout_i64(&j, "gone", count.gone);
    jsonout_i64(&j, "held", count.held);
    jsonout_i64(&j, "total", count.total);
    jsonout_i64(&j, "withheld", count.withheld);
    jsonout_close(&j, '}');
    jsonout_bool(&j, "is_blocked", s->is_blocked);
    put_counts(&j, core);
    jsonout_i64(&j, "now_us", s->now_us);
    jsonout_i64(&j, "pid", s->pid);
    jsonout_text(&j, "policy", config->policy);
    jsonout_i64(&j, "rules", CORE_RULES);
    jsonout_text(&j, "scaler", config_scaler_name(config->scaler));
    jsonout_i64(&j, "seq", s->seq);
    jsonout_text(&j, "version", s->version);
    jsonout_close(&j, '}');
}

void answer_accepted(uint32_t id, const char *warnings, struct buf *out)
{
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_i64(&j, "id", id);
    jsonout_open(&j, "warnings", '[');
    while (*warnings) {
        size_t n = strcspn(warnings, "\n");

        if (j.needs_comma)
            buf_putc(out, ',');
        schema_encode_text(warnings, n, out);
        j.needs_comma = true;
        warnings += warnings[n] ? n + 1 : n;
    }
    jsonout_close(&j, ']');
    jsonout_close(&j, '}');
}

void answer_moved(uint32_t id, enum job_state state, struct buf *out)
{
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_i64(&j, "id", id);
    jsonout_text(&j, "state", job_state_name(state));
    jsonout_close(&j, '}');
}

void answer_explain(const struct explain *x, const struct recount *recount,
                    struct buf *out)
{
    struct jsonout j = {.out = out};
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    explain_print(x, &text);
    if (!job_state_holds_devices(x->run.state))
        recount_print_moves(&x->run, recount, &text);
    jsonout_open(&j, NULL, '{');
    jsonout_i64(&j, "free_now", x->free_now);
    jsonout_i64(&j, "id", x->job);
    jsonout_bool(&j, "is_certified", x->is_certified);
    jsonout_bool(&j, "is_held_back", x->is_held_back);
    jsonout_text(&j, "name", x->name);
    jsonout_text(&j, "reason", x->reason);
    jsonout_text(&j, "state", job_state_name(x->run.state));
    jsonout_i64(&j, "target_size", x->target.size);
    jsonout_text(&j, "text", text.text);
    jsonout_close(&j, '}');
    buf_release(&text);
}

void answer_recount(const struct job_spec *spec, const struct job_run *run,
                    const struct recount *recount, struct buf *out)
{
    struct jsonout j = {.out = out};
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    recount_print(spec, run, recount, &text);
    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, "cause", job_cause_name(run->cause));
    jsonout_i64(&j, "id", spec->id);
    jsonout_text(&j, "name", spec->name);
    jsonout_text(&j, "reason", run->reason);
    jsonout_text(&j, "state", job_state_name(run->state));
    jsonout_text(&j, "text", text.text);
    jsonout_close(&j, '}');
    buf_release(&text);
}

void answer_problem(int status, const char *title, const struct err *err, struct buf *out)
{
    struct jsonout j = {.out = out};

    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, "code", err_name(err->code));
    jsonout_text(&j, "detail", err->text);
    jsonout_text(&j, "field", err->field);
    jsonout_i64(&j, "status", status);
    jsonout_text(&j, "title", title);
    jsonout_close(&j, '}');
}

struct job_fact {
    struct job_run run;
    struct job_spec spec;
};

static const struct field job_fact_fields[] = {
    {.name = "run",
     .tag = FIELD_RECORD,
     .offset = offsetof(struct job_fact, run),
     .type = &record_run},
    {.name = "spec",
     .tag = FIELD_RECORD,
     .offset = offsetof(struct job_fact, spec),
     .type = &record_spec},
};
static const struct record_type record_job_fact = {
    .size = sizeof(struct job_fact),
    .fields = job_fact_fields,
    .n_fields = ARRAY_SIZE(job_fact_fields),
};

int answer_fact_decode(const char *text, size_t len, struct job_spec *ret_spec,
                       struct job_run *ret_run, struct err *err)
{
    struct job_fact *fact = mem_new(1, sizeof(*fact));
    int rc;

    if (!fact)
        return err_set(err, E_NOMEM, "out of memory");
    rc = schema_decode(&record_job_fact, text, len, fact, NULL, err);
    *ret_spec = fact->spec;
    *ret_run = fact->run;
    mem_free(fact);
    return rc;
}

static const char *state_word(int value)
{
    return job_state_name((enum job_state)value);
}

#define MOVE_PLAN(member)                                                                \
    {                                                                                    \
        .name = #member, .tag = FIELD_I32,                                               \
        .offset = offsetof(struct recount_move, plan.member)                             \
    }

static const struct field move_fields[] = {
    MOVE_PLAN(accumulation),
    {.name = "generation",
     .tag = FIELD_U32,
     .offset = offsetof(struct recount_move, plan.generation)},
    MOVE_PLAN(global_batch),
    MOVE_PLAN(micro_batch),
    {.name = "reason",
     .tag = FIELD_CHARS,
     .offset = offsetof(struct recount_move, reason),
     .size = REASON_MAX_BYTES},
    MOVE_PLAN(size),
    {.name = "state",
     .tag = FIELD_ENUM,
     .offset = offsetof(struct recount_move, state),
     .count_max = JOB_STATE_MAX,
     .word = state_word},
    {.name = "time_us",
     .tag = FIELD_I64,
     .offset = offsetof(struct recount_move, time_us)},
};
static const struct record_type record_move = {
    .size = sizeof(struct recount_move),
    .fields = move_fields,
    .n_fields = ARRAY_SIZE(move_fields),
};

int answer_move_decode(const char *text, size_t len, struct recount_move *ret,
                       struct err *err)
{
    *ret = (struct recount_move){0};
    return schema_decode(&record_move, text, len, ret, NULL, err);
}
