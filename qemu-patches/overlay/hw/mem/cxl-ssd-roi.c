/*
 * CXL memory-semantic SSD: records that the guest requests: regions of interest
 * with their counters and histograms, progress marks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/mem/cpu-timing.h"
#include "hw/mem/memsys/base/histogram.h"
#include "hw/mem/memsys/device/hotness.h"
#include "mem-trace.h"
#include "qapi/clone-visitor.h"
#include "qapi/qapi-visit-cxl-ssd.h"
#include "system/cpu-timers.h"
#include "system/vcpu-clocks.h"
#include "trace.h"

static struct {
    CxlSsdRoiList *ended;
    CxlSsdRoiList **ended_tail;
    CxlSsdRoi *open;            /* NULL outside a region of interest */
    /* Sums of all counts before the counters were last zeroed. */
    MemCounters before;
    MemCounters before_devices[MEMSYS_MAX_DEVICES];
    uint32_t last_mark;
    uint64_t last_mark_ps;
    /* The hot pages that the guest reads one by one, as of its first read. */
    MemHotPage *hot_pages;
    uint32_t hot_page_count;
} state = { .ended_tail = &state.ended };

void cxl_ssd_mark(uint32_t number)
{
    state.last_mark = number;
    state.last_mark_ps = timed_mem_now_ps();
    trace_cxl_ssd_mark(number, state.last_mark_ps);
}

uint32_t cxl_ssd_last_mark(void)
{
    return state.last_mark;
}

/*
 * Counters
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

/* NULL if no flash has read errors. */
static CxlSsdErrors *errors_to_qapi(const MemCounters *counters)
{
    CxlSsdErrors *q = NULL;

    for (unsigned i = 0; i < cxl_ssd_count && !q; i++) {
        if (cxl_ssd_loses_lines(cxl_ssds[i])) {
            q = g_new0(CxlSsdErrors, 1);
#define X(field, what) q->field = counters->field;
            MEM_ERROR_COUNTERS(X)
#undef X
        }
    }
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

static MemHotPage *hot_pages_of(const CXLSSDState *s, uint32_t *count)
{
    MemHotPage *pages = g_new(MemHotPage, s->config.hot_pages);

    *count = memsys_hot_pages(timed_mem_memsys(), s->number, pages);
    return pages;
}

/* NULL if no device counts accesses by page. */
static CxlSsdHotPageList *hot_pages_to_qapi(void)
{
    CxlSsdHotPageList *list = NULL, **tail = &list;

    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        uint32_t count;
        g_autofree MemHotPage *pages = hot_pages_of(cxl_ssds[i], &count);

        for (uint32_t j = 0; j < count; j++) {
            CxlSsdHotPage *q = g_new0(CxlSsdHotPage, 1);

            q->device = i;
            q->dpa = pages[j].dpa;
            q->reads = pages[j].reads;
            q->writes = pages[j].writes;
            QAPI_LIST_APPEND(tail, q);
        }
    }
    return list;
}

void cxl_ssd_hot_page(uint32_t device, uint32_t rank, uint32_t reply[3])
{
    const MemHotPage *page;

    if (!rank) {
        g_clear_pointer(&state.hot_pages, g_free);
        state.hot_page_count = 0;
        if (device < cxl_ssd_count) {
            state.hot_pages = hot_pages_of(cxl_ssds[device],
                                           &state.hot_page_count);
        }
    }
    memset(reply, 0, 3 * sizeof(*reply));
    if (rank < state.hot_page_count) {
        page = &state.hot_pages[rank];
        reply[0] = page->dpa / MEM_HOT_PAGE_BYTES;
        reply[1] = page->reads;
        reply[2] = page->writes;
    }
}

/* NULL with one core: the counters of the region are the core's. */
static CxlSsdCountersList *cores_to_qapi(void)
{
    CxlSsdCountersList *list = NULL, **tail = &list;
    uint32_t cores = cpu_timing_config()->cores;

    for (uint32_t i = 0; cores > 1 && i < cores; i++) {
        MemCounters counters = memsys_core_counters(timed_mem_memsys(), i);

        QAPI_LIST_APPEND(tail, counters_to_qapi(&counters));
    }
    return list;
}

static CxlSsdMappings *mappings_to_qapi(void)
{
    CxlSsdMappings *q = g_new0(CxlSsdMappings, 1);

    q->page_faults_4k = timed_mem_mappings.page_faults_4k;
    q->page_faults_2m = timed_mem_mappings.page_faults_2m;
    q->kernel_flushes = timed_mem_mappings.kernel_flushes;
    q->sync_calls = timed_mem_mappings.sync_calls;
    return q;
}

CxlSsdDeviceCounters *cxl_ssd_device_counters(const CXLSSDState *s)
{
    MemCounters sum = memsys_device_counters(timed_mem_memsys(), s->number);

    memsys_add_counters(&sum, &state.before_devices[s->number]);
    return device_counters_to_qapi(&sum);
}

void cxl_ssd_reset_counters(void)
{
    MemCounters counters = memsys_counters(timed_mem_memsys());

    memsys_add_counters(&state.before, &counters);
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        counters = memsys_device_counters(timed_mem_memsys(), i);
        memsys_add_counters(&state.before_devices[i], &counters);
    }
    memsys_reset_counters(timed_mem_memsys());
    timed_mem_mappings = (TimedMemMappings) {};
    vcpu_clocks_reset_times();
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

/* The open region up to now. state.open has the values at its begin. */
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
    roi->vcpus = vcpu_clocks_times();
    roi->cores = cores_to_qapi();
    roi->has_cores = roi->cores;
    roi->order = vcpu_clocks_order();
    roi->mappings = mappings_to_qapi();
    roi->errors = errors_to_qapi(&counters);
    roi->hot_pages = hot_pages_to_qapi();
    roi->has_hot_pages = roi->hot_pages;
    return roi;
}

void cxl_ssd_roi_end(CPUState *cpu)
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

void cxl_ssd_roi_begin(CPUState *cpu, uint32_t id)
{
    cxl_ssd_roi_end(cpu);
    timed_mem_set_roi(cpu, true);
    vcpu_clocks_scatter(cpu);
    cxl_ssd_reset_counters();
    vcpu_clocks_reset_order();
    mem_trace_roi(id, NULL);
    state.open = g_new0(CxlSsdRoi, 1);
    state.open->id = id;
    state.open->begin_ps = timed_mem_now_ps();
    state.open->instructions = icount_get_raw();
    trace_cxl_ssd_roi(id, "begin", state.open->begin_ps);
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
