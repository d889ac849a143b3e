/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - duties in, folders and shims out.
 *
 * Invariants:
 *   1. elastane-shim is called only for the newest incarnation of a job that the core
 *      wants, and never while a call of ours has not been answered. Whether a call starts
 *      anything is decided by the lock in the folder.
 *   2. "It never ran" is said only after the folder was closed for good under that lock,
 *      so a shim that an earlier daemon called cannot start afterwards.
 *   3. An end is posted from what a shim or a folder says, never from silence alone.
 *   4. No timer runs while there is nobody to wait for, nor GPUs to look at.
 * After a restart a held lock confirms an incarnation, as HELLO does. One whose folder is
 * gone is given the time to dial; one that was given up all the same is refused when it
 * dials, and ends. */
#include "backend/local/local.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/local/folder.h"
#include "backend/local/local_state.h"
#include "base/assert.h"
#include "base/mem.h"
#include "base/text.h"

#define LOOK_SOON_US  (200 * USEC_PER_MSEC) /* a shim has hung up: is it gone? */
#define LOOK_LATER_US (5 * USEC_PER_SEC)    /* a shim lives and has not dialled */
#define MISS_WAIT_US  (3 * USEC_PER_SEC)    /* longer than a shim's pause to dial (2 s) */
#define SETTLE_US     (2 * USEC_PER_SEC)    /* drivers take memory back a little late */

void local_log(const struct local *l, int priority, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (l->log)
        l->log(l->arg, priority, text);
}

int local_post(struct local *l, const struct event *event, engine_answer_fn answer,
               void *arg)
{
    struct event e = *event;
    int rc;

    e.time_us = clock_now(l->clock);
    rc = engine_post(l->engine, &e, answer, arg);
    if (rc == 0 && l->kick)
        l->kick(l->arg);
    return rc;
}

bool local_wants(const struct local *l, uint32_t job, uint32_t incarnation)
{
    const struct job *j = core_find_job(engine_core(l->engine), job);

    return j && j->run.incarnation == incarnation &&
           job_state_holds_devices(j->run.state);
}

static usec_t due_us(const struct post *post)
{
    if (post->state == POST_ORDERED || post->state == POST_EXPECTED ||
        post->state == POST_SETTLING)
        return post->try_us;
    if (post->state == POST_CONNECTED)
        return post->heard_us + SHIM_LOST_US;
    return USEC_NEVER;
}

static void set_patrol(struct local *l)
{
    usec_t now_us = clock_now(l->clock);
    usec_t next_us = USEC_NEVER;

    for (size_t i = 0; i < l->posts.n; i++)
        next_us = i64_min(next_us, due_us(l->posts.items[i]));
    loop_timer_set(l->patrol,
                   next_us == USEC_NEVER ? USEC_NEVER : i64_max(0, next_us - now_us));
}

void local_look_again(struct post *post, enum post_state state, usec_t span_us)
{
    struct local *l = post->local;

    post->state = state;
    post->try_us = clock_now(l->clock) + span_us;
    set_patrol(l);
}

/* Connected, but silent: a stopped process, or one that is gone. */
static void look_at_silent(struct post *post, usec_t now_us)
{
    enum folder_sign sign = FOLDER_HELD;

    if (folder_look(post->local->jobs_fd, post->job, post->incarnation, &sign, NULL,
                    NULL) < 0 ||
        sign == FOLDER_HELD) {
        local_log(post->local, LOCAL_WARNING,
                  "job %u: its shim lives and has said nothing for 10 s", post->job);
        post->heard_us = now_us;
        return;
    }
    shims_close(post->link);
    post->link = NULL;
    local_look(post);
}

/* A shim that should have dialled has not: perhaps it cannot. */
static void mend_socket(struct local *l)
{
    struct err err = {0};

    if (shims_mend(l->shims, &err))
        local_log(l, LOCAL_WARNING, "the socket of the shims was gone; it is made anew");
    else if (err.code != 0)
        local_log(l, LOCAL_ERROR, "shims cannot dial: %s", err.text);
}

