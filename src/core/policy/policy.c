/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - the table of policies, and the memory that they share between calls.
 *
 * A new policy is one file with one const struct, one line in table.h and one line here
 * (README.md tells how). The first entry is the default. */
#include "core/policy/policy.h"

#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "core/policy/table.h"

static const struct policy *const policies[] = {
    &policy_joint,           &policy_fixed_min,  &policy_fixed_max,
    &policy_fixed_max_accum, &policy_fixed_base, &policy_fifo,
};

const struct policy *policy_at(size_t index)
{
    return index < ARRAY_SIZE(policies) ? policies[index] : NULL;
}

const struct policy *policy_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(policies); i++)
        if (strcmp(policies[i]->name, name) == 0)
            return policies[i];
    return NULL;
}

void policy_scratch_init(struct policy_scratch *s)
{
    *s = (struct policy_scratch){0};
    alloc_scratch_init(&s->alloc);
}

void policy_scratch_release(struct policy_scratch *s)
{
    mem_free(s->rows);
    mem_free(s->options);
    mem_free(s->sizes);
    alloc_scratch_release(&s->alloc);
    policy_scratch_init(s);
}
