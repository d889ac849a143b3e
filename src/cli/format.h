/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - numbers as people read them. Each returns `to`, which has FORMAT_MAX bytes.
 */
#ifndef CLI_FORMAT_H
#define CLI_FORMAT_H

#include <stdint.h>

#include "base/units.h"

#define FORMAT_MAX 40

/* Local date and time; "-" for 0. */
const char *format_moment(char *to, usec_t moment);
/* "812.5/s", "4100/s", "16.4k/s", "1.20M/s" from 1e-3 per second; "-" for 0. */
const char *format_rate(char *to, int64_t rate_milli);
/* How long something ran, in whole seconds: "20s", "2h 5m"; "-" for 0. */
const char *format_ran(char *to, usec_t span);
/* "45%" of total, or the plain number when the total is not known. */
const char *format_progress(char *to, int64_t done, int64_t total);
/* "0.138 s", "12.3 ms", "830 us" from nanoseconds. */
const char *format_time_ns(char *to, int64_t time_ns);
/* "1.25" from millionths, two decimals at most, no trailing zeros. */
const char *format_factor(char *to, int64_t ppm);

#endif
