/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer of mem_journal.h. The reader is experiments/testbed/crash/journal.py. */
#include "mem_journal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crc32c.h"
#include "../base/mem_alloc.h"
#include "trace_codec.h"
#include "trace_text.h"

#define BLOCK_HEADER_BYTES 16u /* magic, CRC of the rest, length of the payload, records */

struct MemJournalWriter {
    MemTraceSink sink;
    void *opaque;
    uint8_t *at; /* end of the block so far */
    uint32_t block_records;
    mem_ps last_ps;
    uint8_t block[BLOCK_HEADER_BYTES + MEM_JOURNAL_BLOCK_BYTES_MAX];
};

static void write_header(MemJournalWriter *w, const MemTraceSetup *setup) {
    uint8_t fixed[TRACE_HEADER_BYTES], *at = fixed;
    TraceText *text = mem_calloc(1, sizeof(*text));

    trace_text_setup(text, setup);
    memcpy(at, MEM_JOURNAL_MAGIC, TRACE_MAGIC_BYTES);
    at = trace_put_fixed(at + TRACE_MAGIC_BYTES, MEM_JOURNAL_VERSION, 4);
    at = trace_put_fixed(at, mem_crc32c(0, text->bytes, text->count), 4);
    trace_put_fixed(at, text->count, 4);
    w->sink(w->opaque, fixed, sizeof(fixed));
    w->sink(w->opaque, text->bytes, text->count);
    free(text);
}

static void start_block(MemJournalWriter *w) {
    w->at = w->block + BLOCK_HEADER_BYTES;
    w->block_records = 0;
}

static void finish_block(MemJournalWriter *w) {
    size_t total = (size_t)(w->at - w->block);

    trace_put_fixed(w->block, MEM_JOURNAL_BLOCK_MAGIC, 4);
    trace_put_fixed(w->block + 8, total - BLOCK_HEADER_BYTES, 4);
    trace_put_fixed(w->block + 12, w->block_records, 4);
    trace_put_fixed(w->block + 4, mem_crc32c(0, w->block + 8, total - 8), 4);
    w->sink(w->opaque, w->block, total);
    start_block(w);
}

MemJournalWriter *mem_journal_writer_new(const MemTraceSetup *setup, MemTraceSink sink, void *opaque) {
    MemJournalWriter *w = mem_calloc(1, sizeof(*w));

    assert(setup->device_count <= MEMSYS_MAX_DEVICES);
    w->sink = sink;
    w->opaque = opaque;
    w->last_ps = setup->start_ps;
    write_header(w, setup);
    start_block(w);
    return w;
}

void mem_journal_write(MemJournalWriter *w, const MemJournalRecord *record) {
    assert(record->kind < MEM_JOURNAL_KINDS && record->core < 256 && record->device < MEMSYS_MAX_DEVICES);
    assert(record->dpa % MEMSYS_LINE_BYTES + record->count <= MEMSYS_LINE_BYTES);
    if (w->at + MEM_JOURNAL_RECORD_BYTES + record->count > w->block + sizeof(w->block)) {
        finish_block(w);
    }
    uint8_t *at = w->at;
    at = trace_put_fixed(at, record->kind, 1);
    at = trace_put_fixed(at, record->core, 1);
    at = trace_put_fixed(at, record->device, 1);
    at = trace_put_fixed(at, record->count, 1);
    at = trace_put_fixed(at, record->value, 4);
    at = trace_put_fixed(at, record->dpa, 8);
    at = trace_put_fixed(at, record->pc, 8);
    at = trace_put_fixed(at, record->process, 8);
    at = trace_put_fixed(at, record->at_ps, 8);
    memcpy(at, record->bytes, record->count);
    w->at = at + record->count;
    w->block_records++;
    w->last_ps = record->at_ps;
}

void mem_journal_writer_end(MemJournalWriter *w) {
    mem_journal_write(w, &(MemJournalRecord){.kind = MEM_JOURNAL_END, .at_ps = w->last_ps});
    finish_block(w);
    free(w);
}
