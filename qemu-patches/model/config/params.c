/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "params.h"

#include <assert.h>
#include <string.h>

static const char *const overlap_names[] = {"none", "streams", "all", NULL};
static const char *const policy_names[] = {"lru", "fifo", "clock", "2q", "s3-fifo", "random", NULL};
static const char *const cache_write_names[] = {"back", "through", NULL};
static const char *const write_miss_names[] = {"fetch", "no-fetch", "log", NULL};
static const char *const page_prefetch_names[] = {"none", "next", "stride", NULL};
static const char *const ftl_names[] = {"none", "page", NULL};
static const char *const gc_names[] = {"greedy", "cost-benefit", NULL};
static const char *const domain_names[] = {"none", "adr", "eadr", "gpf", NULL};
static const char *const cut_lines_names[] = {"lost", "kept", "seeded", NULL};

/* clang-format off */
#define P(kind, field, text, live, names, first, meaning)                                                              \
    {.name = text, .type = MEM_PARAM_##kind, .offset = offsetof(CONFIG, field), .width = sizeof(((CONFIG *)0)->field),  \
     .run_time = live, .choices = names, .initial = first, .what = meaning}

#define CONFIG MemCpuConfig
static const MemParam cpu_params[] = {
    P(SIZE, l1d.size_bytes, "l1d-size", false, NULL, 0, "L1D capacity"),
    P(COUNT, l1d.ways, "l1d-ways", false, NULL, 0, "L1D associativity"),
    P(SIZE, l2.size_bytes, "l2-size", false, NULL, 0, "L2 capacity"),
    P(COUNT, l2.ways, "l2-ways", false, NULL, 0, "L2 associativity"),
    P(TIME, l2.latency_ps, "l2-latency-ps", false, NULL, 0, "stall of an L2 hit"),
    P(SIZE, llc.size_bytes, "llc-size", false, NULL, 0, "last-level cache capacity"),
    P(COUNT, llc.ways, "llc-ways", false, NULL, 0, "last-level cache associativity"),
    P(TIME, llc.latency_ps, "llc-latency-ps", false, NULL, 0, "stall of a last-level cache hit"),
    P(TIME, dram_latency_ps, "dram-latency-ps", false, NULL, 0, "local DRAM beyond the last-level cache"),
    P(BANDWIDTH, dram_bandwidth, "dram-bandwidth", false, NULL, 0, "local DRAM"),
    P(COUNT, wc_buffers, "wc-buffers", false, NULL, 0, "write-combining buffers"),
    P(COUNT, fill_buffers, "fill-buffers", false, NULL, 10, "L1D misses under way at once"),
    P(COUNT, store_buffer, "store-buffer", false, NULL, 56, "stores waiting for their line"),
    P(CHOICE, overlap, "overlap", false, overlap_names, MEM_OVERLAP_NONE, "loads that may be under way while the CPU goes on"),
    P(TIME, overlap_window_ps, "overlap-window-ps", false, NULL, 0, "how far the CPU runs ahead of the oldest load under way"),
    P(COUNT, prefetch_streams, "prefetch-streams", false, NULL, 0, "streams the prefetcher follows, 0 for none"),
    P(COUNT, prefetch_distance, "prefetch-distance", false, NULL, 20, "lines the prefetcher runs ahead at most"),
    P(COUNT, prefetch_degree, "prefetch-degree", false, NULL, 2, "lines the prefetcher asks for at a time"),
    P(COUNT, prefetch_buffers, "prefetch-buffers", false, NULL, 16, "requests of the prefetcher under way at once"),
    P(COUNT, l2_requests, "l2-requests", false, NULL, 16, "lines under way to L2 at once, demanded or prefetched"),
    P(BOOL, clwb_keeps_line, "clwb-keeps-line", false, NULL, true, "off: CLWB drops the line, as CLFLUSHOPT does"),
    P(TIME, pause_ps, "pause-ps", false, NULL, 0, "what PAUSE takes beside an instruction's time"),
    P(TIME, cpuid_ps, "cpuid-ps", false, NULL, 0, "what CPUID takes"),
    P(TIME, rdmsr_ps, "rdmsr-ps", false, NULL, 0, "what RDMSR takes"),
    P(TIME, wrmsr_ps, "wrmsr-ps", false, NULL, 0, "what WRMSR takes"),
    P(TIME, mov_cr_ps, "mov-cr-ps", false, NULL, 0, "what a write of CR0 or CR4 takes"),
    P(TIME, mov_cr3_ps, "mov-cr3-ps", false, NULL, 0, "what a write of CR3 takes"),
    P(TIME, mov_dr_ps, "mov-dr-ps", false, NULL, 0, "what a write of a debug register takes"),
    P(TIME, invlpg_ps, "invlpg-ps", false, NULL, 0, "what INVLPG takes"),
    P(TIME, load_table_ps, "load-table-ps", false, NULL, 0, "what LGDT, LIDT, LLDT and LTR take"),
    P(TIME, iret_ps, "iret-ps", false, NULL, 0, "what IRET and RSM take"),
    P(TIME, rdtsc_ps, "rdtsc-ps", false, NULL, 0, "what RDTSC and RDTSCP take"),
    P(TIME, wbinvd_ps, "wbinvd-ps", false, NULL, 0, "what WBINVD and INVD take beside what they write back"),
};
#undef CONFIG

