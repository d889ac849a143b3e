/* SPDX-License-Identifier: Apache-2.0 */
/* order.h - the files of an incarnation's directory, as text and back.
 *
 * order.json is the order: a backend writes it, elastane-shim carries it out. The shim
 * answers with started.json before its first fork and exit.json after its last wait
 * (docs/protocol.md, section 1). Unknown keys are ignored, absent ones have defaults,
 * duplicate keys are refused. */
#ifndef WIRE_ORDER_H
#define WIRE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "core/job.h"
#include "core/limits.h"
#include "wire/launch.h"

#define ORDER_FILE      "order.json"
#define ORDER_STARTED   "started.json"
#define ORDER_EXIT      "exit.json"
#define ORDER_ENV       "env"
#define ORDER_LOCK      "lock"
#define ORDER_CHANNEL   "channel"
#define ORDER_PAGE      "page"
#define ORDER_PROGRESS  "progress"
#define ORDER_SHIM_LOG  "shim.log"
#define ORDER_FORMAT    1
#define ORDER_TEXT_MAX  ((size_t)4 << 20) /* of order.json, bytes */
#define ORDER_WORDS_MAX 65536             /* in argv, in env */
#define ORDER_BOOT_ID   40
#define ORDER_RUN_ID    40
#define ORDER_UUID      64

enum order_device {
    ORDER_CPU,  /* a slot: one thread; OMP_NUM_THREADS is set */
    ORDER_CUDA, /* a GPU: CUDA_VISIBLE_DEVICES is set */
    ORDER_DEVICE_MAX
};

struct order_rank {
    int32_t rank;
    int32_t device;        /* index on the node */
    char uuid[ORDER_UUID]; /* "GPU-..." as CUDA takes it; "": the index serves */
};

/* A list of texts that owns them. words is NULL-terminated once n > 0, so it serves as
 * an argv. */
struct order_words {
    char **words;
    size_t n;
    size_t cap;
};

struct order {
    uint32_t job;
    uint32_t incarnation;
    char name[NAME_MAX_BYTES]; /* of the job */
    char run_id[ORDER_RUN_ID]; /* the job's, the same in all incarnations; "": none */
    int64_t samples_done;      /* in the checkpoint to take up */
    uint32_t uid;
    uint32_t gid;
    enum job_level level;
    struct job_plan plan;
    int32_t batch_base;
    enum job_lr_rule lr_rule;
    enum job_profile profile; /* whether first steps are cut to be measured */
    int64_t
        lr_from_ppm;   /* factor on the learning rate before the change, 1e-6; 0: as to */
    int64_t lr_to_ppm; /* factor under this plan; 0: 1e6 */
    int64_t ramp_start_samples;
    int64_t ramp_samples; /* 0: at once */
    int32_t restart_count;
    usec_t grace_us;
    usec_t hang_us; /* no step for so long (and 10 x a slow step) is a hang; 0: 60 s */
    enum order_device device_kind;
    int32_t threads;          /* per rank, of a CPU slot; 0: 1 */
    struct order_rank *ranks; /* of this node; owned */
    int32_t n_ranks;
    char *master_addr;   /* owned; NULL: 127.0.0.1 */
    int32_t master_port; /* wished for; 0: the shim picks. Taken: the shim picks too */
    enum launch_form launch; /* LAUNCH_RANK: a process per rank; else one, which starts
                              * the ranks itself */
    int32_t n_nodes;         /* of the incarnation; 0: 1 */
    int32_t node_rank;       /* of this node among them */
    struct order_words argv;
    struct order_words env; /* NAME=VALUE; the contract's names override */
    int32_t has_env_file;   /* env stands in ORDER_ENV, which the shim removes; 0 or 1 */
    int64_t log_keep_bytes; /* of each log at least so much of its end; 0: all of it */
    char *cwd;              /* owned */
    char *log_dir;          /* owned; NULL: the incarnation's directory */
    char *checkpoint_dir;   /* owned; NULL: none */
    char *daemon_socket;    /* owned; NULL: nobody to report to */
    char *channel_dir;      /* owned; of ORDER_CHANNEL and ORDER_PAGE; NULL: the
                             * incarnation's directory */
};

void order_init(struct order *order);
void order_release(struct order *order);
/* Appends a copy. E_NOMEM or E_LIMIT. */
int order_words_add(struct order_words *words, const char *word) ATTR_MUST_USE;

/* The text of ORDER_ENV: each word with its '\0'. */
void order_words_encode(const struct order_words *words, struct buf *out);
/* Appends what such a text holds. E_INVALID: the last word has no end. E_NOMEM, E_LIMIT.
 */
int order_words_decode(struct order_words *words, const char *text,
                       size_t len) ATTR_MUST_USE;

/* Errors stick in the buf; make it with ORDER_TEXT_MAX. */
void order_encode(const struct order *order, struct buf *out);
/* E_INVALID (field named), E_VERSION, E_LIMIT or E_NOMEM. *ret needs no order_init, and
 * is untouched on failure. */
int order_decode(const char *text, size_t len, struct order *ret,
                 struct err *err) ATTR_MUST_USE;

/* started.json: who has taken the order. A pid counts only under the same boot id and
 * with the same start time. */
struct order_started {
    uint32_t job;
    uint32_t incarnation;
    char boot_id[ORDER_BOOT_ID];
    int32_t shim_pid;
    int64_t shim_start_ticks; /* field 22 of /proc/PID/stat */
    int32_t master_port;
};

void order_started_encode(const struct order_started *started, struct buf *out);
int order_started_decode(const char *text, size_t len, struct order_started *ret,
                         struct err *err) ATTR_MUST_USE;

/* exit.json: how it ended; the same facts as SHIM_EXIT. */
struct order_exit {
    uint32_t job;
    uint32_t incarnation;
    uint32_t generation;
    enum job_cause cause;
    int32_t exit_code;
    int32_t rank;         /* the first that failed; -1: none */
    int32_t micro_batch;  /* that did not fit in memory; 0: no such failure */
    int64_t samples_done; /* in the last whole checkpoint; -1: no word */
    char text[128];
};

void order_exit_encode(const struct order_exit *record, struct buf *out);
int order_exit_decode(const char *text, size_t len, struct order_exit *ret,
                      struct err *err) ATTR_MUST_USE;

const char *order_device_name(enum order_device kind);

#endif
