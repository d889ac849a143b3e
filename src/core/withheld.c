/* SPDX-License-Identifier: Apache-2.0 */
/* withheld.c - see withheld.h. The text becomes the reason of a job that waits, and so a
 * record; it names the first device's user alone, since that is where people begin. */
#include "core/withheld.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct tally {
    int32_t n;
    const char *who; /* of the first; NULL: none */
    bool has_others;
};

static void note(struct tally *t, const struct device_mark *mark)
{
    t->n++;
    if (!t->who)
        t->who = mark->who;
    else if (strcmp(t->who, mark->who) != 0)
        t->has_others = true;
}

static void say(const struct tally *t, const char *what, char ret[REASON_MAX_BYTES])
{
    (void)snprintf(ret, REASON_MAX_BYTES, "%d gpu%s %s%s%s%s%s", t->n,
                   t->n == 1 ? " is" : "s are", what, t->who[0] ? " (" : "", t->who,
                   t->who[0] && t->has_others ? ", ..." : "", t->who[0] ? ")" : "");
}

void withheld_text(const struct cluster *c, int32_t type, char ret[REASON_MAX_BYTES])
{
    struct tally foreign = {0};
    struct tally stuck = {0};

    for (int32_t i = 0; i < c->marks.n; i++) {
        const struct device_mark *mark = &c->marks.items[i];
        const struct device *device = &c->devices[mark->device];

        if (device->job != 0 || c->nodes[device->node].state != NODE_UP ||
            c->node_types[device->node] != type)
            continue;
        note(mark->state == DEVICE_FOREIGN ? &foreign : &stuck, mark);
    }
    ret[0] = '\0';
    if (foreign.n > 0 && stuck.n > 0)
        (void)snprintf(ret, REASON_MAX_BYTES,
                       "%d gpu%s in use by somebody else, %d stuck", foreign.n,
                       foreign.n == 1 ? " is" : "s are", stuck.n);
    else if (foreign.n > 0)
        say(&foreign, "in use by somebody else", ret);
    else if (stuck.n > 0)
        say(&stuck, "stuck", ret);
}
