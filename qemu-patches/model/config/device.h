/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration of a device. */
#ifndef MODEL_CONFIG_DEVICE_H
#define MODEL_CONFIG_DEVICE_H

#include "../base/units.h"

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

#define MEM_LIFE_UNKNOWN UINT64_MAX /* life used: no flash that wears, or its endurance is not stated */

#endif
