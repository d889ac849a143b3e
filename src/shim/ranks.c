/* SPDX-License-Identifier: Apache-2.0 */
/* ranks.c - the worker channel.
 *
 * A connection is nobody until its HELLO names a rank of this generation; then it is that
 * rank's only one. Everything else is turned away with a sentence: an older generation, a
 * second process for a rank, anyone after completion (R13). A frame to a rank is followed
 * by raising its `notices`, because the rank looks at its page and not at its socket.
 *
 * The agreement (agree.h) serves two ends. SAVE: all save, the daemon decides, and
 * without its word training goes on after SHIM_VERDICT_US. STOP: all save, then all exit.
 */
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"
#include "base/text.h"
#include "shim/process.h"
#include "shim/state.h"

#define WAIT_US (2 * USEC_PER_SEC) /* between signs of life to waiting ranks */

static void conn_send(struct shim *s, struct shim_conn *conn, const struct rank_msg *msg)
{
    uint8_t frame[FRAME_MAX];

    link_send(&conn->link, frame, rank_msg_encode(msg, frame));
    if (conn->index >= 0)
        page_notify(&s->page, conn->index);
}

static void send_all(struct shim *s, enum rank_msg_kind kind, int64_t step,
                     const char *text)
{
    struct rank_msg msg = {.kind = kind, .step = step};

    text_fit(msg.text, sizeof(msg.text), text);
    for (size_t i = 0; i < s->n_conns; i++)
        if (s->conns[i]->index >= 0)
            conn_send(s, s->conns[i], &msg);
}

static void turn_away(struct shim *s, struct shim_conn *conn, const char *fmt, ...)
    ATTR_PRINTF(3, 4);

static void turn_away(struct shim *s, struct shim_conn *conn, const char *fmt, ...)
{
    struct rank_msg msg = {.kind = RANK_TURNED_AWAY};
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(msg.text, sizeof(msg.text), fmt, args);
    va_end(args);
    shim_log(s, "pid %d turned away: %s", (int)conn->pid, msg.text);
    conn->index = -1;
    conn_send(s, conn, &msg);
    link_close(&conn->link);
}

static struct shim_conn *conn_of(const struct shim *s, int32_t index)
{
    for (size_t i = 0; i < s->n_conns; i++)
        if (s->conns[i]->index == index && link_is_open(&s->conns[i]->link))
            return s->conns[i];
    return NULL;
}

static int32_t unconnected(const struct shim *s)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++)
        if (!conn_of(s, i))
            return i;
    return -1;
}

bool ranks_are_connected(const struct shim *s)
{
    return unconnected(s) < 0;
}

bool ranks_are_done(const struct shim *s)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++)
        if (!s->ranks[i].is_done)
            return false;
    return true;
}

int32_t ranks_up(const struct shim *s)
{
    int32_t n = 0;

    for (int32_t i = 0; i < s->order.n_ranks; i++)
        n += group_command_of(s, i)->pid > 0 && !group_command_of(s, i)->has_ended;
    return n;
}

int64_t ranks_largest_step(const struct shim *s)
{
    int64_t largest = 0;

    for (int32_t i = 0; i < s->order.n_ranks; i++) {
        int64_t step =
            atomic_load_explicit(&page_slot(&s->page, i)->step, memory_order_relaxed);

        if (step < INT64_MAX / 2) /* a rank may write nonsense */
            largest = i64_max(largest, step);
    }
    return largest;
}

void ranks_prepare(struct shim *s)
{
    agree_begin(&s->agree, ranks_largest_step(s));
    s->wait_us = s->now_us + WAIT_US;
    shim_log(s, "prepare: all ranks stop after step %lld", (long long)s->agree.step);
    send_all(s, RANK_PREPARE, s->agree.step, "");
}

