/* SPDX-License-Identifier: Apache-2.0 */
/* scn_world.c - lines about the world as a whole: nodes, delays, settings. */
#include "sim/scn_read.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "core/policy/policy.h"

static int add_node(struct scenario *scn, struct scn_line *line,
                    const struct scn_node *node)
{
    struct scn_node *n;

    if (scenario_find_node(scn, node->name) >= 0)
        return scn_fail(line, "node", "'%s' is there already; give another name",
                        node->name);
    n = scenario_add_node(scn);
    if (!n)
        return scn->n_nodes < NODES_MAX ? E_NOMEM : E_LIMIT;
    *n = *node;
    return 0;
}

/* cluster 2 nodes x 2 gpu [type NAME] */
int scn_read_cluster(struct scenario *scn, struct scn_line *line)
{
    struct scn_node node = {0};
    size_t first = scn->n_nodes + 1;
    int64_t nodes = 0;
    int64_t devices = 0;
    int rc = scn_count(line, "cluster", 0, NODES_MAX - (int64_t)scn->n_nodes, &nodes);

    if (rc == 0)
        rc = scn_expect(line, "cluster", "nodes");
    if (rc == 0)
        rc = scn_expect(line, "cluster", "x");
    if (rc == 0)
        rc = scn_count(line, "cluster", 0, NODE_DEVICES_MAX, &devices);
    if (rc == 0)
        rc = scn_expect(line, "cluster", "gpu");
    if (rc == 0 && scn_take(line, "type"))
        rc = scn_name(line, "type", node.device_type);
    node.devices = (int32_t)devices;
    for (size_t i = 0; rc == 0 && i < (size_t)nodes; i++) {
        (void)snprintf(node.name, sizeof node.name, "n%zu", first + i);
        rc = add_node(scn, line, &node);
    }
    return rc;
}

/* node NAME 8 gpu [type NAME] [at T] */
int scn_read_node(struct scenario *scn, struct scn_line *line)
{
    struct scn_node node = {0};
    int64_t devices = 0;
    int rc = scn_name(line, "node", node.name);

    if (rc == 0)
        rc = scn_count(line, "node", 0, NODE_DEVICES_MAX, &devices);
    if (rc == 0)
        rc = scn_expect(line, "node", "gpu");
    if (rc == 0 && scn_take(line, "type"))
        rc = scn_name(line, "type", node.device_type);
    if (rc == 0 && scn_take(line, "at"))
        rc = scn_span(line, "at", &node.at_us);
    node.devices = (int32_t)devices;
    return rc < 0 ? rc : add_node(scn, line, &node);
}

/* delays start 20s, save 5s, ... */
int scn_read_delays(struct scenario *scn, struct scn_line *line)
{
    static const char *const names[] = {"start",  "restart", "save", "stop",   "detect",
                                        "commit", "resend",  "perf", "warm_up"};
    struct scn_delays *d = &scn->delays;
    usec_t *const spans[] = {&d->start_us,  &d->restart_us, &d->save_us,
                             &d->stop_us,   &d->detect_us,  &d->commit_us,
                             &d->resend_us, &d->perf_us,    &d->warm_up_us};
    int which = 0;
    int rc;

    do {
        rc = scn_choice(line, "delays", names, (int)ARRAY_SIZE(names), &which);
        if (rc == 0)
            rc = scn_span(line, names[which], spans[which]);
    } while (rc == 0 && scn_take(line, ","));
    return rc;
}

/* policy NAME [queue|skip|drop] */
static int read_policy(struct scn_line *line, struct config *config)
{
    static const char *const admissions[] = {"queue", "skip", "drop"};
    const char *next;
    int choice = 0;
    int rc = scn_name(line, "policy", config->policy);

    if (rc < 0)
        return rc;
    if (!policy_find(config->policy)) {
        struct err why = {0};

        (void)config_check(config, &why); /* names those there are */
        return scn_fail(line, "policy", "%s", why.text);
    }
    next = scn_peek(line);
    if (!next || strcmp(next, "at") == 0)
        return 0;
    rc = scn_choice(line, "policy", admissions, CONFIG_ADMISSION_MAX, &choice);
    config->admission = rc == 0 ? (enum config_admission)choice : config->admission;
    return rc;
}

static int read_scaler(struct scn_line *line, struct config *config)
{
    static const char *const scalers[] = {"payback", "none"};
    int choice = 0;
    int rc = scn_choice(line, "scaler", scalers, CONFIG_SCALER_MAX, &choice);

    config->scaler = rc == 0 ? (enum config_scaler)choice : config->scaler;
    return rc;
}

/* set min_run 60s [, KEY T] */
static int read_set(struct scn_line *line, struct config *config)
{
    static const char *const names[] = {"interval",   "min_run", "min_gap",
                                        "admit_wait", "reserve", "stall_guess"};
    usec_t *const spans[] = {&config->interval_us, &config->min_run_us,
                             &config->min_gap_us,  &config->admit_wait_us,
                             &config->reserve_us,  &config->stall_guess_us};
    int which = 0;
    int rc;

    do {
        rc = scn_choice(line, "set", names, (int)ARRAY_SIZE(names), &which);
        if (rc == 0)
            rc = scn_span(line, names[which], spans[which]);
    } while (rc == 0 && scn_take(line, ","));
    return rc;
}

/* The settings as the last line above has left them. */
static const struct config *newest_config(const struct scenario *scn)
{
    const struct config *config = &scn->config;

    for (size_t i = 0; i < scn->n_actions; i++)
        if (scn->actions[i].kind == SCN_CONFIG)
            config = scn->actions[i].config;
    return config;
}

static int add_config(struct scenario *scn, const struct config *config, usec_t at_us)
{
    struct scn_action *action = scenario_add_action(scn);

    if (!action)
        return scn->n_actions < SCN_ACTIONS_MAX ? E_NOMEM : E_LIMIT;
    action->kind = SCN_CONFIG;
    action->at_us = at_us;
    action->config = mem_new(1, sizeof *config);
    if (!action->config)
        return E_NOMEM;
    *action->config = *config;
    return 0;
}

int scn_read_config(struct scenario *scn, struct scn_line *line)
{
    struct config config = *newest_config(scn);
    usec_t at_us = 0;
    int rc;

    if (scn_take(line, "policy"))
        rc = read_policy(line, &config);
    else if (scn_take(line, "scaler"))
        rc = read_scaler(line, &config);
    else
        rc = scn_expect(line, "set", "set");
    if (rc == 0 && strcmp(line->words[0], "set") == 0)
        rc = read_set(line, &config);
    if (rc == 0 && scn_take(line, "at"))
        rc = scn_span(line, "at", &at_us);
    if (rc < 0)
        return rc;
    if (at_us > 0)
        return add_config(scn, &config, at_us);
    if (newest_config(scn) != &scn->config)
        return scn_fail(line, line->words[0],
                        "holds from the start; put it above the settings with 'at'");
    scn->config = config;
    return 0;
}
