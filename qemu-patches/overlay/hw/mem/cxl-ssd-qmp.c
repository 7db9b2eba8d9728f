/*
 * CXL memory-semantic SSD: query and changes at run time over QMP.
 *
 * Both run as work for the vCPU, which has ended a block and waits. So neither
 * sees the model in the middle of an access.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "hw/core/cpu.h"
#include "hw/mem/memsys-props.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"
#include "qapi/qobject-input-visitor.h"
#include "qapi/visitor.h"
#include "qobject/qdict.h"

static CxlSsdDevice *device_to_qapi(CXLSSDState *s)
{
    CxlSsdDevice *q = g_new0(CxlSsdDevice, 1);
    uint64_t life_used = memsys_life_used_percent(timed_mem_memsys(),
                                                  s->number);

    q->path = object_get_canonical_path(OBJECT(s));
    q->persistent_size = s->config.capacity_bytes - s->config.volatile_bytes;
    q->volatile_size = s->config.volatile_bytes;
    q->dirty_shutdowns = s->shutdown.dirty_count;
    q->has_life_used = life_used != MEM_LIFE_UNKNOWN;
    q->life_used = q->has_life_used ? life_used : 0;
    q->has_lines_lost = cxl_ssd_loses_lines(s);
    q->lines_lost = s->lines_lost;
    q->counters = cxl_ssd_device_counters(s);
    q->windows = cxl_ssd_windows_to_qapi(s);
    return q;
}

static void query_work(CPUState *cpu, run_on_cpu_data data)
{
    CxlSsdInfo *info = data.host_ptr;
    CxlSsdDeviceList **tail = &info->devices;

    cxl_ssd_roi_info(info);
    info->persistence_events = cxl_ssd_persistence_events();
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        QAPI_LIST_APPEND(tail, device_to_qapi(cxl_ssds[i]));
    }
}

CxlSsdInfo *qmp_query_cxl_ssd(Error **errp)
{
    CxlSsdInfo *info;

    if (!cxl_ssd_count) {
        error_setg(errp, "the machine has no cxl-ssd");
        return NULL;
    }
    info = g_new0(CxlSsdInfo, 1);
    run_on_cpu(first_cpu, query_work, RUN_ON_CPU_HOST_PTR(info));
    return info;
}

typedef struct SetRequest {
    CXLSSDState *device;
    MemDeviceConfig config;
    const char *fault;
} SetRequest;

static void set_work(CPUState *cpu, run_on_cpu_data data)
{
    SetRequest *request = data.host_ptr;
    CXLSSDState *s = request->device;

    request->fault = memsys_reconfigure_device(timed_mem_memsys(), s->number,
                                               &request->config);
    if (!request->fault) {
        s->config = request->config;
    }
}

static bool set_value(const MemParam *param, MemDeviceConfig *config,
                      QObject *value, Error **errp)
{
    QDict *dict = qdict_new();
    Visitor *v;
    bool ok;

    qdict_put_obj(dict, param->name, qobject_ref(value));
    /* A string may have the form of the command line: "24G", "on". */
    v = qobject_type(value) == QTYPE_QSTRING
        ? qobject_input_visitor_new_keyval(QOBJECT(dict))
        : qobject_input_visitor_new(QOBJECT(dict));
    ok = visit_start_struct(v, NULL, NULL, 0, errp) &&
         memsys_prop_set(v, param, config, errp);
    visit_end_struct(v, NULL);
    visit_free(v);
    qobject_unref(dict);
    return ok;
}

void qmp_cxl_ssd_set(const char *device, const char *name, QObject *value,
                     Error **errp)
{
    Object *obj = object_resolve_path(device, NULL);
    const MemParam *param = mem_param_find(&mem_device_params, name);
    SetRequest request;

    request.device = (CXLSSDState *)object_dynamic_cast(obj, TYPE_CXL_SSD);
    if (!request.device) {
        error_setg(errp, "'%s' is not a cxl-ssd", device);
        return;
    }
    if (!param) {
        error_setg(errp, "cxl-ssd has no parameter '%s'", name);
        return;
    }
    if (param->change != MEM_PARAM_LIVE) {
        error_setg(errp, "%s cannot change while the device runs", name);
        return;
    }
    request.config = request.device->config;
    if (!set_value(param, &request.config, value, errp)) {
        return;
    }
    request.fault = memsys_check_device(&request.config);
    if (!request.fault) {
        run_on_cpu(first_cpu, set_work, RUN_ON_CPU_HOST_PTR(&request));
    }
    if (request.fault) {
        error_setg(errp, "%s: %s", name, request.fault);
    }
}
