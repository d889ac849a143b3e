/* SPDX-License-Identifier: Apache-2.0 */
/* upward.c - the shim's side of its talk with the daemon.
 *
 * The shim dials, again and again with a growing pause, because it must outlive daemons.
 * Nothing is queued for an absent one: after ADOPT the shim tells the present state, and
 * the daemon repeats the duties that it still has. Only the exit insists: it is sent
 * until it is acknowledged. */
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "shim/state.h"

#define DIAL_FIRST_US (50 * USEC_PER_MSEC)
#define DIAL_MAX_US   (2 * USEC_PER_SEC)
#define ACK_US        (2 * USEC_PER_SEC)
#define LEFT_BEHIND                                                                      \
    "its command has ended; processes that it left behind are waited for, no longer "    \
    "than the grace"
#define OBSERVE_BEATS 5 /* measurements are summed up over so many beats */

static void send_msg(struct shim *s, struct shim_msg *msg)
{
    uint8_t frame[FRAME_MAX];

    msg->job = s->order.job;
    msg->incarnation = s->order.incarnation;
    msg->generation = s->order.plan.generation;
    link_send(&s->daemon, frame, shim_msg_encode(msg, frame));
}

static void send_adopted(struct shim *s, struct shim_msg *msg)
{
    if (s->is_adopted)
        send_msg(s, msg);
}

static int64_t samples_trained(const struct shim *s)
{
    int64_t samples = s->counter.lines.samples;

    for (int32_t i = 0; i < s->order.n_ranks; i++) {
        const struct rank_slot *slot = page_slot(&s->page, i);

        if (s->ranks[i].has_said_hello)
            samples = i64_max(samples, i64_min(atomic_load_explicit(&slot->samples_done,
                                                                    memory_order_relaxed),
                                               TRAINED_MAX));
    }
    return samples;
}

static void exit_fields(const struct shim *s, struct shim_msg *msg)
{
    msg->cause = s->exit.cause;
    msg->exit_code = s->exit.exit_code;
    msg->rank = s->exit.rank;
    msg->micro_batch = s->exit.micro_batch;
    msg->samples_done = s->exit.samples_done;
    memcpy(msg->text, s->exit.text, sizeof(msg->text));
}

static void say_hello(struct shim *s)
{
    struct shim_msg msg = {.kind = SHIM_HELLO,
                           .version = FRAME_VERSION,
                           .phase = s->phase,
                           .pid = (int32_t)getpid(),
                           .size = s->order.plan.size,
                           .ranks_up = ranks_up(s),
                           .rank = -1,
                           .samples_done = -1};

    if (s->phase == SHIM_ENDED)
        exit_fields(s, &msg);
    else
        msg.samples_done = samples_trained(s);
    send_msg(s, &msg);
}

static void send_started(struct shim *s)
{
    struct shim_msg msg = {.kind = SHIM_STARTED, .size = s->order.plan.size};

    send_adopted(s, &msg);
}

void upward_started(struct shim *s)
{
    s->hello_us = USEC_NEVER;
    if (s->phase != SHIM_STARTING)
        return;
    shim_set_phase(s, SHIM_RUNNING);
    s->warmup.since_us = s->now_us;
    send_started(s);
}

void upward_saved(struct shim *s)
{
    struct shim_msg msg = {
        .kind = SHIM_SAVED, .step = s->agree.step, .samples_done = s->agree.samples_done};

    memcpy(msg.manifest, s->agree.manifest, sizeof(msg.manifest));
    send_adopted(s, &msg);
}

void upward_save_failed(struct shim *s, const char *text)
{
    struct shim_msg msg = {.kind = SHIM_SAVE_FAILED, .samples_done = s->saved_samples};

    shim_log(s, "save failed: %s", text);
    text_fit(msg.text, sizeof(msg.text), text);
    send_adopted(s, &msg);
}

void upward_oom(struct shim *s, int32_t index, int32_t micro_batch)
{
    struct shim_msg msg = {
        .kind = SHIM_OOM, .rank = s->order.ranks[index].rank, .micro_batch = micro_batch};

    send_adopted(s, &msg);
}

void upward_exit(struct shim *s)
{
    struct shim_msg msg = {.kind = SHIM_EXIT};

    exit_fields(s, &msg);
    send_adopted(s, &msg);
    s->ack_us = s->now_us + ACK_US;
}

bool upward_is_counted(const struct shim *s)
{
    for (int32_t i = 0; i < s->order.n_ranks; i++)
        if (s->ranks[i].has_said_hello)
            return false;
    return s->counter.lines.samples >= 0;
}

