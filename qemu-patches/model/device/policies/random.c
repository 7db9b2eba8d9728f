/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random: any page of the set may leave. The n-th draw is a hash of the seed and n, the same on every host. */
#include <stdlib.h>

#include "../../base/mem_alloc.h"
#include "../../base/mem_hash.h"
#include "policy.h"

typedef struct Random {
    uint64_t seed;
    uint64_t draws;
    uint32_t ways;
} Random;

static void *random_create(const MemPolicyShape *shape) {
    Random *s = mem_calloc(1, sizeof(*s));
    *s = (Random){.seed = shape->seed, .ways = shape->ways};
    return s;
}

static void random_hit(void *state, uint32_t set, uint32_t frame) {
    (void)state;
    (void)set;
    (void)frame;
}

/* SplitMix64: a counter in steps of the golden ratio, mixed. */
static uint32_t random_victim(void *state, uint32_t set, uint64_t page) {
    Random *s = state;
    uint64_t draw = mem_hash_mix(s->seed + ++s->draws * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    (void)page;
    return set * s->ways + (uint32_t)((draw * s->ways) >> 32);
}

static void random_changed(void *state, uint32_t set, uint32_t frame, uint64_t page) {
    (void)state;
    (void)set;
    (void)frame;
    (void)page;
}

const MemCachePolicy mem_policy_random = {
    .name = "random",
    .create = random_create,
    .destroy = free,
    .hit = random_hit,
    .victim = random_victim,
    .removed = random_changed,
    .filled = random_changed,
};
