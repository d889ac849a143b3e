/* SPDX-License-Identifier: Apache-2.0 */
/* strike.c - what the gap between a solution and its bound rules out.
 *
 * At a price for devices, the bound lets each row take its best net of the price. A row
 * that takes another step loses the difference against the bound. If one such loss alone
 * uses up the gap, no better solution takes that step (Dyer, Kayal, Walker 1984).
 *
 * With gains <= 2^47 + 1 and steps <= 2^13 devices, products stay below 2^61, and losses,
 * which are differences of two differences of products, below 2^63. */
#include "core/alloc/strike.h"

#include "base/assert.h"

/* The gain of a step at the price, times price->devices. */
static int64_t net_gain(const struct step *s, const struct strike_price *price)
{
    return s->gain * price->devices - price->gain * s->devices;
}

/* Keeps what row j may still take in a better solution. */
static bool strike_row(struct reduced *r, int32_t j, const struct strike_price *price)
{
    int64_t best = 0; /* the least size nets 0 */
    int64_t allowed;
    int32_t n = r->first[j];
    struct step least;

    for (int32_t i = r->first[j]; i < r->end[j]; i++)
        if (net_gain(&r->steps[i], price) > best)
            best = net_gain(&r->steps[i], price);
    allowed = best - (price->slack - price->devices);
    for (int32_t i = r->first[j]; i < r->end[j]; i++)
        if (net_gain(&r->steps[i], price) >= allowed)
            r->steps[n++] = r->steps[i];
    r->end[j] = n;
    if (allowed <= 0)
        return true;
    if (n == r->first[j])
        return false;
    least = r->steps[r->first[j]++];
    r->base += least.gain;
    r->room -= least.devices;
    r->least[j] = least.size;
    for (int32_t i = r->first[j]; i < n; i++) {
        r->steps[i].gain -= least.gain;
        r->steps[i].devices -= least.devices;
    }
    return true;
}

bool strike_out(struct reduced *r, const struct strike_price *price)
{
    ASSERT(price->devices > 0);
    if (price->slack < price->devices)
        return false;
    for (int32_t j = 0; j < r->n_rows; j++)
        if (!strike_row(r, j, price))
            return false;
    return r->room >= 0;
}
