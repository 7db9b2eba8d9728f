/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counters.h"

void memsys_add_counters(MemCounters *sum, const MemCounters *more) {
#define X(field, what) sum->field += more->field;
    MEM_COUNTERS(X)
    MEM_COHERENCE_COUNTERS(X)
    MEM_ERROR_COUNTERS(X)
#undef X
}
