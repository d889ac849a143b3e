/* SPDX-License-Identifier: Apache-2.0 */
/* world_job.h - the insides of the modelled cluster, shared by world.c (books, timers,
 * faults) and world_job.c (the life of one job's processes). */
#ifndef SIM_WORLD_JOB_H
#define SIM_WORLD_JOB_H

#include "base/heap.h"
#include "sim/world.h"

/* What the processes of a job's newest incarnation are doing. */
enum wstate {
    W_NONE,     /* there never were any */
    W_STARTING, /* some ranks are not up yet */
    W_TRAINING,
    W_SAVING, /* at a step boundary, writing the checkpoint that DUTY_SAVE asked for */
    W_HELD,   /* saved, or failed to; waits for DUTY_STOP or DUTY_GO_ON */
    W_HUNG,   /* a rank is gone; the others sit in their collective */
    W_STOPPING,
    W_ENDED,
};

/* The processes of an incarnation on one node. */
struct wproc {
    int32_t node;
    bool is_alive;
    bool is_vanished; /* went with its node: no exit is reported */
    bool is_pending;  /* its exit is on the way */
    enum job_cause cause;
    int32_t exit_code;
};

struct wjob {
    uint32_t id; /* 0: not submitted yet */
    uint32_t incarnation;
    uint32_t starts; /* incarnations begun */
    uint32_t serial; /* timers that carry another one are void */
    enum wstate state;
    struct job_plan plan;
    double rate;       /* samples/s while training */
    usec_t since_us;   /* moment up to which samples were counted */
    usec_t trained_us; /* moment at which training went on last */
    usec_t warm_us;    /* moment from which the steps of this incarnation count */
    int64_t samples;   /* as of since_us */
    int64_t saved;     /* what the newest checkpoint holds */
    int64_t total;     /* 0: endless */
    bool is_saved_on_exit;
    enum job_cause end_cause; /* of W_STOPPING */
    struct wproc *procs;
    int32_t n_procs;
    size_t cap_procs;
    bool is_refused; /* one of its devices was not clean at the start */
    bool save_fails, save_hangs, start_fails; /* armed faults */
    bool lose[SCN_ANSWER_MAX];
    bool twice[SCN_ANSWER_MAX];
    usec_t late_us[SCN_ANSWER_MAX];
    int32_t pending[SCN_ANSWER_MAX]; /* answers on the way */
};

struct wmark {
    enum device_state state;
    bool is_touched; /* it was not clean once, so its state is reported */
};

struct wnode {
    bool is_down;
    bool is_reported_lost;
    uint32_t serial;
    uint32_t *owners;    /* id of the job whose process lives on the device; 0: none */
    struct wmark *marks; /* one a device */
};

enum wtimer_kind {
    T_STARTED, /* job */
    T_FINISH,
    T_SAVED,
    T_EXIT,
    T_PERF,
    T_ANSWER, /* job, answer */
    T_NODE_LOST,
    T_NODE_UP,
    T_DEVICE, /* node, device */
};

struct wanswer {
    enum event_kind kind;
    enum scn_answer which;
    uint32_t incarnation;
    int32_t proc_node;
    enum job_cause cause;
    int32_t exit_code;
    int64_t samples;
    int64_t rate_milli;
    usec_t warm_up_us;
    const char *text; /* a literal; NULL: none */
};

struct wtimer {
    enum wtimer_kind kind;
    int32_t job;
    int32_t node;
    int32_t device;
    uint32_t serial;
    struct wanswer answer;
};

struct world {
    const struct scenario *scn;
    struct heap timers; /* of struct wtimer, owned */
    struct wjob *jobs;  /* one for each job of the scenario */
    struct wnode *nodes;
    uint32_t *by_id; /* index of the job with this id, plus 1; 0: unknown */
    size_t n_ids;
    size_t cap_ids;
    int32_t *by_name; /* indices of the jobs in order of their names */
    int error;
    char broken[ERR_TEXT_MAX]; /* the first contradiction; "" while there is none */
};

/* Pushes a copy; a failure sticks in w->error. */
void world_push(struct world *w, usec_t at_us, const struct wtimer *timer);
void world_broken(struct world *w, const char *fmt, ...) ATTR_PRINTF(2, 3);

int32_t wjob_index(const struct world *w, const struct wjob *j);

/* The handlers of a job's timers; those without an answer of their own. */
void wjob_started(struct world *w, struct wjob *j, usec_t now_us);
void wjob_finish(struct world *w, struct wjob *j, usec_t now_us);
void wjob_saved(struct world *w, struct wjob *j, usec_t now_us);
void wjob_exit(struct world *w, struct wjob *j, usec_t now_us);
void wjob_perf(struct world *w, struct wjob *j, usec_t now_us);

/* The duties. */
void wjob_begin(struct world *w, struct wjob *j, usec_t now_us, const struct core *core,
                const struct duty *duty);
void wjob_save(struct world *w, struct wjob *j, usec_t now_us, usec_t grace_us);
void wjob_stop(struct world *w, struct wjob *j, usec_t now_us, usec_t grace_us);
void wjob_go_on(struct world *w, struct wjob *j, usec_t now_us);

/* Its processes on the node are gone without a word. */
void wjob_lose_node(struct world *w, struct wjob *j, usec_t now_us, int32_t node);
bool wjob_crash(struct world *w, struct wjob *j, usec_t now_us, int32_t exit_code);

/* All shims of the job tell how things stand: ADOPTED, then what is past. */
void wjob_report(struct world *w, struct wjob *j, usec_t now_us);
/* Processes that went with a node which is up again, unnoticed. */
void wjob_report_vanished(struct world *w, struct wjob *j, usec_t now_us, int32_t node);

#endif
