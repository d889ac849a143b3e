/* SPDX-License-Identifier: Apache-2.0 */
/* order.c - order.json, started.json and exit.json by one table each.
 *
 * The plain fields of a record stand in a table that writes and reads them; lists and
 * texts of any length are handled by hand. The files lie in a directory that belongs to
 * the job's user, so a decoder trusts nothing: ranges are checked, and nothing read here
 * chooses a uid (the shim takes that from the directory's owner). */
#include "wire/order.h"

#include <jansson.h>
#include <limits.h>
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

enum column_type { COLUMN_U32, COLUMN_I32, COLUMN_I64, COLUMN_ENUM, COLUMN_TEXT };

struct column {
    const char *key;
    enum column_type type;
    size_t offset;
    int64_t min; /* of a number; COLUMN_TEXT: its width in bytes */
    int64_t max;
    const char *(*name)(int value); /* COLUMN_ENUM */
};

static const char *level_name(int value)
{
    return job_level_name((enum job_level)value);
}

static const char *lr_rule_name(int value)
{
    return job_lr_rule_name((enum job_lr_rule)value);
}

static const char *profile_name(int value)
{
    return job_profile_name((enum job_profile)value);
}

static const char *cause_name(int value)
{
    return job_cause_name((enum job_cause)value);
}

const char *order_device_name(enum order_device kind)
{
    static const char *const names[ORDER_DEVICE_MAX] = {"cpu", "cuda"};

    ASSERT((unsigned)kind < ORDER_DEVICE_MAX);
    return names[kind];
}

static const char *device_name(int value)
{
    return order_device_name((enum order_device)value);
}

static const char *launch_name(int value)
{
    return launch_form_name((enum launch_form)value);
}

#define NUMBER(type, record, key, member, min, max)                                      \
    {                                                                                    \
        key, type, offsetof(struct record, member), min, max, NULL                       \
    }
#define WORD(record, key, member, end, name)                                             \
    {                                                                                    \
        key, COLUMN_ENUM, offsetof(struct record, member), 0, (end)-1, name              \
    }
#define LINE(record, key, member)                                                        \
    {                                                                                    \
        key, COLUMN_TEXT, offsetof(struct record, member),                               \
            sizeof(((struct record *)0)->member), 0, NULL                                \
    }

/* clang-format off */
static const struct column order_columns[] = {
    NUMBER(COLUMN_I32, order, "accumulation", plan.accumulation, 0, BATCH_MAX),
    NUMBER(COLUMN_I32, order, "batch_base", batch_base, 0, BATCH_MAX),
    WORD(order, "device_kind", device_kind, ORDER_DEVICE_MAX, device_name),
    NUMBER(COLUMN_U32, order, "generation", plan.generation, 0, UINT32_MAX),
    NUMBER(COLUMN_U32, order, "gid", gid, 0, UINT32_MAX),
    NUMBER(COLUMN_I32, order, "global_batch", plan.global_batch, 0, BATCH_MAX),
    NUMBER(COLUMN_I64, order, "grace_us", grace_us, 0, INT64_MAX / 4),
    NUMBER(COLUMN_I32, order, "has_env_file", has_env_file, 0, 1),
    NUMBER(COLUMN_I64, order, "hang_us", hang_us, 0, INT64_MAX / 4),
    NUMBER(COLUMN_U32, order, "incarnation", incarnation, 0, UINT32_MAX),
    NUMBER(COLUMN_U32, order, "job", job, 0, UINT32_MAX),
    WORD(order, "launch", launch, LAUNCH_FORM_MAX, launch_name),
    WORD(order, "level", level, JOB_LEVEL_MAX, level_name),
    NUMBER(COLUMN_I64, order, "log_keep_bytes", log_keep_bytes, 0, INT64_MAX / 4),
    NUMBER(COLUMN_I64, order, "lr_from_ppm", lr_from_ppm, 0, INT64_MAX / 4),
    WORD(order, "lr_rule", lr_rule, JOB_LR_RULE_MAX, lr_rule_name),
    NUMBER(COLUMN_I64, order, "lr_to_ppm", lr_to_ppm, 0, INT64_MAX / 4),
    NUMBER(COLUMN_I32, order, "master_port", master_port, 0, 65535),
    NUMBER(COLUMN_I32, order, "micro_batch", plan.micro_batch, 0, BATCH_MAX),
    NUMBER(COLUMN_I32, order, "n_nodes", n_nodes, 0, NODES_MAX),
    LINE(order, "name", name),
    NUMBER(COLUMN_I32, order, "node_rank", node_rank, 0, NODES_MAX),
    WORD(order, "profile", profile, JOB_PROFILE_MAX, profile_name),
    NUMBER(COLUMN_I64, order, "ramp_samples", ramp_samples, 0, INT64_MAX / 4),
    NUMBER(COLUMN_I64, order, "ramp_start_samples", ramp_start_samples, 0, INT64_MAX / 4),
    NUMBER(COLUMN_I32, order, "restart_count", restart_count, 0, INT32_MAX),
    LINE(order, "run_id", run_id),
    NUMBER(COLUMN_I64, order, "samples_done", samples_done, 0, INT64_MAX),
    NUMBER(COLUMN_I32, order, "size", plan.size, 1, SIZE_MAX_DEVICES),
    NUMBER(COLUMN_I32, order, "threads", threads, 0, 4096),
    NUMBER(COLUMN_U32, order, "uid", uid, 0, UINT32_MAX),
};

