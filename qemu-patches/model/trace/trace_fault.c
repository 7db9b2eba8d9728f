/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fault of a trace: each part of the reader may record one, and the first one stays. */
#include <stdio.h>

#include "trace_reader.h"

bool trace_bad(MemTraceReader *r, const char *what, const char *subject) {
    if (!r->fault.what) {
        r->fault.what = what;
        if (subject) {
            snprintf(r->subject, sizeof(r->subject), "%s", subject);
            r->fault.subject = r->subject;
        }
    }
    return false;
}

MemTraceFault mem_trace_fault(const MemTraceReader *r) { return r->fault; }
