/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timed memory system: CPU caches, local DRAM and CXL-SSDs.
 *
 * This is the only header that a user of the model needs. The caller tells a
 * `MemSys` about every line that a CPU touches, and receives the time for which the
 * CPU stalls. For every 64-byte line of the device, the `MemSys` also keeps the
 * bytes that would survive a power cut at any instant. The model has no clock, no
 * I/O and no global state: the caller passes the virtual time in, and equal call
 * sequences give equal answers on every host.
 *
 * Units: every time is in picoseconds of virtual time (`_ps`), every size in bytes
 * (`_bytes`), every bandwidth in bytes per second.
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
 * Instructions that do not access memory, but take some time in the region of interest. All of them serialise, except
 * RDMSR, RDTSC and a WRMSR of a register for which the architecture relaxes serialisation.
 */
typedef enum MemInsn {
    MEM_INSN_CPUID,
    MEM_INSN_RDMSR,
    MEM_INSN_WRMSR,
    MEM_INSN_MOV_CR, /* writes of CR0 and CR4, also CLTS and LMSW */
    MEM_INSN_MOV_CR3,
    MEM_INSN_MOV_DR,
    MEM_INSN_INVLPG,     /* also INVLPGA */
    MEM_INSN_LOAD_TABLE, /* LGDT, LIDT, LLDT, LTR */
    MEM_INSN_IRET,       /* also RSM */
    MEM_INSN_RDTSC,      /* also RDTSCP */
    MEM_INSN_WBINVD,     /* also INVD; the lines written back cost extra */
    MEM_INSN_COSTS,
    MEM_INSN_WRMSR_RELAXED = MEM_INSN_COSTS, /* has the cost of WRMSR */
} MemInsn;

typedef enum MemFlushKind { MEM_CLWB, MEM_CLFLUSHOPT, MEM_CLFLUSH } MemFlushKind;
typedef enum MemFenceKind { MEM_SFENCE, MEM_LFENCE, MEM_MFENCE, MEM_SERIALIZE, MEM_LOCKED } MemFenceKind;

/*
 * Check a configuration. Returns NULL if it is valid, else a static sentence that
 * names the field and the broken rule ("cache_size_bytes must not exceed
 * capacity_bytes").
 */
const char *memsys_check_cpu(const MemCpuConfig *cpu);
const char *memsys_check_device(const MemDeviceConfig *device);

/* Create a memory system of local DRAM only. The configuration must have passed its check. */
MemSys *memsys_new(const MemCpuConfig *cpu, const MemCallbacks *cb);
void memsys_free(MemSys *m);

/*
 * Report all operations on memory with their stalls, and all changes of windows, mode, counters and devices, to an
 * observer from now on; NULL: stop. The observer must stay valid meanwhile. Only with one core. For a trace that can be
 * replayed exactly, set the observer before the first access, when all devices have been added.
 */
void memsys_set_observer(MemSys *m, const MemObserver *observer);

/*
 * Add a device with a configuration that has passed its check; returns its number,
 * counted from 0. `media` is the live content of its persistent part. The caller
 * keeps it mapped for the life of the MemSys, and all stores of the CPU go directly
 * to it. The model reads it to save durable bytes, and writes it only in
 * memsys_power_cut(). NULL: the durability of the device is not tracked.
 */
uint32_t memsys_add_device(MemSys *m, const MemDeviceConfig *config, const MemMedia *media);
/* The same content is in another place from now on. */
void memsys_set_media(MemSys *m, uint32_t device, const MemMedia *media);
/*
 * Change the parameters that may change at run time (params.h). Returns NULL, or a sentence that says why nothing was
 * changed, valid until the next call.
 */
const char *memsys_reconfigure_device(MemSys *m, uint32_t device, const MemDeviceConfig *config);

/*
 * Save the flash state that a device keeps over power cycles, its mapping and wear:
 * `sink` receives the bytes piece by piece, or no bytes if there is no flash.
 * Loading accepts any bytes; it returns NULL, or a static sentence and then changes
 * nothing.
 */
void memsys_flash_save(const MemSys *m, uint32_t device, void (*sink)(void *opaque, const void *bytes, size_t count),
                       void *opaque);
const char *memsys_flash_load(MemSys *m, uint32_t device, const void *bytes, size_t count);

/* Life used: the average number of erases of a block, in per cent of its endurance; or MEM_LIFE_UNKNOWN. */
uint64_t memsys_life_used_percent(const MemSys *m, uint32_t device);

