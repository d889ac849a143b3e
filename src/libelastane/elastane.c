/* SPDX-License-Identifier: Apache-2.0 */
/* elastane.c - the public functions: arguments, the guard, and nothing else.
 *
 * Every function accepts a handle that is alone, turned away or disabled, and a NULL
 * handle, so that a training script needs no ifs. */
#include "libelastane/elastane.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "libelastane/client.h"
#include "libelastane/guard.h"

static const char broken[] = "an internal check failed";

int elastane_init(int32_t default_batch, struct elastane **ret)
{
    struct elastane *e;

    if (default_batch < 0 || !ret)
        return ELASTANE_E_INVALID;
    e = calloc(1, sizeof(*e));
    if (!e)
        return ELASTANE_E_NOMEM;
    e->fd = -1;
    if (setjmp(*guard_arm()) == 0)
        client_open(e, default_batch);
    else
        (void)client_disable(e, broken);
    guard_disarm();
    *ret = e;
    return 0;
}

void elastane_free(struct elastane *e)
{
    if (!e)
        return;
    client_close(e);
    free(e);
}

int elastane_get_mode(const struct elastane *e)
{
    return e ? e->mode : ELASTANE_ALONE;
}

const char *elastane_get_message(const struct elastane *e)
{
    return e ? e->message : "";
}

void elastane_get_plan(const struct elastane *e, struct elastane_plan *ret)
{
    if (!ret)
        return;
    if (e)
        *ret = e->plan;
    else
        *ret = (struct elastane_plan){
            .size = 1, .accumulation = 1, .lr_from_ppm = 1000000, .lr_to_ppm = 1000000};
}

int64_t elastane_get_samples_done(const struct elastane *e)
{
    return e ? e->samples_done : 0;
}

static void tell(struct elastane *e, enum rank_msg_kind kind, int64_t samples_done,
                 int32_t micro_batch)
{
    if (!client_is_live(e))
        return;
    if (setjmp(*guard_arm()) == 0)
        client_tell(e, kind, samples_done, micro_batch);
    else
        (void)client_disable(e, broken);
    guard_disarm();
}

int elastane_resume(struct elastane *e, int64_t samples_done)
{
    if (samples_done < 0)
        return ELASTANE_E_INVALID;
    if (!e)
        return 0;
    e->samples_done = samples_done;
    if (client_is_live(e))
        atomic_store_explicit(&e->slot->samples_done, samples_done, memory_order_relaxed);
    tell(e, RANK_RESUMED, samples_done, 0);
    return 0;
}

int elastane_step(struct elastane *e, int64_t samples)
{
    int action;

    if (samples < 0)
        return ELASTANE_E_INVALID;
    if (!e)
        return ELASTANE_CONTINUE;
    e->step++;
    e->samples_done = i64_add_capped(e->samples_done, samples);
    if (e->mode == ELASTANE_TURNED_AWAY)
        return ELASTANE_STOP;
    if (!client_is_live(e))
        return ELASTANE_CONTINUE;
    if (setjmp(*guard_arm()) == 0)
        action = client_step(e);
    else
        action = client_disable(e, broken);
    guard_disarm();
    return action;
}

int elastane_saved(struct elastane *e, const char *manifest)
{
    int action;

    if (manifest && strlen(manifest) >= ELASTANE_MANIFEST_BYTES)
        return ELASTANE_E_LIMIT;
    if (!e)
        return ELASTANE_CONTINUE;
    if (e->mode == ELASTANE_TURNED_AWAY)
        return ELASTANE_STOP;
    if (!client_is_live(e))
        return ELASTANE_CONTINUE;
    if (setjmp(*guard_arm()) == 0)
        action = client_saved(e, manifest);
    else
        action = client_disable(e, broken);
    guard_disarm();
    return action;
}

int elastane_save_failed(struct elastane *e, const char *reason)
{
    int action;

    if (!e)
        return ELASTANE_CONTINUE;
    if (e->mode == ELASTANE_TURNED_AWAY)
        return ELASTANE_STOP;
    if (!client_is_live(e))
        return ELASTANE_CONTINUE;
    if (setjmp(*guard_arm()) == 0)
        action = client_save_failed(e, reason);
    else
        action = client_disable(e, broken);
    guard_disarm();
    return action;
}

void elastane_done(struct elastane *e)
{
    if (e)
        tell(e, RANK_DONE, e->samples_done, 0);
}

void elastane_set_phase(struct elastane *e, int phase)
{
    if (!e || phase < ELASTANE_PHASE_TRAIN || phase > ELASTANE_PHASE_COMPILE ||
        !client_is_live(e))
        return;
    e->last_ns = 0; /* the step that this interrupts is not timed */
    atomic_store_explicit(&e->slot->phase, (uint32_t)phase, memory_order_relaxed);
}

void elastane_measured_micro(struct elastane *e, int32_t micro_batch, int64_t time_ns)
{
    if (e && micro_batch > 0 && client_is_live(e))
        client_observe(e, 1, micro_batch, time_ns); /* SHIM_OBSERVED_MICRO */
}

void elastane_measured_comm(struct elastane *e, int64_t time_ns, int64_t bytes)
{
    if (!e || bytes < 0 || !client_is_live(e))
        return;
    atomic_store_explicit(&e->slot->comm_bytes, bytes, memory_order_relaxed);
    client_observe(e, 2, 0, time_ns); /* SHIM_OBSERVED_COMM */
}

void elastane_out_of_memory(struct elastane *e, int32_t micro_batch)
{
    if (e && micro_batch > 0)
        tell(e, RANK_OOM, 0, micro_batch);
}
