/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c - see hints.h. A launcher under --launch rank is the mistake that everybody
 * makes once: each device gets a launcher, and each launcher starts ranks for all of
 * them. */
#include "cli/hints.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"

static bool is_any(char c, const char *set)
{
    return c == '\0' || strchr(set, c);
}

/* Whether the text has the name as a word of a path or of a shell line. */
static bool has_name(const char *text, const char *name)
{
    for (const char *p = strstr(text, name); p; p = strstr(p + 1, name))
        if ((p == text || is_any(p[-1], " \t\n/;&|'\"")) &&
            is_any(p[strlen(name)], " \t\n;&|'\""))
            return true;
    return false;
}

static const char *launcher_of(const struct launch_request *launch)
{
    static const char *const names[] = {
        "torchrun",
        "torch.distributed.run",
        "torch.distributed.launch",
        "accelerate",
        "deepspeed",
        "horovodrun",
        "mpirun",
        "mpiexec",
    };

    for (size_t i = 0; i < launch->n_args; i++)
        for (size_t j = 0; j < ARRAY_SIZE(names); j++)
            if (has_name(launch->argv[i], names[j]))
                return names[j];
    return NULL;
}

static bool has_place(const struct launch_request *launch)
{
    for (size_t i = 0; i < launch->n_args; i++)
        if (strstr(launch->argv[i], "{nproc}"))
            return true;
    return false;
}

const char *hints_launch(const struct submit *submit)
{
    const struct launch_request *launch = &submit->launch;
    const struct size_set *sizes = &submit->spec.sizes;
    bool is_one = sizes->n_listed == 0 && sizes->max == 1;

    if (launch->form == LAUNCH_RANK && has_place(launch))
        return "{nproc} is filled in under --launch node or once only";
    if (launch->form == LAUNCH_RANK && launcher_of(launch) && !is_one)
        return "the command is a launcher, and every device would get one; give --launch "
               "node, and {nproc} where the launcher is told how many ranks to start";
    if (launch->form != LAUNCH_RANK && !has_place(launch) && !is_one)
        return "no word of the command has {nproc}, so it must learn the number of ranks "
               "from LOCAL_WORLD_SIZE";
    return NULL;
}
