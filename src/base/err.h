/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - how functions fail.
 *
 * A function that can fail returns 0 or a negative E_*. Where a person will read about
 * it, the last parameter is a struct err, which then names the field, the reason, and
 * what would have been accepted. A NULL err is always allowed. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stddef.h>

#include "base/attr.h"

enum {
    E_OK = 0,
    E_NOMEM = -1,      /* out of memory */
    E_INVALID = -2,    /* the input breaks a rule; err names the field */
    E_NOTFOUND = -3,   /* no such thing */
    E_STATE = -4,      /* not possible in the present state */
    E_INFEASIBLE = -5, /* nothing satisfies the constraints; a state, not a mistake */
    E_LIMIT = -6,      /* a named maximum would be passed */
    E_EXISTS = -7,     /* it is there already */
    E_DENIED = -8,     /* not allowed for this user */
    E_IO = -9,         /* the outside world failed; err has errno's text */
    E_BUSY = -10,      /* somebody else holds it */
    E_VERSION = -11,   /* written by a version that we do not know */
    E_CORRUPT = -12,   /* stored data contradict themselves */
    E_AGAIN = -13,     /* not now; the same call may succeed later */
};

#define ERR_FIELD_MAX 64
#define ERR_TEXT_MAX  320

struct err {
    int code;
    char field[ERR_FIELD_MAX]; /* "batch", "nodes[2].devices", or "" */
    char text[ERR_TEXT_MAX]; /* one sentence for people, without the field; text_fit() */
};

/* Fills err (when not NULL) and returns code, so that callers write `return
 * err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...) ATTR_PRINTF(3, 4);

/* The same, and names the field that is at fault. */
int err_field(struct err *err, int code, const char *field, const char *fmt, ...)
    ATTR_PRINTF(4, 5);

/* "invalid", "not-found", ...: a stable word for machines. */
const char *err_name(int code);

void err_clear(struct err *err);

#endif
