/*
 * Object properties made from the timing model's tables of parameters.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_MEMSYS_PROPS_H
#define HW_MEM_MEMSYS_PROPS_H

#include "hw/mem/memsys/config/params.h"
#include "qom/object.h"

/*
 * Add a property for every parameter of @table. QEMU calls @get and @set with
 * the MemParam as their opaque; they pass the configuration on to
 * memsys_prop_get() and memsys_prop_set().
 */
void memsys_props_add(ObjectClass *oc, const MemParamTable *table,
                      ObjectPropertyAccessor *get,
                      ObjectPropertyAccessor *set);

bool memsys_prop_get(Visitor *v, const MemParam *param, const void *config,
                     Error **errp);
bool memsys_prop_set(Visitor *v, const MemParam *param, void *config,
                     Error **errp);

#endif
