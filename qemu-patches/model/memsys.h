/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timed memory system: CPU caches, local DRAM and CXL-SSDs.
 *
 * This is the only header a user of the model needs. A `MemSys` is told of
 * every line a CPU touches and answers how long the CPU stalls for it; it also
 * keeps, for every 64-byte line of the device, which bytes would survive a
 * power cut at any instant. It has no clock, no I/O and no global state: the
 * caller passes the virtual time in, and equal call sequences give equal
 * answers on every host.
 *
 * Units: every time is in picoseconds of virtual time (`_ps`), every size in
 * bytes (`_bytes`), every bandwidth in bytes per second.
 */
#ifndef MODEL_MEMSYS_H
#define MODEL_MEMSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "persist/media.h"
#include "persist/power.h"

#define MEMSYS_LINE_BYTES 64u
#define MEMSYS_MAX_DEVICES 8u
#define MEMSYS_MAX_WINDOWS 16u
#define MEMSYS_MAX_WAYS 8u

typedef uint64_t mem_ps; /* a point in, or a span of, virtual time */

typedef struct MemSys MemSys;
typedef struct MemTraceWriter MemTraceWriter; /* mem_trace.h */

/* One set-associative cache level. `latency_ps` is added by a hit here. */
typedef struct MemCacheConfig {
    uint64_t size_bytes;
    uint32_t ways;
    mem_ps latency_ps;
} MemCacheConfig;

/* Which loads may be under way while the CPU goes on; see streams.h for what a stream is. */
typedef enum MemOverlap {
    MEM_OVERLAP_NONE,    /* none: every miss blocks the CPU */
    MEM_OVERLAP_STREAMS, /* those that continue a stream: their addresses cannot depend on the missing data */
    MEM_OVERLAP_ALL,     /* all: the bound from the other side */
} MemOverlap;

/*
 * Instructions that are no accesses, but take time of their own in the region
 * of interest. All serialise but RDMSR, RDTSC and a WRMSR of those registers
 * for which the architecture relaxes it.
 */
typedef enum MemInsn {
    MEM_INSN_CPUID,
    MEM_INSN_RDMSR,
    MEM_INSN_WRMSR,
    MEM_INSN_MOV_CR, /* and CLTS, LMSW: CR0 and CR4 */
    MEM_INSN_MOV_CR3,
    MEM_INSN_MOV_DR,
    MEM_INSN_INVLPG,     /* and INVLPGA */
    MEM_INSN_LOAD_TABLE, /* LGDT, LIDT, LLDT, LTR */
    MEM_INSN_IRET,       /* and RSM */
    MEM_INSN_RDTSC,      /* and RDTSCP */
    MEM_INSN_WBINVD,     /* and INVD; what they write back costs besides */
    MEM_INSN_COSTS,
    MEM_INSN_WRMSR_RELAXED = MEM_INSN_COSTS, /* costs what WRMSR does */
} MemInsn;

/* The host: what a CPU profile states. */
typedef struct MemCpuConfig {
    MemCacheConfig l1d; /* FIFO replacement, latency_ps must be 0: part of the time per instruction */
    MemCacheConfig l2;  /* LRU */
    MemCacheConfig llc; /* LRU */
    mem_ps dram_latency_ps;
    uint64_t dram_bandwidth;    /* bytes per second, one shared channel */
    uint32_t wc_buffers;        /* write-combining buffers for non-temporal stores, each one line */
    uint32_t fill_buffers;      /* L1D misses under way at once */
    uint32_t store_buffer;      /* stores waiting for their line */
    uint32_t overlap;           /* MemOverlap */
    mem_ps overlap_window_ps;   /* how far the CPU runs ahead of the oldest load under way */
    uint32_t prefetch_streams;  /* streams the prefetcher follows; 0: no prefetcher */
    uint32_t prefetch_distance; /* lines it runs ahead at most */
    uint32_t prefetch_degree;   /* lines it asks for at a time */
    uint32_t prefetch_buffers;  /* its requests under way at once */
    uint32_t l2_requests;       /* lines under way to L2 at once, demanded or prefetched */
    bool clwb_keeps_line;       /* false: CLWB drops the line, as CLFLUSHOPT does */
    mem_ps pause_ps;            /* what PAUSE takes beside an instruction's time */
    /* What a MemInsn takes, likewise. */
    mem_ps cpuid_ps;
    mem_ps rdmsr_ps;
    mem_ps wrmsr_ps;
    mem_ps mov_cr_ps;
    mem_ps mov_cr3_ps;
    mem_ps mov_dr_ps;
    mem_ps invlpg_ps;
    mem_ps load_table_ps;
    mem_ps iret_ps;
    mem_ps rdtsc_ps;
    mem_ps wbinvd_ps;
} MemCpuConfig;

