/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - from the relaxation to the optimum, one row after another.
 *
 * The relaxation gives each row one of its sizes and leaves a few devices over: fewer
 * than the next edge needs. Better whole solutions differ from it in a few rows only, and
 * in those whose edges are closest to the price. So the search starts with a problem in
 * which every row is fixed to the relaxation's choice, and frees one row at a time (the
 * expanding core of Pisinger, 1995). What the freed rows together can do is a list of
 * states (devices, gain), both relative to the relaxation and both ascending: a state
 * that needs as many devices as another and gains no more is dropped.
 *
 * Dropped is also what cannot lead to anything better. Let the price be g/d, r the
 * devices left over, and `gain` the best found. With the loss z = g*devices - d*gain of a
 * state (never negative: at the price, no row gains by leaving its size), the state lives
 * only if
 *
 *     z + away * q <= slack,     slack = g*r - d*(gain + 1),     away = |r - devices|
 *
 * where q is what going back that way costs per device, beyond the price, with the rows
 * that are still fixed: the slope of their best edge up when devices are left, of their
 * best edge down when too many are used. Rows come in that order, so q grows with each
 * row while slack shrinks with each better solution; when no state lives, what was found
 * is optimal. On usual problems some dozens of rows are freed, of however many.
 *
 * Sizes often have a grain: most jobs move in steps of a node's eight devices, and a few
 * do not. No price sees that, and all states would live to the end. So those few are
 * freed first, and from then on what is left of the room modulo the grain is lost to each
 * state (when it has too many devices, so is what it gives back beyond need).
 *
 * Invariants:
 *   1. 0 <= z <= slack < 2^61 for each state, so z can be had from products that wrap.
 *   2. Rows come in an order that the curves alone decide, first up, then down, and so
 *      on; a tie keeps the state that was there. The answer is a function of the problem.
 *   3. Counted work ends the search, never time. Then the best found stands, and the
 *      states that lived give a bound. Memory never ends it: nodes that no state descends
 *      from are collected at a fixed number, and too many that live end it as work does.
 */
#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/alloc/reduced.h"
#include "core/alloc/solver.h"

#define SEARCH_NODES_MAX ((size_t)1 << 21)

/* More rows than this that do not go with the grain, and there is none. */
#define ODD_MAX 64

/* No state is farther from the room. */
#define REACH_MAX (DEVICES_MAX + (int64_t)JOBS_MAX * SIZE_MAX_DEVICES)

/* What a state must satisfy; see above. One for each side of the room. */
struct gate {
    int64_t cost;  /* q */
    int64_t reach; /* no farther away than this */
};

struct search {
    struct solver *s;
    struct search_work *w;
    int64_t price_gain, price_devices; /* g and d */
    int32_t room;                      /* r */
    int64_t slack;
    int64_t gain; /* the best found, and how it came about */
    int64_t bound;
    int32_t node;
    struct gate up, down;
    int32_t grain;  /* the steps of all rows that are still fixed are multiples of this */
    int32_t common; /* what it is when the odd rows are free */
    int32_t n_odd;  /* these stand in s->active */
    int64_t work, work_max;
};

static int grow_list(struct search_list *list, size_t want)
{
    void *states = list->states;
    int rc = mem_reserve(&states, &list->cap, want, sizeof *list->states);

    list->states = states;
    return rc;
}

static void set_slack(struct search *f)
{
    f->slack = f->price_gain * f->room - f->price_devices * (f->gain + 1);
}

static int64_t loss_of(const struct search *f, int64_t devices, int64_t gain)
{
    uint64_t worth = (uint64_t)f->price_gain * (uint64_t)devices;

    return (int64_t)(worth - (uint64_t)f->price_devices * (uint64_t)gain);
}

/* What a state loses beyond its own loss by the devices that it leaves or lacks; more
 * than any slack when it is out of reach. */
static int64_t loss_ahead(const struct search *f, int32_t devices)
{
    int64_t away = f->room - devices, wasted = 0;
    const struct gate *gate = away >= 0 ? &f->up : &f->down;

    if (f->grain > 1) {
        wasted = (away % f->grain + f->grain) % f->grain;
        away -= wasted;
    }
    away = away >= 0 ? away : -away;
    return away <= gate->reach ? away * gate->cost + wasted * f->price_gain : INT64_MAX;
}

