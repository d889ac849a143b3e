/* SPDX-License-Identifier: Apache-2.0 */
/* jobscript.h - a job's fields in the #ELASTANE lines at the top of a script.
 *
 *     #!/bin/sh
 *     #ELASTANE --gpus 1..4 --batch=128..1024
 *     #ELASTANE --name "mnist" # a remark
 *
 * The lines count up to the first line that is neither empty nor begins with '#'. Words
 * are those of jobfield.h, written as flags; quotes as in the shell, without expansion.
 */
#ifndef WIRE_JOBSCRIPT_H
#define WIRE_JOBSCRIPT_H

#include <stddef.h>

#include "base/err.h"
#include "wire/jobfield.h"
#include "wire/submit.h"

#define JOBSCRIPT_HEAD_MAX ((size_t)64 << 10) /* bytes that are looked at */

/* As jobfile_parse(). `text` is the beginning of the script. *ret_late is the number of
 * the first #ELASTANE line that comes too late to count, 0 when there is none. */
int jobscript_parse(const char *text, size_t len, struct submit *ret,
                    struct job_places *ret_places, int32_t *ret_late, struct err *err);

#endif
