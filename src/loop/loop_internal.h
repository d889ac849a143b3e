/* SPDX-License-Identifier: Apache-2.0 */
/* loop_internal.h - shared by the files of loop/ alone. */
#ifndef LOOP_LOOP_INTERNAL_H
#define LOOP_LOOP_INTERNAL_H

#include <uv.h>

#include "loop/loop.h"

struct loop {
    uv_loop_t uv;
};

/* libuv's negative errno as one of ours. */
int loop_error(int code, const char *what, struct err *err);

#endif