static bool may_lead_on(const struct search *f, int32_t devices, int64_t gain)
{
    int64_t ahead = loss_ahead(f, devices);

    return ahead <= f->slack && loss_of(f, devices, gain) <= f->slack - ahead;
}

/* The first edge of a row that is still fixed, or NULL. */
static const struct edge *first_fixed(const struct solver *s, struct edge_heap *heap,
                                      int32_t sign)
{
    while (heap->n > 0 && s->curves[sign * heap->edges[0].row].is_joined)
        edge_heap_pop(heap);
    return heap->n > 0 ? &heap->edges[0] : NULL;
}

static void set_gate(const struct search *f, struct gate *gate, int64_t cost)
{
    ASSERT(cost >= 0);
    gate->cost = cost;
    gate->reach = REACH_MAX;
    if (cost > 0 && f->slack >= 0)
        gate->reach = i64_min(gate->reach, f->slack / cost);
}

/* Rounded down, which at worst keeps a state alive. */
static void set_gates(struct search *f)
{
    const struct edge *up = first_fixed(f->s, &f->s->up, 1);
    const struct edge *down = first_fixed(f->s, &f->s->down, -1);

    if (up)
        set_gate(f, &f->up,
                 (f->price_gain * up->devices - up->gain * f->price_devices) /
                     up->devices);
    else
        set_gate(f, &f->up, f->price_gain);
    if (down)
        set_gate(f, &f->down,
                 (-down->gain * f->price_devices - f->price_gain * down->devices) /
                     down->devices);
    else
        f->down = (struct gate){0, 0};
}

/* What row j may do other than stay, and lose no more than the slack. */
static int find_moves(struct search *f, int32_t j, size_t *ret_n)
{
    const struct solver *s = f->s;
    const struct alloc_row *row = &s->rows[j];
    const struct curve *c = &s->curves[j];
    struct search_move from = {0};
    void *moves = f->w->moves;
    int64_t best = -1; /* the least size counts too */
    int rc = mem_reserve(&moves, &f->w->cap_moves, (size_t)row->n_options + 1,
                         sizeof *f->w->moves);

    f->w->moves = moves;
    if (rc < 0)
        return rc;
    *ret_n = 0;
    if (c->taken > 0) {
        const struct corner *at = &s->pool.corners[c->at + (size_t)c->taken - 1];

        from = (struct search_move){at->gain, at->devices, 0};
    }
    for (int32_t i = c->least == 0 ? -1 : 0; i < row->n_options; i++) {
        int32_t size = i >= 0 ? row->options[i].size : 0;
        int64_t value = i >= 0 ? row->options[i].value : 0;
        int64_t gain = reduced_weight(row, s->factor, size, value) - c->base;
        struct search_move m = {gain - from.gain, size - c->least - from.devices, size};

        if (size - c->least > s->room)
            break;
        if (gain <= best)
            continue;
        best = gain;
        if (m.devices != 0 && loss_of(f, m.devices, m.gain) <= f->slack)
            f->w->moves[(*ret_n)++] = m;
    }
    f->work += row->n_options;
    return 0;
}

/* Keeps of `from` what may still lead on. */
static int sift(struct search *f, const struct search_list *from, struct search_list *to)
{
    int rc = grow_list(to, from->n);

    if (rc < 0)
        return rc;
    to->n = 0;
    for (size_t i = 0; i < from->n; i++)
        if (may_lead_on(f, from->states[i].devices, from->states[i].gain)) {
            to->states[to->n] = from->states[i];
            to->states[to->n++].size = -1;
        }
    f->work += (int64_t)from->n;
    return 0;
}

static struct search_state after_move(const struct search_state *from,
                                      const struct search_move *m)
{
    return (struct search_state){from->gain + m->gain, from->devices + m->devices,
                                 from->node, m->size};
}

