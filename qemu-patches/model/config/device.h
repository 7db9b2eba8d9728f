/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of a device, as a device profile states it. field.h explains how to read and to add a row. */
#ifndef MODEL_CONFIG_DEVICE_H
#define MODEL_CONFIG_DEVICE_H

#include "field.h"

/* clang-format off */
#define MEM_POLICY_CHOICES(X)                                                                                          \
    X(MEM_POLICY_LRU, "lru")                                                                                           \
    X(MEM_POLICY_FIFO, "fifo")                                                                                         \
    X(MEM_POLICY_CLOCK, "clock")                                                                                       \
    X(MEM_POLICY_2Q, "2q")                                                                                             \
    X(MEM_POLICY_S3_FIFO, "s3-fifo")                                                                                   \
    X(MEM_POLICY_RANDOM, "random")

#define MEM_CACHE_WRITE_CHOICES(X)                                                                                     \
    X(MEM_WRITE_BACK, "back")                                                                                          \
    X(MEM_WRITE_THROUGH, "through")

#define MEM_WRITE_MISS_CHOICES(X)                                                                                      \
    X(MEM_WRITE_FETCH, "fetch")                                                                                        \
    X(MEM_WRITE_NO_FETCH, "no-fetch")                                                                                  \
    X(MEM_WRITE_LOG, "log")

#define MEM_PAGE_PREFETCH_CHOICES(X)                                                                                   \
    X(MEM_PREFETCH_NONE, "none")                                                                                       \
    X(MEM_PREFETCH_NEXT, "next")                                                                                       \
    X(MEM_PREFETCH_STRIDE, "stride")

#define MEM_FTL_CHOICES(X)                                                                                             \
    X(MEM_FTL_NONE, "none")                                                                                            \
    X(MEM_FTL_PAGE, "page")

#define MEM_GC_CHOICES(X)                                                                                              \
    X(MEM_GC_GREEDY, "greedy")                                                                                         \
    X(MEM_GC_COST_BENEFIT, "cost-benefit")

/* The persistence domain, the parts that keep power long enough when power fails (docs/explanation/persistence.md). */
#define MEM_DOMAIN_CHOICES(X)                                                                                          \
    X(MEM_DOMAIN_NONE, "none")                                                                                         \
    X(MEM_DOMAIN_ADR, "adr")                                                                                           \
    X(MEM_DOMAIN_EADR, "eadr")                                                                                         \
    X(MEM_DOMAIN_GPF, "gpf")

/* The fate of lines that a CPU holds dirty at a power cut and could have evicted before. */
#define MEM_CUT_LINES_CHOICES(X)                                                                                       \
    X(MEM_CUT_LOST, "lost")                                                                                            \
    X(MEM_CUT_KEPT, "kept")                                                                                            \
    X(MEM_CUT_SEEDED, "seeded")

#define MEM_PARTITION_PARAMS(X)                                                                                        \
    X(SIZE, volatile_bytes, "volatile-size", FIXED, DEFAULT(0),                                                        \
      ANY, "the volatile partition, from DPA 0: its durability is not tracked; at most the capacity")

#define MEM_LINK_PARAMS(X)                                                                                             \
    X(TIME, link_latency_ps, "link-latency-ps", LIVE, REQUIRED,                                                        \
      UP_TO_1_S, "CXL link: each way, every message")                                                                  \
    X(BANDWIDTH, link_read_bandwidth, "link-read-bandwidth", LIVE, REQUIRED,                                           \
      A_BANDWIDTH, "device to host: of the wire with flits, else of the payload")                                      \
    X(BANDWIDTH, link_write_bandwidth, "link-write-bandwidth", LIVE, REQUIRED,                                         \
      A_BANDWIDTH, "host to device, likewise")                                                                         \
    X(COUNT, link_flit_bytes, "link-flit-bytes", LIVE, DEFAULT(0),                                                     \
      UP_TO(256), "68 or 256; 0: no protocol overhead")                                                                \
    X(BOOL, link_multi_header, "link-multi-header", LIVE, DEFAULT(true),                                               \
      ON_OR_OFF, "headers of two lines to the host may share a slot of a flit (MDH)")

