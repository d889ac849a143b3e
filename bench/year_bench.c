/* SPDX-License-Identifier: Apache-2.0 */
/* year_bench.c - a virtual year of 1,000 jobs a day through the real engine and store:
 * how large the state gets, and how long a daemon takes to begin on it.
 *
 * The machine has 64 devices; a job takes one for an hour and is measured twice. Time
 * goes by hours: the ends of the jobs of the hour before, the arrivals of this one, what
 * the rows of both bring on. ELASTANE_YEAR_DAYS is another number of days. What is not
 * kept follows the daemon's defaults. The figures do not depend on the disk but for the
 * time that the year takes; TMPDIR may be one in memory. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "engine/engine.h"
#include "store/store.h"
#include "wire/journal.h"

#define DEVICES     64
#define JOBS_A_DAY  1000
#define KEEP_JOBS   50000
#define KEEP_US     (90 * USEC_PER_DAY)
#define RUNNING_MAX 4096

struct year {
    char dir[256];
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long n_notes;
    struct store *store;
    struct engine *engine;
    struct duty started[RUNNING_MAX]; /* ordered since the last look */
    int n_started;
    int64_t submitted;
    int64_t refused;
    int64_t forgotten;
    int64_t largest; /* of state.db and its log */
};

static void on_notify(void *arg)
{
    struct year *y = arg;

    (void)pthread_mutex_lock(&y->mutex);
    y->n_notes++;
    (void)pthread_cond_signal(&y->cond);
    (void)pthread_mutex_unlock(&y->mutex);
}

static void on_forget(void *arg, uint32_t job) /* the store's thread */
{
    struct year *y = arg;

    (void)job;
    y->forgotten++;
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void on_perform(void *ctx, const struct core *core, const struct job *job,
                       const struct duty *duty)
{
    struct year *y = ctx;

    (void)core;
    (void)job;
    if (duty->kind == DUTY_START && y->n_started < RUNNING_MAX)
        y->started[y->n_started++] = *duty;
}

static void on_answer(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct year *y = arg;

    (void)err;
    (void)job;
    y->refused += rc < 0;
}

static int begin(struct year *y)
{
    const struct store_options options = {.dir = y->dir,
                                          .holder = "year_bench",
                                          .notify = on_notify,
                                          .notify_arg = y,
                                          .keep_ended = KEEP_JOBS,
                                          .keep_us = KEEP_US,
                                          .forget = on_forget,
                                          .forget_arg = y};
    struct engine_ports ports = {.backend = {.ctx = y, .perform = on_perform}};
    int rc = store_open(&options, &y->store, NULL);

    if (rc < 0)
        return rc;
    ports.store = store_port(y->store);
    y->engine = engine_new(&ports);
    rc = y->engine ? store_recover(y->store, y->engine, NULL, NULL) : E_NOMEM;
    if (rc == 0)
        engine_begin(y->engine);
    return rc;
}

static void end(struct year *y)
{
    engine_free(y->engine);
    (void)store_close(y->store, NULL);
}

/* Runs the engine at this moment, and waits until all that it did is durable. */
static void settle(struct year *y, usec_t now_us)
{
    struct store_progress progress;
    long seen = -1;

    while (engine_run(y->engine, now_us) <= now_us)
        continue;
    for (;;) {
        store_get_progress(y->store, &progress);
        if (progress.durable_seq >= engine_seq(y->engine))
            break;
        (void)pthread_mutex_lock(&y->mutex);
        while (y->n_notes == seen)
            (void)pthread_cond_wait(&y->cond, &y->mutex);
        seen = y->n_notes;
        (void)pthread_mutex_unlock(&y->mutex);
    }
    (void)store_poll(y->store, y->engine);
}

static void submit(struct year *y, usec_t time_us)
{
    static char launch[] =
        "{\"argv\":[\"python3\",\"train.py\",\"--config\",\"configs/base.yaml\","
        "\"--lr\",\"0.0003\",\"--epochs\",\"40\",\"--data\",\"/data/images/train\"],"
        "\"cwd\":\"/home/ada/projects/images\",\"env\":[\"HOME\",\"PATH\",\"LANG\","
        "\"PYTHONPATH\",\"CUDA_HOME\",\"WANDB_PROJECT\"],\"form\":\"rank\","
        "\"log_dir\":\"\",\"vault\":\"0123456789abcdef\"}";
    struct job_spec spec = {.level = JOB_RESTARTABLE,
                            .sizes = {.min = 1, .max = 1},
                            .grace_us = 30 * USEC_PER_SEC,
                            .retries = 3,
                            .launch = launch};
    const struct event event = {.kind = EVENT_SUBMIT, .time_us = time_us, .spec = &spec};

    (void)snprintf(spec.name, sizeof spec.name, "images-%lld",
                   (long long)y->submitted % 100);
    y->submitted += engine_post(y->engine, &event, on_answer, y) == 0;
}

static void report(struct year *y, enum event_kind kind, const struct duty *duty,
                   usec_t time_us)
{
    const struct event event = {.kind = kind,
                                .time_us = time_us,
                                .job = duty->job,
                                .incarnation = duty->incarnation,
                                .node.name = "n1",
                                .cause = JOB_CAUSE_DONE,
                                .samples = 1000000,
                                .rate_milli = 250000 + time_us % 9973};

    (void)engine_post(y->engine, &event, NULL, NULL);
}

static void look_at_size(struct year *y)
{
    static const char *const names[] = {"state.db", "state.db-wal"};
    int64_t size = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        char path[300];
        struct stat st;

        (void)snprintf(path, sizeof path, "%s/%s", y->dir, names[i]);
        size += stat(path, &st) == 0 ? st.st_size : 0;
    }
    y->largest = size > y->largest ? size : y->largest;
}

