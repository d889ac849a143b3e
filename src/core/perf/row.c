/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - the best plan of every size.
 *
 * Source: seed-paper.md sections 4 and 8, DESIGN 4.2. For one size k a plan is (B, a);
 * the pass m = ceil(ceil(B/k) / a) follows and must not pass the memory limit L.
 * Candidates are the equal splits B = k*a*m inside the batch range and, split unevenly if
 * need be, the two ends of the range and the base batch. The rate is B / (a*T_proc(m) +
 * T_comm).
 *
 * Ranges reach 2^24, so equal splits are not tried one by one. For fixed k and a the rate
 * is k*a*m / (a*T(m) + c). Where T(m) = alpha + beta*m its derivative has the sign of
 * a*alpha + c, the same on the whole stretch: the rate is monotone there, and the best m
 * is an end of the stretch. T is straight between knots (curve.h), knots are integers,
 * and so the ends of the allowed range and the knots inside it are enough: exact, with at
 * most PROC_POINTS_MAX + 2 questions.
 *
 * For a there is no such rule, since k*floor(hi/a)*a moves in steps. Tried are the least
 * possible a and the PASSES_TRIED - 1 after it, and those whose passes lie next to a knot
 * or to L. Between two knots the time of a whole batch, a*alpha + beta*B, changes one way
 * with a, so the best a lies next to a knot too, but for the part of the batch that equal
 * passes leave unused: less than one sample a pass. So what can be missed is about 1/m of
 * the rate, m being the passes' size.
 *
 * Rates are compared as integers, in 1e-9 of the yardstick R(b*,1): so that the order is
 * total, and noise in the last digit decides nothing. Equal ones: the batch in force, the
 * smaller batch, fewer passes.
 *
 * A job without a measurement has S(k) = k^0.8 for every batch, so ties decide. A job
 * that states no batch has no samples to count: each of its devices is taken to go on
 * with the largest micro-batch of the model, and its plans name no batch.
 *
 * Invariants: 1. Every plan passes split_check (or names no batch), has k <= B and m <=
 * L.
 * 2. A size is in the row exactly when has_plan() says so; no search decides
 * feasibility. 3. Values are integers in 0..VALUE_MAX. */
#include "core/perf/row.h"

#include "base/assert.h"
#include "base/mem.h"
#include "base/units.h"
#include "core/perf/curve.h"

#define PASSES_TRIED 16

#define SCORE_ONE 1e9 /* the yardstick, in units of the comparison */
#define SCORE_MAX 4e18
#define VALUE_ONE 1e6

/* What is looked for; the same for all sizes. */
struct quest {
    const struct job_spec *spec;
    const struct perf_model *model;
    const struct row_rule *rule;
    struct curve curve; /* only when the model has points */
    int32_t lo;         /* the batch range under this rule */
    int32_t hi;
    int32_t limit;    /* L, samples of one pass */
    double yardstick; /* R(b*,1), or 1 without a model */
    bool may_accumulate;
};

/* The search at one size. */
struct search {
    const struct quest *quest;
    int32_t size;
    double comm; /* seconds */
    int64_t best_score;
    struct row_option best; /* size 0: nothing found yet */
};

void row_init(struct row *row)
{
    *row = (struct row){0};
}

void row_release(struct row *row)
{
    mem_free(row->options);
    mem_free(row->values);
    row_init(row);
}

static bool has_model(const struct quest *q)
{
    return q->model->n_proc > 0;
}

static bool states_batch(const struct job_spec *spec)
{
    return spec->batch_max > 0;
}

/* The stated limit, else b_max / k_min; and never above what memory was found to allow.
 */
static int32_t quest_limit(const struct job_spec *spec, const struct perf_model *model)
{
    int32_t limit = spec->gpu_batch;

    if (limit == 0)
        limit = (int32_t)i64_div_up(spec->batch_max, spec->sizes.min);
    return model->micro_limit > 0 ? i32_min(limit, model->micro_limit) : limit;
}

