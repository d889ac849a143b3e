/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - the processes of an incarnation, from fork to the last wait.
 *
 * A command is what we start: the process of one rank, or, when the job's own launcher
 * starts the ranks, the one process of that launcher.
 *
 * Four ways lead out. All commands end with 0: done; what they leave behind gets the
 * grace and is then killed. One fails: the others are killed at once, because their peer
 * is gone and their devices are needed. A stop is asked for: the ranks are told, over the
 * channel where they have one, by SIGTERM to the trainer where they have not, and what is
 * left after the grace is killed. The daemon refuses us: everything is killed.
 *
 * Invariants:
 *   1. The first failure is the cause; what follows from it is not.
 *   2. exit.json is written once, when waitpid() has said that no child is left.
 *   3. SIGTERM goes to one process per rank, its trainer, and once. */
#include "shim/state.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/text.h"
#include "shim/process.h"
#include "shim/rank_argv.h"
#include "shim/rank_env.h"
#include "shim/record.h"
#include "shim/trainer.h"

#define LINGER_STOP_US  USEC_PER_SEC /* what a stopped command leaves behind */
#define KILL_ROUND_US   (50 * USEC_PER_MSEC)
#define HANG_DEFAULT_US USEC_PER_MIN
#define HANG_FACTOR     10
#define NSEC_PER_USEC   1000

/* The directory may be the user's: a pipe of that name must not make us wait. */
static int log_open(const struct shim *s, int32_t rank, struct err *err)
{
    const char *dir = s->order.log_dir ? s->order.log_dir : s->dir;
    struct stat st;
    char name[32];
    int dir_fd;
    int fd = -1;

    if (mkdir(dir, 0700) < 0 && errno != EEXIST)
        return err_set(err, E_IO, "cannot make %s: %s", dir, strerror(errno));
    dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(name, sizeof(name), "rank-%d.log", rank);
    if (dir_fd >= 0) {
        fd = openat(dir_fd, name,
                    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                    0640);
        (void)close(dir_fd);
    }
    if (fd < 0)
        return err_set(err, E_IO, "cannot open %s/%s: %s", dir, name, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fcntl(fd, F_SETFL, O_APPEND) == 0)
        return fd;
    (void)close(fd);
    return err_set(err, E_IO, "%s/%s is not a file", dir, name);
}

static bool is_one_per_rank(const struct shim *s)
{
    return s->order.launch == LAUNCH_RANK;
}

const struct shim_command *group_command_of(const struct shim *s, int32_t index)
{
    return &s->commands[is_one_per_rank(s) ? index : 0];
}

/* "rank 3", or "the command" where one starts all ranks. */
struct who {
    char text[24];
};

static struct who who_is(const struct shim *s, int32_t command)
{
    struct who who = {"the command"};

    if (is_one_per_rank(s))
        (void)snprintf(who.text, sizeof(who.text), "rank %d",
                       s->order.ranks[command].rank);
    return who;
}

/* The rank to name in a failure of the command; -1: none. */
static int32_t rank_index(const struct shim *s, int32_t command)
{
    return is_one_per_rank(s) ? command : -1;
}

static int command_start(struct shim *s, int32_t index, int *ret_errno, struct err *err)
{
    struct process_order order = {.cwd = s->order.cwd};
    struct order_words env = {0};
    struct order_words argv = {0};
    int rc = rank_env_build(&s->order, index, s->master_port, s->dir, &env);

    *ret_errno = 0;
    if (rc == 0)
        rc = rank_argv_build(&s->order, s->master_port, &argv);
    if (rc < 0) {
        rc = err_set(err, rc, "its words or its environment are too large");
        goto out;
    }
    order.argv = argv.words;
    order.env = env.words;
    order.log_fd = log_open(s, s->order.ranks[index].rank, err);
    rc = order.log_fd;
    if (order.log_fd >= 0) {
        rc = process_spawn(&order, &s->commands[index].pid, ret_errno, err);
        (void)close(order.log_fd);
    }
out:
    rank_env_release(&env);
    rank_env_release(&argv);
    return rc;
}

