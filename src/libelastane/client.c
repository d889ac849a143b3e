/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - a rank's side of the worker channel (docs/protocol.md, section 3).
 *
 * A step costs some stores to the shared page and one reading of the clock. Only when the
 * shim has raised `notices`, or once a second to notice its death, is the socket looked
 * at. Waiting is done in two places only, both inside a save that was asked for:
 *
 *     step S reached, not yet AGREED   (some rank may still say LATE, and S may rise)
 *     saved, no verdict yet
 *
 * Invariants:
 *   1. A rank that acknowledged S never passes it alone: from S on it waits for AGREED, a
 *      larger S, GO_ON or STOP. Ten seconds without any sign: it saves and ends.
 *   2. PREPARE(S) is acknowledged only while S still lies ahead of the place where the
 *      rank stops, which is inside elastane_step() after step S.
 *   3. Nothing here writes to the host's streams, and no signal is raised by a dead peer.
 */
#include "libelastane/client.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"

#define LOOK_NS        ((int64_t)1000000000) /* the socket is looked at this often */
#define PATIENCE_MS    10000 /* without a sign from the shim, while waiting */
#define NSEC_PER_MSEC  1000000
#define LOCAL_RANK_MAX (1 << 20)
#define PAGE_SLOTS_MAX (1 << 16)

static int64_t clock_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void say(struct elastane *e, const char *text)
{
    (void)snprintf(e->message, sizeof(e->message), "%s", text);
}

static void drop_page(struct elastane *e)
{
    if (e->page)
        (void)munmap(e->page, e->page_len);
    e->page = NULL;
    e->slot = NULL;
}

static void drop_channel(struct elastane *e)
{
    if (e->fd >= 0)
        (void)close(e->fd);
    e->fd = -1;
}

int client_disable(struct elastane *e, const char *why)
{
    e->mode = ELASTANE_DISABLED;
    e->stop_step = -1;
    e->is_held = e->is_stopping = false;
    say(e, why);
    drop_channel(e);
    drop_page(e);
    return ELASTANE_CONTINUE;
}

bool client_is_live(struct elastane *e)
{
    if (e->mode != ELASTANE_CONNECTED)
        return false;
    if (e->token && *(volatile uint64_t *)e->token == 0) {
        (void)client_disable(e, "a child made by fork() has no channel");
        return false;
    }
    return true;
}

/* Frames are small and few, so a full socket means a shim that does not read; waiting for
 * it a little is all that can be done. */
static void send_msg(struct elastane *e, const struct rank_msg *msg)
{
    uint8_t frame[FRAME_MAX];
    size_t n = rank_msg_encode(msg, frame);
    size_t done = 0;

    frame_speak(frame, e->peer_version);
    while (e->fd >= 0 && done < n) {
        struct pollfd p = {.fd = e->fd, .events = POLLOUT};
        ssize_t sent = send(e->fd, frame + done, n - done, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0)
            done += (size_t)sent;
        else if (errno == EAGAIN && poll(&p, 1, PATIENCE_MS) > 0)
            continue;
        else if (errno != EINTR)
            drop_channel(e);
    }
}

static void send_step(struct elastane *e, enum rank_msg_kind kind, int64_t step)
{
    struct rank_msg msg = {.kind = kind, .step = step};

    send_msg(e, &msg);
}

static void take_prepare(struct elastane *e, int64_t step, int64_t first_possible)
{
    if (step < first_possible) {
        send_step(e, RANK_LATE, e->step);
        return;
    }
    e->stop_step = step;
    e->is_agreed = false;
    send_step(e, RANK_ACK, step);
}

static void take_plan(struct elastane *e, const struct rank_msg *msg)
{
    e->plan.generation = msg->generation;
    e->plan.rank = msg->rank;
    e->plan.size = msg->size;
    e->plan.global_batch =
        msg->global_batch > 0 ? msg->global_batch : e->plan.global_batch;
    e->plan.micro_batch = msg->micro_batch;
    e->plan.accumulation = msg->accumulation > 0 ? msg->accumulation : 1;
    e->plan.base_batch = msg->base_batch;
    e->plan.lr_rule = (int32_t)msg->lr_rule;
    e->plan.lr_from_ppm = msg->lr_from_ppm;
    e->plan.lr_to_ppm = msg->lr_to_ppm;
    e->plan.ramp_start = msg->ramp_start;
    e->plan.ramp_samples = msg->ramp_samples;
    e->plan.grace_us = msg->grace_us;
    e->plan.restart_count = msg->restart_count;
}

