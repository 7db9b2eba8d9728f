// SPDX-License-Identifier: GPL-2.0-or-later
// Durability: gates (not at t - 1, at t), each path out of the CPU, and a power cut in each state.
#include <gtest/gtest.h>

#include "../rigs/rig.h"

static void expect_gate(const Rig &r, uint64_t dpa, MemLineState before, MemLineState after, mem_ps at_ps) {
    EXPECT_EQ(r.state_at(dpa, at_ps - 1), before) << "just before " << at_ps;
    EXPECT_EQ(r.state_at(dpa, at_ps), after) << "at " << at_ps;
}

// A line holds a durable 1, and `act` writes 2. Returns the byte that a power cut `after_ps` later leaves.
template <class Act> static int survivor(bool cache_protected, Act act, mem_ps after_ps) {
    Rig r(cache_protected);
    memsys_set_timed(r.m, false);
    r.store(0, 1);
    memsys_power_off(r.m, r.now);
    memsys_set_timed(r.m, true);
    r.load(kWindow);
    act(r);
    memsys_power_cut(r.m, r.now + after_ps);
    EXPECT_EQ(memsys_check_invariants(r.m), nullptr);
    return r.media[0];
}

TEST(Gate, ProtectedCacheIsDurableOnAcceptance) {
    Rig r;
    r.store(0, 1);
    EXPECT_EQ(r.state(0), MEM_LINE_CPU_DIRTY);
    r.flush(0);
    expect_gate(r, 0, MEM_LINE_IN_FLIGHT, MEM_LINE_DURABLE, r.now + r.accept_ps());
}

TEST(Gate, FullWcBufferLeavesWhenItIsFilled) {
    Rig r;
    r.load(kWindow);
    r.nt_store(0, 1, 32);
    EXPECT_EQ(r.state(0), MEM_LINE_CPU_DIRTY);
    r.nt_store(32, 1, 32);
    expect_gate(r, 0, MEM_LINE_IN_FLIGHT, MEM_LINE_DURABLE, r.now + r.accept_ps());
}

TEST(Gate, UnprotectedCacheIsDurableWhenThePageIsProgrammed) {
    MemDeviceConfig device = small_device(false);
    device.cache_size_bytes = 4096; // one frame
    Rig r(small_cpu(), device);
    r.store(0, 1);
    r.flush(0);
    expect_gate(r, 0, MEM_LINE_IN_FLIGHT, MEM_LINE_DEVICE_CACHE, r.now + r.accept_ps());
    r.fence();
    EXPECT_EQ(r.state_at(0, UINT64_MAX - 1), MEM_LINE_DEVICE_CACHE);
    mem_ps evicted = r.now + r.cpu.llc.latency_ps + r.device_look_up();
    r.load(kWindow + 4096);
    expect_gate(r, 0, MEM_LINE_DEVICE_CACHE, MEM_LINE_PROGRAMMING, evicted);
    expect_gate(r, 0, MEM_LINE_PROGRAMMING, MEM_LINE_DURABLE, evicted + device.flash_program_ps);
    r.now = evicted + device.flash_program_ps;
    r.fence();
    std::vector<Transition> last(r.transitions.end() - 2, r.transitions.end());
    EXPECT_EQ(last[0], (Transition{0, MEM_LINE_DEVICE_CACHE, MEM_LINE_PROGRAMMING, evicted}));
    EXPECT_EQ(last[1], (Transition{0, MEM_LINE_PROGRAMMING, MEM_LINE_DURABLE, r.now}));
}

// Two devices were written. One has a cache that loses accepted lines. Each device reports its own shutdown state.
TEST(PowerCut, OneDevicesDirtyShutdownIsNotTheOthers) {
    MemCpuConfig cpu = small_cpu();
    MemDeviceConfig configs[] = {small_device(false), small_device(true)};
    std::vector<uint8_t> media(2 * configs[0].capacity_bytes);
    MemCallbacks callbacks = {};
    callbacks.l1_slot_dropped = [](void *, uint32_t, uint32_t) {};
    MemSys *m = memsys_new(&cpu, &callbacks);
    for (uint32_t i = 0; i < 2; i++) {
        MemMedia where = {.base = media.data() + i * configs[0].capacity_bytes};
        MemWindow window = {
            .hpa = (i + 1) * kWindow, .size_bytes = configs[i].capacity_bytes, .ways = 1, .devices = {i}};
        memsys_add_device(m, &configs[i], &where);
        memsys_map_window(m, i, &window, 0);
    }
    uint32_t slot;
    for (uint64_t hpa : {kWindow, 2 * kWindow}) {
        memsys_store(m, 0, hpa, 0, &slot);
        media[hpa / kWindow - 1 ? configs[0].capacity_bytes : 0] = 1;
        memsys_flush(m, 0, hpa, MEM_CLWB, 0);
    }
    EXPECT_TRUE(memsys_power_cut(m, kUs).dirty_shutdown);
    EXPECT_TRUE(memsys_device_power_cut(m, 0).dirty_shutdown);
    EXPECT_EQ(memsys_device_power_cut(m, 0).lines_lost, 1u);
    EXPECT_FALSE(memsys_device_power_cut(m, 1).dirty_shutdown);
    EXPECT_EQ(memsys_device_power_cut(m, 1).lines_lost, 0u);
    EXPECT_FALSE(memsys_power_cut(m, 2 * kUs).dirty_shutdown);
    EXPECT_FALSE(memsys_device_power_cut(m, 0).dirty_shutdown) << "of the last one";
    memsys_free(m);
}

