/* SPDX-License-Identifier: Apache-2.0 */
/* jsa.h - the job scalability analyser's ear: what shims measure becomes the job's model
 * (DESIGN 4.1, core/perf/learn.h). */
#ifndef BACKEND_LOCAL_JSA_H
#define BACKEND_LOCAL_JSA_H

#include "backend/local/posts.h"
#include "wire/shim_msg.h"

/* Takes a SHIM_OBSERVE, or a SHIM_BEAT, of the post's incarnation. What changed enough
 * since the last EVENT_MODEL is posted with the beat, once a second at most. */
void jsa_take(struct post *post, const struct shim_msg *msg);

#endif
