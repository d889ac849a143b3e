/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - starting, finding and ending the processes of an incarnation. */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/err.h"

struct process_order {
    char *const *argv;
    char *const *env;
    const char *cwd; /* NULL: stay */
    int log_fd;      /* standard output and error */
};

/* Starts the command as leader of its own process group, with a clean signal state; it
 * dies with us. Returns when exec has happened. E_IO with *ret_errno: what exec, or the
 * change to cwd, ran into; text in err. */
int process_spawn(const struct process_order *order, pid_t *ret_pid, int *ret_errno,
                  struct err *err) ATTR_MUST_USE;

/* Every process of the machine, from /proc. */
struct process_row {
    pid_t pid;
    pid_t ppid;
    char state; /* 'R', 'S', 'T', 'Z', ... */
};
struct process_table {
    struct process_row *rows; /* owned */
    size_t n;
    size_t cap;
};
int process_table_read(struct process_table *table) ATTR_MUST_USE;
void process_table_release(struct process_table *table);
/* NULL: not there. */
const struct process_row *process_row_find(const struct process_table *table, pid_t pid);
/* Whether the process is a child, grandchild, ... of the ancestor. */
bool process_descends(const struct process_table *table, const struct process_row *row,
                      pid_t ancestor);
/* State letter of one process; 0 when it is gone. */
char process_state(pid_t pid);
/* Whether it is gone, dead, or in the middle of its exit, when its sockets are closed
 * already and nobody can wait for it yet. */
bool process_is_ending(pid_t pid);
/* Field 22 of /proc/PID/stat: when it started, in ticks since boot; 0 when it is gone. */
int64_t process_start_ticks(pid_t pid);

/* SIGKILL to every descendant of ours; returns how many there were. They are found by
 * parentage, so one that left its group or session is found as well. */
size_t process_kill_descendants(void);
/* SIGKILL to every process of ours, except ourselves, that has this variable with this
 * value in its environment: what a dead shim left behind. Returns how many. */
size_t process_sweep(const char *name, const char *value);

#define PROCESS_ENVIRON_MAX ((size_t)4 << 20)
/* The environment with which a process was started, as NAME=VALUE texts, each with its
 * end; bytes read, 0 when it may not be read. */
size_t process_environ(pid_t pid, char *bytes, size_t cap);
/* The value of a variable in there, lent; NULL when it is not set. */
const char *process_environ_find(const char *bytes, size_t n, const char *name);

#endif
