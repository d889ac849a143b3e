/* SPDX-License-Identifier: Apache-2.0 */
/* jobscript.c - see jobscript.h. A line is cut into words first; words then pair up as
 * --name=value or --name value. What cannot be read is refused with line and column: a
 * flag that is silently dropped would be a job on the wrong devices. */
#include "wire/jobscript.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

#define MARK     "#ELASTANE"
#define MARK_LEN (sizeof MARK - 1)

struct line {
    const char *text;
    size_t len;
    size_t at;      /* cursor */
    int32_t number; /* from 1 */
};

struct script {
    struct submit submit;
    struct job_places *places;
    struct err *err;
    struct buf word;
    struct buf name;
};

static int refuse(struct script *s, const struct line *line, size_t at,
                  const char *reason)
{
    s->places->fault =
        (struct text_place){.line = line->number, .column = (int32_t)at + 1};
    return err_set(s->err, E_INVALID, "%s", reason);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void skip_blanks(struct line *line)
{
    while (line->at < line->len && is_blank(line->text[line->at]))
        line->at++;
}

/* Inside double quotes a backslash keeps the next character; inside single quotes nothing
 * is special. The cursor stands behind the opening quote. */
static int take_quoted(struct script *s, struct line *line, char quote, struct buf *to)
{
    size_t start = line->at - 1;

    while (line->at < line->len && line->text[line->at] != quote) {
        if (quote == '"' && line->text[line->at] == '\\' && line->at + 1 < line->len)
            line->at++;
        buf_putc(to, line->text[line->at++]);
    }
    if (line->at == line->len)
        return refuse(s, line, start, "has a quote that is not closed");
    line->at++;
    return 0;
}

/* One word into s->word. The cursor stands on its first character. */
static int take_word(struct script *s, struct line *line)
{
    buf_clear(&s->word);
    while (line->at < line->len && !is_blank(line->text[line->at])) {
        char c = line->text[line->at++];

        if (c == '"' || c == '\'') {
            int rc = take_quoted(s, line, c, &s->word);

            if (rc < 0)
                return rc;
        } else if (c == '\\' && line->at < line->len) {
            buf_putc(&s->word, line->text[line->at++]);
        } else {
            buf_putc(&s->word, c);
        }
    }
    return buf_error(&s->word);
}

static bool at_remark(const struct line *line)
{
    return line->at == line->len || line->text[line->at] == '#';
}

static const struct job_field *find_short(const char *word)
{
    for (unsigned i = 0; i < JOB_FIELD_MAX; i++) {
        const struct job_field *f = job_field_at((enum job_field_id)i);

        if (f->letter && word[1] == f->letter && word[2] == '\0')
            return f;
    }
    return NULL;
}

/* The field that a word such as --gpus or -g names; its value, when it stands in the same
 * word, is left in *ret_value. */
static int find_field(struct script *s, const struct line *line, size_t start,
                      const struct job_field **ret, const char **ret_value)
{
    const char *word = s->word.text;
    size_t len;
    int rc;

    if (word[0] == '-' && word[1] != '-' && word[1] != '\0') {
        *ret = find_short(word);
        return *ret ? 0
                    : refuse(s, line, start,
                             "has an unknown short flag; elastane-job(5) "
                             "lists them");
    }
    if (strncmp(word, "--", 2) != 0 || word[2] == '\0')
        return refuse(s, line, start,
                      "has a word where a flag such as --gpus is expected");
    len = strcspn(word + 2, "=");
    buf_clear(&s->name);
    buf_add(&s->name, word + 2, len);
    if (buf_error(&s->name))
        return buf_error(&s->name);
    *ret = job_field_find(s->name.text);
    if (!*ret) {
        rc = refuse(s, line, start, "");
        (void)job_field_unknown(s->name.text, s->err);
        return rc;
    }
    if (word[2 + len] == '=')
        *ret_value = word + 2 + len + 1;
    return 0;
}

static int check_value(struct script *s, const struct line *line, size_t start,
                       const struct job_field *field)
{
    for (const char *p = s->word.text; *p; p++)
        if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f) {
            int rc = refuse(s, line, start, "");

            (void)err_field(s->err, E_INVALID, field->name,
                            "has a control character; leave it out");
            return rc;
        }
    return 0;
}

