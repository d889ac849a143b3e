/* SPDX-License-Identifier: Apache-2.0 */
/* fake_trainer.c - a training job without the training, for tests.
 *
 * It draws real batches from libelastane's ledger, keeps real checkpoints, counts sample
 * ids, and misbehaves on request. Each step prints one line, so that a test can wait for
 * an event instead of a time:
 *
 *     plan rank 0 of 2 generation 1 batch 8 micro 4 accumulation 1
 *     resume 0
 *     step 1 samples 8 own 0 4
 *     saved 8
 *     stop | done | term
 *
 * See `--help` for what it can be told. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libelastane/elastane.h"

#define IDS_MAX 65536

struct options {
    int64_t dataset;
    int64_t samples;    /* in all; then done */
    int64_t step_us;    /* length of a step */
    int64_t save_ms;    /* length of a save */
    int64_t save_every; /* steps; 0: only when told */
    int64_t crash_at;   /* step; 0: never */
    int64_t hang_at;
    int64_t freeze_at;    /* SIGSTOP to itself */
    int64_t kill_in_save; /* the nth save ends in SIGKILL to itself */
    int64_t oom_above;    /* micro-batch that does not fit; 0: all fit */
    int64_t children;     /* data loaders */
    int64_t file_limit;   /* bytes that a file may have: a disk that is full */
    int64_t eval_at;      /* step of rank 0 */
    int64_t eval_ms;
    int64_t warm_up_ms; /* that the first step takes longer */
    int64_t only_rank;  /* that misbehaves; -1: all */
    bool fails_save;
    bool ignores_term;
    bool lingers;  /* lives on after success */
    bool is_plain; /* no channel: restartable, saves on SIGTERM */
    bool is_deaf;  /* says hello, then never calls step */
    bool prints_env;
    bool probes; /* cuts its first steps as a new job does, and measures each pass */
    const char *checkpoints;
    const char *ids; /* directory for the ids that were consumed */
};

static volatile sig_atomic_t has_term;

static void on_term(int signal_number)
{
    (void)signal_number;
    has_term = 1;
}

static void line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void line(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)vprintf(fmt, args);
    va_end(args);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void pass_time(int64_t us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    if (us > 0)
        (void)nanosleep(&t, NULL);
}

static void wait_for_ever(void)
{
    for (;;)
        (void)pause();
}

/* A data loader: says so when a signal reaches it that was not meant for it. */
static void fork_children(int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        pid_t pid = fork();

        if (pid != 0)
            continue;
        (void)signal(SIGTERM, on_term);
        while (!has_term)
            (void)pause();
        line("child got term");
        _exit(0);
    }
}

static int write_state(const char *path, int64_t samples_done)
{
    FILE *out = fopen(path, "we");
    int bad;

    if (!out)
        return -1;
    bad = fprintf(out, "%" PRId64 "\n", samples_done) < 0;
    for (int i = 0; i < 64; i++) /* some weight */
        bad |= fprintf(out, "%063d\n", i) < 0;
    bad |= fflush(out) != 0;
    return fclose(out) != 0 || bad ? -1 : 0;
}

static int save(const struct options *o, const struct elastane_plan *plan,
                int64_t samples_done, int64_t step, char *ret_manifest)
{
    struct elastane_checkpoint c = {.samples_done = samples_done,
                                    .dataset_size = o->dataset,
                                    .seed = 7,
                                    .step = step,
                                    .generation = plan->generation};
    char path[ELASTANE_PATH_BYTES];
    static int64_t saves;

    saves++;
    if (o->fails_save ||
        elastane_checkpoint_begin(o->checkpoints, path, sizeof(path)) < 0)
        return -1;
    if (write_state(path, samples_done) < 0) {
        elastane_checkpoint_abandon(path);
        return -1;
    }
    line("saving %" PRId64, samples_done);
    pass_time(o->save_ms * 1000);
    if (o->kill_in_save == saves)
        (void)raise(SIGKILL);
    if (elastane_checkpoint_commit(o->checkpoints, path, &c) < 0)
        return -1;
    (void)snprintf(ret_manifest, ELASTANE_MANIFEST_BYTES, "%s", c.manifest);
    line("saved %" PRId64, samples_done);
    return 0;
}

static int save_and_tell(const struct options *o, struct elastane *e,
                         const struct elastane_plan *plan, int64_t step)
{
    char manifest[ELASTANE_MANIFEST_BYTES] = "";
    int64_t samples = elastane_get_samples_done(e);

    elastane_set_phase(e, ELASTANE_PHASE_SAVE);
    if (plan->rank == 0 && o->checkpoints && save(o, plan, samples, step, manifest) < 0)
        return elastane_save_failed(e, "no space left on device");
    return elastane_saved(e, manifest);
}

