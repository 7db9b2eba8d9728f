/*
 * CXL memory-semantic SSD: poison. A poisoned line has no content, and a load
 * of it ends in a machine check if the guest's CPU has SUCCOR. Clear Poison
 * heals the line, and so do non-temporal stores once they have written all of
 * it; a healed line is like any other. Other stores do not heal: the CPU merges
 * them into the line that it has read, including the poison.
 *
 * The list of poison is upstream's, and contains injected poison and the lines
 * that the flash could not read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "exec/timed-mem.h"
#include "hw/core/cpu.h"
#include "cxl-ssd-internal.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl.h"

/* Event record of general media, CXL 3.1 table 8-45. */
#define EVENT_UNCORRECTABLE 1   /* descriptor */
#define EVENT_ECC_ERROR 0       /* type */
#define EVENT_HOST_READ 1       /* transaction */
#define EVENT_MANAGEMENT 6      /* transaction: internal media management */

/* The guest's accesses to a line since it was poisoned. */
typedef struct PoisonedLine {
    uint64_t written;           /* bit i: a non-temporal store wrote byte i */
    bool reported;              /* a load of it */
} PoisonedLine;

/* A healed line, not yet durable: a power cut can lose its new bytes. */
typedef struct HealedLine {
    uint64_t dpa;
    uint8_t type;               /* of its poison */
    uint8_t bytes[MEMSYS_LINE_BYTES]; /* before the cut */
} HealedLine;

static PoisonedLine *line_at(CXLSSDState *s, uint64_t dpa)
{
    gint64 key = dpa;
    PoisonedLine *line = g_hash_table_lookup(s->poisoned, &key);

    if (!line) {
        line = g_new0(PoisonedLine, 1);
        g_hash_table_insert(s->poisoned, g_memdup2(&key, sizeof(key)), line);
    }
    return line;
}

static CXLPoison *entry_in(const CXLPoisonList *list, uint64_t dpa)
{
    CXLPoison *entry;

    QLIST_FOREACH(entry, list, node) {
        if (dpa >= entry->start && dpa - entry->start < entry->length) {
            return entry;
        }
    }
    return NULL;
}

/* Poison beyond the limit of the list has the same effect on loads. */
static CXLPoison *entry_of(CXLSSDState *s, uint64_t dpa)
{
    CXLType3Dev *ct3d = CXL_TYPE3(s);
    CXLPoison *entry = entry_in(&ct3d->poison_list, dpa);

    return entry ? entry : entry_in(&ct3d->poison_list_bkp, dpa);
}

/* An overflow has a time, and the clock cannot be read within a block. */
static void overflow_work(CPUState *cpu, run_on_cpu_data data)
{
    cxl_set_poison_list_overflowed(data.host_ptr);
}

static void entry_add(CXLType3Dev *ct3d, uint64_t start, uint64_t length,
                      uint8_t type)
{
    CXLPoison *entry = g_new0(CXLPoison, 1);

    *entry = (CXLPoison) { .start = start, .length = length, .type = type };
    if (ct3d->poison_list_cnt < CXL_POISON_LIST_LIMIT) {
        QLIST_INSERT_HEAD(&ct3d->poison_list, entry, node);
        ct3d->poison_list_cnt++;
    } else {
        async_run_on_cpu(first_cpu, overflow_work, RUN_ON_CPU_HOST_PTR(ct3d));
        QLIST_INSERT_HEAD(&ct3d->poison_list_bkp, entry, node);
    }
}

/* The bytes of a line, in the memory that holds them at present. */
static const uint8_t *bytes_of(CXLSSDState *s, uint64_t dpa)
{
    const uint8_t *interleaved = cxl_ssd_interleaved(s, dpa);

    return interleaved ? interleaved : cxl_ssd_backing(s, dpa);
}

/*
 * Remove the line at @dpa from the list; the rest of its entry stays. The
 * poison returns if a power cut comes before the new bytes are durable.
 */