static int read_flag(struct script *s, struct line *line)
{
    const struct job_field *field = NULL;
    const char *value = NULL;
    size_t start = line->at;
    struct text_place *place;
    int rc;

    rc = take_word(s, line);
    if (rc == 0)
        rc = find_field(s, line, start, &field, &value);
    if (rc < 0)
        return rc;
    place = &s->places->of[job_field_id(field)];
    if (place->line > 0 && !field->may_repeat) {
        rc = refuse(s, line, start, "");
        (void)err_field(s->err, E_INVALID, field->name,
                        "is given twice, first on line %d; keep one", place->line);
        return rc;
    }
    *place = (struct text_place){.line = line->number, .column = (int32_t)start + 1};
    if (!value) {
        skip_blanks(line);
        if (at_remark(line)) {
            rc = refuse(s, line, start, "");
            (void)err_field(s->err, E_INVALID, field->name, "needs a value (%s)",
                            field->arg);
            return rc;
        }
        start = line->at;
        rc = take_word(s, line);
        value = s->word.text;
    }
    if (rc == 0)
        rc = check_value(s, line, start, field);
    if (rc < 0)
        return rc;
    rc = job_field_set(&s->submit, field, value, s->err);
    if (rc < 0)
        s->places->fault =
            (struct text_place){.line = line->number, .column = (int32_t)start + 1};
    return rc;
}

static int read_line(struct script *s, struct line *line)
{
    const char *nul = memchr(line->text, '\0', line->len);

    if (nul)
        return refuse(s, line, (size_t)(nul - line->text), "has a NUL character");
    line->at = MARK_LEN;
    for (;;) {
        int rc;

        skip_blanks(line);
        if (at_remark(line))
            return 0;
        rc = read_flag(s, line);
        if (rc < 0)
            return rc;
    }
}

static bool has_mark(const struct line *line)
{
    return line->len >= MARK_LEN && memcmp(line->text, MARK, MARK_LEN) == 0 &&
           (line->len == MARK_LEN || is_blank(line->text[MARK_LEN]));
}

static bool ends_head(const struct line *line)
{
    size_t i = 0;

    while (i < line->len && is_blank(line->text[i]))
        i++;
    return i < line->len && line->text[i] != '#';
}

static int read_head(struct script *s, const char *text, size_t len, int32_t *ret_late)
{
    struct line line = {.number = 0};
    bool is_head = true;

    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        int rc;

        line = (struct line){.text = text + at, .len = n, .number = line.number + 1};
        at += n + 1;
        if (line.len > 0 && line.text[line.len - 1] == '\r')
            line.len--;
        if (ends_head(&line))
            is_head = false;
        if (!has_mark(&line))
            continue;
        if (!is_head) {
            *ret_late = line.number;
            return 0;
        }
        rc = read_line(s, &line);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int jobscript_parse(const char *text, size_t len, struct submit *ret,
                    struct job_places *ret_places, int32_t *ret_late, struct err *err)
{
    struct script s = {.places = ret_places, .err = err};
    int32_t late = 0;
    int rc;

    *ret_places = (struct job_places){0};
    submit_init(&s.submit);
    buf_init(&s.word, JOBSCRIPT_HEAD_MAX);
    buf_init(&s.name, ERR_FIELD_MAX * 4);
    rc = read_head(&s, text, len < JOBSCRIPT_HEAD_MAX ? len : JOBSCRIPT_HEAD_MAX, &late);
    if (rc == 0) {
        *ret = s.submit;
        *ret_late = late;
        submit_init(&s.submit);
    } else if (rc == E_NOMEM) {
        (void)err_set(err, E_NOMEM, "out of memory");
    } else if (rc == E_LIMIT && err && err->code != E_LIMIT) {
        (void)err_set(err, E_LIMIT, "has a flag name of more than %d bytes",
                      ERR_FIELD_MAX * 4);
    }
    buf_release(&s.word);
    buf_release(&s.name);
    submit_release(&s.submit);
    return rc;
}
