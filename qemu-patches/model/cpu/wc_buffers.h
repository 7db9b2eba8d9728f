/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open write-combining buffers of one CPU. Each gathers the non-temporal stores
 * to one line. The core (core.h) keeps the time at which a sent buffer is free
 * again.
 */
#ifndef MODEL_WC_BUFFERS_H
#define MODEL_WC_BUFFERS_H

#include "../base/units.h"

#define MEM_NO_BUFFER UINT32_MAX

typedef struct MemWcBuffer {
    uint64_t line;
    uint64_t written; /* one bit per byte */
    uint64_t opened;  /* age: the order in which buffers were opened */
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

/* The open buffer of a line, or the buffer open longest; else MEM_NO_BUFFER. */
uint32_t mem_wc_find(const MemWc *w, uint64_t line);
uint32_t mem_wc_oldest(const MemWc *w);

/* Open a buffer for a line. At least one buffer must not be open. */
uint32_t mem_wc_open(MemWc *w, uint64_t line);
/* Add bytes; returns whether the buffer is now full. */
bool mem_wc_fill(MemWc *w, uint32_t buffer, uint32_t offset_bytes, uint32_t size_bytes);
void mem_wc_sent(MemWc *w, uint32_t buffer);
/* Discard the contents of all buffers. */
void mem_wc_clear(MemWc *w);

#endif
