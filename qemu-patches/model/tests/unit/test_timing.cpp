// SPDX-License-Identifier: GPL-2.0-or-later
// Times compared with closed forms. Each test prints the deviation, which must be zero.
#include <cstdio>
#include <cstring>
#include <gtest/gtest.h>

#include "../rigs/rig.h"

extern "C" {
#include "base/histogram.h"
}

static void expect_form(const char *what, mem_ps expected, mem_ps measured) {
    double ppm = expected ? (double(measured) - double(expected)) / double(expected) * 1e6 : 0;
    std::printf("%-44s expected %12llu ps, measured %12llu ps, deviation %+.1f ppm\n", what,
                (unsigned long long)expected, (unsigned long long)measured, ppm);
    EXPECT_EQ(expected, measured) << what;
}

TEST(Idle, EachLevelOfALoad) {
    Rig r;
    expect_form("device-cache miss", r.miss_ps(), r.load(kWindow));
    expect_form("L1 hit", 0, r.load(kWindow));
    expect_form("device-cache hit", r.hit_ps(), r.load(kWindow + 64));
    expect_form("DRAM", 20 * kNs + 80 * kNs + 4 * kNs, r.load(0));
    r.load(kWindow + 512); // together with + 1024: evicts line 0 from the 8-set, 2-way L1, not from L2
    r.load(kWindow + 1024);
    expect_form("L2 hit", 5 * kNs, r.load(kWindow));
    for (uint64_t i = 1; i <= 4; i++) {
        r.load(i * 1024); // L2 has 16 sets, the LLC 64: evicts line 0 from L2 only
    }
    expect_form("LLC hit", 20 * kNs, r.load(kWindow));
}

TEST(Idle, AStoreMissStallsLikeALoad) {
    Rig r;
    expect_form("store, device-cache miss", r.miss_ps(), r.store(0, 1));
    expect_form("store, device-cache hit", r.hit_ps(), r.store(64, 1));
    expect_form("store, L1 hit", 0, r.store(64, 2));
}

TEST(Idle, StoreClwbSfenceAndNtStoreSfence) {
    Rig r;
    r.load(kWindow);
    mem_ps start = r.now;
    r.store(0, 1);
    r.flush(0);
    r.fence();
    expect_form("store + clwb + sfence in L1", r.fence_ps(), r.now - start);
    start = r.now;
    r.nt_store(0, 2);
    r.fence();
    expect_form("nt store + sfence", r.fence_ps(), r.now - start);
    start = r.now;
    r.nt_store(1 << 16, 2);
    r.fence();
    expect_form("nt store + sfence, device-cache miss", r.fence_ps() + r.device.flash_read_ps, r.now - start);
}

TEST(Idle, AWriteOfTheCorePassesTheLlcAsALoadDoes) {
    Rig r;
    expect_form("read of a device-cache hit, less its line", 300 * kNs, r.hit_ps() - 2 * kNs);
    expect_form("clwb + sfence, less its line", 300 * kNs, r.fence_ps() - 4 * kNs);
    r.load(kWindow);
    for (bool nt : {false, true}) {
        for (mem_ps late : {mem_ps(0), r.fence_ps() - 1, r.fence_ps(), r.fence_ps() + 1}) {
            nt ? r.nt_store(0, 1) : r.store(0, 1);
            r.flush(0);
            mem_ps accepted = r.now + r.accept_ps();
            EXPECT_EQ(r.state_at(0, accepted - 1), MEM_LINE_IN_FLIGHT);
            EXPECT_EQ(r.state_at(0, accepted), MEM_LINE_DURABLE);
            r.now += late;
            EXPECT_EQ(r.fence(), late < r.fence_ps() ? r.fence_ps() - late : 0);
            r.load(kWindow);
        }
    }
}

