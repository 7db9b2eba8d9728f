/*
 * CXL memory-semantic SSD: the guest's doorbell and what it records: regions
 * of interest with their counters and histograms, progress marks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/mem/memsys/base/histogram.h"
#include "mem-trace.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-visit-cxl-ssd.h"
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
    DOORBELL_WBARRIER,
    DOORBELL_AWAIT_JOB,
};

static const uint32_t doorbell_signature[3] = {
    0x2d4c5843, 0x54445353, 1   /* "CXL-", "SSDT", version */
};

static struct {
    CxlSsdRoiList *ended;
    CxlSsdRoiList **ended_tail;
    CxlSsdRoi *open;            /* NULL outside a region of interest */
    /* What was counted before the counters were last zeroed. */
    MemCounters before;
    MemCounters before_devices[MEMSYS_MAX_DEVICES];
    uint32_t last_mark;
    uint64_t last_mark_ps;
} state;

uint32_t cxl_ssd_last_mark(void)
{
    return state.last_mark;
}

/*
 * What was counted
 */

static CxlSsdCounters *counters_to_qapi(const MemCounters *counters)
{
    CxlSsdCounters *q = g_new0(CxlSsdCounters, 1);

#define X(field, what) q->field = counters->field;
    MEM_COUNTERS(X)
#undef X
    return q;
}

static CxlSsdDeviceCounters *
device_counters_to_qapi(const MemCounters *counters)
{
    CxlSsdDeviceCounters *q = g_new0(CxlSsdDeviceCounters, 1);

#define X(field, what) q->field = counters->field;
    MEM_DEVICE_COUNTERS(X)
#undef X
    return q;
}

static CxlSsdDeviceCountersList *devices_to_qapi(void)
{
    CxlSsdDeviceCountersList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        MemCounters counters = memsys_device_counters(timed_mem_memsys(), i);

        QAPI_LIST_APPEND(tail, device_counters_to_qapi(&counters));
    }
    return list;
}

CxlSsdDeviceCounters *cxl_ssd_device_counters(const CXLSSDState *s)
{
    MemCounters sum = memsys_device_counters(timed_mem_memsys(), s->number);

    memsys_add_counters(&sum, &state.before_devices[s->number]);
    return device_counters_to_qapi(&sum);
}

static void counters_reset(void)
{
    MemCounters counters = memsys_counters(timed_mem_memsys());

    memsys_add_counters(&state.before, &counters);
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        counters = memsys_device_counters(timed_mem_memsys(), i);
        memsys_add_counters(&state.before_devices[i], &counters);
    }
    memsys_reset_counters(timed_mem_memsys());
}

static CxlSsdHistogram *histogram_to_qapi(CxlSsdCause cause,
                                          const MemHistogram *histogram)
{
    CxlSsdHistogram *q = g_new0(CxlSsdHistogram, 1);
    CxlSsdBucketList **tail = &q->buckets;

    q->cause = cause;
    q->count = histogram->count;
    q->sum_ps = histogram->sum_ps;
    q->max_ps = histogram->max_ps;
    for (uint32_t i = 0; i < MEM_BUCKETS; i++) {
        if (histogram->buckets[i]) {
            CxlSsdBucket *bucket = g_new0(CxlSsdBucket, 1);

            bucket->upper_ps = mem_bucket_upper_ps(i);
            bucket->count = histogram->buckets[i];
            QAPI_LIST_APPEND(tail, bucket);
        }
    }
    return q;
}

/* The schema lists the model's causes in the model's order. */
QEMU_BUILD_BUG_ON((int)CXL_SSD_CAUSE__MAX != (int)MEM_CAUSE_COUNT);

static CxlSsdHistogramList *histograms_to_qapi(void)
{
    CxlSsdHistogramList *list = NULL, **tail = &list;

    for (int cause = 0; cause < CXL_SSD_CAUSE__MAX; cause++) {
        const MemHistogram *histogram =
            memsys_histogram(timed_mem_memsys(), cause);

        if (histogram->count) {
            QAPI_LIST_APPEND(tail, histogram_to_qapi(cause, histogram));
        }
    }
    return list;
}

/*
 * Regions of interest
 */

/* The open region as it is now. Its begin holds what differences need. */
static CxlSsdRoi *roi_now(void)
{
    MemCounters counters = memsys_counters(timed_mem_memsys());
    CxlSsdRoi *roi = g_new0(CxlSsdRoi, 1);

    roi->id = state.open->id;
    roi->begin_ps = state.open->begin_ps;
    roi->end_ps = timed_mem_now_ps();
    roi->instructions = icount_get_raw() - state.open->instructions;
    roi->counters = counters_to_qapi(&counters);
    roi->devices = devices_to_qapi();
    roi->histograms = histograms_to_qapi();
    return roi;
}

static void roi_end(CPUState *cpu)
{
    MemCounters counters;
    CxlSsdRoi *roi;

    if (!state.open) {
        return;
    }
    roi = roi_now();
    counters = memsys_counters(timed_mem_memsys());
    timed_mem_set_roi(cpu, false);
    mem_trace_roi(roi->id, &counters);
    QAPI_LIST_APPEND(state.ended_tail, roi);
    g_clear_pointer(&state.open, g_free);
    trace_cxl_ssd_roi(roi->id, "end", roi->end_ps);
}

static void roi_begin(CPUState *cpu, uint32_t id)
{
    roi_end(cpu);
    timed_mem_set_roi(cpu, true);
    counters_reset();
    mem_trace_roi(id, NULL);
    state.open = g_new0(CxlSsdRoi, 1);
    state.open->id = id;
    state.open->begin_ps = timed_mem_now_ps();
    state.open->instructions = icount_get_raw();
    trace_cxl_ssd_roi(id, "begin", state.open->begin_ps);
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
        counters_reset();
        break;
    case DOORBELL_POWER_CUT:
        async_run_on_cpu(cpu, power_cut_work, RUN_ON_CPU_NULL);
        break;
    case DOORBELL_MARK:
        state.last_mark = arg;
        state.last_mark_ps = timed_mem_now_ps();
        trace_cxl_ssd_mark(arg, state.last_mark_ps);
        break;
    case DOORBELL_WBARRIER:
        icount_charge_ps(cpu, memsys_barrier(timed_mem_memsys(),
                                             timed_mem_now_ps()));
        break;
    case DOORBELL_AWAIT_JOB:
        cxl_ssd_job_ask(cpu);
        break;
    }
}

void cxl_ssd_roi_init(void)
{
    state.ended_tail = &state.ended;
    timed_mem_doorbell = doorbell;
}

/*
 * Query
 */

void cxl_ssd_roi_info(CxlSsdInfo *info)
{
    MemCounters totals = memsys_counters(timed_mem_memsys());

    memsys_add_counters(&totals, &state.before);
    info->time_ps = timed_mem_now_ps();
    info->last_mark = state.last_mark;
    info->last_mark_ps = state.last_mark_ps;
    info->totals = counters_to_qapi(&totals);
    info->rois = QAPI_CLONE(CxlSsdRoiList, state.ended);
    if (state.open) {
        info->running = roi_now();
    }
}
