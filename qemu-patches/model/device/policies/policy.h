/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replacement policies of the device cache. A policy sees each page that is filled,
 * each hit and each page that leaves, and selects the frame to give up.
 *
 * To add a policy: write NAME.c with a `const MemCachePolicy mem_policy_NAME`
 * (sources.list names the files), add its line to MEM_CACHE_POLICIES, and its name
 * to MEM_POLICY_CHOICES in config/device.h, at the same position.
 *
 * Set s has the frames from s * ways on, filled in this order while the set has
 * empty frames. The state must be valid when it is all zeroes (mem_calloc), because
 * the memory of a large cache is not touched before it is used. Every call takes
 * constant time, if need be on average. Nothing may depend on time or addresses.
 */
#ifndef MODEL_POLICY_H
#define MODEL_POLICY_H

#include "../../base/units.h"

typedef struct MemPolicyShape {
    uint32_t sets;
    uint32_t ways;
    uint64_t seed;
} MemPolicyShape;

typedef struct MemCachePolicy {
    const char *name;
    void *(*create)(const MemPolicyShape *shape);
    void (*destroy)(void *state);
    /* The page in this frame was read or written. */
    void (*hit)(void *state, uint32_t set, uint32_t frame);
    /* The set is full and `page` wants a frame: returns the frame to give up. removed() and filled() follow for it. */
    uint32_t (*victim)(void *state, uint32_t set, uint64_t page);
    void (*removed)(void *state, uint32_t set, uint32_t frame, uint64_t page);
    void (*filled)(void *state, uint32_t set, uint32_t frame, uint64_t page);
} MemCachePolicy;

/* One line each, in the order of MemCachePolicyId. */
#define MEM_CACHE_POLICIES(X)                                                                                          \
    X(mem_policy_lru)                                                                                                  \
    X(mem_policy_fifo)                                                                                                 \
    X(mem_policy_clock)                                                                                                \
    X(mem_policy_2q)                                                                                                   \
    X(mem_policy_s3_fifo)                                                                                              \
    X(mem_policy_random)

#define X(policy) extern const MemCachePolicy policy;
MEM_CACHE_POLICIES(X)
#undef X

/* The policy with that number, or NULL. */
const MemCachePolicy *mem_cache_policy(uint32_t id);

#endif