static void take(struct elastane *e, const struct rank_msg *msg, int64_t first_possible)
{
    switch ((int)msg->kind) { /* an int: only the shim's kinds are expected here */
    case RANK_PREPARE:
        take_prepare(e, msg->step, first_possible);
        break;
    case RANK_AGREED:
        e->is_agreed = msg->step == e->stop_step;
        break;
    case RANK_GO_ON:
        e->stop_step = -1;
        e->is_agreed = e->is_held = false;
        say(e, msg->text);
        break;
    case RANK_STOP:
        e->is_stopping = true;
        break;
    case RANK_TURNED_AWAY:
        e->mode = ELASTANE_TURNED_AWAY;
        say(e, msg->text);
        break;
    default:
        break;
    }
}

static void take_frames(struct elastane *e, int64_t first_possible)
{
    struct rank_msg msg;
    struct frame frame;
    int rc;

    while ((rc = frame_reader_next(&e->reader, &frame)) > 0)
        if (rank_msg_decode(&frame, &msg) == 0)
            take(e, &msg, first_possible);
    if (rc < 0)
        drop_channel(e);
}

/* Takes what is there, beginning with what came along with the plan. The shim's end:
 * nobody supervises us any longer, and the devices may be given away, so the loop is to
 * end. */
static void receive(struct elastane *e, int64_t first_possible)
{
    take_frames(e, first_possible);
    while (e->fd >= 0) {
        size_t room;
        uint8_t *to = frame_reader_space(&e->reader, &room);
        ssize_t n = recv(e->fd, to, room, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n <= 0) {
            drop_channel(e);
            break;
        }
        frame_reader_added(&e->reader, (size_t)n);
        take_frames(e, first_possible);
    }
    if (e->fd < 0 && e->mode == ELASTANE_CONNECTED && !e->is_stopping) {
        e->is_stopping = true;
        say(e, "the shim is gone");
    }
}

/* Waits for something to read. False: PATIENCE_MS have passed without it. */
static bool wait_readable(struct elastane *e)
{
    struct pollfd p = {.fd = e->fd, .events = POLLIN};
    int64_t until_ns = clock_ns() + (int64_t)PATIENCE_MS * NSEC_PER_MSEC;
    int rc = -1;

    if (e->fd < 0)
        return true; /* its end is there to be read */
    while (rc < 0) {
        int64_t left_ms = (until_ns - clock_ns()) / NSEC_PER_MSEC;

        rc = poll(&p, 1, left_ms > 0 ? (int)left_ms : 0);
        if (rc < 0 && errno != EINTR)
            return false;
    }
    return rc > 0;
}

static void set_phase(struct elastane *e, uint32_t phase)
{
    if (e->slot)
        atomic_store_explicit(&e->slot->phase, phase, memory_order_relaxed);
}

/* A stretch that was no training: the next step is not timed. */
static void resume_training(struct elastane *e)
{
    e->last_ns = 0;
    if (e->slot)
        atomic_store_explicit(&e->slot->moment_ns, clock_ns(), memory_order_relaxed);
    set_phase(e, RANK_PHASE_TRAIN);
}

void client_observe(struct elastane *e, uint32_t what, int32_t micro_batch,
                    int64_t time_ns)
{
    struct rank_observed *to;
    uint64_t n;

    if (!e->slot || micro_batch < 0 || time_ns <= 0)
        return;
    n = atomic_load_explicit(&e->slot->n_observed, memory_order_relaxed);
    to = &e->slot->observed[n % RANK_OBSERVED_CAP];
    atomic_store_explicit(&to->what, what, memory_order_relaxed);
    atomic_store_explicit(&to->micro_batch, (uint32_t)micro_batch, memory_order_relaxed);
    atomic_store_explicit(&to->time_ns, time_ns, memory_order_relaxed);
    atomic_store_explicit(&e->slot->n_observed, n + 1, memory_order_release);
}

static void publish_step(struct elastane *e, int64_t now_ns)
{
    struct rank_slot *slot = e->slot;

    atomic_store_explicit(&slot->step, e->step, memory_order_relaxed);
    atomic_store_explicit(&slot->samples_done, e->samples_done, memory_order_relaxed);
    atomic_store_explicit(&slot->moment_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&slot->phase, RANK_PHASE_TRAIN, memory_order_relaxed);
    if (e->last_ns > 0)
        client_observe(e, 0, 0, now_ns - e->last_ns); /* SHIM_OBSERVED_STEP */
    e->last_ns = now_ns;
}

