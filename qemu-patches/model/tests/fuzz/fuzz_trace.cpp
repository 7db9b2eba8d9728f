// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: bytes as a trace, or as the content of a block with a valid checksum. For any bytes the reader does not
// crash and returns no operation that a memory cannot run. The returned operations read the same when written again.
#include <cstdio>
#include <cstdlib>

#include "../rigs/trace_rig.h"

extern "C" {
#include "replay/replay.h"
#include "trace/trace_codec.h"
}

namespace {

// The same payload after records that map a device and switch to timed mode, so that operations reach the device.
Bytes on_a_device(const uint8_t *payload, size_t size) {
    const uint64_t window[] = {0, 0, 0, 0, 1 << 20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t bytes[256], *at = bytes;
    *at++ = TRACE_FIRST_RECORD + MEM_TRACE_WINDOW;
    for (uint64_t varint : window) {
        at = trace_put_varint(at, varint);
    }
    *at++ = TRACE_FIRST_RECORD + MEM_TRACE_TIMED;
    for (uint64_t varint : {0, 0, 1}) {
        at = trace_put_varint(at, varint);
    }
    Bytes all(bytes, at);
    all.insert(all.end(), payload, payload + size);
    return trace_of(all.data(), all.size());
}

void fail(const char *what) {
    std::fprintf(stderr, "%s\n", what);
    std::abort();
}

// Write the operations that were read, with stalls of 0, and read them back.
void round_trip(const Bytes &trace) {
    MemTraceSetup setup;
    Bytes copy;
    MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &setup);
    MemTraceWriter *w = mem_trace_writer_new(&setup, append, &copy);
    mem_ps now = setup.start_ps;
    std::vector<Item> items;
    std::vector<MemTraceOp> ops(64);
    MemTraceStatus status;

    do {
        size_t count;
        MemTraceRecord record;
        status = mem_trace_read(r, ops.data(), ops.size(), &count, &record);
        for (size_t i = 0; i < count; i++) {
            mem_trace_op(w, &ops[i].op, now += ops[i].gap_ps, 0);
            items.push_back(item_of(ops[i]));
        }
    } while (status == MEM_TRACE_GOT_OPS);
    mem_trace_writer_end(w, now);
    mem_trace_reader_free(r);
    ReadBack back = read_back(copy, 1000);
    if (back.status != MEM_TRACE_DONE || back.items.size() != items.size() + 1 ||
        !std::equal(items.begin(), items.end(), back.items.begin())) {
        fail("what was read is not what is written");
    }
}

void play(const Bytes &trace) {
    MemTraceSetup setup;
    MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &setup);
    if (setup.device_count) {
        ReplayConfig config = {};
        Replay replay;
        uint64_t operations;
        replay_init(&replay, &setup, &config);
        replay_run(r, &replay, 1, &operations);
        if (operations != mem_trace_fault(r).operations) {
            fail("operations were not counted");
        }
        replay_destroy(&replay);
    }
    mem_trace_reader_free(r);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > 1 << 16) {
        return 0;
    }
    Bytes trace = data[0] % 4 == 0 ? Bytes(data + 1, data + size) : trace_of(data + 1, size - 1);
    read_back(trace, 1 + data[0]);
    if (data[0] % 4) {
        round_trip(trace);
        play(trace);
        play(on_a_device(data + 1, size - 1));
    }
    return 0;
}
