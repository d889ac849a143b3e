/* SPDX-License-Identifier: Apache-2.0 */
/* ordering.c - see ordering.h.
 *
 * The learning rate follows the batch by the job's rule. When a resize makes the batch
 * larger by a factor f, the factor rises over 8 f steps of the new batch; when it makes
 * it smaller, the factor falls at once (momentum still carries the noise of the old
 * batch; the rule is that of dynamic mini-batch SGD, see src/backend/README.md). */
#include "backend/local/ordering.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "backend/local/folder.h"
#include "backend/local/vault.h"
#include "base/mem.h"
#include "wire/launch.h"

#define RAMP_STEPS 8 /* per factor by which the batch has grown */

int64_t ordering_lr_ppm(enum job_lr_rule rule, int32_t batch_base, int32_t batch)
{
    double factor = 1;

    if (batch_base > 0 && batch > 0 && rule == JOB_LR_LINEAR)
        factor = (double)batch / batch_base;
    else if (batch_base > 0 && batch > 0 && rule == JOB_LR_SQRT)
        factor = sqrt((double)batch / batch_base);
    return llround(factor * (double)PPM);
}

static void put_learning_rate(struct order *order, const struct job *job)
{
    const struct job_spec *spec = &job->spec;
    int32_t to = order->plan.global_batch;
    int32_t from = job->run.plan.size > 0 ? job->run.plan.global_batch : to;

    order->lr_to_ppm = ordering_lr_ppm(spec->lr_rule, spec->batch_base, to);
    order->lr_from_ppm = ordering_lr_ppm(spec->lr_rule, spec->batch_base, from);
    order->ramp_start_samples = job->run.samples_done;
    if (order->lr_to_ppm <= order->lr_from_ppm || from <= 0) {
        order->lr_from_ppm = order->lr_to_ppm;
        return;
    }
    order->ramp_samples = (int64_t)RAMP_STEPS * to / from * to;
}

static int put_ranks(struct order *order, const struct ordering *o,
                     const struct core *core, const struct duty *duty, struct err *err)
{
    const struct cluster *cluster = core_cluster(core);
    const struct node *node = cluster_find_node(cluster, o->node);
    int32_t size = duty->plan.size;
    int32_t *devices = mem_new((size_t)size, sizeof(*devices));
    int32_t found = 0;

    order->ranks = mem_new((size_t)size, sizeof(*order->ranks));
    if (devices && order->ranks && node)
        found = duty_devices(cluster, duty->job, HOLD_NEXT, devices, size);
    for (int32_t i = 0; i < size && found == size; i++) {
        order->ranks[i] = (struct order_rank){.rank = i, .device = devices[i]};
        order->ranks[i].device -= node->first;
        if (order->ranks[i].device >= 0 && order->ranks[i].device < o->n_gpus)
            memcpy(order->ranks[i].uuid, o->gpus[order->ranks[i].device].uuid,
                   sizeof(order->ranks[i].uuid));
        if (order->ranks[i].device < 0 || order->ranks[i].device >= node->devices)
            found = 0; /* on another node: not ours to start */
    }
    mem_free(devices);
    if (!order->ranks || !devices)
        return err_set(err, E_NOMEM, "out of memory");
    order->n_ranks = size;
    if (found != size)
        return err_set(err, E_STATE, "job %u does not hold %d devices of node %s",
                       duty->job, size, o->node);
    return 0;
}

static int copy_words(struct order_words *to, char *const *words, size_t n)
{
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++)
        rc = order_words_add(to, words[i]);
    return rc;
}

static int put_values(struct order *order, const struct ordering *o, const char *key,
                      struct err *err)
{
    struct buf values;
    int rc;

    buf_init(&values, ORDER_TEXT_MAX);
    rc = vault_get(o->vault, order->job, key, &values, err);
    if (rc == 0)
        rc = order_words_decode(&order->env, values.text, values.len);
    buf_release(&values);
    order->has_env_file = 1;
    return rc;
}

