/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem_alloc.h"
#include "../config/param_text.h"

__attribute__((format(printf, 2, 3))) static bool refuse(Message *message, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message->text, sizeof(message->text), format, arguments);
    va_end(arguments);
    return false;
}

static void add(ReplayConfig *config, const MemParam *param, uint32_t device, uint64_t value) {
    config->overrides = mem_regrow(config->overrides, config->count + 1, sizeof(*config->overrides));
    config->overrides[config->count++] = (ReplayOverride){.param = param, .device = device, .value = value};
}

/* The table for "cpu", "device" or "device3", and its devices [`*device`, `*devices_end`). NULL: no such owner. */
static const MemParamTable *table_named(const char *owner, const MemTraceSetup *setup, uint32_t *device,
                                        uint32_t *devices_end) {
    *device = 0;
    *devices_end = setup->device_count;
    if (strcmp(owner, "cpu") == 0) {
        *device = REPLAY_CPU;
        return &mem_cpu_params;
    }
    if (strncmp(owner, "device", 6) != 0) {
        return NULL;
    }
    if (owner[6]) {
        *device = (uint32_t)(owner[6] - '0');
        *devices_end = *device + 1;
    }
    return *device < setup->device_count && (!owner[6] || !owner[7]) ? &mem_device_params : NULL;
}

static bool set_value(ReplayConfig *config, const char *key, const MemParam *param, const char *text, uint32_t device,
                      uint32_t devices_end, Message *message) {
    union {
        MemCpuConfig cpu;
        MemDeviceConfig device;
    } unused;
    uint64_t value;
    const char *fault = mem_param_parse(param, text, &value);

    if (!fault) {
        fault = mem_param_set(param, &unused, value);
    }
    if (fault) {
        refuse(message, "'%s=%s': the value %s", key, text, fault);
        for (size_t i = 0; param->choices && param->choices[i]; i++) {
            size_t used = strlen(message->text);
            snprintf(message->text + used, sizeof(message->text) - used, "%s%s", i ? ", " : ": ", param->choices[i]);
        }
        return false;
    }
    for (; device != REPLAY_CPU && device < devices_end; device++) {
        add(config, param, device, value);
    }
    if (device == REPLAY_CPU) {
        add(config, param, device, value);
    }
    return true;
}

static bool assign(ReplayConfig *config, char *key, const char *text, const MemTraceSetup *setup, Message *message) {
    char *dot = strchr(key, '.');
    uint32_t device, devices_end;

    if (!dot) {
        return refuse(message, "'%s' names no parameter; write device.%s=VALUE", key, key);
    }
    *dot = '\0';
    const MemParamTable *table = table_named(key, setup, &device, &devices_end);
    if (!table) {
        return refuse(message, "'%s.%s': the trace has no '%s'; it has cpu and %" PRIu32 " device%s: device0, ...", key,
                      dot + 1, key, setup->device_count, setup->device_count == 1 ? "" : "s");
    }
    const MemParam *param = mem_param_named(table, dot + 1);
    if (!param) {
        return refuse(message, "unknown key '%s.%s'; did you mean '%s.%s'?", key, dot + 1, key,
                      mem_param_nearest(table, dot + 1)->name);
    }
    if (param->change == MEM_PARAM_FIXED) {
        return refuse(message, "'%s.%s' shapes the trace itself; capture again with another profile", key, dot + 1);
    }
    *dot = '.';
    return set_value(config, key, param, text, device, devices_end, message);
}

bool options_assign(ReplayConfig *config, const char *assignment, const MemTraceSetup *setup, Message *message) {
    char key[256];
    size_t length = strcspn(assignment, "=");

    if (!assignment[length] || length == 0 || length >= sizeof(key)) {
        return refuse(message, "'%.200s' is not NAME=VALUE, as device.cache-size=64M", assignment);
    }
    memcpy(key, assignment, length);
    key[length] = '\0';
    return assign(config, key, assignment + length + 1, setup, message);
}

bool options_assign_line(ReplayConfig *config, char *line, const MemTraceSetup *setup, Message *message) {
    for (char *word = strtok(line, " \t\r\n"); word; word = strtok(NULL, " \t\r\n")) {
        if (!options_assign(config, word, setup, message)) {
            return false;
        }
    }
    return true;
}

void options_free(ReplayConfig *config) {
    free(config->overrides);
    *config = (ReplayConfig){0};
}
