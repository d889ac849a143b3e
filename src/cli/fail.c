/* SPDX-License-Identifier: Apache-2.0 */
/* fail.c - what is said when things go wrong, to people or, with --json, to programs:
 * then each line of standard error is one JSON object. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/attr.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "cli/wrap.h"
#include "wire/jsonout.h"

#define INDENT        4 /* of a line that goes on */
#define FAIL_TEXT_MAX 1024
#define FAIL_JSON_MAX ((size_t)64 << 10)

struct failure {
    const char *code; /* as in docs/api.md, or "usage", "timeout" */
    const char *text;
    const char *field; /* "": none */
    const char *place; /* NULL: none */
    int exit;
};

static int exit_of(const struct cli *cli, int code)
{
    switch (code) {
    case E_NOTFOUND:
        return CLI_NOT_FOUND;
    case E_IO:
    case E_CORRUPT: /* a file, where there is no daemon */
        return cli->command && cli->command->no_daemon ? CLI_FAILED : CLI_UNREACHABLE;
    default:
        return CLI_FAILED;
    }
}

static void put_line(struct buf *line)
{
    buf_putc(line, '\n');
    if (buf_error(line) == 0)
        (void)fwrite(line->text, 1, line->len, stderr);
    buf_release(line);
}

/* For people: wrapped where standard error is a terminal. */
static void put_text(const char *fmt, ...) ATTR_PRINTF(1, 2);
static void put_text(const char *fmt, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, FAIL_JSON_MAX);
    va_start(args, fmt);
    buf_vprintf(&text, fmt, args);
    va_end(args);
    wrap_print_lines(stderr, text.text, INDENT, (size_t)term_width_of_errors());
    buf_release(&text);
}

static void put_json(const struct failure *f)
{
    struct jsonout j;
    struct buf line, text;

    buf_init(&text, FAIL_JSON_MAX);
    buf_printf(&text, "%s%s%s", f->place ? f->place : "", f->place ? ": " : "", f->text);
    buf_init(&line, FAIL_JSON_MAX);
    j = (struct jsonout){.out = &line};
    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, "code", f->code);
    jsonout_text(&j, "error", text.text);
    jsonout_i64(&j, "exit", f->exit);
    jsonout_text(&j, "field", f->field);
    jsonout_close(&j, '}');
    put_line(&line);
    buf_release(&text);
}

static int put(const struct cli *cli, const struct failure *f)
{
    bool is_id = f->exit == CLI_NOT_FOUND && strcmp(f->field, "id") == 0;

    if (cli->is_json) {
        put_json(f);
        return f->exit;
    }
    put_text("elastane: %s%s%s%s%s%s", f->place ? f->place : "", f->place ? ": " : "",
             f->field, f->field[0] ? ": " : "", f->text,
             is_id ? "; 'elastane list --all' shows all" : "");
    return f->exit;
}

static int fail(const struct cli *cli, const char *place, int exit, const struct err *err)
{
    const struct failure f = {
        .code = exit == CLI_WAIT_TIMEOUT ? "timeout" : err_name(err->code),
        .text = err->text[0] ? err->text : err_name(err->code),
        .field = err->field,
        .place = place,
        .exit = exit,
    };

    return put(cli, &f);
}

int cli_fail(const struct cli *cli, const struct err *err)
{
    return fail(cli, NULL, exit_of(cli, err->code), err);
}

int cli_fail_at(const struct cli *cli, const char *place, const struct err *err)
{
    return fail(cli, place, exit_of(cli, err->code), err);
}

int cli_fail_with(const struct cli *cli, int exit, const struct err *err)
{
    return fail(cli, NULL, exit, err);
}

/* "--rank: is ..." and "--gpus needs a value" name the option that is at fault. */
static void field_of(const char *text, char *field, size_t size)
{
    size_t n = 0;

    if (strncmp(text, "--", 2) == 0)
        n = strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-");
    (void)snprintf(field, size, "%.*s", (int)n, text + (n > 0 ? 2 : 0));
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
    const struct cli_command *command = cli->command;
    char text[FAIL_TEXT_MAX], field[64];
    struct failure f = {.code = "usage", .text = text, .field = "", .exit = CLI_USAGE};
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (cli->is_json || cli->seems_json) {
        field_of(text, field, sizeof field);
        f.field = field;
        put_json(&f);
        return CLI_USAGE;
    }
    put_text("elastane: %s", text);
    if (command)
        put_text("Usage: elastane %s %s\nTry 'elastane %s --help'.", command->name,
                 command->usage, command->name);
    else
        put_text("Try 'elastane --help'.");
    return CLI_USAGE;
}

/* By the way; `plain` stands before it for people. */
static void say(const struct cli *cli, const char *key, const char *plain,
                const char *text)
{
    struct jsonout j;
    struct buf line;

    if (!cli->is_json) {
        put_text("%s%s", plain, text);
        return;
    }
    buf_init(&line, FAIL_JSON_MAX);
    j = (struct jsonout){.out = &line};
    jsonout_open(&j, NULL, '{');
    jsonout_text(&j, key, text);
    jsonout_close(&j, '}');
    put_line(&line);
}

void cli_warn(const struct cli *cli, const char *fmt, ...)
{
    char text[FAIL_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(cli, "warning", "elastane: warning: ", text);
}

void cli_note(const struct cli *cli, const char *fmt, ...)
{
    char text[FAIL_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    say(cli, "note", "", text);
}
