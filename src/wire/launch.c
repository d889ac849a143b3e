/* SPDX-License-Identifier: Apache-2.0 */
/* launch.c - see launch.h. The environment is kept sorted by name, so that equal requests
 * give equal texts whatever order their variables came in. */
#include "wire/launch.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"
#include "wire/jsonin.h"

static const char *form_name(int value)
{
    static const char *const names[LAUNCH_FORM_MAX] = {"rank", "node", "once"};

    ASSERT((unsigned)value < LAUNCH_FORM_MAX);
    return names[value];
}

const char *launch_form_name(enum launch_form form)
{
    return form_name((int)form);
}

void launch_init(struct launch_request *launch)
{
    *launch = (struct launch_request){0};
}

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        mem_free(texts[i]);
    mem_free(texts);
}

void launch_release(struct launch_request *launch)
{
    free_texts(launch->argv, launch->n_args);
    free_texts(launch->env, launch->n_env);
    mem_free(launch->cwd);
    mem_free(launch->log_dir);
    mem_free(launch->vault);
    launch_init(launch);
}

void launch_clear_args(struct launch_request *launch)
{
    free_texts(launch->argv, launch->n_args);
    launch->argv = NULL;
    launch->n_args = 0;
}

/* Puts a copy of the text at place `at` of a NULL-ended array. */
static int insert_text(char ***texts, size_t *n, size_t at, const char *text)
{
    char *copy = mem_text(text);
    char **grown = copy ? mem_resize(*texts, *n + 2, sizeof **texts) : NULL;

    if (!grown) {
        mem_free(copy);
        return E_NOMEM;
    }
    if (*n == 0)
        grown[0] = NULL;
    memmove(&grown[at + 1], &grown[at], (*n - at) * sizeof *grown);
    grown[at] = copy;
    grown[++*n] = NULL;
    *texts = grown;
    return 0;
}

int launch_add_arg(struct launch_request *launch, const char *arg, struct err *err)
{
    if (launch->n_args == LAUNCH_ARGS_MAX)
        return err_field(err, E_LIMIT, "command", "has more than %d words",
                         LAUNCH_ARGS_MAX);
    return insert_text(&launch->argv, &launch->n_args, launch->n_args, arg);
}

static int name_cmp(const char *a, size_t n_a, const char *b, size_t n_b)
{
    int c = memcmp(a, b, n_a < n_b ? n_a : n_b);

    return c ? c : (n_a > n_b) - (n_a < n_b);
}

