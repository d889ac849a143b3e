/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c - the frame around a list of changes.
 *
 * The frame is read first, with an empty list in the list's place, so that a format newer
 * than this program is refused by its number and not by some oddity within; then the list
 * goes to wire_changes_decode(), which takes it item by item. The frame is judged by the
 * JSON parser like everything else: a second list, for instance, is a duplicate key. */
#include "wire/snapshot.h"

#include <string.h>

#include "wire/journal.h"
#include "wire/scan.h"
#include "wire/schema.h"

struct frame {
    int64_t seq;
    int32_t format;
};

static const struct field frame_fields[] = {
    {.name = "format",
     .tag = FIELD_I32,
     .flags = FIELD_NEED,
     .offset = offsetof(struct frame, format)},
    {.name = "seq",
     .tag = FIELD_I64,
     .flags = FIELD_NEED,
     .offset = offsetof(struct frame, seq)},
};
static const struct record_type record_frame = {
    .size = sizeof(struct frame), .fields = frame_fields, .n_fields = 2};

/* Where the list stands in a text. */
struct place {
    size_t first;
    size_t end;
};

void snapshot_encode(const struct changes *changes, int64_t seq, struct buf *out)
{
    buf_puts(out, "{\"changes\":");
    wire_changes_encode(changes, out);
    buf_printf(out, ",\"format\":%d,\"seq\":%lld}", WIRE_JOURNAL_FORMAT, (long long)seq);
}

/* Looks for the value of the key "changes" in an object. Damaged text is simply not
 * looked through to its end: the parser will say what is wrong with it. */
static int find_list(const char *text, size_t len, struct place *ret)
{
    static const char key[] = "\"changes\"";
    size_t at = scan_blanks(text, len, 0);

    while (at < len && (text[at] == '{' || text[at] == ',')) {
        size_t name = scan_blanks(text, len, at + 1);
        size_t end = scan_string(text, len, name);
        size_t colon = scan_blanks(text, len, end);

        if (colon == len || text[colon] != ':')
            return E_NOTFOUND;
        at = scan_value(text, len, colon);
        if (end - name != sizeof key - 1 || memcmp(text + name, key, sizeof key - 1) != 0)
            continue;
        *ret = (struct place){.first = colon + 1, .end = at};
        return 0;
    }
    return E_NOTFOUND;
}

static int decode_frame(const char *text, size_t len, const struct place *list,
                        struct frame *ret, struct err *err)
{
    struct buf b;
    int rc;

    buf_init(&b, WIRE_SNAPSHOT_MAX);
    buf_add(&b, text, list->first);
    if (list->end > 0)
        buf_puts(&b, "[]");
    buf_add(&b, text + list->end, len - list->end);
    rc = buf_error(&b);
    if (rc < 0)
        err_set(err, rc, "the snapshot has more than %zu bytes", WIRE_SNAPSHOT_MAX);
    else
        rc = schema_decode(&record_frame, b.text, b.len, ret, NULL, err);
    buf_release(&b);
    return rc;
}

int wire_snapshot_decode(const char *text, size_t len, struct changes *out,
                         int64_t *ret_seq, struct err *err)
{
    struct place list = {0, 0};
    struct frame frame = {0};
    int found = find_list(text, len, &list);
    int rc = decode_frame(text, len, &list, &frame, err);

    if (rc < 0)
        return rc;
    if (frame.format < 1 || frame.format > WIRE_JOURNAL_FORMAT)
        return err_field(err, E_VERSION, "format", "is %d; this version reads 1 to %d",
                         frame.format, WIRE_JOURNAL_FORMAT);
    if (found < 0)
        return err_field(err, E_INVALID, "changes", "is missing");
    rc = wire_changes_decode(text + list.first, list.end - list.first, out, err);
    if (rc == 0)
        *ret_seq = frame.seq;
    return rc;
}
