/* SPDX-License-Identifier: Apache-2.0 */
/* calibrate.c - runs the script and reads what it has written.
 *
 * The script is looked for where this program stands: in a source tree above the build,
 * or where `make install` puts it. It writes to a temporary file and renames, so the
 * table is whole or the old one. */
#include "backend/local/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/calibration.h"

#define PYTHON "/usr/bin/python3"

static const char *const script_places[] = {
    "../../../python/elastane/calibrate.py",              /* build/src/prog */
    "../../../../python/elastane/calibrate.py",           /* build/NAME/src/prog */
    "../lib/python3/dist-packages/elastane/calibrate.py", /* PREFIX/bin, PREFIX/sbin */
};

/* Sizes that are measured, as far as there are devices. */
static const int32_t sizes_tried[] = {2, 3, 4, 6, 8, 12, 16};

const char *calibrate_state_name(enum calibrate_state state)
{
    static const char *const names[] = {"none", "running", "done", "failed"};

    return names[state];
}

static int read_table(struct calibrate *c, struct err *err)
{
    int fd = open(c->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char piece[4096];
    struct stat st;
    struct buf text;
    ssize_t n;
    int rc = 0;

    if (fd < 0)
        return err_set(err, errno == ENOENT ? E_NOTFOUND : E_IO, "%s: %s", c->path,
                       strerror(errno));
    buf_init(&text, WIRE_CALIBRATION_MAX);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(err, E_CORRUPT, "%s is not a regular file", c->path);
    while (rc == 0 && (n = read(fd, piece, sizeof piece)) > 0) {
        buf_add(&text, piece, (size_t)n);
        rc = buf_error(&text);
    }
    if (rc == 0)
        rc = wire_calibration_decode(text.text, text.len, &c->table, err);
    if (rc == 0)
        c->time_us = (usec_t)st.st_mtim.tv_sec * USEC_PER_SEC;
    buf_release(&text);
    (void)close(fd);
    return rc;
}

int calibrate_init(struct calibrate *c, struct loop *loop, const struct clock *clock,
                   const char *state_dir, void (*changed)(void *arg), void *arg)
{
    size_t cap = strlen(state_dir) + sizeof("/calibration.json");
    struct err err = {0};
    int rc;

    *c = (struct calibrate){.loop = loop, .clock = clock, .changed = changed, .arg = arg};
    c->path = mem_new(cap, 1);
    if (!c->path)
        return E_NOMEM;
    (void)snprintf(c->path, cap, "%s/calibration.json", state_dir);
    rc = read_table(c, &err);
    if (rc == 0)
        c->state = CALIBRATE_DONE;
    if (rc < 0 && rc != E_NOTFOUND) {
        c->state = CALIBRATE_FAILED;
        (void)snprintf(c->reason, sizeof c->reason, "%s %s", err.field, err.text);
    }
    return 0;
}

void calibrate_release(struct calibrate *c)
{
    if (c->child)
        loop_child_drop(c->child);
    mem_free(c->path);
    c->child = NULL;
    c->path = NULL;
}

static void on_end(void *arg, const struct loop_child_end *end)
{
    struct calibrate *c = arg;
    struct err err = {0};
    size_t n = strcspn(end->err, "\n");

    c->child = NULL;
    c->time_us = clock_now(c->clock);
    c->state = CALIBRATE_FAILED;
    if (end->signo != 0)
        (void)snprintf(c->reason, sizeof c->reason, "ended by signal %d", end->signo);
    else if (end->status != 0)
        (void)snprintf(c->reason, sizeof c->reason, "status %d: %.*s", end->status,
                       (int)i64_min((int64_t)n, 80), end->err);
    else if (read_table(c, &err) < 0)
        text_fit(c->reason, sizeof c->reason, err.text);
    else
        c->state = CALIBRATE_DONE;
    if (c->state == CALIBRATE_DONE)
        c->reason[0] = '\0';
    c->changed(c->arg);
}

static int find_script(char *path, size_t size, struct err *err)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    char *slash;

    if (n < 0)
        return err_set(err, E_IO, "where this program stands: %s", strerror(errno));
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    for (size_t i = 0; slash && i < ARRAY_SIZE(script_places); i++) {
        int len =
            snprintf(path, size, "%.*s%s", (int)(slash - exe) + 1, exe, script_places[i]);

        if (len > 0 && (size_t)len < size && access(path, R_OK) == 0)
            return 0;
    }
    return err_set(err, E_NOTFOUND,
                   "elastane/calibrate.py is not installed beside elastaned");
}

int calibrate_start(struct calibrate *c, int32_t n_free, struct err *err)
{
    const char *argv[] = {PYTHON, "-P", NULL, "--sizes", NULL, "--output", c->path, NULL};
    char script[PATH_MAX];
    char sizes[64] = "";
    int rc;

    if (c->state == CALIBRATE_RUNNING)
        return err_set(err, E_BUSY, "a calibration is running already");
    if (n_free < 2)
        return err_set(err, E_BUSY, "needs 2 free devices, %d free now", n_free);
    rc = find_script(script, sizeof script, err);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < ARRAY_SIZE(sizes_tried) && sizes_tried[i] <= n_free; i++) {
        size_t n = strlen(sizes);

        (void)snprintf(sizes + n, sizeof sizes - n, "%s%d", i > 0 ? "," : "",
                       sizes_tried[i]);
    }
    argv[2] = script; /* -P: beside it stands our torch.py, which it does not mean */
    argv[4] = sizes;
    rc = loop_child_spawn(c->loop, argv, on_end, c, &c->child, err);
    if (rc == 0)
        c->state = CALIBRATE_RUNNING;
    return rc;
}