/* Without flash the rows from cache-size on are unused, except the times and the bandwidth of the device DRAM. */
#define MEM_CACHE_PARAMS(X)                                                                                            \
    X(COUNT, write_queue, "write-queue", REPLAY, DEFAULT(0),                                                           \
      UP_TO(65536), "lines that the host's memory controller accepts for the device; 0: none")                         \
    X(TIME, controller_latency_ps, "controller-latency-ps", LIVE, REQUIRED,                                            \
      UP_TO_1_S, "each request, before the look-up in the cache")                                                      \
    X(TIME, controller_interval_ps, "controller-interval-ps", LIVE, DEFAULT(0),                                        \
      UP_TO_1_S, "from the start of one request to the next one's at least")                                           \
    X(COUNT, hot_pages, "hot-pages", REPLAY, DEFAULT(0),                                                               \
      UP_TO(65536), "how many pages of 4 KiB are told of that the host asked for most; 0: no page is counted")         \
    X(SIZE, cache_size_bytes, "cache-size", REPLAY, DEFAULT(0),                                                        \
      ANY, "device DRAM cache: a multiple of the page, above 0 with flash, at most the capacity and 2^30 pages")       \
    X(SIZE32, cache_page_bytes, "cache-page-size", REPLAY, DEFAULT(4096),                                              \
      IF_FLASH(FROM(64, 2097152)), "page of the cache, the unit of flash: a power of two")                             \
    X(COUNT, cache_ways, "cache-ways", REPLAY, DEFAULT(0),                                                             \
      ANY, "associativity: a divisor of the number of pages, page p is in set p mod sets; 0: full")                    \
    X(TIME, cache_latency_ps, "cache-latency-ps", LIVE, REQUIRED,                                                      \
      UP_TO_1_S, "look-up and access of the device cache, hit or miss, read or write")                                 \
    X(TIME, cache_tag_ps, "cache-tag-ps", LIVE, DEFAULT(0),                                                            \
      UP_TO_1_S, "tags in device DRAM: an access of their own before that of cache_latency; 0: none")                  \
    X(TIME, cache_refresh_ps, "cache-refresh-ps", LIVE, DEFAULT(0),                                                    \
      UP_TO_1_S, "how long a refresh of the device DRAM blocks its group of banks (tRFC), below the interval; 0: none")\
    X(TIME, cache_refresh_interval_ps, "cache-refresh-interval-ps", LIVE, DEFAULT(0),                                  \
      UP_TO_1_S, "from one refresh of a group to its next (tREFI)")                                                    \
    X(COUNT, cache_refresh_groups, "cache-refresh-groups", LIVE, DEFAULT(1),                                           \
      IF("cache-refresh-ps", FROM(1, 1024)), "groups of banks, refreshed in turn, evenly over the interval")           \
    X(BANDWIDTH, cache_bandwidth, "cache-bandwidth", LIVE, DEFAULT(0),                                                 \
      A_BANDWIDTH_OR_0, "of the device DRAM, for lines read and written by the host; 0: no limit")                     \
    X(CHOICE, cache_policy, "cache-policy", LIVE, DEFAULT(MEM_POLICY_LRU),                                             \
      ONE_OF(policy), "which page the cache gives up")                                                                 \
    X(NUMBER, cache_seed, "cache-seed", REPLAY, DEFAULT(1),                                                            \
      ANY, "of cache_policy random")                                                                                   \
    X(CHOICE, cache_write, "cache-write", LIVE, DEFAULT(MEM_WRITE_BACK),                                               \
      ONE_OF(cache_write), "when a written page goes to flash")                                                        \
    X(CHOICE, cache_write_miss, "cache-write-miss", LIVE, DEFAULT(MEM_WRITE_FETCH),                                    \
      ONE_OF(write_miss), "handling of a write to an absent page; log only with cache_write back")                     \
    X(SIZE, write_log_bytes, "write-log-size", REPLAY, DEFAULT(0),                                                     \
      IF_FLASH(UP_TO_64_GIB), "of both halves of the log of cache_write_miss log: a multiple of 128, not 0 then")      \
    X(COUNT, cache_mshrs, "cache-mshrs", LIVE, DEFAULT(0),                                                             \
      IF_FLASH(UP_TO(65536)), "page fetches under way at once; 0: no limit")                                           \
    X(CHOICE, cache_prefetch, "cache-prefetch", LIVE, DEFAULT(MEM_PREFETCH_NONE),                                      \
      IF_FLASH(ONE_OF(page_prefetch)), "pages fetched before they are asked for")                                      \
    X(COUNT, cache_prefetch_pages, "cache-prefetch-pages", LIVE, DEFAULT(1),                                           \
      IF("cache-prefetch", FROM(1, 1024)), "how many of them at a time")                                               \
    X(BOOL, cache_power_loss_protected, "cache-power-loss-protected", REPLAY, DEFAULT(true),                           \
      ON_OR_OFF, "a line is durable when the device has accepted it; off: with flash not with write_queue")

