/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every parameter of the two configurations as data, made from the rows of cpu.h and device.h. */
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

/* When the value of a parameter may change. */
typedef enum MemParamChange {
    MEM_PARAM_FIXED,  /* never: a trace, or the guest's view of the device, depends on it */
    MEM_PARAM_REPLAY, /* in a replay */
    MEM_PARAM_LIVE,   /* also while the device runs */
} MemParamChange;

typedef struct MemParam {
    const char *name;  /* "cache-size", "link-latency-ps" */
    const char *field; /* "cache_size_bytes", "l2.latency_ps" */
    const char *group; /* the table of docs/reference/parameters.md that contains it */
    MemParamType type;
    uint16_t offset; /* of the field in the configuration */
    uint16_t width;  /* of the field in bytes: 1, 4 or 8 */
    MemParamChange change;
    bool required;              /* a profile must state it */
    uint64_t initial;           /* the default */
    const char *const *choices; /* NULL-terminated, for MEM_PARAM_CHOICE */
    uint64_t least, most;       /* bounds of the value */
    bool or_zero;               /* 0 is allowed besides */
    const char *needs;          /* checked only if this parameter is not 0; NULL: always checked */
    const char *refusal;        /* the message for a value that is not allowed */
    const char *what;           /* half a sentence that describes the parameter */
} MemParam;

typedef struct MemParamTable {
    const MemParam *params;
    size_t count;
} MemParamTable;

extern const MemParamTable mem_cpu_params;
extern const MemParamTable mem_device_params;

/* The parameter with that name, or NULL. */
const MemParam *mem_param_find(const MemParamTable *table, const char *name);
/*
 * As above for a device; also finds "capacity", which is in no table because QEMU derives it from the sizes of the
 * memory backends.
 */
const MemParam *mem_device_param_find(const char *name);

uint64_t mem_param_get(const MemParam *param, const void *config);
/* Returns NULL, or a static half sentence ("must be below 2^32"). */
const char *mem_param_set(const MemParam *param, void *config, uint64_t value);
/* The index of the choice with that name, or UINT64_MAX. */
uint64_t mem_param_choice(const MemParam *param, const char *name);

/* Set every field to its `initial`. `config` is a MemCpuConfig or MemDeviceConfig, to match the table. */
void mem_params_init(const MemParamTable *table, void *config);
/* The message for the first value that is not allowed, or NULL. Rules over several fields are not checked. */
const char *mem_params_check(const MemParamTable *table, const void *config);

#endif
