/* SPDX-License-Identifier: Apache-2.0 */
/* route_fuzz.c - methods and paths of requests: "METHOD\nPATH". */
#include <stdlib.h>
#include <string.h>

#include "api/route.h"
#include "base/assert.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    struct route_match match = {0};
    struct err err = {0};
    char *path;
    int rc;

    if (!text)
        return 0;
    memcpy(text, bytes, n);
    text[n] = '\0';
    path = strchr(text, '\n');
    if (path) {
        *path++ = '\0';
        rc = route_find(text, path, &match, &err);
        ASSERT(rc == 0 || rc == E_NOTFOUND || rc == E_INVALID);
        ASSERT(rc != 0 || match.route < ROUTE_MAX);
        ASSERT((match.allow[0] != '\0') == (rc == E_INVALID));
    }
    free(text);
    return 0;
}
