/* SPDX-License-Identifier: Apache-2.0 */
/* rank_env.c - what a rank finds in its environment.
 *
 * The names that launchers of the field agree on (RANK, WORLD_SIZE, ...), so that a
 * script that knows nothing of Elastane just runs, and ELASTANE_* for the plan. Whatever
 * the submitter's environment says about these names is dropped first: nobody's RANK
 * leaks from one job into another. */
#include "shim/rank_env.h"

#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#define VALUE_MAX_BYTES ((size_t)64 << 10)

/* Names beginning with ELASTANE_ are ours, with one exception: ELASTANE_PACE, which the
 * order's environment has where slots stand in for GPUs. */
static const char *const own_names[] = {
    "RANK",        "LOCAL_RANK",      "WORLD_SIZE",       "LOCAL_WORLD_SIZE",
    "MASTER_ADDR", "MASTER_PORT",     "GROUP_RANK",       "NODE_RANK",
    "ROLE_RANK",   "ROLE_WORLD_SIZE", "GROUP_WORLD_SIZE",
};

static bool is_name(const char *word, const char *name)
{
    size_t n = strlen(name);

    return strncmp(word, name, n) == 0 && word[n] == '=';
}

static bool is_ours(const struct order *order, const char *word)
{
    if (strncmp(word, "ELASTANE_", 9) == 0)
        return !is_name(word, "ELASTANE_PACE");
    if (is_name(word, order->device_kind == ORDER_CUDA ? "CUDA_VISIBLE_DEVICES"
                                                       : "OMP_NUM_THREADS"))
        return true;
    for (size_t i = 0; i < ARRAY_SIZE(own_names); i++)
        if (is_name(word, own_names[i]))
            return true;
    return false;
}

struct env_writer {
    struct order_words *words;
    struct buf line;
    int rc; /* the first failure */
};

static void put(struct env_writer *w, const char *fmt, ...) ATTR_PRINTF(2, 3);

static void put(struct env_writer *w, const char *fmt, ...)
{
    va_list args;

    buf_clear(&w->line);
    va_start(args, fmt);
    buf_vprintf(&w->line, fmt, args);
    va_end(args);
    if (w->rc == 0)
        w->rc = buf_error(&w->line);
    if (w->rc == 0)
        w->rc = order_words_add(w->words, w->line.text);
}

static void put_ppm(struct env_writer *w, const char *name, int64_t ppm)
{
    put(w, "%s=%lld.%06lld", name, (long long)(ppm / PPM), (long long)(ppm % PPM));
}

/* UUIDs mean the same device whatever CUDA_DEVICE_ORDER says and wherever the command
 * runs, in a container too. CUDA stops reading at the first word of another form, so it
 * is UUIDs for all or indices for all. */
static void put_cuda(struct env_writer *w, const struct order *order, int32_t index)
{
    int32_t end = order->launch == LAUNCH_RANK ? index + 1 : order->n_ranks;
    bool has_uuids = true;
    struct buf list;

    buf_init(&list, VALUE_MAX_BYTES);
    for (int32_t i = 0; i < order->n_ranks; i++)
        has_uuids = has_uuids && order->ranks[i].uuid[0] != '\0';
    for (int32_t i = index; i < end; i++) {
        if (has_uuids)
            buf_printf(&list, "%s%s", i > index ? "," : "", order->ranks[i].uuid);
        else
            buf_printf(&list, "%s%d", i > index ? "," : "", order->ranks[i].device);
    }
    if (w->rc == 0)
        w->rc = buf_error(&list);
    if (w->rc == 0)
        put(w, "CUDA_VISIBLE_DEVICES=%s", list.text);
    buf_release(&list);
}

static void put_group(struct env_writer *w, const struct order *order, int32_t index,
                      int32_t master_port)
{
    if (order->launch == LAUNCH_RANK) {
        put(w, "RANK=%d", order->ranks[index].rank);
        put(w, "LOCAL_RANK=%d", index);
    }
    put(w, "WORLD_SIZE=%d", order->plan.size);
    put(w, "LOCAL_WORLD_SIZE=%d", order->n_ranks);
    put(w, "MASTER_ADDR=%s", order->master_addr ? order->master_addr : "127.0.0.1");
    put(w, "MASTER_PORT=%d", master_port);
    if (order->device_kind == ORDER_CUDA)
        put_cuda(w, order, index);
    else
        put(w, "OMP_NUM_THREADS=%d", order->threads > 0 ? order->threads : 1);
}