/* Both lists in one, the states of `moved` after the move. */
static int merge(struct search *f, const struct search_list *kept,
                 const struct search_list *moved, const struct search_move *m,
                 struct search_list *to)
{
    const struct search_state *a = kept->states, *a_end = a + kept->n;
    const struct search_state *b = moved->states, *b_end = b + moved->n;
    struct search_state *out;
    int64_t last = INT64_MIN;
    int rc = grow_list(to, kept->n + moved->n);

    if (rc < 0)
        return rc;
    out = to->states;
    while (a < a_end || b < b_end) {
        int64_t a_at = a < a_end ? a->devices : INT64_MAX;
        int64_t b_at = b < b_end ? (int64_t)b->devices + m->devices : INT64_MAX;

        bool is_kept = a_at < b_at || (a_at == b_at && a->gain >= b->gain + m->gain);
        struct search_state next = is_kept ? *a++ : after_move(b++, m);

        if (next.gain <= last || (!is_kept && !may_lead_on(f, next.devices, next.gain)))
            continue;
        last = next.gain;
        *out++ = next;
    }
    to->n = (size_t)(out - to->states);
    f->work += (int64_t)(kept->n + moved->n);
    return 0;
}

static void swap_lists(struct search_list *a, struct search_list *b)
{
    struct search_list t = *a;

    *a = *b;
    *b = t;
}

/* Keeps the nodes that some state descends from. They stay in order, and each stands
 * after the one before it. */
static int collect(struct search *f)
{
    struct search_work *w = f->w;
    void *mark = w->mark;
    int rc = mem_reserve(&mark, &w->cap_mark, w->n_nodes, sizeof *w->mark);
    int32_t n = 0;

    w->mark = mark;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < w->n_nodes; i++)
        w->mark[i] = 0;
    for (size_t i = 0; i < w->now.n; i++)
        if (w->now.states[i].node >= 0)
            w->mark[w->now.states[i].node] = 1;
    if (f->node >= 0)
        w->mark[f->node] = 1;
    for (size_t i = w->n_nodes; i-- > 0;)
        if (w->mark[i] && w->nodes[i].before >= 0)
            w->mark[w->nodes[i].before] = 1;
    for (size_t i = 0; i < w->n_nodes; i++)
        if (w->mark[i]) {
            struct search_node node = w->nodes[i];

            node.before = node.before >= 0 ? w->mark[node.before] : -1;
            w->nodes[n] = node;
            w->mark[i] = n++;
        }
    for (size_t i = 0; i < w->now.n; i++)
        if (w->now.states[i].node >= 0)
            w->now.states[i].node = w->mark[w->now.states[i].node];
    if (f->node >= 0)
        f->node = w->mark[f->node];
    w->n_nodes = (size_t)n;
    return 0;
}

/* Writes down how the new states came about, and the best that fits. */
static int settle(struct search *f, int32_t j)
{
    struct search_work *w = f->w;
    const struct search_state *best = NULL;
    void *nodes = w->nodes;
    int rc = mem_reserve(&nodes, &w->cap_nodes, w->n_nodes + w->now.n, sizeof *w->nodes);

    w->nodes = nodes;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < w->now.n; i++) {
        struct search_state *state = &w->now.states[i];

        if (state->size >= 0) {
            w->nodes[w->n_nodes] = (struct search_node){state->node, j, state->size};
            state->node = (int32_t)w->n_nodes++;
        }
        if (state->devices <= f->room)
            best = state;
    }
    if (best && best->gain > f->gain) {
        f->gain = best->gain;
        f->node = best->node;
        set_slack(f);
    }
    return 0;
}

