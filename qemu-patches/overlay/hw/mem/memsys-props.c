/*
 * Object properties made from the timing model's tables of parameters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/mem/memsys-props.h"
#include "qapi/error.h"
#include "qapi/visitor.h"

static const char *const type_names[] = {
    [MEM_PARAM_COUNT] = "uint64",
    [MEM_PARAM_SIZE] = "size",
    [MEM_PARAM_TIME] = "uint64",
    [MEM_PARAM_BANDWIDTH] = "uint64",
    [MEM_PARAM_ENERGY] = "uint64",
    [MEM_PARAM_BOOL] = "bool",
    [MEM_PARAM_CHOICE] = "str",
};

static bool visit_choice(Visitor *v, const MemParam *param, uint64_t *value,
                         Error **errp)
{
    g_autofree char *names = NULL;
    char *name;

    if (!visit_type_str(v, param->name, &name, errp)) {
        return false;
    }
    *value = mem_param_choice(param, name);
    g_free(name);
    if (*value == UINT64_MAX) {
        names = g_strjoinv(", ", (char **)param->choices);
        error_setg(errp, "%s is one of: %s", param->name, names);
        return false;
    }
    return true;
}

static bool visit_value(Visitor *v, const MemParam *param, uint64_t *value,
                        Error **errp)
{
    bool on;

    switch (param->type) {
    case MEM_PARAM_SIZE:
        return visit_type_size(v, param->name, value, errp);
    case MEM_PARAM_BOOL:
        on = *value;
        if (!visit_type_bool(v, param->name, &on, errp)) {
            return false;
        }
        *value = on;
        return true;
    case MEM_PARAM_CHOICE:
        return visit_choice(v, param, value, errp);
    default:
        return visit_type_uint64(v, param->name, value, errp);
    }
}

bool memsys_prop_get(Visitor *v, const MemParam *param, const void *config,
                     Error **errp)
{
    uint64_t value = mem_param_get(param, config);
    char *name;

    if (param->type == MEM_PARAM_CHOICE) {
        name = (char *)param->choices[value];
        return visit_type_str(v, param->name, &name, errp);
    }
    return visit_value(v, param, &value, errp);
}

bool memsys_prop_set(Visitor *v, const MemParam *param, void *config,
                     Error **errp)
{
    uint64_t value = 0;
    const char *fault;

    if (!visit_value(v, param, &value, errp)) {
        return false;
    }
    fault = mem_param_set(param, config, value);
    if (fault) {
        error_setg(errp, "%s %s", param->name, fault);
        return false;
    }
    return true;
}

void memsys_props_add(ObjectClass *oc, const MemParamTable *table,
                      ObjectPropertyAccessor *get, ObjectPropertyAccessor *set)
{
    for (size_t i = 0; i < table->count; i++) {
        const MemParam *param = &table->params[i];

        object_class_property_add(oc, param->name, type_names[param->type],
                                  get, set, NULL, (void *)param);
        object_class_property_set_description(oc, param->name, param->what);
    }
}
