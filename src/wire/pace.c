/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c - see pace.h. */
#include "wire/pace.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Behind the number "20" or "0.4"; NULL: there is none. */
static const char *skip_number(const char *at)
{
    const char *end = skip_digits(at);

    if (end == at)
        return NULL;
    if (*end != '.')
        return end;
    at = end + 1;
    end = skip_digits(at);
    return end == at ? NULL : end;
}

static const char *skip_unit(const char *at)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (text_starts_with(at, units[i]))
            return at + strlen(units[i]);
    return NULL;
}

/* Behind one term; NULL: it is none. */
static const char *skip_term(const char *at)
{
    at = skip_number(at);
    at = at ? skip_unit(at) : NULL;
    if (at && text_starts_with(at, "*m"))
        at += 2;
    return at && (*at == '+' || *at == '\0') ? at : NULL;
}

static int fail(const char *text, const char *at, struct err *err)
{
    return err_set(err, E_INVALID,
                   "is '%s', where '%.*s' is no time; give times such as 20ms+0.4ms*m "
                   "(ns, us, ms or s; *m: for each sample), or off",
                   text, (int)strcspn(at, "+"), at);
}

int pace_check(const char *text, struct err *err)
{
    char packed[PACE_BYTES_MAX + 1];
    const char *at = packed;
    size_t n = 0;

    if (strlen(text) > PACE_BYTES_MAX)
        return err_set(err, E_LIMIT, "has more than %d bytes", PACE_BYTES_MAX);
    for (const char *c = text; *c; c++)
        if (*c != ' ')
            packed[n++] = *c;
    packed[n] = '\0';
    if (text_equal(text, "off"))
        return 0;
    for (;;) {
        const char *end = skip_term(at);

        if (!end)
            return fail(text, at, err);
        if (*end == '\0')
            return 0;
        at = end + 1;
    }
}
