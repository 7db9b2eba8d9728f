/*
 * The persistence journal, for the parts of the device that know more about
 * persistence than timed memory; without -object persist-journal nothing
 * happens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_PERSIST_JOURNAL_H
#define HW_MEM_PERSIST_JOURNAL_H

#include "hw/mem/memsys/memsys.h"

/* For MemCallbacks: the state of a device line changed. */
void persist_journal_line_state(uint32_t device, uint64_t dpa,
                                MemLineState from, MemLineState to,
                                mem_ps at_ps);

/*
 * The power goes off at @at_ps, cut or in order; called before the model knows.
 */
void persist_journal_power(mem_ps at_ps, bool cut);

/* Whether a journal is recorded. */
bool persist_journal_is_on(void);

#endif
