/* SPDX-License-Identifier: Apache-2.0 */
/* frame.h - fixed binary messages between daemon, shim and ranks.
 *
 * A frame is a head of 16 bytes and a payload whose fields stand in a fixed order with
 * fixed widths, little-endian (docs/protocol.md). One table per kind, a frame_layout,
 * drives both ways. Fields are only ever appended: a reader takes what it knows, ignores
 * the rest, and a field that an older writer did not send is 0.
 *
 * Nothing here allocates, and nothing but libc is needed: libelastane carries this file
 * into other people's processes. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

#define FRAME_HEAD_BYTES     16
#define FRAME_PAYLOAD_MAX    1008
#define FRAME_MAX            (FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX)
#define FRAME_VERSION        2 /* raised only when an old reader would be misled */
#define FRAME_VERSION_OLDEST 1 /* still understood */
#define FRAME_READER_CAP     (4 * FRAME_MAX)

/* How a field of a record travels. */
enum frame_type {
    FRAME_U32,  /* uint32_t, int32_t or an enum, 4 bytes */
    FRAME_I64,  /* int64_t, 8 bytes */
    FRAME_TEXT, /* char[width], zero-terminated; all bytes travel */
};

struct frame_field {
    enum frame_type type;
    uint16_t offset; /* within the record */
    uint16_t width;  /* bytes, in the record and on the wire */
};

struct frame_layout {
    const struct frame_field *fields;
    size_t n_fields;
};

#define FRAME_FIELD(type, record, member)                                                \
    {                                                                                    \
        (type), offsetof(record, member), sizeof(((record *)0)->member)                  \
    }

/* A frame as it was received; payload is lent by the reader until its next call. */
struct frame {
    uint16_t version;
    uint16_t kind;
    uint32_t len;
    const uint8_t *payload;
};

/* Collects the bytes of a stream. Plain memory: zero it to begin. */
struct frame_reader {
    uint8_t bytes[FRAME_READER_CAP];
    size_t begin;
    size_t end;
};

/* Where received bytes go; *ret_room is at least FRAME_MAX once all whole frames were
 * taken. */
uint8_t *frame_reader_space(struct frame_reader *reader, size_t *ret_room);
/* n bytes were put there. */
void frame_reader_added(struct frame_reader *reader, size_t n);
/* 1: *ret is the next frame. 0: more bytes are needed. E_CORRUPT, E_LIMIT or E_VERSION:
 * the stream is not ours or cannot be understood; close it. */
int frame_reader_next(struct frame_reader *reader, struct frame *ret) ATTR_MUST_USE;

/* Bytes of the payload that the layout describes. */
size_t frame_layout_bytes(const struct frame_layout *layout);

/* Writes one frame of `record` to out[FRAME_MAX]; returns its length in bytes. Its head
 * says the oldest version, as it must before the peer has said what it speaks. */
size_t frame_pack(uint8_t *out, uint16_t kind, const struct frame_layout *layout,
                  const void *record);
/* Rewrites the head of a packed frame for a peer whose HELLO, or answer to ours, said
 * this version (0: none): the lower one of the peer's and ours. */
void frame_speak(uint8_t *frame, uint32_t peer_version);
/* Fills the fields of the layout in `record`; others stay untouched. E_CORRUPT: a field
 * is cut off, or a text is not terminated; then the record holds nothing of use. */
int frame_unpack(const struct frame *frame, const struct frame_layout *layout,
                 void *record) ATTR_MUST_USE;

#endif
