/* SPDX-License-Identifier: Apache-2.0 */
/* child.c - short-lived child processes whose words and exit status count.
 *
 * Three handles (process, two pipes) are one thing for the owner: it is told when all of
 * them have come to their end. The struct dies with the last close callback. */
#include <string.h>

#include "base/assert.h"
#include "base/mem.h"

#include "loop/loop_internal.h"

#define N_TEXTS 2

struct child_text {
    uv_pipe_t handle;
    struct loop_child *child;
    size_t n;
    char text[LOOP_CHILD_TEXT];
    char rest[LOOP_CHILD_TEXT]; /* where bytes beyond the limit go */
};

struct loop_child {
    uv_process_t process;
    struct child_text texts[N_TEXTS]; /* standard output, standard error */
    loop_child_fn fn;                 /* NULL: dropped */
    void *arg;
    struct loop_child_end end;
    int n_pending; /* handles that have not come to their end */
    int n_open;    /* handles that libuv still has */
};

static void on_closed(uv_handle_t *handle)
{
    struct loop_child *child = handle->data;

    if (--child->n_open == 0)
        mem_free(child);
}

static void at_end(struct loop_child *child)
{
    if (--child->n_pending > 0)
        return;
    child->end.out = child->texts[0].text;
    child->end.err = child->texts[1].text;
    if (child->fn)
        child->fn(child->arg, &child->end);
    uv_close((uv_handle_t *)&child->process, on_closed);
    for (int i = 0; i < N_TEXTS; i++)
        uv_close((uv_handle_t *)&child->texts[i].handle, on_closed);
}

static void on_exit(uv_process_t *process, int64_t status, int signo)
{
    struct loop_child *child = process->data;

    child->end.status = (int)status;
    child->end.signo = signo;
    at_end(child);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
    struct child_text *text = (struct child_text *)handle;
    size_t room = sizeof(text->text) - 1 - text->n;

    (void)wanted;
    *ret = room > 0 ? uv_buf_init(text->text + text->n, (unsigned)room)
                    : uv_buf_init(text->rest, sizeof(text->rest));
}

static void on_read(uv_stream_t *handle, ssize_t n, const uv_buf_t *buf)
{
    struct child_text *text = (struct child_text *)handle;

    if (n < 0) {
        (void)uv_read_stop(handle);
        at_end(text->child);
    } else if (buf->base != text->rest) {
        text->n += (size_t)n;
    }
}

static void abandon(struct loop_child *child)
{
    for (int i = 0; i < N_TEXTS; i++)
        uv_close((uv_handle_t *)&child->texts[i].handle, on_closed);
    uv_close((uv_handle_t *)&child->process, on_closed);
}

int loop_child_spawn(struct loop *loop, const char *const *argv, loop_child_fn fn,
                     void *arg, struct loop_child **ret, struct err *err)
{
    struct loop_child *child = mem_new(1, sizeof(*child));
    uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
    uv_process_options_t options = {.exit_cb = on_exit,
                                    .file = argv[0],
                                    .args = (char **)(uintptr_t)argv,
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio_count = 3,
                                    .stdio = stdio};
    int code;

    if (!child)
        return err_set(err, E_NOMEM, "out of memory");
    child->fn = fn;
    child->arg = arg;
    child->n_pending = 1 + N_TEXTS;
    child->n_open = 1 + N_TEXTS;
    child->process.data = child;
    for (int i = 0; i < N_TEXTS; i++) {
        struct child_text *text = &child->texts[i];

        code = uv_pipe_init(&loop->uv, &text->handle, 0);
        ASSERT(code == 0); /* it only fills the struct in */
        text->handle.data = child;
        text->child = child;
        stdio[1 + i].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
        stdio[1 + i].data.stream = (uv_stream_t *)&text->handle;
    }
    code = uv_spawn(&loop->uv, &child->process, &options);
    if (code != 0) {
        abandon(child);
        return loop_error(code, argv[0], err);
    }
    for (int i = 0; i < N_TEXTS; i++)
        if (uv_read_start((uv_stream_t *)&child->texts[i].handle, on_alloc, on_read) != 0)
            child->n_pending--; /* nothing will be heard from it */
    *ret = child;
    return 0;
}

void loop_child_drop(struct loop_child *child)
{
    if (!child)
        return;
    child->fn = NULL;
    abandon(child);
}
