/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - nodes, status, calibration. */
#include <unistd.h>

#include "api/request.h"
#include "wire/answer.h"

void handle_nodes(struct request *r)
{
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    answer_nodes(engine_core(r->api->engine), &text);
    request_json(r, 200, &text);
}

void handle_status(struct request *r)
{
    struct api *api = r->api;
    struct err why = {0};
    struct answer_status status = {
        .version = api->version,
        .now_us = clock_now(api->clock),
        .seq = engine_seq(api->engine),
        .pid = getpid(),
    };
    struct buf text;

    status.is_blocked = engine_is_blocked(api->engine, &why);
    status.blocked_reason = why.text;
    buf_init(&text, ANSWER_MAX);
    answer_status(&status, engine_core(api->engine), &text);
    request_json(r, 200, &text);
}

/* Measuring needs the library that jobs communicate with; this backend has none. What it
 * answers is what is true: nothing was ever measured here. */
void handle_calibration(struct request *r)
{
    int64_t seconds = 0;
    struct err err = {0};
    struct buf text;

    if (request_number(r, "timeout_s", 0, 60, &seconds, &err) < 0) {
        request_fail(r, &err);
        return;
    }
    buf_init(&text, ANSWER_MAX);
    buf_puts(&text, "{\"points\":[],\"reason\":\"\",\"state\":\"none\",\"time_us\":0}");
    request_json(r, 200, &text);
}

void handle_calibrate(struct request *r)
{
    struct err err = {0};

    (void)err_set(&err, E_STATE, "this daemon cannot measure communication");
    request_fail(r, &err);
}
