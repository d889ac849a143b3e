/* SPDX-License-Identifier: Apache-2.0 */
/* scn_line.c - words and scalars of a scenario's text.
 *
 * All numbers are read as integers or as decimal fixed point; nothing here rounds through
 * a double. So a text means the same on every machine. Invariants:
 *   1. A reader that fails has set err and left its result alone.
 *   2. No number overflows: digits beyond the limit are refused, not wrapped. */
#include "sim/scn_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/span.h"

#define DIGITS_LIMIT ((int64_t)1000000000000) /* times a million still fits */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int scn_fail(struct scn_line *line, const char *field, const char *fmt, ...)
{
    char text[ERR_TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_field(line->err, E_INVALID, field, "line %d: %s", line->number, text);
}

/* Cuts line->text into words, in place. A comma that ends a word becomes a word. */
static int cut_words(struct scn_line *line)
{
    static const char comma[] = ",";
    char *p = line->text;

    while (*p) {
        char *end;
        bool has_comma;

        while (is_blank(*p))
            *p++ = '\0';
        if (*p == '\0' || *p == '#')
            break;
        end = p;
        while (*end && !is_blank(*end) && *end != '#')
            end++;
        has_comma = end[-1] == ',';
        if (line->n_words + 2 > SCN_WORDS_MAX)
            return scn_fail(line, "line", "has more than %d words", SCN_WORDS_MAX);
        if (!has_comma || end - p > 1)
            line->words[line->n_words++] = p;
        if (has_comma) {
            end[-1] = '\0';
            line->words[line->n_words++] = comma;
        }
        p = end;
    }
    if (*p == '#')
        *p = '\0';
    return 0;
}

int scn_line_split(struct scn_line *line, const char *text, size_t len, size_t *pos)
{
    const char *start = text + *pos;
    const char *nl = memchr(start, '\n', len - *pos);
    size_t n = nl ? (size_t)(nl - start) : len - *pos;

    ASSERT(*pos < len);
    line->number++;
    line->n_words = 0;
    line->at = 0;
    *pos += n + (nl ? 1 : 0);
    if (n >= sizeof line->text)
        return scn_fail(line, "line", "is longer than %d bytes", SCN_LINE_BYTES - 1);
    if (memchr(start, '\0', n))
        return scn_fail(line, "line", "has a zero byte");
    memcpy(line->text, start, n);
    line->text[n] = '\0';
    return cut_words(line);
}

const char *scn_peek(const struct scn_line *line)
{
    return line->at < line->n_words ? line->words[line->at] : NULL;
}

const char *scn_next(struct scn_line *line)
{
    return line->at < line->n_words ? line->words[line->at++] : NULL;
}

bool scn_take(struct scn_line *line, const char *word)
{
    const char *next = scn_peek(line);

    if (!next || strcmp(next, word) != 0)
        return false;
    line->at++;
    return true;
}

/* For messages: what stands there, or "nothing". */
static const char *seen(const char *word)
{
    return word ? word : "nothing";
}

int scn_expect(struct scn_line *line, const char *field, const char *word)
{
    if (scn_take(line, word))
        return 0;
    return scn_fail(line, field, "has '%.40s' where '%s' is expected",
                    seen(scn_peek(line)), word);
}

int scn_name(struct scn_line *line, const char *field, char *ret)
{
    const char *word = scn_next(line);

    if (!word || strcmp(word, ",") == 0)
        return scn_fail(line, field, "needs a name here");
    if (strlen(word) >= NAME_MAX_BYTES)
        return scn_fail(line, field, "has a name of more than %d bytes",
                        NAME_MAX_BYTES - 1);
    memset(ret, 0, NAME_MAX_BYTES);
    memcpy(ret, word, strlen(word));
    return 0;
}

int scn_choice(struct scn_line *line, const char *field, const char *const *names, int n,
               int *ret)
{
    const char *word = scn_next(line);
    char known[160] = "";
    size_t len = 0;

    for (int i = 0; word && i < n; i++)
        if (strcmp(word, names[i]) == 0) {
            *ret = i;
            return 0;
        }
    for (int i = 0; i < n && len < sizeof known; i++)
        len += (size_t)snprintf(known + len, sizeof known - len, "%s%s",
                                i == 0       ? ""
                                : i == n - 1 ? " or "
                                             : ", ",
                                names[i]);
    return scn_fail(line, field, "is '%.40s'; give %s", seen(word), known);
}

/* Digits at *p; false when there are none or too many. */
static bool read_digits(const char **p, int64_t *ret)
{
    int64_t value = 0;

    if (!is_digit(**p))
        return false;
    for (; is_digit(**p); (*p)++) {
        if (value > DIGITS_LIMIT / 10)
            return false;
        value = value * 10 + (**p - '0');
    }
    *ret = value;
    return true;
}

/* Digits with up to six decimal places, in millionths; false when it is none. */
static bool read_decimal(const char **p, int64_t *ret_ppm)
{
    int64_t whole = 0;
    int64_t part = 0;
    int64_t unit = PPM;

    if (!read_digits(p, &whole))
        return false;
    if (**p == '.' && is_digit((*p)[1])) {
        for ((*p)++; is_digit(**p); (*p)++) {
            if (unit == 1)
                return false;
            unit /= 10;
            part += (**p - '0') * unit;
        }
    }
    *ret_ppm = whole * PPM + part;
    return true;
}

static int64_t thousands(const char **p)
{
    static const struct {
        char letter;
        int64_t factor;
    } units[] = {{'K', 1000}, {'M', 1000000}, {'G', 1000000000}};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++)
        if (**p == units[i].letter) {
            (*p)++;
            return units[i].factor;
        }
    return 1;
}

