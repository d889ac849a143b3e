/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned_devices.c - what this machine has: GPUs as NVML tells, or CPU slots as many
 * as --devices says. */
#include <stdio.h>
#include <string.h>

#include "prog/elastaned.h"

int daemon_find_devices(struct daemon *d, struct err *err)
{
    char why[NVML_WHY_BYTES];
    struct node *node = &d->node;

    (void)snprintf(node->name, sizeof(node->name), "%s", d->options.node);
    d->device_kind = ORDER_CPU;
    (void)snprintf(node->device_type, sizeof(node->device_type), "cpu");
    node->devices = d->options.devices;
    if (d->options.devices < 0) {
        d->nvml = nvml_open(why);
        node->devices =
            d->nvml ? nvml_discover(d->nvml, d->gpus, NODE_DEVICES_MAX, why) : 0;
        d->device_kind = ORDER_CUDA;
        nvml_device_type(d->gpus, node->devices, node->device_type);
        if (node->devices == 0)
            say(LOG_WARNING, "%s; jobs will wait. For CPU slots use --devices N", why);
    }
    if (strchr(node->name, '/'))
        return err_field(err, E_INVALID, "node-name", "has a '/' in it");
    return 0;
}

struct local_gpus daemon_gpus(const struct daemon *d)
{
    return (struct local_gpus){.nvml = d->nvml,
                               .list = d->gpus,
                               .n = d->nvml ? d->node.devices : 0,
                               .mem_bytes = d->options.foreign_mem,
                               .patrol_us = d->options.patrol_us,
                               .clean_us = d->options.foreign_clean_us};
}
