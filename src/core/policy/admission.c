/* SPDX-License-Identifier: Apache-2.0 */
/* admission.c - who keeps running, who starts, who waits.
 *
 * Source: the pass of seed-paper.md section 7, and DESIGN 4.5. A set of jobs fits when
 * the sum of their needs does not exceed the devices (section 5.3: this is equivalent to
 * the knapsack being feasible), so admission is a running sum and the allocator is asked
 * once, at the end.
 *
 *   Pinned jobs come first and take what they hold.
 *   Running jobs are served by age, oldest first, each if it still fits; who does not,
 *   yields. While everything fits that is nobody; when capacity shrank it is the
 *   youngest, except that no job yields for the sake of one that has to go anyway.
 *   The queue follows in order, those that just yielded at its head. What happens behind
 *   a job that does not fit is the admission variant: `queue` stops, `skip` and `drop` go
 *   on. A job is blocked when its need exceeds all the devices there are: it is stepped
 *   over in every variant. A job that has waited for reserve_us is stepped over no
 *   longer, blocked or not: devices that fall free are kept for it.
 *
 * Invariants: 1. The needs of all jobs in the plan sum to at most view->devices, unless
 * pinned ones alone exceed it. 2. Who is in the plan gets a size of its row and never 0;
 * a running job that has no row keeps what it holds. 3. The answer depends on the view
 * alone; ages are compared by (start_us, order, id).
 * Not here: whether a move is worth it, and when it begins (scaler). */
#include "core/policy/admission.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/mem.h"

/* The pass: what is left, and whether the queue still moves. */
struct pass {
    const struct admission *a;
    int64_t left;                  /* devices not needed by those in the plan so far */
    const struct policy_job *stop; /* admission ended at this job; NULL: it goes on */
    bool has_refused;              /* a waiting job was told how much is missing */
    int32_t *ages;                 /* indices of the running jobs */
    int32_t n_ages;
};

static void set_target(struct policy_target *t, enum policy_verdict verdict,
                       const char *fmt, ...) ATTR_PRINTF(3, 4);

static void set_target(struct policy_target *t, enum policy_verdict verdict,
                       const char *fmt, ...)
{
    va_list args;

    t->verdict = verdict;
    t->size = 0;
    va_start(args, fmt);
    (void)vsnprintf(t->reason, sizeof t->reason, fmt, args);
    va_end(args);
}

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* What a job that holds devices needs. A rigid one, and one without a row, keeps what it
 * has. */
static int32_t held_need(const struct admission *a, const struct policy_job *job)
{
    int32_t need;

    if (job->standing == POLICY_PINNED || job->spec->level == JOB_RIGID ||
        job->row->n_options == 0)
        return job->held;
    need = a->need(a->view, job);
    return need > 0 ? need : job->held;
}

/* Older first: by first start (never started is youngest), place in the queue, id. */
static bool is_older(const struct policy_job *a, const struct policy_job *b)
{
    usec_t sa = a->run->start_us > 0 ? a->run->start_us : USEC_NEVER;
    usec_t sb = b->run->start_us > 0 ? b->run->start_us : USEC_NEVER;

    if (sa != sb)
        return sa < sb;
    if (a->run->order != b->run->order)
        return a->run->order < b->run->order;
    return a->spec->id < b->spec->id;
}

/* Heap sort, since qsort() may allocate: the youngest of a heap is moved to its end. */
static void sift_down(const struct policy_job *jobs, int32_t *heap, int32_t root,
                      int32_t n)
{
    for (;;) {
        int32_t child = 2 * root + 1;
        int32_t moved = heap[root];

        if (child >= n)
            return;
        if (child + 1 < n && is_older(&jobs[heap[child]], &jobs[heap[child + 1]]))
            child++;
        if (!is_older(&jobs[moved], &jobs[heap[child]]))
            return;
        heap[root] = heap[child];
        heap[child] = moved;
        root = child;
    }
}

static void sort_by_age(const struct policy_job *jobs, int32_t *index, int32_t n)
{
    for (int32_t i = n / 2; i > 0; i--)
        sift_down(jobs, index, i - 1, n);
    for (int32_t last = n - 1; last > 0; last--) {
        int32_t youngest = index[0];

        index[0] = index[last];
        index[last] = youngest;
        sift_down(jobs, index, 0, last);
    }
}

