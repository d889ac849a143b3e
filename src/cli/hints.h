/* SPDX-License-Identifier: Apache-2.0 */
/* hints.h - what is legal and probably not meant. */
#ifndef CLI_HINTS_H
#define CLI_HINTS_H

#include "wire/submit.h"

/* One sentence about how the command and --launch go together, or NULL. */
const char *hints_launch(const struct submit *submit);

#endif
