/* SPDX-License-Identifier: Apache-2.0 */
/* cluster.c - nodes, status, calibration. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "api/request.h"
#include "backend/local/calibrate.h"
#include "wire/answer.h"
#include "wire/calibration.h"
#include "wire/schema.h"

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

static void answer_calibration(struct request *r)
{
    const struct calibrate *c = local_calibrate(r->api->local);
    struct buf text;

    buf_init(&text, ANSWER_MAX);
    buf_puts(&text, "{\"points\":");
    wire_calibration_points(&c->table, &text);
    buf_puts(&text, ",\"reason\":");
    schema_encode_text(c->reason, strlen(c->reason), &text);
    buf_printf(&text, ",\"state\":\"%s\",\"time_us\":%" PRId64 "}",
               calibrate_state_name(c->state), (int64_t)c->time_us);
    request_json(r, 200, &text);
}

static void poll_calibration(struct request *r)
{
    if (local_calibrate(r->api->local)->state != CALIBRATE_RUNNING ||
        clock_now(r->api->clock) >= r->deadline_us)
        answer_calibration(r);
}

void handle_calibration(struct request *r)
{
    int64_t seconds = 0;
    struct err err = {0};

    if (request_number(r, "timeout_s", 0, 60, &seconds, &err) < 0) {
        request_fail(r, &err);
        return;
    }
    request_park(r, poll_calibration, clock_now(r->api->clock) + seconds * USEC_PER_SEC);
    poll_calibration(r);
}

void handle_calibrate(struct request *r)
{
    struct cluster_count count = cluster_count(core_cluster(engine_core(r->api->engine)));
    struct err err = {0};
    struct buf text;

    if (calibrate_start(local_calibrate(r->api->local), count.free, &err) < 0) {
        request_fail(r, &err);
        return;
    }
    buf_init(&text, ANSWER_MAX);
    buf_puts(&text, "{\"state\":\"running\"}");
    request_json(r, 202, &text);
}
