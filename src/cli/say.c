/* SPDX-License-Identifier: Apache-2.0 */
/* say.c - see say.h. */
#include "cli/say.h"

#include <stdio.h>
#include <string.h>

#include "cli/client.h"
#include "cli/term.h"
#include "wire/reply.h"

int say_call(const struct cli *cli, const char *method, const char *path,
             const char *body, struct buf *out, struct err *err)
{
    struct client *client = NULL;
    int rc = client_open(cli, &client, err);

    if (rc < 0)
        return rc;
    rc = client_call(client, method, path, body, out, err);
    client_close(client);
    return rc;
}

int say_job_id(const struct cli *cli, const char *text, uint32_t *ret)
{
    struct err err = {0};

    if (cli_job_id(text, ret, &err) < 0)
        return cli_usage(cli, "%s", err.text);
    return 0;
}

int say_json(const struct cli *cli, const struct buf *answer)
{
    struct err err = {0};
    struct buf tidy;
    int rc;

    buf_init(&tidy, REPLY_MAX * 2);
    rc = reply_tidy(answer->text, answer->len, &tidy, &err);
    if (rc == 0)
        (void)fwrite(tidy.text, 1, tidy.len, stdout);
    buf_release(&tidy);
    return rc < 0 ? cli_fail(cli, &err) : CLI_OK;
}

int say_table(const struct cli *cli, const struct table *table, int state_column)
{
    struct err err = {0};
    struct buf out;
    int rc;

    buf_init(&out, REPLY_MAX);
    rc = table_print(table, term_width(), term_has_colour() ? state_column : -1, &out);
    if (rc == 0)
        (void)fwrite(out.text, 1, out.len, stdout);
    buf_release(&out);
    if (rc == 0)
        return CLI_OK;
    (void)err_set(&err, rc, "the table cannot be made: %s", err_name(rc));
    return cli_fail(cli, &err);
}

void say_warnings(const struct cli *cli, const char *lines)
{
    while (lines && *lines) {
        size_t n = strcspn(lines, "\n");

        cli_warn(cli, "%.*s", (int)n, lines);
        lines += n + (lines[n] == '\n');
    }
}

void say_text(const char *text)
{
    term_print(stdout, text, "");
}

void say_lines(const char *text)
{
    term_print(stdout, text, "\n\t");
}