static void take(struct pass *p, int32_t index, int32_t need)
{
    struct policy_target *t = &p->a->targets[index];

    p->left -= need;
    t->verdict = POLICY_SIZE;
    t->size = 0; /* until the allocator has answered */
    t->reason[0] = '\0';
}

/* Pinned jobs, and the list of the running ones. Returns the needs of the latter. */
static int64_t take_pinned(struct pass *p)
{
    const struct policy_view *view = p->a->view;
    int64_t needs = 0;

    for (int32_t i = 0; i < view->n_jobs; i++) {
        const struct policy_job *job = &view->jobs[i];

        if (job->standing == POLICY_PINNED) {
            take(p, i, job->held);
        } else if (job->standing == POLICY_RUNNING) {
            ASSERT(job->held >= 1);
            needs += held_need(p->a, job);
            p->ages[p->n_ages++] = i;
        }
    }
    return needs;
}

static bool has_waited_long(const struct admission *a, const struct policy_job *job)
{
    usec_t since = job->run->since_us;

    return a->view->now_us - since >= a->view->config->reserve_us;
}

static void take_running(struct pass *p, int64_t needs)
{
    const struct policy_view *view = p->a->view;

    if (needs > p->left)
        sort_by_age(view->jobs, p->ages, p->n_ages);
    for (int32_t i = 0; i < p->n_ages; i++) {
        const struct policy_job *job = &view->jobs[p->ages[i]];
        int32_t need = held_need(p->a, job);
        int64_t rest = i64_max(p->left, 0);

        if (need <= p->left) {
            take(p, p->ages[i], need);
            continue;
        }
        set_target(&p->a->targets[p->ages[i]], POLICY_YIELD,
                   "gave way: needs %d gpu%s, older jobs leave %lld", need, plural(need),
                   (long long)rest);
        if (!p->stop && need <= view->devices &&
            view->config->admission == CONFIG_ADMIT_QUEUE)
            p->stop = job;
    }
}

static bool drops(const struct admission *a, const struct policy_job *job)
{
    return a->view->config->admission == CONFIG_ADMIT_DROP && job->may_be_dropped;
}

/* Numbers that change with every plan are told to the first of the queue alone: a new
 * reason is a new record in the journal, and ten thousand may wait. */
static void tell_missing(struct pass *p, struct policy_target *t,
                         enum policy_verdict verdict, int32_t need)
{
    bool is_rigid = p->a->policy->is_rigid;
    int64_t left = i64_max(p->left, 0);

    if (p->has_refused && verdict != POLICY_DROP)
        set_target(t, verdict, "needs %d gpu%s, fewer %s", need, plural(need),
                   is_rigid ? "are free" : "can be freed");
    else if (is_rigid)
        set_target(t, verdict, "needs %d gpu%s, %lld %s free", need, plural(need),
                   (long long)left, left == 1 ? "is" : "are");
    else
        set_target(t, verdict, "needs %d gpu%s, %lld can be freed", need, plural(need),
                   (long long)left);
    p->has_refused = true;
}

/* A waiting job whose need does not fit into what is left. */
static void refuse(struct pass *p, int32_t index, int32_t need)
{
    const struct policy_view *view = p->a->view;
    const struct policy_job *job = &view->jobs[index];
    struct policy_target *t = &p->a->targets[index];
    bool is_blocked = need == 0 || need > view->devices;
    enum policy_verdict verdict = is_blocked ? POLICY_BLOCKED : POLICY_WAIT;

    if (drops(p->a, job))
        verdict = POLICY_DROP;
    if (need == 0)
        set_target(t, verdict, "no size can serve its batch under policy %s",
                   p->a->policy->name);
    else if (is_blocked)
        set_target(t, verdict, "needs %d gpu%s, only %d %s up now", need, plural(need),
                   view->devices, view->devices == 1 ? "is" : "are");
    else
        tell_missing(p, t, verdict, need);
    if (verdict == POLICY_DROP || need == 0 || p->stop)
        return;
    if (has_waited_long(p->a, job) ||
        (!is_blocked && view->config->admission == CONFIG_ADMIT_QUEUE))
        p->stop = job;
}

static int32_t waiting_need(const struct admission *a, const struct policy_job *job)
{
    int32_t least = row_min_size(job->row);

    return least > a->view->devices ? least : a->need(a->view, job);
}

