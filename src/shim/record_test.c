/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"

/* A directory of our own. */
static int dir_fd;
static char dir_path[] = "/tmp/record_test-XXXXXX";

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
    (void)unlinkat(dir_fd, "a", 0);
    (void)unlinkat(dir_fd, "lock", 0);
    (void)unlinkat(dir_fd, "link", 0);
    (void)close(dir_fd);
    return rmdir(dir_path);
}

static int put(const char *text)
{
    struct buf b;
    int rc;

    buf_init(&b, 4096);
    buf_puts(&b, text);
    rc = record_write(dir_fd, "a", &b, NULL);
    buf_release(&b);
    return rc;
}

static void expect(const char *text)
{
    struct buf b;

    buf_init(&b, 4096);
    assert_int_equal(record_read(dir_fd, "a", &b, NULL), 0);
    assert_string_equal(b.text, text);
    buf_release(&b);
}

static void record_is_replaced_as_a_whole(void **state)
{
    (void)state;
    assert_int_equal(put("first"), 0);
    expect("first");
    assert_int_equal(put("second, longer"), 0);
    expect("second, longer");
    assert_false(record_exists(dir_fd, "a.tmp"));
}

static void record_on_a_full_disk_stays_as_it_was(void **state)
{
    struct rlimit old, tiny;

    (void)state;
    assert_int_equal(put("good"), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tiny = old;
    tiny.rlim_cur = 3;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    assert_int_equal(put("does not fit"), E_IO);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    expect("good");
    assert_false(record_exists(dir_fd, "a.tmp"));
}

static void record_does_not_follow_links(void **state)
{
    struct buf b;

    (void)state;
    assert_int_equal(put("target"), 0);
    assert_int_equal(symlinkat("a", dir_fd, "link"), 0);
    buf_init(&b, 4096);
    assert_int_equal(record_read(dir_fd, "link", &b, NULL), E_IO);
    assert_int_equal(record_read(dir_fd, "nothing", &b, NULL), E_NOTFOUND);
    buf_release(&b);
}

static void record_longer_than_its_limit_is_refused(void **state)
{
    struct buf b;

    (void)state;
    assert_int_equal(put("0123456789"), 0);
    buf_init(&b, 5);
    assert_int_equal(record_read(dir_fd, "a", &b, NULL), E_LIMIT);
    buf_release(&b);
}

static void record_lock_is_held_by_one(void **state)
{
    int first, second;

    (void)state;
    assert_int_equal(record_lock(dir_fd, "lock", &first, NULL), 0);
    assert_int_equal(record_lock(dir_fd, "lock", &second, NULL), E_BUSY);
    (void)close(first);
    assert_int_equal(record_lock(dir_fd, "lock", &second, NULL), 0);
    (void)close(second);
}

static void record_boot_id_is_the_same_twice(void **state)
{
    char a[64], b[64];

    (void)state;
    assert_int_equal(record_boot_id(a, sizeof(a), NULL), 0);
    assert_int_equal(record_boot_id(b, sizeof(b), NULL), 0);
    assert_string_equal(a, b);
    assert_int_equal(strlen(a), 36);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(record_is_replaced_as_a_whole),
        cmocka_unit_test(record_on_a_full_disk_stays_as_it_was),
        cmocka_unit_test(record_does_not_follow_links),
        cmocka_unit_test(record_longer_than_its_limit_is_refused),
        cmocka_unit_test(record_lock_is_held_by_one),
        cmocka_unit_test(record_boot_id_is_the_same_twice),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
