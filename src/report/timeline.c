/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c - the picture of a run.
 *
 * Everything is laid out in whole pixels from integers, so no number depends on a locale
 * or on rounding. Colours: the hue of a job follows the golden angle over its place in
 * the list, which keeps neighbours apart however many there are; lightness alternates, so
 * that they differ in grey as well. A state is shown by the fill: full while it trains,
 * hatched while it starts, moves or stops. Where a cluster is too large for rows that can
 * be read, rows become thinner and at last share pixels. Left out: zooming (the picture
 * scales).
 */
#include "report/timeline.h"

#include <string.h>

#include "base/span.h"

#define LEFT        96 /* room for node names */
#define RIGHT       24
#define TOP_TITLE   34
#define AXIS        24
#define PLOT_WIDTH  1080
#define HEIGHT_MAX  1600 /* of the plot */
#define ROW_MAX     22
#define NODE_GAP    6
#define CHAR_WIDTH  7 /* of the label font, generously */
#define TICKS_AIM   9
#define LEGEND_ROW  20
#define LEGEND_COLS 6

struct layout {
    const struct timeline *t;
    struct buf *out;
    int32_t devices;
    int inner; /* height of all devices without the gaps */
    int gap;   /* between nodes */
    int top;   /* of the plot */
    int plot;  /* its height */
};

static void put_escaped(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        if (*p == '&')
            buf_puts(out, "&amp;");
        else if (*p == '<')
            buf_puts(out, "&lt;");
        else if (*p == '>')
            buf_puts(out, "&gt;");
        else if (*p == '"')
            buf_puts(out, "&quot;");
        else if ((unsigned char)*p < ' ')
            buf_putc(out, '?');
        else
            buf_putc(out, *p);
    }
}

static int x_of(const struct timeline *t, usec_t time_us)
{
    usec_t span = i64_max(t->to_us - t->from_us, 1);
    usec_t at = i64_min(i64_max(time_us - t->from_us, 0), span);

    /* in milliseconds, so that a year times the width fits */
    return LEFT +
           (int)(at / USEC_PER_MSEC * PLOT_WIDTH / i64_max(span / USEC_PER_MSEC, 1));
}

static size_t node_of(const struct timeline *t, int32_t device)
{
    size_t i = t->n_nodes;

    while (i > 1 && t->nodes[i - 1].first > device)
        i--;
    return i > 0 ? i - 1 : 0;
}

static int y_of(const struct layout *l, int32_t device)
{
    return l->top + (int)((int64_t)device * l->inner / l->devices) +
           (int)node_of(l->t, device) * l->gap;
}

/* Height of some devices of one node. */
static int height_of(const struct layout *l, int32_t first, int32_t count)
{
    return (int)((int64_t)(first + count) * l->inner / l->devices) -
           (int)((int64_t)first * l->inner / l->devices);
}