int group_start(struct shim *s, struct err *err)
{
    for (int32_t i = 0; i < s->n_commands; i++) {
        int why;
        int rc = command_start(s, i, &why, err);

        if (rc < 0) {
            for (int32_t j = i; j < s->n_commands; j++)
                s->commands[j].has_ended = true;
            group_fail(s, rank_index(s, i), JOB_CAUSE_START_FAILED,
                       why == ENOENT ? 127 : 126, "%s", err->text);
            return rc;
        }
        shim_log(s, "%s runs as pid %d from device %d on", who_is(s, i).text,
                 (int)s->commands[i].pid, s->order.ranks[i].device);
    }
    return 0;
}

void group_kill(struct shim *s)
{
    s->is_killing = true;
    s->kill_us = s->now_us;
    s->grace_us = USEC_NEVER;
}

void group_fail(struct shim *s, int32_t index, enum job_cause cause, int32_t exit_code,
                const char *fmt, ...)
{
    va_list args;

    if (s->phase == SHIM_ENDED)
        return;
    if (!s->has_exit) {
        s->has_exit = true;
        s->exit.cause = cause;
        s->exit.exit_code = exit_code;
        s->exit.rank = index < 0 ? -1 : s->order.ranks[index].rank;
        va_start(args, fmt);
        text_fit_vprintf(s->exit.text, sizeof(s->exit.text), fmt, args);
        va_end(args);
        shim_log(s, "failed: %s", s->exit.text);
    }
    agree_end(&s->agree);
    shim_set_phase(s, SHIM_STOPPING);
    group_kill(s);
}

static void note(struct shim *s, const char *fmt, ...) ATTR_PRINTF(2, 3);

/* The first thing worth telling about an end that is not a failure. */
static void note(struct shim *s, const char *fmt, ...)
{
    va_list args;

    if (s->note[0])
        return;
    va_start(args, fmt);
    text_fit_vprintf(s->note, sizeof(s->note), fmt, args);
    va_end(args);
    shim_log(s, "%s", s->note);
}

static void term(struct shim *s, const char *who, pid_t pid)
{
    shim_log(s, "%s: SIGTERM to pid %d", who, (int)pid);
    (void)kill(pid, SIGTERM);
}

/* SIGTERM wakes the trainer of each rank that has no channel; its helpers are its own
 * business. Of a launcher the ranks are told, and itself only when there are none. */
static void term_trainers(struct shim *s)
{
    for (int32_t i = 0; is_one_per_rank(s) && i < s->n_commands; i++)
        if (!s->commands[i].has_ended && !s->ranks[i].trainer)
            term(s, who_is(s, i).text, trainer_find(s->commands[i].pid));
    if (is_one_per_rank(s) || s->commands[0].has_ended)
        return;
    s->n_told = trainer_find_ranks(s->commands[0].pid, s->channel, s->told,
                                   (size_t)s->order.n_ranks, &s->launcher);
    for (size_t i = 0; i < s->n_told; i++)
        term(s, "a rank", s->told[i]);
    if (s->n_told == 0)
        term(s, "the command", trainer_find(s->commands[0].pid));
}

static bool is_alive(pid_t pid)
{
    char state = process_state(pid);

    return state && state != 'Z';
}

/* A launcher that has lost all of its ranks and stays, or starts new ones, is told. What
 * its wrapper does when it has ended is the wrapper's business. */
static void look_for_lone_launcher(struct shim *s)
{
    bool has_ranks = s->n_told == 0;

    for (size_t i = 0; i < s->n_told; i++)
        has_ranks = has_ranks || is_alive(s->told[i]);
    if (has_ranks)
        return;
    s->n_told = 0;
    if (is_alive(s->launcher))
        term(s, "the launcher, without ranks", s->launcher);
}