#define MEM_FLASH_PARAMS(X)                                                                                            \
    X(COUNT, flash_channels, "flash-channels", REPLAY, REQUIRED,                                                       \
      UP_TO(65536), "independent channels; 0: no flash, the device is a memory expander")                              \
    X(COUNT, flash_dies, "flash-dies", REPLAY, DEFAULT(1),                                                             \
      IF_FLASH(FROM(1, 65536)), "dies of a channel; channels * dies * planes are at most 65536")                       \
    X(COUNT, flash_planes, "flash-planes", REPLAY, DEFAULT(1),                                                         \
      IF_FLASH(FROM(1, 65536)), "planes of a die")                                                                     \
    X(TIME, flash_read_ps, "flash-read-ps", LIVE, DEFAULT(0),                                                          \
      IF_FLASH(UP_TO_1_S), "array read of one page of the cache; a profile with flash states it")                      \
    X(TIME, flash_program_ps, "flash-program-ps", LIVE, DEFAULT(0),                                                    \
      IF_FLASH(UP_TO_1_S), "array program of one page, likewise")                                                      \
    X(TIME, flash_erase_ps, "flash-erase-ps", LIVE, DEFAULT(0),                                                        \
      IF_FLASH(UP_TO_1_S), "erase of one block; a profile with flash_ftl page states it")                              \
    X(BANDWIDTH, flash_channel_bandwidth, "flash-channel-bandwidth", LIVE, DEFAULT(0),                                 \
      IF_FLASH(A_BANDWIDTH_OR_0), "a page takes page / bandwidth, rounded up; 0: transfers are free and never queue")  \
    X(BOOL, flash_suspend, "flash-suspend", LIVE, DEFAULT(false),                                                      \
      ON_OR_OFF, "reads suspend programs and erases")                                                                  \
    X(TIME, flash_suspend_ps, "flash-suspend-ps", LIVE, DEFAULT(0),                                                    \
      IF_FLASH(UP_TO_1_S), "time that a suspension adds to the read")                                                  \
    X(CHOICE, flash_ftl, "flash-ftl", REPLAY, DEFAULT(MEM_FTL_NONE),                                                   \
      IF_FLASH(ONE_OF(ftl)), "none: page p is on plane p mod planes, programmed in place, never erased")               \
    X(COUNT, flash_block_pages, "flash-block-pages", REPLAY, DEFAULT(256),                                             \
      IF("flash-ftl", FROM(2, 65536)), "pages of an erase block")                                                      \
    X(COUNT, flash_over_provisioning_permille, "flash-over-provisioning-permille", REPLAY, DEFAULT(70),                \
      IF("flash-ftl", UP_TO(10000)), "flash beyond the capacity, in thousandths of it")                                \
    X(CHOICE, flash_gc, "flash-gc", REPLAY, DEFAULT(MEM_GC_GREEDY),                                                    \
      IF_FLASH(ONE_OF(gc)), "choice of the block to clean")                                                            \
    X(COUNT, flash_gc_free_blocks, "flash-gc-free-blocks", REPLAY, DEFAULT(2),                                         \
      IF("flash-ftl", AT_LEAST(1)), "a plane cleans while it has fewer free blocks")                                   \
    X(COUNT, flash_endurance_cycles, "flash-endurance-cycles", REPLAY, DEFAULT(0),                                     \
      ANY, "erases that a block is rated for, of which life used and flash_read_errors are parts; 0: not stated")      \
    X(COUNT, flash_worn_cycles, "flash-worn-cycles", REPLAY, DEFAULT(0),                                               \
      ANY, "erases that each block has behind it when the device is first used")                                       \
    X(NUMBER, flash_read_errors, "flash-read-errors", REPLAY, DEFAULT(0),                                              \
      IF_FLASH(UP_TO(1000000000000)), "pages in 10^12 that cannot be read back from a block at its rated erases")      \
    X(NUMBER, flash_read_errors_seed, "flash-read-errors-seed", REPLAY, DEFAULT(1),                                    \
      ANY, "of flash_read_errors: which pages")

