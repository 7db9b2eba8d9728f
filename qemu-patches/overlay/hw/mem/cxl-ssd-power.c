/*
 * CXL memory-semantic SSD: the power that guest and devices share. The power
 * fails at a virtual time, at a persistence event, or on request; or it is
 * turned off in order.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/notify.h"
#include "qemu/timer.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "persist-journal.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"
#include "qapi/qapi-events-cxl-ssd.h"
#include "system/runstate.h"
#include "system/system.h"
#include "trace.h"

static struct {
    bool is_cut;
    QEMUTimer *timer;
    uint64_t cut_at_ps;         /* the time for the timer or queued work */
    Notifier shutdown;
    Notifier exit;
} power;

/*
 * Power-off, in order or not
 */

static void power_cut_at(uint64_t at_ps)
{
    MemSys *memsys = timed_mem_memsys();
    MemPowerCut cut, own;
    CPUState *cpu;

    if (power.is_cut) {
        return;
    }
    power.is_cut = true;
    persist_journal_power(at_ps, true);
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        cxl_ssd_poison_before_cut(cxl_ssds[i]);
    }
    cut = memsys_power_cut(memsys, at_ps);
    cxl_ssd_windows_gather();
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        cxl_ssd_poison_after_cut(cxl_ssds[i]);
        own = memsys_device_power_cut(memsys, cxl_ssds[i]->number);
        mem_shutdown_cut(&cxl_ssds[i]->shutdown, &own);
        cxl_ssd_metadata_store_all(cxl_ssds[i]);
    }
    /* No vCPU executes another instruction. */
    CPU_FOREACH(cpu) {
        cpu->stop = true;
        cpu_exit(cpu);
    }
    trace_cxl_ssd_power_cut(at_ps, cut.lines_lost);
    qapi_event_send_cxl_ssd_power_cut(at_ps, cut.lines_lost, cut.lines_kept,
                                      cut.energy_used_nj, cut.dirty_shutdown,
                                      cxl_ssd_persistence_events(),
                                      cxl_ssd_last_mark());
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
}

void cxl_ssd_power_cut(void)
{
    power_cut_at(timed_mem_now_ps());
}

static void power_off(void)
{
    if (power.is_cut) {
        return;
    }
    persist_journal_power(timed_mem_now_ps(), false);
    memsys_power_off(timed_mem_memsys(), timed_mem_now_ps());
    cxl_ssd_windows_gather();
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        mem_shutdown_orderly(&cxl_ssds[i]->shutdown);
        cxl_ssd_metadata_store_all(cxl_ssds[i]);
    }
}

static void power_off_work(CPUState *cpu, run_on_cpu_data unused)
{
    power_off();
}

static void power_shutdown(Notifier *notifier, void *cause)
{
    run_on_cpu(first_cpu, power_off_work, RUN_ON_CPU_NULL);
}

/* QEMU exits; the vCPU has stopped. Store the changes since shutdown, too. */
static void power_exit(Notifier *notifier, void *unused)
{
    power_off();
}

/*
 * Time of the cut
 */

static void cut_work(CPUState *cpu, run_on_cpu_data unused)
{
    power_cut_at(power.cut_at_ps);
}

/*
 * The last instruction may have stalled past the requested instant. The model
 * knows the time of each effect of its access, so the cut is exact.
 */
static void cut_timer_expired(void *opaque)
{
    power_cut_at(power.cut_at_ps);
}

static void cut_at_ps(uint64_t at_ps)
{
    power.cut_at_ps = at_ps;
    if (!power.timer) {
        power.timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, cut_timer_expired,
                                   NULL);
    }
    timer_mod(power.timer, at_ps / 1000);
}

static const char *const line_state_names[] = {
    [MEM_LINE_DURABLE] = "durable",
    [MEM_LINE_CPU_DIRTY] = "cpu-dirty",
    [MEM_LINE_IN_FLIGHT] = "in-flight",
    [MEM_LINE_DEVICE_CACHE] = "device-cache",
    [MEM_LINE_PROGRAMMING] = "programming",
};

void cxl_ssd_line_state(void *opaque, uint32_t device, uint64_t dpa,
                        MemLineState from, MemLineState to, mem_ps at_ps)
{
    if (power.is_cut) {
        return;
    }
    trace_cxl_ssd_line_state(device, dpa, line_state_names[from],
                             line_state_names[to], at_ps);
    persist_journal_line_state(device, dpa, from, to, at_ps);
    cxl_ssd_poison_line_state(cxl_ssds[device], dpa, to);
    if (!cxl_ssds[device]->shutdown.dirty) {
        mem_shutdown_written(&cxl_ssds[device]->shutdown);
        cxl_ssd_metadata_store(cxl_ssds[device]);
    }
}

/*
 * The model lets no more lines reach the devices. The block of instructions
 * that caused the event ends first. Its stores are lost, except those in lines
 * that were dirty before and that the cut keeps.
 */
void cxl_ssd_power_gone(void *opaque, mem_ps at_ps)
{
    power.cut_at_ps = at_ps;
    async_run_on_cpu(first_cpu, cut_work, RUN_ON_CPU_NULL);
}

uint64_t cxl_ssd_persistence_events(void)
{
    return memsys_persistence_events(timed_mem_memsys());
}

void cxl_ssd_power_schedule(CXLSSDState *s)
{
    if (s->power_cut_at_ps) {
        cut_at_ps(s->power_cut_at_ps);
    }
    if (s->power_cut_at_event) {
        memsys_cut_after(timed_mem_memsys(), s->power_cut_at_event);
    }
}

void cxl_ssd_power_init(void)
{
    power.shutdown.notify = power_shutdown;
    qemu_register_shutdown_notifier(&power.shutdown);
    power.exit.notify = power_exit;
    qemu_add_exit_notifier(&power.exit);
}

/*
 * QMP
 */

typedef struct CutRequest {
    bool has_at_ps;
    uint64_t at_ps;
    bool has_at_event;
    uint64_t at_event;
    Error **errp;
} CutRequest;

static void request_work(CPUState *cpu, run_on_cpu_data data)
{
    const CutRequest *request = data.host_ptr;

    if (request->has_at_ps && request->at_ps < timed_mem_now_ps()) {
        error_setg(request->errp, "it is %" PRIu64 " ps already",
                   timed_mem_now_ps());
    } else if (request->has_at_event &&
               request->at_event <= cxl_ssd_persistence_events()) {
        error_setg(request->errp, "there were %" PRIu64
                   " persistence events already",
                   cxl_ssd_persistence_events());
    } else if (request->has_at_ps) {
        cut_at_ps(request->at_ps);
    } else if (request->has_at_event) {
        memsys_cut_after(timed_mem_memsys(), request->at_event);
    } else {
        cxl_ssd_power_cut();
    }
}

void qmp_cxl_ssd_power_cut(bool has_at_ps, uint64_t at_ps, bool has_at_event,
                           uint64_t at_event, Error **errp)
{
    CutRequest request = {
        has_at_ps, at_ps, has_at_event, at_event, errp
    };

    if (!cxl_ssd_count) {
        error_setg(errp, "the machine has no cxl-ssd");
    } else if (has_at_ps && has_at_event) {
        error_setg(errp, "either at-ps or at-event");
    } else if (power.is_cut) {
        error_setg(errp, "the power has been cut");
    } else {
        run_on_cpu(first_cpu, request_work, RUN_ON_CPU_HOST_PTR(&request));
    }
}