static void note_about_counter(struct shim *s)
{
    const struct counter *c = &s->counter;

    if (s->counter_note[0])
        return;
    if (c->is_no_file)
        (void)snprintf(s->counter_note, sizeof(s->counter_note),
                       "%s is no file, and is not read", ORDER_PROGRESS);
    else if (c->lines.n_bad > 0)
        (void)snprintf(s->counter_note, sizeof(s->counter_note),
                       "a line that is not SAMPLES or SAMPLES TOTAL was left out");
    else if (c->lines.n_fallen > 0)
        (void)snprintf(s->counter_note, sizeof(s->counter_note),
                       "the count fell below %lld; the largest counts until the next "
                       "start",
                       (long long)c->lines.samples);
    if (s->counter_note[0])
        shim_log(s, "progress: %s", s->counter_note);
}

/* A job that states no batch has no steps to count: each device takes one sample then. */
static int64_t samples_of_step(const struct shim *s)
{
    const struct job_plan *plan = &s->order.plan;

    return plan->global_batch > 0 ? plan->global_batch : plan->size;
}

static int32_t micro_batch_of_step(const struct shim *s)
{
    const struct job_plan *plan = &s->order.plan;

    return upward_is_counted(s) ? i32_max(1, plan->micro_batch) : plan->micro_batch;
}

static void count_window(struct shim *s, const struct counter_window *w)
{
    const struct counter *c = &s->counter;
    struct observe *observe = &s->ranks[0].observe;
    double batch = (double)samples_of_step(s);
    double step_ns = (double)w->span_us * 1e3 * batch / (double)w->samples;
    /* Nothing tells where it took up its work: the first count is taken to have come as
     * soon as any other. */
    int64_t samples =
        c->lines.samples - c->first_samples + i64_min(c->first_samples, w->samples);

    if (step_ns < 9e18)
        observe_add(observe, SHIM_OBSERVED_STEP, 0, (int64_t)step_ns);
    warmup_take(&s->warmup, c->since_us, (double)samples / batch,
                observe_step_ns(observe));
}

void upward_count(struct shim *s)
{
    struct counter_window w;

    if (counter_read(&s->counter, s->dir_fd, ORDER_PROGRESS, s->now_us, &w) &&
        upward_is_counted(s))
        count_window(s, &w);
    note_about_counter(s);
}

static void send_observations(struct shim *s, int32_t index, int64_t comm_bytes)
{
    struct observe_summary sum;

    while (observe_take(&s->ranks[index].observe, &sum)) {
        struct shim_msg msg = {.kind = SHIM_OBSERVE,
                               .size = s->order.plan.size,
                               .rank = s->order.ranks[index].rank,
                               .observed = sum.what,
                               .micro_batch = sum.micro_batch,
                               .accumulation = i32_max(1, s->order.plan.accumulation),
                               .comm_bytes = comm_bytes,
                               .count = sum.count,
                               .time_ns = sum.median_ns,
                               .is_noisy = sum.is_noisy ? 1 : 0};

        if (sum.what == SHIM_OBSERVED_STEP)
            msg.micro_batch = micro_batch_of_step(s);
        send_adopted(s, &msg);
    }
}

/* Slowest step of a rank, for the hang rule; median of rank 0's, for the display. */
static int64_t steps_of(struct shim_rank *rank)
{
    int64_t median = 0;

    for (int32_t i = 0; i < rank->observe.n_kinds; i++) {
        struct observe_kind *kind = &rank->observe.kinds[i];
        int64_t copy[OBSERVE_WINDOW];

        if (kind->what != SHIM_OBSERVED_STEP || kind->n == 0)
            continue;
        memcpy(copy, kind->time_ns, sizeof(copy));
        median = observe_median(copy, kind->n);
        rank->slowest_ns = i64_max(rank->slowest_ns, copy[kind->n - 1]);
    }
    return median;
}

/* What the counter says of the speed: only what has settled is told. */
static void put_counted(const struct shim *s, int64_t step_ns, struct shim_msg *msg)
{
    const struct observe *observe = &s->ranks[0].observe;
    bool is_settled = observe->n_kinds > 0 && observe->kinds[0].is_settled;

    msg->time_ns = 0;
    if (!is_settled || step_ns <= 0)
        return;
    msg->rate_milli = (int64_t)((double)samples_of_step(s) * 1e12 / (double)step_ns);
    if (s->order.plan.global_batch > 0)
        msg->time_ns = step_ns;
}

/* The slot as of this beat, its measurements taken. */
static void note_warm_up(struct shim *s, const struct rank_slot *slot)
{
    int64_t last_ns = atomic_load_explicit(&slot->moment_ns, memory_order_relaxed);
    int64_t n_steps = atomic_load_explicit(&slot->step, memory_order_relaxed);

    if (!upward_is_counted(s))
        warmup_take(&s->warmup, i64_min(last_ns / 1000, s->now_us), (double)n_steps,
                    observe_step_ns(&s->ranks[0].observe));
}