void group_stop(struct shim *s, usec_t grace_us)
{
    usec_t deadline_us = s->now_us + grace_us;

    if (s->phase == SHIM_ENDED || s->is_killing)
        return;
    if (s->is_stop_asked) {
        s->grace_us = i64_min(s->grace_us, deadline_us);
        return;
    }
    shim_log(s, "stop asked for, %lld ms of grace", (long long)(grace_us / 1000));
    s->is_stop_asked = true;
    s->grace_us = deadline_us;
    s->save_us = s->verdict_us = USEC_NEVER;
    if (s->phase == SHIM_WAITING) {
        shim_set_phase(s, SHIM_STOPPING);
        ranks_tell_stop(s);
    } else if (s->agree.state != AGREE_NONE) {
        shim_set_phase(s, SHIM_STOPPING); /* what is being saved is saved to the end */
    } else if (ranks_are_connected(s) && !ranks_are_done(s)) {
        shim_set_phase(s, SHIM_STOPPING);
        ranks_prepare(s);
    } else {
        shim_set_phase(s, SHIM_STOPPING);
        ranks_tell_stop(s);
        term_trainers(s);
    }
}

static double seconds(usec_t span_us)
{
    return (double)span_us / (double)USEC_PER_SEC;
}

static void grace_is_spent(struct shim *s)
{
    int32_t missing = agree_missing(&s->agree);
    int32_t i = 0;

    s->is_grace_spent = true;
    if (missing >= 0) {
        note(s,
             s->agree.state == AGREE_ASKING
                 ? "rank %d did not acknowledge the stop notice in time and was killed; "
                   "steps since the last save are lost"
                 : "rank %d was still saving when its grace ended, and was killed",
             s->order.ranks[missing].rank);
    } else {
        while (i + 1 < s->n_commands && s->commands[i].has_ended)
            i++;
        note(s, "%s did not end within its grace after the stop notice; killed",
             who_is(s, i).text);
    }
    group_kill(s);
}

static int32_t index_of_pid(const struct shim *s, pid_t pid)
{
    for (int32_t i = 0; i < s->n_commands; i++)
        if (!s->commands[i].has_ended && s->commands[i].pid == pid)
            return i;
    return -1;
}

static bool all_have_ended(const struct shim *s)
{
    for (int32_t i = 0; i < s->n_commands; i++)
        if (!s->commands[i].has_ended)
            return false;
    return true;
}

/* A failure that nobody asked for, or one that breaks the agreement of a stop. */
static void command_failed(struct shim *s, int32_t index)
{
    struct who who = who_is(s, index);
    int status = s->commands[index].status;

    /* A launcher makes a status of its own out of a signal (R02). */
    if (!is_one_per_rank(s) && status <= 128 && s->phase == SHIM_SAVING)
        group_fail(s, -1, JOB_CAUSE_KILLED, status,
                   "the command ended with status %d while its ranks were to save",
                   status);
    else if (status > 128)
        group_fail(s, rank_index(s, index), JOB_CAUSE_KILLED, status,
                   "%s was killed by signal %d%s", who.text, status - 128,
                   status - 128 == SIGKILL ? " (out of memory?)" : "");
    else
        group_fail(s, rank_index(s, index), JOB_CAUSE_USER_ERROR, status,
                   "%s ended with status %d", who.text, status);
}

static void command_ended(struct shim *s, int32_t index)
{
    bool is_done = is_one_per_rank(s) ? s->ranks[index].is_done : ranks_are_done(s);
    int status = s->commands[index].status;
    struct who who = who_is(s, index);

    shim_log(s, "%s ended with %d", who.text, status);
    if (s->is_killing)
        return;
    if (status != 0 && !is_done &&
        (!s->is_stop_asked || (s->agree.state != AGREE_NONE && !s->is_stop_sent))) {
        command_failed(s, index);
        return;
    }
    if (status == 128 + SIGTERM && s->is_stop_asked)
        note(s, "%s does not handle SIGTERM: what it had not saved is lost", who.text);
    else if (status != 0)
        note(s, "%s ended with status %d after %s", who.text, status,
             is_done ? "its training was complete" : "the stop notice");
    ranks_gone(s, index);
}

#define COLLECT_MAX 64

