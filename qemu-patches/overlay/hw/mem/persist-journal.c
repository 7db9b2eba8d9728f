/*
 * Persistence journal, as a user-creatable object: -object
 * persist-journal,id=ID,file=PATH records all that the run does to the devices'
 * persistent lines (docs/reference/formats.md), from the creation of the
 * machine until its power goes off.
 *
 * The journal receives a store before the store's bytes are in memory. Its
 * record is written at the next event of another instruction, with the bytes of
 * that moment. Records of line states that the model reports in between follow
 * it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "exec/timed-mem.h"
#include "hw/mem/cpu-timing.h"
#include "hw/qdev-core.h"
#include "cxl-ssd-internal.h"
#include "persist-journal.h"
#include "qapi/error.h"
#include "qom/object_interfaces.h"
#include "system/system.h"
#include "system/vcpu-clocks.h"

#define TYPE_PERSIST_JOURNAL "persist-journal"
OBJECT_DECLARE_SIMPLE_TYPE(PersistJournal, PERSIST_JOURNAL)

struct PersistJournal {
    Object parent_obj;

    char *path;
    FILE *file;
    MemJournalWriter *writer;
    GArray *stores;             /* stores of one instruction, still no bytes */
    uint64_t instruction;       /* its number, by timed_mem_executed() */
    GArray *lines;              /* records of line states, behind the stores */
    guint before_dirty;         /* lines->len when a line was last dirtied */
    /* By core: a flush or NT store for which a fence would wait. */
    bool flushed[VCPU_CLOCKS_MAX];
    Notifier machine_done;
    Notifier exit;
};

static PersistJournal *the_journal;

bool persist_journal_is_on(void)
{
    return the_journal != NULL;
}

static PersistJournal *open_journal(void)
{
    return the_journal && the_journal->writer ? the_journal : NULL;
}

static void persist_journal_sink(void *opaque, const void *bytes, size_t count)
{
    PersistJournal *j = opaque;

    if (j->file && fwrite(bytes, 1, count, j->file) != count) {
        error_report("persist-journal: %s: %s; the journal ends here", j->path,
                     strerror(errno));
        fclose(j->file);
        j->file = NULL;
    }
}

/*
 * Records
 */

static MemJournalRecord *record_at(GArray *records, guint i)
{
    return &g_array_index(records, MemJournalRecord, i);
}

/* Only the persistent part of a device promises durability. */
static bool find_line(hwaddr paddr, MemJournalRecord *record)
{
    return memsys_device_address(timed_mem_memsys(), paddr, &record->device,
                                 &record->dpa) &&
           record->dpa >= cxl_ssds[record->device]->config.volatile_bytes;
}

static void write_stores(PersistJournal *j)
{
    for (guint i = 0; i < j->stores->len; i++) {
        MemJournalRecord *record = record_at(j->stores, i);
        CXLSSDState *s = cxl_ssds[record->device];
        const uint8_t *live = cxl_ssd_interleaved(s, record->dpa);

        memcpy(record->bytes, live ?: cxl_ssd_backing(s, record->dpa),
               record->count);
        mem_journal_write(j->writer, record);
    }
    g_array_set_size(j->stores, 0);
}

static void write_lines(PersistJournal *j, guint count)
{
    for (guint i = 0; i < count; i++) {
        mem_journal_write(j->writer, record_at(j->lines, i));
    }
    g_array_remove_range(j->lines, 0, count);
    j->before_dirty = 0;
}

static void write_all(PersistJournal *j)
{
    write_stores(j);
    write_lines(j, j->lines->len);
}

/*
 * Events
 */