/* The jobs that began in the hour before are measured, and end; others come. */
static void live_for_an_hour(struct year *y, int64_t hour)
{
    static struct duty running[RUNNING_MAX];
    usec_t begin_us = hour * USEC_PER_HOUR;
    int n = y->n_started;
    int64_t want = (hour + 1) * JOBS_A_DAY / 24;

    memcpy(running, y->started, (size_t)n * sizeof running[0]);
    y->n_started = 0;
    for (int i = 0; i < n; i++)
        report(y, EVENT_STARTED, &running[i], begin_us);
    settle(y, begin_us);
    for (int k = 1; k <= 2; k++)
        for (int i = 0; i < n; i++)
            report(y, EVENT_PERF, &running[i], begin_us + k * 20 * USEC_PER_MIN);
    settle(y, begin_us + 40 * USEC_PER_MIN);
    for (int i = 0; i < n; i++)
        report(y, EVENT_EXIT, &running[i], begin_us + 59 * USEC_PER_MIN);
    while (y->submitted < want)
        submit(y, begin_us + 59 * USEC_PER_MIN);
    settle(y, begin_us + 59 * USEC_PER_MIN + 30 * USEC_PER_SEC);
    if (hour % 24 == 0)
        look_at_size(y);
}

static void print_figure(const char *name, double value, const char *unit)
{
    printf("{\"bench\": \"%s\", \"value\": %.1f, \"unit\": \"%s\", \"better\": "
           "\"less\"}\n",
           name, value, unit);
}

static void clean(const char *dir)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm",
                                        "lock"};
    char path[300];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

/* As after kill -9: no snapshot is taken at the end. Returns the slowest of three. */
static double measure_start(struct year *y)
{
    double slowest = 0;

    for (int i = 0; i < 3; i++) {
        double start;

        end(y);
        start = now_s();
        if (begin(y) < 0)
            return -1;
        if (now_s() - start > slowest)
            slowest = now_s() - start;
    }
    return slowest;
}

int main(void)
{
    static struct year y = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                            .cond = PTHREAD_COND_INITIALIZER};
    const char *days = getenv("ELASTANE_YEAR_DAYS");
    const char *base = getenv("TMPDIR");
    const struct event node = {.kind = EVENT_NODE_UP,
                               .node = {.devices = DEVICES, .name = "n1"}};
    int64_t hours = 24 * (days ? strtol(days, NULL, 10) : 365);
    uint64_t before = 0;
    uint64_t after = 1;
    double start = now_s();
    double slowest;

    (void)snprintf(y.dir, sizeof y.dir, "%s/elastane-year-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(y.dir) || begin(&y) < 0)
        return 1;
    (void)engine_post(y.engine, &node, NULL, NULL);
    settle(&y, 0);
    for (int64_t hour = 0; hour < hours; hour++)
        live_for_an_hour(&y, hour);
    look_at_size(&y);
    (void)wire_digest(engine_core(y.engine), &before);
    print_figure("year_played", now_s() - start, "s");
    slowest = measure_start(&y);
    (void)wire_digest(engine_core(y.engine), &after);
    print_figure("year_state", (double)y.largest / 1e6, "MB");
    print_figure("year_start", slowest * 1e3, "ms");
    (void)fprintf(stderr, "%lld jobs, %lld refused, %lld forgotten, %lld rows\n",
                  (long long)y.submitted, (long long)y.refused, (long long)y.forgotten,
                  (long long)engine_seq(y.engine));
    end(&y);
    clean(y.dir);
    return slowest < 0 || before != after || y.refused > 0 || y.largest >= 1000000000 ||
           slowest >= 1;
}