static void write_ids(const struct options *o, const struct elastane_plan *plan,
                      const struct elastane_batch *batch)
{
    static int64_t ids[IDS_MAX];
    char path[1024];
    FILE *out;

    if (!o->ids || batch->own_samples > IDS_MAX)
        return;
    (void)elastane_indices(7, o->dataset, batch->position + batch->own_offset,
                           batch->own_samples, ids);
    (void)snprintf(path, sizeof(path), "%s/%u-%d", o->ids, plan->generation, plan->rank);
    out = fopen(path, "ae");
    for (int32_t i = 0; out && i < batch->own_samples; i++)
        (void)fprintf(out, "%" PRId64 " %" PRId64 "\n", batch->epoch, ids[i]);
    if (out)
        (void)fclose(out);
}

static void misbehave(const struct options *o, struct elastane *e,
                      const struct elastane_plan *plan, int64_t step)
{
    if (o->only_rank >= 0 && plan->rank != o->only_rank)
        return;
    if (o->crash_at == step) {
        line("crash");
        exit(3);
    }
    if (o->hang_at == step) {
        line("hang");
        wait_for_ever();
    }
    if (o->freeze_at == step)
        (void)raise(SIGSTOP);
    if (o->oom_above > 0 && plan->micro_batch > o->oom_above) {
        elastane_out_of_memory(e, plan->micro_batch);
        line("out of memory");
        wait_for_ever();
    }
}

/* A pass lasts in proportion to its samples. */
static void train_passes(const struct options *o, struct elastane *e,
                         const struct elastane_batch *batch, int64_t step)
{
    int32_t size;

    for (int32_t i = 0; (size = elastane_probe_pass(batch, step - 1, i)) > 0; i++) {
        int64_t us = o->step_us * size / batch->own_samples;

        pass_time(us);
        line("part %d", size);
        elastane_measured_micro(e, size, us * 1000 + 1);
    }
}

static int one_step(const struct options *o, struct elastane *e,
                    const struct elastane_plan *plan, int64_t step)
{
    struct elastane_batch batch;

    if (elastane_next_batch(plan, o->dataset, elastane_get_samples_done(e), &batch) < 0)
        exit(4);
    misbehave(o, e, plan, step);
    if (o->eval_at == step && plan->rank == 0) {
        elastane_set_phase(e, ELASTANE_PHASE_EVAL);
        pass_time(o->eval_ms * 1000);
        line("evaluated");
        elastane_set_phase(e, ELASTANE_PHASE_TRAIN);
    }
    if (step == 1)
        pass_time(o->warm_up_ms * 1000);
    if (o->probes)
        train_passes(o, e, &batch, step);
    else
        pass_time(o->step_us);
    write_ids(o, plan, &batch);
    if (!o->probes)
        elastane_measured_micro(e, batch.own_samples, o->step_us * 1000 + 1);
    line("step %" PRId64 " samples %" PRId64 " own %d %d", step,
         batch.position + batch.samples, batch.own_offset, batch.own_samples);
    return elastane_step(e, batch.samples);
}

static int train(const struct options *o)
{
    struct elastane_checkpoint c = {0};
    struct elastane_plan plan;
    struct elastane *e;
    int64_t step = 0;
    int action = ELASTANE_CONTINUE;

    if (elastane_init(8, &e) < 0)
        return 5;
    elastane_get_plan(e, &plan);
    line("plan rank %d of %d generation %u batch %d micro %d accumulation %d mode %d %s",
         plan.rank, plan.size, plan.generation, plan.global_batch, plan.micro_batch,
         plan.accumulation, elastane_get_mode(e), elastane_get_message(e));
    if (o->checkpoints)
        (void)elastane_checkpoint_latest(o->checkpoints, &c);
    (void)elastane_resume(e, c.samples_done);
    line("resume %" PRId64, c.samples_done);
    fork_children(o->children);
    if (o->is_deaf)
        wait_for_ever();
    while (elastane_get_samples_done(e) < o->samples && action != ELASTANE_STOP) {
        action = one_step(o, e, &plan, ++step);
        if (action == ELASTANE_SAVE || (action == ELASTANE_CONTINUE &&
                                        o->save_every > 0 && step % o->save_every == 0))
            action = save_and_tell(o, e, &plan, step);
    }
    if (action == ELASTANE_STOP) {
        line("stop");
    } else {
        elastane_done(e);
        line("done");
        if (o->lingers && (o->only_rank < 0 || o->only_rank == plan.rank))
            wait_for_ever();
    }
    elastane_free(e);
    return 0;
}

/* A restartable job: any command that saves on SIGTERM and resumes by itself. */
static int train_plain(const struct options *o)
{
    struct elastane_plan plan = {.size = 1};
    struct elastane_checkpoint c = {0};
    char manifest[ELASTANE_MANIFEST_BYTES];
    int64_t done;

    if (!o->ignores_term)
        (void)signal(SIGTERM, on_term);
    if (o->checkpoints)
        (void)elastane_checkpoint_latest(o->checkpoints, &c);
    done = c.samples_done;
    line("resume %" PRId64, done);
    fork_children(o->children);
    for (int64_t step = 1; done < o->samples; step++) {
        misbehave(o, NULL, &plan, step);
        pass_time(o->step_us);
        done += 8;
        line("step %" PRId64 " samples %" PRId64, step, done);
        if (!has_term)
            continue;
        line("term");
        return !o->checkpoints || save(o, &plan, done, step, manifest) == 0 ? 0 : 6;
    }
    line("done");
    return 0;
}

