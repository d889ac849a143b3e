/* SPDX-License-Identifier: Apache-2.0 */
#include "report/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static const struct timeline_node nodes[] = {{"n1", 0, 2}, {"n<2>", 2, 2}};
static const struct timeline_job jobs[] = {{1, "mlp & co"}, {7, "b"}};
static const struct sim_span spans[] = {
    {.job = 1,
     .first = 0,
     .count = 2,
     .from_us = 0,
     .to_us = USEC_PER_HOUR,
     .state = JOB_RUNNING,
     .size = 2,
     .global_batch = 128},
    {.job = 7,
     .first = 3,
     .count = 1,
     .from_us = USEC_PER_MIN,
     .to_us = 2 * USEC_PER_MIN,
     .state = JOB_STARTING,
     .size = 1},
};
static const struct sim_outage outages[] = {{2, 2, USEC_PER_MIN * 30, USEC_PER_MIN * 40}};

static struct timeline example(void)
{
    return (struct timeline){.title = "a \"run\"",
                             .to_us = USEC_PER_HOUR,
                             .jobs = jobs,
                             .n_jobs = ARRAY_SIZE(jobs),
                             .nodes = nodes,
                             .n_nodes = ARRAY_SIZE(nodes),
                             .spans = spans,
                             .n_spans = ARRAY_SIZE(spans),
                             .outages = outages,
                             .n_outages = ARRAY_SIZE(outages)};
}

static void timeline_shows_jobs_sizes_batches_and_outages(void **state)
{
    struct timeline t = example();
    struct buf out;

    (void)state;
    buf_init(&out, TIMELINE_SVG_MAX);
    assert_int_equal(timeline_svg(&t, &out), 0);
    assert_non_null(strstr(out.text, "mlp &amp; co  2 gpu, batch 128</text>"));
    assert_non_null(strstr(out.text, "n&lt;2&gt;</text>"));
    assert_non_null(strstr(out.text, "<title>a &quot;run&quot;</title>"));
    assert_non_null(strstr(out.text, "starting: 1 gpu, 0:01:00 to 0:02:00"));
    assert_non_null(strstr(out.text, ">lost</text>"));
    assert_non_null(strstr(out.text, ">1:00:00</text>"));
    assert_null(strstr(out.text, "<script"));
    assert_null(strstr(out.text, "href"));
    buf_release(&out);
}

static void timeline_is_the_same_twice(void **state)
{
    struct timeline t = example();
    struct buf one;
    struct buf two;

    (void)state;
    buf_init(&one, TIMELINE_SVG_MAX);
    buf_init(&two, TIMELINE_SVG_MAX);
    assert_int_equal(timeline_svg(&t, &one), 0);
    assert_int_equal(timeline_svg(&t, &two), 0);
    assert_string_equal(one.text, two.text);
    buf_release(&one);
    buf_release(&two);
}

static void timeline_of_nothing_and_of_much_is_a_picture_too(void **state)
{
    struct timeline_node big = {"big", 0, 100000};
    struct timeline t = {.title = ""};
    struct buf out;

    (void)state;
    buf_init(&out, TIMELINE_SVG_MAX);
    assert_int_equal(timeline_svg(&t, &out), 0);
    assert_non_null(strstr(out.text, "</svg>"));
    buf_clear(&out);
    t = example();
    t.nodes = &big;
    t.n_nodes = 1;
    t.to_us = 3660 * USEC_PER_DAY;
    assert_int_equal(timeline_svg(&t, &out), 0);
    assert_non_null(strstr(out.text, "</svg>"));
    assert_null(strstr(out.text, "100000"));
    buf_release(&out);
    buf_init(&out, 100);
    assert_int_equal(timeline_svg(&t, &out), E_LIMIT);
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_shows_jobs_sizes_batches_and_outages),
        cmocka_unit_test(timeline_is_the_same_twice),
        cmocka_unit_test(timeline_of_nothing_and_of_much_is_a_picture_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
