// SPDX-License-Identifier: GPL-2.0-or-later
// A memory system with its media, with round numbers that make closed forms easy to read.
#pragma once

#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <utility>
#include <vector>

extern "C" {
#include "memsys.h"
}

inline constexpr uint64_t kWindow = UINT64_C(1) << 32; // the address at which the device is mapped
inline constexpr uint64_t kLine = MEMSYS_LINE_BYTES;
inline constexpr mem_ps kNs = 1000;
inline constexpr mem_ps kUs = 1000000;

// 1 KiB 2-way L1, 4 KiB 4-way L2, 16 KiB 4-way LLC; a line takes 4 ns on the DRAM channel.
inline MemCpuConfig small_cpu() {
    return {.l1d = {1024, 2, 0},
            .l2 = {4096, 4, 5 * kNs},
            .llc = {16384, 4, 20 * kNs},
            .cores = 1,
            .dram_latency_ps = 80 * kNs,
            .dram_bandwidth = UINT64_C(16000000000),
            .wc_buffers = 4,
            .clwb_keeps_line = true};
}

// 1 MiB behind a 64 KiB fully associative cache; a line takes 2 ns to the host and 4 ns to the device.
inline MemDeviceConfig small_device(bool cache_protected) {
    return {.capacity_bytes = 1 << 20,
            .link_latency_ps = 100 * kNs,
            .link_read_bandwidth = UINT64_C(32000000000),
            .link_write_bandwidth = UINT64_C(16000000000),
            .controller_latency_ps = 30 * kNs,
            .cache_size_bytes = 1 << 16,
            .cache_page_bytes = 4096,
            .cache_ways = 0,
            .cache_latency_ps = 50 * kNs,
            .cache_power_loss_protected = cache_protected,
            .flash_channels = 4,
            .flash_dies = 1,
            .flash_planes = 1,
            .flash_read_ps = 10 * kUs,
            .flash_program_ps = 70 * kUs};
}

struct Transition {
    uint64_t dpa;
    MemLineState from, to;
    mem_ps at_ps;
    bool operator==(const Transition &) const = default;
};

inline void map_window(MemSys *m, uint64_t hpa, uint64_t dpa, uint64_t size, mem_ps now) {
    MemWindow window = {.hpa = hpa, .size_bytes = size, .dpa = dpa, .ways = 1};
    memsys_map_window(m, 0, &window, now);
}

class Rig {
  public:
    explicit Rig(bool cache_protected = true) : Rig(small_cpu(), small_device(cache_protected)) {}
    Rig(const MemCpuConfig &cpu_config, const MemDeviceConfig &device_config)
        : cpu(cpu_config), device(device_config), media(device_config.capacity_bytes) {
        MemCallbacks callbacks = {this, on_dropped, on_shared, on_state, on_power_gone, on_lost};
        MemMedia where = {.base = media.data()};
        m = memsys_new(&cpu, &callbacks);
        memsys_add_device(m, &device, &where);
        map_window(m, kWindow, 0, device.capacity_bytes, 0);
        memsys_set_timed(m, true);
    }
    ~Rig() { // the conservation laws hold after every test
        EXPECT_STREQ(memsys_check_invariants(m), nullptr);
        memsys_free(m);
    }
    Rig(const Rig &) = delete;
    Rig &operator=(const Rig &) = delete;

    // Each function runs an operation on `core`, advances the clock by the stall and returns the stall.
    mem_ps load(uint64_t hpa) { return pass(memsys_load(m, core, hpa, now, &slot)); }
    mem_ps store(uint64_t dpa, uint8_t value) {
        mem_ps stall = pass(memsys_store(m, core, kWindow + dpa, now, &slot));
        std::memset(&media[dpa], value, kLine);
        return stall;
    }
    mem_ps nt_store(uint64_t dpa, uint8_t value, uint32_t size = kLine) {
        mem_ps stall = pass(memsys_nt_store(m, core, kWindow + dpa, size, now));
        std::memset(&media[dpa], value, size);
        return stall;
    }
    mem_ps flush(uint64_t dpa, MemFlushKind kind = MEM_CLWB) {
        return pass(memsys_flush(m, core, kWindow + dpa, kind, now));
    }
    mem_ps fence() { return pass(memsys_fence(m, core, MEM_SFENCE, now)); }
    MemLineState state(uint64_t dpa) const { return memsys_line_state(m, 0, dpa, now); }
    MemLineState state_at(uint64_t dpa, mem_ps at_ps) const { return memsys_line_state(m, 0, dpa, at_ps); }
    MemCounters counters() const { return memsys_counters(m); }

    // Closed forms.
    mem_ps device_look_up() const {
        return device.link_latency_ps + device.controller_latency_ps + device.cache_latency_ps;
    }
    mem_ps hit_ps() const { return cpu.llc.latency_ps + device_look_up() + device.link_latency_ps + 2 * kNs; }
    mem_ps miss_ps() const { return hit_ps() + device.flash_read_ps; }
    // Acceptance of a line that the core sends. A line that the LLC evicts does not pay for the LLC's latency.
    mem_ps accept_ps() const { return cpu.llc.latency_ps + 4 * kNs + device_look_up(); }
    mem_ps fence_ps() const { return accept_ps() + device.link_latency_ps; }

    MemCpuConfig cpu;
    MemDeviceConfig device;
    std::vector<uint8_t> media;
    MemSys *m = nullptr;
    mem_ps now = 0;
    uint32_t slot = 0, core = 0;
    std::vector<uint32_t> dropped, shared;
    std::vector<Transition> transitions;
    std::vector<mem_ps> power_gone;                  // times of the events
    std::vector<std::pair<uint64_t, uint64_t>> lost; // DPA and size

  private:
    mem_ps pass(mem_ps stall) {
        now += stall;
        return stall;
    }
    static void on_dropped(void *opaque, uint32_t, uint32_t slot) {
        static_cast<Rig *>(opaque)->dropped.push_back(slot);
    }
    static void on_shared(void *opaque, uint32_t, uint32_t slot) { static_cast<Rig *>(opaque)->shared.push_back(slot); }
    static void on_state(void *opaque, uint32_t, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps) {
        static_cast<Rig *>(opaque)->transitions.push_back({dpa, from, to, at_ps});
    }
    static void on_lost(void *opaque, uint32_t, uint64_t dpa, uint64_t size_bytes) {
        static_cast<Rig *>(opaque)->lost.push_back({dpa, size_bytes});
    }
    static void on_power_gone(void *opaque, mem_ps at_ps) { static_cast<Rig *>(opaque)->power_gone.push_back(at_ps); }
};
