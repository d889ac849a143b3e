/* SPDX-License-Identifier: Apache-2.0 */
/* elastane_shim.c - the program: options, the step into the background, the log.
 *
 * The process that was called waits until the one in the background has the order in
 * writing (started.json), prints one word and ends. So its caller knows, without keeping
 * a child, that the order is taken, and a repeated call is answered the same way:
 *
 *     started          the ranks are being started
 *     already-running  another shim has it
 *     already-ended    exit.json tells how
 *     lost             the shim that had it died; its processes are gone, exit.json is
 *                      written and is being reported
 *
 * Exit status 0 for all four; 1 with a sentence on standard error when the order cannot
 * be taken; 2 for a wrong call. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/shim.h"
#include "wire/order.h"

struct options {
    const char *dir;
    bool is_foreground;
    usec_t leave_after_us;
};

static const char usage[] =
    "usage: elastane-shim --dir DIRECTORY [--foreground] [--leave-after SECONDS]\n"
    "Starts and supervises the processes that DIRECTORY/order.json orders.\n";

static int parse(int argc, char **argv, struct options *o)
{
    static const struct option table[] = {
        {"dir", required_argument, NULL, 'd'},
        {"foreground", no_argument, NULL, 'f'},
        {"leave-after", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int c;

    while ((c = getopt_long(argc, argv, "", table, NULL)) != -1) {
        char *end = NULL;

        if (c == 'd')
            o->dir = optarg;
        else if (c == 'f')
            o->is_foreground = true;
        else if (c == 'l')
            o->leave_after_us = strtol(optarg, &end, 10) * USEC_PER_SEC;
        else if (c == 'h')
            return 1;
        else
            return -1;
        if (end && (*end || o->leave_after_us < 0))
            return -1;
    }
    return o->dir && optind == argc ? 0 : -1;
}

static const char *word_of(enum shim_begin how)
{
    static const char *const words[] = {"started", "already-running", "already-ended",
                                        "lost"};

    return words[how];
}

/* Standard streams lead to the log from here on; the caller's are no longer ours. */
static void detach(const char *dir)
{
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log_fd =
        dir_fd < 0
            ? -1
            : openat(dir_fd, ORDER_SHIM_LOG,
                     O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                     0600);
    struct stat st;

    /* A job may have put something else there; then there is no log. */
    if (log_fd >= 0 && (fstat(log_fd, &st) < 0 || !S_ISREG(st.st_mode))) {
        (void)close(log_fd);
        log_fd = -1;
    }
    if (null_fd >= 0)
        (void)dup2(null_fd, 0);
    (void)dup2(log_fd >= 0 ? log_fd : null_fd, 1);
    (void)dup2(log_fd >= 0 ? log_fd : null_fd, 2);
    if (dir_fd >= 0)
        (void)close(dir_fd);
    if (log_fd > 2)
        (void)close(log_fd);
    if (null_fd > 2)
        (void)close(null_fd);
    (void)!chdir("/");
}

/* Takes the order, tells `report_fd`, and stays for the incarnation's life. */
static int supervise(const struct options *o, int report_fd)
{
    struct shim *shim = NULL;
    enum shim_begin how = SHIM_BEGIN_STARTED;
    struct err err = {0};
    char line[512];
    int rc = shim_begin(o->dir, stderr, o->leave_after_us, &shim, &how, &err);
    bool goes_on = rc == 0 && (how == SHIM_BEGIN_STARTED || how == SHIM_BEGIN_LOST);

    (void)snprintf(line, sizeof(line), "%c%s%s%s\n", rc < 0 ? '!' : '.', err.field,
                   err.field[0] ? " " : "", rc < 0 ? err.text : word_of(how));
    if (write(report_fd, line, strlen(line)) < 0)
        (void)fprintf(stderr, "elastane-shim: nobody waits for the answer\n");
    if (report_fd > 2)
        (void)close(report_fd);
    if (goes_on) {
        if (!o->is_foreground)
            detach(o->dir);
        rc = shim_run(shim, &err);
        if (rc < 0)
            (void)fprintf(stderr, "elastane-shim: %s\n", err.text);
    }
    if (shim)
        shim_free(shim);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Prints what the one in the background answered; its exit status is ours. */
static int relay(int fd)
{
    char line[512];
    size_t n = 0;
    ssize_t got;

    while (n < sizeof(line) - 1 &&
           (got = read(fd, line + n, sizeof(line) - 1 - n)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    line[n] = '\0';
    if (line[0] == '.') {
        (void)fputs(line + 1, stdout);
        return EXIT_SUCCESS;
    }
    (void)fprintf(stderr, "elastane-shim: %s", n > 1 ? line + 1 : "it died\n");
    return EXIT_FAILURE;
}

static int in_background(const struct options *o)
{
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return EXIT_FAILURE;
    pid = fork();
    if (pid < 0) {
        (void)fprintf(stderr, "elastane-shim: cannot fork: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    if (pid > 0) {
        (void)close(fds[1]);
        return relay(fds[0]);
    }
    (void)close(fds[0]);
    (void)setsid();
    return supervise(o, fds[1]);
}

int main(int argc, char **argv)
{
    struct options o = {.leave_after_us = SHIM_LEAVE_AFTER_US};
    int rc = parse(argc, argv, &o);

    if (rc != 0) {
        (void)fputs(usage, rc > 0 ? stdout : stderr);
        return rc > 0 ? EXIT_SUCCESS : 2;
    }
    return o.is_foreground ? supervise(&o, STDOUT_FILENO) : in_background(&o);
}
