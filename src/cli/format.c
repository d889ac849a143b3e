/* SPDX-License-Identifier: Apache-2.0 */
/* format.c - see format.h. All by integers: no locale can turn a point into a comma. */
#include "cli/format.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/span.h"

const char *format_moment(char *to, usec_t moment)
{
    time_t t = (time_t)(moment / USEC_PER_SEC);
    struct tm tm;

    if (moment <= 0 || !localtime_r(&t, &tm) ||
        strftime(to, FORMAT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        (void)snprintf(to, FORMAT_MAX, "-");
    return to;
}

const char *format_rate(char *to, int64_t rate_milli)
{
    long long tenths = (long long)(rate_milli / 100);

    if (rate_milli <= 0)
        (void)snprintf(to, FORMAT_MAX, "-");
    else if (tenths < 10000)
        (void)snprintf(to, FORMAT_MAX, "%lld.%lld/s", tenths / 10, tenths % 10);
    else if (tenths < 100000)
        (void)snprintf(to, FORMAT_MAX, "%lld/s", tenths / 10);
    else if (tenths < 10000000)
        (void)snprintf(to, FORMAT_MAX, "%lld.%lldk/s", tenths / 10000,
                       tenths / 1000 % 10);
    else
        (void)snprintf(to, FORMAT_MAX, "%lld.%02lldM/s", tenths / 10000000,
                       tenths / 100000 % 100);
    return to;
}

const char *format_ran(char *to, usec_t span)
{
    char words[SPAN_TEXT_MAX];

    (void)snprintf(to, FORMAT_MAX, "%.*s", FORMAT_MAX - 1,
                   span > 0 ? span_words(span - span % USEC_PER_SEC, words) : "-");
    return to;
}

const char *format_progress(char *to, int64_t done, int64_t total)
{
    if (total > 0 && done >= 0)
        (void)snprintf(to, FORMAT_MAX, "%.0f%%",
                       floor((double)done / (double)total * 100.0));
    else
        (void)snprintf(to, FORMAT_MAX, "%lld", (long long)done);
    return to;
}

const char *format_time_ns(char *to, int64_t time_ns)
{
    long long us = (long long)(time_ns / 1000);

    if (us >= 1000000)
        (void)snprintf(to, FORMAT_MAX, "%lld.%03lld s", us / 1000000, us / 1000 % 1000);
    else if (us >= 1000)
        (void)snprintf(to, FORMAT_MAX, "%lld.%02lld ms", us / 1000, us / 10 % 100);
    else
        (void)snprintf(to, FORMAT_MAX, "%lld us", us);
    return to;
}

const char *format_factor(char *to, int64_t ppm)
{
    long long hundredths = (long long)((ppm + 5000) / 10000);

    if (hundredths % 100 == 0)
        (void)snprintf(to, FORMAT_MAX, "%lld", hundredths / 100);
    else if (hundredths % 10 == 0)
        (void)snprintf(to, FORMAT_MAX, "%lld.%lld", hundredths / 100,
                       hundredths / 10 % 10);
    else
        (void)snprintf(to, FORMAT_MAX, "%lld.%02lld", hundredths / 100, hundredths % 100);
    return to;
}
