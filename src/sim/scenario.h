/* SPDX-License-Identifier: Apache-2.0 */
/* scenario.h - a scenario: a cluster, settings, jobs, and what goes wrong when.
 *
 * Read from the text form of a .scn file (docs/scn.md), or built by code. Everything is
 * a plain record; times are spans since the start of the scenario. */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/units.h"
#include "core/cluster.h"
#include "core/config.h"
#include "core/job.h"
#include "core/perf/model.h"

#define SCN_TEXT_MAX      ((size_t)4 << 20) /* bytes of one text */
#define SCN_TEXT_JOBS_MAX 10000             /* job lines of one text */
#define SCN_JOBS_MAX      (1 << 20)         /* over the whole run, not at one time */
#define SCN_ACTIONS_MAX   (1 << 13)

/* The virtual clock at the start of a scenario. Not 0, because 0 means "not yet" in a run
 * record; a whole number of days, so that plan intervals begin at the start. */
#define SIM_ZERO_US (1000 * USEC_PER_DAY)

struct scn_node {
    usec_t at_us; /* 0: there from the start */
    int32_t devices;
    char name[NAME_MAX_BYTES];
    char device_type[NAME_MAX_BYTES];
};

struct scn_job {
    struct job_spec spec;    /* samples_total is 0 when device_us is given */
    struct perf_model truth; /* how fast it really runs */
    bool is_known;           /* whether the truth is told to the scheduler at submit */
    bool is_endless;         /* the scheduler is not told the length */
    usec_t at_us;            /* moment of its submit */
    int64_t device_us;       /* work as device time at its smallest size; 0: see spec */
    usec_t save_every_us;    /* its own checkpoints while it trains; 0: none; < 0: 10
                                minutes, or none for a rigid job */
};

enum scn_answer { SCN_ANSWER_STARTED, SCN_ANSWER_SAVED, SCN_ANSWER_EXIT, SCN_ANSWER_MAX };

enum scn_kind {
    SCN_CANCEL, /* job */
    SCN_PAUSE,
    SCN_RESUME,
    SCN_UPDATE,    /* job, spec */
    SCN_CONFIG,    /* config */
    SCN_NODE_DOWN, /* node */
    SCN_NODE_UP,
    SCN_CRASH,       /* job, exit_code */
    SCN_SAVE_FAILS,  /* job: its next save, from then on, fails */
    SCN_SAVE_HANGS,  /* job: its next save is never answered */
    SCN_START_FAILS, /* job: its next start fails */
    SCN_LOST,        /* job, answer: the next one gets lost; it is sent again later */
    SCN_LATE,        /* job, answer, by_us */
    SCN_TWICE,       /* job, answer */
    SCN_DAEMON,      /* by_us: the daemon dies and is back after that span */
    SCN_STORE_FAILS,
    SCN_STORE_WORKS,
    SCN_DEVICE, /* node, device, device_state */
    SCN_KIND_MAX
};

struct scn_action {
    enum scn_kind kind;
    usec_t at_us;
    int32_t job;  /* index into jobs */
    int32_t node; /* index into nodes */
    usec_t by_us;
    int32_t exit_code;
    enum scn_answer answer;
    int32_t device; /* index on its node */
    enum device_state device_state;
    struct job_spec *spec; /* owned */
    struct config *config; /* owned */
};

/* How long things take in the modelled cluster. */
struct scn_delays {
    usec_t start_us;   /* first start of a job until all ranks are up */
    usec_t restart_us; /* later starts */
    usec_t save_us;
    usec_t stop_us;    /* from the notice (and a save, if it makes one) to the exit */
    usec_t detect_us;  /* from the loss of a node to its report */
    usec_t commit_us;  /* from a row to its durability */
    usec_t resend_us;  /* an answer that got lost is sent again after this span */
    usec_t perf_us;    /* between two progress reports; 0: none */
    usec_t warm_up_us; /* after each start, before the steps that count */
};

struct scenario {
    uint64_t seed;
    usec_t until_us;
    struct config config;
    struct scn_delays delays;
    struct scn_node *nodes;
    size_t n_nodes;
    size_t cap_nodes;
    struct scn_job *jobs;
    size_t n_jobs;
    size_t cap_jobs;
    struct scn_action *actions; /* by time, equal times in the order given */
    size_t n_actions;
    size_t cap_actions;
};

/* Defaults for everything; no nodes and no jobs. */
void scenario_init(struct scenario *scn);
void scenario_release(struct scenario *scn);

/* Appends a zeroed record and lends it until the next append; NULL when out of memory. A
 * job and a delay come with the defaults of the text form. */
struct scn_node *scenario_add_node(struct scenario *scn);
struct scn_job *scenario_add_job(struct scenario *scn);
struct scn_action *scenario_add_action(struct scenario *scn);

/* Orders the actions; call it after the last append. */
void scenario_sort(struct scenario *scn);

/* Index of the job or node with this name, or -1. */
int32_t scenario_find_job(const struct scenario *scn, const char *name);
int32_t scenario_find_node(const struct scenario *scn, const char *name);

/* Reads the text form into an initialised, empty scenario. Returns 0, E_NOMEM, E_LIMIT or
 * E_INVALID; err then has the line, the field, the reason and what would be accepted. On
 * failure the scenario is empty again. */
int scenario_read(struct scenario *scn, const char *text, size_t len, struct err *err);

#endif
