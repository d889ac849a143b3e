/* SPDX-License-Identifier: Apache-2.0 */
/* route.h - which question a method and a path ask. Pure. */
#ifndef API_ROUTE_H
#define API_ROUTE_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

enum route {
    ROUTE_LIST,
    ROUTE_SUBMIT,
    ROUTE_JOB,
    ROUTE_UPDATE,
    ROUTE_CANCEL,
    ROUTE_PAUSE,
    ROUTE_RESUME,
    ROUTE_WAIT,
    ROUTE_LOGS,
    ROUTE_EXPLAIN,
    ROUTE_NODES,
    ROUTE_STATUS,
    ROUTE_CALIBRATION,
    ROUTE_CALIBRATE,
    ROUTE_MAX
};

#define ROUTE_ALLOW_BYTES 32

struct route_match {
    enum route route;
    uint32_t job; /* of the path; 0: none */
    /* When the path is right and the method is not: the methods that are, "GET, POST";
     * else "". */
    char allow[ROUTE_ALLOW_BYTES];
};

/* E_NOTFOUND: no such path; E_INVALID: wrong method (ret->allow is set then). */
int route_find(const char *method, const char *path, struct route_match *ret,
               struct err *err) ATTR_MUST_USE;

#endif
