/*
 * Timed memory: counts how the guest's kernel maps files on the devices, and
 * how many of their lines it flushes. QEMU counts, because a tracer in the
 * guest would take virtual time.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "cpu.h"
#include "timed-mem-internal.h"

TimedMemMappings timed_mem_mappings;

/*
 * Page faults that the guest's kernel is handling, by process and page. The
 * kernel may handle several at once, and a fault that ends in a signal leaves
 * its entry here. So an entry can be overwritten, which loses one count and
 * nothing else.
 */
#define PENDING_FAULTS 4096

static struct PendingFault {
    hwaddr page_table;
    vaddr page; /* 0: no fault, as Linux maps nothing there */
} pending[PENDING_FAULTS];

static struct PendingFault *pending_fault(hwaddr page_table, vaddr page)
{
    uint64_t hash = (page_table ^ page) >> TARGET_PAGE_BITS;

    return &pending[(hash ^ hash >> 18) % PENDING_FAULTS];
}

void timed_mem_page_fault(CPUState *cpu, vaddr addr)
{
    hwaddr page_table = timed_mem_page_table(cpu);
    vaddr page = addr & TARGET_PAGE_MASK;

    *pending_fault(page_table, page) =
        (struct PendingFault) { page_table, page };
}

void timed_mem_page_mapped(CPUState *cpu, vaddr addr, hwaddr paddr,
                           uint64_t size, int mmu_idx)
{
    hwaddr page_table = timed_mem_page_table(cpu);
    vaddr page = addr & TARGET_PAGE_MASK;
    struct PendingFault *fault = pending_fault(page_table, page);

    if (timed_mem_mode == TIMED_MEM_OFF || mmu_idx >= TIMED_MEM_DATA_MODES ||
        fault->page != page || fault->page_table != page_table) {
        return;
    }
    fault->page = 0;
    if (!memsys_is_persistent(timed_mem_model, paddr)) {
        return;
    }
    if (size > TARGET_PAGE_SIZE) {
        timed_mem_mappings.page_faults_2m++;
    } else {
        timed_mem_mappings.page_faults_4k++;
    }
}

void timed_mem_kernel_flush(hwaddr paddr)
{
    if (memsys_is_persistent(timed_mem_model, paddr)) {
        timed_mem_mappings.kernel_flushes++;
    }
}

void timed_mem_system_call(uint32_t number)
{
    switch (number) { /* of x86-64 Linux */
    case 26:  /* msync */
    case 74:  /* fsync */
    case 75:  /* fdatasync */
    case 162: /* sync */
    case 277: /* sync_file_range */
    case 306: /* syncfs */
        timed_mem_mappings.sync_calls++;
        break;
    }
}
