/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report.h"

#include <inttypes.h>

#include "../config/param_text.h"

static const char *const cause_names[] = {
#define X(field, what) #field,
    MEM_CAUSES(X)
#undef X
};

/* As in QAPI, '-' joins the words of a name. */
static void json_name(FILE *out, const char *name) {
    fputc('"', out);
    for (; *name; name++) {
        fputc(*name == '_' ? '-' : *name, out);
    }
    fputs("\":", out);
}

static void json_config(FILE *out, const ReplayConfig *config) {
    union {
        MemCpuConfig cpu;
        MemDeviceConfig device;
    } holder;
    char text[MEM_PARAM_TEXT_BYTES];

    fputs("\"config\":{", out);
    for (size_t i = 0; i < config->count; i++) {
        const ReplayOverride *o = &config->overrides[i];
        bool quoted = o->param->type == MEM_PARAM_CHOICE || o->param->type == MEM_PARAM_BOOL;
        mem_param_set(o->param, &holder, o->value);
        mem_param_format(o->param, &holder, text);
        fputs(i ? ",\"" : "\"", out);
        if (o->device == REPLAY_CPU) {
            fputs("cpu", out);
        } else {
            fprintf(out, "device%" PRIu32, o->device);
        }
        fprintf(out, quoted ? ".%s\":\"%s\"" : ".%s\":%s", o->param->name, text);
    }
    fputs("},", out);
}

static void json_counters(FILE *out, const MemCounters *counters) {
    const char *separator = "";

    fputs("\"counters\":{", out);
#define X(field, what)                                                                                                 \
    fputs(separator, out);                                                                                             \
    json_name(out, #field);                                                                                            \
    fprintf(out, "%" PRIu64, counters->field);                                                                         \
    separator = ",";
    MEM_COUNTERS(X)
#undef X
    fputc('}', out);
}

static void json_percentiles(FILE *out, const ReplayRegion *region) {
    fputs("\"percentiles-ps\":{", out);
    for (unsigned cause = 0; cause < MEM_CAUSE_COUNT; cause++) {
        fputs(cause ? "," : "", out);
        json_name(out, cause_names[cause]);
        fprintf(out, "[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]", region->percentiles_ps[cause][0],
                region->percentiles_ps[cause][1], region->percentiles_ps[cause][2]);
    }
    fputc('}', out);
}

void report_json(FILE *out, const Replay *r, size_t index) {
    fprintf(out, "{\"index\":%zu,", index);
    json_config(out, r->config);
    fprintf(out, "\"complete\":%s,\"end-ps\":%" PRIu64 ",\"captured-end-ps\":%" PRIu64 ",\"regions\":[",
            r->ended ? "true" : "false", r->end_ps, r->captured_end_ps);
    for (size_t i = 0; i < r->region_count; i++) {
        const ReplayRegion *region = &r->regions[i];
        fprintf(out, "%s{\"id\":%" PRIu64 ",\"begin-ps\":%" PRIu64 ",\"end-ps\":%" PRIu64 ",", i ? "," : "",
                region->roi, region->begin_ps, region->end_ps);
        fprintf(out, "\"whole\":%s,\"captured-begin-ps\":%" PRIu64 ",\"captured-end-ps\":%" PRIu64 ",",
                region->open ? "false" : "true", region->captured_begin_ps, region->captured_end_ps);
        json_counters(out, &region->counters);
        fputc(',', out);
        json_percentiles(out, region);
        fputc('}', out);
    }
    fputs("]}\n", out);
    fflush(out);
}

static void text_region(FILE *out, const ReplayRegion *region) {
    fprintf(out, "region of interest %" PRIu64 ": %" PRIu64 " ns", region->roi,
            (region->end_ps - region->begin_ps) / 1000);
    if (region->open) {
        fputs(" (and more: the trace ends within it)\n", out);
    } else {
        fprintf(out, " (captured: %" PRIu64 " ns)\n", (region->captured_end_ps - region->captured_begin_ps) / 1000);
    }
#define X(field, what)                                                                                                 \
    if (region->counters.field) {                                                                                      \
        fprintf(out, "  %-24s %20" PRIu64 "  %s\n", #field, region->counters.field, what);                             \
    }
    MEM_COUNTERS(X)
#undef X
    fprintf(out, "  %-24s %12s %12s %12s  ns\n", "latencies", "p50", "p90", "p99");
    for (unsigned cause = 0; cause < MEM_CAUSE_COUNT; cause++) {
        if (region->percentiles_ps[cause][2]) {
            fprintf(out, "  %-24s %12.1f %12.1f %12.1f\n", cause_names[cause],
                    (double)region->percentiles_ps[cause][0] / 1000, (double)region->percentiles_ps[cause][1] / 1000,
                    (double)region->percentiles_ps[cause][2] / 1000);
        }
    }
}

void report_text(FILE *out, const Replay *r) {
    for (size_t i = 0; i < r->region_count; i++) {
        text_region(out, &r->regions[i]);
    }
    if (r->region_count == 0) {
        fputs("the trace holds no region of interest\n", out);
    }
}

static size_t differs(FILE *out, uint64_t roi, const char *name, uint64_t captured, uint64_t replayed) {
    if (captured == replayed) {
        return 0;
    }
    fprintf(out, "region %" PRIu64 ": %s is %" PRIu64 ", captured %" PRIu64 "\n", roi, name, replayed, captured);
    return 1;
}

size_t report_differences(FILE *out, const Replay *r) {
    size_t found = 0;

    for (size_t i = 0; i < r->region_count; i++) {
        const ReplayRegion *region = &r->regions[i];
        found += differs(out, region->roi, "begin_ps", region->captured_begin_ps, region->begin_ps);
        if (region->open) {
            continue;
        }
        found += differs(out, region->roi, "end_ps", region->captured_end_ps, region->end_ps);
#define X(field, what) found += differs(out, region->roi, #field, region->captured.field, region->counters.field);
        MEM_COUNTERS(X)
#undef X
    }
    if (r->ended && r->end_ps != r->captured_end_ps) {
        fprintf(out, "the end is at %" PRIu64 " ps, captured %" PRIu64 "\n", r->end_ps, r->captured_end_ps);
        found++;
    }
    return found;
}

static void text_params(FILE *out, const char *owner, const MemParamTable *table, const void *config) {
    char text[MEM_PARAM_TEXT_BYTES];

    for (size_t i = 0; i < table->count; i++) {
        mem_param_format(&table->params[i], config, text);
        fprintf(out, "%s.%-34s %20s  %s\n", owner, table->params[i].name, text, table->params[i].what);
    }
}

void report_setup(FILE *out, const MemTraceSetup *setup) {
    char owner[] = "device0";

    text_params(out, "cpu", &mem_cpu_params, &setup->cpu);
    for (uint32_t i = 0; i < setup->device_count; i++) {
        owner[6] = (char)('0' + i);
        text_params(out, owner, &mem_device_params, &setup->devices[i]);
    }
}
