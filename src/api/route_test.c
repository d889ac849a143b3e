/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/route.h"
#include "base/units.h"

static void route_finds_every_path_of_the_contract(void **state)
{
    static const struct {
        const char *method, *path;
        enum route route;
        uint32_t job;
    } cases[] = {
        {"GET", "/v1/jobs", ROUTE_LIST, 0},
        {"POST", "/v1/jobs", ROUTE_SUBMIT, 0},
        {"GET", "/v1/jobs/17", ROUTE_JOB, 17},
        {"PATCH", "/v1/jobs/4294967295", ROUTE_UPDATE, UINT32_MAX},
        {"POST", "/v1/jobs/1/cancel", ROUTE_CANCEL, 1},
        {"POST", "/v1/jobs/1/pause", ROUTE_PAUSE, 1},
        {"POST", "/v1/jobs/1/resume", ROUTE_RESUME, 1},
        {"GET", "/v1/jobs/1/wait", ROUTE_WAIT, 1},
        {"GET", "/v1/jobs/1/logs", ROUTE_LOGS, 1},
        {"GET", "/v1/jobs/1/explain", ROUTE_EXPLAIN, 1},
        {"GET", "/v1/nodes", ROUTE_NODES, 0},
        {"GET", "/v1/status", ROUTE_STATUS, 0},
        {"GET", "/v1/calibrate", ROUTE_CALIBRATION, 0},
        {"POST", "/v1/calibrate", ROUTE_CALIBRATE, 0},
    };

    (void)state;
    assert_int_equal(ARRAY_SIZE(cases), ROUTE_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct route_match match;

        assert_int_equal(route_find(cases[i].method, cases[i].path, &match, NULL), 0);
        assert_int_equal(match.route, cases[i].route);
        assert_int_equal(match.job, cases[i].job);
    }
}

static void route_guesses_nothing(void **state)
{
    static const char *const paths[] = {
        "",           "/",           "/v1",          "/v1/jobs/",   "/v1/Jobs",
        "/v2/jobs",   "/v1/jobs/0",  "/v1/jobs/01",  "/v1/jobs/-1", "/v1/jobs/1 ",
        "/v1/jobs/x", "/v1/jobs/1/", "/v1/jobs/1/x", "/v1/nodes/1", "/v1/jobs/4294967296",
    };
    struct route_match match;
    struct err err;

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
        assert_int_equal(route_find("GET", paths[i], &match, &err), E_NOTFOUND);
}

static void route_names_the_methods_of_a_path(void **state)
{
    struct route_match match;
    struct err err;

    (void)state;
    assert_int_equal(route_find("DELETE", "/v1/jobs/7", &match, &err), E_INVALID);
    assert_string_equal(match.allow, "GET, PATCH");
    assert_int_equal(route_find("GET", "/v1/jobs/7/cancel", &match, &err), E_INVALID);
    assert_string_equal(match.allow, "POST");
    assert_non_null(strstr(err.text, "POST"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_finds_every_path_of_the_contract),
        cmocka_unit_test(route_guesses_nothing),
        cmocka_unit_test(route_names_the_methods_of_a_path),
    };

    return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
