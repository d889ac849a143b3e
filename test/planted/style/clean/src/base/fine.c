/* SPDX-License-Identifier: Apache-2.0 */
/* See http://example.org/, and "quotes" in comments.
 * TODO(#12): a todo with its issue. */
static const char *const url = "http://example.org/ /* no comment";
static const char slash = '/'; /* it's // here */
static const char quote = '"';
