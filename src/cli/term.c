/* SPDX-License-Identifier: Apache-2.0 */
/* term.c - see term.h. COLUMNS wins, so that tests and pipes into `less` can choose. */
#include "cli/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_MIN 20
#define WIDTH_MAX 10000

static int width_of(int fd)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    long n = columns ? strtol(columns, NULL, 10) : 0;

    if (n > 0)
        return n < WIDTH_MIN ? WIDTH_MIN : n > WIDTH_MAX ? WIDTH_MAX : (int)n;
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    return 0;
}

int term_width(void)
{
    return width_of(STDOUT_FILENO);
}

int term_width_of_errors(void)
{
    return width_of(STDERR_FILENO);
}

bool term_has_colour(void)
{
    const char *term = getenv("TERM");
    const char *no_colour = getenv("NO_COLOR");

    if (no_colour && no_colour[0] != '\0')
        return false;
    return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb") != 0;
}

/* How many bytes the control character at `p` has; 0: it is none, or to be kept. */
static size_t control_bytes(const char *p, const char *keep)
{
    unsigned char c = (unsigned char)p[0];
    unsigned char next = c ? (unsigned char)p[1] : 0;

    if (c < ' ' || c == 0x7f)
        return c == '\0' || strchr(keep, c) ? 0 : 1;
    return c == 0xc2 && next >= 0x80 && next <= 0x9f ? 2 : 0;
}

void term_print(FILE *out, const char *text, const char *keep)
{
    while (*text) {
        size_t n = control_bytes(text, keep);

        (void)fputc(n > 0 ? '?' : (unsigned char)*text, out);
        text += n > 0 ? n : 1;
    }
}

void term_tame(char *text, const char *keep)
{
    while (*text) {
        size_t n = control_bytes(text, keep);

        memset(text, '?', n);
        text += n > 0 ? n : 1;
    }
}