static void quest_set_range(struct quest *q)
{
    const struct job_spec *spec = q->spec;

    q->may_accumulate = spec->accumulate != JOB_ACCUMULATE_NEVER;
    switch (q->rule->batch) {
    case ROW_BATCH_JOINT:
        q->lo = spec->batch_min;
        q->hi = spec->batch_max;
        break;
    case ROW_BATCH_MIN:
        q->lo = q->hi = spec->batch_min;
        q->may_accumulate = false;
        break;
    case ROW_BATCH_MAX:
        q->lo = q->hi = spec->batch_max;
        q->may_accumulate = false;
        break;
    case ROW_BATCH_MAX_ACCUM:
        q->lo = q->hi = spec->batch_max;
        q->may_accumulate = true;
        break;
    case ROW_BATCH_BASE:
        q->lo = q->hi = spec->batch_base;
        break;
    case ROW_BATCH_MAX_KIND:
        ASSERT(q->rule->batch != ROW_BATCH_MAX_KIND);
        break;
    }
}

static void quest_init(struct quest *q, const struct job_spec *spec,
                       const struct perf_model *model, const struct row_rule *rule)
{
    int32_t best_alone;

    *q = (struct quest){.spec = spec, .model = model, .rule = rule, .yardstick = 1.0};
    if (has_model(q))
        curve_init(&q->curve, model);
    if (states_batch(spec)) {
        q->limit = quest_limit(spec, model);
        quest_set_range(q);
        best_alone = i32_min(q->limit, spec->batch_max);
    } else {
        best_alone = has_model(q) ? q->curve.knots[q->curve.n - 1] : 0;
    }
    if (has_model(q))
        q->yardstick = (double)best_alone / curve_at(&q->curve, best_alone);
}

/* The closed form of "some candidate fits": no more devices than samples, and the
 * smallest batch within memory in as many passes as are allowed. With k > lo the equal
 * split of one sample a device is a candidate; with k <= lo the batch lo is. */
static bool has_plan(const struct quest *q, int32_t size)
{
    if (!states_batch(q->spec))
        return true;
    return size <= q->hi && (q->may_accumulate || i64_div_up(q->lo, size) <= q->limit);
}

static int64_t to_score(double share)
{
    double score = share * SCORE_ONE + 0.5;

    return (int64_t)(score < SCORE_MAX ? score : SCORE_MAX);
}

static int64_t to_value(double share, int64_t weight_ppm)
{
    double plain = share * VALUE_ONE + 0.5;
    int64_t value = (int64_t)(plain < (double)VALUE_MAX ? plain : (double)VALUE_MAX);

    return i64_min((value * weight_ppm + PPM / 2) / PPM, VALUE_MAX);
}

/* Best rate first; then the batch in force; then the smaller batch; then fewer passes. */
static bool is_better(const struct search *s, const struct row_option *o, int64_t score)
{
    const struct row_option *best = &s->best;
    int32_t in_force = s->quest->rule->batch_in_force;

    if (best->size == 0 || score != s->best_score)
        return best->size == 0 || score > s->best_score;
    if (o->global_batch != best->global_batch) {
        if (best->global_batch == in_force || o->global_batch == in_force)
            return o->global_batch == in_force;
        return o->global_batch < best->global_batch;
    }
    return o->accumulation < best->accumulation;
}

static void consider(struct search *s, int32_t batch, int32_t passes)
{
    const struct quest *q = s->quest;
    int64_t share = i64_div_up(batch, s->size);
    struct row_option o = {
        .size = s->size,
        .global_batch = batch,
        .micro_batch = (int32_t)i64_div_up(share, passes),
        .accumulation = passes,
    };
    double t;
    int64_t score;

    if (batch < s->size || o.micro_batch > q->limit || passes > share)
        return;
    if (has_model(q)) {
        t = (double)passes * curve_at(&q->curve, o.micro_batch);
        o.rate = (double)batch / (t + s->comm);
    } else {
        o.rate = model_prior(s->size);
    }
    score = to_score(o.rate / q->yardstick);
    if (is_better(s, &o, score)) {
        s->best = o;
        s->best_score = score;
    }
}

