/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - libcurl, kept short: HTTP only, no redirects, no proxy, every timeout set, a
 * bound on what is kept in memory. A submit is never sent twice: curl may try again on a
 * connection that the other side had closed, so each call makes a fresh one. */
#include "cli/client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/mem.h"
#include "base/text.h"
#include "wire/reply.h"

#define CONNECT_S     5
#define SYSTEM_SOCKET "/run/elastane/elastane.sock"
#define PROBLEM_MAX   ((size_t)64 << 10)

struct client {
    CURL *curl;
    char socket[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* Where the body of one answer goes. */
struct answer {
    CURL *curl;
    struct buf *out; /* whole answers, and problems */
    client_sink_fn sink;
    void *arg;
    int rc;
};

static int choose_socket(const struct cli *cli, char *to, size_t size, struct err *err)
{
    const char *env = getenv("ELASTANE_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = -1;

    if (cli->socket) {
        n = snprintf(to, size, "%s", cli->socket);
    } else if (env && env[0] != '\0') {
        n = snprintf(to, size, "%s", env);
    } else {
        if (runtime && runtime[0] == '/')
            n = snprintf(to, size, "%s/elastane.sock", runtime);
        if (n < 0 || (size_t)n >= size || access(to, F_OK) < 0)
            n = snprintf(to, size, "%s", SYSTEM_SOCKET);
    }
    if (n < 0 || (size_t)n >= size)
        return err_set(err, E_IO, "the path of the socket is longer than %zu bytes",
                       size - 1);
    return 0;
}

static bool is_trusted_directory(const char *path)
{
    char dir[sizeof((struct sockaddr_un *)0)->sun_path];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    struct stat st;

    memcpy(dir, path, n);
    dir[n] = '\0';
    if (stat(n > 0 ? dir : slash ? "/" : ".", &st) < 0)
        return false;
    return st.st_uid == 0 && (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int check_socket(const char *path, struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0 && errno == EACCES)
        return err_set(err, E_IO, "may not look at %s: %s", path, strerror(errno));
    if (stat(path, &st) < 0)
        return err_set(err, E_IO,
                       "no daemon at %s; start elastaned, or name its socket with "
                       "--socket or ELASTANE_SOCKET",
                       path);
    if (!S_ISSOCK(st.st_mode))
        return err_set(err, E_IO, "%s is not a socket", path);
    if (st.st_uid != 0 && st.st_uid != geteuid() && !is_trusted_directory(path))
        return err_set(err, E_IO,
                       "the socket %s belongs to user %u, neither to root nor to you, in "
                       "a directory that is not root's; refusing to talk to it",
                       path, (unsigned)st.st_uid);
    return 0;
}

int client_open(const struct cli *cli, struct client **ret, struct err *err)
{
    struct client *client = mem_new(1, sizeof *client);
    int rc;

    if (!client)
        return err_set(err, E_NOMEM, "out of memory");
    rc = choose_socket(cli, client->socket, sizeof client->socket, err);
    if (rc == 0)
        rc = check_socket(client->socket, err);
    if (rc == 0 && curl_global_init(CURL_GLOBAL_NOTHING) != 0)
        rc = err_set(err, E_NOMEM, "out of memory");
    if (rc == 0) {
        client->curl = curl_easy_init();
        if (!client->curl)
            rc = err_set(err, E_NOMEM, "out of memory");
    }
    if (rc < 0) {
        client_close(client);
        return rc;
    }
    *ret = client;
    return 0;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    if (client->curl)
        curl_easy_cleanup(client->curl);
    mem_free(client);
}

static size_t take_bytes(char *bytes, size_t size, size_t n, void *arg)
{
    struct answer *a = arg;
    long status = 0;

    (void)size; /* always 1 */
    (void)curl_easy_getinfo(a->curl, CURLINFO_RESPONSE_CODE, &status);
    if (a->sink && status == 200) {
        a->rc = a->sink(a->arg, bytes, n);
        return a->rc < 0 ? 0 : n;
    }
    buf_add(a->out, bytes, n);
    a->rc = buf_error(a->out);
    return a->rc < 0 ? 0 : n;
}

static int say_unreachable(const struct client *client, CURLcode code, long seconds,
                           struct err *err)
{
    long os_error = 0;

    (void)curl_easy_getinfo(client->curl, CURLINFO_OS_ERRNO, &os_error);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return err_set(err, E_IO, "the daemon at %s did not answer within %ld seconds",
                       client->socket, seconds);
    if (code == CURLE_COULDNT_CONNECT && os_error == EACCES)
        return err_set(err, E_IO, "may not use the socket %s: %s", client->socket,
                       strerror((int)os_error));
    if (code == CURLE_COULDNT_CONNECT)
        return err_set(err, E_IO,
                       "no daemon listens at %s%s%s; start elastaned, or name its socket "
                       "with --socket or ELASTANE_SOCKET",
                       client->socket, os_error ? ": " : "",
                       os_error ? strerror((int)os_error) : "");
    return err_set(err, E_IO, "the daemon at %s broke off: %s", client->socket,
                   curl_easy_strerror(code));
}

/* What is asked, and how long the answer may take. */
struct request {
    const char *method;
    const char *path;
    const char *body; /* may be NULL */
    long seconds;
};

static void set_options(struct client *client, const char *url, const struct request *r,
                        struct answer *a)
{
    CURL *c = client->curl;

    curl_easy_reset(c);
    (void)curl_easy_setopt(c, CURLOPT_URL, url);
    (void)curl_easy_setopt(c, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    (void)curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http");
    (void)curl_easy_setopt(c, CURLOPT_PROXY, "");
    (void)curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L);
    (void)curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    (void)curl_easy_setopt(c, CURLOPT_TIMEOUT, r->seconds);
    (void)curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take_bytes);
    (void)curl_easy_setopt(c, CURLOPT_WRITEDATA, a);
    (void)curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r->method);
}

/* The headers of a request with a body (or of one that might have had one); owned. */
static struct curl_slist *set_body(struct client *client, const struct request *r)
{
    struct curl_slist *headers = NULL;

    if (!r->body && strcmp(r->method, "GET") == 0)
        return NULL;
    (void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, r->body ? r->body : "");
    headers = curl_slist_append(headers, r->body ? "Content-Type: application/json"
                                                 : "Content-Type:");
    headers = curl_slist_append(headers, "Expect:");
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    return headers;
}

static int exchange(struct client *client, const struct request *r, struct answer *a,
                    struct err *err)
{
    struct curl_slist *headers;
    struct err problem = {0};
    char url[1024];
    long status = 0;
    CURLcode code;

    if (snprintf(url, sizeof url, "http://elastane%s", r->path) >= (int)sizeof url)
        return err_set(err, E_LIMIT, "the request is too long");
    set_options(client, url, r, a);
    headers = set_body(client, r);
    code = curl_easy_perform(client->curl);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    if (a->rc == E_LIMIT)
        return err_set(err, E_CORRUPT, "the daemon's answer is larger than %zu bytes",
                       a->out->max);
    if (a->rc < 0)
        return err_set(err, a->rc, "the answer cannot be taken: %s", err_name(a->rc));
    if (code != CURLE_OK)
        return say_unreachable(client, code, r->seconds, err);
    if (status >= 200 && status < 300)
        return 0;
    reply_problem_decode(a->out->text, a->out->len, status, &problem);
    return err_field(err, problem.code, problem.field, "%s", problem.text);
}

static int call(struct client *client, const struct request *r, struct buf *out,
                struct err *err)
{
    struct answer a = {.curl = client->curl, .out = out};

    buf_clear(out);
    return exchange(client, r, &a, err);
}

int client_call(struct client *client, const char *method, const char *path,
                const char *body, struct buf *out, struct err *err)
{
    const struct request r = {method, path, body, CLIENT_CALL_S};

    return call(client, &r, out, err);
}

int client_wait(struct client *client, const char *path, struct buf *out, struct err *err)
{
    const struct request r = {"GET", path, NULL, CLIENT_FOLLOW_S};

    return call(client, &r, out, err);
}

int client_header(struct client *client, const char *name, int64_t *ret)
{
    struct curl_header *header = NULL;

    if (curl_easy_header(client->curl, name, 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
        return E_NOTFOUND;
    return text_parse_int(header->value, strlen(header->value), 0, INT64_MAX, ret, NULL);
}

int client_stream(struct client *client, const char *path, client_sink_fn sink, void *arg,
                  struct err *err)
{
    const struct request r = {"GET", path, NULL, CLIENT_FOLLOW_S};
    struct buf problem;
    struct answer a = {.curl = client->curl, .out = &problem, .sink = sink, .arg = arg};
    int rc;

    buf_init(&problem, PROBLEM_MAX);
    rc = exchange(client, &r, &a, err);
    buf_release(&problem);
    return rc;
}
