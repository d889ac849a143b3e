/* SPDX-License-Identifier: Apache-2.0 */
/* ordering.h - a duty to start, as the order that a shim carries out. */
#ifndef BACKEND_LOCAL_ORDERING_H
#define BACKEND_LOCAL_ORDERING_H

#include "backend/local/nvml.h"
#include "base/attr.h"
#include "base/err.h"
#include "core/core.h"
#include "core/duty.h"
#include "wire/order.h"

/* What the machine adds to an order. */
struct ordering {
    const char *state_dir;          /* absolute */
    const char *run_dir;            /* of sockets; NULL: with the files */
    int64_t log_keep_bytes;         /* of each rank's log; 0: all */
    const char *node;               /* name of this machine's node */
    enum order_device devices;      /* what its devices are */
    const struct nvml_device *gpus; /* n_gpus, by index; lent */
    int32_t n_gpus;
    const char *daemon_socket; /* absolute path */
    const char *pace;          /* value of ELASTANE_PACE for the ranks; NULL: none */
    const struct vault *vault; /* with the values of environments; lent */
};

/* The learning-rate factor of a batch, 1e-6; PPM without a rule or a base. */
int64_t ordering_lr_ppm(enum job_lr_rule rule, int32_t batch_base, int32_t batch);

/* Errors: E_INVALID (the launch text is damaged), E_NOTFOUND or E_IO (the values of its
 * environment), E_STATE (the job does not hold the
 * devices of its plan here), E_NOMEM. *ret is to be released after success. */
int ordering_make(const struct ordering *o, const struct core *core,
                  const struct job *job, const struct duty *duty, struct order *ret,
                  struct err *err) ATTR_MUST_USE;

#endif
