/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "policy.h"

const MemCachePolicy *mem_cache_policy(uint32_t id) {
#define X(policy) &policy,
    static const MemCachePolicy *const policies[] = {MEM_CACHE_POLICIES(X)};
#undef X
    return id < sizeof(policies) / sizeof(*policies) ? policies[id] : NULL;
}
