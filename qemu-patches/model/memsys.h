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

#include "base/callbacks.h"
#include "base/counters.h"
#include "base/units.h"
#include "config/cpu.h"
#include "config/device.h"
#include "memory/window.h"
#include "persist/media.h"
#include "persist/power.h"

typedef struct MemSys MemSys;
typedef struct MemObserver MemObserver; /* memory/observer.h */

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

typedef enum MemFlushKind { MEM_CLWB, MEM_CLFLUSHOPT, MEM_CLFLUSH } MemFlushKind;
typedef enum MemFenceKind { MEM_SFENCE, MEM_LFENCE, MEM_MFENCE, MEM_SERIALIZE, MEM_LOCKED } MemFenceKind;

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
 * Tell an observer, which stays there meanwhile, of all that memory is asked
 * and told from now on; NULL: no more. For a trace that can be replayed
 * exactly, set it before the first access, when all devices are there.
 */
void memsys_set_observer(MemSys *m, const MemObserver *observer);

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

/* Life used: the erases of a block so far, on average, in per cent of its endurance; or MEM_LIFE_UNKNOWN. */
uint64_t memsys_life_used_percent(const MemSys *m, uint32_t device);

/*
 * Map a window; size 0 unmaps it. Addresses, sizes and granularity are
 * multiples of the line size; windows do not overlap. Everything outside them
 * is local DRAM. The CPU caches are written back before a change.
 */
void memsys_map_window(MemSys *m, uint32_t index, const MemWindow *window, mem_ps now_ps);

/* As it was mapped last; of size 0: not at all. */
const MemWindow *memsys_window(const MemSys *m, uint32_t index);
/* Whether an address is of local DRAM: of no window. */
bool memsys_is_local(const MemSys *m, uint64_t hpa);
/* Of which device an address is, and its DPA there; false if it is of local DRAM. */
bool memsys_device_address(const MemSys *m, uint64_t hpa, uint32_t *device, uint64_t *dpa);
/* Whether an address is of the persistent part of a device. */
bool memsys_is_persistent(const MemSys *m, uint64_t hpa);

/* The slots of each core's L1 are 0 .. this - 1; a line that is not in it has MEM_NO_SLOT. */
uint32_t memsys_l1_slots(const MemSys *m);

/*
 * One access to the line of `hpa` by a CPU at `now_ps`, *before* its bytes
 * change. Returns the time the CPU stalls. `*slot` is where the line now is in
 * L1: until l1_slot_dropped(slot), further loads of the line need not be told
 * to the model, and after a store further stores need not be either.
 */
mem_ps memsys_load(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot);
mem_ps memsys_store(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot);
/*
 * The load or the store of a locked instruction. With several cores both ask
 * for the line as a store does, to own it, and wait for it as a load does. With
 * one core they are memsys_load() and memsys_store().
 */
mem_ps memsys_locked(MemSys *m, uint32_t core, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot);

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
 * to be sent (local ones would wait for it), no power cut after an event due and no device that may lose lines: the
 * caller is to know of those at once.
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
mem_ps memsys_nt_store(MemSys *m, uint32_t core, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps);

/* CLWB, CLFLUSHOPT, CLFLUSH of the line of `hpa`. Posted, but for CLFLUSH. */
mem_ps memsys_flush(MemSys *m, uint32_t core, uint64_t hpa, MemFlushKind kind, mem_ps now_ps);

/*
 * MEM_SFENCE: drain the write-combining buffers and stall until every store,
 * flush and non-temporal store so far is accepted by local DRAM or the device
 * (the persistence domain if the device cache is protected). MEM_LFENCE: stall
 * until every load is done. MEM_MFENCE: both. MEM_LOCKED, a locked instruction:
 * both, and its own time. MEM_SERIALIZE: loads and stores, but not what flushes
 * started. All of this core: what others have under way is no business of it.
 */
mem_ps memsys_fence(MemSys *m, uint32_t core, MemFenceKind kind, mem_ps now_ps);

/* pm_wbarrier: all that the devices have accepted, or are about to, is durable when it returns. */
mem_ps memsys_barrier(MemSys *m, uint32_t core, mem_ps now_ps);

/* WBINVD: write back and drop everything in the CPU caches; then as a fence. */
mem_ps memsys_wbinvd(MemSys *m, uint32_t core, mem_ps now_ps);

/*
 * PAUSE: the time the CPU waits, which is none of memory's. It is the same
 * outside the region of interest: a loop there waits for a clock that this moves.
 */
mem_ps memsys_pause(const MemSys *m, uint32_t core);

/* What an interrupt takes from one core to another: held for the caller, likewise. */
mem_ps memsys_ipi(const MemSys *m);

/*
 * An instruction with a cost. If it serialises, the write-combining buffers go
 * out and it waits for the loads and stores so far, but not for what flushes
 * started; then, or at once, it takes its time.
 */
mem_ps memsys_instruction(MemSys *m, uint32_t core, MemInsn insn, mem_ps now_ps);

/*
 * Region of interest. Outside it (the state after creation) accesses still
 * move lines through the caches and the persistence states, but every latency
 * is 0, nothing queues and nothing is counted. A change of this leaves all
 * cache contents as they are.
 */
void memsys_set_timed(MemSys *m, bool timed);

void memsys_reset_counters(MemSys *m);
MemCounters memsys_counters(const MemSys *m);
/* Of them, what this core counted: the sum over cores and devices is what memsys_counters() says. */
MemCounters memsys_core_counters(const MemSys *m, uint32_t core);
/* Of them, what this device counted: others are 0. */
MemCounters memsys_device_counters(const MemSys *m, uint32_t device);
/*
 * Of the device's pages those that the host read and wrote most since then, in a region of interest or not, the
 * hottest first; returns how many, at most hot_pages of its configuration, which `pages` has room for.
 */
struct MemHotPage;
uint32_t memsys_hot_pages(const MemSys *m, uint32_t device, struct MemHotPage *pages);
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
