/* SPDX-License-Identifier: Apache-2.0 */
/* network.h - whether a directory lies on a file system that other machines share. */
#ifndef STORE_NETWORK_H
#define STORE_NETWORK_H

#include <stdint.h>

/* What people call the file system of this statfs() type, when other machines may share
 * it or a program stands behind it; else NULL. */
const char *network_type_name(uint32_t type);

/* The same for the directory; NULL also when it cannot be asked. */
const char *network_of(const char *dir);

#endif
