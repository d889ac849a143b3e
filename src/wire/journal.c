/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - events and lists of changes as text, and back; single records too.
 *
 * What an object may hold stands in records.c; here is what stands around the objects.
 * A list of changes can be long: that of a snapshot describes every job. The tree of such
 * a text takes five to ten times its size, so a list is cut into its items first, and
 * each goes through the JSON parser alone. Invariants:
 *   1. A failed call leaves the caller's list or record as it was.
 *   2. Every byte of a list is either a bracket, comma or blank that was checked here, or
 *      part of an item that the parser has judged.
 * A row carries kind_version beside its texts (engine_row); whoever reads rows compares
 * it with WIRE_KIND_VERSION. Snapshots carry a format number of their own: snapshot.c. */
#include "wire/journal.h"

#include <string.h>

#include "base/mem.h"

#include "wire/records.h"
#include "wire/scan.h"
#include "wire/schema.h"

void wire_event_release(struct wire_event *e)
{
    job_spec_release(&e->spec);
    e->event.spec = NULL;
    e->event.model = NULL;
}

void wire_event_encode(const struct event *event, struct buf *out)
{
    schema_encode(&record_event, event, out);
}

/* Moves spec and model from the heap into the struct. */
static void settle(struct wire_event *e, struct event *event, struct perf_model *model)
{
    memset(e, 0, sizeof *e);
    e->event = *event;
    e->event.spec = NULL;
    e->event.model = NULL;
    if (event->spec) {
        e->spec = *event->spec;
        e->event.spec = &e->spec;
        event->spec->launch = NULL;
    }
    if (model) {
        e->model = *model;
        e->event.model = &e->model;
    }
}

int wire_event_decode(const char *text, size_t len, struct wire_event *ret,
                      struct err *err)
{
    struct event event;
    struct perf_model *model;
    int rc;

    memset(&event, 0, sizeof event);
    rc = schema_decode(&record_event, text, len, &event, NULL, err);
    /* Decoded models are on the heap and ours; the event only lends them out as const. */
    memcpy(&model, &event.model, sizeof model);
    if (rc == 0 && event.kind == EVENT_MODEL && !model)
        rc = err_field(err, E_INVALID, "model", "is missing");
    if (rc == 0)
        settle(ret, &event, model);
    if (event.spec)
        job_spec_release(event.spec);
    mem_free(event.spec);
    mem_free(model);
    return rc;
}

void wire_changes_encode(const struct changes *changes, struct buf *out)
{
    buf_putc(out, '[');
    for (size_t i = 0; i < changes->n; i++) {
        if (i > 0)
            buf_putc(out, ',');
        schema_encode(&record_change, &changes->items[i], out);
    }
    buf_putc(out, ']');
}

static int decode_item(const char *text, size_t len, struct changes *out,
                       const struct text_path *path, struct err *err)
{
    struct change *change = changes_add(out, CHANGE_GLOBALS);

    if (!change)
        return err_set(err, E_NOMEM, "out of memory");
    return schema_decode(&record_change, text, len, change, path, err);
}

int wire_changes_decode(const char *text, size_t len, struct changes *out,
                        struct err *err)
{
    const struct text_path list = {.name = "changes"};
    struct text_path item = {.up = &list};
    const size_t n_before = out->n;
    size_t at = scan_blanks(text, len, 0);
    size_t end;
    int rc = 0;

    if (at == len || text[at] != '[')
        return text_path_err(&list, NULL, E_INVALID, err, "is not a list");
    at = scan_blanks(text, len, at + 1);
    end = at;
    if (at == len || text[at] != ']')
        do {
            end = scan_value(text, len, at);
            rc = decode_item(text + at, end - at, out, &item, err);
            at = end + 1;
            item.index++;
        } while (rc == 0 && end < len && text[end] == ',');
    if (rc == 0 && (end == len || text[end] != ']'))
        rc = text_path_err(&list, NULL, E_INVALID, err, "has no end");
    if (rc == 0 && scan_blanks(text, len, end + 1) != len)
        rc = text_path_err(&list, NULL, E_INVALID, err, "goes on after its end");
    if (rc < 0)
        changes_truncate(out, n_before);
    return rc;
}

void wire_spec_encode(const struct job_spec *spec, struct buf *out)
{
    schema_encode(&record_spec, spec, out);
}

void wire_run_encode(const struct job_run *run, struct buf *out)
{
    schema_encode(&record_run, run, out);
}

void wire_model_encode(const struct perf_model *model, struct buf *out)
{
    schema_encode(&record_model, model, out);
}

int wire_spec_decode(const char *text, size_t len, struct job_spec *ret, struct err *err)
{
    struct job_spec spec;
    int rc;

    memset(&spec, 0, sizeof spec);
    rc = schema_decode(&record_spec, text, len, &spec, NULL, err);
    if (rc == 0)
        *ret = spec;
    else
        job_spec_release(&spec);
    return rc;
}

int wire_run_decode(const char *text, size_t len, struct job_run *ret, struct err *err)
{
    struct job_run run;
    int rc;

    memset(&run, 0, sizeof run);
    rc = schema_decode(&record_run, text, len, &run, NULL, err);
    if (rc == 0)
        *ret = run;
    return rc;
}

int wire_model_decode(const char *text, size_t len, struct perf_model *ret,
                      struct err *err)
{
    struct perf_model model;
    int rc;

    memset(&model, 0, sizeof model);
    rc = schema_decode(&record_model, text, len, &model, NULL, err);
    if (rc == 0)
        *ret = model;
    return rc;
}