/* Again: its devices were not as it found them. */
static void end_settling(struct post *post)
{
    struct order_exit record = post->ending;

    local_end(post, &record);
    if (post->state == POST_ORDERED && post->link)
        post->state = POST_CONNECTED; /* the shim insists */
}

static void on_patrol(void *arg)
{
    struct local *l = arg;
    usec_t now_us = clock_now(l->clock);
    bool is_missed = false;

    for (size_t i = 0; i < l->posts.n; i++) {
        struct post *post = l->posts.items[i];

        if (due_us(post) > now_us)
            continue;
        if (post->state == POST_CONNECTED) {
            look_at_silent(post, now_us);
        } else if (post->state == POST_SETTLING) {
            end_settling(post);
        } else {
            local_look(post);
            is_missed = true;
        }
    }
    if (is_missed)
        mend_socket(l);
    set_patrol(l);
}

static void post_end_again(struct post *post)
{
    local_look_again(post, POST_ORDERED, LOOK_LATER_US);
}

struct end_note {
    struct local *local;
    uint32_t job;
    uint32_t incarnation;
};

/* The end is durable: the shim may leave. */
static void on_end_durable(void *arg, int rc, const struct err *err, uint32_t job)
{
    struct end_note *note = arg;
    struct shim_msg msg = {.kind = SHIM_EXIT_ACK};
    struct shims_link *link = NULL;

    (void)err;
    (void)job;
    if (rc == 0)
        link = shims_find(note->local->shims, note->job, note->incarnation);
    if (link)
        shims_send(link, &msg);
    mem_free(note);
}

/* A command may be done before anybody could say that it was started. */
static void say_started(struct post *post)
{
    const struct job *job = core_find_job(engine_core(post->local->engine), post->job);
    struct event event = {.kind = EVENT_STARTED,
                          .job = post->job,
                          .incarnation = post->incarnation,
                          .samples = -1};

    if (job && job_duty(job).kind == DUTY_START)
        (void)local_post(post->local, &event, NULL, NULL);
}

/* The last checkpoint of a job that is done says less than its end does. */
static int64_t samples_when_done(const struct post *post, int64_t samples)
{
    const struct job *job = core_find_job(engine_core(post->local->engine), post->job);

    samples = i64_max(samples, post->live.samples_done);
    return job ? i64_max(samples, job->run.samples_done) : samples;
}

static void post_end(struct post *post, const struct order_exit *record)
{
    struct local *l = post->local;
    struct end_note *note = mem_new(1, sizeof(*note));
    struct event event = {
        .kind = EVENT_EXIT,
        .job = post->job,
        .incarnation = post->incarnation,
        .cause = record->cause,
        .exit_code = record->exit_code,
        .samples = record->samples_done,
    };

    (void)snprintf(event.node.name, sizeof(event.node.name), "%s", l->ordering.node);
    text_fit(event.text, sizeof(event.text), record->text);
    if (record->cause == JOB_CAUSE_DONE) {
        say_started(post);
        event.samples = samples_when_done(post, record->samples_done);
    }
    if (note)
        *note = (struct end_note){l, post->job, post->incarnation};
    if (!note || local_post(l, &event, on_end_durable, note) < 0) {
        mem_free(note);
        post_end_again(post);
        return;
    }
    post->state = POST_ENDED;
}

void local_end(struct post *post, const struct order_exit *record)
{
    usec_t now_us = clock_now(post->local->clock);
    bool is_last;

    if (post->settle_us == 0)
        post->settle_us = now_us + SETTLE_US;
    is_last = now_us >= post->settle_us;
    if (!devices_are_left(post->local->devices, post->job, is_last) && !is_last) {
        post->ending = *record;
        local_look_again(post, POST_SETTLING, LOOK_SOON_US);
        return;
    }
    post_end(post, record);
}

