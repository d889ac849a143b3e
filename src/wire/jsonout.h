/* SPDX-License-Identifier: Apache-2.0 */
/* jsonout.h - writing JSON into a buf, one value after the other.
 *
 * Commas are put in; keys are written as they come, so callers name them in order.
 * Within an array the key is NULL. Errors stick in the buf. */
#ifndef WIRE_JSONOUT_H
#define WIRE_JSONOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct jsonout {
    struct buf *out;
    bool needs_comma;
};

/* bracket is '{' or '['; close with '}' or ']'. */
void jsonout_open(struct jsonout *j, const char *key, char bracket);
void jsonout_close(struct jsonout *j, char bracket);
void jsonout_i64(struct jsonout *j, const char *key, int64_t value);
void jsonout_bool(struct jsonout *j, const char *key, bool value);
/* Bytes that are no UTF-8 become '?'. NULL is "". */
void jsonout_text(struct jsonout *j, const char *key, const char *value);
/* A value that is JSON already. */
void jsonout_raw(struct jsonout *j, const char *key, const char *json);

#endif
