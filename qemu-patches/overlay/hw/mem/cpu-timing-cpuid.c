/*
 * The caches that CPUID reports to a guest: the timed ones and not the CPU
 * model's, since libraries and programs size themselves by CPUID.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/mem/cpu-timing.h"
#include "qemu/units.h"
#include "system/vcpu-clocks.h"

enum { DATA = 1, INSTRUCTIONS = 2, UNIFIED = 3 };

/* Kept bits: the sharing of a cache, which follows from the machine. */
#define SHARING 0xffffc000

/* Leaf 1, ECX. */
#define MONITOR (1u << 3)

/* Code for "see leaf 8000001D" (AMD64 manual, volume 3, E.4.5). */
#define WAYS_ELSEWHERE 9

static uint64_t sets_of(const MemCacheConfig *cache)
{
    return cache->size_bytes / cache->ways / MEMSYS_LINE_BYTES;
}

/* Leaves 4 and 8000001D: cache number @count; no change past the last one. */
static void describe_cache(const MemCpuConfig *cpu, uint32_t count,
                           uint32_t regs[4])
{
    /* Instruction fetch is not timed: the L1I is reported like the L1D. */
    const struct {
        const MemCacheConfig *cache;
        unsigned type, level;
    } caches[] = {
        { &cpu->l1d, DATA, 1 }, { &cpu->l1d, INSTRUCTIONS, 1 },
        { &cpu->l2, UNIFIED, 2 }, { &cpu->llc, UNIFIED, 3 },
    };

    if (count >= ARRAY_SIZE(caches) || !regs[0]) {
        return;
    }
    regs[0] = (regs[0] & SHARING) | 1 << 8 /* self-initialising */ |
              caches[count].level << 5 | caches[count].type;
    regs[1] = (caches[count].cache->ways - 1) << 22 | (MEMSYS_LINE_BYTES - 1);
    regs[2] = sets_of(caches[count].cache) - 1;
    regs[3] = 0; /* neither inclusive nor hashed */
}

static uint32_t kib(const MemCacheConfig *cache, uint32_t most)
{
    return MIN(cache->size_bytes / KiB, most);
}

/* Leaf 80000005: size in KiB, ways, lines per tag (1), bytes of a line. */
static uint32_t l1_word(const MemCacheConfig *l1)
{
    return kib(l1, 0xff) << 24 | l1->ways << 16 | 1 << 8 | MEMSYS_LINE_BYTES;
}

/* Leaf 80000006: the same without the ways; L3 in units of 512 KiB. */
static void describe_outer(const MemCpuConfig *cpu, uint32_t regs[4])
{
    const uint32_t rest = WAYS_ELSEWHERE << 12 | 1 << 8 | MEMSYS_LINE_BYTES;

    regs[2] = kib(&cpu->l2, 0xffff) << 16 | rest;
    regs[3] = MIN(cpu->llc.size_bytes / (512 * KiB), 0x3fff) << 18 | rest;
}

void cpu_timing_cpuid(uint32_t leaf, uint32_t count, uint32_t regs[4])
{
    const MemCpuConfig *cpu = cpu_timing_config();

    if (!cpu) {
        return;
    }
    switch (leaf) {
    case 1:
        if (vcpu_clocks_on) { /* with several vCPUs MWAIT does not wait */
            regs[2] &= ~MONITOR;
        }
        break;
    case 2:
        if (regs[0]) { /* not hidden: the descriptor for "see leaf 4" */
            regs[2] = 0;
            regs[3] = 0xff;
        }
        break;
    case 4:
    case 0x8000001D:
        describe_cache(cpu, count, regs);
        break;
    case 0x80000005:
        regs[2] = regs[3] = l1_word(&cpu->l1d);
        break;
    case 0x80000006:
        describe_outer(cpu, regs);
        break;
    }
}
