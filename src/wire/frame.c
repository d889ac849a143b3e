/* SPDX-License-Identifier: Apache-2.0 */
/* frame.c - heads, fields and the reassembly of a stream.
 *
 * Head: magic u32, version u16, kind u16, payload bytes u32, zero u32. Bytes are put
 * together by shifts, so the host's order does not matter. Invariants:
 *   1. begin <= end <= FRAME_READER_CAP.
 *   2. A frame that frame_reader_next() refused is refused again: the reader does not
 *      hunt for the next magic, because a stream that lies once is not worth guessing. */
#include "wire/frame.h"

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/err.h"

#define FRAME_MAGIC 0x414c4531u /* "1ELA" on the wire */

static void put_le(uint8_t *to, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_le(const uint8_t *from, size_t width)
{
    uint64_t value = 0;

    for (size_t i = 0; i < width; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

uint8_t *frame_reader_space(struct frame_reader *reader, size_t *ret_room)
{
    ASSERT(reader->begin <= reader->end);
    ASSERT(reader->end <= FRAME_READER_CAP);
    if (reader->begin > 0) {
        memmove(reader->bytes, reader->bytes + reader->begin,
                reader->end - reader->begin);
        reader->end -= reader->begin;
        reader->begin = 0;
    }
    *ret_room = FRAME_READER_CAP - reader->end;
    return reader->bytes + reader->end;
}

void frame_reader_added(struct frame_reader *reader, size_t n)
{
    ASSERT(n <= FRAME_READER_CAP - reader->end);
    reader->end += n;
}

int frame_reader_next(struct frame_reader *reader, struct frame *ret)
{
    const uint8_t *head = reader->bytes + reader->begin;
    size_t have = reader->end - reader->begin;
    struct frame frame;

    if (have < FRAME_HEAD_BYTES)
        return 0;
    if (get_le(head, 4) != FRAME_MAGIC)
        return E_CORRUPT;
    frame.version = (uint16_t)get_le(head + 4, 2);
    frame.kind = (uint16_t)get_le(head + 6, 2);
    frame.len = (uint32_t)get_le(head + 8, 4);
    frame.payload = head + FRAME_HEAD_BYTES;
    if (frame.version < FRAME_VERSION_OLDEST || frame.version > FRAME_VERSION)
        return E_VERSION;
    if (frame.len > FRAME_PAYLOAD_MAX)
        return E_LIMIT;
    if (have < FRAME_HEAD_BYTES + frame.len)
        return 0;
    reader->begin += FRAME_HEAD_BYTES + frame.len;
    *ret = frame;
    return 1;
}

size_t frame_layout_bytes(const struct frame_layout *layout)
{
    size_t bytes = 0;

    for (size_t i = 0; i < layout->n_fields; i++)
        bytes += layout->fields[i].width;
    return bytes;
}

static void field_put(const struct frame_field *field, uint8_t *to, const uint8_t *from)
{
    uint32_t narrow;
    int64_t wide;

    switch (field->type) {
    case FRAME_U32:
        memcpy(&narrow, from, sizeof(narrow));
        put_le(to, narrow, sizeof(narrow));
        break;
    case FRAME_I64:
        memcpy(&wide, from, sizeof(wide));
        put_le(to, (uint64_t)wide, sizeof(wide));
        break;
    case FRAME_TEXT:
        /* Nothing behind the end of the text may leak out of our memory. */
        for (size_t i = 0; i + 1 < field->width && from[i]; i++)
            to[i] = from[i];
        break;
    }
}

static bool field_get(const struct frame_field *field, const uint8_t *from, uint8_t *to)
{
    uint32_t narrow = (uint32_t)get_le(from, 4);

    switch (field->type) {
    case FRAME_U32:
        memcpy(to, &narrow, sizeof(narrow));
        return true;
    case FRAME_I64: {
        int64_t wide = (int64_t)get_le(from, 8);

        memcpy(to, &wide, sizeof(wide));
        return true;
    }
    case FRAME_TEXT:
        if (!memchr(from, '\0', field->width))
            return false;
        memcpy(to, from, field->width);
        return true;
    }
    return false;
}

size_t frame_pack(uint8_t *out, uint16_t kind, const struct frame_layout *layout,
                  const void *record)
{
    size_t bytes = frame_layout_bytes(layout);
    uint8_t *to = out + FRAME_HEAD_BYTES;

    ASSERT(bytes <= FRAME_PAYLOAD_MAX);
    memset(out, 0, FRAME_HEAD_BYTES + bytes);
    put_le(out, FRAME_MAGIC, 4);
    put_le(out + 4, FRAME_VERSION_OLDEST, 2);
    put_le(out + 6, kind, 2);
    put_le(out + 8, bytes, 4);
    for (size_t i = 0; i < layout->n_fields; i++) {
        const struct frame_field *field = &layout->fields[i];

        field_put(field, to, (const uint8_t *)record + field->offset);
        to += field->width;
    }
    return FRAME_HEAD_BYTES + bytes;
}

void frame_speak(uint8_t *frame, uint32_t peer_version)
{
    uint32_t version = peer_version < FRAME_VERSION ? peer_version : FRAME_VERSION;

    put_le(frame + 4, version > FRAME_VERSION_OLDEST ? version : FRAME_VERSION_OLDEST, 2);
}

int frame_unpack(const struct frame *frame, const struct frame_layout *layout,
                 void *record)
{
    const uint8_t *from = frame->payload;
    size_t left = frame->len;

    for (size_t i = 0; i < layout->n_fields; i++) {
        const struct frame_field *field = &layout->fields[i];
        uint8_t *to = (uint8_t *)record + field->offset;

        if (left == 0) {
            memset(to, 0, field->width); /* the writer is older than this field */
            continue;
        }
        if (left < field->width || !field_get(field, from, to))
            return E_CORRUPT;
        from += field->width;
        left -= field->width;
    }
    return 0;
}
