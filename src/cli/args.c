/* SPDX-License-Identifier: Apache-2.0 */
/* args.c - one table of options per command: getopt_long() is fed from it, and so is the
 * help. The options that all commands have stand in a second table behind the first. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/term.h"
#include "cli/wrap.h"
#include "wire/suggest.h"

#define OPTIONS_MAX 64
#define HELP_INDENT 10
#define HELP_WIDTH  80 /* when there is no terminal */

enum { OPT_JSON = CLI_LONG + 1000, OPT_SOCKET };

static const struct cli_option common[] = {
    {OPT_JSON, "json", NULL, "print JSON instead of tables"},
    {OPT_SOCKET, "socket", "PATH", "the daemon's socket (else ELASTANE_SOCKET)"},
    {'h', "help", NULL, "print this help"},
};

void cli_args_init(struct cli_args *args, struct cli *cli,
                   const struct cli_command *command, int argc, char **argv)
{
    ASSERT(command->n_options + ARRAY_SIZE(common) < OPTIONS_MAX);
    cli->command = command;
    *args = (struct cli_args){.cli = cli, .command = command, .argc = argc, .argv = argv};
    optind = 0; /* glibc: begin anew */
    opterr = 0;
}

static const struct cli_option *option_at(const struct cli_command *command, size_t i)
{
    size_t n = command->n_options;

    if (i < n)
        return &command->options[i];
    return i - n < ARRAY_SIZE(common) ? &common[i - n] : NULL;
}

/* Whether the help names the option: not those that mean nothing to the command. */
static bool is_told(const struct cli_command *command, const struct cli_option *o)
{
    return o->id != OPT_SOCKET || !command->no_daemon;
}

/* What getopt_long() wants, from the two tables. */
static void make_tables(const struct cli_args *args, struct option *longs, char *shorts)
{
    const struct cli_option *o;
    size_t n = 0;

    if (!args->is_mixed)
        *shorts++ = '+';
    *shorts++ = ':';
    for (; (o = option_at(args->command, n)) != NULL; n++) {
        longs[n] = (struct option){
            .name = o->name,
            .has_arg = o->arg ? required_argument : no_argument,
            .val = o->id,
        };
        if (o->id >= CLI_LONG)
            continue;
        *shorts++ = (char)o->id;
        if (o->arg)
            *shorts++ = ':';
    }
    longs[n] = (struct option){0};
    *shorts = '\0';
}

/* "  -n, --name NAME" */
static int option_head(char *to, size_t size, const struct cli_option *o)
{
    char letter[8] = "    ";

    if (o->id < CLI_LONG)
        (void)snprintf(letter, sizeof letter, "-%c, ", o->id);
    return snprintf(to, size, "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
                    o->arg ? o->arg : "");
}

static void print_wrapped(const char *text, int at, int indent, int width)
{
    wrap_print(stdout, text, (struct wrap){(size_t)at, (size_t)indent, (size_t)width});
    putchar('\n');
}

static void print_help(const struct cli_command *command)
{
    const struct cli_option *o;
    char head[80];
    int width = term_width();
    int column = 0;

    if (width == 0)
        width = HELP_WIDTH;
    for (size_t i = 0; (o = option_at(command, i)) != NULL; i++) {
        int n = option_head(head, sizeof head, o);

        column = n > column ? n : column;
    }
    column += 2;
    (void)snprintf(head, sizeof head, "Usage: elastane %s ", command->name);
    printf("%s", head);
    print_wrapped(command->usage, (int)strlen(head), HELP_INDENT, width);
    print_wrapped(command->summary, 0, 0, width);
    printf("\nOptions:\n");
    for (size_t i = 0; (o = option_at(command, i)) != NULL; i++) {
        if (!is_told(command, o))
            continue;
        (void)option_head(head, sizeof head, o);
        if (column + 20 > width) {
            printf("%s\n%*s", head, HELP_INDENT, "");
            print_wrapped(o->help, HELP_INDENT, HELP_INDENT, width);
        } else {
            printf("%-*s", column, head);
            print_wrapped(o->help, column, column, width);
        }
    }
    if (command->details) {
        putchar('\n');
        print_wrapped(command->details, 0, 0, width);
    }
}

static int take_common(struct cli_args *args, int id)
{
    switch (id) {
    case OPT_JSON:
        args->cli->is_json = true;
        return 1;
    case OPT_SOCKET:
        args->cli->socket = optarg;
        return 1;
    case 'h':
        print_help(args->command);
        args->exit = CLI_OK;
        return CLI_ARGS_DONE;
    default:
        return 0;
    }
}

static const char *option_word(const void *ctx, size_t index)
{
    const struct cli_option *o = option_at(ctx, index);

    return o ? o->name : NULL;
}

/* After getopt_long() said '?' (unknown or ambiguous) or ':' (no value). */
static int refuse(const struct cli_args *args, int id)
{
    const char *word = args->argv[optind - 1];
    const char *near = NULL;

    if (id == ':')
        return cli_usage(args->cli, "%s needs a value", word);
    if (strncmp(word, "--", 2) != 0)
        return cli_usage(args->cli, "unknown option -%c", optopt);
    near = suggest_nearest(word + 2, option_word, args->command);
    if (near)
        return cli_usage(args->cli, "unknown option %s; did you mean --%s?", word, near);
    return cli_usage(args->cli, "unknown option %s", word);
}

int cli_args_next(struct cli_args *args)
{
    struct option longs[OPTIONS_MAX + 1];
    char shorts[OPTIONS_MAX * 2 + 4];
    int id, rc;

    make_tables(args, longs, shorts);
    do {
        id = getopt_long(args->argc, args->argv, shorts, longs, NULL);
        if (id == -1) {
            args->first = optind;
            return CLI_ARGS_END;
        }
        if (id == '?' || id == ':') {
            args->exit = refuse(args, id);
            return CLI_ARGS_DONE;
        }
        rc = take_common(args, id);
    } while (rc == 1);
    args->value = optarg;
    return rc == CLI_ARGS_DONE ? rc : id;
}

int cli_args_plain(struct cli_args *args, int min_operands, int max_operands)
{
    int id, n;

    args->is_mixed = true;
    while ((id = cli_args_next(args)) > 0)
        ;
    if (id == CLI_ARGS_DONE)
        return id;
    n = args->argc - args->first;
    if (n >= min_operands && n <= max_operands)
        return CLI_ARGS_END;
    args->exit = cli_usage(args->cli, n < min_operands ? "an operand is missing"
                                                       : "too many operands");
    return CLI_ARGS_DONE;
}
