/*
 * The host CPU's side of the memory timing model, as a user-creatable object:
 * cache geometry and latencies, local DRAM, write-combining buffers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/mem/cpu-timing.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object_interfaces.h"

OBJECT_DECLARE_SIMPLE_TYPE(CpuTiming, CPU_TIMING)

struct CpuTiming {
    Object parent_obj;
    MemCpuConfig config;
};

static CpuTiming *the_cpu_timing;

const MemCpuConfig *cpu_timing_config(void)
{
    return the_cpu_timing ? &the_cpu_timing->config : NULL;
}

typedef struct CpuTimingProperty {
    const char *name;
    const char *description;
    size_t offset;
    size_t width;
} CpuTimingProperty;

#define PROPERTY(name, field, description)                  \
    { name, description, offsetof(CpuTiming, config.field), \
      sizeof_field(CpuTiming, config.field) }

static const CpuTimingProperty properties[] = {
    PROPERTY("l1d-size", l1d.size_bytes, "L1D capacity, bytes"),
    PROPERTY("l1d-ways", l1d.ways, "L1D associativity"),
    PROPERTY("l2-size", l2.size_bytes, "L2 capacity, bytes"),
    PROPERTY("l2-ways", l2.ways, "L2 associativity"),
    PROPERTY("l2-latency-ps", l2.latency_ps, "stall of an L2 hit, ps"),
    PROPERTY("llc-size", llc.size_bytes, "LLC capacity, bytes"),
    PROPERTY("llc-ways", llc.ways, "LLC associativity"),
    PROPERTY("llc-latency-ps", llc.latency_ps, "stall of an LLC hit, ps"),
    PROPERTY("dram-latency-ps", dram_latency_ps, "DRAM beyond the LLC, ps"),
    PROPERTY("dram-bandwidth", dram_bandwidth, "DRAM, bytes per second"),
    PROPERTY("wc-buffers", wc_buffers, "write-combining buffers"),
};

static void cpu_timing_get(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    const CpuTimingProperty *p = opaque;
    void *field = (char *)obj + p->offset;
    uint64_t value = p->width == sizeof(uint32_t) ? *(uint32_t *)field
                                                  : *(uint64_t *)field;

    visit_type_size(v, name, &value, errp);
}

static void cpu_timing_set(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    const CpuTimingProperty *p = opaque;
    void *field = (char *)obj + p->offset;
    uint64_t value;

    if (!visit_type_size(v, name, &value, errp)) {
        return;
    }
    if (p->width == sizeof(uint64_t)) {
        *(uint64_t *)field = value;
    } else if (value <= UINT32_MAX) {
        *(uint32_t *)field = value;
    } else {
        error_setg(errp, "cpu-timing: %s is at most %u", name, UINT32_MAX);
    }
}

static void cpu_timing_complete(UserCreatable *uc, Error **errp)
{
    CpuTiming *ct = CPU_TIMING(uc);
    const char *fault = memsys_check_cpu(&ct->config);

    if (fault) {
        error_setg(errp, "cpu-timing: %s", fault);
    } else if (the_cpu_timing) {
        error_setg(errp, "cpu-timing: only one can be given");
    } else {
        the_cpu_timing = ct;
    }
}

static void cpu_timing_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = cpu_timing_complete;
    for (int i = 0; i < ARRAY_SIZE(properties); i++) {
        const CpuTimingProperty *p = &properties[i];

        object_class_property_add(oc, p->name, "size", cpu_timing_get,
                                  cpu_timing_set, NULL, (void *)p);
        object_class_property_set_description(oc, p->name, p->description);
    }
}

static const TypeInfo cpu_timing_info = {
    .name = TYPE_CPU_TIMING,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(CpuTiming),
    .class_init = cpu_timing_class_init,
    .interfaces = (InterfaceInfo[]) {
        { TYPE_USER_CREATABLE },
        { }
    },
};

static void cpu_timing_register_types(void)
{
    type_register_static(&cpu_timing_info);
}

type_init(cpu_timing_register_types)
