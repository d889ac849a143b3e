/* SPDX-License-Identifier: Apache-2.0 */
/* local.h - the backend for jobs on this machine (DESIGN 6).
 *
 * It turns duties into orders, shims and messages, and what shims say into events. The
 * state directory has for each incarnation a folder (folder.h) and for all of them one
 * socket, shim.sock, in STATE or where sockets lie instead. Nothing here decides;
 * everything may be repeated.
 *
 * Order of calls: local_new, engine_new with local_port(), recovery, local_attach,
 * local_check_folders, engine_begin, EVENT_DAEMON_START, local_begin. At the end
 * engine_free before local_free. */
#ifndef BACKEND_LOCAL_LOCAL_H
#define BACKEND_LOCAL_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "engine/engine.h"
#include "loop/clock.h"
#include "loop/loop.h"
#include "wire/order.h"
#include "wire/shim_msg.h"

struct local;
struct calibrate;
struct vault;
struct nvml;
struct nvml_device;

/* This machine's GPUs, and what makes one of them somebody else's (devices.h). */
struct local_gpus {
    const struct nvml *nvml;        /* lent */
    const struct nvml_device *list; /* n of them; lent */
    int32_t n;                      /* 0: the devices are CPU slots */
    int64_t mem_bytes;              /* in use by nobody known, and still clean */
    usec_t patrol_us;               /* between two looks */
    usec_t clean_us; /* without a trace, until a device is given out again */
};

struct local_options {
    struct loop *loop;
    const struct clock *clock; /* lent */
    const char *state_dir;     /* absolute; it exists and is ours */
    const char *run_dir;       /* for sockets; NULL: they lie in the state directory */
    const char *shim;          /* path of elastane-shim */
    const char *node;          /* name of this machine's node */
    enum order_device devices;
    struct local_gpus gpus;
    int64_t log_keep_bytes; /* of each rank's log at least so much; 0: all of it */
    const char *pace;       /* ELASTANE_PACE of the ranks; NULL: none */
    /* Events were posted; engine_run() is wanted soon. */
    void (*kick)(void *arg);
    /* One line for the operator; priority as in syslog (3 error, 4 warning, 6 info). */
    void (*log)(void *arg, int priority, const char *text);
    void *arg;
};

/* Copies the texts. E_IO, E_DENIED, E_BUSY or E_NOMEM. */
int local_new(const struct local_options *options, struct local **ret,
              struct err *err) ATTR_MUST_USE;
void local_free(struct local *local);

struct engine_backend_port local_port(struct local *local);
/* The engine whose port this is; before engine_begin(). */
void local_attach(struct local *local, struct engine *engine);
/* After recovery: E_CORRUPT when there are folders of jobs that the state does not know.
 * A new job of such a number would be told how the old one ended. */
int local_check_folders(const struct local *local, struct err *err) ATTR_MUST_USE;
/* Looks after what recovery has left; from here on shims are answered. */
void local_begin(struct local *local);

/* What is known of a running job beyond the core's state; shown, never journalled. */
struct local_live {
    enum shim_phase phase;
    int32_t ranks_up;
    int64_t step;
    int64_t samples_done;       /* -1: no word */
    int64_t step_ns;            /* median; 0: no word */
    int64_t rate_milli;         /* samples per second, 1e-3; 0: no word */
    int64_t samples_total;      /* as the trainer says; 0: no word */
    usec_t warm_up_us;          /* lost before the steps that count; 0: no word */
    char note[SHIM_TEXT_BYTES]; /* about its reports, for people; "": none */
};

/* What an all-reduce costs on this machine; its table completes the models of jobs. Lent.
 */
struct calibrate *local_calibrate(struct local *local);

/* Where a submit puts the values of its environment. Lent. */
struct vault *local_vault(struct local *local);

/* Whether a shim of the job's newest incarnation is connected. */
bool local_get_live(const struct local *local, uint32_t job, struct local_live *ret);

/* The directory STATE/jobs, open; for joblog.h. */
int local_jobs_fd(const struct local *local);

#endif
