/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement of working copies on NUMA nodes. SNAPSHOT_NODES names the nodes, as "1" or "0,1"; without it the kernel
 * chooses. Several nodes share the pages in proportion to their weights in
 * /sys/kernel/mm/mempolicy/weighted_interleave. So a working copy can be larger than its share of DRAM: the rest lies
 * on a node of CXL memory.
 */
#define _GNU_SOURCE
#include "arena.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Not every system has linux/mempolicy.h, and older versions of it lack the newest of these modes. */
enum { POLICY_BIND = 2, POLICY_WEIGHTED_INTERLEAVE = 6 };

#define NODES_MAX 64u

/* One bit per node; 0: the text is not a list of nodes. */
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
    if (madvise(address, bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL) /* EINVAL: the kernel has no huge pages */
        return -errno;
    return syscall(SYS_mbind, address, bytes, policy, &nodes, NODES_MAX + 1, 0) < 0 ? -errno : 0;
}

/*
 * Place untouched pages on the nodes in SNAPSHOT_NODES, in units of 4 KiB, so that the shares hold for small files too.
 * Returns 0, -EINVAL with a line on stderr if the variable is no list of nodes with memory, or the error of mbind.
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
