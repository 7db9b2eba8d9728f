/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reading half of mem_trace.h: the header and the blocks. A block is used only after its checksum was verified. */
#include <stdlib.h>
#include <string.h>

#include "../base/crc32c.h"
#include "../base/mem_alloc.h"
#include "../config/params.h"
#include "../memsys.h"
#include "trace_reader.h"
#include "trace_text.h"

static size_t take(MemTraceReader *r, void *bytes, size_t count) {
    size_t got = r->source(r->opaque, bytes, count);
    r->read_bytes += got;
    return got;
}

/* ---- Header ---- */

static bool check_setup(MemTraceReader *r) {
    const char *fault = memsys_check_cpu(&r->setup.cpu);
    if (!fault && r->setup.cpu.cores != 1) {
        fault = "cpu.cores: a trace says of no operation which core's it is, so it is of one core";
    }

    for (uint32_t i = 0; i < r->setup.device_count && !fault; i++) {
        fault = memsys_check_device(&r->setup.devices[i]);
    }
    if (fault) {
        return trace_bad(r, "was captured with a configuration that is refused now", fault);
    }
    return r->setup.start_ps < COMPUTED_PS_MAX ? true : trace_bad(r, "starts at an impossible time", NULL);
}

static bool parse_setup(MemTraceReader *r, char *text) {
    TraceTextFault fault = {0};
    return trace_parse_setup(text, &r->setup, &fault) ? check_setup(r) : trace_bad(r, fault.what, fault.subject);
}

static bool read_text(MemTraceReader *r, uint32_t count, uint32_t crc) {
    char *text = mem_calloc(count + 1, 1);
    bool good = take(r, text, count) == count ? true : trace_bad(r, "is cut short in its header", NULL);

    if (good && (mem_crc32c(0, text, count) != crc || memchr(text, '\0', count))) {
        good = trace_bad(r, "has a damaged header", NULL);
    }
    good = good && parse_setup(r, text);
    free(text);
    return good;
}

static bool read_header(MemTraceReader *r) {
    uint8_t fixed[TRACE_HEADER_BYTES];
    size_t got = take(r, fixed, sizeof(fixed));

    if (got < TRACE_MAGIC_BYTES || memcmp(fixed, TRACE_MAGIC, TRACE_MAGIC_BYTES) != 0) {
        return trace_bad(r, "is no trace", NULL);
    }
    if (got < sizeof(fixed)) {
        return trace_bad(r, "is cut short in its header", NULL);
    }
    if (trace_get_fixed(fixed + 8, 4) != MEM_TRACE_VERSION) {
        return trace_bad(r, "has another format version than this program reads; capture it again", NULL);
    }
    uint32_t text_bytes = (uint32_t)trace_get_fixed(fixed + 16, 4);
    if (text_bytes > TRACE_TEXT_BYTES_MAX) {
        return trace_bad(r, "has a damaged header", NULL);
    }
    return read_text(r, text_bytes, (uint32_t)trace_get_fixed(fixed + 12, 4));
}

static size_t take_memory(void *opaque, void *bytes, size_t count) {
    Memory *memory = opaque;

    if (count > memory->left) {
        count = memory->left;
    }
    if (count) {
        memcpy(bytes, memory->at, count);
        memory->at += count;
        memory->left -= count;
    }
    return count;
}

static MemTraceReader *start_reader(MemTraceReader *r, MemTraceSetup *setup) {
    r->mask = UINT64_MAX;
    r->at = r->end = r->block;
    mem_params_init(&mem_cpu_params, &r->setup.cpu);
    if (read_header(r)) {
        r->predictor.set_shift = trace_set_shift(&r->setup.cpu.llc);
        r->computed_ps = r->setup.start_ps;
        *setup = r->setup;
    } else {
        *setup = (MemTraceSetup){0};
    }
    return r;
}

MemTraceReader *mem_trace_reader_new(MemTraceSource source, void *opaque, MemTraceSetup *setup) {
    MemTraceReader *r = mem_calloc(1, sizeof(*r));
    r->source = source;
    r->opaque = opaque;
    return start_reader(r, setup);
}

MemTraceReader *mem_trace_reader_of_memory(const void *bytes, size_t count, MemTraceSetup *setup) {
    MemTraceReader *r = mem_calloc(1, sizeof(*r));
    r->memory = (Memory){.at = bytes, .left = count};
    r->source = take_memory;
    r->opaque = &r->memory;
    return start_reader(r, setup);
}

void mem_trace_reader_free(MemTraceReader *r) { free(r); }

/* ---- Blocks ---- */

static bool read_block(MemTraceReader *r) {
    uint8_t *payload = r->block + TRACE_BLOCK_HEADER_BYTES;

    r->fault.offset_bytes = r->read_bytes;
    if (take(r, r->block, TRACE_BLOCK_HEADER_BYTES) < TRACE_BLOCK_HEADER_BYTES) {
        return trace_bad(r, "is cut short: it has no end", NULL);
    }
    uint64_t bytes = trace_get_fixed(r->block + 8, 4);
    if (trace_get_fixed(r->block, 4) != TRACE_BLOCK_MAGIC || bytes > TRACE_BLOCK_BYTES_MAX) {
        return trace_bad(r, "is damaged", NULL);
    }
    if (take(r, payload, bytes) < bytes) {
        return trace_bad(r, "is cut short within a block", NULL);
    }
    uint32_t crc = mem_crc32c(0, r->block + 8, TRACE_BLOCK_HEADER_BYTES - 8 + bytes);
    if (crc != trace_get_fixed(r->block + 4, 4)) {
        return trace_bad(r, "is damaged", NULL);
    }
    r->at = payload;
    r->end = payload + bytes;
    memset(payload + bytes, 0, SLACK_BYTES);
    return true;
}

MemTraceStatus mem_trace_read(MemTraceReader *r, MemTraceOp *ops, size_t room, size_t *count, MemTraceRecord *record) {
    *count = 0;
    while (!r->fault.what && !r->done) {
        bool is_record = false;
        if ((r->at == r->end && !read_block(r)) || !trace_get_ops(r, ops, room, count)) {
            break;
        }
        if (*count == room) {
            return MEM_TRACE_GOT_OPS;
        }
        if (r->at < r->end && trace_get_record(r, record, &is_record) && is_record) {
            return r->done ? MEM_TRACE_DONE : MEM_TRACE_GOT_RECORD;
        }
    }
    return r->fault.what ? MEM_TRACE_BAD : MEM_TRACE_DONE;
}
