/* SPDX-License-Identifier: Apache-2.0 */
/* rank_argv.c - see rank_argv.h. */
#include "shim/rank_argv.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "shim/rank_env.h"

#define WORD_MAX_BYTES ((size_t)128 << 10)
#define N_NAMES        5

struct place {
    const char *name; /* with its braces */
    char value[256];
};

static void places_fill(const struct order *order, int32_t master_port,
                        struct place places[N_NAMES])
{
    const char *addr = order->master_addr ? order->master_addr : "127.0.0.1";
    int32_t n_nodes = order->n_nodes > 0 ? order->n_nodes : 1;

    places[0].name = "{nproc}";
    (void)snprintf(places[0].value, sizeof(places[0].value), "%d", order->n_ranks);
    places[1].name = "{nnodes}";
    (void)snprintf(places[1].value, sizeof(places[1].value), "%d", n_nodes);
    places[2].name = "{node_rank}";
    (void)snprintf(places[2].value, sizeof(places[2].value), "%d", order->node_rank);
    places[3].name = "{master_addr}";
    (void)snprintf(places[3].value, sizeof(places[3].value), "%s", addr);
    places[4].name = "{master_port}";
    (void)snprintf(places[4].value, sizeof(places[4].value), "%d", master_port);
}

/* The place whose name stands at p, or NULL. */
static const struct place *place_at(const struct place places[N_NAMES], const char *p)
{
    for (int i = 0; *p == '{' && i < N_NAMES; i++)
        if (strncmp(p, places[i].name, strlen(places[i].name)) == 0)
            return &places[i];
    return NULL;
}

static int add_filled(struct order_words *words, const struct place places[N_NAMES],
                      const char *word)
{
    struct buf filled;
    int rc;

    buf_init(&filled, WORD_MAX_BYTES);
    for (const char *p = word; *p;) {
        const struct place *place = place_at(places, p);

        if (place) {
            buf_puts(&filled, place->value);
            p += strlen(place->name);
        } else {
            buf_putc(&filled, *p++);
        }
    }
    rc = buf_error(&filled);
    if (rc == 0)
        rc = order_words_add(words, filled.len > 0 ? filled.text : "");
    buf_release(&filled);
    return rc;
}

int rank_argv_build(const struct order *order, int32_t master_port,
                    struct order_words *ret)
{
    struct place places[N_NAMES];
    struct order_words words = {0};
    int rc = 0;

    places_fill(order, master_port, places);
    for (size_t i = 0; rc == 0 && i < order->argv.n; i++)
        rc = order->launch == LAUNCH_RANK
                 ? order_words_add(&words, order->argv.words[i])
                 : add_filled(&words, places, order->argv.words[i]);
    if (rc < 0) {
        rank_env_release(&words);
        return rc;
    }
    *ret = words;
    return 0;
}
