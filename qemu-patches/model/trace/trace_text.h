/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a trace that are text, in NAME=VALUE lines: configurations and
 * counters. The text stays readable when parameters or counters are added.
 */
#ifndef MODEL_TRACE_TEXT_H
#define MODEL_TRACE_TEXT_H

#include "mem_trace.h"

#define TRACE_TEXT_BYTES_MAX (1u << 16)

typedef struct TraceText {
    char bytes[TRACE_TEXT_BYTES_MAX];
    size_t count;
} TraceText;

void trace_text_setup(TraceText *text, const MemTraceSetup *setup);
void trace_text_device(TraceText *text, const MemDeviceConfig *device);
void trace_text_counters(TraceText *text, const MemCounters *counters);

typedef struct TraceTextFault {
    const char *what; /* NULL: no fault */
    char subject[64];
} TraceTextFault;

/* Parse `text` in place. Return false, with a fault, for a malformed line, an unknown name or an invalid value. */
bool trace_parse_setup(char *text, MemTraceSetup *setup, TraceTextFault *fault);
bool trace_parse_device(char *text, MemDeviceConfig *device, TraceTextFault *fault);
/* Ignores counters that this version of the model does not know. */
void trace_parse_counters(char *text, MemCounters *counters);

#endif
