/* SPDX-License-Identifier: Apache-2.0 */
/* elastaned_options.c - one table; getopt_long and the help come from it.
 *
 * Settings that decisions depend on live in the state (core/config.h). One that is stated
 * here replaces the state's; one that is not stays as it is. */
#include "prog/elastaned_options.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "base/text.h"
#include "wire/pace.h"
#include "wire/quantity.h"

#define FOREIGN_MEM      ((int64_t)512 << 20) /* room for what drivers and desktops keep */
#define FOREIGN_CLEAN_US (30 * USEC_PER_SEC)
#define PATROL_US        (5 * USEC_PER_SEC)

#define LOG_KEEP_MIB 64
#define KEEP_JOBS    50000
#define KEEP_US      (90 * USEC_PER_DAY)

enum option_kind {
    OPTION_TEXT,
    OPTION_NUMBER,
    OPTION_SPAN,
    OPTION_BYTES,
    OPTION_WORD, /* one of those that a function names */
    OPTION_PACE,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_NOTHING
};

struct option_line {
    const char *name;
    const char *argument; /* NULL: takes none */
    const char *help;
    enum option_kind kind;
    unsigned given;
    size_t offset;
    size_t size;                    /* TEXT */
    int max;                        /* NUMBER: largest; WORD: how many */
    const char *(*word)(int value); /* WORD */
};

static const char *admission_word(int value)
{
    return config_admission_name((enum config_admission)value);
}

static const char *scaler_word(int value)
{
    return config_scaler_name((enum config_scaler)value);
}

#define AT(member) offsetof(struct options, member)
#define TEXT(member)                                                                     \
    .kind = OPTION_TEXT, .offset = AT(member),                                           \
    .size = sizeof(((struct options *)0)->member)
#define SPAN(member, bit) .kind = OPTION_SPAN, .offset = AT(config.member), .given = (bit)

static const struct option_line lines[] = {
    {"state", "DIR", "the state directory: journal, orders, logs", TEXT(state)},
    {"socket", "PATH", "where to listen", TEXT(socket)},
    {"devices", "N", "CPU slots of this machine, in place of its GPUs",
     .kind = OPTION_NUMBER, .offset = AT(devices), .max = NODE_DEVICES_MAX},
    {"node-name", "NAME", "what this machine is called (its host name)", TEXT(node)},
    {"policy", "NAME", "joint, fixed-min, fixed-max, fixed-base, fifo, ...",
     TEXT(config.policy), .given = GIVEN_POLICY},
    {"admission", "HOW", "queue, skip or drop: what an arrival does that does not fit",
     .kind = OPTION_WORD, .offset = AT(config.admission), .given = GIVEN_ADMISSION,
     .max = CONFIG_ADMISSION_MAX, .word = admission_word},
    {"scaler", "HOW", "payback or none: whether a move must pay for itself",
     .kind = OPTION_WORD, .offset = AT(config.scaler), .given = GIVEN_SCALER,
     .max = CONFIG_SCALER_MAX, .word = scaler_word},
    {"min-run", "SPAN", "a started job is left alone for so long",
     SPAN(min_run_us, GIVEN_MIN_RUN)},
    {"min-gap", "SPAN", "between two voluntary moves of one job",
     SPAN(min_gap_us, GIVEN_MIN_GAP)},
    {"admit-wait", "SPAN", "a job that waits longer may displace more",
     SPAN(admit_wait_us, GIVEN_ADMIT_WAIT)},
    {"interval", "SPAN", "plan at multiples of this only; 0: whenever it is needed",
     SPAN(interval_us, GIVEN_INTERVAL)},
    {"foreign-mem", "SIZE", "more GPU memory in use means that somebody else is on it",
     .kind = OPTION_BYTES, .offset = AT(foreign_mem)},
    {"foreign-clean", "SPAN",
     "a GPU is given out again when nobody was on it for so long", .kind = OPTION_SPAN,
     .offset = AT(foreign_clean_us)},
    {"patrol", "SPAN", "between two looks at the GPUs", .kind = OPTION_SPAN,
     .offset = AT(patrol_us)},
    {"pace", "PACE", "ELASTANE_PACE of all jobs: slots that stand in for GPUs",
     .kind = OPTION_PACE, .offset = AT(pace)},
    {"keep-jobs", "N", "ended jobs that are remembered (50000); 0: all",
     .kind = OPTION_NUMBER, .offset = AT(keep_jobs), .max = INT32_MAX},
    {"keep-history", "SPAN", "how long ended jobs are remembered (90d); 0: for ever",
     .kind = OPTION_SPAN, .offset = AT(keep_us)},
    {"log-keep", "MiB", "what is kept at least of the end of a rank's log (64); 0: all",
     .kind = OPTION_NUMBER, .offset = AT(log_keep_mib), .max = INT32_MAX},
    {"shim", "PATH", "elastane-shim (beside this program)", TEXT(shim)},
    {"foreground", NULL, "stay in the foreground; always so, named for service files",
     .kind = OPTION_NOTHING},
    {"help", NULL, "print this", .kind = OPTION_HELP},
    {"version", NULL, "print the version", .kind = OPTION_VERSION},
};

