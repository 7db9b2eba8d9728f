/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "judge.h"
#include "../memsys.h"

#include <stdlib.h>
#include <string.h>

#include "../config/param_text.h"

#define LINE_BYTES 65536 /* room for some hundred parameters, each with the longest value */

/* The parameter named "cpu.NAME" or "device.NAME", and the configuration that holds it. NULL: unknown name. */
static const MemParam *find(const char *key, MemCpuConfig *cpu, MemDeviceConfig *device, void **config) {
    if (strncmp(key, "cpu.", 4) == 0) {
        *config = cpu;
        return mem_param_find(&mem_cpu_params, key + 4);
    }
    *config = device;
    return strncmp(key, "device.", 7) == 0 ? mem_device_param_find(key + 7) : NULL;
}

/* Apply one NAME=VALUE. Returns NULL, or a description of the fault. `word` is cut at its '='. */
static const char *assign(char *word, MemCpuConfig *cpu, MemDeviceConfig *device) {
    char *equals = strchr(word, '=');
    void *config;
    uint64_t value;

    if (!equals) {
        return "is not NAME=VALUE";
    }
    *equals = '\0';
    const MemParam *param = find(word, cpu, device, &config);
    if (!param) {
        return "is no parameter";
    }
    const char *fault = mem_param_parse(param, equals + 1, &value);
    return fault ? fault : mem_param_set(param, config, value);
}

static void judge(char *line, FILE *out) {
    MemCpuConfig cpu = {0};
    MemDeviceConfig device = {0};

    mem_params_init(&mem_cpu_params, &cpu);
    mem_params_init(&mem_device_params, &device);
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
        const char *fault = assign(word, &cpu, &device);
        if (fault) {
            fprintf(out, "%s %s\n", word, fault);
            return;
        }
    }
    const char *fault = memsys_check_cpu(&cpu);
    const char *owner = fault ? "cpu." : "device.";
    fault = fault ? fault : memsys_check_device(&device);
    fprintf(out, "%s%s\n", fault ? owner : "", fault ? fault : "ok");
}

void judge_all(FILE *in, FILE *out) {
    char line[LINE_BYTES];

    while (fgets(line, sizeof(line), in)) {
        judge(line, out);
    }
}
