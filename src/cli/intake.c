/* SPDX-License-Identifier: Apache-2.0 */
/* intake.c - see intake.h.
 *
 * A job gets a short list of variables from the environment of whoever submits it, or
 * what `export` names, and what `env` adds. Not all of it: an environment holds secrets
 * that a job has no need of. */
#include "cli/intake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "wire/jobfile.h"
#include "wire/jobscript.h"

static const char *const inherited[] = {
    "HOME",        "USER",         "LOGNAME",         "SHELL",      "PATH",
    "LANG",        "LANGUAGE",     "LC_ALL",          "LC_CTYPE",   "LC_NUMERIC",
    "TZ",          "TMPDIR",       "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONHOME",
    "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME",
};

void intake_init(struct intake *intake)
{
    *intake = (struct intake){0};
    submit_init(&intake->submit);
}

void intake_release(struct intake *intake)
{
    submit_release(&intake->submit);
}

/* Joins a relative path to the present directory. The result is owned. */
static int absolute(const char *path, char **ret, struct err *err)
{
    char here[LAUNCH_PATH_MAX];
    struct buf b;
    int rc;

    if (path[0] != '/' && !getcwd(here, sizeof here))
        return err_field(err, E_INVALID, "cwd", "of this shell cannot be told: %s",
                         strerror(errno));
    buf_init(&b, LAUNCH_PATH_MAX - 1);
    if (path[0] == '/')
        buf_puts(&b, path);
    else if (strcmp(path, ".") == 0)
        buf_puts(&b, here);
    else
        buf_printf(&b, "%s/%s", here, path);
    rc = buf_error(&b);
    *ret = buf_take(&b);
    if (rc == 0 && !*ret)
        rc = E_NOMEM;
    return rc < 0
               ? err_set(err, rc, "a path is longer than %d bytes", LAUNCH_PATH_MAX - 1)
               : 0;
}

static int open_error(const char *path, struct err *err)
{
    int code = errno == ENOENT ? E_NOTFOUND : errno == EACCES ? E_DENIED : E_INVALID;

    return err_set(err, code, "cannot read %s: %s%s", path, strerror(errno),
                   code == E_NOTFOUND ? " (a command stands behind --)" : "");
}

/* Reads a regular file of at most `max` bytes, or its beginning when `max` is what is
 * wanted of a longer one. Nothing is read when the size alone decides. */
static int read_file(const char *path, size_t max, size_t refuse_above, struct buf *out,
                     struct err *err)
{
    char block[16384];
    struct stat st;
    ssize_t n = 0;
    int rc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return open_error(path, err);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        rc = err_set(err, E_INVALID, "cannot read %s: it is not a regular file", path);
    else if ((uintmax_t)st.st_size > refuse_above)
        rc = err_set(err, E_LIMIT, "%s has %lld bytes; a job file has at most %zu", path,
                     (long long)st.st_size, refuse_above);
    while (rc == 0 && out->len < max) {
        size_t want = max - out->len < sizeof block ? max - out->len : sizeof block;

        n = read(fd, block, want);
        if (n <= 0)
            break;
        buf_add(out, block, (size_t)n);
        rc = buf_error(out);
    }
    if (n < 0)
        rc = open_error(path, err);
    (void)close(fd);
    return rc;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n >= m && strcmp(text + n - m, end) == 0;
}

/* The words of "#!/usr/bin/env python3" in front of the script's own path. */
static int add_interpreter(struct intake *intake, const char *path, const char *head,
                           struct err *err)
{
    struct launch_request *launch = &intake->submit.launch;
    char line[256];
    char *word, *rest = line;
    size_t n = strcspn(head, "\r\n");
    int rc = 0;

    if (strncmp(head, "#!", 2) != 0 || n >= sizeof line)
        return err_field(err, E_INVALID, "command",
                         "%s may not be executed and does not begin with #!; add such a "
                         "line, or chmod +x",
                         path);
    memcpy(line, head + 2, n - 2);
    line[n - 2] = '\0';
    while (rc == 0 && (word = strtok_r(rest, " \t", &rest)) != NULL)
        rc = launch_add_arg(launch, word, err);
    return rc;
}

static int set_script_command(struct intake *intake, const char *path, const char *head,
                              char *const *args, int n, struct err *err)
{
    struct launch_request *launch = &intake->submit.launch;
    char *full = NULL;
    int rc = absolute(path, &full, err);

    launch_clear_args(launch);
    if (rc == 0 && access(path, X_OK) < 0)
        rc = add_interpreter(intake, path, head, err);
    if (rc == 0)
        rc = launch_add_arg(launch, full, err);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = launch_add_arg(launch, args[i], err);
    mem_free(full);
    return rc;
}