static int hold_at_step(struct elastane *e)
{
    set_phase(e, RANK_PHASE_HOLD);
    while (e->stop_step == e->step && !e->is_agreed && !e->is_stopping &&
           e->mode == ELASTANE_CONNECTED) {
        if (!wait_readable(e)) {
            e->must_end = true;
            say(e, "no verdict came; saving and ending");
            break;
        }
        receive(e, e->step);
    }
    if (e->mode == ELASTANE_TURNED_AWAY || e->is_stopping)
        return ELASTANE_STOP;
    if (!e->must_end && e->stop_step != e->step) {
        resume_training(e);
        return ELASTANE_CONTINUE; /* called off, or S was raised */
    }
    e->is_held = true;
    set_phase(e, RANK_PHASE_SAVE);
    return ELASTANE_SAVE;
}

int client_step(struct elastane *e)
{
    int64_t now_ns = clock_ns();
    uint32_t notices = atomic_load_explicit(&e->slot->notices, memory_order_acquire);

    publish_step(e, now_ns);
    if (notices != e->notices || now_ns - e->looked_ns > LOOK_NS) {
        e->notices = notices;
        e->looked_ns = now_ns;
        receive(e, e->step);
    }
    if (e->is_stopping || e->mode == ELASTANE_TURNED_AWAY)
        return ELASTANE_STOP;
    return e->stop_step == e->step ? hold_at_step(e) : ELASTANE_CONTINUE;
}

static int verdict(struct elastane *e)
{
    set_phase(e, RANK_PHASE_HOLD);
    while (e->is_held && !e->is_stopping && !e->must_end) {
        if (!wait_readable(e)) {
            e->must_end = true;
            say(e, "no verdict came after the save; ending");
        }
        receive(e, e->step + 1);
    }
    if (e->is_stopping || e->must_end)
        return ELASTANE_STOP;
    resume_training(e);
    return ELASTANE_CONTINUE;
}

static int answer_save(struct elastane *e, const struct rank_msg *msg)
{
    send_msg(e, msg);
    if (e->is_held)
        return verdict(e);
    resume_training(e);
    return e->is_stopping ? ELASTANE_STOP : ELASTANE_CONTINUE;
}

int client_saved(struct elastane *e, const char *manifest)
{
    struct rank_msg msg = {
        .kind = RANK_SAVED, .step = e->step, .samples_done = e->samples_done};

    (void)snprintf(msg.manifest, sizeof(msg.manifest), "%s", manifest ? manifest : "");
    return answer_save(e, &msg);
}

int client_save_failed(struct elastane *e, const char *reason)
{
    struct rank_msg msg = {.kind = RANK_SAVE_FAILED, .step = e->step};

    (void)snprintf(msg.text, sizeof(msg.text), "%s", reason ? reason : "no reason given");
    return answer_save(e, &msg);
}

void client_tell(struct elastane *e, enum rank_msg_kind kind, int64_t samples_done,
                 int32_t micro_batch)
{
    struct rank_msg msg = {
        .kind = kind, .samples_done = samples_done, .micro_batch = micro_batch};

    send_msg(e, &msg);
}

static int64_t env_number(const char *name, int64_t low, int64_t high, int64_t fallback)
{
    const char *text = getenv(name);
    char *end;
    long long n;

    if (!text || !*text)
        return fallback;
    errno = 0;
    n = strtoll(text, &end, 10);
    return *end || errno || n < low || n > high ? fallback : n;
}

/* What the environment says, which is also what a script alone gets. */
static void plan_from_env(struct elastane_plan *plan, int32_t default_batch)
{
    int32_t size = (int32_t)env_number("WORLD_SIZE", 1, LOCAL_RANK_MAX, 1);

    *plan = (struct elastane_plan){
        .generation = (uint32_t)env_number("ELASTANE_GENERATION", 0, UINT32_MAX, 0),
        .size = size,
        .rank = (int32_t)env_number("RANK", 0, size - 1, 0),
        .local_rank = (int32_t)env_number("LOCAL_RANK", 0, LOCAL_RANK_MAX, 0),
        .global_batch =
            (int32_t)env_number("ELASTANE_GLOBAL_BATCH", 1, INT32_MAX, default_batch),
        .micro_batch = (int32_t)env_number("ELASTANE_MICRO_BATCH", 1, INT32_MAX, 0),
        .accumulation = (int32_t)env_number("ELASTANE_ACCUMULATION", 1, INT32_MAX, 1),
        .base_batch = (int32_t)env_number("ELASTANE_BASE_BATCH", 0, INT32_MAX, 0),
        .restart_count = (int32_t)env_number("ELASTANE_RESTART_COUNT", 0, INT32_MAX, 0),
        .lr_from_ppm = PPM,
        .lr_to_ppm = PPM,
        .grace_us = env_number("ELASTANE_GRACE_MS", 0, INT64_MAX / USEC_PER_SEC, 0) *
                    USEC_PER_MSEC,
    };
}

/* The directory of the channel is opened, so that its path may be longer than a socket's
 * address allows. */