static const struct column started_columns[] = {
    LINE(order_started, "boot_id", boot_id),
    NUMBER(COLUMN_U32, order_started, "incarnation", incarnation, 0, UINT32_MAX),
    NUMBER(COLUMN_U32, order_started, "job", job, 0, UINT32_MAX),
    NUMBER(COLUMN_I32, order_started, "master_port", master_port, 0, 65535),
    NUMBER(COLUMN_I32, order_started, "shim_pid", shim_pid, 0, INT32_MAX),
    NUMBER(COLUMN_I64, order_started, "shim_start_ticks", shim_start_ticks, 0, INT64_MAX),
};

static const struct column exit_columns[] = {
    WORD(order_exit, "cause", cause, JOB_CAUSE_MAX, cause_name),
    NUMBER(COLUMN_I32, order_exit, "exit_code", exit_code, 0, 255),
    NUMBER(COLUMN_U32, order_exit, "generation", generation, 0, UINT32_MAX),
    NUMBER(COLUMN_U32, order_exit, "incarnation", incarnation, 0, UINT32_MAX),
    NUMBER(COLUMN_U32, order_exit, "job", job, 0, UINT32_MAX),
    NUMBER(COLUMN_I32, order_exit, "micro_batch", micro_batch, 0, BATCH_MAX),
    NUMBER(COLUMN_I32, order_exit, "rank", rank, -1, SIZE_MAX_DEVICES),
    NUMBER(COLUMN_I64, order_exit, "samples_done", samples_done, -1, INT64_MAX),
    LINE(order_exit, "text", text),
};
/* clang-format on */

#define LINE_MAX_BYTES 256

/* A text for people may have been cut in the middle of a character, or quote a path that
 * is no UTF-8; it is written all the same, with "?" for what is not ASCII. */
static json_t *line_to_json(const char *text)
{
    json_t *value = json_string(text);
    char plain[LINE_MAX_BYTES];
    size_t n = 0;

    if (value)
        return value;
    for (; text[n] && n + 1 < sizeof(plain); n++)
        plain[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
    plain[n] = '\0';
    return json_string(plain);
}

static json_t *column_to_json(const struct column *c, const void *record)
{
    const char *at = (const char *)record + c->offset;

    switch (c->type) {
    case COLUMN_U32:
        return json_integer(*(const uint32_t *)(const void *)at);
    case COLUMN_I32:
        return json_integer(*(const int32_t *)(const void *)at);
    case COLUMN_I64:
        return json_integer(*(const int64_t *)(const void *)at);
    case COLUMN_ENUM:
        return json_string(c->name(*(const int *)(const void *)at));
    case COLUMN_TEXT:
        return line_to_json(at);
    }
    return NULL;
}

static int columns_to_json(json_t *object, const struct column *columns, size_t n,
                           const void *record)
{
    for (size_t i = 0; i < n; i++) {
        json_t *value = column_to_json(&columns[i], record);

        if (!value || json_object_set_new(object, columns[i].key, value) < 0)
            return E_NOMEM;
    }
    return 0;
}

static int words_to_json(json_t *object, const char *key, const struct order_words *words)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < words->n; i++)
        if (json_array_append_new(array, json_string(words->words[i])) < 0) {
            json_decref(array);
            return E_INVALID; /* not UTF-8, or no memory */
        }
    return json_object_set_new(object, key, array) < 0 ? E_NOMEM : 0;
}

