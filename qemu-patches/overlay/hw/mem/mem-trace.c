/*
 * Capture of the memory requests of the CPU's caches, as a user-creatable
 * object: -object mem-trace,id=ID,file=PATH writes a trace
 * (docs/reference/formats.md) of the whole run, from the creation of the
 * machine on.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "exec/timed-mem.h"
#include "hw/mem/cpu-timing.h"
#include "hw/mem/memsys/trace/mem_trace.h"
#include "hw/qdev-core.h"
#include "cxl-ssd-internal.h"
#include "mem-trace.h"
#include "qapi/error.h"
#include "qom/object_interfaces.h"
#include "system/system.h"

#define TYPE_MEM_TRACE "mem-trace"
OBJECT_DECLARE_SIMPLE_TYPE(MemTrace, MEM_TRACE)

struct MemTrace {
    Object parent_obj;

    char *path;
    FILE *file;
    MemTraceWriter *writer;
    Notifier machine_done;
    Notifier exit;
};

static MemTrace *the_trace;

static void mem_trace_sink(void *opaque, const void *bytes, size_t count)
{
    MemTrace *t = opaque;

    if (t->file && fwrite(bytes, 1, count, t->file) != count) {
        error_report("mem-trace: %s: %s; the trace ends here", t->path,
                     strerror(errno));
        fclose(t->file);
        t->file = NULL;
    }
}

static void mem_trace_finish(Notifier *notifier, void *data)
{
    MemTrace *t = container_of(notifier, MemTrace, exit);

    if (t->writer) {
        memsys_set_observer(timed_mem_memsys(), NULL);
        mem_trace_writer_end(t->writer, timed_mem_now_ps());
        t->writer = NULL;
    }
    if (t->file && fclose(t->file)) {
        error_report("mem-trace: %s: %s", t->path, strerror(errno));
    }
    t->file = NULL;
}

/* All devices exist, and the model has not received any operation yet. */
static void mem_trace_start(Notifier *notifier, void *data)
{
    MemTrace *t = container_of(notifier, MemTrace, machine_done);
    g_autofree MemTraceSetup *setup = g_new0(MemTraceSetup, 1);

    if (!cxl_ssd_count) {
        error_report("mem-trace: the machine has no cxl-ssd");
        exit(EXIT_FAILURE);
    }
    setup->cpu = *cpu_timing_config();
    if (setup->cpu.cores > 1) {
        error_report("mem-trace: a trace is of one core: it says of no "
                     "operation whose it is");
        exit(EXIT_FAILURE);
    }
    setup->device_count = cxl_ssd_count;
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        setup->devices[i] = cxl_ssds[i]->config;
    }
    setup->start_ps = timed_mem_now_ps();
    t->writer = mem_trace_writer_new(setup, mem_trace_sink, t);
    memsys_set_observer(timed_mem_memsys(), mem_trace_observer(t->writer));
}

void mem_trace_roi(uint32_t id, const MemCounters *at_end)
{
    MemTraceWriter *writer = the_trace ? the_trace->writer : NULL;

    if (!writer) {
        return;
    }
    if (at_end) {
        mem_trace_roi_end(writer, id, at_end, timed_mem_now_ps());
    } else {
        mem_trace_roi_begin(writer, id, timed_mem_now_ps());
    }
}

bool mem_trace_is_on(void)
{
    return the_trace != NULL;
}

static char *mem_trace_get_file(Object *obj, Error **errp)
{
    return g_strdup(MEM_TRACE(obj)->path);
}

static void mem_trace_set_file(Object *obj, const char *path, Error **errp)
{
    if (MEM_TRACE(obj) == the_trace) {
        error_setg(errp, "mem-trace: file cannot change while it is written");
        return;
    }
    g_free(MEM_TRACE(obj)->path);
    MEM_TRACE(obj)->path = g_strdup(path);
}

static void mem_trace_complete(UserCreatable *uc, Error **errp)
{
    MemTrace *t = MEM_TRACE(uc);

    if (phase_check(PHASE_MACHINE_READY)) {
        error_setg(errp, "mem-trace: a trace begins with the machine; give it "
                   "on the command line");
        return;
    }
    if (the_trace) {
        error_setg(errp, "mem-trace: only one can be given");
        return;
    }
    t->file = t->path ? fopen(t->path, "wb") : NULL;
    if (!t->file) {
        error_setg(errp, "mem-trace: file=%s: %s", t->path ? t->path : "",
                   t->path ? strerror(errno) : "it must be given");
        return;
    }
    the_trace = t;
    t->machine_done.notify = mem_trace_start;
    qemu_add_machine_init_done_notifier(&t->machine_done);
    t->exit.notify = mem_trace_finish;
    qemu_add_exit_notifier(&t->exit);
}

/* The model writes to the trace. */
static bool mem_trace_can_be_deleted(UserCreatable *uc)
{
    return MEM_TRACE(uc) != the_trace;
}

static void mem_trace_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = mem_trace_complete;
    ucc->can_be_deleted = mem_trace_can_be_deleted;
    object_class_property_add_str(oc, "file", mem_trace_get_file,
                                  mem_trace_set_file);
    object_class_property_set_description(oc, "file", "where the trace goes");
}

static const TypeInfo mem_trace_info = {
    .name = TYPE_MEM_TRACE,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(MemTrace),
    .class_init = mem_trace_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void mem_trace_register_types(void)
{
    type_register_static(&mem_trace_info);
}

type_init(mem_trace_register_types)
