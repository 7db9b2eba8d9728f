/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "params.h"

#include <assert.h>
#include <string.h>

#include "../base/serial.h"

/* ---- The choices ---- */

static const char *const overlap_names[] = {MEM_OVERLAP_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const policy_names[] = {MEM_POLICY_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const cache_write_names[] = {MEM_CACHE_WRITE_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const write_miss_names[] = {MEM_WRITE_MISS_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const page_prefetch_names[] = {MEM_PAGE_PREFETCH_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const ftl_names[] = {MEM_FTL_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const gc_names[] = {MEM_GC_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const domain_names[] = {MEM_DOMAIN_CHOICES(MEM_CHOICE_NAME) NULL};
static const char *const cut_lines_names[] = {MEM_CUT_LINES_CHOICES(MEM_CHOICE_NAME) NULL};

/* ---- The bounds of a value, and the words of a refusal after the field's name ---- */

#define BOUNDS_ANY .most = UINT64_MAX
#define WORDS_ANY ""
#define BOUNDS_ON_OR_OFF .most = 1
#define WORDS_ON_OR_OFF "must be on or off"
#define BOUNDS_UP_TO(n) .most = (n)
#define WORDS_UP_TO(n) "must not exceed " #n
#define BOUNDS_AT_LEAST(n) .least = (n), .most = UINT64_MAX
#define WORDS_AT_LEAST(n) "must be at least " #n
#define BOUNDS_UP_TO_1_S .most = MEM_PS_PER_S
#define WORDS_UP_TO_1_S "must not exceed 1 s"
#define BOUNDS_UP_TO_4_GIB .most = UINT64_C(4) << 30
#define WORDS_UP_TO_4_GIB "must not exceed 4 GiB"
#define BOUNDS_UP_TO_64_GIB .most = UINT64_C(64) << 30
#define WORDS_UP_TO_64_GIB "must not exceed 64 GiB"
#define BOUNDS_FROM(a, b) .least = (a), .most = (b)
#define WORDS_FROM(a, b) "must be from " #a " to " #b
/* A monitor passes -1 as the largest number of 64 bits, which this bound rejects. */
#define BOUNDS_A_BANDWIDTH .least = 1000000, .most = INT64_MAX
#define WORDS_A_BANDWIDTH "must be at least 1000000 bytes per second and below 2^63"
#define BOUNDS_A_BANDWIDTH_OR_0 BOUNDS_A_BANDWIDTH, .or_zero = true
#define WORDS_A_BANDWIDTH_OR_0 "must be 0 (no limit) or at least 1000000 bytes per second and below 2^63"
#define BOUNDS_ONE_OF(choice) .choices = choice##_names, .most = sizeof(choice##_names) / sizeof(char *) - 2
#define WORDS_ONE_OF(choice) "must be one of its choices"
#define BOUNDS_IF(param, allowed) .needs = (param), BOUNDS_##allowed
#define WORDS_IF(param, allowed) WORDS_##allowed
#define BOUNDS_IF_FLASH(allowed) .needs = "flash-channels", BOUNDS_##allowed
#define WORDS_IF_FLASH(allowed) WORDS_##allowed

/* ---- The tables ---- */

#define TYPE_COUNT MEM_PARAM_COUNT
#define TYPE_NUMBER MEM_PARAM_COUNT
#define TYPE_SIZE MEM_PARAM_SIZE
#define TYPE_SIZE32 MEM_PARAM_SIZE
#define TYPE_TIME MEM_PARAM_TIME
#define TYPE_BANDWIDTH MEM_PARAM_BANDWIDTH
#define TYPE_ENERGY MEM_PARAM_ENERGY
#define TYPE_BOOL MEM_PARAM_BOOL
#define TYPE_CHOICE MEM_PARAM_CHOICE

#define REQUIRED .required = true
#define DEFAULT(value) .initial = (value)

#define ROW(kind, in, text, may_change, first, allowed, meaning)                                                       \
    {.name = text,                                                                                                     \
     .field = #in,                                                                                                     \
     .group = GROUP,                                                                                                   \
     .type = TYPE_##kind,                                                                                              \
     .offset = offsetof(CONFIG, in),                                                                                   \
     .width = sizeof(((CONFIG *)0)->in),                                                                               \
     .change = MEM_PARAM_##may_change,                                                                                 \
     first,                                                                                                            \
     BOUNDS_##allowed,                                                                                                 \
     .refusal = #in " " WORDS_##allowed,                                                                               \
     .what = meaning},

#define CONFIG MemCpuConfig
#define GROUP "cpu"
static const MemParam cpu_params[] = {MEM_CPU_CACHE_PARAMS(ROW) MEM_CPU_CORE_PARAMS(ROW)};
#undef GROUP
#undef CONFIG

/* The groups are the tables of docs/reference/parameters.md. */
#define CONFIG MemDeviceConfig
/* clang-format off */
static const MemParam device_params[] = {
#define GROUP "persistence"
    MEM_PARTITION_PARAMS(ROW)
#undef GROUP
#define GROUP "link"
    MEM_LINK_PARAMS(ROW)
#undef GROUP
#define GROUP "cache"
    MEM_CACHE_PARAMS(ROW)
#undef GROUP
#define GROUP "flash"
    MEM_FLASH_PARAMS(ROW)
#undef GROUP
#define GROUP "persistence"
    MEM_POWER_PARAMS(ROW)
#undef GROUP
};
/* clang-format on */
#undef CONFIG

const MemParamTable mem_cpu_params = {cpu_params, sizeof(cpu_params) / sizeof(*cpu_params)};
const MemParamTable mem_device_params = {device_params, sizeof(device_params) / sizeof(*device_params)};
static const MemParam capacity_param = {.name = "capacity",
                                        .type = MEM_PARAM_SIZE,
                                        .offset = offsetof(MemDeviceConfig, capacity_bytes),
                                        .width = sizeof(uint64_t)};

const MemParam *mem_param_find(const MemParamTable *table, const char *name) {
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->params[i].name, name) == 0) {
            return &table->params[i];
        }
    }
    return NULL;
}

const MemParam *mem_device_param_find(const char *name) {
    return strcmp(name, capacity_param.name) == 0 ? &capacity_param : mem_param_find(&mem_device_params, name);
}

uint64_t mem_param_get(const MemParam *param, const void *config) {
    const unsigned char *field = (const unsigned char *)config + param->offset;
    uint64_t wide;
    uint32_t narrow;

    switch (param->width) {
    case sizeof(bool):
        return *field != 0;
    case sizeof(narrow):
        memcpy(&narrow, field, sizeof(narrow));
        return narrow;
    default:
        assert(param->width == sizeof(wide));
        memcpy(&wide, field, sizeof(wide));
        return wide;
    }
}

static uint64_t choice_count(const MemParam *param) {
    uint64_t count = 0;
    while (param->choices[count]) {
        count++;
    }
    return count;
}

const char *mem_param_set(const MemParam *param, void *config, uint64_t value) {
    unsigned char *field = (unsigned char *)config + param->offset;

    if (param->type == MEM_PARAM_CHOICE && value >= choice_count(param)) {
        return "must be one of its choices";
    }
    if (param->type == MEM_PARAM_BOOL) {
        bool set = value != 0;
        memcpy(field, &set, sizeof(set));
    } else if (param->width == sizeof(uint64_t)) {
        memcpy(field, &value, sizeof(value));
    } else if (value <= UINT32_MAX) {
        uint32_t narrow = (uint32_t)value;
        memcpy(field, &narrow, sizeof(narrow));
    } else {
        return "must be below 2^32";
    }
    return NULL;
}

uint64_t mem_param_choice(const MemParam *param, const char *name) {
    for (uint64_t i = 0; param->choices && param->choices[i]; i++) {
        if (strcmp(param->choices[i], name) == 0) {
            return i;
        }
    }
    return UINT64_MAX;
}

void mem_params_init(const MemParamTable *table, void *config) {
    for (size_t i = 0; i < table->count; i++) {
        const char *fault = mem_param_set(&table->params[i], config, table->params[i].initial);
        assert(!fault);
        (void)fault;
    }
}

static bool is_used(const MemParamTable *table, const MemParam *param, const void *config) {
    if (!param->needs) {
        return true;
    }
    const MemParam *needed = mem_param_find(table, param->needs);
    assert(needed);
    return mem_param_get(needed, config) != 0 && is_used(table, needed, config);
}

static bool is_allowed(const MemParam *param, uint64_t value) {
    return (value >= param->least && value <= param->most) || (param->or_zero && value == 0);
}

const char *mem_params_check(const MemParamTable *table, const void *config) {
    for (size_t i = 0; i < table->count; i++) {
        const MemParam *param = &table->params[i];
        if (!is_allowed(param, mem_param_get(param, config)) && is_used(table, param, config)) {
            return param->refusal;
        }
    }
    return NULL;
}
