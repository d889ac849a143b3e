/* SPDX-License-Identifier: Apache-2.0 */
/* say.h - the ends of a command: ask the daemon, print an answer, or a failure. */
#ifndef CLI_SAY_H
#define CLI_SAY_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "cli/cli.h"
#include "cli/table.h"

/* One request over a connection of its own. */
int say_call(const struct cli *cli, const char *method, const char *path,
             const char *body, struct buf *out, struct err *err);
/* The operand as an id; on failure the complaint is printed and the exit code returned,
 * else 0. */
int say_job_id(const struct cli *cli, const char *text, uint32_t *ret);

/* Prints the answer as JSON. Both return an exit code. */
int say_json(const struct cli *cli, const struct buf *answer);
/* Prints the table, cut to the terminal; state_column as in table_print(). */
int say_table(const struct cli *cli, const struct table *table, int state_column);
/* Warnings, one a line, on standard error. */
void say_warnings(const struct cli *cli, const char *lines);
/* Prints text of others for people, control characters as '?'. */
void say_text(const char *text);
/* The same for text that has lines and tabs of its own, wrapped at the terminal's edge.
 */
void say_lines(const char *text);
/* The same for a story: what goes on stands behind the clock. */
void say_story(const char *text);
/* One line, likewise. */
void say_line(const char *fmt, ...) ATTR_PRINTF(1, 2);
/* A line "key     value" whose value begins at `column`, and goes on there. */
void say_field(const char *key, int column, const char *fmt, ...) ATTR_PRINTF(3, 4);

#endif
