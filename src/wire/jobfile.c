/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile.c - from YAML's events to job fields.
 *
 * libyaml's event interface is used, not its document tree: the nesting that a job file
 * may have is two levels, so the reader is two loops and no recursion, and everything
 * foreign is refused at the event where it appears, with its line and column. Every value
 * becomes the text that a flag would have ("[1, 2, 4]" becomes "1,2,4"), and goes through
 * the same setter.
 *
 * Invariants:
 *   1. Exactly one event is held between two calls of next(); it is deleted by the next.
 *   2. On failure places->fault is the start of the event or word at fault.
 *   3. The first error wins. */
#include "wire/jobfile.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/buf.h"
#include "wire/launch.h"

#define TEXT_MAX ((size_t)256 << 10) /* bytes of one value */

struct reader {
    yaml_parser_t parser;
    yaml_event_t event;
    bool has_event;
    struct submit submit;
    struct job_places *places;
    struct err *err;
    struct buf value;
    struct buf name; /* key inside a mapping */
};

static struct text_place place_of(yaml_mark_t mark)
{
    return (struct text_place){.line = (int32_t)mark.line + 1,
                               .column = (int32_t)mark.column + 1};
}

/* For faults of the event in hand. */
static int refuse(struct reader *r, const char *field, const char *reason)
{
    r->places->fault = place_of(r->event.start_mark);
    return err_field(r->err, E_INVALID, field, "%s", reason);
}

static int refuse_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;

    if (p->error == YAML_MEMORY_ERROR)
        return err_set(r->err, E_NOMEM, "out of memory");
    if (p->error == YAML_READER_ERROR) {
        size_t line = 1, column = 1;

        /* The reader runs ahead of the marks; problem_offset counts bytes. */
        for (size_t i = 0; i < p->problem_offset && i < (size_t)p->input.string.end -
                                                            (size_t)p->input.string.start;
             i++) {
            bool is_end = p->input.string.start[i] == '\n';

            line += is_end;
            column = is_end ? 1 : column + 1;
        }
        r->places->fault =
            (struct text_place){.line = (int32_t)line, .column = (int32_t)column};
        return err_set(r->err, E_INVALID, "is not plain UTF-8 text: %s", p->problem);
    }
    r->places->fault = place_of(p->problem_mark);
    return err_set(r->err, E_INVALID, "is not YAML: %s%s%s",
                   p->problem ? p->problem : "unknown problem", p->context ? " " : "",
                   p->context ? p->context : "");
}

static bool has_anchor(const yaml_event_t *e)
{
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.anchor) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.anchor) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.anchor);
}

static bool has_tag(const yaml_event_t *e)
{
    return (e->type == YAML_SCALAR_EVENT && e->data.scalar.tag) ||
           (e->type == YAML_SEQUENCE_START_EVENT && e->data.sequence_start.tag) ||
           (e->type == YAML_MAPPING_START_EVENT && e->data.mapping_start.tag);
}

static int next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = false;
    if (!yaml_parser_parse(&r->parser, &r->event))
        return refuse_syntax(r);
    r->has_event = true;
    if (r->event.type == YAML_ALIAS_EVENT || has_anchor(&r->event))
        return refuse(r, "", "uses an anchor or alias; write the value out");
    if (has_tag(&r->event))
        return refuse(r, "", "uses a tag; leave it out");
    return 0;
}

static bool is_null_word(const char *text)
{
    return text[0] == '\0' || strcmp(text, "~") == 0 || strcasecmp(text, "null") == 0;
}

static bool is_truth_word(const char *text)
{
    return strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0;
}

/* Appends the scalar in hand. */
static int take_scalar(struct reader *r, const struct job_field *field, struct buf *to)
{
    const char *text = (const char *)r->event.data.scalar.value;
    size_t len = r->event.data.scalar.length;
    bool is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool may_break = field->shape == JOB_SHAPE_COMMAND || field->shape == JOB_SHAPE_ENV;

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == 0x7f || (c < ' ' && !(may_break && (c == '\n' || c == '\t'))))
            return refuse(r, field->name, "has a control character; leave it out");
    }
    if (is_plain && is_null_word(text))
        return refuse(r, field->name, "has no value; give one or leave the field out");
    if (is_plain && is_truth_word(text))
        return refuse(r, field->name,
                      "is a truth value; put it in quotes if the word is meant");
    buf_add(to, text, len);
    if (buf_error(to)) {
        r->places->fault = place_of(r->event.start_mark);
        return err_field(r->err, buf_error(to), field->name, "is longer than %zu bytes",
                         TEXT_MAX);
    }
    return 0;
}

