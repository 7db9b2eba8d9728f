/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../config/param_text.h"

/* ---- Writing ---- */

__attribute__((format(printf, 2, 3))) static void add(TraceText *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text->bytes + text->count, sizeof(text->bytes) - text->count, format, arguments);
    va_end(arguments);
    assert(count >= 0 && (size_t)count < sizeof(text->bytes) - text->count);
    text->count += (size_t)count;
}

static void add_params(TraceText *text, const char *prefix, const MemParamTable *table, const void *config) {
    char value[MEM_PARAM_TEXT_BYTES];

    for (size_t i = 0; i < table->count; i++) {
        mem_param_format(&table->params[i], config, value);
        add(text, "%s%s=%s\n", prefix, table->params[i].name, value);
    }
}

void trace_text_setup(TraceText *text, const MemTraceSetup *setup) {
    char prefix[16];

    add(text, "start-ps=%" PRIu64 "\n", setup->start_ps);
    add_params(text, "cpu.", &mem_cpu_params, &setup->cpu);
    for (uint32_t i = 0; i < setup->device_count; i++) {
        snprintf(prefix, sizeof(prefix), "device%" PRIu32 ".", i);
        add(text, "%scapacity=%" PRIu64 "\n", prefix, setup->devices[i].capacity_bytes);
        add_params(text, prefix, &mem_device_params, &setup->devices[i]);
    }
}

void trace_text_device(TraceText *text, const MemDeviceConfig *device) {
    add_params(text, "", &mem_device_params, device);
}

void trace_text_counters(TraceText *text, const MemCounters *counters) {
#define X(field, what) add(text, #field "=%" PRIu64 "\n", counters->field);
    MEM_COUNTERS(X)
#undef X
}

/* ---- Reading ---- */

static bool bad(TraceTextFault *fault, const char *what, const char *subject) {
    fault->what = what;
    snprintf(fault->subject, sizeof(fault->subject), "%s", subject);
    return false;
}

static const MemParam start_param = {
    .name = "start-ps", .type = MEM_PARAM_TIME, .offset = offsetof(MemTraceSetup, start_ps), .width = sizeof(mem_ps)};

static bool set_param(const MemParam *param, void *config, const char *name, const char *text, TraceTextFault *fault) {
    uint64_t value;

    if (!param) {
        return bad(fault, "states a parameter that this program does not know", name);
    }
    const char *what = mem_param_parse(param, text, &value);
    what = what ? what : mem_param_set(param, config, value);
    return what ? bad(fault, "states an impossible value", name) : true;
}

/* The configuration of "device3": an existing device, or a new one with the next number. NULL: another name. */
static MemDeviceConfig *device_named(MemTraceSetup *setup, const char *name) {
    if (strncmp(name, "device", 6) != 0 || name[6] < '0' || name[6] >= (char)('0' + MEMSYS_MAX_DEVICES) || name[7]) {
        return NULL;
    }
    uint32_t number = (uint32_t)(name[6] - '0');
    if (number == setup->device_count) {
        mem_params_init(&mem_device_params, &setup->devices[number]);
        setup->device_count++;
    }
    return number < setup->device_count ? &setup->devices[number] : NULL;
}

/* Set a parameter by its full name: "device0.cache-size", "4096". */
static bool set_named(MemTraceSetup *setup, const char *name, const char *text, TraceTextFault *fault) {
    const char *dot = strchr(name, '.');
    char owner[8] = "";

    if (!dot) {
        return set_param(strcmp(name, start_param.name) == 0 ? &start_param : NULL, setup, name, text, fault);
    }
    if ((size_t)(dot - name) < sizeof(owner)) {
        memcpy(owner, name, (size_t)(dot - name));
    }
    if (strcmp(owner, "cpu") == 0) {
        return set_param(mem_param_find(&mem_cpu_params, dot + 1), &setup->cpu, name, text, fault);
    }
    MemDeviceConfig *device = device_named(setup, owner);
    return set_param(device ? mem_device_param_find(dot + 1) : NULL, device, name, text, fault);
}

/* Split the next line of `*text` into name and value; false if it is malformed. */
static bool next_line(char **text, char **name, char **value) {
    char *end = strchr(*text, '\n'), *equals = strchr(*text, '=');

    if (!end || !equals || equals > end) {
        return false;
    }
    *name = *text;
    *equals = *end = '\0';
    *value = equals + 1;
    *text = end + 1;
    return true;
}

bool trace_parse_setup(char *text, MemTraceSetup *setup, TraceTextFault *fault) {
    char *name, *value;

    while (*text) {
        if (!next_line(&text, &name, &value)) {
            return bad(fault, "holds no list of parameters", "");
        }
        if (!set_named(setup, name, value, fault)) {
            return false;
        }
    }
    return true;
}

bool trace_parse_device(char *text, MemDeviceConfig *device, TraceTextFault *fault) {
    char *name, *value;

    while (*text) {
        if (!next_line(&text, &name, &value)) {
            return bad(fault, "holds no list of parameters", "");
        }
        if (!set_param(mem_param_find(&mem_device_params, name), device, name, value, fault)) {
            return false;
        }
    }
    return true;
}

static void set_counter(MemCounters *counters, const char *name, const char *text) {
#define X(field, what)                                                                                                 \
    if (strcmp(name, #field) == 0) {                                                                                   \
        counters->field = strtoull(text, NULL, 10);                                                                    \
    }
    MEM_COUNTERS(X)
#undef X
}

void trace_parse_counters(char *text, MemCounters *counters) {
    char *name, *value;

    while (next_line(&text, &name, &value)) {
        set_counter(counters, name, value);
    }
}