enum number {
    N_DATASET,
    N_SAMPLES,
    N_STEP_US,
    N_SAVE_MS,
    N_SAVE_EVERY,
    N_CRASH,
    N_HANG,
    N_FREEZE,
    N_KILL_IN_SAVE,
    N_OOM,
    N_CHILDREN,
    N_FILE_LIMIT,
    N_EVAL_AT,
    N_EVAL_MS,
    N_WARM_UP_MS,
    N_ONLY_RANK,
    N_MAX,
    F_FAIL_SAVE,
    F_IGNORE_TERM,
    F_LINGER,
    F_PLAIN,
    F_DEAF,
    F_ENV,
    F_PROBE,
    F_HELP,
    T_CHECKPOINTS,
    T_IDS
};

static const struct option table[] = {
    {"dataset", 1, NULL, N_DATASET},
    {"samples", 1, NULL, N_SAMPLES},
    {"step-us", 1, NULL, N_STEP_US},
    {"save-ms", 1, NULL, N_SAVE_MS},
    {"save-every", 1, NULL, N_SAVE_EVERY},
    {"crash-at", 1, NULL, N_CRASH},
    {"hang-at", 1, NULL, N_HANG},
    {"freeze-at", 1, NULL, N_FREEZE},
    {"kill-in-save", 1, NULL, N_KILL_IN_SAVE},
    {"oom-above", 1, NULL, N_OOM},
    {"children", 1, NULL, N_CHILDREN},
    {"file-limit", 1, NULL, N_FILE_LIMIT},
    {"eval-at", 1, NULL, N_EVAL_AT},
    {"eval-ms", 1, NULL, N_EVAL_MS},
    {"warm-up-ms", 1, NULL, N_WARM_UP_MS},
    {"only-rank", 1, NULL, N_ONLY_RANK},
    {"fail-save", 0, NULL, F_FAIL_SAVE},
    {"ignore-term", 0, NULL, F_IGNORE_TERM},
    {"linger", 0, NULL, F_LINGER},
    {"plain", 0, NULL, F_PLAIN},
    {"deaf", 0, NULL, F_DEAF},
    {"env", 0, NULL, F_ENV},
    {"probe", 0, NULL, F_PROBE},
    {"help", 0, NULL, F_HELP},
    {"checkpoints", 1, NULL, T_CHECKPOINTS},
    {"ids", 1, NULL, T_IDS},
    {NULL, 0, NULL, 0},
};

static int parse(int argc, char **argv, struct options *o)
{
    int64_t *numbers[N_MAX] = {
        &o->dataset,      &o->samples,   &o->step_us,    &o->save_ms,
        &o->save_every,   &o->crash_at,  &o->hang_at,    &o->freeze_at,
        &o->kill_in_save, &o->oom_above, &o->children,   &o->file_limit,
        &o->eval_at,      &o->eval_ms,   &o->warm_up_ms, &o->only_rank,
    };
    bool *flags[] = {&o->fails_save, &o->ignores_term, &o->lingers, &o->is_plain,
                     &o->is_deaf,    &o->prints_env,   &o->probes};
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (c >= 0 && c < N_MAX)
            *numbers[c] = strtoll(optarg, NULL, 10);
        else if (c >= F_FAIL_SAVE && c < F_HELP)
            *flags[c - F_FAIL_SAVE] = true;
        else if (c == T_CHECKPOINTS)
            o->checkpoints = optarg;
        else if (c == T_IDS)
            o->ids = optarg;
        else
            return -1;
    }
    return optind == argc ? 0 : -1;
}

static void print_help(void)
{
    (void)puts("fake_trainer options:");
    for (const struct option *p = table; p->name; p++)
        (void)printf("  --%s%s\n", p->name, p->has_arg ? " VALUE" : "");
}

int main(int argc, char **argv)
{
    struct options o = {
        .dataset = 1000, .samples = INT64_MAX, .step_us = 1000, .only_rank = -1};

    if (parse(argc, argv, &o) < 0) {
        print_help();
        return 2;
    }
    for (char **word = environ; o.prints_env && *word; word++)
        line("env %s", *word);
    if (o.file_limit > 0) {
        struct rlimit limit = {(rlim_t)o.file_limit, (rlim_t)o.file_limit};

        (void)signal(SIGXFSZ, SIG_IGN);
        (void)setrlimit(RLIMIT_FSIZE, &limit);
    }
    return o.is_plain ? train_plain(&o) : train(&o);
}
