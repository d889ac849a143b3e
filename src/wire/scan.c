/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - see scan.h. One pass, no memory, no recursion: depth is a counter, and which
 * bracket closes which is left to the parser. */
#include "wire/scan.h"

size_t scan_blanks(const char *text, size_t len, size_t at)
{
    while (at < len &&
           (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r'))
        at++;
    return at;
}

size_t scan_string(const char *text, size_t len, size_t at)
{
    for (at++; at < len && text[at] != '"'; at++)
        if (text[at] == '\\')
            at++;
    return at < len ? at + 1 : len;
}

size_t scan_value(const char *text, size_t len, size_t at)
{
    size_t depth = 0;

    while (at < len) {
        char c = text[at];

        if (c == '"') {
            at = scan_string(text, len, at);
            continue;
        }
        if (depth == 0 && (c == ',' || c == ']' || c == '}'))
            return at;
        if (c == '[' || c == '{')
            depth++;
        else if (c == ']' || c == '}')
            depth--;
        at++;
    }
    return len;
}