typedef enum MemCachePolicyId {
    MEM_POLICY_LRU,
    MEM_POLICY_FIFO,
    MEM_POLICY_CLOCK,
    MEM_POLICY_2Q,
    MEM_POLICY_S3_FIFO,
    MEM_POLICY_RANDOM,
} MemCachePolicyId;

typedef enum MemCacheWrite { MEM_WRITE_BACK, MEM_WRITE_THROUGH } MemCacheWrite;
typedef enum MemWriteMiss { MEM_WRITE_FETCH, MEM_WRITE_NO_FETCH, MEM_WRITE_LOG } MemWriteMiss;
typedef enum MemPagePrefetch { MEM_PREFETCH_NONE, MEM_PREFETCH_NEXT, MEM_PREFETCH_STRIDE } MemPagePrefetch;
typedef enum MemFtl { MEM_FTL_NONE, MEM_FTL_PAGE } MemFtl;
typedef enum MemGc { MEM_GC_GREEDY, MEM_GC_COST_BENEFIT } MemGc;

/* How far power reaches when it fails: see docs/model.md. */
typedef enum MemDomain { MEM_DOMAIN_NONE, MEM_DOMAIN_ADR, MEM_DOMAIN_EADR, MEM_DOMAIN_GPF } MemDomain;

/* What becomes of lines that a CPU holds dirty at a power cut and could have evicted before. */
typedef enum MemCutLines { MEM_CUT_LOST, MEM_CUT_KEPT, MEM_CUT_SEEDED } MemCutLines;

/* The device: what a device profile states. Choices are kept as uint32_t so that one table describes all (params.h). */
typedef struct MemDeviceConfig {
    uint64_t capacity_bytes;
    uint64_t volatile_bytes; /* DPA [0, this) is volatile: its durability is not tracked */
    /* CXL link: latency each way, bandwidth in each direction. */
    mem_ps link_latency_ps;
    uint64_t link_read_bandwidth;  /* device to host; of the wire if link_flit_bytes, else of the payload */
    uint64_t link_write_bandwidth; /* host to device */
    uint32_t link_flit_bytes;      /* 68 or 256; 0: no protocol overhead */
    bool link_multi_header;        /* headers of two lines to the host may share a slot */
    uint32_t write_queue;          /* lines that the host's memory controller accepts for the device; 0: none */
    mem_ps controller_latency_ps;  /* each request, before the cache look-up */
    mem_ps controller_interval_ps; /* from the start of one request to the next one's at least */
    /* Device DRAM cache. */
    uint64_t cache_size_bytes;
    uint32_t cache_page_bytes;
    uint32_t cache_ways; /* 0: fully associative */
    mem_ps cache_latency_ps;
    mem_ps cache_tag_ps;              /* tags in device DRAM: an access of their own before; 0: none */
    mem_ps cache_refresh_ps;          /* device DRAM: how long a refresh blocks its group of banks; 0: none */
    mem_ps cache_refresh_interval_ps; /* from one refresh of a group to its next */
    uint32_t cache_refresh_groups;    /* refreshed in turn */
    uint64_t cache_bandwidth;         /* of the device DRAM for lines; 0: not a limit */
    uint32_t cache_policy;            /* MemCachePolicyId */
    uint64_t cache_seed;              /* of the random policy */
    uint32_t cache_write;             /* MemCacheWrite */
    uint32_t cache_write_miss;        /* MemWriteMiss */
    uint64_t write_log_bytes;         /* of MEM_WRITE_LOG */
    uint32_t cache_mshrs;             /* page fetches under way at once; 0: not a limit */
    uint32_t cache_prefetch;          /* MemPagePrefetch */
    uint32_t cache_prefetch_pages;    /* how many at a time */
    bool cache_power_loss_protected;  /* true: a line is durable on arrival (ADR reaches the device cache) */
    /* Flash. */
    uint32_t
        flash_channels;    /* 0: none; the device is a memory expander and the fields from cache_size_bytes on unused */
    uint32_t flash_dies;   /* of a channel */
    uint32_t flash_planes; /* of a die */
    mem_ps flash_read_ps;  /* one cache page, as the two below */
    mem_ps flash_program_ps;
    mem_ps flash_erase_ps;                     /* one block */
    uint64_t flash_channel_bandwidth;          /* 0: transfers take no time */
    bool flash_suspend;                        /* reads suspend programs and erases */
    mem_ps flash_suspend_ps;                   /* what that costs the read */
    uint32_t flash_ftl;                        /* MemFtl; none: a page is programmed in place */
    uint32_t flash_block_pages;                /* pages of an erase block */
    uint32_t flash_over_provisioning_permille; /* flash beyond the capacity */
    uint32_t flash_gc;                         /* MemGc */
    uint32_t flash_gc_free_blocks;             /* of a plane: GC starts below this */
    uint32_t flash_endurance_cycles;           /* erases that a block is rated for; 0: not stated */
    /* Power. */
    uint32_t persist_domain; /* MemDomain */
    uint64_t gpf_energy_uj;  /* what is left for a Global Persistent Flush */
    uint64_t gpf_line_nj;    /* to move a line to the device */
    uint64_t gpf_page_nj;    /* to program a page */
    uint32_t cut_lines;      /* MemCutLines */
    uint64_t cut_seed;
    mem_ps wbarrier_latency_ps; /* pm_wbarrier: what it takes beyond the acceptance of every store */
} MemDeviceConfig;

