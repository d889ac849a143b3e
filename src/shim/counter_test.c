/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/counter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define NAME "progress"

static int dir_fd;
static char dir_path[] = "/tmp/counter_test-XXXXXX";

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir_path))
        return -1;
    dir_fd = open(dir_path, O_RDONLY | O_DIRECTORY);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)close(dir_fd);
    return rmdir(dir_path);
}

static int remove_file(void **state)
{
    (void)state;
    (void)unlinkat(dir_fd, NAME, 0);
    (void)unlinkat(dir_fd, NAME, AT_REMOVEDIR);
    return 0;
}

/* Writes, and sets the time of change to `age_us` ago. */
static void write_file(int flags, const char *text, usec_t age_us)
{
    int fd = openat(dir_fd, NAME, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
    struct timespec times[2];
    int64_t ns;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)clock_gettime(CLOCK_REALTIME, &times[0]);
    ns = (int64_t)times[0].tv_sec * 1000000000 + times[0].tv_nsec - age_us * 1000;
    times[0].tv_sec = ns / 1000000000;
    times[0].tv_nsec = ns % 1000000000;
    times[1] = times[0];
    assert_int_equal(futimens(fd, times), 0);
    (void)close(fd);
}

static bool read_at(struct counter *c, usec_t now_us, struct counter_window *w)
{
    return counter_read(c, dir_fd, NAME, now_us, w);
}

static void counter_takes_only_what_was_appended(void **state)
{
    struct counter c = COUNTER_INIT;
    struct counter_window w;

    (void)state;
    assert_false(read_at(&c, 0, &w)); /* no file yet: no word */
    assert_int_equal(c.lines.samples, -1);
    assert_false(c.is_no_file);
    write_file(O_APPEND, "64\n12", 0);
    assert_false(read_at(&c, 1000000, &w));
    assert_int_equal(c.lines.samples, 64);
    write_file(O_APPEND, "8 1000\n", 5);
    (void)read_at(&c, 2000000, &w);
    assert_int_equal(c.lines.samples, 128);
    assert_int_equal(c.lines.total, 1000);
    (void)read_at(&c, 3000000, &w);
    assert_int_equal(c.lines.n_lines, 2);
}

static void counter_goes_by_the_moment_of_the_last_line(void **state)
{
    struct counter c = COUNTER_INIT;
    struct counter_window w;

    (void)state;
    write_file(O_APPEND, "0\n", 900000);
    assert_false(read_at(&c, 10000000, &w));
    write_file(O_APPEND, "64\n", 700000); /* 0.7 s after the first: too short a span */
    assert_false(read_at(&c, 10500000, &w));
    write_file(O_APPEND, "128\n192\n", 200000);
    assert_true(read_at(&c, 12000000, &w));
    assert_int_equal(w.samples, 192);
    assert_in_range(w.span_us, 2600000,
                    2750000);                 /* 11.8 s - 9.1 s, and this test's own */
    write_file(O_APPEND, "256\n", 100000000); /* a time from elsewhere */
    assert_true(read_at(&c, 14000000, &w));
    assert_in_range(w.span_us, 2150000, 2250000);
}

static void counter_reads_a_file_that_is_written_anew(void **state)
{
    struct counter c = COUNTER_INIT;
    struct counter_window w;

    (void)state;
    write_file(O_TRUNC, "100\n", 30);
    (void)read_at(&c, 1000000, &w);
    write_file(O_TRUNC, "200\n", 20);
    (void)read_at(&c, 2000000, &w);
    assert_int_equal(c.lines.samples, 200);
    assert_int_equal(unlinkat(dir_fd, NAME, 0), 0);
    (void)read_at(&c, 3000000, &w);
    write_file(O_TRUNC, "300 900\n", 10);
    (void)read_at(&c, 4000000, &w);
    assert_int_equal(c.lines.samples, 300);
    assert_int_equal(c.lines.n_bad, 0);
}

static void counter_reads_the_newest_of_too_much(void **state)
{
    struct counter c = COUNTER_INIT;
    struct counter_window w;
    char line[] = "1000000000000000000000000000000000000000000000000000000000000000000\n";
    int n = (int)(COUNTER_READ_MAX / (off_t)(sizeof(line) - 1)) + 100;

    (void)state;
    for (int i = 0; i < n; i++)
        write_file(O_APPEND, line, 10);
    write_file(O_APPEND, "7\n", 5);
    (void)read_at(&c, 1000000, &w);
    assert_int_equal(c.lines.samples, 7);
    assert_true(c.lines.n_bad < n); /* not all was read */
}

static void counter_leaves_alone_what_is_no_file(void **state)
{
    struct counter_window w;

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct counter c = COUNTER_INIT;

        if (kind == 0)
            assert_int_equal(mkfifoat(dir_fd, NAME, 0600), 0);
        else if (kind == 1)
            assert_int_equal(mkdirat(dir_fd, NAME, 0700), 0);
        else
            assert_int_equal(symlinkat("/etc/hostname", dir_fd, NAME), 0);
        assert_false(read_at(&c, 1000000, &w));
        assert_true(c.is_no_file);
        assert_int_equal(c.lines.samples, -1);
        assert_int_equal(c.lines.n_bad, 0);
        (void)remove_file(state);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counter_takes_only_what_was_appended),
        TEST(counter_goes_by_the_moment_of_the_last_line),
        TEST(counter_reads_a_file_that_is_written_anew),
        TEST(counter_reads_the_newest_of_too_much),
        TEST(counter_leaves_alone_what_is_no_file),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
