/*
 * CXL memory-semantic SSD: a CXL type 3 device of flash behind a DRAM cache,
 * with the timing and the persistence domain of the model in hw/mem/memsys.
 *
 * To the guest it is upstream's cxl-type3. A committed, non-interleaved HDM
 * decoder is mapped as RAM rather than MMIO, and timed memory asks the model
 * what every access costs.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "exec/timed-mem.h"
#include "hw/boards.h"
#include "hw/cxl/cxl.h"
#include "hw/mem/cpu-timing.h"
#include "hw/mem/memsys-props.h"
#include "hw/qdev-properties.h"
#include "cxl-ssd-internal.h"
#include "qapi/error.h"
#include "qapi/qapi-events-cxl-ssd.h"
#include "system/cpu-timers.h"
#include "system/hostmem.h"
#include "system/runstate.h"
#include "trace.h"

#define TYPE_CXL_SSD "cxl-ssd"
OBJECT_DECLARE_TYPE(CXLSSDState, CXLSSDClass, CXL_SSD)

struct CXLSSDClass {
    CXLType3Class parent_class;
    void (*parent_realize)(PCIDevice *dev, Error **errp);
    DeviceReset parent_reset;
};

struct CXLSSDState {
    CXLType3Dev parent_obj;

    MemDeviceConfig config;
    uint64_t power_cut_at_ps;   /* 0: never */

    MemoryRegion window;        /* the media as RAM, while a decoder maps it */
    QEMUTimer *power_cut_timer;
};

/*
 * Window
 */

static void window_unmap(CXLSSDState *s)
{
    if (memory_region_is_mapped(&s->window)) {
        timed_mem_set_window(0, &(MemWindow) { .ways = 1 });
        memory_region_del_subregion(get_system_memory(), &s->window);
        object_unparent(OBJECT(&s->window));
        trace_cxl_ssd_window(0, 0);
    }
}

static uint64_t hdm_register_pair(CXLSSDState *s, unsigned low)
{
    uint32_t *regs = CXL_TYPE3(s)->cxl_cstate.crb.cache_mem_registers;

    /* The high half follows; both bases and sizes are multiples of 256 MiB. */
    return (uint64_t)ldl_le_p(regs + low + 1) << 32 |
           (ldl_le_p(regs + low) & 0xf0000000);
}

static void window_map(CXLSSDState *s)
{
    MemoryRegion *media =
        host_memory_backend_get_memory(CXL_TYPE3(s)->hostpmem);
    uint64_t base = hdm_register_pair(s, R_CXL_HDM_DECODER0_BASE_LO);
    uint64_t size = hdm_register_pair(s, R_CXL_HDM_DECODER0_SIZE_LO);
    uint64_t dpa = hdm_register_pair(s, R_CXL_HDM_DECODER0_DPA_SKIP_LO);

    if (dpa >= memory_region_size(media) ||
        size > memory_region_size(media) - dpa) {
        warn_report("cxl-ssd: HDM decoder 0 maps more than the device has");
        return;
    }
    memory_region_init_alias(&s->window, OBJECT(s), "cxl-ssd-window", media,
                             dpa, size);
    memory_region_add_subregion_overlap(get_system_memory(), base,
                                        &s->window, 1);
    timed_mem_set_window(0, &(MemWindow) {
        .hpa = base, .size_bytes = size, .dpa = dpa, .ways = 1,
    });
    trace_cxl_ssd_window(base, size);
}

static void cxl_ssd_hdm_decoder_changed(CXLType3Dev *ct3d, int which,
                                        bool committed)
{
    CXLSSDState *s = CXL_SSD(ct3d);
    uint32_t *regs = ct3d->cxl_cstate.crb.cache_mem_registers;
    uint32_t ctrl = ldl_le_p(regs + R_CXL_HDM_DECODER0_CTRL);

    if (which != 0) {
        if (committed) {
            warn_report("cxl-ssd: only HDM decoder 0 is timed");
        }
        return;
    }
    window_unmap(s);
    if (!committed) {
        return;
    }
    if (FIELD_EX32(ctrl, CXL_HDM_DECODER0_CTRL, IW)) {
        warn_report("cxl-ssd: an interleaved HDM decoder is not timed");
        return;
    }
    window_map(s);
}

/*
 * Power
 */