void ranks_save(struct shim *s, usec_t grace_us)
{
    int32_t missing = unconnected(s);
    char text[SHIM_TEXT_BYTES];

    if (s->phase == SHIM_WAITING) {
        upward_saved(s); /* asked twice, answered twice */
        return;
    }
    if (s->phase != SHIM_STARTING && s->phase != SHIM_RUNNING)
        return;
    if (missing >= 0 || ranks_are_done(s)) {
        (void)snprintf(text, sizeof(text),
                       missing >= 0 ? "rank %d is not connected to its channel"
                                    : "training is complete",
                       missing >= 0 ? s->order.ranks[missing].rank : 0);
        upward_save_failed(s, text);
        return;
    }
    shim_set_phase(s, SHIM_SAVING);
    s->save_us = s->now_us + grace_us;
    ranks_prepare(s);
}

static void agreement_over(struct shim *s)
{
    agree_end(&s->agree);
    s->save_us = s->verdict_us = s->wait_us = USEC_NEVER;
}

void ranks_go_on(struct shim *s, const char *why)
{
    if (s->phase != SHIM_SAVING && s->phase != SHIM_WAITING)
        return;
    shim_log(s, "go on: %s", why);
    agreement_over(s);
    shim_set_phase(s, SHIM_RUNNING);
    send_all(s, RANK_GO_ON, 0, why);
}

/* The save cannot be had; the ranks train on and the daemon hears why. */
static void save_failed(struct shim *s, const char *why)
{
    ranks_go_on(s, why);
    upward_save_failed(s, why);
}

void ranks_tell_stop(struct shim *s)
{
    agreement_over(s);
    s->is_stop_sent = true;
    send_all(s, RANK_STOP, 0, "");
}

static void all_saved(struct shim *s)
{
    shim_log(s, "saved: %lld samples, %s", (long long)s->agree.samples_done,
             s->agree.manifest);
    s->save_us = USEC_NEVER;
    if (s->phase == SHIM_STOPPING) {
        ranks_tell_stop(s);
        return;
    }
    shim_set_phase(s, SHIM_WAITING);
    s->verdict_us = s->now_us + SHIM_VERDICT_US;
    upward_saved(s);
}

void ranks_gone(struct shim *s, int32_t index)
{
    char text[SHIM_TEXT_BYTES];

    if (s->agree.state == AGREE_NONE)
        return;
    if (s->phase == SHIM_STOPPING) {
        ranks_tell_stop(s); /* nobody waits for one that has left */
        return;
    }
    (void)snprintf(text, sizeof(text), "rank %d left while all were asked to save",
                   s->order.ranks[index].rank);
    save_failed(s, text);
}

void ranks_tick(struct shim *s)
{
    char text[SHIM_TEXT_BYTES];
    int32_t missing = agree_missing(&s->agree);

    if (s->save_us <= s->now_us && missing >= 0) {
        (void)snprintf(text, sizeof(text), "rank %d %s within its grace",
                       s->order.ranks[missing].rank,
                       s->agree.state == AGREE_ASKING ? "did not acknowledge the notice"
                                                      : "did not finish its save");
        save_failed(s, text);
    }
    if (s->verdict_us <= s->now_us)
        save_failed(s, "no verdict came after the save");
    if (s->wait_us <= s->now_us) {
        s->wait_us = s->now_us + WAIT_US;
        send_all(s, RANK_WAIT, s->agree.step, "");
    }
    if (s->hello_us <= s->now_us) {
        s->hello_us = USEC_NEVER;
        shim_log(s, "some ranks never said hello; they count as started");
        upward_started(s);
    }
}

static int32_t index_of_rank(const struct shim *s, int32_t rank)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++)
        if (s->order.ranks[i].rank == rank)
            return i;
    return -1;
}

