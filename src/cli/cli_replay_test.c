/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/units.h"
#include "engine/engine.h"
#include "store/store.h"

/* A state directory made by a real engine and store: one node, one job that waits for
 * nothing, and a backend that never answers. */
static char dir[64];

static void perform(void *ctx, const struct core *core, const struct job *job,
                    const struct duty *duty)
{
    (void)ctx;
    (void)core;
    (void)job;
    (void)duty;
}

static void post(struct engine *engine, const struct event *event)
{
    assert_int_equal(engine_post(engine, event, NULL, NULL), 0);
    (void)engine_run(engine, event->time_us);
}

static int make_state(void **state)
{
    struct job_spec spec = {.name = "mlp", .sizes = {.min = 2, .max = 2}};
    struct event event = {.kind = EVENT_CONFIG, .time_us = 1000 * USEC_PER_SEC};
    struct engine_ports ports = {.backend = {.perform = perform}};
    struct store_options options = {.dir = dir, .holder = "a test"};
    struct store_recovery recovery;
    struct store *store = NULL;
    struct engine *engine;

    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/elastane-replay-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(store_open(&options, &store, NULL), 0);
    ports.store = store_port(store);
    engine = engine_new(&ports);
    assert_non_null(engine);
    assert_int_equal(store_recover(store, engine, &recovery, NULL), 0);
    engine_begin(engine);
    config_defaults(&event.config);
    post(engine, &event);
    event = (struct event){.kind = EVENT_NODE_UP,
                           .time_us = 1000 * USEC_PER_SEC,
                           .node = {.name = "n1", .device_type = "cpu", .devices = 4}};
    post(engine, &event);
    job_spec_complete(&spec);
    event = (struct event){
        .kind = EVENT_SUBMIT, .time_us = 1001 * USEC_PER_SEC, .spec = &spec};
    post(engine, &event);
    (void)engine_run(engine, 1002 * USEC_PER_SEC);
    engine_free(engine);
    assert_int_equal(store_close(store, NULL), 0);
    return 0;
}

static int remove_state(void **state)
{
    char line[128];

    (void)state;
    (void)snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

/* Runs the command with standard output caught in `out`. */
static int run(const char *option, char *out, size_t size)
{
    char name[] = "replay", flag[32], where[64];
    char *argv[] = {name, flag, where, NULL};
    struct cli cli = {0};
    FILE *caught = tmpfile();
    int saved = dup(STDOUT_FILENO);
    int rc;
    size_t n;

    (void)snprintf(flag, sizeof flag, "%s", option);
    (void)snprintf(where, sizeof where, "%s", dir);
    assert_non_null(caught);
    (void)fflush(stdout);
    assert_true(dup2(fileno(caught), STDOUT_FILENO) >= 0);
    rc = cli_replay.run(&cli, 3, argv);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    (void)close(saved);
    rewind(caught);
    n = fread(out, 1, size - 1, caught);
    out[n] = '\0';
    (void)fclose(caught);
    return rc;
}

static void replay_tells_the_story_and_decides_the_same(void **state)
{
    char out[8192];

    (void)state;
    assert_int_equal(run("--decide", out, sizeof out), CLI_OK);
    assert_non_null(strstr(out, "] mlp"));
    assert_non_null(strstr(out, "-> starting"));
    assert_non_null(strstr(out, "2 gpu"));
    assert_non_null(strstr(out, " decided again, 0 differently\n"));
}

static void replay_says_it_in_json(void **state)
{
    char out[8192];

    (void)state;
    assert_int_equal(run("--json", out, sizeof out), CLI_OK);
    assert_true(strstr(out, "{\"decided\":0,\"different\":0,\"digest\":\"") == out);
    assert_non_null(strstr(out, "\"is_decided\":false,\"last_seq\":"));
    assert_null(strstr(out, "mlp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replay_tells_the_story_and_decides_the_same),
        cmocka_unit_test(replay_says_it_in_json),
    };

    return cmocka_run_group_tests(tests, make_state, remove_state);
}