/* The children that ended since we last looked. Several may have; one that a signal
 * killed is a better cause than one that noticed its peer's death. Returns whether there
 * may be more. */
static bool collect(struct shim *s, bool *ret_none_left)
{
    int32_t ended[2][COLLECT_MAX];
    int32_t n[2] = {0, 0};
    bool has_more = false;

    while (!has_more) {
        int raw;
        pid_t pid = waitpid(-1, &raw, WNOHANG);
        int32_t i = pid > 0 ? index_of_pid(s, pid) : -1;
        int by_code;

        *ret_none_left = pid < 0 && errno == ECHILD;
        if (pid <= 0)
            break;
        if (i < 0)
            continue; /* somebody's orphan */
        s->commands[i].has_ended = true;
        by_code = WIFEXITED(raw) ? 1 : 0;
        s->commands[i].status = by_code ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
        ended[by_code][n[by_code]++] = i;
        has_more = n[by_code] == COLLECT_MAX;
    }
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; i < n[k]; i++)
            command_ended(s, ended[k][i]);
    return has_more;
}

static enum job_cause cause_of_end(const struct shim *s)
{
    if (ranks_are_done(s))
        return JOB_CAUSE_DONE;
    if (!s->is_stop_asked)
        return JOB_CAUSE_DONE;
    return s->is_grace_spent ? JOB_CAUSE_KILLED : JOB_CAUSE_STOPPED;
}

/* A trainer that counts by itself, and ended as it was asked to, has saved what it
 * counted last: that is what it means to be restartable. Of any other end we have no
 * word. */
static int64_t samples_counted(struct shim *s)
{
    upward_count(s);
    return upward_is_counted(s) ? s->counter.lines.samples : -1;
}

static void fill_exit(struct shim *s)
{
    s->exit.samples_done = s->saved_samples;
    if (s->has_exit)
        return;
    s->exit.rank = -1;
    s->exit.cause = cause_of_end(s);
    if (s->exit.cause == JOB_CAUSE_DONE)
        s->exit.samples_done = i64_max(s->saved_samples, s->done_samples);
    s->exit.exit_code = 0;
    for (int32_t i = 0; i < s->n_commands && s->exit.cause != JOB_CAUSE_DONE; i++) {
        if (s->commands[i].status == 0)
            continue;
        s->exit.exit_code = s->commands[i].status;
        s->exit.rank = is_one_per_rank(s) ? s->order.ranks[i].rank : -1;
        break;
    }
    if (s->exit.cause == JOB_CAUSE_DONE ||
        (s->exit.cause == JOB_CAUSE_STOPPED && s->exit.exit_code == 0))
        s->exit.samples_done = i64_max(s->exit.samples_done, samples_counted(s));
    (void)snprintf(s->exit.text, sizeof(s->exit.text), "%s", s->note);
    s->has_exit = true;
}

void group_write_exit(struct shim *s)
{
    struct buf text;
    struct err err = {0};

    s->exit.job = s->order.job;
    s->exit.incarnation = s->order.incarnation;
    s->exit.generation = s->order.plan.generation;
    buf_init(&text, 4096);
    order_exit_encode(&s->exit, &text);
    if (buf_error(&text) < 0 || record_write(s->dir_fd, ORDER_EXIT, &text, &err) < 0)
        shim_log(s, "exit.json: %s", err.text); /* the daemon still hears of it */
    buf_release(&text);
    shim_log(s, "ended: %s, status %d, samples %lld %s", job_cause_name(s->exit.cause),
             s->exit.exit_code, (long long)s->exit.samples_done, s->exit.text);
    shim_set_phase(s, SHIM_ENDED);
    s->beat_us = s->hello_us = s->save_us = s->verdict_us = USEC_NEVER;
    s->wait_us = s->grace_us = s->kill_us = USEC_NEVER;
    s->leave_us =
        s->now_us + (s->is_refused || !s->order.daemon_socket ? 0 : s->leave_after_us);
    upward_exit(s);
}

