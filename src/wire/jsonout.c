/* SPDX-License-Identifier: Apache-2.0 */
/* jsonout.c - see jsonout.h. */
#include "wire/jsonout.h"

#include <string.h>

#include "wire/schema.h"

static void begin(struct jsonout *j, const char *key)
{
    if (j->needs_comma)
        buf_putc(j->out, ',');
    j->needs_comma = true;
    if (!key)
        return;
    schema_encode_text(key, strlen(key), j->out);
    buf_putc(j->out, ':');
}

void jsonout_open(struct jsonout *j, const char *key, char bracket)
{
    begin(j, key);
    buf_putc(j->out, bracket);
    j->needs_comma = false;
}

void jsonout_close(struct jsonout *j, char bracket)
{
    buf_putc(j->out, bracket);
    j->needs_comma = true;
}

void jsonout_i64(struct jsonout *j, const char *key, int64_t value)
{
    begin(j, key);
    buf_printf(j->out, "%lld", (long long)value);
}

void jsonout_bool(struct jsonout *j, const char *key, bool value)
{
    begin(j, key);
    buf_puts(j->out, value ? "true" : "false");
}

void jsonout_text(struct jsonout *j, const char *key, const char *value)
{
    begin(j, key);
    schema_encode_text(value ? value : "", value ? strlen(value) : 0, j->out);
}

void jsonout_raw(struct jsonout *j, const char *key, const char *json)
{
    begin(j, key);
    buf_puts(j->out, json);
}
