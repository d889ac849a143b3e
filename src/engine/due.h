/* SPDX-License-Identifier: Apache-2.0 */
/* due.h - duties that wait until their rows are durable. At most one a job. */
#ifndef ENGINE_DUE_H
#define ENGINE_DUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"
#include "core/duty.h"
#include "engine/touch.h"

struct due {
    int64_t seq; /* the row that must be durable */
    uint32_t job;
    bool is_forget; /* the job has left; the duty is empty */
    struct duty duty;
};

struct due_list {
    struct due *items; /* by job ascending, each once */
    size_t n;
    size_t cap;
    struct due *taken; /* room for as many as items */
    size_t cap_taken;
};

void due_release(struct due_list *list);
/* Makes room for n more jobs, so that due_note() cannot fail. Returns 0 or E_NOMEM. */
int due_reserve(struct due_list *list, size_t n);
/* Notes what the step that made row seq gives the outside to do; to be called when it is
 * folded into the core. */
void due_note(struct due_list *list, const struct core *core,
              const struct touches *touches, int64_t seq);
/* Takes out what needs no row after seq, by (row, job) ascending; lent until the next
 * call. Returns how many there are. */
size_t due_take(struct due_list *list, int64_t seq, const struct due **ret);

#endif