static int apply_value(struct reader *r, const struct job_field *field,
                       struct text_place place)
{
    int rc = job_field_set(&r->submit, field, r->value.text, r->err);

    if (rc < 0)
        r->places->fault = place;
    return rc;
}

/* One item of a list, in r->value alone; `n` counts from 0. */
static int take_item(struct reader *r, const struct job_field *field, size_t n)
{
    struct text_place place = place_of(r->event.start_mark);
    int rc;

    if (field->shape == JOB_SHAPE_SIZES) {
        if (n > 0)
            buf_putc(&r->value, ',');
        return take_scalar(r, field, &r->value);
    }
    buf_clear(&r->value);
    rc = take_scalar(r, field, &r->value);
    if (rc < 0)
        return rc;
    if (field->shape == JOB_SHAPE_ENV)
        return apply_value(r, field, place);
    rc = launch_add_arg(&r->submit.launch, r->value.text, r->err);
    if (rc < 0)
        r->places->fault = place;
    else
        r->submit.given |= BIT((unsigned)JOB_FIELD_COMMAND);
    return rc;
}

static int read_list(struct reader *r, const struct job_field *field)
{
    struct text_place place = place_of(r->event.start_mark);
    size_t n = 0;
    int rc;

    if (field->shape != JOB_SHAPE_SIZES && field->shape != JOB_SHAPE_ENV &&
        field->shape != JOB_SHAPE_COMMAND)
        return refuse(r, field->name, "is a list; give one value");
    for (;; n++) {
        rc = next(r);
        if (rc < 0)
            return rc;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (r->event.type != YAML_SCALAR_EVENT)
            return refuse(r, field->name, "has an entry that is not one word or number");
        rc = take_item(r, field, n);
        if (rc < 0)
            return rc;
    }
    if (n == 0) {
        r->places->fault = place;
        return err_field(r->err, E_INVALID, field->name, "is an empty list");
    }
    if (field->shape != JOB_SHAPE_SIZES)
        return 0;
    return apply_value(r, field, place);
}

/* One "key: value" of a mapping that is itself a value; the key is in hand. */
static int take_pair(struct reader *r, const struct job_field *field, size_t n)
{
    struct text_place place = place_of(r->event.start_mark);
    bool is_env = field->shape == JOB_SHAPE_ENV;
    int rc;

    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, field->name, "has a key that is not one word or number");
    buf_clear(&r->name);
    rc = take_scalar(r, field, &r->name);
    if (rc < 0)
        return rc;
    if (is_env &&
        (launch_get_env(&r->submit.launch, r->name.text) || strchr(r->name.text, '=')))
        return refuse(r, field->name, "names a variable twice, or with '=' in its name");
    rc = next(r);
    if (rc < 0)
        return rc;
    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, field->name, "has a value that is not one word or number");
    if (is_env)
        buf_clear(&r->value);
    else if (n > 0)
        buf_putc(&r->value, ',');
    buf_puts(&r->value, r->name.text);
    buf_putc(&r->value, is_env ? '=' : ':');
    rc = take_scalar(r, field, &r->value);
    if (rc < 0 || !is_env)
        return rc;
    return apply_value(r, field, place);
}

static int read_mapping(struct reader *r, const struct job_field *field)
{
    struct text_place place = place_of(r->event.start_mark);
    size_t n = 0;
    int rc;

    if (field->shape != JOB_SHAPE_TABLE && field->shape != JOB_SHAPE_ENV)
        return refuse(r, field->name, "is a mapping; give one value");
    for (;; n++) {
        rc = next(r);
        if (rc < 0)
            return rc;
        if (r->event.type == YAML_MAPPING_END_EVENT)
            break;
        rc = take_pair(r, field, n);
        if (rc < 0)
            return rc;
    }
    if (n == 0) {
        r->places->fault = place;
        return err_field(r->err, E_INVALID, field->name, "is an empty mapping");
    }
    return field->shape == JOB_SHAPE_TABLE ? apply_value(r, field, place) : 0;
}

