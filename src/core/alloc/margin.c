/* SPDX-License-Identifier: Apache-2.0 */
/* margin.c - see margin.h. The price counts in w, T to one unit of value; what is given
 * is rounded down. Products: 2^47 * 2^13. */
#include "core/alloc/margin.h"

#include "base/assert.h"
#include "core/alloc/reduced.h"

/* The first option of at least this size. */
static int32_t find_option(const struct alloc_row *row, int32_t size)
{
    int32_t low = 0, high = row->n_options;

    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (row->options[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t price_of(const struct alloc_result *result, int64_t factor,
                        int32_t devices)
{
    return result->price_gain * devices / (result->price_devices * factor);
}

static struct alloc_margin margin_of(const struct alloc_row *row, int32_t size,
                                     const struct alloc_result *result, int64_t factor)
{
    struct alloc_margin m = {0};
    int32_t at = find_option(row, size);
    int64_t value = 0;

    if (size > 0) {
        ASSERT(at < row->n_options);
        ASSERT(row->options[at].size == size);
        value = row->options[at].value;
    } else {
        at = -1;
    }
    if (at + 1 < row->n_options) {
        m.more_devices = row->options[at + 1].size - size;
        m.more_value = row->options[at + 1].value - value;
        m.more_price = price_of(result, factor, m.more_devices);
    }
    if (at > 0 || (at == 0 && row->may_wait)) {
        m.less_devices = size - (at > 0 ? row->options[at - 1].size : 0);
        m.less_value = value - (at > 0 ? row->options[at - 1].value : 0);
        m.less_price = price_of(result, factor, m.less_devices);
    }
    return m;
}

void alloc_margins(const struct alloc_problem *p, const int32_t *sizes,
                   const struct alloc_result *result, struct alloc_margin *ret)
{
    int64_t factor = reduced_factor(p->n_rows);

    for (int32_t j = 0; j < p->n_rows; j++)
        ret[j] = margin_of(&p->rows[j], sizes[j], result, factor);
}
