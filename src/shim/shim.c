/* SPDX-License-Identifier: Apache-2.0 */
/* shim.c - the life of a shim: begin, loop, end.
 *
 * Beginning, in this order: become the owner of the incarnation's directory (so that no
 * path of a user is ever touched as root, and order.json cannot choose whom we become);
 * take the lock; look whether the order was carried out before; write started.json; only
 * then fork. The kernel drops the lock when the last process that shares the descriptor
 * is gone, and ranks do not inherit it, so a lock that can be taken beside a started.json
 * means that a shim died. It lies on the directory, too: a job may clear that. What it
 * left is found by its environment and killed, by no pid that a file remembers, so a
 * reboot needs no case of its own.
 *
 * The loop is ppoll over a signalfd, the channel, the daemon and the ranks. All timers
 * are moments in struct shim; the next one bounds the wait. */
#include "shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "shim/port.h"
#include "shim/process.h"
#include "shim/record.h"
#include "shim/state.h"
#include "shim/tidy.h"

#define HELLO_WAIT_US USEC_PER_MIN /* for all ranks of an elastic job */
#define SWEEP_ROUNDS  20
#define SWEEP_WAIT_NS 10000000 /* between two rounds */

static usec_t clock_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (usec_t)t.tv_sec * USEC_PER_SEC + t.tv_nsec / 1000;
}

void shim_log(const struct shim *s, const char *fmt, ...)
{
    struct timespec t;
    struct tm tm;
    char when[32];
    va_list args;

    if (!s->log)
        return;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    (void)gmtime_r(&t.tv_sec, &tm);
    (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    (void)fprintf(s->log, "%s.%03ldZ %u/%u ", when, t.tv_nsec / 1000000, s->order.job,
                  s->order.incarnation);
    va_start(args, fmt);
    (void)vfprintf(s->log, fmt, args);
    va_end(args);
    (void)fputc('\n', s->log);
    (void)fflush(s->log);
}

void shim_set_phase(struct shim *s, enum shim_phase phase)
{
    static const unsigned next[SHIM_PHASE_MAX] = {
        [SHIM_STARTING] =
            BIT(SHIM_RUNNING) | BIT(SHIM_SAVING) | BIT(SHIM_STOPPING) | BIT(SHIM_ENDED),
        [SHIM_RUNNING] = BIT(SHIM_SAVING) | BIT(SHIM_STOPPING) | BIT(SHIM_ENDED),
        [SHIM_SAVING] =
            BIT(SHIM_RUNNING) | BIT(SHIM_WAITING) | BIT(SHIM_STOPPING) | BIT(SHIM_ENDED),
        [SHIM_WAITING] = BIT(SHIM_RUNNING) | BIT(SHIM_STOPPING) | BIT(SHIM_ENDED),
        [SHIM_STOPPING] = BIT(SHIM_ENDED),
        [SHIM_ENDED] = 0,
    };

    if (phase == s->phase)
        return;
    ASSERT(next[s->phase] & BIT(phase));
    shim_log(s, "%s -> %s", shim_phase_name(s->phase), shim_phase_name(phase));
    s->phase = phase;
}

static void timers_clear(struct shim *s)
{
    s->now_us = clock_now();
    s->dial_us = s->beat_us = s->hello_us = s->save_us = USEC_NEVER;
    s->verdict_us = s->wait_us = s->grace_us = s->kill_us = USEC_NEVER;
    s->ack_us = s->leave_us = USEC_NEVER;
}

static int become_owner(int dir_fd, struct err *err)
{
    struct passwd pw;
    struct passwd *found = NULL;
    struct stat st;
    char text[4096];
    int rc;

    if (fstat(dir_fd, &st) < 0)
        return err_set(err, E_IO, "cannot look at the directory: %s", strerror(errno));
    if (geteuid() != 0)
        return st.st_uid == geteuid()
                   ? 0
                   : err_set(err, E_DENIED, "the directory belongs to somebody else");
    if (st.st_uid == 0)
        return 0;
    (void)getpwuid_r(st.st_uid, &pw, text, sizeof(text), &found);
    rc = found ? initgroups(pw.pw_name, st.st_gid) : setgroups(1, &st.st_gid);
    if (rc < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
        setresuid(st.st_uid, st.st_uid, st.st_uid) < 0)
        return err_set(err, E_DENIED, "cannot become uid %u: %s", st.st_uid,
                       strerror(errno));
    return 0;
}

static int read_order(struct shim *s, struct err *err)
{
    struct buf text;
    int rc;

    buf_init(&text, ORDER_TEXT_MAX);
    rc = record_read(s->dir_fd, ORDER_FILE, &text, err);
    if (rc == 0)
        rc = order_decode(text.text, text.len, &s->order, err);
    buf_release(&text);
    if (rc == 0 && (s->order.uid != geteuid() || s->order.gid != getegid()))
        rc = err_set(err, E_DENIED, "order.json is for uid %u, the directory is not",
                     s->order.uid);
    return rc;
}

static int open_dir(struct shim *s, const char *dir, struct err *err)
{
    s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (s->dir_fd < 0)
        return err_set(err, E_IO, "cannot open %s: %s", dir, strerror(errno));
    s->dir = realpath(dir, NULL);
    if (!s->dir)
        return err_set(err, E_IO, "cannot resolve %s: %s", dir, strerror(errno));
    return 0;
}

/* Its channel may lie elsewhere, where sockets work. */
static int name_channel(struct shim *s)
{
    const char *dir = s->order.channel_dir ? s->order.channel_dir : s->dir;
    size_t cap = strlen(dir) + sizeof("/" ORDER_CHANNEL);

    s->channel = mem_new(cap, 1);
    if (!s->channel)
        return E_NOMEM;
    (void)snprintf(s->channel, cap, "%s/" ORDER_CHANNEL, dir);
    return 0;
}

/* The directory of channel and page; *ret_fd is to be closed. */
static int open_channel_dir(const struct shim *s, int *ret_fd, struct err *err)
{
    const char *dir = s->order.channel_dir ? s->order.channel_dir : s->dir;
    struct stat st;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, E_IO, "cannot open %s: %s", dir, strerror(errno));
    if (fstat(fd, &st) < 0 || st.st_uid != geteuid()) {
        (void)close(fd);
        return err_set(err, E_DENIED, "%s belongs to somebody else", dir);
    }
    *ret_fd = fd;
    return 0;
}

