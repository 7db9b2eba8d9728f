/*
 * CXL memory-semantic SSD: the guest's doorbell and what it records: regions
 * of interest with their counters, progress marks, power cuts; and their query.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"
#include "system/cpu-timers.h"
#include "trace.h"

/* Operations of the doorbell: what the guest puts in ECX. */
enum {
    DOORBELL_QUERY,
    DOORBELL_ROI_BEGIN,
    DOORBELL_ROI_END,
    DOORBELL_RESET_COUNTERS,
    DOORBELL_POWER_CUT,
    DOORBELL_MARK,
};

static const uint32_t doorbell_signature[3] = {
    0x2d4c5843, 0x54445353, 1   /* "CXL-", "SSDT", version */
};

typedef struct Roi {
    uint32_t id;
    uint64_t begin_ps;
    uint64_t end_ps;
    uint64_t instructions;
    MemCounters counters;
} Roi;

static struct {
    GArray *rois;               /* of Roi, those that have ended */
    Roi open;
    bool is_open;
    uint32_t last_mark;
    uint64_t last_mark_ps;
} state;

uint32_t cxl_ssd_last_mark(void)
{
    return state.last_mark;
}

static void roi_end(CPUState *cpu)
{
    if (!state.is_open) {
        return;
    }
    state.is_open = false;
    state.open.end_ps = timed_mem_now_ps();
    state.open.instructions = icount_get_raw() - state.open.instructions;
    state.open.counters = memsys_counters(timed_mem_memsys());
    g_array_append_val(state.rois, state.open);
    timed_mem_set_roi(cpu, false);
    trace_cxl_ssd_roi(state.open.id, "end", state.open.end_ps);
}

static void roi_begin(CPUState *cpu, uint32_t id)
{
    roi_end(cpu);
    timed_mem_set_roi(cpu, true);
    memsys_reset_counters(timed_mem_memsys());
    state.is_open = true;
    state.open = (Roi) {
        .id = id,
        .begin_ps = timed_mem_now_ps(),
        .instructions = icount_get_raw(),
    };
    trace_cxl_ssd_roi(id, "begin", state.open.begin_ps);
}

/*
 * What must not happen while the vCPU runs guest code, as work for it: the
 * rest of the block has ended, and nothing runs before the work is done.
 */

static void roi_begin_work(CPUState *cpu, run_on_cpu_data id)
{
    roi_begin(cpu, id.host_int);
}

static void roi_end_work(CPUState *cpu, run_on_cpu_data unused)
{
    roi_end(cpu);
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
        memsys_reset_counters(timed_mem_memsys());
        break;
    case DOORBELL_POWER_CUT:
        async_run_on_cpu(cpu, power_cut_work, RUN_ON_CPU_NULL);
        break;
    case DOORBELL_MARK:
        state.last_mark = arg;
        state.last_mark_ps = icount_now_ps(cpu);
        trace_cxl_ssd_mark(arg, state.last_mark_ps);
        break;
    }
}

void cxl_ssd_roi_init(void)
{
    state.rois = g_array_new(false, false, sizeof(Roi));
    timed_mem_doorbell = doorbell;
}

static CxlSsdCounters *counters_to_qapi(const MemCounters *counters)
{
    CxlSsdCounters *q = g_new0(CxlSsdCounters, 1);

#define X(field, what) q->field = counters->field;
    MEM_COUNTERS(X)
#undef X
    return q;
}

static CxlSsdRoi *roi_to_qapi(const Roi *roi)
{
    CxlSsdRoi *q = g_new0(CxlSsdRoi, 1);

    q->id = roi->id;
    q->begin_ps = roi->begin_ps;
    q->end_ps = roi->end_ps;
    q->instructions = roi->instructions;
    q->counters = counters_to_qapi(&roi->counters);
    return q;
}

CxlSsdInfo *qmp_query_cxl_ssd(Error **errp)
{
    CxlSsdInfo *info;
    CxlSsdRoiList **tail;

    if (!state.rois) {
        error_setg(errp, "the machine has no cxl-ssd");
        return NULL;
    }
    info = g_new0(CxlSsdInfo, 1);
    info->time_ps = timed_mem_now_ps();
    info->last_mark = state.last_mark;
    info->last_mark_ps = state.last_mark_ps;
    tail = &info->rois;
    for (guint i = 0; i < state.rois->len; i++) {
        QAPI_LIST_APPEND(tail, roi_to_qapi(&g_array_index(state.rois, Roi, i)));
    }
    return info;
}
