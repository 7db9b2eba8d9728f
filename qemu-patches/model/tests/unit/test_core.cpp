// SPDX-License-Identifier: GPL-2.0-or-later
// Overlap of accesses: store buffer, fill buffers, the window, the prefetcher. Closed forms on the rig's numbers.
#include <gtest/gtest.h>

#include <memory>

#include "../rigs/rig.h"

extern "C" {
#include "front.h"
}

namespace {

constexpr mem_ps kDram = 104 * kNs;   // a load from local DRAM: 20 look-up, 4 channel, 80 latency
constexpr mem_ps kTransfer = 4 * kNs; // a line on the DRAM channel
constexpr mem_ps kStep = 1 * kNs;     // computing between accesses

MemCpuConfig core_cpu() {
    MemCpuConfig cpu = small_cpu();
    cpu.fill_buffers = 4;
    cpu.store_buffer = 3;
    cpu.overlap = MEM_OVERLAP_STREAMS;
    cpu.overlap_window_ps = 50 * kNs;
    cpu.prefetch_buffers = 4;
    cpu.prefetch_distance = 8;
    cpu.prefetch_degree = 2;
    return cpu;
}

// Loads the first two lines of a page. Returns the address of the third: its miss makes the stream recognised.
mem_ps warm_stream(Rig &r, uint64_t page) {
    for (uint64_t line = 0; line < 2; line++) {
        EXPECT_EQ(r.load(page + line * kLine), kDram);
        r.now += kStep;
    }
    return page + 2 * kLine;
}

} // namespace

TEST(Core, AStoreIsPostedAndAFenceWaitsForItsLine) {
    Rig r(core_cpu(), small_device(true));
    EXPECT_EQ(r.store(0, 1), 0u);
    r.now += 10 * kNs;
    EXPECT_EQ(r.fence(), r.miss_ps() - 10 * kNs);
}

TEST(Core, TheStoreBufferHoldsItsStoresAndNotOneMore) {
    Rig r(core_cpu(), small_device(true));
    uint32_t slot;
    for (uint64_t i = 0; i < 3; i++) {
        EXPECT_EQ(memsys_store(r.m, 0, i * 4096, r.now, &slot), 0u);
    }
    EXPECT_EQ(memsys_store(r.m, 0, 3 * 4096, r.now, &slot), kDram); // until the first store has its line
    EXPECT_EQ(r.counters().stall_store_ps, kDram);
}

TEST(Core, StoresCommitInOrder) {
    Rig r(core_cpu(), small_device(true));
    uint32_t slot;
    EXPECT_EQ(r.store(0, 1), 0u);                            // from flash
    EXPECT_EQ(memsys_store(r.m, 0, 0, r.now, &slot), 0u);    // from DRAM: arrives earlier, commits later
    EXPECT_EQ(memsys_store(r.m, 0, 4096, r.now, &slot), 0u); // fills the buffer
    EXPECT_EQ(memsys_store(r.m, 0, 8192, r.now, &slot),
              r.miss_ps()); // the buffer is full until the first store commits
}

