/* SPDX-License-Identifier: Apache-2.0 */
/* tell.c - runs one scenario and prints its story: the tool behind the story tests.
 *
 *     tell [--table] [--digest] [--svg] [--rebuild N] STORY.scn
 *
 * --svg prints the timeline instead of the story.
 * Exit 0: it ran. 1: an invariant broke (the story goes up to there). 2: the scenario
 * cannot be read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "report/run.h"
#include "sim/sim.h"

struct choice {
    bool has_table;
    bool has_digest;
    bool has_svg;
    long rebuild_every;
    const char *path;
};

static bool read_choice(int argc, char **argv, struct choice *c)
{
    char *end;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--table") == 0) {
            c->has_table = true;
        } else if (strcmp(argv[i], "--digest") == 0) {
            c->has_digest = true;
        } else if (strcmp(argv[i], "--svg") == 0) {
            c->has_svg = true;
        } else if (strcmp(argv[i], "--rebuild") == 0 && i + 1 < argc) {
            c->rebuild_every = strtol(argv[++i], &end, 10);
            if (*end || c->rebuild_every < 1)
                return false;
        } else if (c->path || argv[i][0] == '-') {
            return false;
        } else {
            c->path = argv[i];
        }
    }
    return c->path != NULL;
}

static bool read_file(const char *path, struct buf *text)
{
    FILE *in = fopen(path, "re");
    char part[4096];
    size_t n;

    if (!in)
        return false;
    while ((n = fread(part, 1, sizeof part, in)) > 0)
        buf_add(text, part, n);
    n = ferror(in) ? 1 : 0;
    (void)fclose(in);
    return n == 0 && buf_error(text) == 0;
}

static int tell(const struct scenario *scn, const struct choice *c)
{
    const struct sim_options options = {.wants_story = !c->has_svg,
                                        .wants_spans = c->has_svg,
                                        .rebuild_every = c->rebuild_every};
    struct sim_result result;
    struct err err = {0};
    struct buf table;
    int rc;

    sim_result_init(&result);
    buf_init(&table, SIM_STORY_MAX);
    rc = sim_run(scn, &options, &result, &err);
    (void)fwrite(result.story.text, 1, result.story.len, stdout);
    if (rc < 0)
        (void)printf("broken: %s\n", err.text);
    if (rc == 0 && result.n_unfinished > 0)
        (void)printf("unfinished: %zu\n", result.n_unfinished);
    sim_table(scn, &result, &table);
    if (c->has_table)
        (void)fputs(table.text, stdout);
    buf_clear(&table);
    if (c->has_svg && run_svg(scn, &result, c->path, &table) == 0)
        (void)fputs(table.text, stdout);
    if (c->has_digest)
        (void)printf("digest: %016llx\n", (unsigned long long)result.digest);
    buf_release(&table);
    sim_result_release(&result);
    return rc < 0 ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct choice choice = {0};
    struct scenario scn;
    struct buf text;
    struct err err = {0};
    int rc = 2;

    if (!read_choice(argc, argv, &choice)) {
        (void)fputs("usage: tell [--table] [--digest] [--svg] [--rebuild N] STORY.scn\n",
                    stderr);
        return 2;
    }
    buf_init(&text, SCN_TEXT_MAX + 1);
    scenario_init(&scn);
    if (!read_file(choice.path, &text))
        (void)fprintf(stderr, "%s: cannot be read\n", choice.path);
    else if (scenario_read(&scn, text.text, text.len, &err) < 0)
        (void)fprintf(stderr, "%s: %s %s\n", choice.path, err.field, err.text);
    else
        rc = tell(&scn, &choice);
    scenario_release(&scn);
    buf_release(&text);
    return rc;
}