TEST(PowerCut, RestoresWhatWasDurableInEachState) {
    Rig r;
    mem_ps accept = r.accept_ps();
    auto store = [](Rig &rig) { rig.store(0, 2); };
    auto clwb = [](Rig &rig) { rig.store(0, 2), rig.flush(0); };
    auto nt = [](Rig &rig) { rig.nt_store(0, 2); };
    auto part = [](Rig &rig) { rig.nt_store(0, 2, 8); };
    auto part_fenced = [](Rig &rig) { rig.nt_store(0, 2, 8), rig.fence(); };
    EXPECT_EQ(survivor(true, store, kUs), 1);
    EXPECT_EQ(survivor(true, clwb, accept - 1), 1);
    EXPECT_EQ(survivor(true, clwb, accept), 2);
    EXPECT_EQ(survivor(true, nt, accept - 1), 1);
    EXPECT_EQ(survivor(true, nt, accept), 2);
    EXPECT_EQ(survivor(true, part, kUs), 1);
    EXPECT_EQ(survivor(true, part_fenced, 0), 2);
    EXPECT_EQ(survivor(false, clwb, kUs), 1);
}

TEST(PowerCut, RedirtiedLineFallsBackToTheNewestVersionAccepted) {
    auto twice = [](Rig &r) {
        r.store(0, 2);
        r.flush(0); // version 2 leaves now
        r.now += 10 * kNs;
        r.store(0, 3);
        r.flush(0); // version 3, 10 ns later
        r.store(0, 4);
    };
    mem_ps first = Rig().accept_ps() - 10 * kNs;
    EXPECT_EQ(survivor(true, twice, first - 1), 1);
    EXPECT_EQ(survivor(true, twice, first), 2);
    EXPECT_EQ(survivor(true, twice, first + 10 * kNs - 1), 2);
    EXPECT_EQ(survivor(true, twice, first + 10 * kNs), 3);
}

TEST(PowerCut, CountsLinesThatLostBytesAndStartsClean) {
    Rig r;
    r.store(0, 1);
    r.store(64, 0); // the same bytes as before
    r.nt_store(128, 5, 16);
    EXPECT_EQ(memsys_power_cut(r.m, r.now).lines_lost, 2u);
    EXPECT_EQ(memsys_power_cut(r.m, r.now).lines_lost, 0u);
    EXPECT_EQ(r.media[0], 0);
    EXPECT_EQ(r.state(0), MEM_LINE_DURABLE);
    EXPECT_EQ(r.load(kWindow), r.hit_ps()); // the protected device cache kept its page; the CPU caches are empty
}

TEST(PowerCut, UnprotectedDeviceCacheIsEmptyAfterwards) {
    Rig r(false);
    r.load(kWindow);
    memsys_power_cut(r.m, r.now);
    EXPECT_EQ(r.load(kWindow), r.miss_ps());
}

TEST(PowerCut, ComesRightAfterTheEventAskedFor) {
    // Each line leaves the CPU when it is flushed and is durable when it is accepted: two events per line.
    for (uint64_t n = 1; n <= 6; n++) {
        MemDeviceConfig adr = small_device(true);
        adr.persist_domain = MEM_DOMAIN_ADR;
        Rig r(small_cpu(), adr);
        memsys_cut_after(r.m, n);
        mem_ps flushed_ps[3];
        for (uint64_t i = 0; i < 3; i++) {
            r.store(i * 4096, 7);
            flushed_ps[i] = r.now;
            r.flush(i * 4096);
            r.fence();
        }
        r.fence();
        ASSERT_EQ(memsys_persistence_events(r.m), n);
        ASSERT_EQ(r.power_gone.size(), 1u) << "told once";
        if (n % 2) {
            EXPECT_EQ(r.power_gone[0], flushed_ps[n / 2]);
        } else {
            EXPECT_GT(r.power_gone[0], flushed_ps[n / 2 - 1]);
        }
        memsys_power_cut(r.m, r.now);
        for (uint64_t i = 0; i < 3; i++) {
            EXPECT_EQ(r.media[i * 4096], i < (n + 1) / 2 ? 7 : 0) << n << ": what was sent arrives";
        }
        r.store(0, 9); // power is back
        r.flush(0);
        r.fence();
        EXPECT_EQ(r.power_gone.size(), 1u);
    }
}

