/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_digest.c - one digest of answers for each shape of problem: sizes, bounds, proofs
 * and prices, from cold solves and after events. test/digest.sh compares builds by them.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/mem.h"
#include "core/alloc/memo.h"
#include "core/alloc/sample.h"

#define SEED   77
#define SIZES  32
#define EVENTS 60

/* Rows and devices; the last passes the budget of the search for some shapes. */
static const int32_t problems[][2] = {{7, 20}, {60, 255}, {400, 1501}, {3000, 24001}};

#define ROWS_MAX 3000

static struct alloc_row rows[ROWS_MAX];
static struct alloc_option options[ROWS_MAX * SIZES];
static int32_t sizes[ROWS_MAX];

static void mix(uint64_t *digest, int64_t number)
{
    for (int i = 0; i < 8; i++) {
        *digest ^= ((uint64_t)number >> (8 * i)) & 0xff;
        *digest *= UINT64_C(1099511628211);
    }
}

static void mix_answer(uint64_t *digest, int32_t n_rows, const struct alloc_result *r)
{
    mix(digest, r->objective);
    mix(digest, r->bound);
    mix(digest, r->value);
    mix(digest, r->proof);
    mix(digest, r->price_gain);
    mix(digest, r->price_devices);
    for (int32_t j = 0; j < n_rows; j++)
        mix(digest, sizes[j]);
}

static void mix_cold(uint64_t *digest, const struct alloc_problem *p)
{
    struct alloc_scratch scratch;
    struct alloc_result result;
    int rc;

    alloc_scratch_init(&scratch);
    rc = alloc_solve(p, &scratch, sizes, &result);
    mix(digest, rc);
    if (rc == 0)
        mix_answer(digest, p->n_rows, &result);
    alloc_scratch_release(&scratch);
}

static void mix_events(uint64_t *digest, const struct alloc_problem *p, struct rng *rng)
{
    struct alloc_memo *memo = alloc_memo_new();
    struct alloc_result result;

    ASSERT(memo);
    for (int32_t j = 0; j < p->n_rows; j++)
        ASSERT(alloc_memo_insert(memo, j, &p->rows[j]) == 0);
    for (int i = 0; i < EVENTS; i++) {
        int32_t at = (int32_t)rng_below(rng, (uint64_t)p->n_rows);
        struct alloc_row row = p->rows[at];

        row.held = (int32_t)rng_below(rng, SIZES);
        if (i % 3 == 0)
            alloc_memo_set_devices(memo, p->devices - (int32_t)rng_below(rng, 5));
        else
            alloc_memo_replace(memo, at, &row);
        if (alloc_memo_solve(memo, sizes, &result) == 0)
            mix_answer(digest, p->n_rows, &result);
    }
    alloc_memo_free(memo);
}

int main(void)
{
    for (int shape = 0; shape < SAMPLE_SHAPE_MAX; shape++) {
        struct rng rng = rng_stream(SEED, sample_shape_name((enum sample_shape)shape));
        uint64_t digest = UINT64_C(14695981039346656037);

        for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
            struct alloc_problem p = {rows, problems[i][0], problems[i][1]};

            sample_fill(&rng, (enum sample_shape)shape, p.n_rows, SIZES, rows, options);
            mix_cold(&digest, &p);
            if (p.n_rows < 1000)
                mix_events(&digest, &p, &rng);
        }
        (void)printf("alloc-%s %016" PRIx64 "\n",
                     sample_shape_name((enum sample_shape)shape), digest);
    }
    return 0;
}
