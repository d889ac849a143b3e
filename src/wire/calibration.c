/* SPDX-License-Identifier: Apache-2.0 */
/* calibration.c - a small table of numbers, read strictly: sizes and bytes must rise, and
 * each pair must have a time, or interpolation would make no sense. */
#include "wire/calibration.h"

#include <inttypes.h>

#include "core/limits.h"
#include "wire/jsonin.h"

static int read_number(const json_t *value, int64_t least, int64_t most,
                       const char *field, int64_t *ret, struct err *err)
{
    if (!json_is_integer(value))
        return err_field(err, E_INVALID, field, "must hold whole numbers");
    if (json_integer_value(value) < least || json_integer_value(value) > most)
        return err_field(err, E_INVALID, field,
                         "holds %" JSON_INTEGER_FORMAT "; %" PRId64 " to %" PRId64,
                         json_integer_value(value), least, most);
    *ret = json_integer_value(value);
    return 0;
}

/* The number of items of an array, 1 to LEARN_GRID_MAX; or an error. */
static int read_length(const json_t *array, const char *field, struct err *err)
{
    size_t n = json_array_size(array); /* 0 for what is no array */

    if (n < 1 || n > LEARN_GRID_MAX)
        return err_field(err, E_INVALID, field, "must be a list of 1 to %d numbers",
                         LEARN_GRID_MAX);
    return (int)n;
}

static int read_axes(const json_t *root, struct calibration *c, struct err *err)
{
    const json_t *sizes = json_object_get(root, "sizes");
    const json_t *bytes = json_object_get(root, "bytes");
    int64_t last = 1;
    int64_t value = 0;

    c->n_sizes = read_length(sizes, "sizes", err);
    if (c->n_sizes < 0)
        return c->n_sizes;
    c->n_bytes = read_length(bytes, "bytes", err);
    if (c->n_bytes < 0)
        return c->n_bytes;
    for (int32_t i = 0; i < c->n_sizes; i++, last = value) {
        if (read_number(json_array_get(sizes, (size_t)i), last + 1, SIZE_MAX_DEVICES,
                        "sizes", &value, err) < 0)
            return E_INVALID;
        c->sizes[i] = (int32_t)value;
    }
    last = 0;
    for (int32_t i = 0; i < c->n_bytes; i++, last = value) {
        if (read_number(json_array_get(bytes, (size_t)i), last + 1, INT64_C(1) << 50,
                        "bytes", &value, err) < 0)
            return E_INVALID;
        c->bytes[i] = value;
    }
    return 0;
}

static int read_times(const json_t *root, struct calibration *c, struct err *err)
{
    const json_t *rows = json_object_get(root, "time_ns");

    if (json_array_size(rows) != (size_t)c->n_sizes)
        return err_field(err, E_INVALID, "time_ns", "must have one list for each size");
    for (int32_t i = 0; i < c->n_sizes; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);

        if (json_array_size(row) != (size_t)c->n_bytes)
            return err_field(err, E_INVALID, "time_ns",
                             "must have one time for each of bytes");
        for (int32_t j = 0; j < c->n_bytes; j++)
            if (read_number(json_array_get(row, (size_t)j), 0, INT64_C(1) << 50,
                            "time_ns", &c->time_ns[i][j], err) < 0)
                return E_INVALID;
    }
    return 0;
}

int wire_calibration_decode(const char *text, size_t len, struct calibration *ret,
                            struct err *err)
{
    struct calibration c = {0};
    json_t *root = NULL;
    int rc = jsonin_parse(text, len, WIRE_CALIBRATION_MAX, &root, err);

    if (rc == 0)
        rc = read_axes(root, &c, err);
    if (rc == 0)
        rc = read_times(root, &c, err);
    json_decref(root);
    if (rc == 0)
        *ret = c;
    return rc;
}

void wire_calibration_points(const struct calibration *c, struct buf *out)
{
    buf_putc(out, '[');
    for (int32_t i = 0; i < c->n_sizes; i++)
        for (int32_t j = 0; j < c->n_bytes; j++)
            buf_printf(out,
                       "%s{\"bytes\":%" PRId64 ",\"nodes\":1,\"size\":%" PRId32
                       ",\"time_ns\":%" PRId64 "}",
                       i + j > 0 ? "," : "", c->bytes[j], c->sizes[i], c->time_ns[i][j]);
    buf_putc(out, ']');
}
