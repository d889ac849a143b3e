/* SPDX-License-Identifier: Apache-2.0 */
/* suggest.c - edit distance with swaps of neighbours counting once, over short words.
 *
 * One table row per letter of the word that was typed. Words longer than WORD_MAX are not
 * worth a guess, which also bounds the work for hostile input. */
#include "wire/suggest.h"

#include <string.h>

#define WORD_MAX 31

static int least(int a, int b, int c)
{
    int m = a < b ? a : b;

    return m < c ? m : c;
}

static int distance(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int d[WORD_MAX + 1][WORD_MAX + 1];

    for (size_t i = 0; i <= n_a; i++)
        d[i][0] = (int)i;
    for (size_t j = 0; j <= n_b; j++)
        d[0][j] = (int)j;
    for (size_t i = 1; i <= n_a; i++)
        for (size_t j = 1; j <= n_b; j++) {
            int other = a[i - 1] != b[j - 1];

            d[i][j] = least(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1, d[i][j]);
        }
    return d[n_a][n_b];
}

const char *suggest_nearest(const char *word, suggest_word_fn known, const void *ctx)
{
    size_t len = strlen(word);
    const char *best = NULL;
    int best_edits = 0;
    const char *w;

    if (len == 0 || len > WORD_MAX)
        return NULL;
    for (size_t i = 0; (w = known(ctx, i)) != NULL; i++) {
        size_t n = strlen(w);
        int edits;

        if (n > WORD_MAX)
            continue;
        edits = distance(word, len, w, n);
        if (edits * 3 > (int)n + 2 || (best && edits >= best_edits))
            continue;
        best = w;
        best_edits = edits;
    }
    return best;
}