/* All candidates with exactly this many passes. */
static void try_passes(struct search *s, int64_t passes)
{
    const struct quest *q = s->quest;
    const struct curve *curve = &q->curve;
    int32_t step, in_force = q->rule->batch_in_force;
    int64_t lo, hi;

    if (passes < 1 || passes * s->size > q->hi)
        hi = 0; /* no equal split has so many passes */
    else
        hi = i64_min(q->hi / (passes * s->size), q->limit);
    if (passes < 1 || passes > q->hi)
        return;
    consider(s, q->lo, (int32_t)passes);
    consider(s, q->hi, (int32_t)passes);
    if (q->spec->batch_base >= q->lo && q->spec->batch_base <= q->hi)
        consider(s, q->spec->batch_base, (int32_t)passes);
    if (hi == 0)
        return;
    step = (int32_t)(passes * s->size);
    lo = i64_div_up(q->lo, step);
    if (lo > hi)
        return;
    consider(s, (int32_t)lo * step, (int32_t)passes);
    consider(s, (int32_t)hi * step, (int32_t)passes);
    for (int32_t i = 0; i < curve->n; i++)
        if (curve->knots[i] > lo && curve->knots[i] < hi)
            consider(s, curve->knots[i] * step, (int32_t)passes);
    if (in_force >= q->lo && in_force <= q->hi && in_force % step == 0)
        consider(s, in_force, (int32_t)passes);
}

/* Numbers of passes with which a rank's share is cut into passes of about x samples;
 * without those in first .. first + PASSES_TRIED - 1, which were tried. */
static void try_passes_near(struct search *s, int64_t least, int64_t first, int32_t x)
{
    const int32_t batches[2] = {s->quest->lo, s->quest->hi};

    for (int i = 0; i < 2; i++) {
        int64_t share = i64_div_up(batches[i], s->size);

        for (int64_t a = share / x; a <= share / x + 1; a++)
            if (a >= least && (a < first || a >= first + PASSES_TRIED))
                try_passes(s, a);
    }
}

static void try_all_passes(struct search *s, int64_t least)
{
    const struct quest *q = s->quest;
    int64_t needed = i64_div_up(i64_div_up(q->lo, s->size), q->limit);
    int64_t first = i64_max(needed, least);

    for (int64_t a = first; a < first + PASSES_TRIED; a++)
        try_passes(s, a);
    try_passes_near(s, least, first, q->limit);
    for (int32_t i = 0; i < q->curve.n; i++)
        try_passes_near(s, least, first, q->curve.knots[i]);
}

static void search_joint(struct search *s)
{
    const struct quest *q = s->quest;
    bool is_fixed = q->lo == q->hi;

    if (q->may_accumulate && (is_fixed || q->spec->accumulate == JOB_ACCUMULATE_FREE)) {
        try_all_passes(s, 1);
        return;
    }
    try_passes(s, 1);
    if (s->best.size == 0 && q->may_accumulate)
        try_all_passes(s, 2);
}

/* One batch, in as few passes as memory allows. */
static void search_fixed(struct search *s)
{
    const struct quest *q = s->quest;
    int64_t share = i64_div_up(q->hi, s->size);
    int64_t passes = q->may_accumulate ? i64_div_up(share, q->limit) : 1;

    ASSERT(q->lo == q->hi);
    consider(s, q->hi, (int32_t)passes);
}

/* A job that states no batch. */
static void search_unstated(struct search *s)
{
    const struct quest *q = s->quest;
    double each;

    s->best.size = s->size;
    if (!has_model(q)) {
        s->best.rate = model_prior(s->size);
        return;
    }
    each = (double)q->curve.knots[q->curve.n - 1];
    s->best.rate = (double)s->size * each / (q->curve.seconds[q->curve.n - 1] + s->comm);
}

static int32_t nodes_of(const struct row_rule *rule, int32_t size)
{
    if (rule->nodes_for_size == size && rule->nodes_needed > 0)
        return rule->nodes_needed;
    if (rule->devices_per_node <= 0)
        return 1;
    return (int32_t)i64_div_up(size, rule->devices_per_node);
}

static struct row_option best_of_size(const struct quest *q, int32_t size)
{
    struct search s = {.quest = q, .size = size};

    if (has_model(q))
        s.comm = model_t_comm(q->model, size, nodes_of(q->rule, size));
    if (!states_batch(q->spec))
        search_unstated(&s);
    else if (q->rule->batch == ROW_BATCH_JOINT)
        search_joint(&s);
    else
        search_fixed(&s);
    ASSERT(s.best.size == size);
    s.best.value = to_value(s.best.rate / q->yardstick, q->spec->weight_ppm);
    return s.best;
}