static int put_env(struct order *order, const struct ordering *o,
                   const struct launch_request *launch, struct err *err)
{
    char pace[160];
    int rc = 0;

    if (launch->vault)
        rc = put_values(order, o, launch->vault, err);
    else
        rc = copy_words(&order->env, launch->env, launch->n_env);
    /* NVML counts by bus, and so must CUDA where devices are named by index. */
    if (rc == 0 && o->devices == ORDER_CUDA)
        rc = order_words_add(&order->env, "CUDA_DEVICE_ORDER=PCI_BUS_ID");
    if (rc == 0 && o->pace) {
        (void)snprintf(pace, sizeof(pace), "ELASTANE_PACE=%s", o->pace);
        rc = order_words_add(&order->env, pace);
    }
    return rc;
}

static int put_launch(struct order *order, const struct ordering *o,
                      const struct job_spec *spec, struct err *err)
{
    struct launch_request launch;
    int rc = E_INVALID;

    launch_init(&launch);
    if (spec->launch)
        rc = launch_decode(spec->launch, strlen(spec->launch), &launch, err);
    if (rc < 0)
        return err_set(err, rc, "it has no launch text that can be read");
    rc = copy_words(&order->argv, launch.argv, launch.n_args);
    if (rc == 0)
        rc = put_env(order, o, &launch, err);
    order->launch = launch.form;
    order->cwd = launch.cwd;
    order->log_dir = launch.log_dir;
    launch.cwd = NULL; /* the order owns them now */
    launch.log_dir = NULL;
    launch_release(&launch);
    if (rc < 0 && err->code == 0)
        (void)err_set(err, rc, "argv or env: %s", err_name(rc));
    return rc;
}

static int put_paths(struct order *order, const struct ordering *o, struct err *err)
{
    size_t cap = strlen(o->state_dir) + 64;
    char *path = mem_new(cap, 1);

    order->daemon_socket = mem_text(o->daemon_socket);
    if (path)
        (void)snprintf(path, cap, "%s/jobs/%u/checkpoints", o->state_dir, order->job);
    order->checkpoint_dir = path;
    if (o->run_dir)
        order->channel_dir = folder_channel(o->run_dir, order->job, order->incarnation);
    return path && order->daemon_socket && (!o->run_dir || order->channel_dir)
               ? 0
               : err_set(err, E_NOMEM, "out of memory");
}

int ordering_make(const struct ordering *o, const struct core *core,
                  const struct job *job, const struct duty *duty, struct order *ret,
                  struct err *err)
{
    const struct job_spec *spec = &job->spec;
    struct order order;
    int rc;

    order_init(&order);
    order.job = duty->job;
    order.incarnation = duty->incarnation;
    (void)snprintf(order.name, sizeof(order.name), "%s", spec->name);
    (void)snprintf(order.run_id, sizeof(order.run_id), "elastane-%u-%llx", duty->job,
                   (unsigned long long)job->run.submit_us);
    order.samples_done = job->run.samples_saved;
    order.uid = spec->uid;
    order.gid = spec->gid;
    order.level = spec->level;
    order.plan = duty->plan;
    order.batch_base = spec->batch_base;
    order.lr_rule = spec->lr_rule;
    order.profile = spec->profile;
    order.restart_count = (int32_t)duty->incarnation - 1;
    order.grace_us = duty->grace_us;
    order.device_kind = o->devices;
    order.threads = spec->cpus_per_device;
    order.log_keep_bytes = o->log_keep_bytes;
    put_learning_rate(&order, job);
    rc = put_ranks(&order, o, core, duty, err);
    if (rc == 0)
        rc = put_launch(&order, o, spec, err);
    if (rc == 0)
        rc = put_paths(&order, o, err);
    if (rc < 0) {
        order_release(&order);
        return rc;
    }
    *ret = order;
    return 0;
}
