/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On which NUMA nodes working copies lie. SNAPSHOT_NODES names them, as "1" or "0,1"; without it the kernel chooses.
 * Several share the pages in proportion to their weights in /sys/kernel/mm/mempolicy/weighted_interleave, so that a
 * working copy can be larger than the DRAM it is to have: the rest is on a node of CXL memory.
 */
#define _GNU_SOURCE
#include "arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* linux/mempolicy.h is not on every system, and the newest of these modes not in every one that is. */
enum { POLICY_BIND = 2, POLICY_WEIGHTED_INTERLEAVE = 6 };

#define NODES_MAX 64u

/* A bit for each node; 0: not a list of nodes. */
static uint64_t nodes_of(const char *text) {
    uint64_t nodes = 0;
    for (char *end = NULL;; text = end + 1) {
        if (*text < '0' || *text > '9')
            return 0;
        unsigned long node = strtoul(text, &end, 10);
        if (node >= NODES_MAX || (*end && *end != ','))
            return 0;
        nodes |= 1ull << node;
        if (!*end)
            return nodes;
    }
}

static int place(uint8_t *address, uint64_t bytes, uint64_t nodes) {
    int policy = nodes & (nodes - 1) ? POLICY_WEIGHTED_INTERLEAVE : POLICY_BIND;
    if (madvise(address, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* EINVAL: this kernel has none */
        return -errno;
    return syscall(SYS_mbind, address, bytes, policy, &nodes, NODES_MAX + 1, 0) < 0 ? -errno : 0;
}

/*
 * Pages that were not touched yet go where SNAPSHOT_NODES says, by 4 KiB, so that the shares hold for small files too.
 * 0, -EINVAL with a line on stderr if it is no list of nodes that have memory, or what mbind returns.
 */
int placement_apply(uint8_t *address, uint64_t bytes) {
    const char *text = getenv("SNAPSHOT_NODES");
    if (!text || !*text || bytes == 0)
        return 0;
    uint64_t nodes = nodes_of(text);
    int status = nodes ? place(address, bytes, nodes) : -EINVAL;
    if (status == -EINVAL)
        fprintf(stderr, "snapshot: SNAPSHOT_NODES=%s: write NUMA nodes with memory, as 1 or 0,1 (Linux 6.9)\n", text);
    return status;
}
