/* SPDX-License-Identifier: Apache-2.0 */
/* relax.c - the linear relaxation: what a device is worth.
 *
 * All edges of all curves stand in one total order: by slope, the steepest first; equal
 * ones by row, and within a row from left to right. Handing out the room in that order
 * solves the relaxation, in which an edge may be taken in part. The first edge that does
 * not fit sets the price of a device (its slope), and what stands before it is taken.
 * Since the order is total, this is one state, whatever way led there:
 *
 *     relax_select   from nothing: guess an edge, count what all edges before it need,
 *                    keep the half in which the end of the room lies, and so on. Each row
 *                    looks into its own part by bisection. The first guesses are the
 *                    answer for a sample of the rows.
 *     relax_adjust   from where the last solve ended: a few edges more or less.
 *
 * So a solve after one change gives what a cold one gives (memo.h).
 *
 * Source of the guessing: Dyer (1984) and Zemel (1984) do it with exact medians in linear
 * time; the guesses here come from a fixed sequence, and do as well.
 *
 * Slopes are compared as fractions by cross products, never divided: gains <= 2^47 + 1
 * and devices <= 2^13 keep products below 2^61. */
#include "base/assert.h"
#include "base/units.h"
#include "core/alloc/solver.h"

/* Among many rows the first guesses come from one row in so many. */
#define SAMPLE 32

/* A place in the order: before edge `index` of row `at.row`. */
struct cut {
    struct edge at;
    int32_t index;
};

struct edge edge_of(const struct solver *s, int32_t j, int32_t i)
{
    const struct corner *c = &s->pool.corners[s->curves[j].at + (size_t)i];

    if (i == 0)
        return (struct edge){c->gain, c->devices, j};
    return (struct edge){c->gain - c[-1].gain, c->devices - c[-1].devices, j};
}

struct edge edge_mirror(struct edge e)
{
    return (struct edge){-e.gain, e.devices, -e.row};
}

static bool comes_before(const struct edge *a, const struct edge *b)
{
    int64_t left = a->gain * b->devices;
    int64_t right = b->gain * a->devices;

    return left != right ? left > right : a->row < b->row;
}

void edge_heap_sink(struct edge_heap *heap, int32_t hole, struct edge e)
{
    struct edge *edges = heap->edges;

    for (;;) {
        int32_t child = 2 * hole + 1;

        if (child >= heap->n)
            break;
        if (child + 1 < heap->n && comes_before(&edges[child + 1], &edges[child]))
            child++;
        if (!comes_before(&edges[child], &e))
            break;
        edges[hole] = edges[child];
        hole = child;
    }
    edges[hole] = e;
}

void edge_heap_build(struct edge_heap *heap)
{
    for (int32_t i = heap->n / 2 - 1; i >= 0; i--)
        edge_heap_sink(heap, i, heap->edges[i]);
}

void edge_heap_pop(struct edge_heap *heap)
{
    ASSERT(heap->n > 0);
    heap->n--;
    if (heap->n > 0)
        edge_heap_sink(heap, 0, heap->edges[heap->n]);
}

static bool is_before_cut(const struct edge *e, int32_t index, const struct cut *cut)
{
    int64_t left = e->gain * cut->at.devices;
    int64_t right = cut->at.gain * e->devices;

    if (left != right)
        return left > right;
    return e->row != cut->at.row ? e->row < cut->at.row : index < cut->index;
}

/* The edges of row j before the cut, known to be between low and high. Most rows take a
 * small part of what they could, so the looking begins at low. */
static int32_t count_before(const struct solver *s, int32_t j, const struct cut *cut,
                            int32_t low, int32_t high)
{
    int32_t stride = 1;

    while (low < high) {
        int32_t middle = i32_min(low + stride - 1, low + (high - low) / 2);
        struct edge e = edge_of(s, j, middle);

        if (is_before_cut(&e, middle, cut)) {
            low = middle + 1;
            stride *= 2;
        } else {
            high = middle;
        }
    }
    return low;
}

static const struct corner *corner_of(const struct solver *s, int32_t j, int32_t n)
{
    static const struct corner origin = {0, 0};

    return n > 0 ? &s->pool.corners[s->curves[j].at + (size_t)n - 1] : &origin;
}

/* A selection among some of the rows; those that are still open stand in s->active. */
struct selection {
    struct solver *s;
    int32_t n_active;
    int64_t room;
    int64_t need; /* of the edges known to be taken */
    uint64_t random;
};

static void open_rows(struct selection *f, int32_t stride)
{
    struct solver *s = f->s;

    f->n_active = 0;
    f->need = 0;
    for (int32_t j = 0; j < s->n_rows; j += stride) {
        s->curves[j].taken = 0;
        s->curves[j].high = s->curves[j].n_corners;
        if (s->curves[j].n_corners > 0)
            s->active[f->n_active++] = j;
    }
}

/* A guess, just behind its edge. */
static struct cut guess(struct selection *f)
{
    const struct curve *c;
    int32_t j, index;

    f->random = f->random * 6364136223846793005u + 1442695040888963407u;
    j = f->s->active[(f->random >> 33) % (uint64_t)f->n_active];
    c = &f->s->curves[j];
    index = c->taken + (c->high - c->taken) / 2;
    return (struct cut){edge_of(f->s, j, index), index + 1};
}

