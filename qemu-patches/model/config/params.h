/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every parameter of the two configurations, as data: QEMU's properties, the
 * replayer's options, changes at run time and the documentation's check all
 * come from these tables.
 */
#ifndef MODEL_PARAMS_H
#define MODEL_PARAMS_H

#include "cpu.h"
#include "device.h"

typedef enum MemParamType {
    MEM_PARAM_COUNT,
    MEM_PARAM_SIZE,      /* bytes */
    MEM_PARAM_TIME,      /* picoseconds */
    MEM_PARAM_BANDWIDTH, /* bytes per second */
    MEM_PARAM_ENERGY,    /* the unit ends the name */
    MEM_PARAM_BOOL,
    MEM_PARAM_CHOICE, /* one of `choices`, by index */
} MemParamType;

typedef struct MemParam {
    const char *name; /* "cache-size", "link-latency-ps" */
    MemParamType type;
    uint16_t offset;            /* in the configuration */
    uint16_t width;             /* of the field in bytes: 1, 4 or 8 */
    bool run_time;              /* may change while the device runs */
    const char *const *choices; /* NULL-terminated, for MEM_PARAM_CHOICE */
    uint64_t initial;           /* what it is if nobody sets it; 0 where a value must be given */
    const char *what;           /* half a sentence */
} MemParam;

typedef struct MemParamTable {
    const MemParam *params;
    size_t count;
} MemParamTable;

extern const MemParamTable mem_cpu_params;
extern const MemParamTable mem_device_params;

/* The parameter of that name, or NULL. */
const MemParam *mem_param_find(const MemParamTable *table, const char *name);

uint64_t mem_param_get(const MemParam *param, const void *config);
/* Returns NULL, or a static half sentence saying what the value must be. */
const char *mem_param_set(const MemParam *param, void *config, uint64_t value);
/* The index of a choice's name, or UINT64_MAX. */
uint64_t mem_param_choice(const MemParam *param, const char *name);

/* Set every field to its `initial`. `config` is a MemCpuConfig or MemDeviceConfig, as the table. */
void mem_params_init(const MemParamTable *table, void *config);

#endif