void upward_beat(struct shim *s)
{
    struct shim_msg msg = {.kind = SHIM_BEAT,
                           .phase = s->phase,
                           .ranks_up = ranks_up(s),
                           .step = ranks_largest_step(s)};

    upward_count(s);
    s->beats++;
    msg.samples_done = samples_trained(s);
    msg.samples_total = s->counter.lines.total;
    text_fit(msg.text, sizeof(msg.text), s->is_lingering ? LEFT_BEHIND : s->counter_note);
    for (int32_t i = 0; i < s->order.n_ranks; i++) {
        struct shim_rank *rank = &s->ranks[i];
        const struct rank_slot *slot = page_slot(&s->page, i);
        int64_t bytes = atomic_load_explicit(&slot->comm_bytes, memory_order_relaxed);
        int64_t median_ns;

        page_drain(slot, &rank->n_drained, &rank->observe);
        median_ns = steps_of(rank);
        bytes = i64_max(bytes, 0);
        msg.comm_bytes = i64_max(msg.comm_bytes, bytes);
        if (i == 0)
            note_warm_up(s, slot);
        if (i == 0 && s->warmup.lost_us > 0)
            msg.time_ns = median_ns;
        if (i == 0 && upward_is_counted(s))
            put_counted(s, median_ns, &msg);
        if (s->beats % OBSERVE_BEATS == 0)
            send_observations(s, i, bytes);
    }
    msg.warm_up_us = s->warmup.lost_us;
    send_adopted(s, &msg);
}

static void take_adopt(struct shim *s, const struct shim_msg *msg)
{
    s->daemon.peer_version = msg->version;
    s->is_adopted = true;
    if (s->phase == SHIM_ENDED)
        upward_exit(s);
    else if (s->phase == SHIM_WAITING)
        upward_saved(s);
    else if (s->phase != SHIM_STARTING && s->phase != SHIM_STOPPING)
        send_started(s);
}

static void take_refuse(struct shim *s, const struct shim_msg *msg)
{
    shim_log(s, "refused: %s", msg->text);
    s->is_refused = true;
    if (s->phase == SHIM_ENDED)
        s->is_finished = true;
    else
        group_fail(s, -1, JOB_CAUSE_LOST, 128 + 9,
                   "the daemon knows no such incarnation");
}

static bool is_for_us(const struct shim *s, const struct shim_msg *msg)
{
    return msg->job == s->order.job && msg->incarnation == s->order.incarnation;
}

static void take_order(struct shim *s, const struct shim_msg *msg)
{
    if (!is_for_us(s, msg))
        return;
    switch ((int)msg->kind) { /* an int: only the daemon's kinds are expected here */
    case SHIM_ADOPT:
        take_adopt(s, msg);
        break;
    case SHIM_REFUSE:
        take_refuse(s, msg);
        break;
    case SHIM_SAVE:
        ranks_save(s, msg->grace_us);
        break;
    case SHIM_GO_ON:
        ranks_go_on(s, "called off");
        break;
    case SHIM_STOP:
        group_stop(s, msg->grace_us);
        break;
    case SHIM_EXIT_ACK:
        if (s->phase == SHIM_ENDED)
            s->is_finished = true;
        break;
    default:
        break;
    }
}

void upward_serve(struct shim *s)
{
    struct frame frame;
    struct shim_msg msg;

    link_fill(&s->daemon);
    while (link_next(&s->daemon, &frame)) {
        int rc = shim_msg_decode(&frame, &msg);

        if (rc == 0)
            take_order(s, &msg);
        else if (rc != E_VERSION)
            link_close(&s->daemon);
    }
    if (!link_is_open(&s->daemon)) {
        shim_log(s, "the daemon has hung up");
        s->is_adopted = false;
        s->dial_delay_us = DIAL_FIRST_US;
        s->dial_us = s->now_us + DIAL_FIRST_US;
    }
}

static void dial(struct shim *s)
{
    int fd;

    s->is_adopted = false;
    if (link_dial(s->order.daemon_socket, &fd, NULL) < 0) {
        s->dial_delay_us = i64_max(DIAL_FIRST_US, s->dial_delay_us * 2);
        s->dial_delay_us = i64_min(DIAL_MAX_US, s->dial_delay_us);
        s->dial_us = s->now_us + s->dial_delay_us;
        return;
    }
    shim_log(s, "connected to the daemon");
    link_init(&s->daemon, fd);
    s->dial_delay_us = 0;
    s->dial_us = USEC_NEVER;
    say_hello(s);
}

void upward_tick(struct shim *s)
{
    if (!link_is_open(&s->daemon) && s->dial_us == USEC_NEVER && s->order.daemon_socket) {
        s->is_adopted = false;
        s->dial_us = s->now_us + DIAL_FIRST_US;
    }
    if (s->dial_us <= s->now_us)
        dial(s);
    if (s->phase == SHIM_ENDED && s->ack_us <= s->now_us)
        upward_exit(s);
    if (s->leave_us <= s->now_us) {
        shim_log(s, "nobody has taken the exit; exit.json stays");
        s->is_finished = true;
    }
}