/* Place of the job in the list, or n_jobs. */
static size_t job_index(const struct timeline *t, uint32_t id)
{
    size_t low = 0;
    size_t high = t->n_jobs;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (t->jobs[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->n_jobs && t->jobs[low].id == id ? low : t->n_jobs;
}

static void put_colour(struct buf *out, size_t job)
{
    buf_printf(out, "hsl(%d,%d%%,%d%%)", (int)(job * 137508 / 1000 % 360), 58,
               job % 2 ? 68 : 78);
}

static void draw_head(const struct layout *l, int height)
{
    const struct timeline *t = l->t;

    buf_printf(l->out,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
               "width=\"%d\" height=\"%d\" role=\"img\" "
               "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>",
               LEFT + PLOT_WIDTH + RIGHT, height, LEFT + PLOT_WIDTH + RIGHT, height);
    put_escaped(l->out, t->title[0] ? t->title : "Timeline of devices");
    buf_puts(l->out, "</title>\n<defs>"
                     "<pattern id=\"move\" width=\"6\" height=\"6\" "
                     "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                     "<rect width=\"3\" height=\"6\" fill=\"#fff\" fill-opacity=\"0.6\"/>"
                     "</pattern></defs>\n");
    buf_printf(l->out, "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
               LEFT + PLOT_WIDTH + RIGHT, height);
    if (!t->title[0])
        return;
    buf_printf(l->out, "<text x=\"%d\" y=\"22\" font-size=\"15\">", LEFT);
    put_escaped(l->out, t->title);
    buf_puts(l->out, "</text>\n");
}

static void draw_nodes(const struct layout *l)
{
    for (size_t i = 0; i < l->t->n_nodes; i++) {
        const struct timeline_node *node = &l->t->nodes[i];
        int height = height_of(l, node->first, node->devices);
        int y = y_of(l, node->first);

        if (node->devices == 0)
            continue;
        buf_printf(l->out,
                   "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
                   "fill=\"#f3f4f6\"/>\n",
                   LEFT, y, PLOT_WIDTH, height);
        if (height < 10)
            continue;
        buf_printf(l->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT - 8,
                   y + height / 2 + 4);
        put_escaped(l->out, node->name);
        buf_puts(l->out, "</text>\n");
    }
}

/* The least round step that gives no more than TICKS_AIM ticks. */
static usec_t tick_step(usec_t span)
{
    static const int seconds[] = {
        1,      2,      5,      10,      20,      30,      60,      120,   300,
        600,    1200,   1800,   3600,    7200,    14400,   21600,   43200, 86400,
        172800, 432000, 604800, 1209600, 2592000, 7776000, 31536000};

    for (size_t i = 0; i < ARRAY_SIZE(seconds); i++)
        if (span / (seconds[i] * USEC_PER_SEC) <= TICKS_AIM)
            return seconds[i] * USEC_PER_SEC;
    return 10 * 365 * USEC_PER_DAY;
}

static void draw_axis(const struct layout *l)
{
    const struct timeline *t = l->t;
    usec_t step = tick_step(t->to_us - t->from_us);
    char clock[SPAN_TEXT_MAX];

    for (usec_t at = 0; at <= t->to_us - t->from_us; at += step) {
        int x = x_of(t, t->from_us + at);

        buf_printf(l->out,
                   "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"#cbd0d6\"/>\n",
                   x, l->top, x, l->top + l->plot + 4);
        buf_printf(l->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
                   x, l->top + l->plot + 18, span_clock(at, clock));
    }
}

static void put_rect(const struct layout *l, const struct sim_span *span)
{
    int x = x_of(l->t, span->from_us);
    int width = x_of(l->t, span->to_us) - x;
    int height = height_of(l, span->first, span->count);

    buf_printf(l->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x,
               y_of(l, span->first), i32_max(width, 1),
               i32_max(height > 4 ? height - 1 : height, 1));
}

/* What the pointer shows, and screen readers say. */
static void put_tooltip(const struct layout *l, const struct sim_span *span,
                        const char *name)
{
    char from[SPAN_TEXT_MAX];
    char to[SPAN_TEXT_MAX];

    buf_puts(l->out, "<title>");
    put_escaped(l->out, name);
    buf_printf(l->out, " %s: %d gpu", job_state_name(span->state), span->size);
    if (span->global_batch > 0)
        buf_printf(l->out, ", batch %d", span->global_batch);
    buf_printf(l->out, ", %s to %s</title>",
               span_clock(span->from_us - l->t->from_us, from),
               span_clock(span->to_us - l->t->from_us, to));
}

/* The longest of three labels that fits, or none. */
static void put_label(const struct layout *l, const struct sim_span *span,
                      const char *name)
{
    int x = x_of(l->t, span->from_us);
    int room = (x_of(l->t, span->to_us) - x - 8) / CHAR_WIDTH;
    int height = height_of(l, span->first, span->count);
    int n = (int)strlen(name);

    if (height < 14 || room < n)
        return;
    buf_printf(l->out, "<text x=\"%d\" y=\"%d\" pointer-events=\"none\">", x + 4,
               y_of(l, span->first) + height / 2 + 4);
    put_escaped(l->out, name);
    if (room >= n + 8)
        buf_printf(l->out, "  %d gpu", span->size);
    if (room >= n + 20 && span->global_batch > 0)
        buf_printf(l->out, ", batch %d", span->global_batch);
    buf_puts(l->out, "</text>\n");
}

static void draw_span(const struct layout *l, const struct sim_span *span)
{
    size_t job = job_index(l->t, span->job);
    const char *name = job < l->t->n_jobs ? l->t->jobs[job].name : "?";

    put_rect(l, span);
    put_colour(l->out, job);
    buf_puts(l->out, "\">");
    put_tooltip(l, span, name);
    buf_puts(l->out, "</rect>\n");
    if (span->state == JOB_RUNNING) {
        put_label(l, span, name);
        return;
    }
    put_rect(l, span);
    buf_puts(l->out, "url(#move)\" pointer-events=\"none\"/>\n");
}

static void draw_outage(const struct layout *l, const struct sim_outage *outage)
{
    int x = x_of(l->t, outage->from_us);
    int width = x_of(l->t, outage->to_us) - x;
    int height = height_of(l, outage->first, outage->count);

    if (outage->count == 0 || outage->to_us <= l->t->from_us)
        return;
    buf_printf(l->out,
               "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"#57606a\" "
               "fill-opacity=\"0.75\"><title>lost</title></rect>\n",
               x, y_of(l, outage->first), i32_max(width, 1), height);
    if (height >= 14 && width >= 40)
        buf_printf(l->out, "<text x=\"%d\" y=\"%d\" fill=\"#fff\">lost</text>\n", x + 4,
                   y_of(l, outage->first) + height / 2 + 4);
}

static size_t legend_rows(const struct timeline *t)
{
    size_t entries = t->n_jobs < 60 ? t->n_jobs : 0; /* beyond, labels must do */

    return (entries + LEGEND_COLS) / LEGEND_COLS; /* one more entry: the hatching */
}

static void draw_legend(const struct layout *l)
{
    const struct timeline *t = l->t;
    size_t n = t->n_jobs < 60 ? t->n_jobs : 0;
    int width = PLOT_WIDTH / LEGEND_COLS;

    for (size_t i = 0; i <= n; i++) {
        int x = LEFT + (int)(i % LEGEND_COLS) * width;
        int y = l->top + l->plot + AXIS + 10 + (int)(i / LEGEND_COLS) * LEGEND_ROW;

        buf_printf(l->out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"",
                   x, y);
        if (i < n)
            put_colour(l->out, i);
        else
            buf_puts(l->out, "#9aa2ab");
        buf_puts(l->out, "\"/>\n");
        if (i == n)
            buf_printf(l->out,
                       "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" "
                       "fill=\"url(#move)\"/>\n",
                       x, y);
        buf_printf(l->out, "<text x=\"%d\" y=\"%d\">", x + 18, y + 11);
        put_escaped(l->out, i < n ? t->jobs[i].name : "starts, moves or stops");
        buf_puts(l->out, "</text>\n");
    }
}

int timeline_svg(const struct timeline *t, struct buf *out)
{
    struct layout l = {.t = t, .out = out, .devices = 1};
    int row;

    for (size_t i = 0; i < t->n_nodes; i++)
        l.devices = i32_max(l.devices, t->nodes[i].first + t->nodes[i].devices);
    l.inner = (int)i64_min((int64_t)l.devices * ROW_MAX, HEIGHT_MAX);
    row = l.inner / l.devices;
    l.gap = row >= 8 ? NODE_GAP : row > 1 ? 1 : 0;
    l.top = t->title[0] ? TOP_TITLE : 12;
    l.plot = l.inner + (int)(t->n_nodes > 0 ? t->n_nodes - 1 : 0) * l.gap;
    draw_head(&l, l.top + l.plot + AXIS + 16 + (int)legend_rows(t) * LEGEND_ROW);
    draw_nodes(&l);
    draw_axis(&l);
    for (size_t i = 0; i < t->n_spans; i++)
        draw_span(&l, &t->spans[i]);
    for (size_t i = 0; i < t->n_outages; i++)
        draw_outage(&l, &t->outages[i]);
    draw_legend(&l);
    buf_puts(out, "</svg>\n");
    return buf_error(out);
}
