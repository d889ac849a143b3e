/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - fork, exec, and what /proc tells.
 *
 * The shim is a subreaper: whatever its ranks leave behind becomes its child. So "all
 * descendants" is a question that /proc can answer, and waitpid() says ECHILD only when
 * nothing at all is left. Races are harmless: a process that forks while it is being
 * killed leaves a child that the next round finds.
 *
 * Invariants:
 *   1. A pid is signalled only while it is known to be ours: an unreaped child of ours or
 *      of a descendant, read from /proc an instant before. */
#include "shim/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"

#define KERNEL_EXITING 4 /* PF_EXITING of the kernel, in field 9 */
#define PROCESSES_MAX  ((size_t)1 << 20)

/* What the child tells before exec succeeds: the pipe closes by itself when it does. */
struct spawn_failure {
    int why;
    int at_cwd;
};

static ATTR_NORETURN void child_fail(int report_fd, int at_cwd)
{
    struct spawn_failure failure = {errno, at_cwd};
    ssize_t n = write(report_fd, &failure, sizeof(failure));

    (void)n;
    _exit(127);
}

static ATTR_NORETURN void child_run(const struct process_order *order, int report_fd,
                                    pid_t parent)
{
    sigset_t none;
    int null_fd;

    (void)setpgid(0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127); /* the shim died in between */
    for (int s = 1; s < NSIG; s++)
        (void)signal(s, SIG_DFL);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)umask(022);
    null_fd = open("/dev/null", O_RDONLY);
    if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(order->log_fd, 1) < 0 ||
        dup2(order->log_fd, 2) < 0)
        child_fail(report_fd, 0);
    if (null_fd > 2)
        (void)close(null_fd);
    if (order->cwd && chdir(order->cwd) < 0)
        child_fail(report_fd, 1);
    environ = (char **)order->env;
    (void)execvp(order->argv[0], order->argv);
    child_fail(report_fd, 0);
}

int process_spawn(const struct process_order *order, pid_t *ret_pid, int *ret_errno,
                  struct err *err)
{
    struct spawn_failure failure;
    pid_t parent = getpid();
    int pipe_fds[2];
    ssize_t n;
    pid_t pid;

    *ret_errno = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_set(err, E_IO, "cannot make a pipe: %s", strerror(errno));
    pid = fork();
    if (pid == 0)
        child_run(order, pipe_fds[1], parent);
    (void)close(pipe_fds[1]);
    if (pid < 0) {
        (void)close(pipe_fds[0]);
        return err_set(err, E_IO, "cannot fork: %s", strerror(errno));
    }
    (void)setpgid(pid, pid); /* whoever comes first */
    do {
        n = read(pipe_fds[0], &failure, sizeof(failure));
    } while (n < 0 && errno == EINTR);
    (void)close(pipe_fds[0]);
    if (n == (ssize_t)sizeof(failure)) {
        (void)waitpid(pid, NULL, 0);
        *ret_errno = failure.why;
        return err_set(err, E_IO, "cannot %s %s: %s", failure.at_cwd ? "enter" : "run",
                       failure.at_cwd ? order->cwd : order->argv[0],
                       strerror(failure.why));
    }
    *ret_pid = pid;
    return 0;
}

/* The fields after the command's name, which may hold blanks and parentheses. */
static bool read_stat(pid_t pid, char *line, size_t cap, char **ret_fields)
{
    char path[64];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, line, cap - 1);
    (void)close(fd);
    if (n <= 0)
        return false;
    line[n] = '\0';
    *ret_fields = strrchr(line, ')');
    if (!*ret_fields || strlen(*ret_fields) < 4)
        return false;
    *ret_fields += 2;
    return true;
}

static bool row_read(pid_t pid, struct process_row *ret)
{
    char line[1024];
    char *fields;
    long ppid;

    if (!read_stat(pid, line, sizeof(line), &fields))
        return false;
    ppid = strtol(fields + 1, NULL, 10);
    *ret = (struct process_row){pid, (pid_t)ppid, fields[0]};
    return true;
}

char process_state(pid_t pid)
{
    struct process_row row;

    return row_read(pid, &row) ? row.state : '\0';
}