TEST(Core, AFlushFollowsTheStoreItFlushes) {
    Rig r(core_cpu(), small_device(true));
    r.load(kWindow + 64); // the page is in the device cache
    mem_ps before = r.now;
    EXPECT_EQ(r.store(0, 1), 0u);
    EXPECT_EQ(r.flush(0), 0u);
    EXPECT_EQ(r.fence(), r.hit_ps() + r.fence_ps());
    EXPECT_EQ(r.state_at(0, before + r.hit_ps() + r.accept_ps() - 1), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(r.state_at(0, before + r.hit_ps() + r.accept_ps()), MEM_LINE_DURABLE);
}

TEST(Core, ALoneMissBlocksAndAStreamsDoesNot) {
    Rig r(core_cpu(), small_device(true));
    uint64_t next = warm_stream(r, 1 << 16);
    EXPECT_EQ(r.load(next), 0u); // the stream is recognised: the core continues
    EXPECT_EQ(r.counters().stream_loads, 1u);
    EXPECT_EQ(r.load(1 << 20), kDram + kTransfer); // another page: blocks, behind the first load on the channel
}

TEST(Core, TheWindowEndsTheOverlap) {
    Rig r(core_cpu(), small_device(true));
    uint64_t next = warm_stream(r, 1 << 16);
    EXPECT_EQ(r.load(next), 0u);
    r.now += 50 * kNs; // the window is just full
    EXPECT_EQ(memsys_fence(r.m, 0, MEM_LFENCE, r.now), kDram - 50 * kNs);
    r.now += kDram - 50 * kNs;
    EXPECT_EQ(r.load(next + kLine), 0u);
    r.now += 51 * kNs; // 1 ns beyond the window: the core had to wait before it
    EXPECT_EQ(r.load(1 << 22), (kDram - 50 * kNs) + kDram);
    EXPECT_EQ(r.counters().stall_overlap_ps, kDram - 50 * kNs);
}

TEST(Core, FillBuffersBoundWhatIsUnderWay) {
    MemCpuConfig cpu = core_cpu();
    cpu.overlap = MEM_OVERLAP_ALL;
    cpu.overlap_window_ps = 1000 * kNs;
    Rig r(cpu, small_device(true));
    for (uint64_t i = 0; i < 4; i++) {
        EXPECT_EQ(r.load(i * 4096), 0u);
    }
    EXPECT_EQ(r.load(4 * 4096), kDram); // the fifth waits for the first
}

// One CPU that stands for 16 cores, each with ten fill buffers and 16 entries for the prefetches of its L2.
TEST(Core, ManyCoresWorthOfLoadsAreUnderWay) {
    MemCpuConfig cpu = core_cpu();
    cpu.fill_buffers = 16 * 26;
    cpu.overlap = MEM_OVERLAP_ALL;
    cpu.overlap_window_ps = 100 * kUs;
    cpu.dram_latency_ps = 780 * kNs - 1;
    cpu.dram_bandwidth = UINT64_C(64000000000000); // 1 ps a line
    Rig r(cpu, small_device(true));
    for (uint64_t i = 0; i < 11 * cpu.fill_buffers; i++) {
        r.load(i * 4096);
    }
    EXPECT_NEAR(double(r.now), 10.0 * 800 * kNs, kNs) << "the eleventh round leaves as the tenth is there";
}

TEST(Core, OverlappedLoadsReachTheBandwidthOfTheirBuffers) {
    MemCpuConfig cpu = core_cpu();
    cpu.overlap = MEM_OVERLAP_ALL;
    cpu.overlap_window_ps = 1000 * kNs;
    Rig r(cpu, small_device(true));
    constexpr uint64_t kLoads = 1000;
    for (uint64_t i = 0; i < kLoads; i++) {
        r.load(i * 4096);
    }
    mem_ps expected = kLoads / 4 * kDram;
    std::printf("expected %lu ps, measured %lu ps, deviation %.3f %%\n", (unsigned long)expected, (unsigned long)r.now,
                100.0 * (double(r.now) / double(expected) - 1));
    EXPECT_NEAR(double(r.now), double(expected), 0.02 * double(expected));
}

TEST(Prefetcher, RunsAheadOfARecognisedStreamWithinItsPage) {
    MemCpuConfig cpu = core_cpu();
    cpu.prefetch_streams = 4;
    Rig r(cpu, small_device(true));
    uint64_t next = warm_stream(r, 1 << 16);
    r.load(next); // recognised: asks for two lines
    EXPECT_EQ(r.counters().prefetches, 2u);
    mem_ps stall = 0;
    for (uint64_t line = 3; line < 64; line++) {
        r.now += 40 * kNs;
        stall += r.load((1 << 16) + line * kLine);
    }
    EXPECT_EQ(stall, kDram - r.cpu.overlap_window_ps); // for the miss above; all later lines arrived in time
    MemCounters n = r.counters();
    EXPECT_EQ(n.prefetches, 61u); // the rest of the page, and no line beyond it
    EXPECT_EQ(n.prefetches_used, 61u);
    EXPECT_EQ(memsys_check_invariants(r.m), nullptr);
}

TEST(Prefetcher, ALineThatIsNotThereYetIsWaitedFor) {
    MemCpuConfig cpu = core_cpu();
    cpu.prefetch_streams = 4;
    cpu.overlap = MEM_OVERLAP_NONE;
    Rig r(cpu, small_device(true));
    uint64_t next = warm_stream(r, 1 << 16);
    mem_ps asked = r.now;
    r.load(next); // blocks for kDram; the next two lines follow it on the channel
    EXPECT_EQ(r.now - asked, kDram);
    EXPECT_EQ(r.load(next + kLine), kTransfer + r.cpu.l2.latency_ps);
}

// L2 has 16 sets and the LLC 64: these stores evict the prefetched line from L2 only.
TEST(Prefetcher, ALineThatL2HasDroppedIsWaitedForInTheLlc) {
    MemCpuConfig cpu = core_cpu();
    cpu.prefetch_streams = 4;
    cpu.overlap = MEM_OVERLAP_NONE;
    cpu.fill_buffers = cpu.store_buffer = 8;
    cpu.prefetch_buffers = 1;
    Rig r(cpu, small_device(true));
    uint64_t next = warm_stream(r, 1 << 16);
    r.load(next); // prefetches two lines; the second is sent when the first has arrived
    uint64_t wanted = next + 2 * kLine;
    uint32_t slot;
    for (uint64_t i = 1; i <= 5; i++) {
        EXPECT_EQ(memsys_store(r.m, 0, wanted + (1 << 17) + 16 * kLine + i * 4096, r.now, &slot), 0u);
    }
    EXPECT_GE(r.load(wanted), kDram);
    MemCounters n = r.counters();
    EXPECT_EQ(n.prefetches_used, 1u);
    EXPECT_EQ(n.llc_misses, 3u + 5u);
}

TEST(Prefetcher, AStreamGoesOnAtTheEdgeOfAnotherPage) {
    Rig r(core_cpu(), small_device(true));
    for (uint64_t line = 60; line < 64; line++) {
        r.load((1 << 16) + line * kLine);
    }
    r.now += memsys_fence(r.m, 0, MEM_LFENCE, r.now);
    EXPECT_EQ(r.load(1 << 20), 0u); // the first line of any other page continues the stream
    r.now += memsys_fence(r.m, 0, MEM_LFENCE, r.now);
    EXPECT_EQ(r.load(1 << 21), kDram); // only one page can continue it
}

TEST(Prefetcher, DescendingAndStridedStreamsAreFollowedAndLongStridesAreNot) {
    for (auto [stride, independent] :
         {std::pair{-1, true}, {2, true}, {4, true}, {-4, true}, {5, false}, {-5, false}}) {
        Rig r(core_cpu(), small_device(true));
        int64_t line = 32;
        for (int i = 0; i < 5; i++, line += stride) {
            r.load((1 << 16) + uint64_t(line) * kLine);
            r.now += 500 * kNs;
        }
        EXPECT_EQ(r.counters().stream_loads, independent ? 3u : 0u) << stride;
    }
}

// The front issues the same operations regardless of time: a prefetch waits for a buffer and is not dropped.
TEST(Prefetcher, WhatIsAskedDoesNotDependOnTime) {
    MemCounters counters[2];
    for (int slow = 0; slow < 2; slow++) {
        MemCpuConfig cpu = core_cpu();
        cpu.prefetch_streams = 2;
        cpu.dram_latency_ps = slow ? 5000 * kNs : 0;
        Rig r(cpu, small_device(true));
        for (uint64_t i = 0; i < 4000; i++) {
            uint64_t page = i / 64 % 7;
            r.load((i % 3 ? 0 : kWindow) + page * 4096 + i % 64 * kLine);
            r.now += i % 5 * kNs;
        }
        memsys_set_timed(r.m, false); // sends the prefetches that still wait for a buffer
        counters[slow] = r.counters();
    }
    EXPECT_EQ(counters[0].prefetches, counters[1].prefetches);
    EXPECT_EQ(counters[0].prefetches_used, counters[1].prefetches_used);
    EXPECT_EQ(counters[0].dram_reads, counters[1].dram_reads);
    EXPECT_EQ(counters[0].cxl_reads, counters[1].cxl_reads);
    EXPECT_GT(counters[0].prefetches_used, 100u);
}

TEST(Core, PauseTakesItsTimeInARegionOrNot) {
    MemCpuConfig cpu = core_cpu();
    cpu.pause_ps = 66667;
    Rig r(cpu, small_device(true));
    EXPECT_EQ(memsys_pause(r.m, 0), 66667u);
    memsys_set_timed(r.m, false);
    EXPECT_EQ(memsys_pause(r.m, 0), 66667u);
    cpu.pause_ps = 1000000 * kUs + 1;
    EXPECT_STREQ(memsys_check_cpu(&cpu), "pause_ps must not exceed 1 s");
}

TEST(Fences, EachWaitsForWhatItsNameSays) {
    auto stall = [](MemFenceKind kind) {
        Rig r(core_cpu(), small_device(true));
        uint32_t slot;
        r.load(kWindow); // the page is in the device cache
        uint64_t next = warm_stream(r, 1 << 16);
        EXPECT_EQ(memsys_store(r.m, 0, kWindow, r.now, &slot), 0u); // a hit in L1
        r.flush(0);
        EXPECT_EQ(memsys_store(r.m, 0, 1 << 20, r.now, &slot), 0u);
        EXPECT_EQ(r.load(next), 0u);
        return memsys_fence(r.m, 0, kind, r.now);
    };
    EXPECT_EQ(stall(MEM_LFENCE), kDram + kTransfer); // waits for the load, behind the store's line on the channel
    EXPECT_EQ(stall(MEM_SERIALIZE), kDram + kTransfer);
    Rig r;
    EXPECT_EQ(stall(MEM_SFENCE), r.fence_ps()); // waits for the flush
    EXPECT_EQ(stall(MEM_MFENCE), r.fence_ps());
}

TEST(Fences, AnInstructionThatSerialisesWaitsAndThenTakesItsTime) {
    MemCpuConfig cpu = core_cpu();
    cpu.cpuid_ps = 83 * kNs;
    cpu.rdmsr_ps = 19 * kNs;
    cpu.wrmsr_ps = 59 * kNs;
    auto stall = [&](MemInsn insn) {
        Rig r(cpu, small_device(true));
        uint32_t slot;
        EXPECT_EQ(memsys_store(r.m, 0, 1 << 20, r.now, &slot), 0u);
        return memsys_instruction(r.m, 0, insn, r.now);
    };
    EXPECT_EQ(stall(MEM_INSN_CPUID), kDram + cpu.cpuid_ps);
    EXPECT_EQ(stall(MEM_INSN_WRMSR), kDram + cpu.wrmsr_ps);
    EXPECT_EQ(stall(MEM_INSN_WRMSR_RELAXED), cpu.wrmsr_ps);
    EXPECT_EQ(stall(MEM_INSN_RDMSR), cpu.rdmsr_ps);
    EXPECT_EQ(stall(MEM_INSN_MOV_CR), kDram); // without a configured cost: it only waits
}

TEST(Fences, AnInstructionThatSerialisesSendsTheWriteCombiningBuffers) {
    Rig r(core_cpu(), small_device(true));
    r.load(kWindow + 64); // the page is in the device cache
    EXPECT_EQ(memsys_nt_store(r.m, 0, kWindow, 8, r.now), 0u);
    EXPECT_EQ(memsys_instruction(r.m, 0, MEM_INSN_RDTSC, r.now), 0u);
    EXPECT_EQ(r.state_at(0, r.now), MEM_LINE_CPU_DIRTY);
    EXPECT_EQ(memsys_instruction(r.m, 0, MEM_INSN_CPUID, r.now), 0u);
    EXPECT_EQ(r.state_at(0, r.now), MEM_LINE_IN_FLIGHT);
}

TEST(Fences, OutsideARegionNoInstructionCosts) {
    MemCpuConfig cpu = core_cpu();
    cpu.cpuid_ps = 83 * kNs;
    Rig r(cpu, small_device(true));
    memsys_set_timed(r.m, false);
    EXPECT_EQ(memsys_instruction(r.m, 0, MEM_INSN_CPUID, r.now), 0u);
}

// A write-back that starts late must not make the model forget writes that are under way until then.
TEST(Fences, AFlushThatWaitsForItsStoreForgetsNoEarlierWrite) {
    Rig r(core_cpu(), small_device(true));
    uint32_t slot;
    r.load(kWindow + 64 * kLine); // the pages are in the device cache
    r.load(kWindow);
    EXPECT_EQ(r.nt_store(0, 1), 0u);
    mem_ps sent = r.now;
    r.now += 50 * kNs;
    EXPECT_EQ(memsys_store(r.m, 0, kWindow + 65 * kLine, r.now, &slot), 0u); // its line arrives after r.hit_ps()
    r.now += r.hit_ps() - 100 * kNs;
    EXPECT_EQ(r.flush(65 * kLine), 0u);
    mem_ps left = sent + r.fence_ps() - r.now;
    EXPECT_EQ(left, 52 * kNs);
    EXPECT_EQ(r.flush(0, MEM_CLFLUSH), left);
}

TEST(Fences, ABarrierMakesDurableWhatTheDeviceHasAccepted) {
    MemDeviceConfig device = small_device(false);
    device.wbarrier_latency_ps = 700 * kNs;
    for (bool timed : {true, false}) {
        Rig r(core_cpu(), device);
        memsys_set_timed(r.m, timed);
        r.store(0, 1);
        r.flush(0);
        r.store(4096, 2); // stays in the CPU
        r.fence();
        EXPECT_EQ(r.state(0), MEM_LINE_DEVICE_CACHE);
        mem_ps stall = memsys_barrier(r.m, 0, r.now);
        EXPECT_EQ(stall, timed ? 700 * kNs : 0);
        EXPECT_EQ(r.state_at(0, r.now + stall), MEM_LINE_DURABLE);
        EXPECT_EQ(r.state_at(4096, r.now + stall), MEM_LINE_CPU_DIRTY);
    }
}

// `ways` devices of 1 MiB, with one window interleaved over all of them.
class InterleavedRig {
  public:
    explicit InterleavedRig(uint32_t ways) : media_(uint64_t(ways) << 20) {
        MemCallbacks callbacks = {};
        callbacks.l1_slot_dropped = [](void *, uint32_t, uint32_t) {};
        m = memsys_new(&cpu_, &callbacks);
        window = {.hpa = kWindow, .size_bytes = uint64_t(ways) << 20, .dpa = 0, .ways = ways, .granularity_bytes = 256};
        for (uint32_t i = 0; i < ways; i++) {
            MemMedia where = {.base = media_.data() + (uint64_t(i) << 20)};
            memsys_add_device(m, &device_, &where);
            window.devices[i] = ways - 1 - i; // in reverse order
        }
        memsys_map_window(m, 0, &window, 0);
    }
    ~InterleavedRig() { memsys_free(m); }
    InterleavedRig(const InterleavedRig &) = delete;
    InterleavedRig &operator=(const InterleavedRig &) = delete;

    // Device and DPA; -1: local DRAM.
    std::pair<int, uint64_t> owner(uint64_t hpa) const {
        uint32_t device;
        uint64_t dpa;
        return memsys_device_address(m, hpa, &device, &dpa) ? std::pair(int(device), dpa) : std::pair(-1, UINT64_C(0));
    }

    MemSys *m;
    MemWindow window = {};

  private:
    MemCpuConfig cpu_ = small_cpu();
    MemDeviceConfig device_ = small_device(true);
    std::vector<uint8_t> media_;
};

using Place = std::pair<int, uint64_t>;

TEST(Windows, InterleavedLinesGoToTheDevicesInTurn) {
    for (uint32_t ways : {2u, 3u, 6u}) {
        InterleavedRig r(ways);
        int first = int(ways) - 1;
        EXPECT_EQ(r.owner(kWindow), Place(first, 0));
        EXPECT_EQ(r.owner(kWindow + 255), Place(first, 255));
        EXPECT_EQ(r.owner(kWindow + 256), Place(first - 1, 0));
        EXPECT_EQ(r.owner(kWindow + 256 * ways + 64), Place(first, 256 + 64));
        EXPECT_EQ(r.owner(kWindow + (uint64_t(ways) << 20) - 64), Place(0, (1 << 20) - 64));
        EXPECT_EQ(r.owner(kWindow + (uint64_t(ways) << 20)).first, -1);
        r.window.size_bytes = 0;
        memsys_map_window(r.m, 0, &r.window, 0);
        EXPECT_EQ(r.owner(kWindow).first, -1);
    }
}

TEST(Windows, OnlyWhatIsBehindTheVolatilePartIsPersistent) {
    const MemCpuConfig cpu = small_cpu();
    MemDeviceConfig device = small_device(true);
    device.volatile_bytes = 8192;
    std::vector<uint8_t> media(device.capacity_bytes - device.volatile_bytes);
    MemMedia where = {.base = media.data()};
    MemCallbacks callbacks = {};
    callbacks.l1_slot_dropped = [](void *, uint32_t, uint32_t) {};
    MemSys *m = memsys_new(&cpu, &callbacks);
    memsys_add_device(m, &device, &where);
    const MemWindow window = {
        .hpa = kWindow, .size_bytes = 16384, .dpa = 4096, .ways = 1, .granularity_bytes = 0, .devices = {0}};
    memsys_map_window(m, 0, &window, 0);
    EXPECT_FALSE(memsys_is_persistent(m, kWindow));
    EXPECT_FALSE(memsys_is_persistent(m, kWindow + 4095));
    EXPECT_TRUE(memsys_is_persistent(m, kWindow + 4096));
    EXPECT_TRUE(memsys_is_persistent(m, kWindow + 16383));
    EXPECT_FALSE(memsys_is_persistent(m, kWindow + 16384)) << "of local DRAM";
    memsys_free(m);
}

TEST(Windows, EveryByteIsInOnePlaceAndIsFoundFromThere) {
    for (uint32_t ways : {1u, 2u, 3u, 4u, 6u, 8u}) {
        for (uint32_t granularity : {64u, 192u, 256u}) {
            std::vector<uint64_t> next(ways); // next byte of each device's share
            for (uint64_t at = 0; at < uint64_t(ways) * granularity * 4; at++) {
                MemInterleaved place = mem_interleave(at, ways, granularity);
                ASSERT_LT(place.way, ways);
                ASSERT_EQ(place.way, at / granularity % ways) << "in turn";
                ASSERT_EQ(place.offset_bytes, next[place.way]++) << "one behind the other";
                ASSERT_EQ(mem_deinterleave(place, ways, granularity), at);
            }
        }
    }
}

TEST(Windows, AreAsTheyWereMappedLastAndTheRestIsLocal) {
    InterleavedRig r(2);
    const uint64_t end = kWindow + r.window.size_bytes;
    EXPECT_EQ(memsys_window(r.m, 0)->hpa, kWindow);
    EXPECT_EQ(memsys_window(r.m, 0)->devices[0], 1u);
    EXPECT_EQ(memsys_window(r.m, 1)->size_bytes, 0u);
    EXPECT_TRUE(memsys_is_local(r.m, kWindow - 1));
    EXPECT_FALSE(memsys_is_local(r.m, kWindow));
    EXPECT_FALSE(memsys_is_local(r.m, end - 1));
    EXPECT_TRUE(memsys_is_local(r.m, end));
    MemWindow behind = {.hpa = end, .size_bytes = 4096, .dpa = 0, .ways = 1, .granularity_bytes = 0, .devices = {1}};
    memsys_map_window(r.m, 5, &behind, 0); // the windows between stay unused
    EXPECT_FALSE(memsys_is_local(r.m, end));
    behind.size_bytes = 0;
    memsys_map_window(r.m, 5, &behind, 0);
    EXPECT_TRUE(memsys_is_local(r.m, end));
    EXPECT_EQ(memsys_window(r.m, 5)->size_bytes, 0u);
}

TEST(Counters, OfTheDevicesAddUpToTheTotal) {
    InterleavedRig r(3);
    uint32_t slot;
    mem_ps now = 0;
    memsys_set_timed(r.m, true);
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t hpa = kWindow + i * 7 % 1000 * 256 + (i % 3 == 0 ? 64 : 0);
        now += i % 5 ? memsys_load(r.m, 0, hpa, now, &slot) : memsys_store(r.m, 0, hpa, now, &slot);
    }
    ASSERT_STREQ(memsys_check_invariants(r.m), nullptr);
    MemCounters total = memsys_counters(r.m), sum = {};
    for (uint32_t device = 0; device < 3; device++) {
        MemCounters n = memsys_device_counters(r.m, device);
        EXPECT_GT(n.cxl_reads, 300u) << device;
        EXPECT_EQ(n.loads + n.stores + n.stall_cxl_miss_ps, 0u) << "those are the CPU's";
        memsys_add_counters(&sum, &n);
    }
#define X(field, what) EXPECT_EQ(sum.field, total.field) << #field;
    MEM_DEVICE_COUNTERS(X)
#undef X
    EXPECT_EQ(total.llc_misses, total.cxl_reads);
    r.m->memory.devices[1]->counters.cache_hits++; // the sum stays the same: only a check of each device finds it
    r.m->memory.devices[2]->counters.cache_hits--;
    EXPECT_NE(memsys_check_invariants(r.m), nullptr);
    memsys_reset_counters(r.m);
    EXPECT_EQ(memsys_counters(r.m).cxl_reads, 0u);
}

