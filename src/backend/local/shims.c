/* SPDX-License-Identifier: Apache-2.0 */
/* shims.c - see shims.h.
 *
 * A link that is closed while one of its messages is being handled must outlive the
 * handler: it is marked, taken out of the list, and freed when the bytes at hand are done
 * with (is_busy). A shim says HELLO at once. Of links that have not said it only the
 * youngest SHIMS_SILENT_MAX are kept, so that those who never will do not use up the
 * descriptors that clients and shims need. */
#include "backend/local/shims.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define SHIMS_LINKS_MAX  32768
#define SHIMS_SILENT_MAX 256          /* without HELLO */
#define SHIMS_REST_US    USEC_PER_SEC /* without accepting, when descriptors are spent */
#define SHIMS_ACCEPT_MAX 64           /* of one round */

struct shims_link {
    struct shims *shims;
    struct shims_link *prev, *next;
    struct loop_stream *stream;
    struct frame_reader reader;
    struct socket_peer peer;
    uint32_t job;
    uint32_t incarnation;
    uint32_t version; /* that the shim speaks */
    bool has_said_hello;
    bool is_busy;
    bool is_closed;
};

struct shims {
    struct loop *loop;
    const struct shims_ops *ops;
    void *arg;
    char *path;
    int fd;
    struct stat file; /* at the path, when we bound it, */
    struct stat dir;  /* and around it */
    struct loop_watch *watch;
    struct loop_timer *rest;
    struct shims_link *first; /* the youngest */
    size_t n;
    size_t n_silent;
};

static void unlink_link(struct shims_link *link)
{
    struct shims *shims = link->shims;

    if (link->prev)
        link->prev->next = link->next;
    else
        shims->first = link->next;
    if (link->next)
        link->next->prev = link->prev;
    shims->n--;
    shims->n_silent -= !link->has_said_hello;
}

void shims_close(struct shims_link *link)
{
    if (link->is_closed)
        return;
    link->is_closed = true;
    unlink_link(link);
    loop_stream_free(link->stream);
    if (!link->is_busy)
        mem_free(link);
}

static void hang_up(struct shims_link *link)
{
    struct shims *shims = link->shims;

    if (link->is_closed)
        return;
    if (link->has_said_hello)
        shims->ops->closed(shims->arg, link);
    shims_close(link);
}

static void take_message(struct shims_link *link, struct shim_msg *msg)
{
    struct shims *shims = link->shims;

    if (!link->has_said_hello && msg->kind == SHIM_HELLO) {
        link->has_said_hello = true;
        shims->n_silent--;
        link->job = msg->job;
        link->incarnation = msg->incarnation;
        link->version = msg->version;
        shims->ops->message(shims->arg, link, msg);
        return;
    }
    if (!link->has_said_hello || msg->kind == SHIM_HELLO || msg->job != link->job ||
        msg->incarnation != link->incarnation) {
        hang_up(link);
        return;
    }
    shims->ops->message(shims->arg, link, msg);
}

static void take_frames(struct shims_link *link)
{
    struct frame frame;
    struct shim_msg msg;
    int rc = 1;

    while (!link->is_closed && (rc = frame_reader_next(&link->reader, &frame)) > 0) {
        rc = shim_msg_decode(&frame, &msg);
        if (rc == 0)
            take_message(link, &msg);
        else if (rc != E_VERSION) /* a kind of a newer shim is left alone */
            break;
    }
    if (rc < 0 && rc != E_VERSION)
        hang_up(link);
}

static void on_bytes(void *arg, const uint8_t *bytes, size_t n)
{
    struct shims_link *link = arg;

    link->is_busy = true;
    while (n > 0 && !link->is_closed) {
        size_t room = 0;
        uint8_t *space = frame_reader_space(&link->reader, &room);
        size_t part = n < room ? n : room;

        memcpy(space, bytes, part);
        frame_reader_added(&link->reader, part);
        bytes += part;
        n -= part;
        take_frames(link);
    }
    link->is_busy = false;
    if (link->is_closed)
        mem_free(link);
}

static void on_closed(void *arg)
{
    hang_up(arg);
}

static const struct loop_stream_ops stream_ops = {on_bytes, on_closed};

static void close_oldest_silent(struct shims *shims)
{
    struct shims_link *oldest = NULL;

    for (struct shims_link *link = shims->first; link; link = link->next)
        if (!link->has_said_hello)
            oldest = link;
    if (oldest)
        shims_close(oldest);
}

