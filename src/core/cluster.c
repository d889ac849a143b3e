/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - the tables of nodes and devices, and the sums that are asked for often.
 *
 * A plan asks for each of ten thousand jobs what it holds, and there may be a million
 * devices; so four things are kept in step with the tables instead of being counted: the
 * totals, the same for each device type, the share of every job that holds something, and
 * the order of nodes by name. Invariants:
 *   1. The devices of node i are nodes[i].first .. first + devices - 1; nodes follow each
 *      other without gaps, and never leave.
 *   2. A device has a job exactly when it has a flag.
 *   3. count.held + .free + .withheld + .gone = count.total = n_devices.
 *   4. shares is sorted by job, has one entry for each job that holds a device, and room
 *      for as many as there are devices; so putting a hold cannot fail.
 *   5. by_name is a permutation of all indices of nodes.
 *   6. A share's first and last are devices that the job holds, and all others lie
 *      between them. A job's devices lie close together, so a walk from the one to the
 *      other is short.
 *   7. types has one entry for each device type that a node has or had; their sums are
 *      those of the nodes with this entry in node_types.
 *   8. marks is sorted by device and has one entry for each device that is not clean; few
 *      are.
 * New jobs have larger numbers than old ones, so most entries of shares are added at its
 * end; one that is not moves the rest, 24 bytes a job.
 * Not here: which devices to choose (place.c), what a lost node means for its jobs
 * (decide). */
#include "core/cluster.h"

#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

/* The devices of one job, lost ones too. */
struct cluster_share {
    uint32_t job;
    int32_t n_now;
    int32_t n_next;
    int32_t n_any;
    int32_t first; /* the least and the greatest index */
    int32_t last;
};

void cluster_init(struct cluster *c)
{
    *c = (struct cluster){0};
}

void cluster_release(struct cluster *c)
{
    mem_free(c->nodes);
    mem_free(c->devices);
    mem_free(c->marks.items);
    mem_free(c->types);
    mem_free(c->node_types);
    mem_free(c->by_name.items);
    mem_free(c->shares.items);
    cluster_init(c);
}