/* Frees row j. At the end of the budget all is as before. */
static int join(struct search *f, int32_t j)
{
    struct search_work *w = f->w;
    const struct gate up = f->up, down = f->down;
    const int32_t grain = f->grain;
    size_t n_moves;
    int rc;

    f->s->curves[j].is_joined = true;
    if (f->n_odd > 0 && j == f->s->active[f->n_odd - 1])
        f->grain = f->common;
    rc = find_moves(f, j, &n_moves);
    if (rc < 0)
        return rc;
    set_gates(f);
    /* The list as it was stays in `now`, for all moves to start from. */
    rc = sift(f, &w->now, &w->next);
    for (size_t i = 0; i < n_moves && rc == 0 && f->work < f->work_max; i++) {
        rc = merge(f, &w->next, &w->now, &w->moves[i], &w->spare);
        swap_lists(&w->next, &w->spare);
    }
    if (rc < 0)
        return rc;
    if (f->work >= f->work_max) {
        f->up = up;
        f->down = down;
        f->grain = grain;
        return E_LIMIT;
    }
    swap_lists(&w->now, &w->next);
    return settle(f, j);
}

/* What the living states could still lead to, above the best found. */
static int64_t best_hope(const struct search *f)
{
    int64_t hope = f->gain;

    for (size_t i = 0; i < f->w->now.n; i++) {
        const struct search_state *state = &f->w->now.states[i];
        int64_t left;

        if (!may_lead_on(f, state->devices, state->gain))
            continue;
        left = f->slack - loss_of(f, state->devices, state->gain) -
               loss_ahead(f, state->devices);
        hope = i64_max(hope, f->gain + 1 + left / f->price_devices);
    }
    return i64_min(hope, f->bound);
}

/* The grain of the row that sets the price, made finer by every row that has one in
 * common with it. The few that have none are freed first. */
static int32_t find_grain(struct search *f)
{
    struct solver *s = f->s;
    int32_t grain = s->up.n > 0 ? s->curves[s->price.row].divisor : 1;

    f->n_odd = 0;
    for (int32_t j = 0; j < s->n_rows && grain > 1; j++) {
        int32_t common = curve_divisor(s->curves[j].divisor, grain);

        if (common > 1)
            grain = common;
        else if (f->n_odd < ODD_MAX)
            s->active[f->n_odd++] = j;
        else
            grain = 1;
    }
    if (grain == 1)
        f->n_odd = 0;
    return grain;
}

/* The row to free next: by turns that whose edge up, and that whose edge down, is closest
 * to the price; -1 when all are free. */
static int32_t next_row(const struct search *f, int32_t turn)
{
    const struct edge *up = first_fixed(f->s, &f->s->up, 1);
    const struct edge *down = first_fixed(f->s, &f->s->down, -1);

    if (turn < f->n_odd)
        return f->s->active[turn];
    if (up && (turn % 2 == 0 || !down))
        return up->row;
    return down ? -down->row : -1;
}

/* Returns 0 when nothing better is left; E_LIMIT at the end of the budget; E_NOMEM. */
static int expand(struct search *f)
{
    f->grain = 1;
    f->common = find_grain(f);
    for (int32_t turn = 0; f->gain < f->bound && f->w->now.n > 0; turn++) {
        int32_t j = next_row(f, turn);
        int rc;

        if (j < 0)
            return 0;
        rc = join(f, j);
        if (rc == 0 && f->w->n_nodes > SEARCH_NODES_MAX) {
            rc = collect(f);
            if (rc == 0 && f->w->n_nodes > SEARCH_NODES_MAX / 2)
                rc = E_LIMIT;
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

int search_run(struct solver *s, int64_t work_max, struct search_result *ret)
{
    struct search f = {.s = s,
                       .w = &s->search,
                       .node = -1,
                       .work_max = work_max,
                       .up = {0, REACH_MAX},
                       .down = {0, REACH_MAX}};
    int rc;

    f.price_gain = s->price.gain;
    f.price_devices = s->price.devices;
    f.room = s->room - s->used;
    f.bound = f.price_gain * f.room / f.price_devices;
    set_slack(&f);
    f.w->n_nodes = 0;
    rc = grow_list(&f.w->now, 1);
    if (rc < 0)
        return rc;
    f.w->now.states[0] = (struct search_state){0, 0, -1, -1};
    f.w->now.n = 1;
    rc = expand(&f);
    if (rc == E_NOMEM)
        return rc;
    *ret = (struct search_result){f.gain, f.node, f.bound, rc == 0};
    if (rc == E_LIMIT)
        ret->bound = best_hope(&f);
    return 0;
}