int scn_count(struct scn_line *line, const char *field, int64_t least, int64_t most,
              int64_t *ret)
{
    const char *word = scn_next(line);
    const char *p = word;
    int64_t ppm = 0;
    int64_t factor;

    if (!word || !read_decimal(&p, &ppm))
        return scn_fail(line, field, "is '%.40s'; give a number from %lld to %lld",
                        seen(word), (long long)least, (long long)most);
    factor = thousands(&p);
    if (*p || ppm / PPM > INT64_MAX / 2 / factor || ppm % PPM * factor % PPM != 0)
        return scn_fail(line, field, "is '%.40s'; give a whole number such as 12 or 25M",
                        word);
    ppm = ppm / PPM * factor + ppm % PPM * factor / PPM;
    if (ppm < least || ppm > most)
        return scn_fail(line, field, "is %.40s; %lld to %lld are accepted", word,
                        (long long)least, (long long)most);
    *ret = ppm;
    return 0;
}

int scn_decimal(struct scn_line *line, const char *field, int64_t *ret_ppm)
{
    const char *word = scn_next(line);
    const char *p = word;
    int64_t ppm = 0;

    if (!word || !read_decimal(&p, &ppm) || *p)
        return scn_fail(line, field, "is '%.40s'; give a number such as 2 or 0.5",
                        seen(word));
    *ret_ppm = ppm;
    return 0;
}

/* The unit at *p in nanoseconds; 0 when there is none. */
static int64_t unit_ns(const char **p)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {{"ms", 1000000},
                 {"us", 1000},
                 {"ns", 1},
                 {"s", 1000000000},
                 {"m", 60 * 1000000000LL},
                 {"h", 3600 * 1000000000LL},
                 {"d", 86400 * 1000000000LL}};

    for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
        size_t n = strlen(units[i].name);

        if (strncmp(*p, units[i].name, n) == 0) {
            *p += n;
            return units[i].ns;
        }
    }
    return 0;
}

/* One number with its unit, in nanoseconds. */
static bool read_nanos(const char **p, int64_t *ret_ns)
{
    int64_t ppm = 0;
    int64_t unit;

    if (!read_decimal(p, &ppm))
        return false;
    unit = unit_ns(p);
    if (unit == 0 || ppm / PPM > INT64_MAX / 4 / unit)
        return false;
    *ret_ns = ppm / PPM * unit + ppm % PPM * (unit / 1000) / 1000;
    return true;
}

int scn_span(struct scn_line *line, const char *field, usec_t *ret)
{
    const char *word = scn_next(line);
    usec_t span = 0;

    if (!word || span_parse(word, &span, NULL) < 0 || span < 0 ||
        span > 366 * USEC_PER_DAY)
        return scn_fail(line, field, "is '%.40s'; give a span such as 90s, 10m or 1h30m",
                        seen(word));
    *ret = span;
    return 0;
}

int scn_nanos(struct scn_line *line, const char *field, const char *text, int64_t *ret_ns,
              const char **ret_rest)
{
    const char *p = text;
    int64_t ns = 0;

    if (!read_nanos(&p, &ns))
        return scn_fail(line, field, "has '%.40s' where a time such as 10ms is expected",
                        text);
    *ret_ns = ns;
    *ret_rest = p;
    return 0;
}

/* "a..b" or "a" at p, both within int32. */
static bool read_range(const char **p, int32_t *ret_min, int32_t *ret_max)
{
    int64_t lo = 0;
    int64_t hi = 0;

    if (!read_digits(p, &lo))
        return false;
    hi = lo;
    if (strncmp(*p, "..", 2) == 0) {
        *p += 2;
        if (!read_digits(p, &hi))
            return false;
    }
    if (lo > INT32_MAX || hi > INT32_MAX)
        return false;
    *ret_min = (int32_t)lo;
    *ret_max = (int32_t)hi;
    return true;
}

/* The rest of a list whose first number has been read. */
static bool read_list(const char *p, struct size_set *set)
{
    int32_t value = 0;
    int32_t same = 0;

    set->listed[0] = set->min;
    set->n_listed = 1;
    while (*p == ',') {
        p++;
        if (set->n_listed == SIZES_LISTED_MAX || !read_range(&p, &value, &same) ||
            value != same)
            return false;
        set->listed[set->n_listed++] = value;
    }
    return *p == '\0';
}

int scn_sizes(struct scn_line *line, const char *field, struct size_set *ret)
{
    const char *word = scn_next(line);
    const char *p = word;
    struct size_set set = {.step = 1};
    int64_t step = 1;
    int rc = 0;

    if (!word || !read_range(&p, &set.min, &set.max) ||
        (*p && (set.min != set.max || !read_list(p, &set))))
        return scn_fail(line, field, "is '%.40s'; give 2, 1..8 or a list such as 1,2,4",
                        seen(word));
    if (scn_take(line, "step"))
        rc = scn_count(line, "step", 1, SIZE_MAX_DEVICES, &step);
    if (rc < 0)
        return rc;
    set.step = (int32_t)step;
    if (set.n_listed > 0)
        set.max = set.listed[set.n_listed - 1];
    *ret = set;
    return 0;
}

int scn_range(struct scn_line *line, const char *field, int32_t *ret_min,
              int32_t *ret_max)
{
    const char *word = scn_next(line);
    const char *p = word;
    int32_t lo = 0;
    int32_t hi = 0;

    if (!word || !read_range(&p, &lo, &hi) || *p)
        return scn_fail(line, field, "is '%.40s'; give 64 or 64..256", seen(word));
    *ret_min = lo;
    *ret_max = hi;
    return 0;
}
