/* SPDX-License-Identifier: Apache-2.0 */
/* api_dump.c - what a C program sees of libelastane, as JSON, for comparison with Python.
 *
 *     api_dump layout                          sizes and offsets of the public structs
 *     api_dump ledger SEED N B SIZE STEPS      each step of each rank: its samples'
 * indices
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libelastane/elastane.h"

#define IDS_MAX 4096

struct field {
    const char *type;
    const char *name;
    size_t offset;
};

#define PLAN(f)                                                                          \
    {                                                                                    \
        "Plan", #f, offsetof(struct elastane_plan, f)                                    \
    }
#define BATCH(f)                                                                         \
    {                                                                                    \
        "Batch", #f, offsetof(struct elastane_batch, f)                                  \
    }
#define CHECKPOINT(f)                                                                    \
    {                                                                                    \
        "Checkpoint", #f, offsetof(struct elastane_checkpoint, f)                        \
    }

static const struct field fields[] = {
    PLAN(generation),
    PLAN(rank),
    PLAN(size),
    PLAN(local_rank),
    PLAN(global_batch),
    PLAN(micro_batch),
    PLAN(accumulation),
    PLAN(base_batch),
    PLAN(lr_rule),
    PLAN(restart_count),
    PLAN(lr_from_ppm),
    PLAN(lr_to_ppm),
    PLAN(ramp_start),
    PLAN(ramp_samples),
    PLAN(grace_us),
    {"Plan", "", sizeof(struct elastane_plan)},
    BATCH(epoch),
    BATCH(position),
    BATCH(samples),
    BATCH(own_offset),
    BATCH(own_samples),
    BATCH(accumulation),
    BATCH(weight),
    {"Batch", "", sizeof(struct elastane_batch)},
    CHECKPOINT(samples_done),
    CHECKPOINT(dataset_size),
    CHECKPOINT(seed),
    CHECKPOINT(step),
    CHECKPOINT(generation),
    CHECKPOINT(data_bytes),
    CHECKPOINT(manifest),
    CHECKPOINT(path),
    {"Checkpoint", "", sizeof(struct elastane_checkpoint)},
};

static int dump_layout(void)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        printf("%s[\"%s\", \"%s\", %zu]", i > 0 ? ", " : "[", fields[i].type,
               fields[i].name, fields[i].offset);
    printf("]\n");
    return 0;
}

static int dump_step(const struct elastane_plan *plan, uint64_t seed, int64_t n,
                     int64_t done, struct elastane_batch *batch)
{
    static int64_t ids[IDS_MAX];

    if (elastane_next_batch(plan, n, done, batch) < 0 || batch->own_samples > IDS_MAX ||
        elastane_indices(seed, n, batch->position + batch->own_offset, batch->own_samples,
                         ids) < 0)
        return 1;
    printf("[%d", plan->rank);
    for (int32_t i = 0; i < batch->own_samples; i++)
        printf(", %" PRId64, ids[i]);
    printf("]");
    return 0;
}

static int dump_ledger(char **words)
{
    uint64_t seed = strtoull(words[0], NULL, 10);
    int64_t n = strtoll(words[1], NULL, 10);
    struct elastane_plan plan = {.global_batch = (int32_t)strtol(words[2], NULL, 10),
                                 .size = (int32_t)strtol(words[3], NULL, 10),
                                 .accumulation = 1};
    struct elastane_batch batch = {0};
    int64_t steps = strtoll(words[4], NULL, 10);
    int64_t done = 0;
    int bad = 0;

    printf("[");
    for (int64_t step = 0; step < steps && !bad; step++) {
        for (plan.rank = 0; plan.rank < plan.size && !bad; plan.rank++) {
            printf("%s", step + plan.rank > 0 ? ", " : "");
            bad = dump_step(&plan, seed, n, done, &batch);
        }
        done += batch.samples;
    }
    printf("]\n");
    return bad;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "layout") == 0)
        return dump_layout();
    if (argc == 7 && strcmp(argv[1], "ledger") == 0)
        return dump_ledger(argv + 2);
    return 2;
}