/* Where the newest bytes of a device line are, as far as durability goes. */
typedef enum MemLineState {
    MEM_LINE_DURABLE,      /* survives a power cut as it is */
    MEM_LINE_CPU_DIRTY,    /* in a CPU cache or write-combining buffer */
    MEM_LINE_IN_FLIGHT,    /* on its way to the device */
    MEM_LINE_DEVICE_CACHE, /* in an unprotected device cache */
    MEM_LINE_PROGRAMMING,  /* unprotected: flash program under way */
} MemLineState;

typedef enum MemFlushKind { MEM_CLWB, MEM_CLFLUSHOPT, MEM_CLFLUSH } MemFlushKind;
typedef enum MemFenceKind { MEM_SFENCE, MEM_LFENCE, MEM_MFENCE, MEM_SERIALIZE } MemFenceKind;

/*
 * A range of host physical addresses and what is behind it: a committed HDM
 * decoder. With several ways, pieces of `granularity_bytes` go to the devices
 * in turn, each device's part beginning at its `dpa`.
 */
typedef struct MemWindow {
    uint64_t hpa;
    uint64_t size_bytes;
    uint64_t dpa;
    uint32_t ways;
    uint32_t granularity_bytes; /* unused with one way */
    uint32_t devices[MEMSYS_MAX_WAYS];
} MemWindow;

typedef struct MemCallbacks {
    void *opaque;
    /*
     * The line in this L1 slot left L1, or lost the permission to be written
     * without telling the model (it became clean or entered a WC buffer). The
     * caller must forget any short cut it holds for the slot.
     */
    void (*l1_slot_dropped)(void *opaque, uint32_t slot);
    /* A device line changed its persistence state. May be NULL. By whichever thread works on posted accesses. */
    void (*line_state)(void *opaque, uint32_t device, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps);
    /* The persistence event of memsys_cut_after() has happened: call memsys_power_cut(). May be NULL. */
    void (*power_gone)(void *opaque, mem_ps at_ps);
} MemCallbacks;

/*
 * Everything counted since the last memsys_reset_counters(), in the order it is
 * reported. X-macros so that the QAPI adapter, JSON and tests cannot drift apart.
 * Each: field, what it counts. Those of the devices are counted by each device.
 */
