/* SPDX-License-Identifier: Apache-2.0 */
/* inbox.c - a first-in first-out list of copied events.
 *
 * One allocation an event (and one for the launch text of a spec), made before anything
 * is linked, so a failed put leaves the list as it was. The bound on the length is the
 * engine's, which knows what may be refused. */
#include "engine/inbox.h"

#include "base/mem.h"

int inbox_put(struct inbox *inbox, const struct event *event, engine_answer_fn answer,
              void *arg)
{
    struct inbox_item *item = mem_new(1, sizeof *item);

    if (!item)
        return E_NOMEM;
    item->event = *event;
    item->answer = answer;
    item->arg = arg;
    if (event->spec) {
        if (job_spec_copy(&item->spec, event->spec) < 0) {
            mem_free(item);
            return E_NOMEM;
        }
        item->event.spec = &item->spec;
    }
    if (event->model) {
        item->model = *event->model;
        item->event.model = &item->model;
    }
    if (inbox->last)
        inbox->last->next = item;
    else
        inbox->first = item;
    inbox->last = item;
    inbox->n++;
    return 0;
}

struct inbox_item *inbox_take(struct inbox *inbox)
{
    struct inbox_item *item = inbox->first;

    if (!item)
        return NULL;
    inbox->first = item->next;
    if (!inbox->first)
        inbox->last = NULL;
    inbox->n--;
    item->next = NULL;
    return item;
}

void inbox_item_free(struct inbox_item *item)
{
    if (!item)
        return;
    job_spec_release(&item->spec);
    mem_free(item);
}
