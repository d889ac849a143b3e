/* SPDX-License-Identifier: Apache-2.0 */
/* bench_rival.c - see bench_rival.h.
 *
 * CBC gets an LP file with one binary variable for each (job, size) and writes its answer
 * to a second one; both lie in a directory of their own that is removed afterwards. Its
 * answer is added up again here in whole numbers. */
#include "cli/bench_rival.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

#define PATH_BYTES 128

extern char **environ;

usec_t bench_now_us(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

#define INFEASIBLE (INT64_MIN / 2) /* below every sum of values */

static void next_row(const struct alloc_row *row, int32_t devices, const int64_t *last,
                     int64_t *next)
{
    for (int32_t k = 0; k <= devices; k++) {
        int64_t best = row->may_wait ? last[k] : INFEASIBLE;

        for (int32_t i = 0; i < row->n_options && row->options[i].size <= k; i++)
            best = i64_max(best, last[k - row->options[i].size] + row->options[i].value);
        next[k] = best;
    }
}

void bench_recurrence(const struct alloc_problem *p, usec_t limit_us,
                      struct bench_rival *ret)
{
    int64_t *last = mem_new((size_t)p->devices + 1, sizeof *last);
    int64_t *next = mem_new((size_t)p->devices + 1, sizeof *next);
    usec_t begin_us = bench_now_us();
    int32_t j = 0;

    *ret = (struct bench_rival){0};
    if (!last || !next)
        (void)snprintf(ret->why, sizeof ret->why, "out of memory");
    for (; last && next && j < p->n_rows && bench_now_us() - begin_us < limit_us; j++) {
        int64_t *swap = last;

        next_row(&p->rows[j], p->devices, last, next);
        last = next;
        next = swap;
    }
    ret->took_us = bench_now_us() - begin_us;
    ret->has_run = ret->is_exact = last && next && j == p->n_rows;
    if (ret->is_exact)
        ret->value = last[p->devices];
    else if (!ret->why[0])
        (void)snprintf(ret->why, sizeof ret->why,
                       "not through after %lld s, job %d of %d",
                       (long long)(limit_us / USEC_PER_SEC), j, p->n_rows);
    mem_free(last);
    mem_free(next);
}

static void put_terms(FILE *out, const struct alloc_problem *p, bool is_value)
{
    int64_t n = 0;

    for (int32_t j = 0; j < p->n_rows; j++)
        for (int32_t i = 0; i < p->rows[j].n_options; i++) {
            const struct alloc_option *o = &p->rows[j].options[i];
            int64_t factor = is_value ? o->value : o->size;

            (void)fprintf(out, "%s%s%" PRId64 " x_%d_%d", n++ % 8 == 7 ? "\n " : " ",
                          factor < 0 ? "- " : "+ ", factor < 0 ? -factor : factor, j,
                          o->size);
        }
}

static bool write_problem(const char *path, const struct alloc_problem *p)
{
    FILE *out = fopen(path, "we");
    bool is_good;

    if (!out)
        return false;
    (void)fputs("Maximize\n obj:", out);
    put_terms(out, p, true);
    (void)fputs("\nSubject To\n cap:", out);
    put_terms(out, p, false);
    (void)fprintf(out, " <= %d\n", p->devices);
    for (int32_t j = 0; j < p->n_rows; j++) {
        const struct alloc_row *row = &p->rows[j];

        (void)fprintf(out, " job%d:", j);
        for (int32_t i = 0; i < row->n_options; i++)
            (void)fprintf(out, "%s+ x_%d_%d", i % 16 == 15 ? "\n " : " ", j,
                          row->options[i].size);
        (void)fprintf(out, " %s 1\n", row->may_wait ? "<=" : "=");
    }
    (void)fputs("Binary\n", out);
    for (int32_t j = 0; j < p->n_rows; j++)
        for (int32_t i = 0; i < p->rows[j].n_options; i++)
            (void)fprintf(out, " x_%d_%d\n", j, p->rows[j].options[i].size);
    (void)fputs("End\n", out);
    is_good = !ferror(out);
    return fclose(out) == 0 && is_good;
}

static int64_t value_of(const struct alloc_problem *p, int32_t job, int32_t size)
{
    if (job < 0 || job >= p->n_rows)
        return 0;
    for (int32_t i = 0; i < p->rows[job].n_options; i++)
        if (p->rows[job].options[i].size == size)
            return p->rows[job].options[i].value;
    return 0;
}

/* "Optimal - objective value ...", then a line for each variable that is not 0. */
static void read_answer(const char *path, const struct alloc_problem *p,
                        struct bench_rival *ret)
{
    FILE *in = fopen(path, "re");
    char line[256];

    if (!in || !fgets(line, sizeof line, in)) {
        (void)snprintf(ret->why, sizeof ret->why, "it found no solution in time");
        if (in)
            (void)fclose(in);
        return;
    }
    ret->has_run = true;
    ret->is_exact = strncmp(line, "Optimal", 7) == 0;
    while (fgets(line, sizeof line, in)) {
        const char *name = strstr(line, "x_");
        char *end;
        long job, size;

        if (!name)
            continue;
        job = strtol(name + 2, &end, 10);
        size = *end == '_' ? strtol(end + 1, &end, 10) : 0;
        if (strtod(end, NULL) > 0.5 && job <= INT32_MAX && size <= INT32_MAX)
            ret->value += value_of(p, (int32_t)job, (int32_t)size);
    }
    (void)fclose(in);
}

/* The exit status; -1 with errno ENOENT when there is no such program. */
static int run_quietly(char *const *argv)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    int code;

    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                           0);
    code = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    errno = code;
    if (code != 0)
        return -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void run_cbc(const struct alloc_problem *p, const char *dir, usec_t limit_us,
                    struct bench_rival *ret)
{
    char problem[PATH_BYTES], answer[PATH_BYTES], seconds[24];
    char *argv[] = {(char *)"cbc",
                    problem,
                    (char *)"ratioGap",
                    (char *)"0",
                    (char *)"allowableGap",
                    (char *)"0",
                    (char *)"seconds",
                    seconds,
                    (char *)"solve",
                    (char *)"solution",
                    answer,
                    NULL};
    usec_t begin_us;

    (void)snprintf(problem, sizeof problem, "%s/problem.lp", dir);
    (void)snprintf(answer, sizeof answer, "%s/answer.txt", dir);
    (void)snprintf(seconds, sizeof seconds, "%lld", (long long)(limit_us / USEC_PER_SEC));
    if (!write_problem(problem, p)) {
        (void)snprintf(ret->why, sizeof ret->why, "cannot write %.60s", problem);
    } else {
        begin_us = bench_now_us();
        if (run_quietly(argv) == 0)
            read_answer(answer, p, ret);
        else
            (void)snprintf(ret->why, sizeof ret->why, "%s",
                           errno == ENOENT ? "cbc is not installed" : "cbc failed");
        ret->took_us = bench_now_us() - begin_us;
    }
    (void)unlink(problem);
    (void)unlink(answer);
}

void bench_cbc(const struct alloc_problem *p, usec_t limit_us, struct bench_rival *ret)
{
    char dir[] = "/tmp/elastane-bench-XXXXXX";

    *ret = (struct bench_rival){0};
    if (!mkdtemp(dir)) {
        (void)snprintf(ret->why, sizeof ret->why, "no directory in /tmp: %s",
                       strerror(errno));
        return;
    }
    run_cbc(p, dir, limit_us, ret);
    (void)rmdir(dir);
}