#define MEM_CPU_COUNTERS(X)                                                                                            \
    X(loads, "line loads that reached the model")                                                                      \
    X(stores, "line stores that reached the model")                                                                    \
    X(nt_stores, "non-temporal line stores")                                                                           \
    X(flushes, "CLWB, CLFLUSHOPT and CLFLUSH executed")                                                                \
    X(fences, "SFENCE, MFENCE and locked instructions")                                                                \
    X(stream_loads, "loads taken as independent of those under way")                                                   \
    X(prefetches, "lines that the prefetcher asked memory for")                                                        \
    X(prefetches_used, "of them, those used later")                                                                    \
    X(l1_misses, "accesses that missed L1D")                                                                           \
    X(l2_misses, "accesses that missed L2")                                                                            \
    X(llc_misses, "accesses that missed the LLC")                                                                      \
    X(dram_reads, "lines read from local DRAM")                                                                        \
    X(dram_writes, "lines written to local DRAM")

#define MEM_DEVICE_COUNTERS(X)                                                                                         \
    X(cxl_reads, "lines read from the device")                                                                         \
    X(cxl_writes, "lines written to the device")                                                                       \
    X(cache_hits, "device-cache hits, reads and writes")                                                               \
    X(cache_misses, "device-cache misses, reads and writes")                                                           \
    X(cache_writebacks, "dirty pages evicted from the device cache")                                                   \
    X(cache_merges, "of the hits, those that waited for a page under way")                                             \
    X(cache_unfetched, "of the misses, writes that fetched no page")                                                   \
    X(cache_completions, "pages read to complete what was written of them without a fetch")                            \
    X(cache_through_programs, "pages programmed by write-through")                                                     \
    X(cache_through_joins, "writes that joined a program which had not started")                                       \
    X(cache_prefetches, "pages prefetched")                                                                            \
    X(cache_prefetches_useful, "of them, those used later")                                                            \
    X(cache_prefetches_useless, "of them, those evicted unused")                                                       \
    X(log_writes, "lines appended to the write log")                                                                   \
    X(log_hits, "of the hits, reads that the write log served")                                                        \
    X(log_compactions, "pages programmed by compaction of the write log")                                              \
    X(log_wait_ps, "time that writes waited for room in the write log")                                                \
    X(flash_reads, "pages read from flash")                                                                            \
    X(flash_programs, "pages programmed into flash, by the host and by garbage collection")                            \
    X(flash_gc_moves, "pages that garbage collection moved: read and programmed")                                      \
    X(flash_erases, "flash blocks erased")                                                                             \
    X(link_read_bytes, "payload bytes from device to host")                                                            \
    X(link_write_bytes, "payload bytes from host to device")

#define MEM_STALL_COUNTERS(X)                                                                                          \
    X(stall_cache_ps, "stall on L2 and LLC hits")                                                                      \
    X(stall_dram_ps, "stall on local DRAM")                                                                            \
    X(stall_cxl_hit_ps, "stall on device-cache hits")                                                                  \
    X(stall_cxl_miss_ps, "stall on device-cache misses")                                                               \
    X(stall_overlap_ps, "stall at the end of the window for loads under way, and on prefetched lines")                 \
    X(stall_store_ps, "stall for a place in the store buffer")                                                         \
    X(stall_fence_ps, "stall in fences, CLFLUSH and NT stores for writes under way")

#define MEM_COUNTERS(X)                                                                                                \
    MEM_CPU_COUNTERS(X)                                                                                                \
    MEM_DEVICE_COUNTERS(X)                                                                                             \
    MEM_STALL_COUNTERS(X)

typedef struct MemCounters {
#define X(field, what) uint64_t field;
    MEM_COUNTERS(X)
#undef X
} MemCounters;

/*
 * Check a configuration. Returns NULL if it is usable, else a static sentence
 * naming the field and the rule it breaks ("cache_size_bytes must not exceed
 * capacity_bytes").
 */
const char *memsys_check_cpu(const MemCpuConfig *cpu);
const char *memsys_check_device(const MemDeviceConfig *device);

/* Create a memory system of local DRAM only. The configuration must have passed its check. */
MemSys *memsys_new(const MemCpuConfig *cpu, const MemCallbacks *cb);
void memsys_free(MemSys *m);

/*
 * Tell a trace of all that memory is asked and told from now on; NULL: no more.
 * To replay exactly, set it before the first access, when all devices are there.
 */
void memsys_set_trace(MemSys *m, MemTraceWriter *trace);