/* A number of /proc/PID/stat, whose fields proc(5) counts from 1; 0 when it is gone. */
static int64_t stat_number(pid_t pid, int wanted)
{
    char line[1024];
    char *at;

    if (!read_stat(pid, line, sizeof(line), &at))
        return 0;
    for (int field = 3; field < wanted; field++) {
        at = strchr(at, ' ');
        if (!at)
            return 0;
        at++;
    }
    return strtoll(at, NULL, 10);
}

int64_t process_start_ticks(pid_t pid)
{
    return stat_number(pid, 22);
}

bool process_is_ending(pid_t pid)
{
    char state = process_state(pid);

    return !state || state == 'Z' || state == 'X' ||
           (stat_number(pid, 9) & KERNEL_EXITING);
}

static pid_t pid_of_name(const char *name)
{
    char *end;
    long pid;

    if (!isdigit((unsigned char)name[0]))
        return 0;
    pid = strtol(name, &end, 10);
    return *end ? 0 : (pid_t)pid;
}

int process_table_read(struct process_table *table)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    int rc = proc ? 0 : E_IO;

    table->n = 0;
    while (rc == 0 && (entry = readdir(proc))) {
        pid_t pid = pid_of_name(entry->d_name);
        void *rows = table->rows;

        if (pid <= 0 || table->n >= PROCESSES_MAX)
            continue;
        rc = mem_reserve(&rows, &table->cap, table->n + 1, sizeof(table->rows[0]));
        table->rows = rows;
        if (rc == 0 && row_read(pid, &table->rows[table->n]))
            table->n++;
    }
    if (proc)
        (void)closedir(proc);
    return rc;
}

void process_table_release(struct process_table *table)
{
    mem_free(table->rows);
    *table = (struct process_table){0};
}

const struct process_row *process_row_find(const struct process_table *table, pid_t pid)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pid == pid)
            return &table->rows[i];
    return NULL;
}

bool process_descends(const struct process_table *table, const struct process_row *row,
                      pid_t ancestor)
{
    for (size_t hops = 0; row && hops < table->n; hops++) {
        if (row->ppid == ancestor)
            return true;
        row = process_row_find(table, row->ppid);
    }
    return false;
}

size_t process_kill_descendants(void)
{
    struct process_table table = {0};
    size_t n = 0;

    if (process_table_read(&table) == 0) {
        for (size_t i = 0; i < table.n; i++) {
            if (table.rows[i].state == 'Z' ||
                !process_descends(&table, &table.rows[i], getpid()))
                continue;
            (void)kill(table.rows[i].pid, SIGKILL);
            n++;
        }
    }
    process_table_release(&table);
    return n;
}

size_t process_environ(pid_t pid, char *bytes, size_t cap)
{
    char path[64];
    size_t n = 0;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (n < cap && (got = read(fd, bytes + n, cap - n)) > 0)
        n += (size_t)got;
    (void)close(fd);
    return n;
}

const char *process_environ_find(const char *bytes, size_t n, const char *name)
{
    size_t len = strlen(name);

    while (n > 0) {
        size_t line = strnlen(bytes, n);

        if (line == n)
            break; /* cut short */
        if (strncmp(bytes, name, len) == 0 && bytes[len] == '=')
            return bytes + len + 1;
        bytes += line + 1;
        n -= line + 1;
    }
    return NULL;
}

size_t process_sweep(const char *name, const char *value)
{
    struct process_table table = {0};
    char *bytes = mem_new(PROCESS_ENVIRON_MAX, 1);
    size_t n = 0;

    if (bytes && process_table_read(&table) == 0) {
        for (size_t i = 0; i < table.n; i++) {
            pid_t pid = table.rows[i].pid;
            size_t len =
                pid == getpid() ? 0 : process_environ(pid, bytes, PROCESS_ENVIRON_MAX);
            const char *found = process_environ_find(bytes, len, name);

            if (!found || strcmp(found, value) != 0)
                continue;
            (void)kill(pid, SIGKILL);
            n++;
        }
    }
    process_table_release(&table);
    mem_free(bytes);
    return n;
}
