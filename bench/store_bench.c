/* SPDX-License-Identifier: Apache-2.0 */
/* store_bench.c - durable rows a second: everything that waits in one commit, against a
 * commit for each row; then the reading of what was written. Rows are the size of a
 * submit's. Figures of a disk that lies about fsync are as fast as it likes. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "store/reader.h"
#include "store/store.h"

#define N_GROUP  20000
#define N_SINGLE 500

struct waiter {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long n_notes;
};

static void on_notify(void *arg)
{
    struct waiter *w = arg;

    (void)pthread_mutex_lock(&w->mutex);
    w->n_notes++;
    (void)pthread_cond_signal(&w->cond);
    (void)pthread_mutex_unlock(&w->mutex);
}

static double now_s(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void fill(char *text, size_t size)
{
    memset(text, 'x', size - 1);
    text[0] = '"';
    text[size - 2] = '"';
    text[size - 1] = '\0';
}

static void await(struct store *store, struct waiter *w, int64_t seq)
{
    struct store_progress progress;
    long seen = -1;

    do {
        (void)pthread_mutex_lock(&w->mutex);
        while (w->n_notes == seen)
            (void)pthread_cond_wait(&w->cond, &w->mutex);
        seen = w->n_notes;
        (void)pthread_mutex_unlock(&w->mutex);
        store_get_progress(store, &progress);
    } while (progress.durable_seq < seq);
}

static void clean(const char *dir)
{
    static const char *const names[] = {"state.db", "state.db-wal", "state.db-shm",
                                        "lock"};
    char path[512];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

static void print_figure(const char *name, double value)
{
    printf("{\"bench\": \"%s\", \"value\": %.0f, \"unit\": \"rows/s\", \"better\": "
           "\"more\"}\n",
           name, value);
}

static int read_back(const char *dir, int64_t n)
{
    struct store_reader *reader = NULL;
    struct engine_row row;
    double start = now_s();
    int64_t rows = 0;

    if (store_reader_open(dir, NULL, &reader, NULL) < 0)
        return 1;
    while (store_reader_next(reader, &row, NULL) == 1)
        rows++;
    store_reader_free(reader);
    print_figure("store_read", (double)rows / (now_s() - start));
    return rows == n ? 0 : 1;
}

static int measure(const char *name, int32_t batch_max, int64_t n)
{
    struct waiter w = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                       .cond = PTHREAD_COND_INITIALIZER};
    const char *base = getenv("TMPDIR");
    char dir[256];
    char input[800];
    char changes[1600];
    struct store_options options = {.dir = dir,
                                    .holder = "store_bench",
                                    .notify = on_notify,
                                    .notify_arg = &w,
                                    .batch_max = batch_max};
    struct engine_row row = {.kind = "submit", .input = input, .changes = changes};
    struct engine_store_port port;
    struct store *store = NULL;
    double start;
    int rc = 0;

    (void)snprintf(dir, sizeof dir, "%s/store-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(dir) || store_open(&options, &store, NULL) < 0)
        return 1;
    fill(input, sizeof input);
    fill(changes, sizeof changes);
    port = store_port(store);
    start = now_s();
    for (row.seq = 1; row.seq <= n; row.seq++)
        if (port.append(port.ctx, &row) < 0)
            return 1;
    await(store, &w, n);
    print_figure(name, (double)n / (now_s() - start));
    rc = batch_max == 1 ? 0 : read_back(dir, n);
    (void)store_close(store, NULL);
    clean(dir);
    return rc;
}

int main(void)
{
    int rc = measure("store_group_commit", 0, N_GROUP);

    return rc == 0 ? measure("store_single_commit", 1, N_SINGLE) : rc;
}