/* "train" from "dir/train.py". */
static void set_default_name(struct job_spec *spec, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t n;

    base = base ? base + 1 : path;
    n = strcspn(base, ".");
    if (n == 0)
        n = strlen(base);
    if (n >= sizeof spec->name)
        n = sizeof spec->name - 1;
    memcpy(spec->name, base, n);
    spec->name[n] = '\0';
    for (char *p = spec->name; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == 0x7f)
            *p = '-';
}

int intake_read(struct intake *intake, const char *path, char *const *args, int n,
                struct err *err)
{
    bool is_yaml = ends_with(path, ".yaml") || ends_with(path, ".yml");
    struct submit read;
    struct buf text;
    int rc;

    intake->source = path;
    buf_init(&text, JOBFILE_MAX);
    if (is_yaml && n > 0)
        rc = err_set(err, E_INVALID,
                     "words follow the job file; its command stands in it");
    else if (is_yaml)
        rc = read_file(path, JOBFILE_MAX, JOBFILE_MAX, &text, err);
    else
        rc = read_file(path, JOBSCRIPT_HEAD_MAX, SIZE_MAX, &text, err);
    if (rc == 0 && is_yaml)
        rc = jobfile_parse(text.text, text.len, &read, &intake->places, err);
    else if (rc == 0)
        rc = jobscript_parse(text.text, text.len, &read, &intake->places,
                             &intake->late_line, err);
    if (rc == 0) {
        submit_release(&intake->submit);
        intake->submit = read;
        if (!(read.given & BIT(JOB_FIELD_NAME)))
            set_default_name(&intake->submit.spec, path);
    }
    if (rc == 0 && !is_yaml && !(read.given & BIT(JOB_FIELD_COMMAND)))
        rc = set_script_command(intake, path, text.text, args, n, err);
    buf_release(&text);
    return rc;
}

int intake_flags(struct intake *intake, const struct fields *fields, char *const *command,
                 int n, struct err *err)
{
    struct launch_request *launch = &intake->submit.launch;
    int rc;

    for (size_t i = 0; i < fields->n; i++)
        intake->places.of[job_field_id(fields->items[i].field)].line = 0;
    rc = fields_apply(fields, &intake->submit, err);
    if (rc < 0 || n == 0)
        return rc;
    launch_clear_args(launch);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = launch_add_arg(launch, command[i], err);
    return rc;
}

static const char *from_environment(const char *name)
{
    return getenv(name);
}

static bool is_named(const struct launch_request *launch, const char *name, size_t n)
{
    for (size_t i = 0; i < launch->n_env; i++)
        if (strncmp(launch->env[i], name, n) == 0 &&
            (launch->env[i][n] == '=' || !launch->env[i][n]))
            return true;
    return false;
}

/* The short list, as far as it is set here. */
static int inherit(struct launch_request *launch, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(inherited); i++)
        if (!is_named(launch, inherited[i], strlen(inherited[i])) && getenv(inherited[i]))
            rc = launch_set_env(launch, inherited[i], err);
    return rc;
}

/* "A,B" of --export: these and no others. */
static int take_named(struct launch_request *launch, const char *names, struct err *err)
{
    char name[256];
    int rc = 0;

    for (const char *p = names; rc == 0 && *p; p += *p == ',') {
        size_t n = strcspn(p, ",");

        if (n == 0 || n >= sizeof name)
            return err_field(err, E_INVALID, "export",
                             "is '%.60s'; give NONE, or names as in A,B", names);
        (void)snprintf(name, sizeof name, "%.*s", (int)n, p);
        if (!is_named(launch, name, n) && !getenv(name))
            return err_field(err, E_INVALID, "export",
                             "names %s, which is not set here; give it with --env "
                             "%s=VALUE, or leave it out",
                             name, name);
        if (!is_named(launch, name, n))
            rc = launch_set_env(launch, name, err);
        p += n;
    }
    return rc;
}

static int fill_environment(struct submit *submit, struct err *err)
{
    struct launch_request *launch = &submit->launch;
    int rc = 0;

    if (!submit->exported)
        rc = inherit(launch, err);
    else if (strcmp(submit->exported, "NONE") != 0)
        rc = take_named(launch, submit->exported, err);
    if (rc == 0 && !is_named(launch, "PATH", 4))
        rc = launch_set_env(launch, "PATH=/usr/local/bin:/usr/bin:/bin", err);
    return rc < 0 ? rc : launch_resolve_env(launch, from_environment, err);
}