/* The environment stands apart from the order, because it holds secrets. */
static int read_env(struct shim *s, struct err *err)
{
    struct buf text;
    int rc;

    if (!s->order.has_env_file)
        return 0;
    buf_init(&text, ORDER_TEXT_MAX);
    rc = record_read(s->dir_fd, ORDER_ENV, &text, err);
    if (rc == 0)
        rc = order_words_decode(&s->order.env, text.text, text.len);
    buf_release(&text);
    return rc;
}

static int write_started(struct shim *s, struct err *err)
{
    struct order_started started = {
        .job = s->order.job,
        .incarnation = s->order.incarnation,
        .shim_pid = (int32_t)getpid(),
        .shim_start_ticks = process_start_ticks(getpid()),
        .master_port = s->master_port,
    };
    struct buf text;
    int rc = record_boot_id(started.boot_id, sizeof(started.boot_id), err);

    if (rc == 0) /* the daemon does not wait for the disk */
        rc = record_sync(s->dir_fd, ORDER_FILE, err);
    if (rc < 0)
        return rc;
    buf_init(&text, 4096);
    order_started_encode(&started, &text);
    rc = buf_error(&text);
    if (rc == 0)
        rc = record_write(s->dir_fd, ORDER_STARTED, &text, err);
    buf_release(&text);
    return rc;
}

/* The shim before us is gone and its ranks with it, or they will be now. */
static void record_loss(struct shim *s, const char *why)
{
    struct timespec wait = {0, SWEEP_WAIT_NS};
    size_t n = 0;

    for (int i = 0; i < SWEEP_ROUNDS; i++) {
        size_t found = process_sweep("ELASTANE_CHANNEL", s->channel);

        n = n > found ? n : found;
        if (found == 0)
            break;
        (void)nanosleep(&wait, NULL);
    }
    s->has_exit = true;
    s->exit.cause = JOB_CAUSE_LOST;
    s->exit.rank = -1;
    (void)snprintf(s->exit.text, sizeof(s->exit.text), "%s; %zu processes killed", why,
                   n);
    group_write_exit(s);
}

static int signals_take(struct shim *s, struct err *err)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGCHLD);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error like others */
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return err_set(err, E_IO, "cannot make a signalfd: %s", strerror(errno));
    return 0;
}

