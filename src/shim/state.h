/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - what one shim knows; shared by shim.c, group.c, ranks.c and upward.c alone.
 *
 * shim.c    begins, loops and ends; owns the timers
 * group.c   the processes: starting, reaping, stopping, killing, the exit record
 * ranks.c   the worker channel: connections of ranks and the agreement between them
 * upward.c  the daemon: dialling, reporting, carrying out */
#ifndef SHIM_STATE_H
#define SHIM_STATE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/units.h"
#include "shim/agree.h"
#include "shim/counter.h"
#include "shim/link.h"
#include "shim/observe.h"
#include "shim/page.h"
#include "shim/warmup.h"
#include "wire/order.h"
#include "wire/rank_msg.h"
#include "wire/shim_msg.h"

#define SHIM_CONNS_MAX (SIZE_MAX_DEVICES + 64)

/* What we start: the process of a rank, or the one that starts all ranks. */
struct shim_command {
    pid_t pid; /* 0: not started */
    bool has_ended;
    int status; /* exit code, 128 + signal; once it has ended */
};

struct shim_rank {
    pid_t trainer;       /* that said hello; 0: none */
    bool has_said_hello; /* ever */
    bool is_done;        /* said DONE */
    bool was_frozen;     /* state T at the last look */
    uint64_t n_drained;  /* measurements taken from the slot */
    int64_t slowest_ns;  /* of its steps so far */
    struct observe observe;
};

struct shim_conn {
    struct link link;
    int32_t index; /* of the rank; -1 before its hello */
    pid_t pid;
};

struct shim {
    FILE *log;
    char *dir; /* absolute */
    int dir_fd;
    int lock_fd;
    int signal_fd;
    int listen_fd;
    int port_fd;
    int32_t master_port;
    char *channel; /* path of the worker channel */
    struct order order;
    struct page page;
    struct agree agree;
    struct counter counter;
    struct warmup warmup;
    char counter_note[SHIM_TEXT_BYTES]; /* what is wrong with the counter; "": nothing */
    struct shim_command *commands;
    int32_t n_commands;
    pid_t *told; /* ranks of a launcher that got SIGTERM; order.n_ranks */
    size_t n_told;
    pid_t launcher;          /* their parent */
    struct shim_rank *ranks; /* order.n_ranks */
    struct shim_conn **conns;
    size_t n_conns;
    size_t cap_conns;

    enum shim_phase phase;
    bool is_stop_asked;    /* by the daemon or a signal */
    bool is_stop_sent;     /* ranks were told to exit */
    bool is_killing;       /* everything that is left gets SIGKILL until nothing is */
    bool is_grace_spent;   /* ... because it did not end in time */
    bool is_lingering;     /* all commands have ended, and left something behind */
    bool has_exit;         /* `exit` names the first failure */
    bool is_refused;       /* the daemon does not know us */
    bool is_finished;      /* the loop ends */
    int64_t saved_samples; /* in the last whole checkpoint; -1: no word */
    int64_t done_samples;  /* when training was complete; -1: no word */
    struct order_exit exit;
    char note[SHIM_TEXT_BYTES]; /* what went wrong on the way out, for `exit` */

    struct link daemon;
    bool is_adopted;
    usec_t dial_delay_us;

    /* Moments of the monotonic clock; USEC_NEVER: not set. */
    usec_t now_us;
    usec_t dial_us;        /* next attempt to reach the daemon */
    usec_t beat_us;        /* next look at the ranks, and BEAT */
    usec_t hello_us;       /* silent ranks are no longer waited for */
    usec_t save_us;        /* SAVE has taken too long */
    usec_t verdict_us;     /* the daemon has not answered SAVED */
    usec_t wait_us;        /* next RANK_WAIT */
    usec_t grace_us;       /* SIGKILL */
    usec_t kill_us;        /* next round of SIGKILL */
    usec_t ack_us;         /* EXIT is sent again */
    usec_t leave_us;       /* nobody took the exit; exit.json stays */
    usec_t leave_after_us; /* span */
    int32_t beats;
};

void shim_log(const struct shim *s, const char *fmt, ...) ATTR_PRINTF(2, 3);
void shim_set_phase(struct shim *s, enum shim_phase phase);

/* group.c */
int group_start(struct shim *s, struct err *err) ATTR_MUST_USE;
/* The command that the rank at `index` is, or lives below. */
const struct shim_command *group_command_of(const struct shim *s, int32_t index);
void group_reap(struct shim *s);
/* Records the first failure and ends everything at once. index -1: no rank. */
void group_fail(struct shim *s, int32_t index, enum job_cause cause, int32_t exit_code,
                const char *fmt, ...) ATTR_PRINTF(5, 6);
/* Ends the ranks within the grace; may be called again. */
void group_stop(struct shim *s, usec_t grace_us);
void group_kill(struct shim *s);
void group_tick(struct shim *s);
/* Writes exit.json from s->exit and begins to report it. */
void group_write_exit(struct shim *s);
/* Frozen, hung: looked at with every beat. */
void group_look(struct shim *s);

/* ranks.c */
void ranks_accept(struct shim *s);
void ranks_serve(struct shim *s, struct shim_conn *conn);
void ranks_sweep_closed(struct shim *s);
/* Carries out SAVE: a new agreement, or the answer to one that is there. */
void ranks_save(struct shim *s, usec_t grace_us);
/* Begins an agreement. */
void ranks_prepare(struct shim *s);
/* Calls an agreement off; `why` is for people. */
void ranks_go_on(struct shim *s, const char *why);
void ranks_tell_stop(struct shim *s);
/* Whether every rank is connected. */
bool ranks_are_connected(const struct shim *s);
bool ranks_are_done(const struct shim *s);
/* The rank's process or connection is gone: no agreement can wait for it. */
void ranks_gone(struct shim *s, int32_t index);
void ranks_tick(struct shim *s);
int64_t ranks_largest_step(const struct shim *s);
int32_t ranks_up(const struct shim *s);

/* upward.c */
void upward_tick(struct shim *s);
void upward_serve(struct shim *s);
void upward_started(struct shim *s);
void upward_saved(struct shim *s);
void upward_save_failed(struct shim *s, const char *text);
void upward_oom(struct shim *s, int32_t index, int32_t micro_batch);
void upward_beat(struct shim *s);
/* Reads what the trainer counts by itself. */
void upward_count(struct shim *s);
/* Whether that is all there is: no rank speaks over the channel. */
bool upward_is_counted(const struct shim *s);
void upward_exit(struct shim *s);

#endif
