/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static uint64_t of_bytes(const char *text)
{
    struct digest d;

    digest_init(&d);
    digest_add(&d, text, strlen(text));
    return d.value;
}

/* The values that the authors of FNV publish for these inputs. */
static void digest_equals_the_published_vectors(void **state)
{
    (void)state;
    assert_true(of_bytes("") == UINT64_C(0xcbf29ce484222325));
    assert_true(of_bytes("a") == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(of_bytes("foobar") == UINT64_C(0x85944171f73967e8));
}

static void digest_does_not_depend_on_how_bytes_are_cut(void **state)
{
    struct digest d;

    (void)state;
    digest_init(&d);
    digest_add(&d, "foo", 3);
    digest_add(&d, "", 0);
    digest_add(&d, "bar", 3);
    assert_true(d.value == of_bytes("foobar"));
}

static void digest_takes_integers_low_byte_first(void **state)
{
    struct digest d;

    (void)state;
    digest_init(&d);
    digest_add_u64(&d, UINT64_C(0x6867666564636261));
    assert_true(d.value == of_bytes("abcdefgh"));
}

static void digest_keeps_texts_apart(void **state)
{
    struct digest a, b;

    (void)state;
    digest_init(&a);
    digest_add_text(&a, "ab");
    digest_add_text(&a, "c");
    digest_init(&b);
    digest_add_text(&b, "a");
    digest_add_text(&b, "bc");
    assert_true(a.value != b.value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_equals_the_published_vectors),
        cmocka_unit_test(digest_does_not_depend_on_how_bytes_are_cut),
        cmocka_unit_test(digest_takes_integers_low_byte_first),
        cmocka_unit_test(digest_keeps_texts_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