/*
 * Add a device, whose configuration has passed its check; returns its number,
 * 0 and on. `media` is the live content of its persistent part, which the
 * caller keeps mapped for the life of the MemSys and to which all stores of the
 * CPU go directly; the model reads it to save what is durable and writes it
 * only in memsys_power_cut(). NULL: its durability is not tracked.
 */
uint32_t memsys_add_device(MemSys *m, const MemDeviceConfig *config, const MemMedia *media);
/* The same content is in another place from now on. */
void memsys_set_media(MemSys *m, uint32_t device, const MemMedia *media);
/* Change what may change at run time (params.h). Returns NULL, or a static sentence saying why nothing was changed. */
const char *memsys_reconfigure_device(MemSys *m, uint32_t device, const MemDeviceConfig *config);

/*
 * What a device's flash remembers over power cycles, its mapping and wear, as
 * bytes given to `sink` piece by piece; none without flash. Loading takes any
 * bytes; it returns NULL, or a static sentence and changes nothing.
 */
void memsys_flash_save(const MemSys *m, uint32_t device, void (*sink)(void *opaque, const void *bytes, size_t count),
                       void *opaque);
const char *memsys_flash_load(MemSys *m, uint32_t device, const void *bytes, size_t count);

/* Life used: the erases of a block so far, on average, in per cent of its endurance. */
#define MEM_LIFE_UNKNOWN UINT64_MAX /* no flash that wears, or its endurance is not stated */
uint64_t memsys_life_used_percent(const MemSys *m, uint32_t device);

/*
 * Map a window; size 0 unmaps it. Addresses, sizes and granularity are
 * multiples of the line size; windows do not overlap. Everything outside them
 * is local DRAM. The CPU caches are written back before a change.
 */
void memsys_map_window(MemSys *m, uint32_t index, const MemWindow *window, mem_ps now_ps);

/* The slot an access used, or MEM_NO_SLOT if the line is not in L1 after it. */
#define MEM_NO_SLOT UINT32_MAX
uint32_t memsys_l1_slots(const MemSys *m); /* slots are 0 .. this - 1 */

/*
 * One access to the line of `hpa` by a CPU at `now_ps`, *before* its bytes
 * change. Returns the time the CPU stalls. `*slot` is where the line now is in
 * L1: until l1_slot_dropped(slot), further loads of the line need not be told
 * to the model, and after a store further stores need not be either.
 */
mem_ps memsys_load(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot);
mem_ps memsys_store(MemSys *m, uint64_t hpa, mem_ps now_ps, uint32_t *slot);

/*
 * Posted accesses: loads and stores of local DRAM whose stalls the caller asks
 * for later, all at once, so that another thread can find them out meanwhile.
 * The answers are the same. While any are posted, nothing but the functions
 * here may be called, and memsys_settle() comes before the clock is read.
 *
 *     if (memsys_may_post(m) && now + memsys_post_bound(m, now, n) is before any event)
 *         for each of n accesses: memsys_post(m, hpa, store, now less stalls posted, &slot, &missed)
 */

/*
 * Whether posting may begin: in the region of interest, with no WC buffer open, no prefetch of a device's line waiting
 * to be sent (local ones would wait for it) and no power cut after an event due.
 */
bool memsys_may_post(const MemSys *m);
/* So many accesses posted from now on cannot stall the CPU for longer. */
mem_ps memsys_post_bound(const MemSys *m, mem_ps now_ps, uint32_t accesses);
/*
 * As memsys_load() or memsys_store() of local DRAM, at `now_ps` plus the stalls
 * posted. Returns false, and has done nothing, while too many wait to be worked on.
 * `*missed` stands in for l1_slot_dropped(): `*slot` held another line, or none.
 */
bool memsys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot, bool *missed);
/* In another thread, at any time: work on what is posted. Returns whether there was anything to do. */
bool memsys_run_posted(MemSys *m);
/* The stalls of all that was posted, or false while another thread works on it: try again. */
bool memsys_settle(MemSys *m, mem_ps *stall_ps);

/*
 * A non-temporal store of `size_bytes` at `hpa` (within one line), before its
 * bytes change. The line leaves the CPU caches; the store gathers in a
 * write-combining buffer, which goes out when all 64 bytes are written, when
 * another line needs the buffer, on a fence, or on any other access to the
 * line. Posted: the stall is 0 unless the buffer it needs must wait.
 */
