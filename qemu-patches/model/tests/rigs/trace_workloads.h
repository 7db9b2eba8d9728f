// SPDX-License-Identifier: GPL-2.0-or-later
// Programs with accesses that do not depend on time, and a machine that runs them and can capture a trace.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>

#include "rig.h"
#include "trace_rig.h"

extern "C" {
#include "base/histogram.h"
}

// One CPU with its devices at kWindow. Time passes by computing and by waiting.
class Machine {
  public:
    Machine(const MemCpuConfig &cpu, const std::vector<MemDeviceConfig> &devices, bool capture)
        : ways_(devices.size()) {
        MemCallbacks callbacks = {nullptr, [](void *, uint32_t, uint32_t) {}, nullptr, nullptr, nullptr, nullptr};
        m = memsys_new(&cpu, &callbacks);
        MemTraceSetup setup = {};
        setup.cpu = cpu;
        for (const MemDeviceConfig &device : devices) {
            setup.devices[setup.device_count++] = device;
            memsys_add_device(m, &device, nullptr);
        }
        if (capture) {
            trace_ = mem_trace_writer_new(&setup, append, &trace);
            memsys_set_observer(m, mem_trace_observer(trace_));
        }
        map(devices[0].capacity_bytes);
    }
    ~Machine() { memsys_free(m); }
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;

    void compute(mem_ps span) { now += span; }
    void load(uint64_t hpa) { pass(memsys_load(m, 0, hpa, now, &slot_)); }
    void store(uint64_t hpa) { pass(memsys_store(m, 0, hpa, now, &slot_)); }
    void nt_store(uint64_t hpa, uint32_t size = kLine) { pass(memsys_nt_store(m, 0, hpa, size, now)); }
    void flush(uint64_t hpa, MemFlushKind kind = MEM_CLWB) { pass(memsys_flush(m, 0, hpa, kind, now)); }
    void fence(MemFenceKind kind = MEM_SFENCE) { pass(memsys_fence(m, 0, kind, now)); }
    void wbinvd() { pass(memsys_wbinvd(m, 0, now)); }
    void barrier() { pass(memsys_barrier(m, 0, now)); }

    // In the same order as in the QEMU device.
    void roi_begin(uint64_t roi) {
        memsys_set_timed(m, true);
        memsys_reset_counters(m);
        begin = now;
        if (trace_) {
            mem_trace_roi_begin(trace_, roi, now);
        }
    }
    void roi_end(uint64_t roi) {
        counters = memsys_counters(m);
        for (unsigned cause = 0; cause < MEM_CAUSE_COUNT; cause++) {
            p99[cause] = mem_histogram_percentile_ps(memsys_histogram(m, cause), 990);
        }
        end = now;
        memsys_set_timed(m, false);
        if (trace_) {
            mem_trace_roi_end(trace_, roi, &counters, now);
        }
    }
    void finish() {
        if (trace_) {
            memsys_set_observer(m, nullptr);
            mem_trace_writer_end(trace_, now);
            trace_ = nullptr;
        }
    }

    MemSys *m;
    mem_ps now = 777;
    Bytes trace;
    mem_ps begin = 0, end = 0; // of the last region
    MemCounters counters = {};
    mem_ps p99[MEM_CAUSE_COUNT] = {};

  private:
    void pass(mem_ps stall) { now += stall; }
    void map(uint64_t capacity) {
        MemWindow window = {.hpa = kWindow, .size_bytes = capacity * ways_, .dpa = 0, .ways = uint32_t(ways_)};
        window.granularity_bytes = 256;
        for (uint32_t i = 0; i < ways_; i++) {
            window.devices[i] = i;
        }
        memsys_map_window(m, 0, &window, now);
    }
    size_t ways_;
    MemTraceWriter *trace_ = nullptr;
    uint32_t slot_ = 0;
};

// ---- Programs: `span` bytes of the device, `count` steps ----

inline void sequential(Machine &m, uint64_t span, int count) {
    for (int i = 0; i < count; i++) {
        m.compute(2500);
        m.load(kWindow + uint64_t(i) * kLine % span);
        if (i % 7 == 0) {
            m.load(uint64_t(i) * kLine % (1 << 16)); // local DRAM, too
        }
    }
}