TEST(Idle, AnEvictionStartsAtTheLlc) {
    Rig r;
    r.store(0, 1);
    mem_ps before = 0;
    for (uint64_t i = 1; r.counters().cxl_writes == 0; i++) {
        before = r.now;
        r.load(i * 4096);
    }
    mem_ps accepted = before + r.accept_ps() - r.cpu.llc.latency_ps;
    EXPECT_EQ(r.state_at(0, accepted - 1), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(r.state_at(0, accepted), MEM_LINE_DURABLE);
}

// The buffers limit the non-temporal stores of one core: each is held until the host has taken its line.
TEST(Queue, SoManyWcBuffersAreSoManyLinesInTheTimeThatOneIsHeld) {
    MemCpuConfig cpu = small_cpu();
    for (uint32_t buffers : {1u, 2u, 6u, 7u, 100u}) {
        cpu.wc_buffers = buffers;
        Rig r(cpu, small_device(true));
        r.load(kWindow);
        const uint64_t rounds = 8, lines = rounds * buffers;
        mem_ps start = r.now;
        for (uint64_t i = 0; i < lines; i++) {
            r.nt_store(i % 64 * kLine, 3);
        }
        r.fence();
        mem_ps wire = 4 * kNs, held = r.cpu.llc.latency_ps + wire; // from 6 lines on the link is the limit
        mem_ps last_held = buffers * wire <= held ? rounds * held + (buffers - 1) * wire : held + (lines - 1) * wire;
        expect_form("eight lines a buffer", last_held + r.fence_ps() - held, r.now - start);
    }
}

// The host's memory controller answers at once. On a link, the core is done with a line when it has left.
TEST(Queue, AWcBufferIsFreeWhenTheHostHasItsLine) {
    for (const char *where : {"DRAM", "device", "device behind a write queue"}) {
        for (int early : {1, 0}) {
            MemDeviceConfig device = small_device(true);
            device.write_queue = strchr(where, 'q') ? 8 : 0;
            Rig r(small_cpu(), device); // 4 buffers
            r.load(kWindow);
            uint64_t first = *where == 'D' ? 1 << 16 : kWindow;
            for (uint64_t line = 0; line < 4; line++) {
                EXPECT_EQ(memsys_nt_store(r.m, 0, first + line * kLine, kLine, r.now), 0u);
            }
            mem_ps taken = device.write_queue ? 2 * device.link_latency_ps : 4 * kNs;
            r.now += r.cpu.llc.latency_ps + taken - mem_ps(early);
            EXPECT_EQ(memsys_nt_store(r.m, 0, first + 4 * kLine, 8, r.now), mem_ps(early)) << where;
        }
    }
}

TEST(Queue, NtStoresToDramSaturateItsChannel) {
    MemCpuConfig cpu = small_cpu();
    cpu.wc_buffers = 6; // of 24 ns each; a line takes 4
    Rig r(cpu, small_device(true));
    const uint64_t lines = 1000;
    mem_ps start = r.now;
    for (uint64_t i = 0; i < lines; i++) {
        r.now += memsys_nt_store(r.m, 0, i * 64, 64, r.now);
    }
    r.fence();
    expect_form("1000 lines to DRAM", cpu.llc.latency_ps + lines * 4 * kNs, r.now - start);
}

TEST(Queue, NtStoresToTheDeviceSaturateTheLink) {
    MemCpuConfig cpu = small_cpu();
    cpu.wc_buffers = 6; // of 24 ns each; a line takes 4
    Rig r(cpu, small_device(true));
    r.load(kWindow);
    r.load(kWindow + 4096);
    const uint64_t lines = 128;
    mem_ps start = r.now;
    for (uint64_t i = 0; i < lines; i++) {
        r.nt_store(i * 64, 3);
    }
    r.fence();
    expect_form("128 lines to the device", lines * 4 * kNs + r.fence_ps() - 4 * kNs, r.now - start);
    EXPECT_EQ(r.counters().link_write_bytes, lines * 64);
}

TEST(Queue, LinkTakesNoMoreThanItsCreditsAtOnce) {
    MemDeviceConfig device = small_device(true);
    device.link_write_bandwidth = UINT64_C(64000000000); // 1 ns a line: 1024 lines are sent before one is accepted
    device.controller_latency_ps = 5 * kUs;
    Rig r(small_cpu(), device);
    r.load(kWindow);
    mem_ps start = r.now;
    for (uint64_t i = 0; i < 1025; i++) { // flushes, which nothing in the core limits
        r.store(0, 3);
        r.flush(0);
    }
    r.fence();
    mem_ps accept = kNs + r.device_look_up();
    expect_form("1025 lines on 1024 credits", r.cpu.llc.latency_ps + accept + accept + device.link_latency_ps,
                r.now - start);
}

TEST(Queue, OneFlashChannelAlternatesReadsAndPrograms) {
    Rig r; // 16 frames, 4 channels: pages 0, 4, 8, ... share channel 0
    for (uint64_t page = 0; page < 16; page++) {
        r.nt_store(page * 4 * 4096, 1); // all frames dirty, all on channel 0
    }
    r.fence();
    const uint64_t pages = 16;
    mem_ps start = r.now;
    for (uint64_t page = 16; page < 16 + pages; page++) {
        r.nt_store(page * 4 * 4096, 1);
    }
    r.fence();
    mem_ps busy = pages * (r.device.flash_read_ps + r.device.flash_program_ps);
    expect_form("16 dirty evictions on one channel", busy + r.fence_ps(), r.now - start);
    EXPECT_EQ(r.counters().flash_programs, pages);
    EXPECT_EQ(r.counters().cache_writebacks, pages);
}

TEST(Queue, FlashChannelsWorkSideBySide) {
    Rig r;
    mem_ps start = r.now;
    for (uint64_t page = 0; page < 4; page++) {
        r.nt_store(page * 4096, 1);
    }
    r.fence();
    expect_form("4 misses on 4 channels", r.fence_ps() + 3 * 4 * kNs + r.device.flash_read_ps, r.now - start);
}

TEST(Queue, AReadOfAPageBeingFilledWaitsForIt) {
    Rig r;
    r.now += memsys_nt_store(r.m, 0, kWindow, 64, r.now); // fetches the page
    mem_ps filled = r.accept_ps() + r.device.flash_read_ps;
    expect_form("hit under miss", filled + 2 * kNs + r.device.link_latency_ps, r.load(kWindow + 64));
    EXPECT_EQ(r.counters().cache_hits, 1u);
    EXPECT_EQ(r.counters().stall_cxl_hit_ps, r.now);
    mem_ps parts = 0;
    for (unsigned cause : {MEM_CAUSE_link, MEM_CAUSE_queue, MEM_CAUSE_device_cache, MEM_CAUSE_flash_read}) {
        parts += memsys_histogram(r.m, cause)->sum_ps;
    }
    expect_form("the histograms' parts of the load", r.now - r.cpu.llc.latency_ps, parts);
    EXPECT_EQ(memsys_histogram(r.m, MEM_CAUSE_flash_read)->count, 1u);
}

TEST(Queue, ADirtyVictimDelaysOnlyItsOwnChannel) {
    MemDeviceConfig device = small_device(true);
    device.cache_size_bytes = 4096; // one frame
    Rig r(small_cpu(), device);
    r.nt_store(0, 1);
    r.fence();
    expect_form("other channel", r.miss_ps(), r.load(kWindow + 4096));
    r.nt_store(4096, 1);
    r.fence();
    expect_form("same channel", r.miss_ps() + device.flash_program_ps, r.load(kWindow + 5 * 4096));
}

TEST(Untimed, NothingTakesTimeQueuesOrCounts) {
    Rig r;
    memsys_set_timed(r.m, false);
    for (uint64_t i = 0; i < 2000; i++) {
        EXPECT_EQ(r.load(i * 64), 0u);
        EXPECT_EQ(r.store(i * 64, 1), 0u);
        EXPECT_EQ(r.nt_store((i + 1) * 64, 2), 0u);
        EXPECT_EQ(r.flush(i * 64, MEM_CLFLUSH), 0u);
        EXPECT_EQ(r.fence(), 0u);
        EXPECT_EQ(r.state(i * 64), MEM_LINE_DURABLE);
    }
    MemCounters none = {};
    MemCounters counters = r.counters();
    EXPECT_EQ(std::memcmp(&counters, &none, sizeof(none)), 0);
}

TEST(Untimed, ChangingTheModeKeepsCachesAndEndsWhatIsUnderWay) {
    Rig r;
    r.nt_store(0, 1);
    EXPECT_EQ(r.state(0), MEM_LINE_IN_FLIGHT);
    memsys_set_timed(r.m, false);
    EXPECT_EQ(r.state(0), MEM_LINE_DURABLE);
    r.store(64, 1);
    memsys_set_timed(r.m, true);
    memsys_set_timed(r.m, true);
    expect_form("L1 hit after the switch", 0, r.load(kWindow + 64));
    expect_form("device-cache hit after the switch", r.hit_ps(), r.load(kWindow + 128));
}

TEST(Counters, ResetClearsThemAndStallsAddUp) {
    Rig r;
    r.load(kWindow);
    r.load(kWindow + 64);
    r.load(0);
    MemCounters n = r.counters();
    EXPECT_EQ(n.stall_cxl_miss_ps + n.stall_cxl_hit_ps + n.stall_dram_ps + n.stall_cache_ps, r.now);
    EXPECT_EQ(n.loads, 3u);
    EXPECT_EQ(n.llc_misses, 3u);
    memsys_reset_counters(r.m);
    EXPECT_EQ(r.counters().loads, 0u);
}
