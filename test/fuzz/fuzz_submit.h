/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_submit.h - what must hold of any job that a reader let through. */
#ifndef FUZZ_FUZZ_SUBMIT_H
#define FUZZ_FUZZ_SUBMIT_H

#include <stddef.h>
#include <string.h>

#include "base/assert.h"
#include "wire/submit.h"

/* Completes the job; if it can be written and is accepted again, it is a fixed point. */
static inline void fuzz_submit(struct submit *submit)
{
    struct submit back;
    struct buf first, second;

    submit_complete(submit);
    buf_init(&first, 2 * SUBMIT_BODY_MAX);
    buf_init(&second, 2 * SUBMIT_BODY_MAX);
    if (submit_encode(submit, &first, NULL) == 0 &&
        submit_decode(first.text, first.len, &back, NULL) == 0) {
        ASSERT(submit_encode(&back, &second, NULL) == 0);
        ASSERT(strcmp(first.text, second.text) == 0);
        submit_release(&back);
    }
    buf_release(&first);
    buf_release(&second);
}

#endif