static int prepare(struct shim *s, struct err *err)
{
    int dir_fd = -1;
    int rc = signals_take(s, err);

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 && rc == 0)
        rc = err_set(err, E_IO, "cannot become a subreaper: %s", strerror(errno));
    if (rc == 0)
        rc = open_channel_dir(s, &dir_fd, err);
    if (rc == 0)
        rc = page_create(&s->page, dir_fd, ORDER_PAGE, s->order.n_ranks,
                         s->order.plan.generation, err);
    if (rc == 0)
        rc = link_listen(dir_fd, ORDER_CHANNEL, &s->listen_fd, err);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    s->master_port = s->order.master_port;
    if (rc == 0 && s->order.ranks[0].rank == 0)
        rc = port_reserve(s->order.master_port, &s->master_port, &s->port_fd, err);
    return rc;
}

static int allocate(struct shim *s)
{
    s->n_commands = s->order.launch == LAUNCH_RANK ? s->order.n_ranks : 1;
    s->commands = mem_new((size_t)s->n_commands, sizeof(s->commands[0]));
    s->ranks = mem_new((size_t)s->order.n_ranks, sizeof(s->ranks[0]));
    s->told = mem_new((size_t)s->order.n_ranks, sizeof(s->told[0]));
    if (!s->ranks || !s->commands || !s->told)
        return E_NOMEM;
    return agree_init(&s->agree, s->order.n_ranks);
}

/* 0: exit.json tells how it ended. E_NOTFOUND: there is none, or (*ret_has_one) none that
 * can be read, and so nobody knows what is left. */
static int look_for_exit(const struct shim *s, bool *ret_has_one)
{
    struct order_exit record;
    struct buf text;
    int rc;

    *ret_has_one = record_exists(s->dir_fd, ORDER_EXIT);
    if (!*ret_has_one)
        return E_NOTFOUND;
    buf_init(&text, ORDER_TEXT_MAX);
    rc = record_read(s->dir_fd, ORDER_EXIT, &text, NULL);
    if (rc == 0)
        rc = order_exit_decode(text.text, text.len, &record, NULL);
    buf_release(&text);
    return rc == 0 || rc == E_NOMEM ? rc : E_NOTFOUND;
}

/* Opens, reads, locks and finds out what happened before. */
static int begin(struct shim *s, const char *dir, enum shim_begin *ret_how,
                 struct err *err)
{
    bool has_exit = false;
    int rc = open_dir(s, dir, err);

    if (rc == 0)
        rc = become_owner(s->dir_fd, err);
    if (rc == 0)
        rc = read_order(s, err);
    if (rc == 0)
        rc = name_channel(s);
    if (rc == 0)
        rc = allocate(s);
    if (rc < 0)
        return rc;
    rc = record_lock(s->dir_fd, ORDER_LOCK, &s->lock_fd, err);
    if (rc == E_BUSY) {
        *ret_how = SHIM_BEGIN_RUNNING;
        return 0;
    }
    if (rc < 0)
        return rc;
    rc = look_for_exit(s, &has_exit);
    if (rc != E_NOTFOUND) {
        *ret_how = SHIM_BEGIN_ENDED;
        return rc;
    }
    if (has_exit || record_exists(s->dir_fd, ORDER_STARTED)) {
        rc = signals_take(s, err);
        *ret_how = SHIM_BEGIN_LOST;
        if (rc == 0)
            record_loss(s, has_exit ? "exit.json cannot be read"
                                    : "its shim died or the machine was restarted");
        return rc;
    }
    rc = read_env(s, err);
    if (rc == 0)
        rc = prepare(s, err);
    if (rc == 0)
        rc = write_started(s, err);
    if (rc == 0)
        (void)unlinkat(s->dir_fd, ORDER_ENV, 0);
    *ret_how = SHIM_BEGIN_STARTED;
    return rc;
}

int shim_begin(const char *dir, FILE *log, usec_t leave_after_us, struct shim **ret,
               enum shim_begin *ret_how, struct err *err)
{
    struct shim *s = mem_new(1, sizeof(*s));
    int rc;