static int ranks_to_json(json_t *object, const struct order *order)
{
    json_t *array = json_array();

    for (int32_t i = 0; array && i < order->n_ranks; i++) {
        json_t *one = json_object();
        int bad =
            json_object_set_new(one, "device", json_integer(order->ranks[i].device));

        bad |= json_object_set_new(one, "rank", json_integer(order->ranks[i].rank));
        if (order->ranks[i].uuid[0])
            bad |= json_object_set_new(one, "uuid", json_string(order->ranks[i].uuid));
        if (json_array_append_new(array, one) < 0 || bad) {
            json_decref(array);
            return E_NOMEM;
        }
    }
    return json_object_set_new(object, "ranks", array) < 0 ? E_NOMEM : 0;
}

static int optional_to_json(json_t *object, const char *key, const char *text)
{
    if (!text)
        return 0;
    return json_object_set_new(object, key, json_string(text)) < 0 ? E_INVALID : 0;
}

static int append_json(const char *bytes, size_t n, void *out)
{
    buf_add(out, bytes, n);
    return buf_error(out);
}

/* Takes the object. */
static void object_finish(json_t *object, int rc, struct buf *out)
{
    if (rc == 0 && json_object_set_new(object, "format", json_integer(ORDER_FORMAT)) < 0)
        rc = E_NOMEM;
    if (rc == 0)
        (void)json_dump_callback(object, append_json, out, JSON_SORT_KEYS | JSON_COMPACT);
    if (rc < 0 && out->error == 0)
        out->error = rc;
    buf_putc(out, '\n');
    json_decref(object);
}

void order_words_encode(const struct order_words *words, struct buf *out)
{
    for (size_t i = 0; i < words->n; i++)
        buf_add(out, words->words[i], strlen(words->words[i]) + 1);
}

int order_words_decode(struct order_words *words, const char *text, size_t len)
{
    int rc = 0;

    while (rc == 0 && len > 0) {
        size_t n = strnlen(text, len);

        if (n == len)
            return E_INVALID;
        rc = order_words_add(words, text);
        text += n + 1;
        len -= n + 1;
    }
    return rc;
}

void order_encode(const struct order *order, struct buf *out)
{
    json_t *object = json_object();
    int rc = columns_to_json(object, order_columns, ARRAY_SIZE(order_columns), order);

    if (rc == 0)
        rc = words_to_json(object, "argv", &order->argv);
    if (rc == 0 && !order->has_env_file)
        rc = words_to_json(object, "env", &order->env);
    if (rc == 0)
        rc = ranks_to_json(object, order);
    if (rc == 0)
        rc = optional_to_json(object, "master_addr", order->master_addr);
    if (rc == 0)
        rc = optional_to_json(object, "cwd", order->cwd);
    if (rc == 0)
        rc = optional_to_json(object, "log_dir", order->log_dir);
    if (rc == 0)
        rc = optional_to_json(object, "checkpoint_dir", order->checkpoint_dir);
    if (rc == 0)
        rc = optional_to_json(object, "daemon_socket", order->daemon_socket);
    if (rc == 0)
        rc = optional_to_json(object, "channel_dir", order->channel_dir);
    object_finish(object, rc, out);
}

void order_started_encode(const struct order_started *started, struct buf *out)
{
    json_t *object = json_object();
    int rc =
        columns_to_json(object, started_columns, ARRAY_SIZE(started_columns), started);

    object_finish(object, rc, out);
}

void order_exit_encode(const struct order_exit *record, struct buf *out)
{
    json_t *object = json_object();
    int rc = columns_to_json(object, exit_columns, ARRAY_SIZE(exit_columns), record);

    object_finish(object, rc, out);
}

static int number_from_json(const struct column *c, const json_t *value, char *at,
                            struct err *err)
{
    int64_t n = json_integer_value(value);

    if (!json_is_integer(value))
        return err_field(err, E_INVALID, c->key, "must be a whole number");
    if (n < c->min || n > c->max)
        return err_field(err, E_INVALID, c->key, "must lie in %lld..%lld, not %lld",
                         (long long)c->min, (long long)c->max, (long long)n);
    if (c->type == COLUMN_I64)
        *(int64_t *)(void *)at = n;
    else if (c->type == COLUMN_I32)
        *(int32_t *)(void *)at = (int32_t)n;
    else
        *(uint32_t *)(void *)at = (uint32_t)n;
    return 0;
}

