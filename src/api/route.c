/* SPDX-License-Identifier: Apache-2.0 */
/* route.c - one table of paths. '#' stands for the id of a job: digits without a leading
 * zero, 1 to 2^32 - 1. Nothing is guessed: no trailing slash, no other case. */
#include "api/route.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/units.h"

static const struct {
    const char *method;
    const char *path;
    enum route route;
} routes[] = {
    {"GET", "/v1/jobs", ROUTE_LIST},
    {"POST", "/v1/jobs", ROUTE_SUBMIT},
    {"GET", "/v1/jobs/#", ROUTE_JOB},
    {"PATCH", "/v1/jobs/#", ROUTE_UPDATE},
    {"POST", "/v1/jobs/#/cancel", ROUTE_CANCEL},
    {"POST", "/v1/jobs/#/pause", ROUTE_PAUSE},
    {"POST", "/v1/jobs/#/resume", ROUTE_RESUME},
    {"GET", "/v1/jobs/#/wait", ROUTE_WAIT},
    {"GET", "/v1/jobs/#/logs", ROUTE_LOGS},
    {"GET", "/v1/jobs/#/explain", ROUTE_EXPLAIN},
    {"GET", "/v1/nodes", ROUTE_NODES},
    {"GET", "/v1/status", ROUTE_STATUS},
    {"GET", "/v1/calibrate", ROUTE_CALIBRATION},
    {"POST", "/v1/calibrate", ROUTE_CALIBRATE},
};

/* Reads an id at *inout_path and moves it behind. */
static bool take_id(const char **inout_path, uint32_t *ret)
{
    size_t n = strspn(*inout_path, "0123456789");
    int64_t id = 0;

    if (n == 0 || (*inout_path)[0] == '0' ||
        text_parse_int(*inout_path, n, 1, UINT32_MAX, &id, NULL) < 0)
        return false;
    *inout_path += n;
    *ret = (uint32_t)id;
    return true;
}

static bool matches(const char *pattern, const char *path, uint32_t *ret_job)
{
    while (*pattern) {
        if (*pattern == '#') {
            if (!take_id(&path, ret_job))
                return false;
        } else if (*pattern != *path++) {
            return false;
        }
        pattern++;
    }
    return *path == '\0';
}

int route_find(const char *method, const char *path, struct route_match *ret,
               struct err *err)
{
    struct route_match match = {0};
    size_t n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        if (!matches(routes[i].path, path, &match.job))
            continue;
        if (text_equal(routes[i].method, method)) {
            *ret = (struct route_match){.route = routes[i].route, .job = match.job};
            return 0;
        }
        (void)snprintf(match.allow + n, sizeof(match.allow) - n, "%s%s", n ? ", " : "",
                       routes[i].method);
        n = strlen(match.allow);
    }
    if (n == 0)
        return err_set(err, E_NOTFOUND, "there is nothing at this path");
    *ret = match;
    return err_set(err, E_INVALID, "the method does not fit the path; it knows %s",
                   match.allow);
}