TEST(InFlight, FindsTheNewestAndForgetsWhatHasArrived) {
    MemInFlight f;
    mem_in_flight_init(&f);
    for (uint64_t i = 0; i < 5000; i++) {
        mem_in_flight_add(&f, i % 300, i, i < 4000 ? 10000 + i : i + 2, i); // grows
    }
    ASSERT_NE(mem_in_flight_find(&f, 7), nullptr);
    EXPECT_EQ(mem_in_flight_find(&f, 7)->asked_ps, 4807u);
    EXPECT_EQ(mem_in_flight_find(&f, 300), nullptr);
    mem_in_flight_add(&f, 1, 100000, MEM_NOT_SENT, 100000); // all others have arrived
    EXPECT_EQ(mem_in_flight_find(&f, 7), nullptr);
    EXPECT_EQ(mem_in_flight_unsent(&f), mem_in_flight_find(&f, 1));
    mem_in_flight_clear(&f);
    EXPECT_EQ(mem_in_flight_find(&f, 1), nullptr);
    EXPECT_EQ(mem_in_flight_unsent(&f), nullptr);
    mem_in_flight_destroy(&f);
}

TEST(Histogram, BucketsAreNarrowAndPercentilesUpperBounds) {
    for (mem_ps span :
         {UINT64_C(0), UINT64_C(31), UINT64_C(32), UINT64_C(63), UINT64_C(64), UINT64_C(800000), UINT64_C(14000123)}) {
        mem_ps upper = mem_bucket_upper_ps(mem_bucket_of(span));
        EXPECT_GE(upper, span);
        EXPECT_LE(upper, span + span / 32);
        EXPECT_EQ(mem_bucket_of(upper), mem_bucket_of(span));
        EXPECT_EQ(mem_bucket_of(upper + 1), mem_bucket_of(span) + 1);
    }
    auto h = std::make_unique<MemHistogram>();
    EXPECT_EQ(mem_histogram_percentile_ps(h.get(), 500), 0u);
    for (mem_ps span = 1; span <= 1000; span++) {
        mem_histogram_add(h.get(), span * 1000);
    }
    EXPECT_NEAR(double(mem_histogram_percentile_ps(h.get(), 500)), 500e3, 0.032 * 500e3);
    EXPECT_EQ(mem_histogram_percentile_ps(h.get(), 1000), 1000000u);
    mem_histogram_add(h.get(), UINT64_MAX);
    EXPECT_EQ(h->buckets[MEM_BUCKETS - 1], 1u);
}
