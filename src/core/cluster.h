/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.h - nodes, their devices, and who holds which.
 *
 * A device is free, held by one job, withheld (nobody holds it and it may not be given
 * out), or gone (its node is lost); nothing else. A job's hold has two flags: HOLD_NOW,
 * processes of its live incarnation may use the device; HOLD_NEXT, its next incarnation
 * will. A device is released only when both are cleared, and HOLD_NOW is cleared only by
 * a confirmed exit or a lost node. Invariant, checked after every step:
 * held + free + withheld + gone = total.
 *
 * A device is withheld for its mark: somebody else uses it, or it did not come back clean
 * from a job of ours. A held device that is marked stays held, and is withheld when its
 * job gives it back. */
#ifndef CORE_CLUSTER_H
#define CORE_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/units.h"
#include "core/limits.h"

enum node_state { NODE_UP, NODE_LOST, NODE_STATE_MAX };

struct node {
    uint32_t index;  /* position in the cluster's table; given by the core */
    int32_t devices; /* how many it has */
    int32_t first;   /* index of its first device; given by the core */
    enum node_state state;
    usec_t since_us;
    char name[NAME_MAX_BYTES];
    char device_type[NAME_MAX_BYTES];
};

enum { HOLD_NOW = 1, HOLD_NEXT = 2 };

enum device_state {
    DEVICE_CLEAN,
    DEVICE_FOREIGN, /* processes or memory of somebody else are on it */
    DEVICE_STUCK,   /* what a job of ours has left there is not gone */
    DEVICE_STATE_MAX
};

/* Why a device may not be given out. A mark that is DEVICE_CLEAN is none. */
struct device_mark {
    int32_t device; /* index in the cluster's table */
    enum device_state state;
    usec_t since_us;
    char who[DEVICE_WHO_BYTES]; /* for people: "ada, pid 4711, 10240 MiB" */
};

/* The devices first .. first + count - 1 are held by `job` with `flags`; job 0: free. */
struct hold {
    int32_t first;
    int32_t count;
    uint32_t job;
    uint32_t flags;
};

struct device {
    uint32_t node;
    uint32_t job; /* 0: nobody holds it */
    uint32_t flags;
    enum device_state state;
};

struct cluster_count {
    int32_t total;
    int32_t held; /* on nodes that are up */
    int32_t free;
    int32_t withheld;
    int32_t gone;
};

/* What there is of one device type. */
struct cluster_type {
    char name[NAME_MAX_BYTES];
    int32_t configured;   /* devices of all its nodes, lost ones too */
    int32_t up;           /* devices on nodes that are up, less those withheld */
    int32_t free;         /* of these, held by nobody */
    int32_t withheld;     /* on nodes that are up */
    int32_t largest_node; /* devices of its largest node, lost ones too */
};

struct cluster_share;

/* nodes, devices, marks, types and node_types are for everybody to read; only
 * cluster_put_*() write, because all but the first two are kept in step with them, so
 * that no question walks all devices. */
struct cluster {
    struct node *nodes;
    int32_t n_nodes;
    size_t cap_nodes;
    struct device *devices;
    int32_t n_devices;
    size_t cap_devices;

    struct {
        struct device_mark *items; /* of the devices that are not clean, by device */
        int32_t n;
        size_t cap;
    } marks;

    struct cluster_count count;
    struct cluster_type *types; /* in the order in which nodes brought them */
    int32_t n_types;
    size_t cap_types;
    int32_t *node_types; /* for each node its index in types */
    size_t cap_node_types;
    struct {
        uint32_t *items; /* indices of nodes, by name */
        size_t cap;
    } by_name;
    struct {
        struct cluster_share *items; /* one per job that holds devices, by job */
        size_t n;
        size_t cap;
    } shares;
};

void cluster_init(struct cluster *c);
void cluster_release(struct cluster *c);

/* Adds the node at index n_nodes (its first device is the next one, its name new), or
 * replaces the record of a known one (name and devices must be the same). Returns 0,
 * E_NOMEM, or E_CORRUPT when the record contradicts the table; then nothing changes. */
int cluster_put_node(struct cluster *c, const struct node *node);
/* Whether all devices of the range exist. */
bool cluster_has_range(const struct cluster *c, int32_t first, int32_t count);
/* The range must exist (ASSERT). */
void cluster_put_hold(struct cluster *c, const struct hold *hold);
/* Marks the device, replaces its mark, or takes it away (DEVICE_CLEAN). 0, E_NOMEM, or
 * E_CORRUPT when there is no such device; then nothing changes. */
int cluster_put_mark(struct cluster *c, const struct device_mark *mark);

const struct node *cluster_find_node(const struct cluster *c, const char *name);
/* NULL when no node ever had a device of this type. "" is a type like any other here. */
const struct cluster_type *cluster_find_type(const struct cluster *c, const char *name);
struct cluster_count cluster_count(const struct cluster *c);
/* NULL for a device that is clean. */
const struct device_mark *cluster_find_mark(const struct cluster *c, int32_t device);
/* Devices on nodes that are up and of this type ("" is any), less those withheld. */
int32_t cluster_capacity(const struct cluster *c, const char *device_type);
/* Devices of all nodes, lost ones too: what a submit is judged against. */
int32_t cluster_configured(const struct cluster *c, const char *device_type);
/* Devices that the job holds with any of the flags. */
int32_t cluster_held(const struct cluster *c, uint32_t job, uint32_t flags);
/* Of the devices that the job holds with HOLD_NOW, those that are marked. */
int32_t cluster_held_marked(const struct cluster *c, uint32_t job);
/* The devices of the job all lie in *ret_first .. *ret_end - 1, which is as narrow as can
 * be; an empty range when it holds none. */
void cluster_span(const struct cluster *c, uint32_t job, int32_t *ret_first,
                  int32_t *ret_end);

const char *node_state_name(enum node_state state);
const char *device_state_name(enum device_state state);

#endif
