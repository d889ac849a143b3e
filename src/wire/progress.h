/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h - how a trainer without our library says how far it is
 * (docs/environment.md): lines "SAMPLES" or "SAMPLES TOTAL", appended to a file.
 *
 * SAMPLES counts from 0 all samples that the job has trained, over all starts and all
 * ranks; TOTAL, if it is there, is how many it will train. Numbers are decimal, at most
 * TRAINED_MAX, blanks around them do not matter, empty lines mean nothing. The writer may
 * be anything, so nothing is believed: what is no such line is counted and left out.
 * Pure. */
#ifndef WIRE_PROGRESS_H
#define WIRE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define PROGRESS_LINE_MAX 96 /* bytes, without the line's end */

struct progress_line {
    int64_t samples;
    int64_t total; /* 0: not told; else >= samples */
};

/* Reads one line, without its end. E_INVALID: it is none, and *ret is untouched. */
int progress_line_parse(const char *text, size_t len,
                        struct progress_line *ret) ATTR_MUST_USE;

/* Writes the line with its end to out[PROGRESS_LINE_MAX + 1]; returns its length. */
size_t progress_line_format(const struct progress_line *line,
                            char out[PROGRESS_LINE_MAX + 1]);

/* What a stream of such lines has said so far. Begin with PROGRESS_INIT. */
struct progress {
    int64_t samples;  /* the largest; -1: no word */
    int64_t total;    /* the last one told; 0: no word */
    int64_t n_lines;  /* that could be read */
    int64_t n_bad;    /* that could not */
    int64_t n_fallen; /* of n_lines: below what was known before the bytes came */
    size_t n_part;    /* a line whose end has not come */
    bool is_skipping; /* the rest of a line is not read */
    char part[PROGRESS_LINE_MAX];
};

#define PROGRESS_INIT ((struct progress){.samples = -1})

/* Takes the next bytes. Of several writers the largest count is right, and within one
 * call they may come in any order. */
void progress_feed(struct progress *p, const char *bytes, size_t n);
/* Some bytes are left out, or the next ones begin at a new start: what came of a line is
 * forgotten. With `in_line` the next bytes begin inside a line, which is not read. */
void progress_cut(struct progress *p, bool in_line);

#endif
