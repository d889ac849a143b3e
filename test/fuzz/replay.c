/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - runs a fuzz target over its seeds, without a fuzzer; prints TAP.
 *
 * A seed that crashed once stays in the corpus for ever, and so is tried by every
 * compiler and every sanitizer. The input stands in memory of exactly its size, so that a
 * read past the end is seen. Files come in the order of their names. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define SEED_MAX ((size_t)16 << 20)

static int is_seed(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Returns 0, or -1 when the file cannot be read. */
static int replay(const char *path)
{
    FILE *in = fopen(path, "re");
    uint8_t *all = malloc(SEED_MAX);
    uint8_t *exact = NULL;
    size_t n;
    int rc = -1;

    if (!in || !all)
        goto out;
    n = fread(all, 1, SEED_MAX, in);
    exact = malloc(n ? n : 1);
    if (ferror(in) || !exact)
        goto out;
    memcpy(exact, all, n);
    rc = LLVMFuzzerTestOneInput(exact, n);
out:
    free(exact);
    free(all);
    if (in)
        fclose(in);
    return rc;
}

int main(void)
{
    struct dirent **entries;
    int n = scandir(FUZZ_CORPUS, &entries, is_seed, alphasort);
    int failed = 0;

    if (n <= 0) {
        printf("1..1\nnot ok 1 - seeds exist in %s\n", FUZZ_CORPUS);
        return 1;
    }
    printf("1..%d\n", n);
    for (int i = 0; i < n; i++) {
        char path[4096];
        int rc;

        (void)snprintf(path, sizeof path, "%s/%s", FUZZ_CORPUS, entries[i]->d_name);
        rc = replay(path);
        failed += rc != 0;
        printf("%sok %d - %s\n", rc ? "not " : "", i + 1, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return failed != 0;
}