static void heal(CXLSSDState *s, uint64_t dpa)
{
    CXLType3Dev *ct3d = CXL_TYPE3(s);
    CXLPoison *entry = entry_of(s, dpa);
    const CXLPoison old = *entry;
    const uint64_t next = dpa + MEMSYS_LINE_BYTES;

    if (entry_in(&ct3d->poison_list, dpa)) {
        ct3d->poison_list_cnt--;
    }
    QLIST_REMOVE(entry, node);
    g_free(entry);
    if (dpa > old.start) {
        entry_add(ct3d, old.start, dpa - old.start, old.type);
    }
    if (next < old.start + old.length) {
        entry_add(ct3d, next, old.start + old.length - next, old.type);
    }
    cxl_ssd_poison_changed(s);
    if (dpa >= s->config.volatile_bytes) {
        HealedLine healed = { .dpa = dpa, .type = old.type };

        g_array_append_val(s->healed, healed);
    }
}

/*
 * Accesses of the guest. The functions run in the vCPU thread and take the BQL,
 * because the list belongs to the main loop.
 */

typedef bool LineVisit(CXLSSDState *s, uint64_t dpa, uint64_t bytes);

/* Whether @visit is true for a poisoned line of the access; *@at: the first. */
static bool any_line(hwaddr paddr, int size, LineVisit *visit, hwaddr *at)
{
    const hwaddr end = paddr + size;

    BQL_LOCK_GUARD();
    while (paddr < end) {
        int offset = paddr % MEMSYS_LINE_BYTES;
        int part = MIN(end - paddr, MEMSYS_LINE_BYTES - offset);
        uint32_t device;
        uint64_t dpa;

        if (memsys_device_address(timed_mem_memsys(), paddr, &device, &dpa)) {
            CXLSSDState *s = cxl_ssds[device];

            dpa -= offset;
            if (entry_of(s, dpa) &&
                visit(s, dpa, MAKE_64BIT_MASK(offset, part))) {
                *at = paddr;
                return true;
            }
        }
        paddr += part;
    }
    return false;
}

typedef struct Report {
    CXLSSDState *device;
    uint64_t dpa;
    uint8_t transaction;
} Report;

/* Event records have a time, and the clock cannot be read within a block. */
static void report_work(CPUState *cpu, run_on_cpu_data data)
{
    g_autofree Report *report = data.host_ptr;
    g_autofree char *path = object_get_canonical_path(OBJECT(report->device));

    qmp_cxl_inject_general_media_event(path, CXL_EVENT_LOG_FAILURE, 0,
                                       report->dpa, EVENT_UNCORRECTABLE,
                                       EVENT_ECC_ERROR, report->transaction,
                                       false, 0, false, 0, false, 0, NULL,
                                       &error_abort);
}

/* Add an event to the device's event log. */
static void report(CXLSSDState *s, uint64_t dpa, uint8_t transaction)
{
    Report *report = g_new(Report, 1);

    *report = (Report) {
        .device = s, .dpa = dpa, .transaction = transaction
    };
    async_run_on_cpu(current_cpu, report_work, RUN_ON_CPU_HOST_PTR(report));
}

/* Report the first load of each poisoned line. */
static bool loaded(CXLSSDState *s, uint64_t dpa, uint64_t bytes)
{
    PoisonedLine *line = line_at(s, dpa);

    if (!line->reported) {
        line->reported = true;
        report(s, dpa, EVENT_HOST_READ);
    }
    return true;
}

static bool poison_load(hwaddr paddr, int size, hwaddr *poisoned)
{
    return any_line(paddr, size, loaded, poisoned);
}

static bool written(CXLSSDState *s, uint64_t dpa, uint64_t bytes)
{
    PoisonedLine *line = line_at(s, dpa);

    line->written |= bytes;
    if (line->written == UINT64_MAX) {
        heal(s, dpa);
    }
    return false;
}

static void poison_nt_store(hwaddr paddr, int size)
{
    hwaddr unused;

    any_line(paddr, size, written, &unused);
}

static const TimedMemPoison cxl_ssd_poison = {
    .load = poison_load,
    .nt_store = poison_nt_store,
};

/*
 * Lines that the flash loses. In the vCPU thread, within a block; or when power
 * goes off, after which nobody reads the event log.
 */