void persist_journal_line_state(uint32_t device, uint64_t dpa,
                                MemLineState from, MemLineState to,
                                mem_ps at_ps)
{
    PersistJournal *j = open_journal();
    MemJournalRecord record = {
        .device = device, .dpa = dpa, .at_ps = at_ps
    };

    if (!j) {
        return;
    }
    if (from == MEM_LINE_CPU_DIRTY) {
        record.kind = MEM_JOURNAL_WRITE_BACK;
        g_array_append_val(j->lines, record);
    }
    if (to == MEM_LINE_DURABLE) {
        record.kind = MEM_JOURNAL_DURABLE;
        g_array_append_val(j->lines, record);
    } else if (to == MEM_LINE_CPU_DIRTY) {
        j->before_dirty = j->lines->len;
    }
}

/*
 * The model sends a full write-combining buffer before the journal receives the
 * non-temporal store that filled it. The write-back of the buffer contains the
 * bytes of the store, so its record must follow the store's. Returns how many
 * line records come before the store.
 */
static guint lines_before(PersistJournal *j, const MemJournalRecord *store)
{
    guint count = j->lines->len;

    while (store->kind == MEM_JOURNAL_NT_STORE && count > j->before_dirty &&
           record_at(j->lines, count - 1)->dpa ==
           ROUND_DOWN(store->dpa, MEMSYS_LINE_BYTES)) {
        count--;
    }
    return count;
}

/*
 * A store that crosses pages is reported in parts, and all its bytes are
 * written after the last report.
 */
static void add_store(PersistJournal *j, CPUState *cpu, hwaddr paddr, int size,
                      MemJournalRecord *store)
{
    uint64_t instruction = timed_mem_executed(cpu);
    const hwaddr end = paddr + size;

    if (j->stores->len && (instruction != j->instruction ||
                           store->pc != record_at(j->stores, 0)->pc ||
                           store->core != record_at(j->stores, 0)->core)) {
        write_stores(j);
    }
    j->instruction = instruction;
    for (; paddr < end; paddr += store->count) {
        store->count = MIN(end - paddr,
                           MEMSYS_LINE_BYTES - paddr % MEMSYS_LINE_BYTES);
        if (find_line(paddr, store)) {
            if (!j->stores->len) {
                write_lines(j, lines_before(j, store));
            }
            g_array_append_val(j->stores, *store);
        }
    }
}

/* Whether a fence of this kind waits for a flush or NT store of @core. */
static bool waits(PersistJournal *j, uint32_t core, MemFenceKind kind)
{
    bool flushed = j->flushed[core] && kind != MEM_LFENCE &&
                   kind != MEM_SERIALIZE;

    if (flushed) {
        j->flushed[core] = false;
    }
    return flushed;
}

static void persist_journal_event(CPUState *cpu, MemJournalKind kind,
                                  uint32_t value, hwaddr paddr, int size,
                                  uintptr_t ra)
{
    PersistJournal *j = open_journal();
    MemJournalRecord record = {
        .kind = kind, .core = cpu->cpu_index, .value = value
    };

    if (!j || (kind == MEM_JOURNAL_FENCE && !waits(j, record.core, value))) {
        return;
    }
    record.pc = timed_mem_guest_pc(cpu, ra);
    record.process = timed_mem_page_table(cpu);
    record.at_ps = timed_mem_now_ps();
    if (kind == MEM_JOURNAL_NT_STORE || kind == MEM_JOURNAL_FLUSH) {
        j->flushed[record.core] = true;
    }
    if (kind == MEM_JOURNAL_STORE || kind == MEM_JOURNAL_NT_STORE) {
        add_store(j, cpu, paddr, size, &record);
        return;
    }
    write_all(j);
    if (kind != MEM_JOURNAL_FLUSH || find_line(paddr, &record)) {
        record.dpa = ROUND_DOWN(record.dpa, MEMSYS_LINE_BYTES);
        mem_journal_write(j->writer, &record);
    }
}

void persist_journal_power(mem_ps at_ps, bool cut)
{
    PersistJournal *j = open_journal();
    MemJournalRecord record = {
        .kind = MEM_JOURNAL_POWER_CUT, .at_ps = at_ps
    };

    if (!j) {
        return;
    }
    write_all(j);
    if (cut) {
        mem_journal_write(j->writer, &record);
    }
    mem_journal_writer_end(j->writer);
    j->writer = NULL;
}

