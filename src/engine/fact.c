/* SPDX-License-Identifier: Apache-2.0 */
/* fact.c - what a step leaves for those who ask later, as small JSON texts.
 *
 * A job's history has one entry for each move: a change of its state, of its generation
 * or of the plan in force. The whole job (spec and run record) is kept when it comes and
 * when it goes. Facts are made before the step is folded in, since they are a part of
 * its row; the newest record of a job is looked for in the step first, then in the core.
 */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "engine/touch.h"
#include "wire/journal.h"

#define FACTS_TEXT_MAX WIRE_ROW_MAX

void facts_init(struct facts *f)
{
    *f = (struct facts){0};
    buf_init(&f->text, FACTS_TEXT_MAX);
}

void facts_release(struct facts *f)
{
    mem_free(f->items);
    mem_free(f->offsets);
    mem_free(f->runs);
    mem_free(f->specs);
    buf_release(&f->text);
    facts_init(f);
}

/* Length of the UTF-8 sequence that begins here; 0 when it is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

    if (s[0] >= 0x80 && (s[0] < 0xc2 || s[0] > 0xf4))
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

/* A reason may have been cut within a character; what is no UTF-8 becomes '?'. */
static void add_string(struct buf *b, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    buf_putc(b, '"');
    while (*s) {
        size_t n = utf8_length(s);

        if (n == 0)
            buf_putc(b, '?');
        else if (*s < ' ' || *s == 0x7f)
            buf_printf(b, "\\u%04x", (unsigned)*s);
        else if (*s == '"' || *s == '\\')
            buf_printf(b, "\\%c", (char)*s);
        else
            buf_add(b, s, n);
        s += n ? n : 1;
    }
    buf_putc(b, '"');
}

static void add_history(struct buf *b, const struct job_run *run, usec_t time_us)
{
    buf_printf(b,
               "{\"accumulation\":%d,\"generation\":%u,\"global_batch\":%d,"
               "\"micro_batch\":%d,\"reason\":",
               run->plan.accumulation, run->plan.generation, run->plan.global_batch,
               run->plan.micro_batch);
    add_string(b, run->reason);
    buf_printf(b, ",\"size\":%d,\"state\":\"%s\",\"time_us\":%lld}", run->plan.size,
               job_state_name(run->state), (long long)time_us);
}

static void add_job(struct buf *b, const struct job_spec *spec, const struct job_run *run)
{
    buf_puts(b, "{\"run\":");
    wire_run_encode(run, b);
    buf_puts(b, ",\"spec\":");
    wire_spec_encode(spec, b);
    buf_putc(b, '}');
}

/* The text of the fact follows in f->text. */
static int begin_fact(struct facts *f, enum engine_fact_kind kind, uint32_t job)
{
    void *p = f->items;
    int rc = mem_reserve(&p, &f->cap, f->n + 1, sizeof *f->items);

    if (rc < 0)
        return rc;
    f->items = p;
    p = f->offsets;
    rc = mem_reserve(&p, &f->cap_offsets, f->n + 1, sizeof *f->offsets);
    if (rc < 0)
        return rc;
    f->offsets = p;
    f->offsets[f->n] = f->text.len;
    f->items[f->n++] = (struct engine_fact){.kind = kind, .job = job};
    return 0;
}

static int end_fact(struct facts *f)
{
    buf_add(&f->text, "", 1);
    return buf_error(&f->text);
}

static bool is_move(const struct job_run *before, const struct job_run *after)
{
    const struct job_plan *b = &before->plan;
    const struct job_plan *a = &after->plan;

    return before->state != after->state || b->generation != a->generation ||
           b->size != a->size || b->global_batch != a->global_batch ||
           b->micro_batch != a->micro_batch || b->accumulation != a->accumulation;
}

static int put_history(struct facts *f, const struct job_run *run, usec_t time_us)
{
    int rc = begin_fact(f, ENGINE_FACT_HISTORY, run->id);

    if (rc < 0)
        return rc;
    add_history(&f->text, run, time_us);
    return end_fact(f);
}

static int put_job(struct facts *f, enum engine_fact_kind kind,
                   const struct job_spec *spec, const struct job_run *run)
{
    int rc = begin_fact(f, kind, run->id);

    if (rc < 0)
        return rc;
    add_job(&f->text, spec, run);
    return end_fact(f);
}

/* The records of the touched jobs before the step; NULL for a job that is new. */
static int collect_records(struct facts *f, const struct core *core,
                           const struct touches *touches)
{
    void *p = f->runs;
    int rc = mem_reserve(&p, &f->cap_runs, touches->n, sizeof *f->runs);

    if (rc < 0)
        return rc;
    f->runs = p;
    p = f->specs;
    rc = mem_reserve(&p, &f->cap_specs, touches->n, sizeof *f->specs);
    if (rc < 0)
        return rc;
    f->specs = p;
    for (size_t i = 0; i < touches->n; i++) {
        const struct job *job = core_find_job(core, touches->items[i].job);

        f->runs[i] = job ? &job->run : NULL;
        f->specs[i] = job ? &job->spec : NULL;
    }
    return 0;
}

static int put_moves(struct facts *f, const struct touches *touches,
                     const struct changes *changes, usec_t time_us)
{
    int rc = 0;

    for (size_t i = 0; i < changes->n && rc == 0; i++) {
        const struct change *c = &changes->items[i];
        size_t at;

        if (c->kind == CHANGE_SPEC)
            f->specs[touches_index(touches, c->u.spec->id)] = c->u.spec;
        if (c->kind != CHANGE_RUN)
            continue;
        at = touches_index(touches, c->u.run.id);
        if (!f->runs[at] || is_move(f->runs[at], &c->u.run))
            rc = put_history(f, &c->u.run, time_us);
        f->runs[at] = &c->u.run;
    }
    return rc;
}

static int put_jobs(struct facts *f, const struct touches *touches)
{
    int rc = 0;

    for (size_t i = 0; i < touches->n && rc == 0; i++) {
        const struct job_run *run = f->runs[i];

        if (!run || !f->specs[i])
            continue;
        if (touches->before[i].run.id == 0)
            rc = put_job(f, ENGINE_FACT_JOB, f->specs[i], run);
        if (rc == 0 && job_state_is_final(run->state))
            rc = put_job(f, ENGINE_FACT_END, f->specs[i], run);
    }
    return rc;
}

int facts_build(struct facts *f, const struct core *core, const struct touches *touches,
                const struct changes *changes, usec_t time_us)
{
    int rc;

    f->n = 0;
    buf_clear(&f->text);
    rc = collect_records(f, core, touches);
    if (rc == 0)
        rc = put_moves(f, touches, changes, time_us);
    if (rc == 0)
        rc = put_jobs(f, touches);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < f->n; i++)
        f->items[i].json = f->text.text + f->offsets[i];
    return 0;
}
