/*
 * CXL memory-semantic SSD: a CXL type 3 device of flash behind a DRAM cache,
 * with the timing and the persistence domain of the model in hw/mem/memsys.
 *
 * To the guest it is upstream's cxl-type3. But the window of a committed HDM
 * decoder is RAM rather than MMIO, and timed memory asks the model for the cost
 * of every access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/boards.h"
#include "hw/mem/cpu-timing.h"
#include "hw/mem/memsys-props.h"
#include "hw/qdev-properties.h"
#include "qapi/error.h"
#include "system/cpu-timers.h"
#include "system/hostmem.h"

CXLSSDState *cxl_ssds[MEMSYS_MAX_DEVICES];
unsigned cxl_ssd_count;

static bool cxl_ssd_check_machine(CXLSSDState *s, Error **errp)
{
    CXLType3Dev *ct3d = CXL_TYPE3(s);

    if (!cpu_timing_config()) {
        error_setg(errp, "cxl-ssd needs -object cpu-timing");
    } else if (!icount_has_rate()) {
        error_setg(errp, "cxl-ssd needs -icount shift=0,sleep=off,insn-ps=PS");
    } else if (cpu_timing_config()->cores != current_machine->smp.cpus) {
        error_setg(errp, "cpu-timing: cores=%u is not -smp %u",
                   cpu_timing_config()->cores, current_machine->smp.cpus);
    } else if (current_machine->smp.cores != current_machine->smp.cpus) {
        error_setg(errp, "cpu-timing: the cores are of one socket and have one "
                   "thread each: -smp %u", current_machine->smp.cpus);
    } else if (cxl_ssd_count == MEMSYS_MAX_DEVICES) {
        error_setg(errp, "there can be at most %u cxl-ssd",
                   MEMSYS_MAX_DEVICES);
    } else if (ct3d->hostmem || ct3d->dc.host_dc) {
        error_setg(errp, "cxl-ssd takes persistent-memdev and volatile-memdev");
    } else if (!ct3d->hostpmem && !ct3d->hostvmem) {
        error_setg(errp, "cxl-ssd needs persistent-memdev or volatile-memdev");
    } else {
        return true;
    }
    return false;
}

/* -1 on the command line arrives here as 2^64 - 1. */
static bool cxl_ssd_check_cut(const char *name, uint64_t value, Error **errp)
{
    if (value > INT64_MAX) {
        error_setg(errp, "cxl-ssd: %s must be below 2^63", name);
        return false;
    }
    return true;
}

static uint64_t backend_size(HostMemoryBackend *backend)
{
    return backend
           ? memory_region_size(host_memory_backend_get_memory(backend)) : 0;
}

static bool cxl_ssd_check_config(CXLSSDState *s, Error **errp)
{
    CXLType3Dev *ct3d = CXL_TYPE3(s);
    uint64_t volatile_bytes = backend_size(ct3d->hostvmem);
    const char *fault;

    if (s->config.volatile_bytes &&
        s->config.volatile_bytes != volatile_bytes) {
        error_setg(errp, "cxl-ssd: volatile-size is not that of "
                   "volatile-memdev, %" PRIu64, volatile_bytes);
        return false;
    }
    s->config.volatile_bytes = volatile_bytes;
    s->config.capacity_bytes = s->config.volatile_bytes +
                               backend_size(ct3d->hostpmem);
    fault = memsys_check_device(&s->config);
    if (fault) {
        error_setg(errp, "cxl-ssd: %s", fault);
    }
    return !fault;
}

static void memsys_start(void)
{
    static const MemCallbacks callbacks = {
        .l1_slot_dropped = timed_mem_l1_slot_dropped,
        .l1_slot_shared = timed_mem_l1_slot_shared,
        .line_state = cxl_ssd_line_state,
        .power_gone = cxl_ssd_power_gone,
        .lines_lost = cxl_ssd_lines_lost,
    };

    timed_mem_attach(memsys_new(cpu_timing_config(), &callbacks),
                     cpu_timing_helper_thread());
    cxl_ssd_doorbell_init();
    cxl_ssd_power_init();
}

static void memsys_join(CXLSSDState *s)
{
    if (CXL_TYPE3(s)->hostpmem) {
        s->media.base = cxl_ssd_backing(s, s->config.volatile_bytes);
    }
    s->number = memsys_add_device(timed_mem_memsys(), &s->config,
                                  s->media.base ? &s->media : NULL);
    assert(s->number == cxl_ssd_count);
    cxl_ssds[cxl_ssd_count++] = s;
}

