/* SPDX-License-Identifier: Apache-2.0 */
/* textfile.c - see textfile.h. */
#include "cli/textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Nobody is waited for at the other end of a pipe. */
static int open_text(const char *path, FILE **ret, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0)
        return err_set(err, errno == ENOENT ? E_NOTFOUND : E_IO, "%s: %s", path,
                       strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        *ret = fdopen(fd, "r");
        return *ret ? 0 : err_set(err, E_NOMEM, "out of memory");
    }
    (void)close(fd);
    return err_set(err, E_INVALID,
                   "cannot read %s: it is not a regular file; - is standard input", path);
}

int textfile_read(const char *path, struct buf *out, struct err *err)
{
    FILE *in = stdin;
    char part[4096];
    size_t n;
    int rc = strcmp(path, "-") == 0 ? 0 : open_text(path, &in, err);

    if (rc < 0)
        return rc;
    while (buf_error(out) == 0 && (n = fread(part, 1, sizeof part, in)) > 0)
        buf_add(out, part, n);
    if (ferror(in))
        rc = err_set(err, E_IO, "%s: cannot be read", path);
    else if (buf_error(out) < 0)
        rc = err_set(err, buf_error(out), "%s: is larger than %zu bytes", path, out->max);
    if (in != stdin)
        (void)fclose(in);
    return rc;
}

int textfile_write(const char *path, const struct buf *text, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    FILE *out;
    size_t written;

    if (fd < 0) /* also a pipe that nobody reads */
        return err_set(err, E_IO, "%s: %s", path, strerror(errno));
    (void)fcntl(fd, F_SETFL, 0);
    out = fdopen(fd, "w");
    if (!out) {
        (void)close(fd);
        return err_set(err, E_NOMEM, "out of memory");
    }
    written = fwrite(text->text, 1, text->len, out);
    if (fclose(out) != 0 || written != text->len)
        return err_set(err, E_IO, "%s: cannot be written", path);
    return 0;
}