mem_ps memsys_nt_store(MemSys *m, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps);

/* CLWB, CLFLUSHOPT, CLFLUSH of the line of `hpa`. Posted, but for CLFLUSH. */
mem_ps memsys_flush(MemSys *m, uint64_t hpa, MemFlushKind kind, mem_ps now_ps);

/*
 * MEM_SFENCE: drain the write-combining buffers and stall until every store,
 * flush and non-temporal store so far is accepted by local DRAM or the device
 * (the persistence domain if the device cache is protected). MEM_LFENCE: stall
 * until every load is done. MEM_MFENCE, also for locked instructions: both.
 * MEM_SERIALIZE: loads and stores, but not what flushes started.
 */
mem_ps memsys_fence(MemSys *m, MemFenceKind kind, mem_ps now_ps);

/* pm_wbarrier: all that the devices have accepted, or are about to, is durable when it returns. */
mem_ps memsys_barrier(MemSys *m, mem_ps now_ps);

/* WBINVD: write back and drop everything in the CPU caches; then as a fence. */
mem_ps memsys_wbinvd(MemSys *m, mem_ps now_ps);

/*
 * PAUSE: the time the CPU waits, which is none of memory's. It is the same
 * outside the region of interest: a loop there waits for a clock that this moves.
 */
mem_ps memsys_pause(const MemSys *m);

/*
 * An instruction with a cost. If it serialises, the write-combining buffers go
 * out and it waits for the loads and stores so far, but not for what flushes
 * started; then, or at once, it takes its time.
 */
mem_ps memsys_instruction(MemSys *m, MemInsn insn, mem_ps now_ps);

/*
 * Region of interest. Outside it (the state after creation) accesses still
 * move lines through the caches and the persistence states, but every latency
 * is 0, nothing queues and nothing is counted. A change of this leaves all
 * cache contents as they are.
 */
void memsys_set_timed(MemSys *m, bool timed);

void memsys_reset_counters(MemSys *m);
MemCounters memsys_counters(const MemSys *m);
/* Of them, what this device counted: the sum over the devices is what memsys_counters() says. Others are 0. */
MemCounters memsys_device_counters(const MemSys *m, uint32_t device);
void memsys_add_counters(MemCounters *sum, const MemCounters *more);
/* Latencies since the last memsys_reset_counters(), by a MemCause; see histogram.h. */
struct MemHistogram;
const struct MemHistogram *memsys_histogram(const MemSys *m, unsigned cause);

/* The persistence state of a device line at `now_ps`, without changing anything. */
MemLineState memsys_line_state(const MemSys *m, uint32_t device, uint64_t dpa, mem_ps now_ps);

/*
 * Persistence events so far, of all devices: each write-back that left the CPU,
 * and each version of a line that became durable. After the `count`-th the power
 * is gone: no line gets any further, and the caller, whom `power_gone` tells,
 * cuts the power as soon as it can. UINT64_MAX: never.
 */
uint64_t memsys_persistence_events(const MemSys *m);
void memsys_cut_after(MemSys *m, uint64_t count);

/*
 * Power cut at `now_ps` of all devices, whose sum is returned: every device line's bytes in `media` become what was
 * durable then; the CPU caches, WC buffers and an unprotected device cache
 * lose their contents; a protected device cache and the flash keep theirs.
 * Independent of hash order.
 */
MemPowerCut memsys_power_cut(MemSys *m, mem_ps now_ps);
/* One device's part of the last of these: each knows for itself whether its shutdown was dirty. */
MemPowerCut memsys_device_power_cut(const MemSys *m, uint32_t device);

/*
 * Orderly power-off: everything is written back and durable at no time cost.
 */
void memsys_power_off(MemSys *m, mem_ps now_ps);

/*
 * Assert the conservation laws (a line is in at most one place per level,
 * dirty pages + write-backs = pages dirtied, hits + misses = reads + writes,
 * ...). Returns NULL or a static sentence naming the law that is broken.
 * Linear in the caches' size; for tests.
 */
const char *memsys_check_invariants(const MemSys *m);

#endif