static void send_plan(struct shim *s, struct shim_conn *conn)
{
    const struct order *l = &s->order;
    struct rank_msg msg = {
        .kind = RANK_PLAN,
        .rank = l->ranks[conn->index].rank,
        .generation = l->plan.generation,
        .version = FRAME_VERSION,
        .slot = conn->index,
        .size = l->plan.size,
        .global_batch = l->plan.global_batch,
        .micro_batch = l->plan.micro_batch,
        .accumulation = l->plan.accumulation,
        .base_batch = l->batch_base,
        .lr_rule = (uint32_t)l->lr_rule,
        .lr_to_ppm = l->lr_to_ppm > 0 ? l->lr_to_ppm : PPM,
        .ramp_start = l->ramp_start_samples,
        .ramp_samples = l->ramp_samples,
        .grace_us = l->grace_us,
        .restart_count = l->restart_count,
    };

    msg.lr_from_ppm = l->lr_from_ppm > 0 ? l->lr_from_ppm : msg.lr_to_ppm;
    (void)snprintf(msg.page, sizeof(msg.page), "%s", ORDER_PAGE);
    conn_send(s, conn, &msg);
}

/* Ever: a short job's first rank may have ended before the last one came. */
static bool all_have_said_hello(const struct shim *s)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++)
        if (!s->ranks[i].has_said_hello)
            return false;
    return true;
}

static void take_hello(struct shim *s, struct shim_conn *conn, const struct rank_msg *msg)
{
    int32_t index = index_of_rank(s, msg->rank);
    struct shim_rank *rank = index < 0 ? NULL : &s->ranks[index];

    conn->link.peer_version = msg->version;
    if (msg->generation != s->order.plan.generation)
        turn_away(s, conn, "generation %u is over; this is generation %u",
                  msg->generation, s->order.plan.generation);
    else if (s->phase == SHIM_ENDED || ranks_are_done(s))
        turn_away(s, conn, "the job is done");
    else if (s->phase == SHIM_STOPPING)
        turn_away(s, conn, "the job is being stopped");
    else if (!rank || group_command_of(s, index)->has_ended)
        turn_away(s, conn, "there is no rank %d here", msg->rank);
    else if (conn_of(s, index))
        turn_away(s, conn, "rank %d is pid %d already", msg->rank, (int)rank->trainer);
    else if (s->agree.state != AGREE_NONE)
        turn_away(s, conn, "a save is in progress");
    else {
        conn->index = index;
        rank->trainer = conn->pid;
        rank->has_said_hello = true;
        shim_log(s, "rank %d is pid %d", msg->rank, (int)conn->pid);
        send_plan(s, conn);
        if (s->phase == SHIM_STARTING && all_have_said_hello(s))
            upward_started(s);
    }
}

static void take_saved(struct shim *s, int32_t index, const struct rank_msg *msg)
{
    bool is_writer = s->order.ranks[index].rank == 0;

    if (is_writer)
        s->saved_samples = msg->samples_done;
    if (agree_saved(&s->agree, index, msg->step, is_writer ? msg->samples_done : -1,
                    msg->manifest))
        all_saved(s);
}

static void take_save_failed(struct shim *s, int32_t index, const struct rank_msg *msg)
{
    char text[SHIM_TEXT_BYTES];

    text_fit_printf(text, sizeof(text), "rank %d cannot save: %s",
                    s->order.ranks[index].rank, msg->text);
    shim_log(s, "%s", text);
    if (s->agree.state != AGREE_SAVING || msg->step != s->agree.step)
        return; /* a save of the trainer's own accord */
    if (s->phase == SHIM_SAVING) {
        save_failed(s, text);
    } else if (s->phase == SHIM_STOPPING) {
        /* The stop goes on all the same; its owner will read why work is lost. */
        memcpy(s->note, text, sizeof(text));
        if (agree_saved(&s->agree, index, msg->step, -1, ""))
            all_saved(s);
    }
}

static void take_done(struct shim *s, int32_t index, int64_t samples_done)
{
    s->ranks[index].is_done = true;
    s->done_samples = i64_max(s->done_samples, samples_done);
    if (s->phase == SHIM_SAVING)
        save_failed(s, "training is complete");
    else if (s->phase == SHIM_STOPPING && s->agree.state != AGREE_NONE)
        ranks_tell_stop(s);
    if (ranks_are_done(s) && s->grace_us == USEC_NEVER)
        s->grace_us = s->now_us + s->order.grace_us; /* to end in peace (R13) */
}

