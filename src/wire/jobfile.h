/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile.h - a job as a YAML file: elastane-job(5).
 *
 * One mapping from the names of jobfield.h to values. What YAML offers beyond that is
 * refused: anchors and aliases, tags, several documents, deeper nesting, duplicate keys,
 * control characters. */
#ifndef WIRE_JOBFILE_H
#define WIRE_JOBFILE_H

#include <stddef.h>

#include "base/err.h"
#include "wire/jobfield.h"
#include "wire/submit.h"

#define JOBFILE_MAX ((size_t)1 << 20) /* bytes */

/* *ret holds what the file says and nothing else: no defaults, no checks across fields.
 * ret_places (may not be NULL) tells where each field stands, and on failure where the
 * fault is. Errors: E_INVALID, E_LIMIT, E_NOMEM. */
int jobfile_parse(const char *text, size_t len, struct submit *ret,
                  struct job_places *ret_places, struct err *err);

#endif