/*
 * Map a window; size 0 unmaps it. Addresses, sizes and granularity are multiples of
 * the line size; windows do not overlap. Every address outside them is local DRAM.
 * A change first writes back the CPU caches.
 */
void memsys_map_window(MemSys *m, uint32_t index, const MemWindow *window, mem_ps now_ps);

/* The window as last mapped; size 0: not mapped. */
const MemWindow *memsys_window(const MemSys *m, uint32_t index);
/* Whether an address is local DRAM, outside all windows. */
bool memsys_is_local(const MemSys *m, uint64_t hpa);
/* Find the device of an address and the DPA there; returns false for local DRAM. */
bool memsys_device_address(const MemSys *m, uint64_t hpa, uint32_t *device, uint64_t *dpa);
/* Whether an address is in the persistent part of a device. */
bool memsys_is_persistent(const MemSys *m, uint64_t hpa);

/* The number of slots of each core's L1, numbered from 0. A line that is not in L1 has MEM_NO_SLOT. */
uint32_t memsys_l1_slots(const MemSys *m);

/*
 * One access to the line of `hpa` by a CPU at `now_ps`, *before* its bytes change.
 * Returns the time for which the CPU stalls. `*slot` is the slot of L1 that now
 * holds the line. Until l1_slot_dropped(slot), the model need not be told of
 * further loads of the line nor, after a store, of further stores;
 * l1_slot_shared(slot) ends this for stores.
 */
mem_ps memsys_load(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot);
mem_ps memsys_store(MemSys *m, uint32_t core, uint64_t hpa, mem_ps now_ps, uint32_t *slot);
/*
 * The load or the store of a locked instruction. With several cores both request
 * the line for ownership, as a store does, and wait for it, as a load does. With
 * one core they are memsys_load() and memsys_store().
 */
mem_ps memsys_locked(MemSys *m, uint32_t core, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot);

/*
 * Posted accesses: loads and stores of local DRAM. The caller asks for their stalls later, all at once, so that another
 * thread can compute the stalls meanwhile. The answers are the same. While any accesses are posted, the caller may call
 * only the functions of this section, and must call memsys_settle() before it reads the clock.
 *
 *     if (memsys_may_post(m) && now + memsys_post_bound(m, now, n) is before any event)
 *         for each of n accesses: memsys_post(m, hpa, store, now without posted stalls, &slot, &missed)
 */

/*
 * Whether posting may begin: in the region of interest, with one core, with no WC buffer open, and with no prefetch of
 * a device's line that waits to be sent (local prefetches would wait for it). Also with no power cut due after an event
 * and no device that may lose lines, because the caller must learn of both at once.
 */
bool memsys_may_post(const MemSys *m);
/* An upper bound of the CPU's stalls for this many accesses posted from now on. */
mem_ps memsys_post_bound(const MemSys *m, mem_ps now_ps, uint32_t accesses);
/*
 * As memsys_load() or memsys_store() of local DRAM, at `now_ps` plus the stalls
 * posted before. Returns false, and does nothing, while too many accesses wait to
 * be run. `*missed` replaces l1_slot_dropped(): `*slot` held another line, or no
 * line.
 */
bool memsys_post(MemSys *m, uint64_t hpa, bool store, mem_ps now_ps, uint32_t *slot, bool *missed);
/* Run posted accesses. For another thread, at any time. Returns whether it ran any. */
bool memsys_run_posted(MemSys *m);
/* Get the stalls of all posted accesses. Returns false while another thread runs them: try again. */
bool memsys_settle(MemSys *m, mem_ps *stall_ps);

/*
 * A non-temporal store of `size_bytes` at `hpa` (within one line), before its bytes
 * change. The line leaves the CPU caches, and a write-combining buffer gathers the
 * store. The buffer is sent when all 64 bytes are written, when another line needs
 * the buffer, on a fence, or on any other access to the line. Posted: the stall is
 * 0 unless the store waits for a buffer.
 */
mem_ps memsys_nt_store(MemSys *m, uint32_t core, uint64_t hpa, uint32_t size_bytes, mem_ps now_ps);

/* CLWB, CLFLUSHOPT or CLFLUSH of the line of `hpa`. Posted, except CLFLUSH. */
mem_ps memsys_flush(MemSys *m, uint32_t core, uint64_t hpa, MemFlushKind kind, mem_ps now_ps);

