/* SPDX-License-Identifier: Apache-2.0 */
/* say.c - see say.h. */
#include "cli/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/term.h"
#include "cli/wrap.h"
#include "wire/reply.h"

#define INDENT       4  /* of a line that goes on */
#define STORY_INDENT 10 /* "[0:00:20] " */
#define SAY_MAX      ((size_t)64 << 10)

int say_call(const struct cli *cli, const char *method, const char *path,
             const char *body, struct buf *out, struct err *err)
{
    struct client *client = NULL;
    int rc = client_open(cli, &client, err);

    if (rc < 0)
        return rc;
    rc = client_call(client, method, path, body, out, err);
    client_close(client);
    return rc;
}

int say_job_id(const struct cli *cli, const char *text, uint32_t *ret)
{
    struct err err = {0};

    if (cli_job_id(text, ret, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    return 0;
}

int say_json(const struct cli *cli, const struct buf *answer)
{
    struct err err = {0};
    struct buf tidy;
    int rc;

    buf_init(&tidy, REPLY_MAX * 2);
    rc = reply_tidy(answer->text, answer->len, &tidy, &err);
    if (rc == 0)
        (void)fwrite(tidy.text, 1, tidy.len, stdout);
    buf_release(&tidy);
    return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

int say_table(const struct cli *cli, const struct table *table, int state_column)
{
    struct err err = {0};
    struct buf out;
    int rc;

    buf_init(&out, REPLY_MAX);
    rc = table_print(table, term_width(), term_has_colour() ? state_column : -1, &out);
    if (rc == 0)
        (void)fwrite(out.text, 1, out.len, stdout);
    buf_release(&out);
    if (rc == 0)
        return CLI_OK;
    (void)err_set(&err, rc, "the table cannot be made: %s", err_name(rc));
    return cli_fail(cli, &err);
}

void say_warnings(const struct cli *cli, const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n");

        cli_warn(cli, "%.*s", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void say_text(const char *text)
{
    term_print(stdout, text, "");
}

void say_lines(const char *text)
{
    wrap_print_lines(stdout, text, INDENT, (size_t)term_width());
}

void say_story(const char *text)
{
    wrap_print_lines(stdout, text, STORY_INDENT, (size_t)term_width());
}

/* The text, from `at` on. */
static void put_wrapped(size_t at, size_t indent, const char *fmt, va_list args)
{
    const struct wrap w = {.at = at, .indent = indent, .width = (size_t)term_width()};
    struct buf text;

    buf_init(&text, SAY_MAX);
    buf_vprintf(&text, fmt, args);
    wrap_print(stdout, text.text, w);
    putchar('\n');
    buf_release(&text);
}

void say_line(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    put_wrapped(0, INDENT, fmt, args);
    va_end(args);
}

void say_field(const char *key, int column, const char *fmt, ...)
{
    int at = printf("%-*s ", column - 1, key);
    va_list args;

    va_start(args, fmt);
    put_wrapped(at > 0 ? (size_t)at : 0, (size_t)column, fmt, args);
    va_end(args);
}