static void cxl_ssd_realize(PCIDevice *dev, Error **errp)
{
    ERRP_GUARD();
    CXLSSDState *s = CXL_SSD(dev);

    if (!cxl_ssd_check_machine(s, errp) ||
        !cxl_ssd_check_cut("power-cut-at-ps", s->power_cut_at_ps, errp) ||
        !cxl_ssd_check_cut("power-cut-at-event", s->power_cut_at_event,
                           errp) ||
        !cxl_ssd_check_config(s, errp) || !cxl_ssd_metadata_load(s, errp)) {
        return;
    }
    CXL_SSD_GET_CLASS(s)->parent_realize(dev, errp);
    if (*errp) {
        return;
    }
    if (!cxl_ssd_count) {
        memsys_start();
    }
    memsys_join(s);
    cxl_ssd_metadata_apply(s);
    s->to_report = s->shutdown.dirty;
    mem_shutdown_power_on(&s->shutdown);
    cxl_ssd_metadata_store(s);
    cxl_ssd_power_schedule(s);
}

static void cxl_ssd_reset(DeviceState *dev)
{
    CXLSSDState *s = CXL_SSD(dev);

    cxl_ssd_windows_unmap(s);
    CXL_SSD_GET_CLASS(dev)->parent_reset(dev);
    cxl_ssd_mailbox_init(s);
}

static void cxl_ssd_hdm_decoder_changed(CXLType3Dev *ct3d, int which,
                                        bool committed)
{
    cxl_ssd_decoder_changed(CXL_SSD(ct3d), which, committed);
}

static void cxl_ssd_poison_list_changed(CXLType3Dev *ct3d)
{
    cxl_ssd_poison_changed(CXL_SSD(ct3d));
}

/* The device itself changes a line, for example to clear poison. */
static bool cxl_ssd_set_cacheline(CXLType3Dev *ct3d, uint64_t dpa,
                                  uint8_t *data)
{
    CXLSSDState *s = CXL_SSD(ct3d);
    uint8_t *interleaved;

    if (!CXL_SSD_GET_CLASS(s)->parent_set_cacheline(ct3d, dpa, data)) {
        return false;
    }
    interleaved = cxl_ssd_interleaved(s, dpa);
    if (interleaved) {
        memcpy(interleaved, data, CXL_CACHE_LINE_SIZE);
    }
    return true;
}

/*
 * Properties
 */

static void cxl_ssd_get_param(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    memsys_prop_get(v, opaque, &CXL_SSD(obj)->config, errp);
}

static void cxl_ssd_set_param(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    if (DEVICE(obj)->realized) {
        error_setg(errp, "%s: a cxl-ssd in use changes by cxl-ssd-set", name);
        return;
    }
    memsys_prop_set(v, opaque, &CXL_SSD(obj)->config, errp);
}

static const Property cxl_ssd_properties[] = {
    DEFINE_PROP_UINT64("power-cut-at-ps", CXLSSDState, power_cut_at_ps, 0),
    DEFINE_PROP_UINT64("power-cut-at-event", CXLSSDState, power_cut_at_event,
                       0),
};

static void cxl_ssd_init(Object *obj)
{
    mem_params_init(&mem_device_params, &CXL_SSD(obj)->config);
    cxl_ssd_poison_init(CXL_SSD(obj));
}

static void cxl_ssd_class_init(ObjectClass *oc, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(oc);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(oc);
    CXLType3Class *cvc = CXL_TYPE3_CLASS(oc);
    CXLSSDClass *ssc = CXL_SSD_CLASS(oc);

    ssc->parent_realize = pc->realize;
    pc->realize = cxl_ssd_realize;
    ssc->parent_reset = dc->legacy_reset;
    device_class_set_legacy_reset(dc, cxl_ssd_reset);
    cvc->hdm_decoder_changed = cxl_ssd_hdm_decoder_changed;
    cvc->poison_changed = cxl_ssd_poison_list_changed;
    ssc->parent_set_cacheline = cvc->set_cacheline;
    cvc->set_cacheline = cxl_ssd_set_cacheline;

    dc->desc = "CXL memory-semantic SSD (timed type 3)";
    dc->hotpluggable = false;
    device_class_set_props(dc, cxl_ssd_properties);
    memsys_props_add(oc, &mem_device_params, cxl_ssd_get_param,
                     cxl_ssd_set_param);
}

static const TypeInfo cxl_ssd_info = {
    .name = TYPE_CXL_SSD,
    .parent = TYPE_CXL_TYPE3,
    .instance_size = sizeof(CXLSSDState),
    .instance_init = cxl_ssd_init,
    .class_size = sizeof(CXLSSDClass),
    .class_init = cxl_ssd_class_init,
};

static void cxl_ssd_register_types(void)
{
    type_register_static(&cxl_ssd_info);
}

type_init(cxl_ssd_register_types)