/*
 * MEM_SFENCE: send the write-combining buffers and stall until local DRAM or the
 * device has accepted every store, flush and non-temporal store so far (if the
 * device cache is protected, the line is then in the persistence domain).
 * MEM_LFENCE: stall until every load is done. MEM_MFENCE: both. MEM_LOCKED, a
 * locked instruction: both, and its own time. MEM_SERIALIZE: stall until loads and
 * stores are done, but not flushes. A fence never waits for operations of other
 * cores.
 */
mem_ps memsys_fence(MemSys *m, uint32_t core, MemFenceKind kind, mem_ps now_ps);

/* pm_wbarrier: when it returns, all writes that the devices have accepted, or are about to accept, are durable. */
mem_ps memsys_barrier(MemSys *m, uint32_t core, mem_ps now_ps);

/* WBINVD: write back and drop all lines of the CPU caches, then act as a full fence. */
mem_ps memsys_wbinvd(MemSys *m, uint32_t core, mem_ps now_ps);

/*
 * PAUSE: the time that the CPU waits, without waiting for memory. The time is the same outside the region of interest,
 * because a loop there waits for a clock that this time advances.
 */
mem_ps memsys_pause(const MemSys *m, uint32_t core);

/*
 * The time that an interrupt takes from one core to another, stored for the caller. Also the same outside the region.
 */
mem_ps memsys_ipi(const MemSys *m);

/*
 * An instruction with a cost. If it serialises, the write-combining buffers are
 * sent, and it waits for the loads and stores so far, but not for flushes. After
 * that, or at once, it takes its time.
 */
mem_ps memsys_instruction(MemSys *m, uint32_t core, MemInsn insn, mem_ps now_ps);

/*
 * Region of interest. Outside it (the state after creation) accesses still move
 * lines through the caches and the persistence states, but every latency is 0,
 * nothing queues and nothing is counted. A change of the mode leaves all cache
 * contents as they are.
 */
void memsys_set_timed(MemSys *m, bool timed);

void memsys_reset_counters(MemSys *m);
MemCounters memsys_counters(const MemSys *m);
/* The counts of one core. memsys_counters() is the sum over all cores and devices. */
MemCounters memsys_core_counters(const MemSys *m, uint32_t core);
/* The counts of one device; other counters are 0. */
MemCounters memsys_device_counters(const MemSys *m, uint32_t device);
/*
 * The pages of the device that the host has read and written most since the last reset of the counters, inside or
 * outside a region of interest, hottest first. Returns their number, at most hot_pages of the configuration; `pages`
 * has room for as many.
 */
struct MemHotPage;
uint32_t memsys_hot_pages(const MemSys *m, uint32_t device, struct MemHotPage *pages);
/* Latencies since the last memsys_reset_counters(), for one MemCause; see histogram.h. */
struct MemHistogram;
const struct MemHistogram *memsys_histogram(const MemSys *m, unsigned cause);

/* The persistence state of a device line at `now_ps`. Changes nothing. */
MemLineState memsys_line_state(const MemSys *m, uint32_t device, uint64_t dpa, mem_ps now_ps);

/*
 * Persistence events so far, of all devices: each write-back that left the CPU, and
 * each version of a line that became durable. memsys_cut_after() makes power fail
 * after event number `count`: from then on no line gets any further, and the
 * caller, which `power_gone` informs, cuts the power as soon as it can. UINT64_MAX:
 * never.
 */
uint64_t memsys_persistence_events(const MemSys *m);
void memsys_cut_after(MemSys *m, uint64_t count);

/*
 * Power cut of all devices at `now_ps`; returns the sum over the devices. Every device line's bytes in `media` become
 * the bytes that were durable then, or that the persistence domain saved. The CPU caches, WC buffers and an unprotected
 * device cache lose their contents; a protected device cache and the flash keep theirs. Independent of hash order.
 */
MemPowerCut memsys_power_cut(MemSys *m, mem_ps now_ps);
/* One device's part of the last power cut. Each device determines for itself whether its shutdown was dirty. */
MemPowerCut memsys_device_power_cut(const MemSys *m, uint32_t device);

/*
 * Orderly power-off: everything is written back and durable, and takes no time.
 */
void memsys_power_off(MemSys *m, mem_ps now_ps);

/*
 * Check the conservation laws (a line is in at most one place per level, dirty
 * pages + write-backs = pages dirtied, hits + misses = reads + writes, ...).
 * Returns NULL, or a static sentence that names the broken law. Linear in the
 * caches' size; for tests.
 */
const char *memsys_check_invariants(const MemSys *m);

#endif