static void take_oom(struct shim *s, int32_t index, const struct rank_msg *msg)
{
    upward_oom(s, index, msg->micro_batch);
    s->exit.micro_batch = msg->micro_batch;
    group_fail(s, index, JOB_CAUSE_OUT_OF_MEMORY, 128 + 9,
               "rank %d ran out of memory with a micro-batch of %d",
               s->order.ranks[index].rank, msg->micro_batch);
}

static void take_from_rank(struct shim *s, struct shim_conn *conn,
                           const struct rank_msg *msg)
{
    int32_t index = conn->index;

    if (s->phase == SHIM_ENDED)
        return;               /* the last words of one that is gone */
    switch ((int)msg->kind) { /* an int: only a rank's kinds are expected here */
    case RANK_ACK:
        if (agree_ack(&s->agree, index, msg->step)) {
            shim_log(s, "all ranks stop after step %lld", (long long)s->agree.step);
            send_all(s, RANK_AGREED, s->agree.step, "");
        }
        break;
    case RANK_LATE:
        if (agree_late(&s->agree, msg->step)) {
            shim_log(s, "rank %d is late; step raised to %lld",
                     s->order.ranks[index].rank, (long long)s->agree.step);
            send_all(s, RANK_PREPARE, s->agree.step, "");
        }
        break;
    case RANK_SAVED:
        take_saved(s, index, msg);
        break;
    case RANK_SAVE_FAILED:
        take_save_failed(s, index, msg);
        break;
    case RANK_RESUMED:
        if (s->order.ranks[index].rank == 0)
            s->saved_samples = msg->samples_done;
        break;
    case RANK_DONE:
        take_done(s, index, msg->samples_done);
        break;
    case RANK_OOM:
        take_oom(s, index, msg);
        break;
    default:
        break;
    }
}

void ranks_accept(struct shim *s)
{
    void *conns = s->conns;
    struct shim_conn *conn;
    uid_t uid = 0;
    pid_t pid = 0;
    int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    if (link_peer(fd, &pid, &uid) < 0 || (uid != getuid() && uid != 0) ||
        s->n_conns >= SHIM_CONNS_MAX ||
        mem_reserve(&conns, &s->cap_conns, s->n_conns + 1, sizeof(s->conns[0])) < 0) {
        (void)close(fd);
        return;
    }
    s->conns = conns;
    conn = mem_new(1, sizeof(*conn));
    if (!conn) {
        (void)close(fd);
        return;
    }
    link_init(&conn->link, fd);
    conn->index = -1;
    conn->pid = pid;
    s->conns[s->n_conns++] = conn;
}

void ranks_serve(struct shim *s, struct shim_conn *conn)
{
    struct frame frame;
    struct rank_msg msg;

    link_fill(&conn->link);
    while (link_next(&conn->link, &frame)) {
        int rc = rank_msg_decode(&frame, &msg);

        if (rc == E_VERSION)
            continue; /* newer than we are: nothing that we must know */
        if (rc < 0) {
            link_close(&conn->link);
            break;
        }
        if (conn->index >= 0)
            take_from_rank(s, conn, &msg);
        else if (msg.kind == RANK_HELLO && link_is_open(&conn->link))
            take_hello(s, conn, &msg);
    }
}

void ranks_sweep_closed(struct shim *s)
{
    size_t kept = 0;
    size_t n = s->n_conns;
    int32_t gone = -1;

    for (size_t i = 0; i < n; i++) {
        struct shim_conn *conn = s->conns[i];

        if (link_is_open(&conn->link)) {
            s->conns[kept++] = conn;
            continue;
        }
        if (conn->index >= 0) {
            s->ranks[conn->index].trainer = 0;
            if (!process_is_ending(conn->pid)) /* else its end will tell why (R02) */
                gone = conn->index;
        }
        mem_free(conn);
    }
    s->n_conns = kept;
    if (gone >= 0 && !s->is_killing)
        ranks_gone(s, gone);
}