static int text_from_json(const struct column *c, const json_t *value, char *at,
                          struct err *err)
{
    const char *text = json_string_value(value);

    if (!text)
        return err_field(err, E_INVALID, c->key, "must be a text");
    if (c->type == COLUMN_TEXT) {
        if (json_string_length(value) >= (size_t)c->min)
            return err_field(err, E_LIMIT, c->key, "must be shorter than %lld bytes",
                             (long long)c->min);
        memcpy(at, text, strlen(text) + 1);
        return 0;
    }
    for (int i = 0; i <= c->max; i++)
        if (strcmp(c->name(i), text) == 0) {
            *(int *)(void *)at = i;
            return 0;
        }
    return err_field(err, E_INVALID, c->key, "has no value \"%.40s\"", text);
}

static int columns_from_json(const json_t *object, const struct column *columns, size_t n,
                             void *record, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct column *c = &columns[i];
        const json_t *value = json_object_get(object, c->key);
        char *at = (char *)record + c->offset;
        int rc = 0;

        if (!value)
            continue;
        if (c->type == COLUMN_TEXT || c->type == COLUMN_ENUM)
            rc = text_from_json(c, value, at, err);
        else
            rc = number_from_json(c, value, at, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int words_from_json(const json_t *object, const char *key,
                           struct order_words *words, struct err *err)
{
    const json_t *array = json_object_get(object, key);
    size_t n = json_array_size(array);

    if (array && !json_is_array(array))
        return err_field(err, E_INVALID, key, "must be a list of texts");
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        int rc;

        if (!json_is_string(value))
            return err_field(err, E_INVALID, key, "must be a list of texts");
        rc = order_words_add(words, json_string_value(value));
        if (rc < 0)
            return err_field(err, rc, key, "is too long");
    }
    return 0;
}

/* An order of an older daemon has none. The comma parts devices in a list. */
static int uuid_from_json(const json_t *value, char uuid[ORDER_UUID], struct err *err)
{
    const char *text = json_string_value(value);

    if (!value)
        return 0;
    if (!text || strlen(text) >= ORDER_UUID || strchr(text, ','))
        return err_field(err, E_INVALID, "ranks", "has a bad uuid");
    memcpy(uuid, text, strlen(text) + 1);
    return 0;
}

static int ranks_from_json(const json_t *object, struct order *order, struct err *err)
{
    const json_t *array = json_object_get(object, "ranks");
    size_t n = json_array_size(array);

    if (n < 1 || n > (size_t)order->plan.size)
        return err_field(err, E_INVALID, "ranks", "must list 1..size ranks");
    order->ranks = mem_new(n, sizeof(order->ranks[0]));
    if (!order->ranks)
        return E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *rank = json_object_get(json_array_get(array, i), "rank");
        const json_t *device = json_object_get(json_array_get(array, i), "device");
        int64_t r = json_integer_value(rank);
        int64_t d = json_integer_value(device);

        if (!json_is_integer(rank) || !json_is_integer(device) || r < 0 ||
            r >= order->plan.size || d < 0 || d >= DEVICES_MAX)
            return err_field(err, E_INVALID, "ranks", "has a bad rank or device");
        if (i > 0 && r <= order->ranks[i - 1].rank)
            return err_field(err, E_INVALID, "ranks", "must ascend");
        order->ranks[i].rank = (int32_t)r;
        order->ranks[i].device = (int32_t)d;
        if (uuid_from_json(json_object_get(json_array_get(array, i), "uuid"),
                           order->ranks[i].uuid, err) < 0)
            return E_INVALID;
    }
    order->n_ranks = (int32_t)n;
    return 0;
}

static int optional_from_json(const json_t *object, const char *key, char **ret,
                              struct err *err)
{
    const json_t *value = json_object_get(object, key);

    if (!value || json_is_null(value))
        return 0;
    if (!json_is_string(value))
        return err_field(err, E_INVALID, key, "must be a text");
    *ret = mem_text(json_string_value(value));
    return *ret ? 0 : E_NOMEM;
}

