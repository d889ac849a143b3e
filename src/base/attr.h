/* SPDX-License-Identifier: Apache-2.0 */
/* attr.h - the compiler attributes that we allow ourselves, behind names. */
#ifndef BASE_ATTR_H
#define BASE_ATTR_H

#define ATTR_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define ATTR_MUST_USE           __attribute__((warn_unused_result))
#define ATTR_NORETURN           __attribute__((noreturn))

#endif
