/*
 * The persistence journal, for the parts of the device that know more of it
 * than timed memory does; nothing happens without -object persist-journal.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_PERSIST_JOURNAL_H
#define HW_MEM_PERSIST_JOURNAL_H

#include "hw/mem/memsys/memsys.h"

/* The state of a device line changed: as MemCallbacks. */
void persist_journal_line_state(uint32_t device, uint64_t dpa,
                                MemLineState from, MemLineState to,
                                mem_ps at_ps);

/* The power goes at @at_ps, by a cut or in order; before the model knows. */
void persist_journal_power(mem_ps at_ps, bool cut);

/* Whether there is a journal. */
bool persist_journal_is_on(void);

#endif
