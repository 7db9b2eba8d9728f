// SPDX-License-Identifier: GPL-2.0-or-later
// Operations decoded and replayed per second of host time. Argument: steps of each program.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "../rigs/trace_workloads.h"

extern "C" {
#include "replay/replay.h"
}

namespace {

double seconds(const std::function<void()> &work) {
    auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

uint64_t decode(const Bytes &trace) {
    MemTraceSetup setup;
    MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &setup);
    std::vector<MemTraceOp> ops(4096);
    MemTraceStatus status;
    uint64_t total = 0;
    do {
        size_t count;
        MemTraceRecord record;
        status = mem_trace_read(r, ops.data(), ops.size(), &count, &record);
        total += count;
    } while (status == MEM_TRACE_GOT_OPS || status == MEM_TRACE_GOT_RECORD);
    mem_trace_reader_free(r);
    return total;
}

void replay(const Bytes &trace, size_t count) {
    MemTraceSetup setup;
    MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &setup);
    ReplayConfig config = {};
    std::vector<Replay> replays(count);
    uint64_t operations;
    for (Replay &one : replays) {
        replay_init(&one, &setup, &config);
    }
    replay_run(r, replays.data(), count, &operations);
    for (Replay &one : replays) {
        replay_destroy(&one);
    }
    mem_trace_reader_free(r);
}

// A host of common size, and a device with a cache for a quarter of the data.
MemTraceSetup machine() {
    MemTraceSetup setup = small_setup();
    setup.cpu.l1d = {32 << 10, 8, 0};
    setup.cpu.l2 = {256 << 10, 16, 5000};
    setup.cpu.llc = {1 << 20, 16, 20000};
    setup.devices[0].capacity_bytes = 64 << 20;
    setup.devices[0].cache_size_bytes = 8 << 20;
    return setup;
}

} // namespace

int main(int argc, char **argv) {
    int steps = argc > 1 ? std::atoi(argv[1]) : 2000000;
    MemTraceSetup setup = machine();

    std::printf("%-14s %10s %8s %12s %12s %12s\n", "program", "M ops", "B/op", "decode M/s", "replay M/s", "8 at once");
    for (const Program &program : kPrograms) {
        Machine m(setup.cpu, {setup.devices[0]}, true);
        run_program(m, program, 32 << 20, steps);
        uint64_t ops = decode(m.trace);
        double million = double(ops) * 1e-6;
        std::printf("%-14s %10.2f %8.2f %12.1f %12.1f %12.1f\n", program.name, million,
                    double(m.trace.size()) / double(ops), million / seconds([&] { decode(m.trace); }),
                    million / seconds([&] { replay(m.trace, 1); }), 8 * million / seconds([&] { replay(m.trace, 8); }));
    }
    return 0;
}
