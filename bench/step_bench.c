/* SPDX-License-Identifier: Apache-2.0 */
/* step_bench.c - what Elastane costs a training step.
 *
 * The bench is the trainer of a job of its own: called without arguments it starts the
 * real shim on itself, so that the steps go through a real channel and page; the shim's
 * daemon is absent, as after a crash. A step here is everything a training loop calls:
 * the batch of the step, the indices of its 64 samples, one measured micro-batch, one
 * measured all-reduce, and elastane_step(). Prints one JSON line a figure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libelastane/elastane.h"

#define STEPS   200000
#define BATCH   64
#define DATASET 60000

static int64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int train(void)
{
    struct elastane_plan plan;
    struct elastane_batch batch;
    struct elastane *e;
    int64_t indices[BATCH];
    int64_t index_sum = 0; /* keeps the compiler from dropping the indices */
    int64_t report_ns = 0;
    int64_t began_ns;

    if (elastane_init(BATCH, &e) < 0 || elastane_get_mode(e) != ELASTANE_CONNECTED)
        return 1;
    elastane_get_plan(e, &plan);
    began_ns = now_ns();
    for (int64_t i = 0; i < STEPS; i++) {
        int64_t at_ns;

        (void)elastane_next_batch(&plan, DATASET, i * BATCH, &batch);
        (void)elastane_indices(1, DATASET, batch.position, batch.own_samples, indices);
        index_sum += indices[0];
        at_ns = now_ns();
        elastane_measured_micro(e, batch.own_samples, 1000000);
        elastane_measured_comm(e, 1000000, 4096);
        if (elastane_step(e, batch.samples) != ELASTANE_CONTINUE)
            return 1;
        report_ns += now_ns() - at_ns;
    }
    (void)printf("{\"bench\": \"client_step\", \"value\": %.3f, \"unit\": \"us\", "
                 "\"better\": \"less\"}\n",
                 (double)report_ns / STEPS / 1000);
    (void)printf("{\"bench\": \"client_step_with_64_indices\", \"value\": %.3f, "
                 "\"unit\": \"us\", \"better\": \"less\"}\n",
                 (double)(now_ns() - began_ns) / STEPS / 1000);
    elastane_done(e);
    elastane_free(e);
    return index_sum < 0;
}

static int write_order(const char *dir, const char *self)
{
    char path[512];
    FILE *out;

    (void)snprintf(path, sizeof(path), "%s/order.json", dir);
    out = fopen(path, "we");
    if (!out)
        return -1;
    (void)fprintf(out,
                  "{\"format\":1,\"job\":1,\"incarnation\":1,\"generation\":1,\"uid\":%u,"
                  "\"gid\":%u,\"level\":\"elastic\",\"size\":1,\"global_batch\":%d,"
                  "\"micro_batch\":%d,\"accumulation\":1,\"grace_us\":1000000,"
                  "\"ranks\":[{\"rank\":0,\"device\":0}],\"argv\":[\"%s\",\"train\"],"
                  "\"env\":[]}\n",
                  (unsigned)getuid(), (unsigned)getgid(), BATCH, BATCH, self);
    return fclose(out);
}

static void copy_out(const char *dir, const char *name)
{
    char path[512];
    char line[512];
    FILE *in;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    in = fopen(path, "re");
    while (in && fgets(line, sizeof(line), in))
        (void)fputs(line, stdout);
    if (in)
        (void)fclose(in);
}

static void remove_dir(const char *dir)
{
    static const char *const names[] = {"order.json", "started.json", "exit.json",
                                        "lock",       "channel",      "page",
                                        "shim.log",   "rank-0.log"};
    char path[512];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

int main(int argc, char **argv)
{
    char dir[] = "/tmp/step_bench-XXXXXX";
    char self[512] = "";
    int status = 1;
    pid_t pid;

    if (argc > 1 && strcmp(argv[1], "train") == 0)
        return train();
    if (argc < 2 || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
        !mkdtemp(dir) || write_order(dir, self) < 0) {
        (void)fprintf(stderr, "usage: bench_step PATH-OF-elastane-shim\n");
        return 2;
    }
    pid = fork();
    if (pid == 0) {
        /* The shim in the foreground says "started" on a standard output of its own. */
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr))
            _exit(2);
        (void)execl(argv[1], argv[1], "--dir", dir, "--foreground", (char *)NULL);
        _exit(2);
    }
    if (pid > 0)
        (void)waitpid(pid, &status, 0);
    copy_out(dir, "rank-0.log");
    remove_dir(dir);
    return status != 0;
}