static int object_parse(const char *text, size_t len, json_t **ret, struct err *err)
{
    json_error_t why;
    json_t *object;
    int64_t format;

    if (len > ORDER_TEXT_MAX)
        return err_set(err, E_LIMIT, "the file is longer than %zu bytes", ORDER_TEXT_MAX);
    object = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
    if (!object)
        return err_set(err, E_INVALID, "line %d: %s", why.line, why.text);
    format = json_integer_value(json_object_get(object, "format"));
    if (!json_is_object(object) || format < 1) {
        json_decref(object);
        return err_field(err, E_INVALID, "format", "is missing");
    }
    if (format > ORDER_FORMAT) {
        json_decref(object);
        return err_field(err, E_VERSION, "format", "%lld is newer than %d",
                         (long long)format, ORDER_FORMAT);
    }
    *ret = object;
    return 0;
}

static int order_from_json(const json_t *object, struct order *order, struct err *err)
{
    static const char *const keys[] = {"master_addr",    "cwd",           "log_dir",
                                       "checkpoint_dir", "daemon_socket", "channel_dir"};
    char **texts[] = {&order->master_addr,    &order->cwd,           &order->log_dir,
                      &order->checkpoint_dir, &order->daemon_socket, &order->channel_dir};
    int rc =
        columns_from_json(object, order_columns, ARRAY_SIZE(order_columns), order, err);

    if (rc == 0 && order->plan.size < 1)
        rc = err_field(err, E_INVALID, "size", "must be 1 or more");
    if (rc == 0)
        rc = words_from_json(object, "argv", &order->argv, err);
    if (rc == 0)
        rc = words_from_json(object, "env", &order->env, err);
    if (rc == 0)
        rc = ranks_from_json(object, order, err);
    for (size_t i = 0; rc == 0 && i < ARRAY_SIZE(keys); i++)
        rc = optional_from_json(object, keys[i], texts[i], err);
    if (rc == 0 && (order->argv.n == 0 || !order->argv.words[0][0]))
        rc = err_field(err, E_INVALID, "argv", "is empty");
    return rc;
}

int order_decode(const char *text, size_t len, struct order *ret, struct err *err)
{
    struct order order;
    json_t *object = NULL;
    int rc = object_parse(text, len, &object, err);

    if (rc < 0)
        return rc;
    order_init(&order);
    rc = order_from_json(object, &order, err);
    json_decref(object);
    if (rc < 0) {
        order_release(&order);
        return rc;
    }
    *ret = order;
    return 0;
}

static int plain_decode(const char *text, size_t len, const struct column *columns,
                        size_t n, void *record, struct err *err)
{
    json_t *object = NULL;
    int rc = object_parse(text, len, &object, err);

    if (rc < 0)
        return rc;
    rc = columns_from_json(object, columns, n, record, err);
    json_decref(object);
    return rc;
}

int order_started_decode(const char *text, size_t len, struct order_started *ret,
                         struct err *err)
{
    struct order_started started = {0};
    int rc = plain_decode(text, len, started_columns, ARRAY_SIZE(started_columns),
                          &started, err);

    if (rc == 0)
        *ret = started;
    return rc;
}

int order_exit_decode(const char *text, size_t len, struct order_exit *ret,
                      struct err *err)
{
    struct order_exit record = {.rank = -1, .samples_done = -1};
    int rc =
        plain_decode(text, len, exit_columns, ARRAY_SIZE(exit_columns), &record, err);

    if (rc == 0)
        *ret = record;
    return rc;
}

void order_init(struct order *order)
{
    memset(order, 0, sizeof(*order));
}

static void words_release(struct order_words *words)
{
    for (size_t i = 0; i < words->n; i++)
        mem_free(words->words[i]);
    mem_free(words->words);
}

void order_release(struct order *order)
{
    words_release(&order->argv);
    words_release(&order->env);
    mem_free(order->ranks);
    mem_free(order->master_addr);
    mem_free(order->cwd);
    mem_free(order->log_dir);
    mem_free(order->checkpoint_dir);
    mem_free(order->daemon_socket);
    mem_free(order->channel_dir);
    order_init(order);
}

int order_words_add(struct order_words *words, const char *word)
{
    void *array = words->words;
    char *copy;
    int rc;

    if (words->n >= ORDER_WORDS_MAX)
        return E_LIMIT;
    rc = mem_reserve(&array, &words->cap, words->n + 2, sizeof(words->words[0]));
    if (rc < 0)
        return rc;
    words->words = array;
    copy = mem_text(word);
    if (!copy)
        return E_NOMEM;
    words->words[words->n++] = copy;
    words->words[words->n] = NULL;
    return 0;
}
