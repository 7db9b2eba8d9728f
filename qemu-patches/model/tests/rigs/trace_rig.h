// SPDX-License-Identifier: GPL-2.0-or-later
// A trace in memory, and everything that a reader returns for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

extern "C" {
#include "base/crc32c.h"
#include "config/params.h"
#include "trace/mem_trace.h"
}

using Bytes = std::vector<uint8_t>;

inline void append(void *opaque, const void *bytes, size_t count) {
    auto *to = static_cast<Bytes *>(opaque);
    to->insert(to->end(), static_cast<const uint8_t *>(bytes), static_cast<const uint8_t *>(bytes) + count);
}

// An operation or record as read, in one flat type. The kinds of records are numbered from 1000 on.
struct Item {
    uint32_t kind;
    bool with_previous;
    uint64_t line, byte_mask;
    mem_ps gap_ps;
    mem_ps captured_ps;
    uint64_t detail; // digest of a record's fields
    bool operator==(const Item &) const = default;
};

inline Item item_of(const MemTraceOp &t) {
    return {uint32_t(t.op.kind), t.op.with_previous, t.op.line, t.op.byte_mask, t.gap_ps, 0, 0};
}

inline Item item_of(const MemTraceRecord &r) {
    uint64_t detail = r.kind == MEM_TRACE_TIMED         ? r.on
                      : r.kind == MEM_TRACE_ROI         ? r.roi * 2 + r.on + r.counters.cxl_reads
                      : r.kind == MEM_TRACE_WINDOW      ? r.index + r.window.hpa + r.window.size_bytes + r.window.dpa
                      : r.kind == MEM_TRACE_RECONFIGURE ? r.index + r.device.link_latency_ps
                                                        : 0;
    return {1000u + uint32_t(r.kind), false, 0, 0, r.gap_ps, r.captured_ps, detail};
}

struct ReadBack {
    MemTraceSetup setup;
    std::vector<Item> items;
    MemTraceStatus status;
    MemTraceFault fault;
    std::string subject;
};

inline ReadBack read_back(const Bytes &trace, size_t room = 100) {
    ReadBack back = {};
    std::vector<MemTraceOp> ops(room);
    MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &back.setup);
    do {
        size_t count;
        MemTraceRecord record;
        back.status = mem_trace_read(r, ops.data(), room, &count, &record);
        for (size_t i = 0; i < count; i++) {
            back.items.push_back(item_of(ops[i]));
        }
        if (back.status == MEM_TRACE_GOT_RECORD || back.status == MEM_TRACE_DONE) {
            back.items.push_back(item_of(record));
        }
    } while (back.status == MEM_TRACE_GOT_OPS || back.status == MEM_TRACE_GOT_RECORD);
    back.fault = mem_trace_fault(r);
    back.subject = back.fault.subject ? back.fault.subject : "";
    mem_trace_reader_free(r);
    return back;
}

inline MemTraceSetup small_setup() {
    MemTraceSetup setup = {};
    mem_params_init(&mem_cpu_params, &setup.cpu);
    mem_params_init(&mem_device_params, &setup.devices[0]);
    setup.cpu.l1d = {1024, 2, 0};
    setup.cpu.l2 = {4096, 4, 5000};
    setup.cpu.llc = {16384, 4, 20000};
    setup.cpu.dram_latency_ps = 80000;
    setup.cpu.dram_bandwidth = UINT64_C(16000000000);
    setup.cpu.wc_buffers = 4;
    MemDeviceConfig &d = setup.devices[0];
    d.capacity_bytes = 1 << 20;
    d.link_latency_ps = 100000;
    d.link_read_bandwidth = UINT64_C(32000000000);
    d.link_write_bandwidth = UINT64_C(16000000000);
    d.controller_latency_ps = 30000;
    d.cache_size_bytes = 1 << 16;
    d.cache_latency_ps = 50000;
    d.flash_channels = 4;
    d.flash_dies = 1;
    d.flash_planes = 1;
    d.flash_read_ps = 10000000;
    d.flash_program_ps = 70000000;
    setup.devices[1] = d;
    setup.devices[1].link_latency_ps = 200000;
    setup.device_count = 2;
    setup.start_ps = 12345;
    return setup;
}

inline void put(Bytes &to, uint64_t value, int count) {
    for (int i = 0; i < count; i++) {
        to.push_back(uint8_t(value >> 8 * i));
    }
}

// A trace of one block with this payload, without an end record unless the payload contains it.
inline Bytes trace_of(const uint8_t *payload, size_t size) {
    static const MemTraceSetup setup = small_setup();
    static const Bytes header = [] {
        Bytes bytes;
        mem_trace_writer_end(mem_trace_writer_new(&setup, append, &bytes), setup.start_ps);
        size_t text = bytes[16] + bytes[17] * 256u + bytes[18] * 65536u;
        bytes.resize(20 + text);
        return bytes;
    }();
    Bytes checked;
    put(checked, size, 4);
    put(checked, 0, 4);
    put(checked, setup.start_ps, 8);
    checked.insert(checked.end(), payload, payload + size);
    Bytes trace = header;
    put(trace, 0x4b4c4254, 4);
    put(trace, mem_crc32c(0, checked.data(), checked.size()), 4);
    trace.insert(trace.end(), checked.begin(), checked.end());
    return trace;
}