TEST(PowerOff, KeepsEverything) {
    for (bool cache_protected : {false, true}) {
        Rig r(cache_protected);
        r.store(0, 1);
        r.nt_store(64, 2, 8);
        memsys_power_off(r.m, r.now);
        EXPECT_EQ(r.state(0), MEM_LINE_DURABLE);
        EXPECT_EQ(memsys_power_cut(r.m, r.now).lines_lost, 0u);
        EXPECT_EQ(r.media[0], 1);
        EXPECT_EQ(r.media[64], 2);
        EXPECT_EQ(memsys_check_invariants(r.m), nullptr);
    }
}

TEST(Flush, ClwbKeepsTheLineAndTheOthersDropIt) {
    for (MemFlushKind kind : {MEM_CLWB, MEM_CLFLUSHOPT, MEM_CLFLUSH}) {
        Rig r;
        r.store(0, 1);
        mem_ps stall = r.flush(0, kind);
        EXPECT_EQ(stall, kind == MEM_CLFLUSH ? r.fence_ps() : 0);
        EXPECT_EQ(r.fence(), kind == MEM_CLFLUSH ? 0 : r.fence_ps());
        EXPECT_EQ(r.load(kWindow), kind == MEM_CLWB ? 0 : r.hit_ps());
        EXPECT_EQ(r.counters().cxl_writes, 1u);
        EXPECT_EQ(r.counters().flushes, 1u);
    }
}

TEST(Flush, CleanLineSendsNothing) {
    Rig r;
    r.load(kWindow);
    for (MemFlushKind kind : {MEM_CLWB, MEM_CLFLUSH, MEM_CLFLUSH}) {
        EXPECT_EQ(r.flush(0, kind), 0u);
    }
    EXPECT_EQ(r.fence(), 0u);
    EXPECT_EQ(r.counters().cxl_writes, 0u);
}

