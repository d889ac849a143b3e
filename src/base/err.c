/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - filling in a struct err; nothing here allocates, so failing cannot fail. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "base/units.h"

static const char *const names[] = {
    "ok",     "no-memory", "invalid", "not-found", "state",   "infeasible", "limit",
    "exists", "denied",    "io",      "busy",      "version", "corrupt",    "again",
};

static void fill(struct err *err, int code, const char *field, const char *fmt,
                 va_list args) ATTR_PRINTF(4, 0);

static void fill(struct err *err, int code, const char *field, const char *fmt,
                 va_list args)
{
    if (!err)
        return;
    err->code = code;
    (void)snprintf(err->field, sizeof err->field, "%s", field);
    text_fit_vprintf(err->text, sizeof err->text, fmt, args);
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, "", fmt, args);
    va_end(args);
    return code;
}

int err_field(struct err *err, int code, const char *field, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    fill(err, code, field, fmt, args);
    va_end(args);
    return code;
}

const char *err_name(int code)
{
    size_t i = code <= 0 ? (size_t)-code : ARRAY_SIZE(names);

    return i < ARRAY_SIZE(names) ? names[i] : "unknown";
}

void err_clear(struct err *err)
{
    if (!err)
        return;
    err->code = E_OK;
    err->field[0] = '\0';
    err->text[0] = '\0';
}
