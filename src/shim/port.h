/* SPDX-License-Identifier: Apache-2.0 */
/* port.h - a TCP port that nobody else is given until rank 0 listens on it (R03). */
#ifndef SHIM_PORT_H
#define SHIM_PORT_H

#include <stdint.h>

#include "base/attr.h"
#include "base/err.h"

/* Reserves `wish`, or any other port when wish is 0 or taken. The reservation lasts while
 * *ret_fd is open: see port.c for how rank 0 can bind it all the same. E_IO. */
int port_reserve(int32_t wish, int32_t *ret_port, int *ret_fd,
                 struct err *err) ATTR_MUST_USE;

#endif