inline void random_loads(Machine &m, uint64_t span, int count) {
    std::mt19937_64 random(1);
    for (int i = 0; i < count; i++) {
        m.compute(250 * (random() % 50));
        uint64_t hpa = kWindow + random() % span;
        random() % 4 ? m.load(hpa) : m.store(hpa);
    }
}

inline void chase(Machine &m, uint64_t span, int count) {
    std::vector<uint32_t> order(span / kLine), next(order.size());
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(2));
    for (size_t i = 0; i < order.size(); i++) {
        next[order[i]] = order[(i + 1) % order.size()];
    }
    uint32_t at = 0;
    for (int i = 0; i < count; i++) {
        m.compute(1250);
        m.load(kWindow + at * kLine);
        at = next[at];
    }
}

// Copies that are made durable page by page, as in a log or a checkpoint.
inline void durable_copy(Machine &m, uint64_t span, int count) {
    for (int i = 0; i < count; i++) {
        uint64_t to = uint64_t(i) * kLine % (span / 2);
        m.compute(3000);
        m.load(kWindow + span / 2 + to);
        m.store(kWindow + to);
        if (i % 3 == 0) {
            m.flush(kWindow + to, i % 2 ? MEM_CLWB : MEM_CLFLUSHOPT);
        }
        if (i % 64 == 63) {
            m.flush(kWindow + to, i % 128 == 63 ? MEM_CLFLUSH : MEM_CLWB);
            m.fence(i % 256 == 63 ? MEM_MFENCE : MEM_SFENCE);
        }
        if (i % 1024 == 1023) {
            m.barrier();
        }
    }
    m.wbinvd();
}

inline void nt_stores(Machine &m, uint64_t span, int count) {
    std::mt19937_64 random(3);
    for (int i = 0; i < count; i++) {
        m.compute(1000);
        uint64_t line = random() % 8 ? uint64_t(i) : random();
        uint64_t hpa = kWindow + line * kLine % span;
        i % 5 ? m.nt_store(hpa) : m.nt_store(hpa + 16, 16);
        if (i % 40 == 0) {
            m.load(hpa);
            m.fence(i % 80 ? MEM_SFENCE : MEM_LFENCE);
        }
    }
    m.fence();
}

// A small KV store: skewed keys, each with a bucket, a chain and a value. Updates are made durable.
inline void zipf(Machine &m, uint64_t span, int count) {
    std::mt19937_64 random(4);
    const uint64_t keys = span / 256;
    for (int i = 0; i < count; i++) {
        double u = double(random() >> 11) * 0x1p-53;
        auto key = uint64_t(std::exp(u * std::log(double(keys)))) * 2654435761u % keys;
        m.compute(12000 + 238 * (key % 5));
        m.load(kWindow + key % 509 * kLine);
        for (uint64_t hop = 0; hop < 2 + key % 3; hop++) {
            m.compute(1190);
            m.load(kWindow + (key * (hop + 3)) % keys * 256);
        }
        m.load(key % 4096 * kLine);
        if (random() % 2) {
            m.store(kWindow + key * 256);
            m.store(kWindow + key * 256 + 64);
            m.compute(700);
            m.flush(kWindow + key * 256);
            m.flush(kWindow + key * 256 + 64);
            m.fence();
        }
    }
}

struct Program {
    const char *name;
    void (*run)(Machine &m, uint64_t span, int count);
};

inline constexpr Program kPrograms[] = {
    {"sequential", sequential},     {"random", random_loads}, {"pointer chase", chase},
    {"durable copy", durable_copy}, {"nt stores", nt_stores}, {"zipf", zipf},
};

// Warm-up outside the region of interest, then the region, then a little more.
inline void run_program(Machine &m, const Program &program, uint64_t span, int count) {
    program.run(m, span, count / 4);
    m.compute(5000000);
    m.roi_begin(1);
    m.compute(999);
    program.run(m, span, count);
    m.compute(12345);
    m.roi_end(1);
    m.compute(1000);
    program.run(m, span, 10);
    m.roi_begin(2);
    program.run(m, span, count / 10);
    m.roi_end(2);
    m.compute(50);
    m.finish();
}