static int infeasible(const struct quest *q, struct err *err)
{
    const struct job_spec *spec = q->spec;
    int32_t size = size_set_last(&spec->sizes, q->hi);
    int64_t reach = (int64_t)size * q->limit;
    bool helps = q->rule->batch == ROW_BATCH_JOINT || q->rule->batch == ROW_BATCH_BASE;

    if (size == 0)
        return err_field(err, E_INFEASIBLE, "batch",
                         "is at most %d samples, fewer than the %d gpus of the smallest "
                         "size; give a batch of at least %d, or allow %d gpus or fewer",
                         q->hi, spec->sizes.min, spec->sizes.min, q->hi);
    return err_field(err, E_INFEASIBLE, "batch",
                     "of %d samples does not fit: %d gpus with at most %d samples each "
                     "(gpu-batch) hold %lld at once; give a batch of at most %lld, a "
                     "gpu-batch of at least %lld%s",
                     q->lo, size, q->limit, (long long)reach, (long long)reach,
                     (long long)i64_div_up(q->lo, size),
                     helps ? ", more gpus, or accumulate: needed" : ", or more gpus");
}

static int reserve(struct row *row, const struct size_set *set)
{
    int32_t n = set->n_listed > 0 ? set->n_listed : (set->max - set->min) / set->step + 1;
    void *options = row->options;
    void *values = row->values;
    int rc = mem_reserve(&options, &row->cap, (size_t)n, sizeof *row->options);

    row->options = options;
    if (rc == 0)
        rc = mem_reserve(&values, &row->cap_values, (size_t)n, sizeof *row->values);
    row->values = values;
    return rc;
}

int row_build(struct row *row, const struct job_spec *spec,
              const struct perf_model *model, const struct row_rule *rule,
              struct err *err)
{
    const struct size_set *set = &spec->sizes;
    struct quest q;
    int32_t n = 0;
    int32_t size;

    ASSERT(set->min >= 1);
    ASSERT(set->n_listed > 0 || set->step >= 1);
    quest_init(&q, spec, model, rule);
    size = set->min;
    while (size > 0 && !has_plan(&q, size))
        size = size_set_next(set, size + 1);
    if (size == 0)
        return infeasible(&q, err);
    if (reserve(row, set) < 0)
        return err_set(err, E_NOMEM, "out of memory");
    for (; size > 0; size = size_set_next(set, size + 1)) {
        if (n > 0 && rule->size_limit > 0 && size > rule->size_limit)
            break;
        if (!has_plan(&q, size))
            continue;
        row->options[n] = best_of_size(&q, size);
        row->values[n] = (struct alloc_option){size, row->options[n].value};
        n++;
    }
    row->n_options = n;
    return 0;
}

static bool same_rule(const struct row_rule *a, const struct row_rule *b)
{
    return a->batch == b->batch && a->devices_per_node == b->devices_per_node &&
           a->size_limit == b->size_limit && a->batch_in_force == b->batch_in_force &&
           a->nodes_for_size == b->nodes_for_size && a->nodes_needed == b->nodes_needed;
}

int row_recall(struct row_memo *memo, const struct job_spec *spec,
               const struct perf_model *model, const struct row_rule *rule,
               const struct row **ret)
{
    int rc;

    if (!memo->is_valid || !same_rule(&memo->rule, rule)) {
        row_forget(memo);
        rc = row_build(&memo->row, spec, model, rule, NULL);
        if (rc == E_INFEASIBLE)
            memo->row.n_options = 0;
        else if (rc < 0)
            return rc;
        memo->rule = *rule;
        memo->is_valid = true;
    }
    *ret = &memo->row;
    return 0;
}

void row_forget(struct row_memo *memo)
{
    memo->is_valid = false;
}

void row_memo_release(struct row_memo *memo)
{
    row_release(&memo->row);
    row_forget(memo);
}

const struct row_option *row_find(const struct row *row, int32_t size)
{
    int32_t lo = 0, hi = row->n_options;

    while (lo < hi) {
        int32_t mid = lo + (hi - lo) / 2;

        if (row->values[mid].size < size)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < row->n_options && row->values[lo].size == size ? &row->options[lo] : NULL;
}

int32_t row_min_size(const struct row *row)
{
    return row->n_options > 0 ? row->values[0].size : 0;
}
