/*
 * CXL memory-semantic SSD: the doorbell, by which the guest's programs request
 * operations that are not memory accesses. timed-mem.h describes how to ring
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "system/cpu-timers.h"

/* Operations: values of ECX. */
enum {
    DOORBELL_QUERY,
    DOORBELL_ROI_BEGIN,
    DOORBELL_ROI_END,
    DOORBELL_RESET_COUNTERS,
    DOORBELL_POWER_CUT,
    DOORBELL_MARK,
    DOORBELL_WBARRIER,
    DOORBELL_AWAIT_JOB,
    DOORBELL_HOT_PAGE,
};

static const uint32_t doorbell_signature[3] = {
    0x2d4c5843, 0x54445353, 1   /* "CXL-", "SSDT", version */
};

/*
 * Operations that must not happen while the vCPU runs guest code. Each is
 * queued as work for the vCPU: the block ends, and nothing else runs before the
 * work is done.
 */

static void roi_begin_work(CPUState *cpu, run_on_cpu_data id)
{
    cxl_ssd_roi_begin(cpu, id.host_int);
}

static void roi_end_work(CPUState *cpu, run_on_cpu_data unused)
{
    cxl_ssd_roi_end(cpu);
}

static void reset_counters_work(CPUState *cpu, run_on_cpu_data unused)
{
    cxl_ssd_reset_counters();
}

static void power_cut_work(CPUState *cpu, run_on_cpu_data unused)
{
    cxl_ssd_power_cut();
}

static void doorbell(CPUState *cpu, uint32_t op, uint32_t arg,
                     uint32_t reply[3])
{
    switch (op) {
    case DOORBELL_QUERY:
        memcpy(reply, doorbell_signature, sizeof(doorbell_signature));
        break;
    case DOORBELL_ROI_BEGIN:
        async_run_on_cpu(cpu, roi_begin_work, RUN_ON_CPU_HOST_INT(arg));
        break;
    case DOORBELL_ROI_END:
        async_run_on_cpu(cpu, roi_end_work, RUN_ON_CPU_NULL);
        break;
    case DOORBELL_RESET_COUNTERS:
        async_run_on_cpu(cpu, reset_counters_work, RUN_ON_CPU_NULL);
        break;
    case DOORBELL_POWER_CUT:
        async_run_on_cpu(cpu, power_cut_work, RUN_ON_CPU_NULL);
        break;
    case DOORBELL_MARK:
        cxl_ssd_mark(arg);
        timed_mem_tell(cpu, MEM_JOURNAL_MARK, arg, 0);
        break;
    case DOORBELL_WBARRIER:
        icount_charge_ps(cpu, memsys_barrier(timed_mem_memsys(),
                                             cpu->cpu_index,
                                             timed_mem_now_ps()));
        timed_mem_tell(cpu, MEM_JOURNAL_BARRIER, 0, 0);
        break;
    case DOORBELL_AWAIT_JOB:
        cxl_ssd_job_ask(cpu);
        break;
    case DOORBELL_HOT_PAGE:
        cxl_ssd_hot_page(arg >> 24, arg & 0xffffff, reply);
        break;
    }
}

void cxl_ssd_doorbell_init(void)
{
    timed_mem_doorbell = doorbell;
}