/*
 * The object
 */

/* All devices exist, and the guest has not executed anything yet. */
static void persist_journal_start(Notifier *notifier, void *data)
{
    PersistJournal *j = container_of(notifier, PersistJournal, machine_done);
    g_autofree MemTraceSetup *setup = g_new0(MemTraceSetup, 1);

    if (!cxl_ssd_count) {
        error_report("persist-journal: the machine has no cxl-ssd");
        exit(EXIT_FAILURE);
    }
    if (cpu_timing_helper_thread()) {
        error_report("persist-journal: not with helper-thread=on, which does "
                     "not keep to the order of execution");
        exit(EXIT_FAILURE);
    }
    setup->cpu = *cpu_timing_config();
    setup->device_count = cxl_ssd_count;
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        setup->devices[i] = cxl_ssds[i]->config;
    }
    setup->start_ps = timed_mem_now_ps();
    j->stores = g_array_new(false, false, sizeof(MemJournalRecord));
    j->lines = g_array_new(false, false, sizeof(MemJournalRecord));
    j->writer = mem_journal_writer_new(setup, persist_journal_sink, j);
    timed_mem_set_journal(persist_journal_event);
}

static void persist_journal_close(Notifier *notifier, void *data)
{
    PersistJournal *j = container_of(notifier, PersistJournal, exit);

    /* No effect if the power went off before. */
    persist_journal_power(timed_mem_now_ps(), false);
    if (j->file && fclose(j->file)) {
        error_report("persist-journal: %s: %s", j->path, strerror(errno));
    }
    j->file = NULL;
}

static char *persist_journal_get_file(Object *obj, Error **errp)
{
    return g_strdup(PERSIST_JOURNAL(obj)->path);
}

static void persist_journal_set_file(Object *obj, const char *path,
                                     Error **errp)
{
    if (PERSIST_JOURNAL(obj) == the_journal) {
        error_setg(errp, "persist-journal: file cannot change while it is "
                   "written");
        return;
    }
    g_free(PERSIST_JOURNAL(obj)->path);
    PERSIST_JOURNAL(obj)->path = g_strdup(path);
}

static void persist_journal_complete(UserCreatable *uc, Error **errp)
{
    PersistJournal *j = PERSIST_JOURNAL(uc);

    if (phase_check(PHASE_MACHINE_READY)) {
        error_setg(errp, "persist-journal: a journal begins with the machine; "
                   "give it on the command line");
        return;
    }
    if (the_journal) {
        error_setg(errp, "persist-journal: only one can be given");
        return;
    }
    j->file = j->path ? fopen(j->path, "wb") : NULL;
    if (!j->file) {
        error_setg(errp, "persist-journal: file=%s: %s", j->path ? j->path : "",
                   j->path ? strerror(errno) : "it must be given");
        return;
    }
    the_journal = j;
    j->machine_done.notify = persist_journal_start;
    qemu_add_machine_init_done_notifier(&j->machine_done);
    j->exit.notify = persist_journal_close;
    qemu_add_exit_notifier(&j->exit);
}

static bool persist_journal_can_be_deleted(UserCreatable *uc)
{
    return PERSIST_JOURNAL(uc) != the_journal;
}

static void persist_journal_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = persist_journal_complete;
    ucc->can_be_deleted = persist_journal_can_be_deleted;
    object_class_property_add_str(oc, "file", persist_journal_get_file,
                                  persist_journal_set_file);
    object_class_property_set_description(oc, "file", "where the journal goes");
}

static const TypeInfo persist_journal_info = {
    .name = TYPE_PERSIST_JOURNAL,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(PersistJournal),
    .class_init = persist_journal_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void persist_journal_register_types(void)
{
    type_register_static(&persist_journal_info);
}

type_init(persist_journal_register_types)