/* Position in by_name at which a node of this name stands or would stand. */
static size_t name_position(const struct cluster *c, const char *name)
{
    size_t low = 0;
    size_t high = (size_t)c->n_nodes;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(c->nodes[c->by_name.items[middle]].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct node *cluster_find_node(const struct cluster *c, const char *name)
{
    size_t at = name_position(c, name);
    const struct node *node;

    if (at == (size_t)c->n_nodes)
        return NULL;
    node = &c->nodes[c->by_name.items[at]];
    return strcmp(node->name, name) == 0 ? node : NULL;
}

/* What the devices of a node are, while it is up. */
struct node_use {
    int32_t held;
    int32_t withheld;
    int32_t free;
};

static struct node_use node_use(const struct cluster *c, const struct node *node)
{
    struct node_use use = {0};

    for (int32_t i = node->first; i < node->first + node->devices; i++) {
        const struct device *device = &c->devices[i];

        use.held += device->job != 0;
        use.withheld += device->job == 0 && device->state != DEVICE_CLEAN;
        use.free += device->job == 0 && device->state == DEVICE_CLEAN;
    }
    return use;
}

static int reserve(struct cluster *c, size_t n_nodes, size_t n_devices)
{
    void *nodes = c->nodes;
    void *devices = c->devices;
    void *types = c->types;
    void *node_types = c->node_types;
    void *by_name = c->by_name.items;
    void *shares = c->shares.items;
    int rc;

    rc = mem_reserve(&nodes, &c->cap_nodes, n_nodes, sizeof *c->nodes);
    c->nodes = nodes;
    if (rc == 0)
        rc = mem_reserve(&devices, &c->cap_devices, n_devices, sizeof *c->devices);
    c->devices = devices;
    if (rc == 0)
        rc = mem_reserve(&types, &c->cap_types, (size_t)c->n_types + 1, sizeof *c->types);
    c->types = types;
    if (rc == 0)
        rc = mem_reserve(&node_types, &c->cap_node_types, n_nodes, sizeof *c->node_types);
    c->node_types = node_types;
    if (rc == 0)
        rc = mem_reserve(&by_name, &c->by_name.cap, n_nodes, sizeof *c->by_name.items);
    c->by_name.items = by_name;
    if (rc == 0)
        rc = mem_reserve(&shares, &c->shares.cap, n_devices, sizeof *c->shares.items);
    c->shares.items = shares;
    return rc;
}

const struct cluster_type *cluster_find_type(const struct cluster *c, const char *name)
{
    for (int32_t i = 0; i < c->n_types; i++)
        if (strcmp(c->types[i].name, name) == 0)
            return &c->types[i];
    return NULL;
}

/* Adds `sign` times the node to its type. */
static void type_count(struct cluster *c, const struct node *node,
                       const struct node_use *use, int32_t sign)
{
    struct cluster_type *type = &c->types[c->node_types[node->index]];

    type->configured += sign * node->devices;
    if (node->state != NODE_UP)
        return;
    type->up += sign * (use->held + use->free);
    type->free += sign * use->free;
    type->withheld += sign * use->withheld;
}

/* Sets the node's type, for which there is room; a new one is added to the table. */
static void set_type(struct cluster *c, const struct node *node)
{
    const struct cluster_type *known = cluster_find_type(c, node->device_type);
    struct cluster_type *type = &c->types[known ? known - c->types : c->n_types];

    if (!known) {
        ASSERT((size_t)c->n_types < c->cap_types);
        *type = (struct cluster_type){0};
        memcpy(type->name, node->device_type, sizeof type->name);
        c->n_types++;
    }
    c->node_types[node->index] = (int32_t)(type - c->types);
    if (node->devices > type->largest_node)
        type->largest_node = node->devices;
}

/* After a node left the type. */
static void find_largest_node(struct cluster *c, int32_t type)
{
    int32_t largest = 0;

    for (int32_t i = 0; i < c->n_nodes; i++)
        if (c->node_types[i] == type && c->nodes[i].devices > largest)
            largest = c->nodes[i].devices;
    c->types[type].largest_node = largest;
}

static int add_node(struct cluster *c, const struct node *node)
{
    const struct node_use use = {.free = node->devices};
    size_t at;
    uint32_t *order;
    int rc;

    if (node->index >= NODES_MAX || node->first != c->n_devices)
        return E_CORRUPT;
    if (node->devices < 0 || node->devices > NODE_DEVICES_MAX)
        return E_CORRUPT;
    if (cluster_find_node(c, node->name))
        return E_CORRUPT;
    rc = reserve(c, (size_t)c->n_nodes + 1, (size_t)c->n_devices + (size_t)node->devices);
    if (rc < 0)
        return rc;
    at = name_position(c, node->name);
    order = c->by_name.items;
    memmove(order + at + 1, order + at, ((size_t)c->n_nodes - at) * sizeof *order);
    order[at] = node->index;
    c->nodes[c->n_nodes++] = *node;
    for (int32_t i = 0; i < node->devices; i++)
        c->devices[c->n_devices++] = (struct device){.node = node->index};
    set_type(c, node);
    type_count(c, node, &use, 1);
    c->count.total += node->devices;
    if (node->state == NODE_UP)
        c->count.free += node->devices;
    else
        c->count.gone += node->devices;
    return 0;
}

int cluster_put_node(struct cluster *c, const struct node *node)
{
    struct node *old;
    struct node_use use;
    int32_t sign, type;
    int rc;

    ASSERT((unsigned)node->state < NODE_STATE_MAX);
    ASSERT(memchr(node->name, '\0', sizeof node->name) != NULL);
    ASSERT(memchr(node->device_type, '\0', sizeof node->device_type) != NULL);
    if (node->index > (uint32_t)c->n_nodes)
        return E_CORRUPT;
    if (node->index == (uint32_t)c->n_nodes)
        return add_node(c, node);
    old = &c->nodes[node->index];
    if (old->devices != node->devices || old->first != node->first ||
        strcmp(old->name, node->name) != 0)
        return E_CORRUPT;
    rc = reserve(c, (size_t)c->n_nodes, (size_t)c->n_devices); /* for a new type */
    if (rc < 0)
        return rc;
    use = node_use(c, node);
    if (old->state != node->state) {
        sign = node->state == NODE_UP ? 1 : -1;
        c->count.held += sign * use.held;
        c->count.free += sign * use.free;
        c->count.withheld += sign * use.withheld;
        c->count.gone -= sign * node->devices;
    }
    type = c->node_types[node->index];
    type_count(c, old, &use, -1);
    *old = *node;
    set_type(c, node);
    type_count(c, node, &use, 1);
    if (c->node_types[node->index] != type)
        find_largest_node(c, type);
    return 0;
}

/* Position in shares at which the job stands or would stand. */
static size_t share_position(const struct cluster *c, uint32_t job)
{
    const struct cluster_share *shares = c->shares.items;
    size_t low = 0;
    size_t high = c->shares.n;

    if (high > 0 && shares[high - 1].job < job)
        return high;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (shares[middle].job < job)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes the share's ends fit again; the device is not the job's any more. */
static void share_narrow(const struct cluster *c, struct cluster_share *share,
                         int32_t device)
{
    if (device == share->first)
        while (c->devices[share->first].job != share->job)
            share->first++;
    if (device == share->last)
        while (c->devices[share->last].job != share->job)
            share->last--;
}

/* Adds `sign` times the device with these flags to the job's share. */
static void share_count(struct cluster *c, uint32_t job, int32_t device, uint32_t flags,
                        int32_t sign)
{
    size_t at = share_position(c, job);
    struct cluster_share *share = &c->shares.items[at];

    if (at == c->shares.n || share->job != job) {
        ASSERT(sign > 0);
        ASSERT(c->shares.n < c->shares.cap);
        memmove(share + 1, share, (c->shares.n - at) * sizeof *share);
        *share = (struct cluster_share){.job = job, .first = device, .last = device};
        c->shares.n++;
    }
    share->n_now += flags & HOLD_NOW ? sign : 0;
    share->n_next += flags & HOLD_NEXT ? sign : 0;
    share->n_any += sign;
    ASSERT(share->n_any >= 0);
    if (share->n_any == 0) {
        c->shares.n--;
        memmove(share, share + 1, (c->shares.n - at) * sizeof *share);
    } else if (sign > 0) {
        share->first = device < share->first ? device : share->first;
        share->last = device > share->last ? device : share->last;
    } else {
        share_narrow(c, share, device);
    }
}

/* Adds `sign` times the device, as it is, to the sums. */
static void count_device(struct cluster *c, const struct device *device, int32_t sign)
{
    struct cluster_type *type = &c->types[c->node_types[device->node]];
    bool is_withheld = device->job == 0 && device->state != DEVICE_CLEAN;
    bool is_free = device->job == 0 && device->state == DEVICE_CLEAN;

    if (c->nodes[device->node].state != NODE_UP)
        return;
    c->count.held += device->job != 0 ? sign : 0;
    c->count.withheld += is_withheld ? sign : 0;
    c->count.free += is_free ? sign : 0;
    type->up += is_withheld ? 0 : sign;
    type->withheld += is_withheld ? sign : 0;
    type->free += is_free ? sign : 0;
}

static void put_device(struct cluster *c, int32_t index, uint32_t job, uint32_t flags)
{
    struct device *device = &c->devices[index];
    const struct device old = *device;

    if (old.job == job && old.flags == flags)
        return;
    count_device(c, device, -1);
    device->job = job;
    device->flags = flags;
    /* Leaving first makes room in shares certain (invariant 4); a job that only changes
     * its flags keeps its place there. */
    if (old.job == job && job != 0)
        share_count(c, job, index, flags, 1);
    if (old.job != 0)
        share_count(c, old.job, index, old.flags, -1);
    if (old.job != job && job != 0)
        share_count(c, job, index, flags, 1);
    count_device(c, device, 1);
}

static void assert_counts(const struct cluster_count *count)
{
    ASSERT(count->held + count->free + count->withheld + count->gone == count->total);
}

bool cluster_has_range(const struct cluster *c, int32_t first, int32_t count)
{
    return first >= 0 && count >= 0 && count <= c->n_devices &&
           first <= c->n_devices - count;
}

void cluster_put_hold(struct cluster *c, const struct hold *hold)
{
    uint32_t flags = hold->flags & (HOLD_NOW | HOLD_NEXT);
    uint32_t job = flags ? hold->job : 0;

    ASSERT(cluster_has_range(c, hold->first, hold->count));
    for (int32_t i = 0; i < hold->count; i++)
        put_device(c, hold->first + i, job, job ? flags : 0);
    assert_counts(&c->count);
}

/* Position in marks at which the device stands or would stand. */
static int32_t mark_position(const struct cluster *c, int32_t device)
{
    int32_t low = 0;
    int32_t high = c->marks.n;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (c->marks.items[middle].device < device)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct device_mark *cluster_find_mark(const struct cluster *c, int32_t device)
{
    int32_t at = mark_position(c, device);

    return at < c->marks.n && c->marks.items[at].device == device ? &c->marks.items[at]
                                                                  : NULL;
}

static void put_state(struct cluster *c, int32_t device, enum device_state state)
{
    count_device(c, &c->devices[device], -1);
    c->devices[device].state = state;
    count_device(c, &c->devices[device], 1);
    assert_counts(&c->count);
}

int cluster_put_mark(struct cluster *c, const struct device_mark *mark)
{
    int32_t at = mark_position(c, mark->device);
    bool is_known = cluster_find_mark(c, mark->device) != NULL;
    void *items = c->marks.items;
    struct device_mark *place;

    if (!cluster_has_range(c, mark->device, 1) ||
        (unsigned)mark->state >= DEVICE_STATE_MAX)
        return E_CORRUPT;
    if (mem_reserve(&items, &c->marks.cap, (size_t)c->marks.n + 1,
                    sizeof *c->marks.items) < 0)
        return E_NOMEM;
    c->marks.items = items;
    place = &c->marks.items[at];
    if (!is_known && mark->state != DEVICE_CLEAN) {
        memmove(place + 1, place, (size_t)(c->marks.n - at) * sizeof *place);
        c->marks.n++;
    }
    if (mark->state != DEVICE_CLEAN) {
        *place = *mark;
    } else if (is_known) {
        c->marks.n--;
        memmove(place, place + 1, (size_t)(c->marks.n - at) * sizeof *place);
    }
    put_state(c, mark->device, mark->state);
    return 0;
}

struct cluster_count cluster_count(const struct cluster *c)
{
    return c->count;
}

static bool is_of_type(const struct cluster_type *type, const char *device_type)
{
    return device_type[0] == '\0' || strcmp(type->name, device_type) == 0;
}

int32_t cluster_capacity(const struct cluster *c, const char *device_type)
{
    int32_t capacity = 0;

    for (int32_t i = 0; i < c->n_types; i++)
        if (is_of_type(&c->types[i], device_type))
            capacity += c->types[i].up;
    return capacity;
}

int32_t cluster_configured(const struct cluster *c, const char *device_type)
{
    int32_t configured = 0;

    for (int32_t i = 0; i < c->n_types; i++)
        if (is_of_type(&c->types[i], device_type))
            configured += c->types[i].configured;
    return configured;
}

static const struct cluster_share *find_share(const struct cluster *c, uint32_t job)
{
    size_t at = share_position(c, job);

    return at < c->shares.n && c->shares.items[at].job == job ? &c->shares.items[at]
                                                              : NULL;
}

int32_t cluster_held(const struct cluster *c, uint32_t job, uint32_t flags)
{
    const struct cluster_share *share = find_share(c, job);

    if (!share)
        return 0;
    if ((flags & HOLD_NOW) && (flags & HOLD_NEXT))
        return share->n_any;
    if (flags & HOLD_NOW)
        return share->n_now;
    return flags & HOLD_NEXT ? share->n_next : 0;
}

int32_t cluster_held_marked(const struct cluster *c, uint32_t job)
{
    int32_t n = 0;

    for (int32_t i = 0; i < c->marks.n; i++) {
        const struct device *device = &c->devices[c->marks.items[i].device];

        n += device->job == job && (device->flags & HOLD_NOW);
    }
    return n;
}

void cluster_span(const struct cluster *c, uint32_t job, int32_t *ret_first,
                  int32_t *ret_end)
{
    const struct cluster_share *share = find_share(c, job);

    *ret_first = share ? share->first : 0;
    *ret_end = share ? share->last + 1 : 0;
}
