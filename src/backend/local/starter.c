/* SPDX-License-Identifier: Apache-2.0 */
/* starter.c - writes an order and calls elastane-shim.
 *
 * The call is answered within milliseconds: the shim in the background has the order in
 * writing then, and says HELLO by itself. What fails for want of space, processes or
 * memory is tried again at growing intervals, a few times; what a shim refuses with a
 * sentence is final, and the job's owner reads that sentence. */
#include <stdio.h>
#include <string.h>

#include "backend/local/folder.h"
#include "backend/local/local_state.h"
#include "base/mem.h"
#include "base/text.h"

#define RETRY_FIRST_US (500 * USEC_PER_MSEC) /* doubled with each */
#define STARTER_TRIES  6                     /* 32 s in all */
#define HELLO_WAIT_US  (2 * USEC_PER_SEC)    /* after the answer, before we look */

static void give_up(struct post *post, const char *why)
{
    struct order_exit record = {.job = post->job,
                                .incarnation = post->incarnation,
                                .generation = post->duty.plan.generation,
                                .cause = JOB_CAUSE_LOST,
                                .rank = -1,
                                .samples_done = -1};

    if (post->duty.kind == DUTY_START) {
        record.cause = JOB_CAUSE_START_FAILED;
        record.exit_code = 126;
    }
    text_fit(record.text, sizeof(record.text), why);
    local_log(post->local, LOCAL_WARNING, "job %u cannot be started: %s", post->job, why);
    local_end(post, &record);
}

static void try_again(struct post *post, const char *why)
{
    if (post->tries >= STARTER_TRIES) {
        give_up(post, why);
        return;
    }
    local_log(post->local, LOCAL_WARNING, "job %u: %s; trying again", post->job, why);
    local_look_again(post, POST_ORDERED, RETRY_FIRST_US << post->tries);
    post->tries++;
}

/* What the shim said on standard error, without its name and line end. */
static void sentence(const char *said, char *ret, size_t cap)
{
    static const char name[] = "elastane-shim: ";

    if (text_starts_with(said, name))
        said += sizeof(name) - 1;
    if (said[0] == '\0')
        said = "elastane-shim failed";
    text_fit_printf(ret, cap, "%.*s", (int)strcspn(said, "\n"), said);
}

static void on_child(void *arg, const struct loop_child_end *end)
{
    struct post *post = arg;
    char why[SHIM_TEXT_BYTES];

    post->child = NULL;
    if (post->state != POST_SPAWNING)
        return; /* its HELLO came first */
    if (end->status == 0 && end->signo == 0) {
        bool has_ended = text_starts_with(end->out, "already-ended");

        post->tries = 0;
        local_look_again(post, POST_EXPECTED, has_ended ? 0 : HELLO_WAIT_US);
        return;
    }
    sentence(end->err, why, sizeof(why));
    if (end->signo)
        try_again(post, "elastane-shim was killed");
    else
        give_up(post, why);
}

void starter_call(struct post *post)
{
    struct local *l = post->local;
    size_t cap = strlen(l->ordering.state_dir) + FOLDER_PATH_BYTES + 2;
    char *dir = mem_new(cap, 1);
    char path[FOLDER_PATH_BYTES];
    const char *argv[] = {l->shim, "--dir", dir, NULL};
    struct err err = {0};
    int rc = dir ? 0 : err_set(&err, E_NOMEM, "out of memory");

    if (rc == 0) {
        (void)snprintf(dir, cap, "%s/%s", l->ordering.state_dir,
                       folder_path(post->job, post->incarnation, path));
        post->state = POST_SPAWNING;
        rc = loop_child_spawn(l->loop, argv, on_child, post, &post->child, &err);
    }
    mem_free(dir);
    if (rc < 0)
        try_again(post, err.text);
}

void starter_start(struct post *post)
{
    struct local *l = post->local;
    const struct core *core = engine_core(l->engine);
    const struct job *job = core_find_job(core, post->job);
    char why[SHIM_TEXT_BYTES];
    struct order order;
    struct err err = {0};
    int rc;

    if (!devices_may_start(l->devices, post->job, why, sizeof(why))) {
        local_refuse_start(post, why);
        return;
    }
    rc = ordering_make(&l->ordering, core, job, &post->duty, &order, &err);
    if (rc < 0 && rc != E_NOMEM && rc != E_IO) {
        give_up(post, err.text);
        return;
    }
    if (rc == 0) {
        rc = folder_make(l->jobs_fd, &order, &err);
        if (rc == E_NOTFOUND && folder_renew(l->jobs_fd, "jobs", NULL) == 0)
            rc = folder_make(l->jobs_fd, &order, &err);
        if (rc == 0 && order.channel_dir)
            rc = folder_make_channel(&order, &err);
        order_release(&order);
    }
    if (rc < 0)
        try_again(post, err.text);
    else
        starter_call(post);
}
