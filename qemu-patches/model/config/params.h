/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every parameter of the two configurations, as data: made from the rows of cpu.h and device.h. */
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

/* When it may get another value. */
typedef enum MemParamChange {
    MEM_PARAM_FIXED,  /* never: it shapes what a trace holds, or what the guest sees of the device */
    MEM_PARAM_REPLAY, /* in a replay */
    MEM_PARAM_LIVE,   /* also while the device runs */
} MemParamChange;

typedef struct MemParam {
    const char *name;  /* "cache-size", "link-latency-ps" */
    const char *field; /* "cache_size_bytes", "l2.latency_ps" */
    const char *group; /* the table of docs/model.md that has it */
    MemParamType type;
    uint16_t offset; /* in the configuration */
    uint16_t width;  /* of the field in bytes: 1, 4 or 8 */
    MemParamChange change;
    bool required;              /* a profile must state it */
    uint64_t initial;           /* what it is if nobody sets it */
    const char *const *choices; /* NULL-terminated, for MEM_PARAM_CHOICE */
    uint64_t least, most;       /* which values are allowed */
    bool or_zero;               /* and 0 */
    const char *needs;          /* only looked at if this parameter is not 0; NULL: always */
    const char *refusal;        /* the sentence for a value that is not allowed */
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
/* Of a device, also its "capacity": in QEMU the sizes of the memory backends say that, so it is in no table. */
const MemParam *mem_device_param_find(const char *name);

uint64_t mem_param_get(const MemParam *param, const void *config);
/* Returns NULL, or a static half sentence saying what the value must be. */
const char *mem_param_set(const MemParam *param, void *config, uint64_t value);
/* The index of a choice's name, or UINT64_MAX. */
uint64_t mem_param_choice(const MemParam *param, const char *name);

/* Set every field to its `initial`. `config` is a MemCpuConfig or MemDeviceConfig, as the table. */
void mem_params_init(const MemParamTable *table, void *config);
/* The sentence about the first value that is not allowed; NULL if all are. What fields are together is not looked at.
 */
const char *mem_params_check(const MemParamTable *table, const void *config);

#endif
