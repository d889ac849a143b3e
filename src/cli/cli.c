/* SPDX-License-Identifier: Apache-2.0 */
/* cli.c - the table of commands, and where a command line goes. */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/say.h"
#include "wire/quantity.h"
#include "wire/suggest.h"

#ifndef ELASTANE_VERSION
#define ELASTANE_VERSION "unknown"
#endif

static const struct cli_command *const commands[] = {
    &cli_submit,    &cli_list,     &cli_show,   &cli_logs,     &cli_wait,     &cli_cancel,
    &cli_pause,     &cli_resume,   &cli_update, &cli_explain,  &cli_nodes,    &cli_status,
    &cli_calibrate, &cli_progress, &cli_replay, &cli_simulate, &cli_allocate, &cli_bench,
};

const struct cli_command *cli_command_at(size_t index)
{
    return index < ARRAY_SIZE(commands) ? commands[index] : NULL;
}

static const char *command_word(const void *ctx, size_t index)
{
    (void)ctx;
    return index < ARRAY_SIZE(commands) ? commands[index]->name : NULL;
}

static void print_help(void)
{
    say_lines("Usage: elastane COMMAND [OPTION]... [OPERAND]...\n"
              "Hands training jobs to elastaned and shows what becomes of them.\n\n"
              "Commands:\n");
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        char name[24];

        (void)snprintf(name, sizeof name, "  %s", commands[i]->name);
        say_field(name, 13, "%s", commands[i]->summary);
    }
    say_lines("\nOptions:\n"
              "  -h, --help     print this help\n"
              "      --version  print the version\n"
              "\n'elastane COMMAND --help' tells more; so does elastane(1).\n");
}

static int unknown_command(const struct cli *cli, const char *word)
{
    const char *near = suggest_nearest(word, command_word, NULL);

    if (word[0] == '-')
        return cli_usage(cli, "%s stands where the command belongs; options follow it",
                         word);
    if (near)
        return cli_usage(cli, "unknown command '%s'; did you mean '%s'?", word, near);
    return cli_usage(cli, "unknown command '%s'", word);
}

/* Whatever was printed must have arrived: a full disk is not success. */
static int finish(const struct cli *cli, int exit)
{
    const struct err err = {.code = E_STATE, .text = "cannot write to standard output"};

    if (fflush(stdout) == 0 && !ferror(stdout))
        return exit;
    return cli_fail_with(cli, exit == CLI_OK ? CLI_FAILED : exit, &err);
}

/* Before the options are read; what stands behind "--" is not ours. */
static bool has_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

static const struct cli_command *find(const char *word)
{
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        if (strcmp(commands[i]->name, word) == 0)
            return commands[i];
    return NULL;
}

/* "elastane help", "elastane help submit". */
static int help_on(struct cli *cli, char *word)
{
    const struct cli_command *command = word ? find(word) : NULL;
    char option[] = "--help";
    char *argv[] = {word, option, NULL};

    if (command)
        return command->run(cli, 2, argv);
    if (word)
        return unknown_command(cli, word);
    print_help();
    return CLI_OK;
}

int cli_main(int argc, char **argv)
{
    const struct cli_command *command;
    struct cli cli = {0};

    cli.seems_json = has_json(argc, argv);
    if (argc < 2)
        return cli_usage(&cli, "a command is missing");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0)
        return finish(&cli, help_on(&cli, argv[2]));
    if (strcmp(argv[1], "--version") == 0) {
        printf("elastane %s\n", ELASTANE_VERSION);
        return finish(&cli, CLI_OK);
    }
    command = find(argv[1]);
    if (command)
        return finish(&cli, command->run(&cli, argc - 1, argv + 1));
    return unknown_command(&cli, argv[1]);
}

int cli_number(const char *text, int64_t min, int64_t max, int64_t *ret, struct err *err)
{
    return quantity_count(text, min, max, ret, err);
}

int cli_job_id(const char *text, uint32_t *ret, struct err *err)
{
    struct err why = {0};
    int64_t id = 0;

    if (quantity_count(text, 1, UINT32_MAX, &id, &why) < 0)
        return err_set(err, E_INVALID, "'%.40s' is not the id of a job, such as 17",
                       text);
    *ret = (uint32_t)id;
    return 0;
}