static int open_channel(const char *path, int *ret_dir_fd)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    int fd;

    if (!slash || slash == path || (size_t)(slash - path) >= sizeof(dir) ||
        strlen(slash) > 64)
        return -1;
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    *ret_dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*ret_dir_fd < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d%s",
                   *ret_dir_fd, slash);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (fd >= 0)
        (void)close(fd);
    (void)close(*ret_dir_fd);
    return -1;
}

static bool map_page(struct elastane *e, int dir_fd, const char *name, int32_t slot)
{
    const struct rank_page_head *head;
    struct stat st;
    void *bytes = MAP_FAILED;
    int fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= RANK_PAGE_HEAD &&
        st.st_size <= RANK_PAGE_HEAD + (off_t)PAGE_SLOTS_MAX * RANK_SLOT_BYTES)
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        (void)close(fd);
    if (bytes == MAP_FAILED)
        return false;
    e->page = bytes;
    e->page_len = (size_t)st.st_size;
    head = bytes;
    if (head->magic != RANK_PAGE_MAGIC || head->layout != RANK_PAGE_LAYOUT ||
        (int64_t)head->n_slots <= slot ||
        st.st_size < RANK_PAGE_HEAD + (off_t)head->n_slots * RANK_SLOT_BYTES) {
        drop_page(e);
        return false;
    }
    e->slot = (void *)(e->page + RANK_PAGE_HEAD + (size_t)slot * RANK_SLOT_BYTES);
    return true;
}

static void make_token(struct elastane *e)
{
    size_t len = (size_t)sysconf(_SC_PAGESIZE);
    void *bytes =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return;
    if (madvise(bytes, len, MADV_WIPEONFORK) < 0) {
        (void)munmap(bytes, len);
        return;
    }
    e->token = bytes;
    *e->token = 1;
}

static void begin_slot(struct elastane *e)
{
    atomic_store_explicit(&e->slot->step, 0, memory_order_relaxed);
    atomic_store_explicit(&e->slot->samples_done, 0, memory_order_relaxed);
    atomic_store_explicit(&e->slot->phase, RANK_PHASE_START, memory_order_relaxed);
    atomic_store_explicit(&e->slot->n_observed, 0, memory_order_release);
    e->looked_ns = clock_ns();
}

/* The frame that answers HELLO. What follows it stays in the reader. */
static bool read_answer(struct elastane *e, struct rank_msg *ret)
{
    struct frame frame;
    int rc = 0;

    while (rc == 0) {
        size_t room;
        uint8_t *to = frame_reader_space(&e->reader, &room);
        ssize_t n = wait_readable(e) ? recv(e->fd, to, room, MSG_DONTWAIT) : 0;

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return false;
        frame_reader_added(&e->reader, (size_t)n);
        rc = frame_reader_next(&e->reader, &frame);
    }
    return rc > 0 && rank_msg_decode(&frame, ret) == 0;
}

static void greet(struct elastane *e, int dir_fd)
{
    struct rank_msg hello = {.kind = RANK_HELLO,
                             .rank = e->plan.rank,
                             .generation = e->plan.generation,
                             .version = FRAME_VERSION,
                             .pid = (int32_t)getpid()};
    struct rank_msg answer;

    send_msg(e, &hello);
    if (!read_answer(e, &answer)) {
        (void)client_disable(e, "the shim did not answer");
    } else if (answer.kind == RANK_TURNED_AWAY) {
        e->mode = ELASTANE_TURNED_AWAY;
        say(e, answer.text);
        drop_channel(e);
    } else if (answer.kind != RANK_PLAN || strchr(answer.page, '/') ||
               !map_page(e, dir_fd, answer.page, answer.slot)) {
        (void)client_disable(e, "the shim's plan cannot be used");
    } else {
        e->peer_version = answer.version;
        take_plan(e, &answer);
        e->mode = ELASTANE_CONNECTED;
        begin_slot(e);
        make_token(e);
    }
}

void client_open(struct elastane *e, int32_t default_batch)
{
    const char *path = getenv("ELASTANE_CHANNEL");
    int dir_fd = -1;

    e->fd = -1;
    e->peer_version = 0;
    e->stop_step = -1;
    e->mode = ELASTANE_ALONE;
    plan_from_env(&e->plan, default_batch);
    if (!path || !*path)
        return;
    e->fd = open_channel(path, &dir_fd);
    if (e->fd < 0) {
        (void)client_disable(e, "the channel cannot be reached");
        return;
    }
    greet(e, dir_fd);
    (void)close(dir_fd);
}

void client_close(struct elastane *e)
{
    drop_channel(e);
    drop_page(e);
    if (e->token)
        (void)munmap(e->token, (size_t)sysconf(_SC_PAGESIZE));
    e->token = NULL;
}
