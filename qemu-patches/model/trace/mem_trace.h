/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace: the operations of mem_op.h in the order the CPU's caches issued
 * them, with the time it computed between them, and what else a memory behind
 * them must be told. What it holds depends on the software and the CPU's
 * caches alone, so it can be replayed against any memory. docs/replay.md
 * describes the format.
 *
 * Nothing here does I/O: a writer gives its bytes to a sink, a reader asks a
 * source for them.
 */
#ifndef MODEL_MEM_TRACE_H
#define MODEL_MEM_TRACE_H

#include "../base/counters.h"
#include "../config/cpu.h"
#include "../config/device.h"
#include "../memory/mem_op.h"
#include "../memory/observer.h"
#include "../memory/window.h"

#define MEM_TRACE_VERSION 1u

/* What was captured: the configurations at its start, and its time. */
typedef struct MemTraceSetup {
    MemCpuConfig cpu;
    MemDeviceConfig devices[MEMSYS_MAX_DEVICES];
    uint32_t device_count;
    mem_ps start_ps;
} MemTraceSetup;

typedef enum MemTraceRecordKind {
    MEM_TRACE_WINDOW,         /* memsys_map_window() */
    MEM_TRACE_TIMED,          /* memsys_set_timed() */
    MEM_TRACE_RESET_COUNTERS, /* memsys_reset_counters() */
    MEM_TRACE_RECONFIGURE,    /* memsys_reconfigure_device() */
    MEM_TRACE_ROI,            /* a region of interest begins or ends */
    MEM_TRACE_END,            /* the capture ended here, in order */
    MEM_TRACE_RECORDS,
} MemTraceRecordKind;

/* What is no operation. */
typedef struct MemTraceRecord {
    MemTraceRecordKind kind;
    mem_ps gap_ps;          /* computed since the operation or record before was done */
    mem_ps captured_ps;     /* the time at capture */
    bool on;                /* TIMED; ROI: it begins */
    uint64_t roi;           /* ROI: its number, as the guest gave it */
    MemCounters counters;   /* ROI that ends: what was counted at capture */
    uint32_t index;         /* WINDOW: which; RECONFIGURE: the device */
    MemWindow window;       /* WINDOW */
    MemDeviceConfig device; /* RECONFIGURE: all of it */
} MemTraceRecord;

/* ---- Writing ---- */

typedef struct MemTraceWriter MemTraceWriter;

/* Takes the next bytes of the trace. What it does about a full disk is its own business. */
typedef void (*MemTraceSink)(void *opaque, const void *bytes, size_t count);

/* Starts a trace: the header goes to the sink at once. */
MemTraceWriter *mem_trace_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque);

/* Whoever writes what a MemSys asks and tells its memory: for memsys_set_observer(). */
const MemObserver *mem_trace_observer(const MemTraceWriter *w);

/*
 * The operation was issued at `at_ps` and the CPU stalled for `stall_ps`; of one
 * `with_previous` neither counts. A time before the end of the operation before
 * counts as that end, here and below.
 */
void mem_trace_op(MemTraceWriter *w, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps);

/* A change of the window, after the operations that it causes (lines written back). */
void mem_trace_window(MemTraceWriter *w, uint32_t index, const MemWindow *window, mem_ps now_ps);
/* `now_ps` is what mem_memory_set_timed() is told. */
void mem_trace_timed(MemTraceWriter *w, bool timed, mem_ps now_ps);
void mem_trace_reset_counters(MemTraceWriter *w);
void mem_trace_reconfigure(MemTraceWriter *w, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps);
/*
 * A region of interest begins, after the switch to timed mode, or ends, after
 * the switch back. `counters` are those before the switch back; with them a
 * trace can be checked against its replay.
 */
void mem_trace_roi_begin(MemTraceWriter *w, uint64_t roi, mem_ps now_ps);
void mem_trace_roi_end(MemTraceWriter *w, uint64_t roi, const MemCounters *counters, mem_ps now_ps);

/* End and free it. A trace without its end reads as truncated. */
void mem_trace_writer_end(MemTraceWriter *w, mem_ps now_ps);

typedef struct MemTraceSize {
    uint64_t operations;
    uint64_t bytes; /* given to the sink */
} MemTraceSize;

MemTraceSize mem_trace_size(const MemTraceWriter *w);

/* ---- Reading ---- */

typedef struct MemTraceReader MemTraceReader;

/* Fill `bytes` with the next `count` bytes of the trace; fewer than that: there are no more. */
typedef size_t (*MemTraceSource)(void *opaque, void *bytes, size_t count);

typedef struct MemTraceOp {
    MemOperation op;
    mem_ps gap_ps; /* computed since the operation or record before was done; 0 if `with_previous` */
} MemTraceOp;

typedef enum MemTraceStatus {
    MEM_TRACE_GOT_OPS,    /* operations, and there are more */
    MEM_TRACE_GOT_RECORD, /* operations, then one record */
    MEM_TRACE_DONE,       /* operations, then the MEM_TRACE_END record */
    MEM_TRACE_BAD,        /* operations, then something unreadable: see mem_trace_fault() */
} MemTraceStatus;

typedef struct MemTraceFault {
    const char *what;      /* a sentence without its end: "is cut short", ... */
    const char *subject;   /* a name it is about, or NULL */
    uint64_t offset_bytes; /* in the trace, of the header or block it is in */
    uint64_t operations;   /* that could be read before it */
} MemTraceFault;

/* Never NULL. If the header cannot be read, `setup` is zero and the first read says why. */
MemTraceReader *mem_trace_reader_new(MemTraceSource source, void *opaque, MemTraceSetup *setup);
/* The whole trace is in memory, which stays there as long as the reader. */
MemTraceReader *mem_trace_reader_of_memory(const void *bytes, size_t count, MemTraceSetup *setup);

/* Up to `room` operations into `ops`, `*count` of them, then what the status says. */
MemTraceStatus mem_trace_read(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count, MemTraceRecord *record);
MemTraceFault mem_trace_fault(const MemTraceReader *r);
void mem_trace_reader_free(MemTraceReader *r);

#endif