static int fill_directories(struct launch_request *launch, struct err *err)
{
    char *path = NULL;
    struct stat st;
    int rc = absolute(launch->cwd ? launch->cwd : ".", &path, err);

    if (rc == 0)
        rc = launch_set_cwd(launch, path, err);
    mem_free(path);
    if (rc < 0)
        return rc;
    if (stat(launch->cwd, &st) < 0)
        return err_field(err, E_NOTFOUND, "cwd", "is %s: %s", launch->cwd,
                         strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_field(err, E_INVALID, "cwd", "is %s, which is no directory",
                         launch->cwd);
    if (!launch->log_dir)
        return 0;
    path = NULL;
    rc = absolute(launch->log_dir, &path, err);
    if (rc == 0)
        rc = launch_set_log_dir(launch, path, err);
    mem_free(path);
    return rc;
}

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_in_path(const char *name, const char *path)
{
    while (path && *path) {
        size_t n = strcspn(path, ":");
        char file[LAUNCH_PATH_MAX];

        if (snprintf(file, sizeof file, "%.*s/%s", (int)n, path, name) <
                (int)sizeof file &&
            is_program(file))
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static int check_program(const struct launch_request *launch, struct err *err)
{
    const char *program = launch->argv[0];
    char file[2 * LAUNCH_PATH_MAX];

    if (!strchr(program, '/')) {
        if (is_in_path(program, launch_get_env(launch, "PATH")))
            return 0;
        return err_field(err, E_NOTFOUND, "command",
                         "names '%s', which is in no directory of PATH", program);
    }
    if (snprintf(file, sizeof file, "%s%s%s", program[0] == '/' ? "" : launch->cwd,
                 program[0] == '/' ? "" : "/", program) >= (int)sizeof file)
        return err_field(err, E_LIMIT, "command", "has a path that is too long");
    if (is_program(file))
        return 0;
    if (access(file, F_OK) < 0)
        return err_field(err, errno == EACCES ? E_DENIED : E_NOTFOUND, "command",
                         "names %s: %s", file, strerror(errno));
    return err_field(err, E_DENIED, "command",
                     "names %s, which is not a program you may execute", file);
}

/* An interpreter is no good name for a job: "python3 train.py" is "train". */
static void name_from_command(struct submit *submit)
{
    const struct launch_request *launch = &submit->launch;
    const char *word = launch->argv[0];

    if (launch->n_args > 1 && launch->argv[1][0] != '-' &&
        (strstr(word, "python") || ends_with(word, "sh") || ends_with(word, "env")))
        word = launch->argv[1];
    set_default_name(&submit->spec, word);
}

int intake_finish(struct intake *intake, struct err *err)
{
    struct submit *submit = &intake->submit;
    struct launch_request *launch = &submit->launch;
    int rc;

    if (launch->n_args == 0)
        return err_field(err, E_INVALID, "command",
                         "is missing; put it behind --, or into the job file");
    if (launch->argv[0][0] == '\0')
        return err_field(err, E_INVALID, "command", "begins with an empty word");
    if (submit->spec.name[0] == '\0')
        name_from_command(submit);
    submit_complete(submit);
    rc = job_spec_check(&submit->spec, err);
    if (rc == 0 && submit->has_model && submit->model.n_proc == 0)
        rc = err_field(err, E_INVALID, "comm",
                       "is given without proc; state the times of proc too");
    if (rc == 0 && submit->has_model)
        rc = model_check(&submit->model, err);
    if (rc == 0)
        rc = fill_environment(submit, err);
    if (rc == 0)
        rc = fill_directories(launch, err);
    if (rc == 0)
        rc = check_program(launch, err);
    return rc;
}

int intake_fail(const struct cli *cli, const struct intake *intake, const struct err *err)
{
    const struct job_field *field = job_field_find(err->field);
    struct text_place at = intake->places.fault;
    char place[CLI_PLACE_MAX];

    if (at.line == 0 && field)
        at = intake->places.of[job_field_id(field)];
    if (!intake->source || at.line == 0)
        return cli_fail(cli, err);
    (void)snprintf(place, sizeof place, "%s:%d:%d", intake->source, at.line, at.column);
    return cli_fail_at(cli, place, err);
}