#define MEM_POWER_PARAMS(X)                                                                                            \
    X(CHOICE, persist_domain, "persist-domain", REPLAY, DEFAULT(MEM_DOMAIN_ADR),                                       \
      ONE_OF(domain), "how far power reaches when it fails")                                                           \
    X(ENERGY, gpf_energy_uj, "gpf-energy-uj", REPLAY, DEFAULT(0),                                                      \
      ANY, "energy that is left for a Global Persistent Flush")                                                        \
    X(ENERGY, gpf_line_nj, "gpf-line-nj", REPLAY, DEFAULT(0),                                                          \
      ANY, "to move a line to the device")                                                                             \
    X(ENERGY, gpf_page_nj, "gpf-page-nj", REPLAY, DEFAULT(0),                                                          \
      ANY, "to program a page")                                                                                        \
    X(CHOICE, cut_lines, "cut-lines", REPLAY, DEFAULT(MEM_CUT_LOST),                                                   \
      ONE_OF(cut_lines), "dirty lines that the CPU may have evicted before a power cut")                               \
    X(NUMBER, cut_seed, "cut-seed", REPLAY, DEFAULT(1),                                                                \
      ANY, "of cut_lines seeded")                                                                                      \
    X(TIME, wbarrier_latency_ps, "wbarrier-latency-ps", LIVE, DEFAULT(0),                                              \
      UP_TO_1_S, "time of pm_wbarrier after every store has been accepted")
/* clang-format on */

typedef enum MemCachePolicyId { MEM_POLICY_CHOICES(MEM_CHOICE_ID) } MemCachePolicyId;
typedef enum MemCacheWrite { MEM_CACHE_WRITE_CHOICES(MEM_CHOICE_ID) } MemCacheWrite;
typedef enum MemWriteMiss { MEM_WRITE_MISS_CHOICES(MEM_CHOICE_ID) } MemWriteMiss;
typedef enum MemPagePrefetch { MEM_PAGE_PREFETCH_CHOICES(MEM_CHOICE_ID) } MemPagePrefetch;
typedef enum MemFtl { MEM_FTL_CHOICES(MEM_CHOICE_ID) } MemFtl;
typedef enum MemGc { MEM_GC_CHOICES(MEM_CHOICE_ID) } MemGc;
typedef enum MemDomain { MEM_DOMAIN_CHOICES(MEM_CHOICE_ID) } MemDomain;
typedef enum MemCutLines { MEM_CUT_LINES_CHOICES(MEM_CHOICE_ID) } MemCutLines;

typedef struct MemDeviceConfig {
    uint64_t capacity_bytes; /* QEMU derives it from the sizes of the memory backends, so no table contains it */
    MEM_PARTITION_PARAMS(MEM_FIELD)
    MEM_LINK_PARAMS(MEM_FIELD)
    MEM_CACHE_PARAMS(MEM_FIELD)
    MEM_FLASH_PARAMS(MEM_FIELD)
    MEM_POWER_PARAMS(MEM_FIELD)
} MemDeviceConfig;

/* log2 of the lines of a page. 0 for an expander, which has no pages: its page size was not checked. */
static inline unsigned mem_page_line_shift(const MemDeviceConfig *config) {
    unsigned shift = 0;

    while (config->flash_channels != 0 && (MEMSYS_LINE_BYTES << shift) < config->cache_page_bytes) {
        shift++;
    }
    return shift;
}

#define MEM_LIFE_UNKNOWN UINT64_MAX /* life used: no flash that wears, or its endurance is not stated */

#endif