/* Makes sure that nobody takes the order any more; false: that is tried again. */
static bool close_folder(struct post *post, const struct order_exit *record)
{
    struct err err = {0};
    int rc = folder_close(post->local->jobs_fd, record, &err);

    if (rc == 0 || rc == E_NOTFOUND)
        return true;
    local_log(post->local, LOCAL_WARNING, "job %u: %s", post->job, err.text);
    local_look_again(post, POST_ORDERED, LOOK_SOON_US);
    return false;
}

void local_refuse_start(struct post *post, const char *why)
{
    struct order_exit record = {.job = post->job,
                                .incarnation = post->incarnation,
                                .generation = post->duty.plan.generation,
                                .cause = JOB_CAUSE_DEVICE_BUSY,
                                .rank = -1,
                                .samples_done = -1};

    text_fit(record.text, sizeof(record.text), why);
    if (!close_folder(post, &record))
        return;
    local_log(post->local, LOCAL_WARNING, "job %u is not started: %s", post->job, why);
    post_end(post, &record);
}

/* Nobody has the incarnation and nobody will. */
static void close_unstarted(struct post *post)
{
    struct order_exit record = {.job = post->job,
                                .incarnation = post->incarnation,
                                .generation = post->duty.plan.generation,
                                .rank = -1,
                                .samples_done = -1};
    bool was_stopped = post->duty.kind == DUTY_STOP;

    record.cause = was_stopped ? JOB_CAUSE_STOPPED : JOB_CAUSE_LOST;
    (void)snprintf(record.text, sizeof(record.text), "%s",
                   was_stopped ? "stopped before it was started"
                               : "no trace of its processes was found");
    if (close_folder(post, &record))
        local_end(post, &record);
}

/* Held: a shim lives, though it may be frozen and say nothing for longer than the core
 * waits after a restart. Its devices must not be given to another meanwhile. */
static void say_held(struct post *post)
{
    const struct job *job = core_find_job(engine_core(post->local->engine), post->job);
    struct event event = {.kind = EVENT_ADOPTED,
                          .job = post->job,
                          .incarnation = post->incarnation,
                          .samples = -1};

    if (job && job->run.is_unconfirmed)
        (void)local_post(post->local, &event, NULL, NULL); /* the next look repeats it */
}

/* An incarnation that may have begun and has no folder: somebody has removed it. A shim
 * that lives will dial, so that is waited for, once, before the devices are given on. */
static bool may_dial(struct post *post)
{
    if (post->was_missed || (!post->is_recovered && post->heard_us == 0))
        return false;
    post->was_missed = true;
    local_look_again(post, POST_EXPECTED, MISS_WAIT_US);
    return true;
}

static void look_failed(struct post *post, const struct err *err)
{
    local_log(post->local, LOCAL_ERROR, "job %u, incarnation %u: %s", post->job,
              post->incarnation, err->text);
    local_look_again(post, POST_ORDERED, LOOK_LATER_US);
}

void local_look(struct post *post)
{
    struct local *l = post->local;
    enum folder_sign sign = FOLDER_EMPTY;
    struct order_exit record = {0};
    struct err err = {0};

    ASSERT(!post->link);
    if (post->child)
        return; /* its answer is awaited */
    if (!local_wants(l, post->job, post->incarnation)) {
        post->state = POST_ENDED;
        return;
    }
    if (folder_look(l->jobs_fd, post->job, post->incarnation, &sign, &record, &err) < 0) {
        look_failed(post, &err);
        return;
    }
    switch (sign) {
    case FOLDER_ENDED:
        local_end(post, &record);
        break;
    case FOLDER_HELD:
        say_held(post);
        local_look_again(post, POST_EXPECTED, LOOK_LATER_US);
        break;
    case FOLDER_BROKEN: /* the shim ends what is left, and reports */
        starter_call(post);
        break;
    case FOLDER_EMPTY:
    case FOLDER_ORDERED:
        if (sign == FOLDER_EMPTY && may_dial(post))
            break;
        if (post->duty.kind == DUTY_START)
            starter_start(post);
        else
            close_unstarted(post);
        break;
    }
}

