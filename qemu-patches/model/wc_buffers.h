/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Write-combining buffers of one CPU. An open buffer gathers the non-temporal
 * stores to one line; a sent one stays occupied until the line has left the host.
 */
#ifndef MODEL_WC_BUFFERS_H
#define MODEL_WC_BUFFERS_H

#include "memsys.h"

#define MEM_NO_BUFFER UINT32_MAX

typedef struct MemWcBuffer {
    uint64_t line;
    uint64_t written; /* one bit per byte */
    uint64_t opened;  /* age: the order in which buffers were opened */
    mem_ps busy_until_ps;
    bool open;
} MemWcBuffer;

typedef struct MemWc {
    MemWcBuffer *buffers;
    uint32_t count;
    uint32_t open_count;
    uint64_t openings;
} MemWc;

void mem_wc_init(MemWc *w, uint32_t count);
void mem_wc_destroy(MemWc *w);

/* The open buffer of a line, the longest open one, one that is free, the sent one that is free first. */
uint32_t mem_wc_find(const MemWc *w, uint64_t line);
uint32_t mem_wc_oldest(const MemWc *w);
uint32_t mem_wc_free(const MemWc *w, mem_ps now_ps);
uint32_t mem_wc_first_sent(const MemWc *w);

void mem_wc_open(MemWc *w, uint32_t buffer, uint64_t line);
/* Add bytes; returns whether the buffer is full now. */
bool mem_wc_fill(MemWc *w, uint32_t buffer, uint32_t offset_bytes, uint32_t size_bytes);
void mem_wc_sent(MemWc *w, uint32_t buffer, mem_ps busy_until_ps);
/* Empty all, whatever they hold. */
void mem_wc_clear(MemWc *w);

#endif