static bool has_name(const struct order *order, const char *name)
{
    for (size_t i = 0; i < order->env.n; i++)
        if (is_name(order->env.words[i], name))
            return true;
    return false;
}

/* One run in the tracker, however often the job starts; a user's own choice stands. */
static void put_tracker(struct env_writer *w, const struct order *order)
{
    if (!order->run_id[0])
        return;
    put(w, "ELASTANE_RUN_ID=%s", order->run_id);
    if (!has_name(order, "WANDB_RUN_ID"))
        put(w, "WANDB_RUN_ID=%s", order->run_id);
    if (!has_name(order, "WANDB_RESUME"))
        put(w, "WANDB_RESUME=allow");
}

static void put_plan(struct env_writer *w, const struct order *order, const char *dir)
{
    const struct job_plan *plan = &order->plan;
    int64_t to_ppm = order->lr_to_ppm > 0 ? order->lr_to_ppm : PPM;
    int64_t from_ppm = order->lr_from_ppm > 0 ? order->lr_from_ppm : to_ppm;

    put(w, "ELASTANE_JOB_ID=%u", order->job);
    put(w, "ELASTANE_JOB_NAME=%s", order->name);
    put(w, "ELASTANE_GENERATION=%u", plan->generation);
    put(w, "ELASTANE_INCARNATION=%u", order->incarnation);
    put(w, "ELASTANE_RESTART_COUNT=%d", order->restart_count);
    put(w, "ELASTANE_SAMPLES_DONE=%lld", (long long)order->samples_done);
    put(w, "ELASTANE_LAUNCH=%s", launch_form_name(order->launch));
    put(w, "ELASTANE_LEVEL=%s", job_level_name(order->level));
    put(w, "ELASTANE_PROFILE=%s", job_profile_name(order->profile));
    put(w, "ELASTANE_CHANNEL=%s/%s", order->channel_dir ? order->channel_dir : dir,
        ORDER_CHANNEL);
    put(w, "ELASTANE_PROGRESS=%s/%s", dir, ORDER_PROGRESS);
    put(w, "ELASTANE_GRACE_MS=%lld", (long long)(order->grace_us / USEC_PER_MSEC));
    if (order->checkpoint_dir)
        put(w, "ELASTANE_CHECKPOINT_DIR=%s", order->checkpoint_dir);
    if (plan->global_batch == 0)
        return; /* the job states no batch: the names are absent, not 0 */
    put(w, "ELASTANE_GLOBAL_BATCH=%d", plan->global_batch);
    put(w, "ELASTANE_MICRO_BATCH=%d", plan->micro_batch);
    put(w, "ELASTANE_ACCUMULATION=%d", plan->accumulation);
    put(w, "ELASTANE_BASE_BATCH=%d", order->batch_base);
    put(w, "ELASTANE_LR_RULE=%s", job_lr_rule_name(order->lr_rule));
    put_ppm(w, "ELASTANE_LR_FACTOR", to_ppm);
    put_ppm(w, "ELASTANE_LR_FACTOR_FROM", from_ppm);
    put(w, "ELASTANE_RAMP_START=%lld", (long long)order->ramp_start_samples);
    put(w, "ELASTANE_RAMP_SAMPLES=%lld", (long long)order->ramp_samples);
}

int rank_env_build(const struct order *order, int32_t index, int32_t master_port,
                   const char *dir, struct order_words *ret)
{
    struct order_words words = {0};
    struct env_writer w = {.words = &words};

    ASSERT(index >= 0);
    ASSERT(index < order->n_ranks);
    buf_init(&w.line, VALUE_MAX_BYTES);
    for (size_t i = 0; w.rc == 0 && i < order->env.n; i++)
        if (!is_ours(order, order->env.words[i]))
            w.rc = order_words_add(&words, order->env.words[i]);
    put_group(&w, order, index, master_port);
    put_tracker(&w, order);
    put_plan(&w, order, dir);
    buf_release(&w.line);
    if (w.rc < 0) {
        rank_env_release(&words);
        return w.rc;
    }
    *ret = words;
    return 0;
}

void rank_env_release(struct order_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        mem_free(words->words[i]);
    mem_free(words->words);
    *words = (struct order_words){0};
}