TEST(Flush, SendsTheWcBufferOfItsLine) {
    Rig r;
    r.load(kWindow);
    r.nt_store(0, 1, 8);
    r.flush(0);
    EXPECT_EQ(r.state(0), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(r.fence(), r.fence_ps());
}

// Write dirty lines of one LLC set until line 0 is evicted. No flush or fence orders that write-back.
static void push_out_line_0(Rig &r) {
    r.store(0, 1);
    for (uint64_t i = 1; r.state(0) == MEM_LINE_CPU_DIRTY && i < 64; i++) {
        r.store(i * 4096, 1);
    }
    EXPECT_EQ(r.state_at(0, r.now), MEM_LINE_DURABLE);
}

TEST(Fence, DoesNotWaitForAnEvictionUntilItsLineIsFlushed) {
    MemCpuConfig cpu = small_cpu();
    MemDeviceConfig device = small_device(true);
    device.capacity_bytes = device.cache_size_bytes = 1 << 18; // every page stays in the device cache
    device.link_write_bandwidth = 1000000;                     // 64 us a line: slower than a miss
    Rig r(cpu, device);
    r.store(0, 1);
    for (uint64_t i = 1; r.state(0) == MEM_LINE_CPU_DIRTY && i < 64; i++) {
        r.store(i * 4096, 1);
    }
    ASSERT_EQ(r.state(0), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(r.fence(), 0u);
    mem_ps accepted = r.now;
    while (r.state_at(0, accepted) == MEM_LINE_IN_FLIGHT) {
        accepted += kNs;
    }
    r.flush(0); // the line is clean, but the flush promises its bytes
    mem_ps stall = r.fence();
    EXPECT_NEAR(double(stall), double(accepted - r.now + stall + device.link_latency_ps), double(kNs));
    EXPECT_EQ(r.state(0), MEM_LINE_DURABLE);
    EXPECT_EQ(r.counters().cxl_writes, 1u);
}

TEST(Fence, EvictedLineBecomesDurableWithoutOne) {
    Rig r;
    push_out_line_0(r);
    EXPECT_GE(r.counters().cxl_writes, 1u);
}

TEST(Fence, DramWritesAreWaitedForToo) {
    Rig r;
    uint32_t slot;
    r.now += memsys_store(r.m, 0, 0, r.now, &slot);
    r.now += memsys_flush(r.m, 0, 0, MEM_CLWB, r.now);
    EXPECT_EQ(r.fence(), r.cpu.llc.latency_ps + 4 * kNs);
    EXPECT_EQ(r.counters().dram_writes, 1u);
}

TEST(Wc, AnyOtherAccessToTheLineSendsItsBuffer) {
    Rig r;
    r.load(kWindow);
    r.nt_store(0, 1, 8);
    EXPECT_EQ(r.load(kWindow), r.hit_ps());
    EXPECT_EQ(r.counters().cxl_writes, 1u);
    r.nt_store(0, 1, 8); // the line leaves the caches again
    EXPECT_EQ(r.store(0, 3), r.hit_ps());
    EXPECT_EQ(r.counters().cxl_writes, 2u);
}

TEST(Wc, OldestBufferGoesWhenAllAreOpen) {
    Rig r; // 4 buffers
    r.load(kWindow);
    for (uint64_t line = 0; line < 4; line++) {
        r.nt_store(line * 64, 1, 8);
    }
    EXPECT_EQ(r.counters().cxl_writes, 0u);
    mem_ps sent = r.now;
    EXPECT_EQ(r.nt_store(4 * 64, 1, 8), r.cpu.llc.latency_ps + 4 * kNs); // until the link has taken line 0
    EXPECT_EQ(r.counters().cxl_writes, 1u);
    EXPECT_EQ(r.state_at(0, sent + r.accept_ps() - 1), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(r.state_at(0, sent + r.accept_ps()), MEM_LINE_DURABLE);
    EXPECT_EQ(r.state(64), MEM_LINE_CPU_DIRTY);
    EXPECT_EQ(r.counters().stall_fence_ps, r.cpu.llc.latency_ps + 4 * kNs);
}

TEST(Wc, DirtyCachedLineIsWrittenBackFirst) {
    Rig r;
    r.store(0, 2);
    r.nt_store(0, 3, 8);
    EXPECT_EQ(r.counters().cxl_writes, 1u);
    memsys_power_cut(r.m, r.now + r.accept_ps());
    EXPECT_EQ(r.media[0], 2);
    EXPECT_EQ(r.media[8], 2);
}

TEST(Window, ChangingItWritesTheLinesBack) {
    Rig r;
    r.store(0, 7);
    map_window(r.m, kWindow, 0, r.device.capacity_bytes, r.now); // no change
    EXPECT_EQ(r.state(0), MEM_LINE_CPU_DIRTY);
    map_window(r.m, 0, 0, 0, r.now);
    EXPECT_EQ(r.state(0), MEM_LINE_IN_FLIGHT);
    r.now += kUs;
    EXPECT_EQ(r.load(kWindow), 104 * kNs); // local DRAM now
    EXPECT_EQ(memsys_power_cut(r.m, r.now).lines_lost, 0u);
    EXPECT_EQ(r.media[0], 7);
}

TEST(Window, MapsToAnOffsetInTheDevice) {
    Rig r;
    map_window(r.m, kWindow, 8192, 4096, r.now);
    uint32_t slot;
    r.now += memsys_store(r.m, 0, kWindow + 64, r.now, &slot);
    EXPECT_EQ(r.state(8192 + 64), MEM_LINE_CPU_DIRTY);
    EXPECT_EQ(r.load(kWindow + 4096), 104 * kNs);
}

TEST(Wbinvd, WritesBackDropsAndWaits) {
    Rig r;
    r.store(0, 1);
    r.store(64, 1);
    r.nt_store(128, 1, 8);
    mem_ps start = r.now;
    r.now += memsys_wbinvd(r.m, 0, r.now);
    EXPECT_EQ(r.now - start, r.fence_ps() + 2 * 4 * kNs);
    for (uint64_t dpa : {0, 64, 128}) {
        EXPECT_EQ(r.state(dpa), MEM_LINE_DURABLE);
    }
    EXPECT_EQ(r.load(kWindow), r.hit_ps());
}

TEST(Records, ManyDirtyLinesGrowTheTables) {
    Rig r(false);
    memsys_set_timed(r.m, false);
    for (uint64_t dpa = 0; dpa < r.device.capacity_bytes; dpa += 64) {
        r.store(dpa, 9);
    }
    EXPECT_EQ(memsys_check_invariants(r.m), nullptr);
    memsys_power_off(r.m, r.now);
    EXPECT_EQ(memsys_check_invariants(r.m), nullptr);
}
