/* SPDX-License-Identifier: Apache-2.0 */
/* scn_line.h - one line of a scenario as words, and the scalars that words stand for.
 *
 * The readers consume words from left to right. Each returns 0 or E_INVALID with line
 * number, field, reason and remedy in the line's err; results are untouched then. */
#ifndef SIM_SCN_LINE_H
#define SIM_SCN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"
#include "base/units.h"
#include "core/job.h"

#define SCN_LINE_BYTES 2048
#define SCN_WORDS_MAX  128

struct scn_line {
    int number; /* 1 for the first line of the text */
    char text[SCN_LINE_BYTES];
    const char *words[SCN_WORDS_MAX];
    int n_words;
    int at; /* next word */
    struct err *err;
};

/* Splits the line that starts at *pos and moves *pos behind it. A word ends at a blank; a
 * comma before a blank is a word of its own; '#' begins a comment. */
int scn_line_split(struct scn_line *line, const char *text, size_t len, size_t *pos);

/* The next word, or NULL at the end; it is not consumed. */
const char *scn_peek(const struct scn_line *line);
/* The next word, or NULL at the end; consumed. */
const char *scn_next(struct scn_line *line);
/* Consumes the next word if it is this one. */
bool scn_take(struct scn_line *line, const char *word);

/* E_INVALID with "line N: " in front of the text. */
int scn_fail(struct scn_line *line, const char *field, const char *fmt, ...)
    ATTR_PRINTF(3, 4);
/* The next word must be this one. */
int scn_expect(struct scn_line *line, const char *field, const char *word);
/* A name of at most NAME_MAX_BYTES - 1 bytes. */
int scn_name(struct scn_line *line, const char *field, char *ret);
/* One of the n names. */
int scn_choice(struct scn_line *line, const char *field, const char *const *names, int n,
               int *ret);
/* Whole number with an optional K, M or G (thousands). */
int scn_count(struct scn_line *line, const char *field, int64_t least, int64_t most,
              int64_t *ret);
/* Decimal number of at most six places, in millionths. */
int scn_decimal(struct scn_line *line, const char *field, int64_t *ret_ppm);
/* "90s", "1h30m", "0". */
int scn_span(struct scn_line *line, const char *field, usec_t *ret);
/* "1..4", "2..8" with "step 2", "1,2,4" or "2". */
int scn_sizes(struct scn_line *line, const char *field, struct size_set *ret);
/* "64..256" or "64". */
int scn_range(struct scn_line *line, const char *field, int32_t *ret_min,
              int32_t *ret_max);
/* "10ms", "250us", "1.5s" as nanoseconds, from text that ends at one of `stops`; the rest
 * is lent. */
int scn_nanos(struct scn_line *line, const char *field, const char *text, int64_t *ret_ns,
              const char **ret_rest);

#endif
