/*
 * The host CPU's side of the memory timing model, as a user-creatable object.
 * Its properties are the parameters in mem_cpu_params.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/mem/cpu-timing.h"
#include "hw/mem/memsys-props.h"
#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qom/object_interfaces.h"
#include "system/cpu-timers.h"
#include "system/vcpu-clocks.h"

OBJECT_DECLARE_SIMPLE_TYPE(CpuTiming, CPU_TIMING)

#define QUANTUM_DEFAULT UINT64_MAX

struct CpuTiming {
    Object parent_obj;
    MemCpuConfig config;
    bool helper_thread;
    /* For several cores. */
    uint64_t quantum_ps;
    bool host_ends_slices;
    /* For one core. */
    bool halt_lingers;
};

static CpuTiming *the_cpu_timing;

const MemCpuConfig *cpu_timing_config(void)
{
    return the_cpu_timing ? &the_cpu_timing->config : NULL;
}

bool cpu_timing_helper_thread(void)
{
    return the_cpu_timing && the_cpu_timing->helper_thread;
}

/* The model copied its configuration when the machine was created. */
static bool cpu_timing_may_change(CpuTiming *ct, const char *name, Error **errp)
{
    if (ct == the_cpu_timing) {
        error_setg(errp, "cpu-timing: %s cannot change while the machine runs",
                   name);
        return false;
    }
    return true;
}

static bool cpu_timing_get_helper_thread(Object *obj, Error **errp)
{
    return CPU_TIMING(obj)->helper_thread;
}

static void cpu_timing_set_helper_thread(Object *obj, bool value, Error **errp)
{
    if (cpu_timing_may_change(CPU_TIMING(obj), "helper-thread", errp)) {
        CPU_TIMING(obj)->helper_thread = value;
    }
}

static bool cpu_timing_get_host_ends_slices(Object *obj, Error **errp)
{
    return CPU_TIMING(obj)->host_ends_slices;
}

static void cpu_timing_set_host_ends_slices(Object *obj, bool value,
                                            Error **errp)
{
    if (cpu_timing_may_change(CPU_TIMING(obj), "x-host-ends-slices", errp)) {
        CPU_TIMING(obj)->host_ends_slices = value;
    }
}

static bool cpu_timing_get_halt_lingers(Object *obj, Error **errp)
{
    return CPU_TIMING(obj)->halt_lingers;
}

static void cpu_timing_set_halt_lingers(Object *obj, bool value, Error **errp)
{
    if (cpu_timing_may_change(CPU_TIMING(obj), "x-halt-lingers", errp)) {
        CPU_TIMING(obj)->halt_lingers = value;
    }
}

static void cpu_timing_get_quantum(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    visit_type_uint64(v, name, &CPU_TIMING(obj)->quantum_ps, errp);
}

static void cpu_timing_set_quantum(Object *obj, Visitor *v, const char *name,
                                   void *opaque, Error **errp)
{
    if (cpu_timing_may_change(CPU_TIMING(obj), name, errp)) {
        visit_type_uint64(v, name, &CPU_TIMING(obj)->quantum_ps, errp);
    }
}

static void cpu_timing_get(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    memsys_prop_get(v, opaque, &CPU_TIMING(obj)->config, errp);
}

static void cpu_timing_set(Object *obj, Visitor *v, const char *name,
                           void *opaque, Error **errp)
{
    if (cpu_timing_may_change(CPU_TIMING(obj), name, errp)) {
        memsys_prop_set(v, opaque, &CPU_TIMING(obj)->config, errp);
    }
}

static void cpu_timing_init(Object *obj)
{
    CpuTiming *ct = CPU_TIMING(obj);

    mem_params_init(&mem_cpu_params, &ct->config);
    ct->quantum_ps = QUANTUM_DEFAULT;
}

/*
 * A vCPU that is ahead does not see the writes and interrupts that another one,
 * behind it, has not issued yet. On a real machine each would take at least a
 * transfer of the line, or an interrupt's time, to arrive. So the quantum must
 * not exceed either.
 */
static bool cpu_timing_order_vcpus(CpuTiming *ct, Error **errp)
{
    uint64_t most_ps = MIN(ct->config.c2c_ps, ct->config.ipi_ps);

    if (ct->quantum_ps == QUANTUM_DEFAULT) {
        ct->quantum_ps = MIN(VCPU_CLOCKS_QUANTUM_PS, most_ps);
    } else if (ct->quantum_ps > most_ps) {
        error_setg(errp, "cpu-timing: quantum-ps must not exceed c2c-ps and "
                   "ipi-ps, %" PRIu64, most_ps);
        return false;
    }
    vcpu_clocks_configure(ct->quantum_ps, ct->config.ipi_ps,
                          ct->host_ends_slices);
    return true;
}

static void cpu_timing_complete(UserCreatable *uc, Error **errp)
{
    CpuTiming *ct = CPU_TIMING(uc);
    const char *fault = memsys_check_cpu(&ct->config);

    if (fault) {
        error_setg(errp, "cpu-timing: %s", fault);
    } else if (ct->helper_thread && ct->config.cores > 1) {
        error_setg(errp, "cpu-timing: helper-thread is for one core");
    } else if (the_cpu_timing) {
        error_setg(errp, "cpu-timing: only one can be given");
    } else if (ct->config.cores == 1 || cpu_timing_order_vcpus(ct, errp)) {
        the_cpu_timing = ct;
        icount_halt_lingers = ct->halt_lingers;
        vcpu_clocks_seed(ct->config.seed);
    }
}

static bool cpu_timing_can_be_deleted(UserCreatable *uc)
{
    return CPU_TIMING(uc) != the_cpu_timing;
}

static void cpu_timing_class_init(ObjectClass *oc, void *data)
{
    UserCreatableClass *ucc = USER_CREATABLE_CLASS(oc);

    ucc->complete = cpu_timing_complete;
    ucc->can_be_deleted = cpu_timing_can_be_deleted;
    memsys_props_add(oc, &mem_cpu_params, cpu_timing_get, cpu_timing_set);
    object_class_property_add_bool(oc, "helper-thread",
                                   cpu_timing_get_helper_thread,
                                   cpu_timing_set_helper_thread);
    object_class_property_set_description(oc, "helper-thread",
        "work on accesses to local DRAM in a thread of its own: faster on an "
        "idle host, and no result depends on it");
    object_class_property_add(oc, "quantum-ps", "uint64",
                              cpu_timing_get_quantum, cpu_timing_set_quantum,
                              NULL, NULL);
    object_class_property_set_description(oc, "quantum-ps",
        "how far one of several vCPUs may be ahead of the others");
    object_class_property_add_bool(oc, "x-host-ends-slices",
                                   cpu_timing_get_host_ends_slices,
                                   cpu_timing_set_host_ends_slices);
    object_class_property_set_description(oc, "x-host-ends-slices",
        "let it depend on the host which of several vCPUs runs: a fault that "
        "tests are to find");
    object_class_property_add_bool(oc, "x-halt-lingers",
                                   cpu_timing_get_halt_lingers,
                                   cpu_timing_set_halt_lingers);
    object_class_property_set_description(oc, "x-halt-lingers",
        "when the only vCPU halts let the host's other threads go on for a "
        "while: for tests, and no result depends on it");
}

static const TypeInfo cpu_timing_info = {
    .name = TYPE_CPU_TIMING,
    .parent = TYPE_OBJECT,
    .instance_size = sizeof(CpuTiming),
    .instance_init = cpu_timing_init,
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