static void add_link(struct shims *shims, int fd)
{
    struct shims_link *link = mem_new(1, sizeof(*link));

    if (shims->n_silent >= SHIMS_SILENT_MAX)
        close_oldest_silent(shims);

    if (!link || shims->n >= SHIMS_LINKS_MAX || socket_peer(fd, &link->peer) < 0) {
        (void)close(fd);
        mem_free(link);
        return;
    }
    link->shims = shims;
    link->stream = loop_stream_new(shims->loop, fd, &stream_ops, link);
    if (!link->stream) {
        mem_free(link);
        return;
    }
    link->next = shims->first;
    if (link->next)
        link->next->prev = link;
    shims->first = link;
    shims->n++;
    shims->n_silent++;
}

static void on_listener(void *arg)
{
    struct shims *shims = arg;
    int fd = -1;
    int rc = 0;

    for (int i = 0; i < SHIMS_ACCEPT_MAX && rc == 0; i++) {
        rc = socket_accept(shims->fd, &fd);
        if (rc == 0)
            add_link(shims, fd);
    }
    if (rc == 0 || rc == E_AGAIN)
        return;
    loop_watch_free(shims->watch);
    shims->watch = NULL;
    loop_timer_set(shims->rest, SHIMS_REST_US);
}

static void on_rest(void *arg)
{
    struct shims *shims = arg;

    shims->watch = loop_watch_new(shims->loop, shims->fd, on_listener, shims);
    if (!shims->watch)
        loop_timer_set(shims->rest, SHIMS_REST_US);
}

/* What is not there is all zeros. */
static void look_at_place(const char *path, struct stat *ret_file, struct stat *ret_dir)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];

    *ret_file = *ret_dir = (struct stat){0};
    (void)lstat(path, ret_file);
    (void)snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - path) : 0, path);
    (void)stat(dir, ret_dir);
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

int shims_open(struct loop *loop, const char *path, const struct shims_ops *ops,
               void *arg, struct shims **ret, struct err *err)
{
    struct shims *shims = mem_new(1, sizeof(*shims));
    int rc;

    if (!shims)
        return err_set(err, E_NOMEM, "out of memory");
    *shims = (struct shims){.loop = loop, .ops = ops, .arg = arg, .fd = -1};
    rc = socket_listen(path, 0600, &shims->fd, err);
    if (rc == 0) {
        shims->path = mem_text(path);
        look_at_place(path, &shims->file, &shims->dir);
        shims->rest = loop_timer_new(loop, on_rest, shims);
        shims->watch = loop_watch_new(loop, shims->fd, on_listener, shims);
        if (!shims->path || !shims->rest || !shims->watch)
            rc = err_set(err, E_NOMEM, "out of memory");
    }
    if (rc < 0) {
        shims_free(shims);
        return rc;
    }
    *ret = shims;
    return 0;
}

bool shims_mend(struct shims *shims, struct err *err)
{
    struct stat file;
    struct stat dir;
    int fd = -1;

    look_at_place(shims->path, &file, &dir);
    if (is_same(&file, &shims->file))
        return false;
    if (!is_same(&dir, &shims->dir)) {
        (void)err_set(err, E_IO, "the directory of %s is gone", shims->path);
        return false;
    }
    if (socket_listen(shims->path, 0600, &fd, err) < 0)
        return false;
    loop_watch_free(shims->watch);
    (void)close(shims->fd);
    shims->fd = fd;
    look_at_place(shims->path, &shims->file, &shims->dir);
    on_rest(shims);
    return true;
}

void shims_free(struct shims *shims)
{
    if (!shims)
        return;
    while (shims->first)
        shims_close(shims->first);
    loop_watch_free(shims->watch);
    loop_timer_free(shims->rest);
    if (shims->fd >= 0 && shims->path)
        socket_unlisten(shims->path, shims->fd);
    mem_free(shims->path);
    mem_free(shims);
}

void shims_send(struct shims_link *link, struct shim_msg *msg)
{
    uint8_t frame[FRAME_MAX];

    msg->job = link->job;
    msg->incarnation = link->incarnation;
    if (!link->is_closed) {
        size_t n = shim_msg_encode(msg, frame);

        frame_speak(frame, link->version);
        (void)loop_stream_send(link->stream, frame, n);
    }
    /* A lost message is repeated with the next HELLO; a dead peer is reported by the
     * stream, one that does not read by the silence of its beats. */
}

const struct socket_peer *shims_peer(const struct shims_link *link)
{
    return &link->peer;
}

uint32_t shims_job(const struct shims_link *link)
{
    return link->job;
}

uint32_t shims_incarnation(const struct shims_link *link)
{
    return link->incarnation;
}

struct shims_link *shims_find(const struct shims *shims, uint32_t job,
                              uint32_t incarnation)
{
    for (struct shims_link *link = shims->first; link; link = link->next)
        if (link->has_said_hello && link->job == job && link->incarnation == incarnation)
            return link;
    return NULL;
}