void group_reap(struct shim *s)
{
    bool none_left = false;

    if (s->phase == SHIM_ENDED)
        return;
    while (collect(s, &none_left))
        ;
    if (!all_have_ended(s))
        return;
    if (none_left) {
        fill_exit(s);
        group_write_exit(s);
    } else if (!s->is_killing && !s->is_lingering) {
        usec_t span_us = s->is_stop_asked ? LINGER_STOP_US : s->order.grace_us;

        shim_log(s, "all commands have ended; what they left behind has %lld ms",
                 (long long)(span_us / USEC_PER_MSEC));
        s->is_lingering = true;
        s->grace_us = i64_min(s->grace_us, s->now_us + span_us);
    }
}

static uint32_t phase_of(const struct shim *s, int32_t index)
{
    return atomic_load_explicit(&page_slot(&s->page, index)->phase, memory_order_relaxed);
}

/* Ranks wait for each other, so while one evaluates, saves, compiles or has not begun,
 * its peers may stand still in the middle of a step for good reason. */
static bool all_train(const struct shim *s)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++) {
        const struct shim_rank *rank = &s->ranks[i];

        if (rank->trainer && !rank->is_done && phase_of(s, i) != RANK_PHASE_TRAIN)
            return false;
    }
    return true;
}

static void look_for_hang(struct shim *s, int32_t index)
{
    const struct rank_slot *slot = page_slot(&s->page, index);
    int64_t moment_ns = atomic_load_explicit(&slot->moment_ns, memory_order_relaxed);
    usec_t limit_us = s->order.hang_us > 0 ? s->order.hang_us : HANG_DEFAULT_US;
    usec_t slow_us = s->ranks[index].slowest_ns / NSEC_PER_USEC;
    usec_t silent_us = s->now_us - moment_ns / NSEC_PER_USEC;

    if (moment_ns <= 0)
        return;
    if (slow_us < USEC_PER_DAY)
        limit_us = i64_max(limit_us, HANG_FACTOR * slow_us);
    if (silent_us > limit_us)
        group_fail(s, index, JOB_CAUSE_KILLED, 128 + SIGKILL,
                   "rank %d made no step for %.0f s; the job hangs",
                   s->order.ranks[index].rank, seconds(silent_us));
}

/* Two looks in a row, so that a passing stop of a debugger's attach does not count. A
 * single rank harms nobody by standing still. */
static void look_for_freeze(struct shim *s, int32_t index)
{
    struct shim_rank *rank = &s->ranks[index];
    pid_t pid = rank->trainer ? rank->trainer : group_command_of(s, index)->pid;
    bool is_frozen = process_state(pid) == 'T';

    if (is_frozen && rank->was_frozen)
        group_fail(s, index, JOB_CAUSE_KILLED, 128 + SIGKILL,
                   "rank %d was stopped by a signal while its peers wait",
                   s->order.ranks[index].rank);
    rank->was_frozen = is_frozen;
}

void group_look(struct shim *s)
{
    bool must_step = s->phase == SHIM_RUNNING && all_train(s);

    look_for_lone_launcher(s);
    for (int32_t i = 0; i < s->order.n_ranks; i++) {
        if (s->phase == SHIM_ENDED || s->is_killing)
            return;
        if (group_command_of(s, i)->has_ended)
            continue;
        if (s->order.plan.size > 1)
            look_for_freeze(s, i);
        if (must_step && s->ranks[i].trainer && !s->ranks[i].is_done)
            look_for_hang(s, i);
    }
}

void group_tick(struct shim *s)
{
    if (s->phase == SHIM_ENDED)
        return;
    if (s->grace_us <= s->now_us) {
        s->grace_us = USEC_NEVER;
        if (all_have_ended(s) || ranks_are_done(s))
            group_kill(s); /* leftovers of a success are no failure */
        else
            grace_is_spent(s);
    }
    if (s->is_killing && s->kill_us <= s->now_us) {
        s->kill_us = s->now_us + KILL_ROUND_US;
        (void)process_kill_descendants();
        group_reap(s); /* nothing may be left at all */
    }
}
