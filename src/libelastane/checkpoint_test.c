/* SPDX-License-Identifier: Apache-2.0 */
#include "libelastane/elastane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/checkpoint_test-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int count_files(int removes)
{
    DIR *d = opendir(dir);
    struct dirent *entry;
    char path[512];
    int n = 0;

    while (d && (entry = readdir(d))) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        if (removes)
            (void)unlink(path);
        n++;
    }
    if (d)
        (void)closedir(d);
    return n;
}

static int remove_dir(void **state)
{
    (void)state;
    (void)count_files(1);
    return rmdir(dir);
}

static int write_data(const char *path, int64_t samples, size_t bytes)
{
    FILE *out = fopen(path, "we");
    int bad = !out;

    for (size_t i = 0; out && i < bytes; i++)
        bad |= fputc((int)((i * 31 + (size_t)samples) & 0x7f), out) == EOF;
    if (out)
        bad |= fclose(out) != 0;
    return bad ? -1 : 0;
}

static int save(int64_t samples, size_t bytes, struct elastane_checkpoint *c)
{
    char path[ELASTANE_PATH_BYTES];

    *c = (struct elastane_checkpoint){.samples_done = samples,
                                      .dataset_size = 60000,
                                      .seed = 18446744073709551615u,
                                      .step = samples / 8,
                                      .generation = 3};
    if (elastane_checkpoint_begin(dir, path, sizeof(path)) < 0)
        return -1;
    if (write_data(path, samples, bytes) < 0) {
        elastane_checkpoint_abandon(path);
        return -1;
    }
    return elastane_checkpoint_commit(dir, path, c);
}

static int64_t latest(void)
{
    struct elastane_checkpoint c;

    return elastane_checkpoint_latest(dir, &c) == 0 ? c.samples_done : -1;
}

static void checkpoint_comes_back_with_its_ledger(void **state)
{
    struct elastane_checkpoint in, out;

    (void)state;
    assert_int_equal(elastane_checkpoint_latest(dir, &out), ELASTANE_E_NOTFOUND);
    assert_int_equal(save(800, 5000, &in), 0);
    assert_int_equal(elastane_checkpoint_latest(dir, &out), 0);
    assert_int_equal(out.samples_done, 800);
    assert_int_equal(out.dataset_size, 60000);
    assert_true(out.seed == 18446744073709551615u);
    assert_int_equal(out.step, 100);
    assert_int_equal(out.generation, 3);
    assert_int_equal(out.data_bytes, 5000);
    assert_string_equal(out.manifest, in.manifest);
    assert_string_equal(out.path, in.path);
}

static void checkpoint_keeps_the_previous_one_and_no_more(void **state)
{
    struct elastane_checkpoint c;

    (void)state;
    for (int64_t s = 1; s <= 5; s++) {
        assert_int_equal(save(s, 100, &c), 0);
        assert_int_equal(latest(), s);
    }
    assert_int_equal(count_files(0), 4); /* two of each */
}

static void damage(const char *path, long at, int byte)
{
    FILE *f = fopen(path, "r+e");

    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_true(fputc(byte, f) != EOF);
    assert_int_equal(fclose(f), 0);
}

static void r16_torn_or_damaged_checkpoints_are_passed_over(void **state)
{
    struct elastane_checkpoint good, bad;
    char path[ELASTANE_PATH_BYTES];

    (void)state;
    assert_int_equal(save(10, 4096, &good), 0);
    for (int how = 0; how < 4; how++) {
        assert_int_equal(save(20, 4096, &bad), 0);
        (void)snprintf(path, sizeof(path), "%s/%s", dir, bad.manifest);
        if (how == 0)
            damage(bad.path, 4095, 'Z');
        else if (how == 1)
            assert_int_equal(truncate(bad.path, 4000), 0);
        else if (how == 2)
            assert_int_equal(truncate(path, 40), 0);
        else
            damage(path, 60, '7');
        assert_int_equal(latest(), 10);
        assert_int_equal(unlink(path), 0);
    }
}

static int save_limited(rlim_t limit, size_t bytes)
{
    struct elastane_checkpoint c;
    struct rlimit old, tiny;
    int rc;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tiny = old;
    tiny.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
    rc = save(20, bytes, &c);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    return rc;
}

/* Wherever the disk cuts off the data, or the manifest behind data that fitted, the last
 * good checkpoint is found and nothing is left of the one that failed. */
static void r16_a_disk_that_fills_up_while_saving_costs_nothing(void **state)
{
    struct elastane_checkpoint c;
    int manifest_failures = 0;
    rlim_t limit = 20;
    int files;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(save(10, 3000, &c), 0);
    files = count_files(0);
    while (save_limited(limit, 20) < 0) {
        assert_int_equal(latest(), 10);
        assert_int_equal(count_files(0), files);
        assert_true(save_limited(limit, 3000) < 0);
        assert_int_equal(latest(), 10);
        assert_int_equal(count_files(0), files);
        limit += 10;
        manifest_failures++;
        assert_true(limit < 2000);
    }
    assert_true(manifest_failures > 10);
    assert_int_equal(latest(), 20);
}

/* A saver that is killed with its data half written; then one that never wrote its
 * manifest. */
static void r16_a_kill_while_saving_leaves_the_last_good_one(void **state)
{
    struct elastane_checkpoint c;
    char path[ELASTANE_PATH_BYTES];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(save(10, 3000, &c), 0);
    pid = fork();
    if (pid == 0) {
        (void)elastane_checkpoint_begin(dir, path, sizeof(path));
        (void)write_data(path, 20, 1500);
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(latest(), 10);
    (void)snprintf(path, sizeof(path), "%s/ckpt-0000000099.data", dir);
    assert_int_equal(write_data(path, 20, 3000), 0);
    assert_int_equal(latest(), 10);
    assert_int_equal(save(30, 3000, &c), 0);
    assert_int_equal(latest(), 30);
    assert_int_equal(elastane_checkpoint_begin(dir, path, sizeof(path)), 0);
    assert_int_equal(count_files(0), 5); /* two pairs and the orphan, no temporary */
}

static void checkpoint_refuses_bad_arguments(void **state)
{
    struct elastane_checkpoint c = {.samples_done = -1};
    char path[8];

    (void)state;
    assert_int_equal(elastane_checkpoint_begin(NULL, path, 8), ELASTANE_E_INVALID);
    assert_int_equal(elastane_checkpoint_begin(dir, path, 8), ELASTANE_E_LIMIT);
    assert_int_equal(elastane_checkpoint_commit(dir, "x", &c), ELASTANE_E_INVALID);
    c.samples_done = 1;
    assert_int_equal(elastane_checkpoint_commit(dir, "/nonexistent/x", &c),
                     ELASTANE_E_IO);
    assert_int_equal(elastane_checkpoint_latest("/nonexistent", &c), ELASTANE_E_NOTFOUND);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(checkpoint_comes_back_with_its_ledger),
        CASE(checkpoint_keeps_the_previous_one_and_no_more),
        CASE(r16_torn_or_damaged_checkpoints_are_passed_over),
        CASE(r16_a_disk_that_fills_up_while_saving_costs_nothing),
        CASE(r16_a_kill_while_saving_leaves_the_last_good_one),
        CASE(checkpoint_refuses_bad_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