/* What an incarnation that is over must not leave. */
static void tidy(const struct post *post)
{
    const struct local *l = post ? post->local : NULL;

    if (!post || post->incarnation == 0)
        return;
    folder_drop_env(l->jobs_fd, post->job, post->incarnation);
    if (l->ordering.run_dir)
        folder_drop_channel(l->ordering.run_dir, post->job, post->incarnation);
}

static void perform(void *ctx, const struct core *core, const struct job *job,
                    const struct duty *duty)
{
    struct local *l = ctx;
    struct post *post = posts_get(&l->posts, l, duty->job);

    (void)core;
    (void)job;
    if (!post) { /* the duty is lost until the next one, or the next restart */
        local_log(l, LOCAL_ERROR, "job %u: out of memory", duty->job);
        return;
    }
    if (post->incarnation != duty->incarnation) {
        tidy(post);
        loop_child_drop(post->child);
        *post = (struct post){.local = l,
                              .job = duty->job,
                              .incarnation = duty->incarnation,
                              .is_recovered = !l->has_begun,
                              .live.samples_done = -1};
    }
    post->duty = *duty;
    if (!l->has_begun)
        return;
    if (post->state == POST_UNSEEN || post->state == POST_ORDERED)
        local_look(post);
    else if (post->state == POST_CONNECTED)
        talk_tell_duty(post);
}

static void forget(void *ctx, uint32_t job)
{
    struct local *l = ctx;

    tidy(posts_find(&l->posts, job));
    posts_remove(&l->posts, job);
    vault_drop(&l->vault, job);
    set_patrol(l);
}

struct engine_backend_port local_port(struct local *local)
{
    return (struct engine_backend_port){
        .ctx = local, .perform = perform, .forget = forget};
}

void local_attach(struct local *l, struct engine *engine)
{
    l->engine = engine;
}

void local_begin(struct local *l)
{
    l->has_begun = true;
    vault_sweep(&l->vault, engine_core(l->engine));
    devices_begin(l->devices);
    for (size_t i = 0; i < l->posts.n; i++)
        if (l->posts.items[i]->state == POST_UNSEEN)
            local_look(l->posts.items[i]);
}

int local_check_folders(const struct local *l, struct err *err)
{
    uint32_t next = core_globals(engine_core(l->engine))->next_job;
    uint32_t newest = 0;
    int rc = folder_newest_job(l->jobs_fd, &newest, err);

    if (rc < 0 || newest < next)
        return rc;
    return err_field(err, E_CORRUPT, "journal",
                     "is older than the folders of its jobs: it ends before job %u, but "
                     "jobs/%u exists; restore the newest state.db, or move jobs/ away",
                     next, newest);
}

bool local_get_live(const struct local *l, uint32_t job, struct local_live *ret)
{
    const struct post *post = posts_find(&l->posts, job);

    if (!post || post->state != POST_CONNECTED)
        return false;
    *ret = post->live;
    return true;
}

int local_jobs_fd(const struct local *l)
{
    return l->jobs_fd;
}

static void on_calibrated(void *arg)
{
    struct local *l = arg;

    local_log(l, l->calibrate.state == CALIBRATE_DONE ? LOCAL_INFO : LOCAL_WARNING,
              "calibration %s%s%s", calibrate_state_name(l->calibrate.state),
              l->calibrate.reason[0] ? ": " : "", l->calibrate.reason);
    l->kick(l->arg); /* those who wait for it are looked after */
}