/* The place of a variable; *ret_is_there tells whether it is set already. */
static size_t find_env(const struct launch_request *launch, const char *name, size_t len,
                       bool *ret_is_there)
{
    size_t lo = 0, hi = launch->n_env;

    *ret_is_there = false;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        const char *text = launch->env[mid];
        int c = name_cmp(name, len, text, strcspn(text, "="));

        if (c == 0) {
            *ret_is_there = true;
            return mid;
        }
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

int launch_set_env(struct launch_request *launch, const char *text, struct err *err)
{
    size_t len = strcspn(text, "=");
    bool is_there;
    size_t at;
    char *copy;

    if (len == 0)
        return err_field(err, E_INVALID, "env",
                         "has a variable without a name; give NAME=VALUE");
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return err_field(err, E_INVALID, "env",
                             "has a blank or control character in the name of a "
                             "variable; give NAME=VALUE");
    at = find_env(launch, text, len, &is_there);
    if (!is_there) {
        if (launch->n_env == LAUNCH_ENV_MAX)
            return err_field(err, E_LIMIT, "env", "has more than %d variables",
                             LAUNCH_ENV_MAX);
        return insert_text(&launch->env, &launch->n_env, at, text);
    }
    copy = mem_text(text);
    if (!copy)
        return E_NOMEM;
    mem_free(launch->env[at]);
    launch->env[at] = copy;
    return 0;
}

static int resolve_one(char **text, const char *value)
{
    struct buf b;
    char *joined;

    buf_init(&b, LAUNCH_MAX_BYTES);
    buf_printf(&b, "%s=%s", *text, value);
    joined = buf_take(&b);
    if (!joined)
        return E_NOMEM;
    mem_free(*text);
    *text = joined;
    return 0;
}

int launch_resolve_env(struct launch_request *launch,
                       const char *(*lookup)(const char *name), struct err *err)
{
    for (size_t i = 0; i < launch->n_env; i++) {
        const char *value;

        if (strchr(launch->env[i], '='))
            continue;
        value = lookup(launch->env[i]);
        if (!value)
            return err_field(err, E_INVALID, "env",
                             "names %.40s, which is not set here; give %.40s=VALUE",
                             launch->env[i], launch->env[i]);
        if (resolve_one(&launch->env[i], value) < 0)
            return E_NOMEM;
    }
    return 0;
}

int launch_put_env(const struct launch_request *launch, struct buf *out)
{
    for (size_t i = 0; i < launch->n_env; i++)
        buf_add(out, launch->env[i], strlen(launch->env[i]) + 1);
    return buf_error(out);
}

int launch_part_env(struct launch_request *launch, const char key[LAUNCH_KEY + 1])
{
    char *copy = mem_text(key);

    if (!copy)
        return E_NOMEM;
    mem_free(launch->vault);
    launch->vault = copy;
    for (size_t i = 0; i < launch->n_env; i++)
        launch->env[i][strcspn(launch->env[i], "=")] = '\0';
    return 0;
}

const char *launch_get_env(const struct launch_request *launch, const char *name)
{
    bool is_there;
    size_t len = strlen(name);
    size_t at = find_env(launch, name, len, &is_there);

    if (!is_there || launch->env[at][len] != '=')
        return NULL;
    return launch->env[at] + len + 1;
}

static int set_path(char **path, const char *field, const char *text, struct err *err)
{
    char *copy;

    if (strlen(text) >= LAUNCH_PATH_MAX)
        return err_field(err, E_LIMIT, field, "is longer than %d bytes",
                         LAUNCH_PATH_MAX - 1);
    if (text[0] == '\0')
        return err_field(err, E_INVALID, field, "is empty; give a directory");
    copy = mem_text(text);
    if (!copy)
        return E_NOMEM;
    mem_free(*path);
    *path = copy;
    return 0;
}

int launch_set_cwd(struct launch_request *launch, const char *path, struct err *err)
{
    return set_path(&launch->cwd, "cwd", path, err);
}

int launch_set_log_dir(struct launch_request *launch, const char *path, struct err *err)
{
    return set_path(&launch->log_dir, "output", path, err);
}

/* Takes the value over, NULL too; false when the text was not UTF-8 or memory is out. */
static bool put(json_t *object, const char *key, json_t *value)
{
    return value && json_object_set_new(object, key, value) == 0;
}

static json_t *argv_to_json(const struct launch_request *launch)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < launch->n_args; i++)
        if (json_array_append_new(array, json_string(launch->argv[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *env_to_json(const struct launch_request *launch)
{
    json_t *object = json_object();

    for (size_t i = 0; object && i < launch->n_env; i++) {
        const char *text = launch->env[i];
        size_t len = strcspn(text, "=");
        char name[1024];
        bool is_ok = len < sizeof name && text[len] == '=';

        if (is_ok) {
            memcpy(name, text, len);
            name[len] = '\0';
            is_ok = put(object, name, json_string(text + len + 1));
        }
        if (!is_ok) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *env_names_to_json(const struct launch_request *launch)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < launch->n_env; i++)
        if (json_array_append_new(array, json_string(launch->env[i])) < 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool put_env(json_t *object, const struct launch_request *launch)
{
    if (!launch->vault)
        return put(object, "env", env_to_json(launch));
    return put(object, "env_names", env_names_to_json(launch)) &&
           put(object, "vault", json_string(launch->vault));
}

int launch_encode(const struct launch_request *launch, struct buf *out, struct err *err)
{
    json_t *object = json_object();
    char *text = NULL;
    int rc = 0;

    if (!put(object, "argv", argv_to_json(launch)) ||
        !put(object, "cwd", json_string(launch->cwd ? launch->cwd : "")) ||
        !put(object, "log_dir", json_string(launch->log_dir ? launch->log_dir : ""))) {
        rc = err_field(err, E_INVALID, "command", "or its directory is not UTF-8 text");
        goto out;
    }
    if (!put_env(object, launch)) {
        rc = err_field(err, E_INVALID, "env",
                       "has a variable that is not UTF-8 text, has no value, or has a "
                       "name of more than 1023 bytes");
        goto out;
    }
    if (launch->form == LAUNCH_RANK ||
        put(object, "form", json_string(launch_form_name(launch->form))))
        text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        rc = E_NOMEM;
    else if (strlen(text) >= LAUNCH_MAX_BYTES)
        rc = err_field(err, E_LIMIT, "command",
                       "with its environment is longer than %d bytes",
                       LAUNCH_MAX_BYTES - 1);
    else
        buf_puts(out, text);
    if (rc == 0)
        rc = buf_error(out);
out:
    if (text)
        free(text);
    json_decref(object);
    return rc;
}

static int read_args(struct jsonin *in, struct launch_request *launch)
{
    json_t *array = jsonin_array(in, "argv", LAUNCH_ARGS_MAX);
    json_t *item;
    size_t i;

    if (in->rc < 0)
        return in->rc;
    if (json_array_size(array) == 0)
        return jsonin_fail(in, E_INVALID, "argv", "is empty; give the command");
    json_array_foreach(array, i, item)
    {
        int rc;

        if (!json_is_string(item))
            return jsonin_fail(in, E_INVALID, "argv", "has an entry that is not a text");
        rc = launch_add_arg(launch, json_string_value(item), in->err);
        if (rc < 0)
            return in->rc = rc;
    }
    if (launch->argv[0][0] == '\0')
        return jsonin_fail(in, E_INVALID, "argv", "begins with an empty word");
    return 0;
}

static int read_env(struct jsonin *in, struct launch_request *launch)
{
    json_t *object = jsonin_any(in, "env");
    const char *name;
    json_t *value;

    if (!object)
        return in->rc;
    if (!json_is_object(object))
        return jsonin_fail(in, E_INVALID, "env", "is not an object");
    json_object_foreach(object, name, value)
    {
        struct buf b;
        int rc;

        if (!json_is_string(value) || strchr(name, '='))
            return jsonin_fail(in, E_INVALID, "env",
                               "has a value that is not a text, or a name with '='");
        buf_init(&b, LAUNCH_MAX_BYTES);
        buf_printf(&b, "%s=%s", name, json_string_value(value));
        rc = buf_error(&b) ? buf_error(&b) : launch_set_env(launch, b.text, in->err);
        buf_release(&b);
        if (rc < 0)
            return in->rc = rc;
    }
    return 0;
}

static int read_vault(struct jsonin *in, struct launch_request *launch)
{
    const char *key = NULL;
    json_t *names = jsonin_array(in, "env_names", LAUNCH_ENV_MAX);
    json_t *item;
    size_t i;

    if (!jsonin_text(in, "vault", &key))
        return in->rc;
    if (strlen(key) != LAUNCH_KEY || strspn(key, "0123456789abcdef") != LAUNCH_KEY)
        return jsonin_fail(in, E_INVALID, "vault", "is no key");
    json_array_foreach(names, i, item)
    {
        const char *name = json_string_value(item);
        int rc;

        if (!name || strchr(name, '='))
            return jsonin_fail(in, E_INVALID, "env_names",
                               "has an entry that is no name");
        rc = launch_set_env(launch, name, in->err);
        if (rc < 0)
            return in->rc = rc;
    }
    launch->vault = mem_text(key);
    return launch->vault ? 0 : (in->rc = E_NOMEM);
}

static int read_path(struct jsonin *in, const char *name, char **path)
{
    const char *text = NULL;
    int rc;

    if (!jsonin_text(in, name, &text) || text[0] == '\0')
        return in->rc;
    if (text[0] != '/')
        return jsonin_fail(in, E_INVALID, name, "does not begin with '/'");
    rc = set_path(path, name, text, in->err);
    if (rc < 0)
        in->rc = rc;
    return in->rc;
}

int launch_decode(const char *text, size_t len, struct launch_request *ret,
                  struct err *err)
{
    struct launch_request launch;
    struct jsonin in;
    json_t *value = NULL;
    int form = LAUNCH_RANK;
    int rc;

    launch_init(&launch);
    rc = jsonin_parse(text, len, LAUNCH_MAX_BYTES - 1, &value, err);
    if (rc < 0)
        goto out;
    jsonin_begin(&in, value, "", err);
    (void)read_args(&in, &launch);
    (void)read_env(&in, &launch);
    (void)read_vault(&in, &launch);
    (void)read_path(&in, "cwd", &launch.cwd);
    (void)read_path(&in, "log_dir", &launch.log_dir);
    if (jsonin_enum(&in, "form", form_name, LAUNCH_FORM_MAX, &form))
        launch.form = (enum launch_form)form;
    if (in.rc == 0 && !launch.cwd)
        (void)jsonin_fail(&in, E_INVALID, "cwd", "is missing");
    rc = jsonin_end(&in);
    if (rc < 0)
        goto out;
    *ret = launch;
    launch_init(&launch);
out:
    launch_release(&launch);
    json_decref(value);
    return rc;
}