#define CONFIG MemDeviceConfig
static const MemParam device_params[] = {
    P(SIZE, volatile_bytes, "volatile-size", false, NULL, 0, "bytes of the volatile partition, from DPA 0"),
    P(TIME, link_latency_ps, "link-latency-ps", true, NULL, 0, "CXL link, each way"),
    P(BANDWIDTH, link_read_bandwidth, "link-read-bandwidth", true, NULL, 0, "device to host; of the wire with flits, else of the payload"),
    P(BANDWIDTH, link_write_bandwidth, "link-write-bandwidth", true, NULL, 0, "host to device, likewise"),
    P(COUNT, link_flit_bytes, "link-flit-bytes", true, NULL, 0, "68 or 256; 0: no protocol overhead"),
    P(BOOL, link_multi_header, "link-multi-header", true, NULL, true, "headers of two lines to the host may share a slot of a flit (MDH)"),
    P(COUNT, write_queue, "write-queue", false, NULL, 0, "lines that the host's memory controller accepts for the device, 0: none"),
    P(TIME, controller_latency_ps, "controller-latency-ps", true, NULL, 0, "each request, before the cache look-up"),
    P(TIME, controller_interval_ps, "controller-interval-ps", true, NULL, 0, "from the start of a request to the next one's at least"),
    P(SIZE, cache_size_bytes, "cache-size", false, NULL, 0, "device DRAM cache"),
    P(SIZE, cache_page_bytes, "cache-page-size", false, NULL, 4096, "page of the cache, the unit of flash"),
    P(COUNT, cache_ways, "cache-ways", false, NULL, 0, "associativity, 0: full"),
    P(TIME, cache_latency_ps, "cache-latency-ps", true, NULL, 0, "look-up and access of the device cache"),
    P(TIME, cache_tag_ps, "cache-tag-ps", true, NULL, 0, "tags in device DRAM: an access of their own before, 0: none"),
    P(TIME, cache_refresh_ps, "cache-refresh-ps", true, NULL, 0, "device DRAM: how long a refresh blocks its group of banks, 0: none"),
    P(TIME, cache_refresh_interval_ps, "cache-refresh-interval-ps", true, NULL, 0, "device DRAM: from one refresh of a group to its next"),
    P(COUNT, cache_refresh_groups, "cache-refresh-groups", true, NULL, 1, "device DRAM: groups of banks refreshed in turn"),
    P(BANDWIDTH, cache_bandwidth, "cache-bandwidth", true, NULL, 0, "of the device DRAM for lines, 0: no limit"),
    P(CHOICE, cache_policy, "cache-policy", true, policy_names, MEM_POLICY_LRU, "replacement"),
    P(COUNT, cache_seed, "cache-seed", false, NULL, 1, "of the random policy"),
    P(CHOICE, cache_write, "cache-write", true, cache_write_names, MEM_WRITE_BACK, "when a written page goes to flash"),
    P(CHOICE, cache_write_miss, "cache-write-miss", true, write_miss_names, MEM_WRITE_FETCH, "what a write of an absent page does"),
    P(SIZE, write_log_bytes, "write-log-size", false, NULL, 0, "write log of cache-write-miss=log"),
    P(COUNT, cache_mshrs, "cache-mshrs", true, NULL, 0, "page fetches under way at once, 0: no limit"),
    P(CHOICE, cache_prefetch, "cache-prefetch", true, page_prefetch_names, MEM_PREFETCH_NONE, "pages fetched before they are asked for"),
    P(COUNT, cache_prefetch_pages, "cache-prefetch-pages", true, NULL, 1, "how many at a time"),
    P(BOOL, cache_power_loss_protected, "cache-power-loss-protected", false, NULL, true, "a line is durable when the device has accepted it"),
    P(COUNT, flash_channels, "flash-channels", false, NULL, 0, "independent channels; 0: no flash, a memory expander"),
    P(COUNT, flash_dies, "flash-dies", false, NULL, 1, "dies of a channel"),
    P(COUNT, flash_planes, "flash-planes", false, NULL, 1, "planes of a die"),
    P(TIME, flash_read_ps, "flash-read-ps", true, NULL, 0, "array read of a page"),
    P(TIME, flash_program_ps, "flash-program-ps", true, NULL, 0, "array program of a page"),
    P(TIME, flash_erase_ps, "flash-erase-ps", true, NULL, 0, "erase of a block"),
    P(BANDWIDTH, flash_channel_bandwidth, "flash-channel-bandwidth", true, NULL, 0, "page transfers of a channel, 0: free"),
    P(BOOL, flash_suspend, "flash-suspend", true, NULL, false, "reads suspend programs and erases"),
    P(TIME, flash_suspend_ps, "flash-suspend-ps", true, NULL, 0, "what a suspension costs the read"),
    P(CHOICE, flash_ftl, "flash-ftl", false, ftl_names, MEM_FTL_NONE, "none: pages are programmed in place"),
    P(COUNT, flash_block_pages, "flash-block-pages", false, NULL, 256, "pages of an erase block"),
    P(COUNT, flash_over_provisioning_permille, "flash-over-provisioning-permille", false, NULL, 70, "flash beyond the capacity"),
    P(CHOICE, flash_gc, "flash-gc", false, gc_names, MEM_GC_GREEDY, "choice of the block to clean"),
    P(COUNT, flash_gc_free_blocks, "flash-gc-free-blocks", false, NULL, 2, "of a plane: cleaning starts below this"),
    P(COUNT, flash_endurance_cycles, "flash-endurance-cycles", false, NULL, 0, "erases that a block is rated for, 0: not stated"),
    P(CHOICE, persist_domain, "persist-domain", false, domain_names, MEM_DOMAIN_ADR, "how far power reaches when it fails"),
    P(ENERGY, gpf_energy_uj, "gpf-energy-uj", false, NULL, 0, "left for a Global Persistent Flush, microjoules"),
    P(ENERGY, gpf_line_nj, "gpf-line-nj", false, NULL, 0, "to move a line to the device, nanojoules"),
    P(ENERGY, gpf_page_nj, "gpf-page-nj", false, NULL, 0, "to program a page, nanojoules"),
    P(CHOICE, cut_lines, "cut-lines", false, cut_lines_names, MEM_CUT_LOST, "dirty lines that the CPU may have evicted before a power cut"),
    P(COUNT, cut_seed, "cut-seed", false, NULL, 1, "of cut-lines=seeded"),
    P(TIME, wbarrier_latency_ps, "wbarrier-latency-ps", true, NULL, 0, "pm_wbarrier beyond the acceptance of every store"),
};
#undef CONFIG
/* clang-format on */

