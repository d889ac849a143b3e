/* SPDX-License-Identifier: Apache-2.0 */
/* tidy.h - logs that do not grow without end. */
#ifndef SHIM_TIDY_H
#define SHIM_TIDY_H

struct shim;

/* Gives the beginnings of long logs back to the disk. To be called now and then. */
void tidy_logs(struct shim *s);

#endif