static int read_value(struct reader *r, const struct job_field *field)
{
    struct text_place place;
    int rc;

    rc = next(r);
    if (rc < 0)
        return rc;
    buf_clear(&r->value);
    place = place_of(r->event.start_mark);
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return read_list(r, field);
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return read_mapping(r, field);
    if (field->shape == JOB_SHAPE_ENV)
        return refuse(r, field->name,
                      "is one word; give a mapping, or a list of NAME=VALUE");
    rc = take_scalar(r, field, &r->value);
    return rc < 0 ? rc : apply_value(r, field, place);
}

/* The key of the outer mapping is in hand. */
static int read_field(struct reader *r)
{
    const struct job_field *field;
    char name[ERR_FIELD_MAX];
    struct text_place *place;

    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, "", "has a key that is not a word; give NAME: VALUE");
    (void)snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1,
                   (const char *)r->event.data.scalar.value);
    field = job_field_find(name);
    if (!field || strlen(name) != r->event.data.scalar.length) {
        r->places->fault = place_of(r->event.start_mark);
        for (char *p = name; *p; p++)
            if ((unsigned char)*p < ' ' || *p == 0x7f)
                *p = '?';
        return job_field_unknown(name, r->err);
    }
    place = &r->places->of[job_field_id(field)];
    if (place->line > 0) {
        r->places->fault = place_of(r->event.start_mark);
        return err_field(r->err, E_INVALID, field->name,
                         "is given twice, first on line %d; keep one", place->line);
    }
    *place = place_of(r->event.start_mark);
    return read_value(r, field);
}

static int expect(struct reader *r, yaml_event_type_t type, const char *reason)
{
    int rc = next(r);

    if (rc < 0)
        return rc;
    return r->event.type == type ? 0 : refuse(r, "", reason);
}

static int read_file(struct reader *r)
{
    int rc = expect(r, YAML_STREAM_START_EVENT, "is not YAML");

    if (rc == 0)
        rc = expect(r, YAML_DOCUMENT_START_EVENT, "is empty; give NAME: VALUE lines");
    if (rc == 0)
        rc = expect(r, YAML_MAPPING_START_EVENT,
                    "does not hold NAME: VALUE lines at its top");
    while (rc == 0) {
        rc = next(r);
        if (rc < 0 || r->event.type == YAML_MAPPING_END_EVENT)
            break;
        rc = read_field(r);
    }
    if (rc == 0)
        rc = expect(r, YAML_DOCUMENT_END_EVENT, "goes on after its end");
    if (rc == 0)
        rc =
            expect(r, YAML_STREAM_END_EVENT, "holds a second document; one job per file");
    return rc;
}

int jobfile_parse(const char *text, size_t len, struct submit *ret,
                  struct job_places *ret_places, struct err *err)
{
    struct reader r = {.places = ret_places, .err = err};
    int rc;

    *ret_places = (struct job_places){0};
    if (len > JOBFILE_MAX)
        return err_set(err, E_LIMIT, "has more than %zu bytes", JOBFILE_MAX);
    if (!yaml_parser_initialize(&r.parser))
        return err_set(err, E_NOMEM, "out of memory");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    submit_init(&r.submit);
    buf_init(&r.value, TEXT_MAX);
    buf_init(&r.name, TEXT_MAX);
    rc = read_file(&r);
    if (rc == 0) {
        *ret = r.submit;
        submit_init(&r.submit);
    } else if (rc == E_NOMEM) {
        (void)err_set(err, E_NOMEM, "out of memory");
    }
    if (r.has_event)
        yaml_event_delete(&r.event);
    buf_release(&r.value);
    buf_release(&r.name);
    submit_release(&r.submit);
    yaml_parser_delete(&r.parser);
    return rc;
}