    if (!s)
        return E_NOMEM;
    s->log = log;
    s->dir_fd = s->lock_fd = s->signal_fd = s->listen_fd = s->port_fd = -1;
    s->leave_after_us = leave_after_us;
    s->counter = COUNTER_INIT;
    s->saved_samples = -1;
    s->done_samples = -1;
    link_init(&s->daemon, -1);
    order_init(&s->order);
    timers_clear(s);
    rc = begin(s, dir, ret_how, err);
    if (rc < 0) {
        shim_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}

void shim_free(struct shim *s)
{
    int *fds[] = {&s->dir_fd, &s->lock_fd, &s->signal_fd, &s->listen_fd, &s->port_fd};

    for (size_t i = 0; i < s->n_conns; i++) {
        link_close(&s->conns[i]->link);
        mem_free(s->conns[i]);
    }
    mem_free(s->conns);
    link_close(&s->daemon);
    for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
        if (*fds[i] >= 0)
            (void)close(*fds[i]);
    page_release(&s->page);
    agree_release(&s->agree);
    order_release(&s->order);
    mem_free(s->commands);
    mem_free(s->told);
    mem_free(s->ranks);
    mem_free(s->channel);
    free(s->dir);
    mem_free(s);
}

static usec_t next_timer(const struct shim *s)
{
    const usec_t timers[] = {s->dial_us,    s->beat_us, s->hello_us, s->save_us,
                             s->verdict_us, s->wait_us, s->grace_us, s->kill_us,
                             s->ack_us,     s->leave_us};
    usec_t next = USEC_NEVER;

    for (size_t i = 0; i < ARRAY_SIZE(timers); i++)
        next = i64_min(next, timers[i]);
    return next;
}

static void take_signals(struct shim *s)
{
    struct signalfd_siginfo info;

    while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        shim_log(s, "signal %u", info.ssi_signo);
        group_stop(s, s->order.grace_us);
    }
    group_reap(s);
}

static void tick(struct shim *s)
{
    s->now_us = clock_now();
    if (s->beat_us <= s->now_us) {
        s->beat_us = s->now_us + SHIM_BEAT_US;
        group_look(s);
        upward_beat(s);
        tidy_logs(s);
    }
    ranks_tick(s);
    group_tick(s);
    upward_tick(s);
}

static struct pollfd poll_entry(const struct link *link)
{
    short out = link->n_out > 0 ? POLLOUT : 0;

    return (struct pollfd){.fd = link->fd, .events = (short)(POLLIN | out)};
}

static void serve(struct shim *s, const struct pollfd *fds, size_t n_conns)
{
    s->now_us = clock_now();
    for (size_t i = 0; i < n_conns; i++) {
        if (fds[3 + i].revents & POLLOUT)
            link_flush(&s->conns[i]->link);
        if (fds[3 + i].revents & (POLLIN | POLLHUP | POLLERR))
            ranks_serve(s, s->conns[i]);
    }
    ranks_sweep_closed(s);
    if (fds[0].revents)
        take_signals(s);
    if (fds[1].revents & POLLIN)
        ranks_accept(s);
    if (fds[2].revents & POLLOUT)
        link_flush(&s->daemon);
    if (fds[2].revents & (POLLIN | POLLHUP | POLLERR))
        upward_serve(s);
}

static int poll_once(struct shim *s, struct pollfd *fds)
{
    usec_t next = next_timer(s);
    usec_t wait = next == USEC_NEVER ? USEC_PER_MIN : i64_max(0, next - clock_now());
    struct timespec span = {wait / USEC_PER_SEC, wait % USEC_PER_SEC * 1000};
    size_t n_conns = s->n_conns;

    fds[0] = (struct pollfd){.fd = s->signal_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->listen_fd, .events = POLLIN};
    fds[2] = poll_entry(&s->daemon);
    for (size_t i = 0; i < n_conns; i++)
        fds[3 + i] = poll_entry(&s->conns[i]->link);
    if (ppoll(fds, 3 + n_conns, &span, NULL) < 0)
        return errno == EINTR ? 0 : E_IO;
    serve(s, fds, n_conns);
    return 0;
}

static void start(struct shim *s)
{
    struct err err = {0};

    s->beat_us = s->now_us + SHIM_BEAT_US;
    if (group_start(s, &err) < 0)
        return;
    if (s->order.level == JOB_ELASTIC)
        s->hello_us = s->now_us + HELLO_WAIT_US;
    else
        upward_started(s);
}

int shim_run(struct shim *s, struct err *err)
{
    struct pollfd *fds = NULL;
    size_t cap = 0;
    int rc = 0;

    if (s->order.daemon_socket)
        s->dial_us = s->now_us;
    if (s->phase == SHIM_STARTING)
        start(s);
    while (rc == 0 && !s->is_finished) {
        void *array = fds;

        rc = mem_reserve(&array, &cap, s->n_conns + 3, sizeof(fds[0]));
        fds = array;
        if (rc == 0)
            rc = poll_once(s, fds);
        if (rc == 0)
            tick(s);
    }
    mem_free(fds);
    return rc < 0 ? err_set(err, rc, "the loop broke: %s", strerror(errno)) : 0;
}
