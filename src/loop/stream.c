/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - connected byte streams.
 *
 * Small messages almost always fit the socket, so a send tries to write at once and
 * queues only what is left. A peer that does not read cannot make us grow: the queue has
 * a bound. After an error or the end of the stream `closed` is called once, from the
 * loop; the owner then frees the stream. */
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/mem.h"

#include "loop/loop_internal.h"

#define READ_BYTES 4096

struct loop_stream {
    uv_pipe_t handle;
    const struct loop_stream_ops *ops;
    void *arg;
    bool is_closed; /* `closed` was called, or the owner has let go */
    uint8_t bytes[READ_BYTES];
};

struct write_req {
    uv_write_t req;
    uint8_t bytes[];
};

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
    struct loop_stream *stream = (struct loop_stream *)handle;

    (void)wanted;
    *ret = uv_buf_init((char *)stream->bytes, sizeof(stream->bytes));
}

static void tell_closed(struct loop_stream *stream)
{
    if (stream->is_closed)
        return;
    stream->is_closed = true;
    (void)uv_read_stop((uv_stream_t *)&stream->handle);
    stream->ops->closed(stream->arg);
}

static void on_read(uv_stream_t *handle, ssize_t n, const uv_buf_t *buf)
{
    struct loop_stream *stream = (struct loop_stream *)handle;

    if (n < 0)
        tell_closed(stream);
    else if (n > 0 && !stream->is_closed)
        stream->ops->bytes(stream->arg, (const uint8_t *)buf->base, (size_t)n);
}

static void on_closed(uv_handle_t *handle)
{
    mem_free(handle);
}

struct loop_stream *loop_stream_new(struct loop *loop, int fd,
                                    const struct loop_stream_ops *ops, void *arg)
{
    struct loop_stream *stream = mem_new(1, sizeof(*stream));

    if (!stream || uv_pipe_init(&loop->uv, &stream->handle, 0) != 0) {
        (void)close(fd);
        mem_free(stream);
        return NULL;
    }
    stream->ops = ops;
    stream->arg = arg;
    if (uv_pipe_open(&stream->handle, fd) != 0) {
        (void)close(fd);
        loop_stream_free(stream);
        return NULL;
    }
    if (uv_read_start((uv_stream_t *)&stream->handle, on_alloc, on_read) != 0) {
        loop_stream_free(stream);
        return NULL;
    }
    return stream;
}

void loop_stream_free(struct loop_stream *stream)
{
    if (!stream)
        return;
    stream->is_closed = true;
    uv_close((uv_handle_t *)&stream->handle, on_closed);
}

static void on_written(uv_write_t *req, int status)
{
    struct write_req *write = (struct write_req *)req;
    struct loop_stream *stream = (struct loop_stream *)req->handle;

    mem_free(write);
    if (status < 0 && status != UV_ECANCELED)
        tell_closed(stream);
}

static int send_later(struct loop_stream *stream, const uint8_t *bytes, size_t n)
{
    struct write_req *write = mem_new(1, sizeof(*write) + n);
    uv_buf_t buf;

    if (!write)
        return E_NOMEM;
    memcpy(write->bytes, bytes, n);
    buf = uv_buf_init((char *)write->bytes, (unsigned)n);
    if (uv_write(&write->req, (uv_stream_t *)&stream->handle, &buf, 1, on_written) != 0) {
        mem_free(write);
        return E_IO;
    }
    return 0;
}

int loop_stream_send(struct loop_stream *stream, const void *bytes, size_t n)
{
    uv_stream_t *handle = (uv_stream_t *)&stream->handle;
    size_t queued = uv_stream_get_write_queue_size(handle);
    uv_buf_t buf = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)n);
    int sent = 0;

    ASSERT(n <= LOOP_STREAM_QUEUE);
    if (stream->is_closed)
        return E_IO;
    if (queued + n > LOOP_STREAM_QUEUE)
        return E_LIMIT;
    if (queued == 0)
        sent = uv_try_write(handle, &buf, 1);
    if (sent < 0 && sent != UV_EAGAIN)
        return E_IO; /* the read side reports it */
    if (sent == (int)n)
        return 0;
    sent = sent < 0 ? 0 : sent;
    return send_later(stream, (const uint8_t *)bytes + sent, n - (size_t)sent);
}
