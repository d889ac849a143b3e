/* SPDX-License-Identifier: Apache-2.0 */
/* reply.h - the daemon's answers (docs/api.md), as far as people are shown them.
 *
 * Readers here are lenient where submit.h is strict: a newer daemon may say more, and
 * words that are not known are kept as words. A field that is absent is 0 or ""; one of
 * the wrong type makes the answer E_CORRUPT. Texts are cut to the size of their field:
 * they are for the eye; whoever needs them whole asks for --json. */
#ifndef WIRE_REPLY_H
#define WIRE_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "core/limits.h"

#define REPLY_MAX        ((size_t)64 << 20) /* bytes of one answer */
#define REPLY_WORD_MAX   24
#define REPLY_REASON_MAX 256
#define REPLY_LINE_MAX   512

struct reply_move {
    int64_t time_us;
    int64_t generation;
    int64_t size;
    int64_t global_batch;
    char state[REPLY_WORD_MAX];
    char reason[REPLY_REASON_MAX];
};

struct reply_job {
    int64_t id;
    int64_t uid;
    char name[NAME_MAX_BYTES];
    char family[NAME_MAX_BYTES];
    char device_type[NAME_MAX_BYTES];
    char level[REPLY_WORD_MAX];
    char state[REPLY_WORD_MAX];
    char goal[REPLY_WORD_MAX];
    char cause[REPLY_WORD_MAX];
    char accumulate[REPLY_WORD_MAX];
    char lr_rule[REPLY_WORD_MAX];
    char profile[REPLY_WORD_MAX];
    char model_source[REPLY_WORD_MAX];
    bool is_unconfirmed;
    int64_t size, global_batch, micro_batch, accumulation;
    int64_t generation, incarnation, next_size, next_global_batch;
    int64_t samples_done, samples_repeated, samples_total, rate_milli, warm_up_us;
    int64_t queue_place;
    int64_t submit_us, since_us, start_us, end_us, retry_us, active_us, device_us;
    int64_t exit_code, retries_left, resizes;
    int64_t batch_min, batch_max, batch_base, gpu_batch;
    int64_t grace_us, time_limit_us, weight_ppm;
    char reason[REPLY_REASON_MAX];
    char note[REPLY_REASON_MAX]; /* about its reports; "": none */
    char sizes[REPLY_LINE_MAX];  /* as people write them: "1..4" */
    char nodes[REPLY_LINE_MAX];  /* "n1:2 n2:1" */
    char cwd[REPLY_LINE_MAX];
    char log_dir[REPLY_LINE_MAX];
    char launch[REPLY_WORD_MAX];
    char *env;                  /* names of its variables; owned; may be NULL */
    char *command;              /* argv, for a shell to take; whole; owned; may be NULL */
    struct reply_move *history; /* owned */
    size_t n_history;
};

struct reply_jobs {
    struct reply_job *items; /* owned */
    size_t n;
    int64_t next; /* `after` of the next page; 0: there is none */
};

/* A device that may not be given out. */
struct reply_mark {
    int64_t device; /* index on its node */
    int64_t job;    /* that holds it; 0: none */
    int64_t since_us;
    char state[REPLY_WORD_MAX]; /* "foreign", "stuck" */
    char who[DEVICE_WHO_BYTES];
};

struct reply_node {
    char name[NAME_MAX_BYTES];
    char device_type[NAME_MAX_BYTES];
    char state[REPLY_WORD_MAX];
    int64_t since_us;
    int64_t devices, held, free, withheld, gone;
    char jobs[REPLY_LINE_MAX]; /* "17:2 19:1" */
    struct reply_mark *marks;  /* owned */
    size_t n_marks;
};

struct reply_nodes {
    struct reply_node *items; /* owned */
    size_t n;
};

struct reply_status {
    char version[REPLY_WORD_MAX];
    char policy[NAME_MAX_BYTES];
    char admission[REPLY_WORD_MAX];
    char scaler[REPLY_WORD_MAX];
    int64_t now_us, pid, rules, seq;
    int64_t total, held, free, withheld, gone; /* devices */
    char jobs[REPLY_LINE_MAX];                 /* "1 queued, 2 running" */
    bool is_blocked;
    char blocked_reason[REPLY_REASON_MAX];
};

struct reply_point {
    int64_t bytes, size, nodes, time_ns;
};

struct reply_calibration {
    char state[REPLY_WORD_MAX];
    char reason[REPLY_REASON_MAX];
    int64_t time_us;
    struct reply_point *points; /* owned */
    size_t n_points;
};

struct reply_accepted {
    int64_t id;
    char state[REPLY_WORD_MAX];
    char *warnings; /* one a line, each ended by '\n'; owned; may be NULL */
};

/* All take an answer's body and fill *ret. Errors: E_CORRUPT when it is no such answer,
 * E_LIMIT when it is too large, E_NOMEM. */
int reply_job_decode(const char *text, size_t len, struct reply_job *ret,
                     struct err *err);
int reply_jobs_decode(const char *text, size_t len, struct reply_jobs *ret,
                      struct err *err);
int reply_nodes_decode(const char *text, size_t len, struct reply_nodes *ret,
                       struct err *err);
int reply_status_decode(const char *text, size_t len, struct reply_status *ret,
                        struct err *err);
int reply_calibration_decode(const char *text, size_t len, struct reply_calibration *ret,
                             struct err *err);
/* Answers of submit, update, cancel, pause, resume. */
int reply_accepted_decode(const char *text, size_t len, struct reply_accepted *ret,
                          struct err *err);
/* The text of an explanation; *ret is owned by the caller (mem_free). */
int reply_text_decode(const char *text, size_t len, char **ret, struct err *err);
/* A problem (status >= 400): fills *ret with its code, field and detail. What is no
 * problem document becomes E_IO with the status. */
void reply_problem_decode(const char *text, size_t len, long status, struct err *ret);

void reply_job_release(struct reply_job *job);
void reply_jobs_release(struct reply_jobs *jobs);
void reply_nodes_release(struct reply_nodes *nodes);
void reply_calibration_release(struct reply_calibration *calibration);
void reply_accepted_release(struct reply_accepted *accepted);

/* Any answer, checked and written again with sorted keys on one line, and '\n'. */
int reply_tidy(const char *text, size_t len, struct buf *out, struct err *err);
/* Appends the jobs of a list answer to a JSON array text that was opened with "[" by the
 * first call (*inout_n == 0): so pages become one list. */
int reply_jobs_append(const char *text, size_t len, struct buf *out, size_t *inout_n,
                      struct err *err);

#endif