/* Takes what stands before the cut, or rules out what stands behind it. */
static void narrow(struct selection *f, const struct cut *cut)
{
    struct solver *s = f->s;
    int64_t more = 0;
    int32_t n = 0;
    bool fits;

    for (int32_t i = 0; i < f->n_active; i++) {
        int32_t j = s->active[i];
        const struct curve *c = &s->curves[j];

        s->position[i] = count_before(s, j, cut, c->taken, c->high);
        more +=
            corner_of(s, j, s->position[i])->devices - corner_of(s, j, c->taken)->devices;
    }
    fits = f->need + more <= f->room;
    f->need += fits ? more : 0;
    for (int32_t i = 0; i < f->n_active; i++) {
        int32_t j = s->active[i];
        struct curve *c = &s->curves[j];

        if (fits)
            c->taken = s->position[i];
        else
            c->high = s->position[i];
        if (!fits && j == cut->at.row && c->high == cut->index)
            c->high--; /* the last one is that which does not fit */
        if (c->taken < c->high)
            s->active[n++] = j;
    }
    f->n_active = n;
}

static void select_among(struct selection *f)
{
    while (f->n_active > 0) {
        struct cut cut = guess(f);

        narrow(f, &cut);
    }
}

/* Where the room would end if all rows were like every SAMPLE-th. False: nowhere. */
static bool sample_cut(struct solver *s, int64_t room, struct cut *ret)
{
    struct selection f = {.s = s, .room = room / SAMPLE, .random = 1};
    bool is_found = false;

    open_rows(&f, SAMPLE);
    select_among(&f);
    for (int32_t j = 0; j < s->n_rows; j += SAMPLE) {
        int32_t index = s->curves[j].taken;
        struct edge e;

        if (index == s->curves[j].n_corners)
            continue;
        e = edge_of(s, j, index);
        if (is_found && !comes_before(&e, &ret->at))
            continue;
        *ret = (struct cut){e, index + 1};
        is_found = true;
    }
    return is_found;
}

static void fill_up(struct solver *s)
{
    s->up.n = 0;
    for (int32_t j = 0; j < s->n_rows; j++)
        if (s->curves[j].taken < s->curves[j].n_corners)
            s->up.edges[s->up.n++] = edge_of(s, j, s->curves[j].taken);
    edge_heap_build(&s->up);
}

static void fill_down(struct solver *s)
{
    s->down.n = 0;
    for (int32_t j = 0; j < s->n_rows; j++)
        if (s->curves[j].taken > 0)
            s->down.edges[s->down.n++] =
                edge_mirror(edge_of(s, j, s->curves[j].taken - 1));
    edge_heap_build(&s->down);
}

static void add_up(struct solver *s)
{
    int64_t used = 0;

    s->gain = 0;
    for (int32_t j = 0; j < s->n_rows; j++) {
        const struct corner *c = corner_of(s, j, s->curves[j].taken);

        s->gain += c->gain;
        used += c->devices;
    }
    ASSERT(used <= INT32_MAX);
    s->used = (int32_t)used;
}

static void set_price(struct solver *s)
{
    ASSERT(s->used <= s->room);
    s->price = s->up.n > 0 ? s->up.edges[0] : (struct edge){0, 1, 0};
    ASSERT(s->up.n == 0 || s->price.devices > s->room - s->used);
}

void relax_select(struct solver *s)
{
    struct selection f = {.s = s, .room = s->room, .random = 1};
    struct cut cuts[3];
    int n_cuts = 0;

    if (s->n_rows >= SAMPLE * SAMPLE)
        for (int i = 0; i < 3; i++) /* before, at and behind the likely end */
            n_cuts += sample_cut(s, f.room - f.room / 16 * (1 - i), &cuts[n_cuts]);
    open_rows(&f, 1);
    for (int i = 0; i < n_cuts; i++)
        narrow(&f, &cuts[i]);
    select_among(&f);
    add_up(s);
    fill_up(s);
    fill_down(s);
    set_price(s);
}

void relax_place(struct solver *s, int32_t j)
{
    struct cut cut = {s->price, 0};

    s->curves[j].taken = count_before(s, j, &cut, 0, s->curves[j].n_corners);
}

/* Both of these give up after as many edges as there are rows: then selecting is quicker.
 */
static bool take_while_it_fits(struct solver *s)
{
    for (int32_t n = 0; s->up.n > 0 && s->up.edges[0].devices <= s->room - s->used; n++) {
        struct edge e = s->up.edges[0];
        struct curve *c = &s->curves[e.row];

        if (n == s->n_rows)
            return false;
        s->used += e.devices;
        s->gain += e.gain;
        c->taken++;
        if (c->taken < c->n_corners)
            edge_heap_sink(&s->up, 0, edge_of(s, e.row, c->taken));
        else
            edge_heap_pop(&s->up);
    }
    return true;
}

static bool give_back_until_it_fits(struct solver *s)
{
    for (int32_t n = 0; s->used > s->room; n++) {
        struct edge e = edge_mirror(s->down.edges[0]);
        struct curve *c = &s->curves[e.row];

        ASSERT(s->down.n > 0);
        if (n == s->n_rows)
            return false;
        s->used -= e.devices;
        s->gain -= e.gain;
        c->taken--;
        if (c->taken > 0)
            edge_heap_sink(&s->down, 0, edge_mirror(edge_of(s, e.row, c->taken - 1)));
        else
            edge_heap_pop(&s->down);
    }
    return true;
}

void relax_adjust(struct solver *s)
{
    bool is_done;

    add_up(s);
    if (s->used <= s->room) {
        fill_up(s);
        is_done = take_while_it_fits(s);
        fill_down(s);
    } else {
        fill_down(s);
        is_done = give_back_until_it_fits(s);
        fill_up(s);
    }
    if (is_done)
        set_price(s);
    else
        relax_select(s);
}
