/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace: the operations of mem_op.h in the order in which the CPU's caches
 * issued them, the computing time between them, and the other calls that the
 * memory behind the caches needs. The content depends on the software and the
 * CPU's caches alone, so a trace can be replayed against any memory.
 * docs/reference/formats.md describes the format.
 *
 * This module does no I/O: a writer passes its bytes to a sink, a reader takes
 * them from a source.
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

/* The configurations at the start of the capture, and its time. */
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
    MEM_TRACE_END,            /* the capture ended here, in an orderly way */
    MEM_TRACE_RECORDS,
} MemTraceRecordKind;

/* An item of a trace that is not an operation. */
typedef struct MemTraceRecord {
    MemTraceRecordKind kind;
    mem_ps gap_ps;          /* computing time since the operation or record before was done */
    mem_ps captured_ps;     /* the time at capture */
    bool on;                /* TIMED: the new mode; ROI: the region begins */
    uint64_t roi;           /* ROI: the region's number, given by the guest */
    MemCounters counters;   /* end of ROI: the counters at capture */
    uint32_t index;         /* WINDOW: the window's index; RECONFIGURE: the device */
    MemWindow window;       /* WINDOW */
    MemDeviceConfig device; /* RECONFIGURE: the whole configuration */
} MemTraceRecord;

/* ---- Writing ---- */

typedef struct MemTraceWriter MemTraceWriter;

/* Takes the next bytes of the trace. The sink itself handles errors such as a full disk. */
typedef void (*MemTraceSink)(void *opaque, const void *bytes, size_t count);

/* Start a trace. Passes the header to the sink at once. */
MemTraceWriter *mem_trace_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque);

/* The observer through which the writer records a MemSys: pass it to memsys_set_observer(). */
const MemObserver *mem_trace_observer(const MemTraceWriter *w);

/*
 * Write an operation that was issued at `at_ps` and for which the CPU stalled for
 * `stall_ps`; both are ignored if it is `with_previous`. Here and below, a time
 * before the end of the preceding operation counts as the time of that end.
 */
void mem_trace_op(MemTraceWriter *w, const MemOperation *op, mem_ps at_ps, mem_ps stall_ps);

/* A change of a window, to be written after the operations that it causes (lines written back). */
void mem_trace_window(MemTraceWriter *w, uint32_t index, const MemWindow *window, mem_ps now_ps);
/* A call of mem_memory_set_timed() with the same `now_ps`. */
void mem_trace_timed(MemTraceWriter *w, bool timed, mem_ps now_ps);
void mem_trace_reset_counters(MemTraceWriter *w);
void mem_trace_reconfigure(MemTraceWriter *w, uint32_t device, const MemDeviceConfig *config, mem_ps now_ps);
/*
 * A region of interest begins, after the switch to timed mode, or ends, after the
 * switch back. `counters` were read before the switch back; a replay of the trace
 * can be checked against them.
 */
void mem_trace_roi_begin(MemTraceWriter *w, uint64_t roi, mem_ps now_ps);
void mem_trace_roi_end(MemTraceWriter *w, uint64_t roi, const MemCounters *counters, mem_ps now_ps);

/* Write the end record and free the writer. A reader reports a trace without an end record as cut short. */
void mem_trace_writer_end(MemTraceWriter *w, mem_ps now_ps);

typedef struct MemTraceSize {
    uint64_t operations;
    uint64_t bytes; /* passed to the sink */
} MemTraceSize;

MemTraceSize mem_trace_size(const MemTraceWriter *w);

/* ---- Reading ---- */

typedef struct MemTraceReader MemTraceReader;

/* Copies the next `count` bytes of the trace to `bytes`. Returns their number; fewer than `count`: end of trace. */
typedef size_t (*MemTraceSource)(void *opaque, void *bytes, size_t count);

typedef struct MemTraceOp {
    MemOperation op;
    mem_ps gap_ps; /* computing time since the operation or record before was done; 0 if `with_previous` */
} MemTraceOp;

typedef enum MemTraceStatus {
    MEM_TRACE_GOT_OPS,    /* operations; more items follow */
    MEM_TRACE_GOT_RECORD, /* operations, then one record */
    MEM_TRACE_DONE,       /* operations, then the MEM_TRACE_END record */
    MEM_TRACE_BAD,        /* operations, then unreadable bytes: see mem_trace_fault() */
} MemTraceStatus;

typedef struct MemTraceFault {
    const char *what;      /* a predicate: "is cut short", ...; NULL: no fault */
    const char *subject;   /* the name that the fault is about, or NULL */
    uint64_t offset_bytes; /* offset in the trace of the faulty header or block */
    uint64_t operations;   /* operations read before the fault */
} MemTraceFault;

/* Never returns NULL. If the header cannot be read, `setup` is zero and the first read reports the fault. */
MemTraceReader *mem_trace_reader_new(MemTraceSource source, void *opaque, MemTraceSetup *setup);
/* A reader of a trace in memory. `bytes` must outlive the reader. */
MemTraceReader *mem_trace_reader_of_memory(const void *bytes, size_t count, MemTraceSetup *setup);

/* Read up to `room` operations into `ops`, `*count` of them, and the item after them that the status names. */
MemTraceStatus mem_trace_read(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count, MemTraceRecord *record);
MemTraceFault mem_trace_fault(const MemTraceReader *r);
void mem_trace_reader_free(MemTraceReader *r);

#endif
