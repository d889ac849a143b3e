/* SPDX-License-Identifier: Apache-2.0 */
/* trainer.c - see trainer.h. All from /proc, read at the moment of the question. */
#include "shim/trainer.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "shim/process.h"

#define CHAIN_MAX 16

static bool link_text(pid_t pid, const char *what, char *ret, size_t cap)
{
    char path[64];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    n = readlink(path, ret, cap - 1);
    if (n < 0)
        return false;
    ret[n] = '\0';
    return true;
}

static bool is_shell(const char *program)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "busybox"};
    const char *name = strrchr(program, '/');

    name = name ? name + 1 : program;
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    return false;
}

/* A child that runs the same program as its parent is a worker of it, a data loader
 * perhaps, and not what it was started for; below a shell anything goes. */
static bool is_started_by(pid_t parent, pid_t child)
{
    char above[512];
    char below[512];

    if (!link_text(parent, "exe", above, sizeof(above)) ||
        !link_text(child, "exe", below, sizeof(below)))
        return false;
    return is_shell(above) || strcmp(above, below) != 0;
}

static pid_t only_child(const struct process_table *table, pid_t parent)
{
    pid_t child = 0;

    for (size_t i = 0; i < table->n; i++) {
        if (table->rows[i].ppid != parent || table->rows[i].state == 'Z')
            continue;
        if (child)
            return 0;
        child = table->rows[i].pid;
    }
    return child;
}

/* Whether the process has a handler of its own for SIGTERM: a shell with a trap, a
 * launcher that passes the signal on, a trainer that saves. */
static bool catches_term(pid_t pid)
{
    char path[64];
    char line[256];
    unsigned long long caught = 0;
    FILE *in;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    in = fopen(path, "re");
    if (!in)
        return false;
    while (fgets(line, sizeof(line), in))
        if (strncmp(line, "SigCgt:", 7) == 0)
            caught = strtoull(line + 7, NULL, 16);
    (void)fclose(in);
    return (caught >> (SIGTERM - 1)) & 1;
}

static pid_t end_of_chain(const struct process_table *table, pid_t command)
{
    pid_t found = command;

    for (int depth = 0; depth < CHAIN_MAX; depth++) {
        pid_t child = only_child(table, found);

        if (!child || catches_term(found) || !is_started_by(found, child))
            break;
        found = child;
    }
    return found;
}

pid_t trainer_find(pid_t command)
{
    struct process_table table = {0};
    pid_t found = command;

    if (process_table_read(&table) == 0)
        found = end_of_chain(&table, command);
    process_table_release(&table);
    return found;
}

static bool has_rank(pid_t pid, const char *channel, char *bytes)
{
    size_t n = process_environ(pid, bytes, PROCESS_ENVIRON_MAX);
    const char *found = process_environ_find(bytes, n, "ELASTANE_CHANNEL");

    return found && strcmp(found, channel) == 0 && process_environ_find(bytes, n, "RANK");
}

size_t trainer_find_ranks(pid_t command, const char *channel, pid_t *ret, size_t cap,
                          pid_t *ret_launcher)
{
    struct process_table table = {0};
    char *bytes = mem_new(PROCESS_ENVIRON_MAX, 1);
    size_t n = 0;

    if (bytes && process_table_read(&table) == 0) {
        for (size_t i = 0; i < table.n && n < cap; i++) {
            const struct process_row *row = &table.rows[i];

            if (row->state == 'Z' || !process_descends(&table, row, command) ||
                !has_rank(row->pid, channel, bytes) ||
                has_rank(row->ppid, channel, bytes))
                continue;
            ret[n++] = end_of_chain(&table, row->pid);
            *ret_launcher = row->ppid;
        }
    }
    process_table_release(&table);
    mem_free(bytes);
    return n;
}
