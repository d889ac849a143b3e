/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - lines out of bytes, and numbers out of lines.
 *
 * A line may arrive in pieces, so its beginning is kept until its end has come.
 * Invariants:
 *   1. n_part <= PROGRESS_LINE_MAX; of a longer line nothing is kept, and it is one bad
 * line.
 *   2. samples never falls: a smaller count is not taken. It is counted as fallen when it
 * is smaller than what was known before the call, for within one call the lines of
 * several ranks may stand in any order. */
#include "wire/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"
#include "base/units.h"
#include "core/limits.h"

static size_t skip_blanks(const char *text, size_t len, size_t at)
{
    while (at < len && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r'))
        at++;
    return at;
}

/* Reads digits; the position behind them, or `at` when there is no number that fits. */
static size_t read_number(const char *text, size_t len, size_t at, int64_t *ret)
{
    int64_t value = 0;
    size_t end = at;

    for (; end < len && text[end] >= '0' && text[end] <= '9'; end++) {
        value = value * 10 + (text[end] - '0');
        if (value > TRAINED_MAX)
            return at;
    }
    *ret = value;
    return end;
}

int progress_line_parse(const char *text, size_t len, struct progress_line *ret)
{
    struct progress_line line = {0};
    size_t at = skip_blanks(text, len, 0);
    size_t end = read_number(text, len, at, &line.samples);

    if (end == at)
        return E_INVALID;
    at = skip_blanks(text, len, end);
    if (at < len) {
        if (at == end)
            return E_INVALID; /* "12x" */
        end = read_number(text, len, at, &line.total);
        if (end == at || skip_blanks(text, len, end) < len || line.total < line.samples)
            return E_INVALID;
    }
    *ret = line;
    return 0;
}

size_t progress_line_format(const struct progress_line *line,
                            char out[PROGRESS_LINE_MAX + 1])
{
    int n;

    ASSERT(line->samples >= 0);
    ASSERT(line->total == 0 || line->total >= line->samples);
    if (line->total > 0)
        n = snprintf(out, PROGRESS_LINE_MAX + 1, "%" PRId64 " %" PRId64 "\n",
                     line->samples, line->total);
    else
        n = snprintf(out, PROGRESS_LINE_MAX + 1, "%" PRId64 "\n", line->samples);
    ASSERT(n > 0 && n <= PROGRESS_LINE_MAX);
    return (size_t)n;
}

static void take_line(struct progress *p, const char *text, size_t len, int64_t known)
{
    struct progress_line line;

    if (skip_blanks(text, len, 0) == len)
        return;
    if (progress_line_parse(text, len, &line) < 0) {
        p->n_bad++;
        return;
    }
    p->n_lines++;
    if (line.samples < known)
        p->n_fallen++;
    p->samples = i64_max(p->samples, line.samples);
    if (line.total > 0)
        p->total = line.total;
}

static void keep_part(struct progress *p, const char *bytes, size_t n)
{
    if (p->is_skipping)
        return;
    if (n > sizeof(p->part) - p->n_part) {
        p->n_bad++;
        p->n_part = 0;
        p->is_skipping = true;
        return;
    }
    memcpy(p->part + p->n_part, bytes, n);
    p->n_part += n;
}

void progress_feed(struct progress *p, const char *bytes, size_t n)
{
    int64_t known = p->samples;

    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t len = end ? (size_t)(end - bytes) : n;

        keep_part(p, bytes, len);
        if (!end)
            return;
        if (!p->is_skipping)
            take_line(p, p->part, p->n_part, known);
        progress_cut(p, false);
        bytes += len + 1;
        n -= len + 1;
    }
}

void progress_cut(struct progress *p, bool in_line)
{
    p->n_part = 0;
    p->is_skipping = in_line;
}
