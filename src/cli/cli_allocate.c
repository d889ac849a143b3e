/* SPDX-License-Identifier: Apache-2.0 */
/* cli_allocate.c - the allocator as a tool of its own: a problem in, the best sizes out.
 *
 * Needs no daemon; what is solved, and by whom, is core/alloc. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/say.h"
#include "cli/table.h"
#include "cli/textfile.h"
#include "wire/allocfile.h"

#define ANSWER_MAX ((size_t)64 << 20)

static const struct table_column columns[] = {
    {"JOB", TABLE_LEFT, 8, 0},       {"SIZE", TABLE_RIGHT, 0, 0},
    {"NOW", TABLE_RIGHT, 0, 3},      {"VALUE", TABLE_RIGHT, 0, 0},
    {"ONE-MORE", TABLE_RIGHT, 0, 1}, {"ONE-LESS", TABLE_RIGHT, 0, 2},
};

static void put_row(struct table *t, const struct allocfile *f, int32_t i, int32_t size)
{
    const struct alloc_row *row = &f->problem.rows[i];
    char text[ALLOCFILE_VALUE_BYTES];
    struct allocfile_worth worth = allocfile_worth(row, size);

    table_cell(t, "%s", f->jobs[i].id);
    if (size > 0)
        table_cell(t, "%" PRId32, size);
    else
        table_cell(t, "waits");
    if (row->held > 0)
        table_cell(t, "%" PRId32, row->held);
    else
        table_cell(t, "-");
    table_cell(t, "%s", allocfile_value(text, worth.value));
    table_cell(t, "%s%s", worth.one_more > 0 ? "+" : "",
               allocfile_value(text, worth.one_more));
    if (worth.can_be_less)
        table_cell(t, "%s", allocfile_value(text, worth.one_less));
    else
        table_cell(t, size > 0 ? "impossible" : "-");
}

static void say_result(const struct allocfile *f, const struct alloc_result *r)
{
    char value[ALLOCFILE_VALUE_BYTES], bound[ALLOCFILE_VALUE_BYTES];

    (void)printf("\n%" PRId32 " of %" PRId32 " devices used, value %s", r->used,
                 f->problem.devices, allocfile_value(value, r->value));
    if (r->is_certified)
        (void)printf(": the best there is (proof: %s)\n", alloc_proof_name(r->proof));
    else
        (void)printf(", not proven the best: none is above %s\n",
                     allocfile_value(bound, allocfile_bound(f, r)));
}

static int print(const struct cli *cli, const struct allocfile *f, const int32_t *sizes,
                 const struct alloc_result *result)
{
    struct table t;
    struct buf out;
    int exit;

    if (cli->is_json) {
        buf_init(&out, ANSWER_MAX);
        allocfile_write(f, sizes, result, &out);
        exit = buf_error(&out) < 0 ? CLI_FAILED : CLI_OK;
        (void)fwrite(out.text, 1, out.len, stdout); /* decimals as they were written */
        buf_release(&out);
        return exit;
    }
    table_init(&t, columns, ARRAY_SIZE(columns));
    for (int32_t i = 0; i < f->problem.n_rows; i++)
        put_row(&t, f, i, sizes[i]);
    exit = say_table(cli, &t, -1);
    table_release(&t);
    if (exit == CLI_OK)
        say_result(f, result);
    return exit;
}

static int solve(const struct cli *cli, const struct allocfile *f, struct err *err)
{
    int32_t *sizes = mem_new((size_t)f->problem.n_rows + 1, sizeof *sizes);
    struct alloc_scratch scratch;
    struct alloc_result result;
    int exit = CLI_OK;
    int rc = E_NOMEM;

    alloc_scratch_init(&scratch);
    if (sizes)
        rc = alloc_solve(&f->problem, &scratch, sizes, &result);
    if (rc == 0)
        exit = print(cli, f, sizes, &result);
    else if (rc == E_INFEASIBLE)
        rc = allocfile_explain_infeasible(f, err);
    else
        rc = err_set(err, rc, "out of memory");
    if (rc < 0)
        exit = cli_fail(cli, err);
    alloc_scratch_release(&scratch);
    mem_free(sizes);
    return exit;
}

static int run(struct cli *cli, int argc, char **argv)
{
    struct allocfile file;
    struct cli_args args;
    struct err err = {0};
    struct buf text;
    int exit;
    int rc;

    cli_args_init(&args, cli, &cli_allocate, argc, argv);
    args.is_mixed = true;
    if (cli_args_plain(&args, 1, 1) != CLI_ARGS_END)
        return args.exit;
    allocfile_init(&file);
    buf_init(&text, ALLOCFILE_BYTES_MAX);
    rc = textfile_read(argv[args.first], &text, &err);
    if (rc < 0) {
        exit = cli_fail(cli, &err);
    } else {
        rc = allocfile_read(&file, text.text, text.len, &err);
        exit =
            rc < 0 ? cli_fail_at(cli, argv[args.first], &err) : solve(cli, &file, &err);
    }
    allocfile_release(&file);
    buf_release(&text);
    return exit;
}

const struct cli_command cli_allocate = {
    .name = "allocate",
    .usage = "[OPTION]... FILE.json",
    .summary = "share devices among jobs as well as can be, and prove it",
    .no_daemon = true,
    .details = "The allocator is the daemon's own; docs/allocate.md describes the file. "
               "- is standard input.",
    .run = run,
};