/* Shims that were started while sockets lay in the state dial there. */
static void lead_to_sockets(const struct local *l)
{
    char target[PATH_MAX];
    char path[PATH_MAX];
    struct stat st;

    (void)snprintf(path, sizeof(path), "%s/shim.sock", l->ordering.state_dir);
    if (lstat(path, &st) == 0 && (S_ISLNK(st.st_mode) || l->ordering.run_dir))
        (void)unlink(path);
    if (!l->ordering.run_dir)
        return;
    (void)snprintf(target, sizeof(target), "%s/shim.sock", l->ordering.run_dir);
    (void)symlink(target, path); /* best effort: newer ones know the place itself */
}

static int open_shims(struct local *l, struct err *err)
{
    const char *dir = l->ordering.run_dir ? l->ordering.run_dir : l->ordering.state_dir;
    size_t cap = strlen(dir) + sizeof("/shim.sock");
    char *path = mem_new(cap, 1);

    if (!path)
        return err_set(err, E_NOMEM, "out of memory");
    (void)snprintf(path, cap, "%s/shim.sock", dir);
    l->ordering.daemon_socket = path;
    lead_to_sockets(l);
    return shims_open(l->loop, path, &local_talk, l, &l->shims, err);
}

int local_new(const struct local_options *o, struct local **ret, struct err *err)
{
    struct local *l = mem_new(1, sizeof(*l));
    int rc = 0;

    if (!l)
        return err_set(err, E_NOMEM, "out of memory");
    *l = (struct local){.loop = o->loop,
                        .clock = o->clock,
                        .jobs_fd = -1,
                        .vault.dir_fd = -1,
                        .kick = o->kick,
                        .log = o->log,
                        .arg = o->arg};
    l->shim = mem_text(o->shim);
    l->ordering.state_dir = mem_text(o->state_dir);
    l->ordering.node = mem_text(o->node);
    l->ordering.pace = o->pace ? mem_text(o->pace) : NULL;
    l->ordering.run_dir = o->run_dir ? mem_text(o->run_dir) : NULL;
    l->ordering.devices = o->devices;
    l->ordering.log_keep_bytes = o->log_keep_bytes;
    l->ordering.gpus = o->gpus.list;
    l->ordering.n_gpus = o->gpus.n;
    l->devices = devices_new(l, &o->gpus);
    l->patrol = loop_timer_new(o->loop, on_patrol, l);
    if (!l->shim || !l->ordering.state_dir || !l->ordering.node || !l->patrol ||
        !l->devices || (o->pace && !l->ordering.pace) ||
        (o->run_dir && !l->ordering.run_dir))
        rc = err_set(err, E_NOMEM, "out of memory");
    l->ordering.vault = &l->vault;
    if (rc == 0)
        rc = folder_open_jobs(o->state_dir, &l->jobs_fd, err);
    if (rc == 0)
        rc = vault_open(&l->vault, o->state_dir, err);
    if (rc == 0)
        rc = open_shims(l, err);
    if (rc == 0 && calibrate_init(&l->calibrate, l->loop, l->clock, l->ordering.state_dir,
                                  on_calibrated, l) < 0)
        rc = err_set(err, E_NOMEM, "out of memory");
    if (rc < 0) {
        local_free(l);
        return rc;
    }
    *ret = l;
    return 0;
}

static void free_text(const char *text)
{
    mem_free((void *)(uintptr_t)text);
}

void local_free(struct local *l)
{
    if (!l)
        return;
    calibrate_release(&l->calibrate);
    posts_release(&l->posts);
    shims_free(l->shims);
    devices_free(l->devices);
    loop_timer_free(l->patrol);
    if (l->jobs_fd >= 0)
        (void)close(l->jobs_fd);
    vault_close(&l->vault);
    mem_free(l->shim);
    free_text(l->ordering.state_dir);
    free_text(l->ordering.run_dir);
    free_text(l->ordering.node);
    free_text(l->ordering.pace);
    free_text(l->ordering.daemon_socket);
    mem_free(l);
}

struct vault *local_vault(struct local *l)
{
    return &l->vault;
}

struct calibrate *local_calibrate(struct local *l)
{
    return &l->calibrate;
}