static void print_help(void)
{
    (void)puts("usage: elastaned [OPTION...]\n"
               "Schedules elastic training jobs on this machine.\n");
    for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
        char left[40];

        (void)snprintf(left, sizeof(left), "--%s%s%s", lines[i].name,
                       lines[i].argument ? " " : "",
                       lines[i].argument ? lines[i].argument : "");
        (void)printf("  %-20s %s\n", left, lines[i].help);
    }
    (void)puts("\nA SPAN is 30s, 5m, 1h30m. Defaults: elastaned(8).");
}

static int take_word(const struct option_line *line, const char *text, void *to,
                     struct err *err)
{
    for (int i = 0; i < line->max; i++)
        if (text_equal(line->word(i), text)) {
            memcpy(to, &i, sizeof(i)); /* an enum of ours is an int wide */
            return 0;
        }
    return err_field(err, E_INVALID, line->name, "does not know %s; see --help", text);
}

static int take_text(const struct option_line *line, const char *text, char *to,
                     struct err *err)
{
    if (text[0] == '\0' || strlen(text) >= line->size)
        return err_field(err, E_INVALID, line->name, "has 1 to %zu bytes",
                         line->size - 1);
    (void)snprintf(to, line->size, "%s", text);
    return 0;
}

static int take(const struct option_line *line, const char *text, struct options *o,
                struct err *err)
{
    char *to = (char *)o + line->offset;
    struct err why = {0};
    int64_t number = 0;
    int rc = 0;

    o->given |= line->given;
    switch (line->kind) {
    case OPTION_TEXT:
        return take_text(line, text, to, err);
    case OPTION_NUMBER:
        rc = text_parse_int(text, strlen(text), 0, line->max, &number, &why);
        *(int32_t *)(void *)to = (int32_t)number;
        break;
    case OPTION_SPAN:
        rc = span_parse(text, (usec_t *)(void *)to, &why);
        break;
    case OPTION_BYTES:
        rc = quantity_bytes(text, (int64_t *)(void *)to, &why);
        break;
    case OPTION_WORD:
        return take_word(line, text, to, err);
    case OPTION_PACE:
        rc = pace_check(text, &why);
        *(const char **)(void *)to = text;
        break;
    case OPTION_HELP:
    case OPTION_VERSION:
    case OPTION_NOTHING:
        break;
    }
    return rc < 0 ? err_field(err, rc, line->name, "%s", why.text) : 0;
}

enum options_verdict options_read(int argc, char **argv, struct options *ret,
                                  struct err *err)
{
    struct option table[ARRAY_SIZE(lines) + 1] = {{0}};
    int index = 0;
    int c;

    for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
        table[i] = (struct option){
            lines[i].name, lines[i].argument ? required_argument : no_argument, NULL, 0};
    *ret = (struct options){.devices = -1,
                            .foreign_mem = FOREIGN_MEM,
                            .foreign_clean_us = FOREIGN_CLEAN_US,
                            .patrol_us = PATROL_US,
                            .keep_jobs = KEEP_JOBS,
                            .keep_us = KEEP_US,
                            .log_keep_mib = LOG_KEEP_MIB};
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":", table, &index)) != -1) {
        if (c != 0) {
            (void)err_set(err, E_INVALID, "%s %s; see --help",
                          c == ':' ? "needs a value:" : "knows no option",
                          argv[optind - 1]);
            return OPTIONS_WRONG;
        }
        if (lines[index].kind == OPTION_HELP)
            print_help();
        if (lines[index].kind == OPTION_VERSION)
            (void)puts("elastaned " ELASTANE_VERSION);
        if (lines[index].kind == OPTION_HELP || lines[index].kind == OPTION_VERSION)
            return OPTIONS_DONE;
        if (take(&lines[index], optarg, ret, err) < 0)
            return OPTIONS_WRONG;
    }
    if (optind < argc) {
        (void)err_set(err, E_INVALID, "takes no argument: %s", argv[optind]);
        return OPTIONS_WRONG;
    }
    return options_complete(ret, err) < 0 ? OPTIONS_WRONG : OPTIONS_RUN;
}

void options_apply(const struct options *o, struct config *inout)
{
    if (o->given & GIVEN_POLICY)
        memcpy(inout->policy, o->config.policy, sizeof(inout->policy));
    if (o->given & GIVEN_ADMISSION)
        inout->admission = o->config.admission;
    if (o->given & GIVEN_SCALER)
        inout->scaler = o->config.scaler;
    if (o->given & GIVEN_MIN_RUN)
        inout->min_run_us = o->config.min_run_us;
    if (o->given & GIVEN_MIN_GAP)
        inout->min_gap_us = o->config.min_gap_us;
    if (o->given & GIVEN_ADMIT_WAIT)
        inout->admit_wait_us = o->config.admit_wait_us;
    if (o->given & GIVEN_INTERVAL)
        inout->interval_us = o->config.interval_us;
}
