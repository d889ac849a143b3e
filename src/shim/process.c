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

#define PROCESSES_MAX ((size_t)1 << 20)
#define ENVIRON_MAX   ((size_t)4 << 20)
#define TRAINER_DEPTH 16

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

int64_t process_start_ticks(pid_t pid)
{
    char line[1024];
    char *at;

    if (!read_stat(pid, line, sizeof(line), &at))
        return 0;
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (!at)
            return 0;
        at++;
    }
    return strtoll(at, NULL, 10);
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

static const struct process_row *row_find(const struct process_table *table, pid_t pid)
{
    for (size_t i = 0; i < table->n; i++)
        if (table->rows[i].pid == pid)
            return &table->rows[i];
    return NULL;
}

static bool descends_from(const struct process_table *table,
                          const struct process_row *row, pid_t ancestor)
{
    for (size_t hops = 0; row && hops < table->n; hops++) {
        if (row->ppid == ancestor)
            return true;
        row = row_find(table, row->ppid);
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
                !descends_from(&table, &table.rows[i], getpid()))
                continue;
            (void)kill(table.rows[i].pid, SIGKILL);
            n++;
        }
    }
    process_table_release(&table);
    return n;
}

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

pid_t process_find_trainer(pid_t command)
{
    struct process_table table = {0};
    pid_t found = command;

    if (process_table_read(&table) == 0) {
        for (int depth = 0; depth < TRAINER_DEPTH; depth++) {
            pid_t child = only_child(&table, found);

            if (!child || catches_term(found) || !is_started_by(found, child))
                break;
            found = child;
        }
    }
    process_table_release(&table);
    return found;
}

static bool has_word(const char *bytes, size_t n, const char *word)
{
    size_t want = strlen(word) + 1;

    while (n >= want) {
        size_t len = strnlen(bytes, n);

        if (len + 1 == want && memcmp(bytes, word, want) == 0)
            return true;
        if (len + 1 > n)
            break;
        bytes += len + 1;
        n -= len + 1;
    }
    return false;
}

static bool environ_has(pid_t pid, const char *word, char *bytes)
{
    char path[64];
    size_t n = 0;
    ssize_t got;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (n < ENVIRON_MAX && (got = read(fd, bytes + n, ENVIRON_MAX - n)) > 0)
        n += (size_t)got;
    (void)close(fd);
    return has_word(bytes, n, word);
}

size_t process_sweep(const char *marker)
{
    struct process_table table = {0};
    char *bytes = mem_new(ENVIRON_MAX, 1);
    size_t n = 0;

    if (bytes && process_table_read(&table) == 0) {
        for (size_t i = 0; i < table.n; i++) {
            pid_t pid = table.rows[i].pid;

            if (pid == getpid() || !environ_has(pid, marker, bytes))
                continue;
            (void)kill(pid, SIGKILL);
            n++;
        }
    }
    process_table_release(&table);
    mem_free(bytes);
    return n;
}