void cxl_ssd_lines_lost(void *opaque, uint32_t device, uint64_t dpa,
                        uint64_t size_bytes)
{
    CXLSSDState *s = cxl_ssds[device];
    const uint64_t end = dpa + size_bytes;
    const uint64_t first_dpa = dpa;

    BQL_LOCK_GUARD();
    while (dpa < end) {
        uint64_t start = dpa;

        while (dpa < end && !entry_of(s, dpa)) {
            dpa += MEMSYS_LINE_BYTES;
        }
        if (dpa > start) {
            entry_add(CXL_TYPE3(s), start, dpa - start,
                      CXL_POISON_TYPE_INTERNAL);
        }
        dpa += MEMSYS_LINE_BYTES; /* poisoned already, or the end */
    }
    s->lines_lost += size_bytes / MEMSYS_LINE_BYTES;
    cxl_ssd_poison_changed(s);
    if (current_cpu) {
        report(s, first_dpa, EVENT_MANAGEMENT);
    }
}

/*
 * Power
 */

void cxl_ssd_poison_line_state(CXLSSDState *s, uint64_t dpa, MemLineState to)
{
    if (to != MEM_LINE_DURABLE &&
        !(to == MEM_LINE_DEVICE_CACHE &&
          s->config.cache_power_loss_protected)) {
        return;
    }
    for (guint i = s->healed->len; i--;) {
        if (g_array_index(s->healed, HealedLine, i).dpa == dpa) {
            g_array_remove_index_fast(s->healed, i);
        }
    }
}

void cxl_ssd_poison_before_cut(CXLSSDState *s)
{
    for (guint i = 0; i < s->healed->len; i++) {
        HealedLine *line = &g_array_index(s->healed, HealedLine, i);

        memcpy(line->bytes, bytes_of(s, line->dpa), sizeof(line->bytes));
    }
}

void cxl_ssd_poison_after_cut(CXLSSDState *s)
{
    for (guint i = 0; i < s->healed->len; i++) {
        HealedLine *line = &g_array_index(s->healed, HealedLine, i);

        if (!entry_of(s, line->dpa) && /* it may already be poisoned again */
            memcmp(line->bytes, bytes_of(s, line->dpa), sizeof(line->bytes))) {
            entry_add(CXL_TYPE3(s), line->dpa, MEMSYS_LINE_BYTES, line->type);
        }
    }
}

/*
 * State of the device
 */

static gboolean is_healed(gpointer key, gpointer line, gpointer s)
{
    return !entry_of(s, *(gint64 *)key);
}

void cxl_ssd_poison_changed(CXLSSDState *s)
{
    bool any = false;

    g_hash_table_foreach_remove(s->poisoned, is_healed, s);
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        CXLType3Dev *ct3d = CXL_TYPE3(cxl_ssds[i]);

        any |= !QLIST_EMPTY(&ct3d->poison_list) ||
               !QLIST_EMPTY(&ct3d->poison_list_bkp);
    }
    if (any || timed_mem_poison) {
        timed_mem_set_poison(any ? &cxl_ssd_poison : NULL);
    }
}

void cxl_ssd_poison_init(CXLSSDState *s)
{
    s->poisoned = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free,
                                        g_free);
    s->healed = g_array_new(false, false, sizeof(HealedLine));
}

static uint32_t list_save(const CXLPoisonList *list, GByteArray *kept)
{
    uint32_t count = 0;
    CXLPoison *entry;

    QLIST_FOREACH(entry, list, node) {
        CXLSSDPoisonRecord record = {
            .start = cpu_to_le64(entry->start | entry->type),
            .length = cpu_to_le64(entry->length),
        };

        g_byte_array_append(kept, (const guint8 *)&record, sizeof(record));
        count++;
    }
    return count;
}

uint32_t cxl_ssd_poison_save(CXLSSDState *s, GByteArray *kept)
{
    return list_save(&CXL_TYPE3(s)->poison_list, kept) +
           list_save(&CXL_TYPE3(s)->poison_list_bkp, kept);
}

void cxl_ssd_poison_load(CXLSSDState *s, const CXLSSDPoisonRecord *records,
                         uint32_t count)
{
    const uint64_t type_mask = MEMSYS_LINE_BYTES - 1;

    while (count--) { /* the last record is the oldest entry */
        uint64_t start = le64_to_cpu(records[count].start);

        entry_add(CXL_TYPE3(s), start & ~type_mask,
                  le64_to_cpu(records[count].length), start & type_mask);
    }
    cxl_ssd_poison_changed(s);
}