const MemParamTable mem_cpu_params = {cpu_params, sizeof(cpu_params) / sizeof(*cpu_params)};
const MemParamTable mem_device_params = {device_params, sizeof(device_params) / sizeof(*device_params)};

const MemParam *mem_param_find(const MemParamTable *table, const char *name) {
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->params[i].name, name) == 0) {
            return &table->params[i];
        }
    }
    return NULL;
}

uint64_t mem_param_get(const MemParam *param, const void *config) {
    const unsigned char *field = (const unsigned char *)config + param->offset;
    uint64_t wide;
    uint32_t narrow;

    switch (param->width) {
    case sizeof(bool):
        return *field != 0;
    case sizeof(narrow):
        memcpy(&narrow, field, sizeof(narrow));
        return narrow;
    default:
        assert(param->width == sizeof(wide));
        memcpy(&wide, field, sizeof(wide));
        return wide;
    }
}

static uint64_t choice_count(const MemParam *param) {
    uint64_t count = 0;
    while (param->choices[count]) {
        count++;
    }
    return count;
}

const char *mem_param_set(const MemParam *param, void *config, uint64_t value) {
    unsigned char *field = (unsigned char *)config + param->offset;

    if (param->type == MEM_PARAM_CHOICE && value >= choice_count(param)) {
        return "must be one of its choices";
    }
    if (param->type == MEM_PARAM_BOOL) {
        bool set = value != 0;
        memcpy(field, &set, sizeof(set));
    } else if (param->width == sizeof(uint64_t)) {
        memcpy(field, &value, sizeof(value));
    } else if (value <= UINT32_MAX) {
        uint32_t narrow = (uint32_t)value;
        memcpy(field, &narrow, sizeof(narrow));
    } else {
        return "must be below 2^32";
    }
    return NULL;
}

uint64_t mem_param_choice(const MemParam *param, const char *name) {
    for (uint64_t i = 0; param->choices && param->choices[i]; i++) {
        if (strcmp(param->choices[i], name) == 0) {
            return i;
        }
    }
    return UINT64_MAX;
}

void mem_params_init(const MemParamTable *table, void *config) {
    for (size_t i = 0; i < table->count; i++) {
        const char *fault = mem_param_set(&table->params[i], config, table->params[i].initial);
        assert(!fault);
        (void)fault;
    }
}