void cxl_ssd_power_cut(void)
{
    uint64_t now_ps = timed_mem_now_ps();
    uint64_t lines_lost = memsys_power_cut(timed_mem_memsys(),
                                           now_ps).lines_lost;
    CPUState *cpu;

    /* No vCPU executes another instruction. */
    CPU_FOREACH(cpu) {
        cpu->stop = true;
        cpu_exit(cpu);
    }
    trace_cxl_ssd_power_cut(now_ps, lines_lost);
    qapi_event_send_cxl_ssd_power_cut(now_ps, lines_lost, cxl_ssd_last_mark());
    qemu_system_shutdown_request(SHUTDOWN_CAUSE_GUEST_SHUTDOWN);
}

static void power_cut_timer_expired(void *opaque)
{
    cxl_ssd_power_cut();
}

/*
 * Device
 */

static const char *const line_state_names[] = {
    [MEM_LINE_DURABLE] = "durable",
    [MEM_LINE_CPU_DIRTY] = "cpu-dirty",
    [MEM_LINE_IN_FLIGHT] = "in-flight",
    [MEM_LINE_DEVICE_CACHE] = "device-cache",
    [MEM_LINE_PROGRAMMING] = "programming",
};

static void line_state_changed(void *opaque, uint32_t device, uint64_t dpa,
                               MemLineState from, MemLineState to,
                               mem_ps at_ps)
{
    trace_cxl_ssd_line_state(dpa, line_state_names[from],
                             line_state_names[to], at_ps);
}

static bool cxl_ssd_check_machine(CXLSSDState *s, Error **errp)
{
    CXLType3Dev *ct3d = CXL_TYPE3(s);

    if (!cpu_timing_config()) {
        error_setg(errp, "cxl-ssd needs -object cpu-timing");
    } else if (!icount_has_rate()) {
        error_setg(errp, "cxl-ssd needs -icount shift=0,sleep=off,insn-ps=PS");
    } else if (current_machine->smp.max_cpus != 1) {
        error_setg(errp, "cxl-ssd needs -smp 1");
    } else if (timed_mem_memsys()) {
        error_setg(errp, "only one cxl-ssd can be given");
    } else if (!ct3d->hostpmem || ct3d->hostmem || ct3d->hostvmem ||
               ct3d->dc.host_dc) {
        error_setg(errp, "cxl-ssd needs persistent-memdev and no other memdev");
    } else {
        return true;
    }
    return false;
}

static void cxl_ssd_realize(PCIDevice *dev, Error **errp)
{
    static const MemCallbacks callbacks = {
        .l1_slot_dropped = timed_mem_l1_slot_dropped,
        .line_state = line_state_changed,
    };
    ERRP_GUARD();
    CXLSSDState *s = CXL_SSD(dev);
    CXLSSDClass *ssc = CXL_SSD_GET_CLASS(s);
    MemoryRegion *media;
    const char *fault;

    if (!cxl_ssd_check_machine(s, errp)) {
        return;
    }
    media = host_memory_backend_get_memory(CXL_TYPE3(s)->hostpmem);
    s->config.capacity_bytes = memory_region_size(media);
    fault = memsys_check_device(&s->config);
    if (fault) {
        error_setg(errp, "cxl-ssd: %s", fault);
        return;
    }
    ssc->parent_realize(dev, errp);
    if (*errp) {
        return;
    }
    timed_mem_attach(memsys_new(cpu_timing_config(), &callbacks));
    memsys_add_device(timed_mem_memsys(), &s->config, &(MemMedia) {
        .base = memory_region_get_ram_ptr(media),
    });
    cxl_ssd_roi_init();
    if (s->power_cut_at_ps) {
        s->power_cut_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL,
                                          power_cut_timer_expired, s);
        timer_mod(s->power_cut_timer, s->power_cut_at_ps / 1000);
    }
}

static void cxl_ssd_reset(DeviceState *dev)
{
    window_unmap(CXL_SSD(dev));
    CXL_SSD_GET_CLASS(dev)->parent_reset(dev);
}

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
    if (!strcmp(name, "volatile-size")) {
        error_setg(errp, "%s is the size of volatile-memdev", name);
        return;
    }
    memsys_prop_set(v, opaque, &CXL_SSD(obj)->config, errp);
}

static const Property cxl_ssd_properties[] = {
    DEFINE_PROP_UINT64("power-cut-at-ps", CXLSSDState, power_cut_at_ps, 0),
};

static void cxl_ssd_init(Object *obj)
{
    mem_params_init(&mem_device_params, &CXL_SSD(obj)->config);
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
