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
/* State letter of one process; 0 when it is gone. */
char process_state(pid_t pid);
/* Field 22 of /proc/PID/stat: when it started, in ticks since boot; 0 when it is gone. */
int64_t process_start_ticks(pid_t pid);

/* SIGKILL to every descendant of ours; returns how many there were. They are found by
 * parentage, so one that left its group or session is found as well. */
size_t process_kill_descendants(void);
/* The process that trains below `command`: down through shells and launchers, while there
 * is one child only and it runs another program than its parent. `command` itself when
 * nothing better is found. */
pid_t process_find_trainer(pid_t command);
/* SIGKILL to every process of ours, except ourselves, that has `marker` (NAME=VALUE) in
 * its environment: what a dead shim left behind. Returns how many. */
size_t process_sweep(const char *marker);

#endif