static void take_waiting(struct pass *p)
{
    const struct policy_view *view = p->a->view;

    for (int32_t i = 0; i < view->n_jobs; i++) {
        const struct policy_job *job = &view->jobs[i];
        int32_t need;

        if (job->standing != POLICY_WAITING)
            continue;
        need = waiting_need(p->a, job);
        if (job->run->retry_us > view->now_us)
            set_target(&p->a->targets[i], POLICY_WAIT, "waits for its next attempt");
        else if (need == 0 || need > view->devices)
            refuse(p, i, need);
        else if (p->stop)
            set_target(&p->a->targets[i], drops(p->a, job) ? POLICY_DROP : POLICY_WAIT,
                       "stands in the queue behind jobs that go first");
        else if (need <= p->left)
            take(p, i, need);
        else
            refuse(p, i, need);
    }
}

/* A pinned job may hold nothing any more; it has no row in the knapsack then. */
static bool has_row(const struct admission *a, int32_t index)
{
    const struct policy_job *job = &a->view->jobs[index];

    return a->targets[index].verdict == POLICY_SIZE &&
           (job->standing != POLICY_PINNED || job->held > 0);
}

/* Whether the job gets exactly what it needs. */
static bool is_fixed(const struct admission *a, const struct policy_job *job)
{
    return a->policy->is_rigid || job->standing == POLICY_PINNED ||
           job->spec->level == JOB_RIGID;
}

/* What the allocator may choose from for one job that is in the plan. `only` is room for
 * one option. */
static struct alloc_row row_of(const struct admission *a, const struct policy_job *job,
                               struct alloc_option *only)
{
    const struct row *row = job->row;
    const struct row_option *option;
    int32_t n = row->n_options;
    int32_t size;

    if (n > 0 && !is_fixed(a, job)) {
        while (row->values[n - 1].size > a->view->devices)
            n--; /* ends at the latest at what the job needs, since that fits */
        return (struct alloc_row){
            .options = row->values, .n_options = n, .held = job->held};
    }
    size = job->standing == POLICY_WAITING ? waiting_need(a, job) : held_need(a, job);
    option = row_find(row, size);
    *only = (struct alloc_option){size, option ? option->value : 0};
    return (struct alloc_row){.options = only, .n_options = 1, .held = job->held};
}

/* The knapsack over all jobs in the plan. */
static int solve(const struct admission *a, int32_t devices, struct alloc_result *ret)
{
    const struct policy_view *view = a->view;
    struct policy_scratch *s = a->scratch;
    struct alloc_problem problem = {.rows = s->rows, .devices = devices};
    int rc;

    for (int32_t i = 0; i < view->n_jobs; i++)
        if (has_row(a, i))
            s->rows[problem.n_rows++] = row_of(a, &view->jobs[i], &s->options[i]);
    if (problem.n_rows == 0) {
        *ret = (struct alloc_result){.is_certified = true, .proof = ALLOC_PROOF_LP};
        return 0;
    }
    rc = alloc_solve(&problem, &s->alloc, s->sizes, ret);
    ASSERT(rc != E_INFEASIBLE);
    if (rc < 0)
        return rc;
    for (int32_t i = 0, row = 0; i < view->n_jobs; i++)
        if (has_row(a, i))
            a->targets[i].size = s->sizes[row++];
    return 0;
}

static int reserve(const struct admission *a)
{
    struct policy_scratch *s = a->scratch;
    size_t n_jobs = (size_t)a->view->n_jobs;
    void *rows = s->rows, *options = s->options, *sizes = s->sizes;
    int rc;

    rc = mem_reserve(&rows, &s->cap_rows, n_jobs, sizeof *s->rows);
    s->rows = rows;
    if (rc == 0)
        rc = mem_reserve(&options, &s->cap_options, n_jobs, sizeof *s->options);
    s->options = options;
    if (rc == 0)
        rc = mem_reserve(&sizes, &s->cap_sizes, n_jobs, sizeof *s->sizes);
    s->sizes = sizes;
    return rc;
}

int admission_plan(const struct admission *a, struct alloc_result *ret)
{
    struct pass p = {.a = a, .left = a->view->devices};
    int64_t needs, pinned;
    int rc;

    ASSERT(a->view->devices >= 0);
    rc = reserve(a);
    if (rc < 0)
        return rc;
    p.ages = a->scratch->sizes; /* until the allocator writes its answer there */
    needs = take_pinned(&p);
    pinned = a->view->devices - p.left;
    take_running(&p, needs);
    take_waiting(&p);
    return solve(a, (int32_t)i64_max(a->view->devices, pinned), ret);
}
