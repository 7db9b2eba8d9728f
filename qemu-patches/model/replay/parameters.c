/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parameters.h"

#include <inttypes.h>

#include "../config/params.h"

static const char *const types[] = {
    [MEM_PARAM_COUNT] = "count",         [MEM_PARAM_SIZE] = "size",     [MEM_PARAM_TIME] = "time",
    [MEM_PARAM_BANDWIDTH] = "bandwidth", [MEM_PARAM_ENERGY] = "energy", [MEM_PARAM_BOOL] = "bool",
    [MEM_PARAM_CHOICE] = "choice",
};
static const char *const changes[] = {
    [MEM_PARAM_FIXED] = "fixed", [MEM_PARAM_REPLAY] = "replay", [MEM_PARAM_LIVE] = "live"};

static const char *truth(bool value) { return value ? "true" : "false"; }

static void print_choices(const MemParam *p, FILE *out) {
    for (size_t i = 0; p->choices && p->choices[i]; i++) {
        fprintf(out, "%s\"%s\"", i ? ", " : "", p->choices[i]);
    }
}

/* No text in a table has a character that JSON must escape: tests/repo/test_parameter_tables.py reads all of them. */
static void print_parameter(const char *owner, const MemParam *p, FILE *out) {
    fprintf(out, "{\"owner\": \"%s\", \"name\": \"%s\", \"field\": \"%s\", \"group\": \"%s\"", owner, p->name, p->field,
            p->group);
    fprintf(out, ", \"type\": \"%s\", \"bits\": %d, \"change\": \"%s\"", types[p->type], 8 * p->width,
            changes[p->change]);
    fprintf(out, ", \"required\": %s, \"initial\": %" PRIu64 ", \"choices\": [", truth(p->required), p->initial);
    print_choices(p, out);
    fprintf(out, "], \"least\": %" PRIu64 ", \"most\": %" PRIu64 ", \"or_zero\": %s", p->least, p->most,
            truth(p->or_zero));
    fprintf(out, ", \"needs\": \"%s\", \"what\": \"%s\"}\n", p->needs ? p->needs : "", p->what);
}

static void print_table(const char *owner, const MemParamTable *table, FILE *out) {
    for (size_t i = 0; i < table->count; i++) {
        print_parameter(owner, &table->params[i], out);
    }
}

void parameters_print(FILE *out) {
    print_table("cpu", &mem_cpu_params, out);
    print_table("device", &mem_device_params, out);
}
