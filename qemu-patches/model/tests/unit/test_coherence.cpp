// SPDX-License-Identifier: GPL-2.0-or-later
// Several cores: closed forms of the costs that they cause each other, and cases without such costs.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "../rigs/rig.h"

extern "C" {
#include "front.h"
}

namespace {

constexpr mem_ps kC2c = 50 * kNs, kUpgrade = 40 * kNs;
constexpr mem_ps kDram = 104 * kNs; // 20 for the look-up in the LLC, 4 on the channel, 80 in the DRAM

MemCpuConfig cores_of(uint32_t count) {
    MemCpuConfig cpu = small_cpu();
    cpu.cores = count;
    cpu.c2c_ps = kC2c;
    cpu.upgrade_ps = kUpgrade;
    return cpu;
}

// Cores, each with a clock. A call advances the core's clock by the stall.
class Cores {
  public:
    explicit Cores(uint32_t count) : Cores(cores_of(count), small_device(true)) {}
    Cores(const MemCpuConfig &cpu, const MemDeviceConfig &device) : now(cpu.cores), media_(device.capacity_bytes) {
        MemCallbacks callbacks = {.opaque = this,
                                  .l1_slot_dropped = on_dropped,
                                  .l1_slot_shared = on_shared,
                                  .line_state = nullptr,
                                  .power_gone = nullptr};
        MemMedia where = {.base = media_.data()};
        m = memsys_new(&cpu, &callbacks);
        memsys_add_device(m, &device, &where);
        map_window(m, kWindow, 0, device.capacity_bytes, 0);
        memsys_set_timed(m, true);
    }
    ~Cores() {
        EXPECT_STREQ(memsys_check_invariants(m), nullptr);
        memsys_free(m);
    }
    Cores(const Cores &) = delete;
    Cores &operator=(const Cores &) = delete;

    mem_ps load(uint32_t core, uint64_t hpa) { return pass(core, memsys_load(m, core, hpa, now[core], &slot)); }
    mem_ps store(uint32_t core, uint64_t hpa) { return pass(core, memsys_store(m, core, hpa, now[core], &slot)); }
    // A locked instruction: it waits for earlier accesses and for its line.
    mem_ps locked_add(uint32_t core, uint64_t hpa) {
        mem_ps before = now[core];
        fence(core, MEM_LOCKED);
        pass(core, memsys_locked(m, core, hpa, false, now[core], &slot));
        pass(core, memsys_locked(m, core, hpa, true, now[core], &slot));
        return now[core] - before;
    }
    mem_ps flush(uint32_t core, uint64_t hpa) { return pass(core, memsys_flush(m, core, hpa, MEM_CLWB, now[core])); }
    mem_ps fence(uint32_t core, MemFenceKind kind = MEM_SFENCE) {
        return pass(core, memsys_fence(m, core, kind, now[core]));
    }
    mem_ps nt_store(uint32_t core, uint64_t hpa, uint32_t size) {
        return pass(core, memsys_nt_store(m, core, hpa, size, now[core]));
    }
    uint32_t least() const { return uint32_t(std::min_element(now.begin(), now.end()) - now.begin()); }
    void meet() { now.assign(now.size(), *std::max_element(now.begin(), now.end())); }

    MemSys *m = nullptr;
    std::vector<mem_ps> now;
    uint32_t slot = 0;
    std::vector<std::pair<uint32_t, uint32_t>> dropped, shared;

  private:
    mem_ps pass(uint32_t core, mem_ps stall) {
        now[core] += stall;
        return stall;
    }
    static void on_dropped(void *opaque, uint32_t core, uint32_t slot) {
        static_cast<Cores *>(opaque)->dropped.push_back({core, slot});
    }
    static void on_shared(void *opaque, uint32_t core, uint32_t slot) {
        static_cast<Cores *>(opaque)->shared.push_back({core, slot});
    }
    std::vector<uint8_t> media_;
};

void expect_close(const char *what, double expected, double measured, double tolerance) {
    double deviation = measured / expected - 1;
    std::printf("%-40s expected %12.1f measured %12.1f deviation %+.3f %%\n", what, expected, measured,
                deviation * 100);
    EXPECT_NEAR(deviation, 0, tolerance) << what;
}

} // namespace

TEST(Directory, KnowsWhoHoldsALine) {
    MemDirectory d;
    mem_directory_init(&d, 200);
    for (uint64_t line = 0; line < 200; line++) {
        mem_directory_add(&d, line * 64, line % 32);
        mem_directory_add(&d, line * 64, 31);
    }
    for (uint64_t line = 0; line < 200; line += 3) {
        mem_directory_remove(&d, line * 64, 31);
        mem_directory_remove(&d, line * 64, line % 32);
        mem_directory_remove(&d, line * 64, line % 32); // already removed
    }
    uint64_t count = 0;
    for (uint64_t line = 0; line < 200; line++) {
        uint32_t expected = line % 3 ? UINT32_C(1) << line % 32 | UINT32_C(1) << 31 : 0;
        EXPECT_EQ(mem_directory_holders(&d, line * 64), expected) << line;
        count += uint64_t(__builtin_popcount(expected));
    }
    EXPECT_EQ(d.count, count);
    mem_directory_destroy(&d);
}

TEST(Coherence, PrivateWorkByManyCoresTakesWhatOneTakes) {
    auto work = [](uint32_t cores) {
        Cores c(cores);
        for (int round = 0; round < 20; round++) {
            for (uint32_t i = 0; i < cores * 32; i++) { // 32 lines per core, twice the size of an L1
                uint32_t core = i % cores;
                i % 3 ? c.load(core, (core * 64 + i / cores) * kLine) : c.store(core, (core * 64 + i / cores) * kLine);
            }
            if (round == 0) {
                c.meet();
                c.now.assign(cores, c.now[0] + kUs);
            }
        }
        return c.now;
    };
    mem_ps alone = work(1)[0];
    for (uint32_t cores : {2u, 4u}) {
        std::vector<mem_ps> now = work(cores);
        mem_ps start = alone - now[0];
        for (mem_ps end : now) {
            EXPECT_EQ(end + start, alone);
        }
    }
}

TEST(Coherence, ALineThatGoesToAndFroCostsATransfer) {
    Cores c(2);
    EXPECT_EQ(c.store(0, 0), kDram);
    for (int i = 0; i < 10; i++) {
        c.meet();
        EXPECT_EQ(c.store(1, 0), kC2c);
        c.meet();
        EXPECT_EQ(c.store(0, 0), kC2c);
    }
    EXPECT_EQ(memsys_counters(c.m).transfers, 20u);
    EXPECT_EQ(memsys_counters(c.m).dram_reads, 1u); // the line never went back
    EXPECT_EQ(memsys_counters(c.m).dram_writes, 0u);
}

TEST(Coherence, WhoAsksMeanwhileWaitsForTheOneBefore) {
    Cores c(3);
    c.store(0, 0);
    c.meet();
    EXPECT_EQ(c.store(1, 0), kC2c);
    EXPECT_EQ(c.store(2, 0), 2 * kC2c); // both asked at the same time
}

TEST(Coherence, AStoreToASharedLineIsAnUpgrade) {
    Cores c(3);
    c.load(0, 0);
    uint32_t slot_of_0 = c.slot;
    c.meet();
    EXPECT_EQ(c.load(1, 0), 20 * kNs); // the LLC has it
    EXPECT_EQ(c.load(2, 0), 20 * kNs);
    c.meet();
    c.dropped.clear();
    EXPECT_EQ(c.store(1, 0), kUpgrade);
    EXPECT_EQ(c.dropped, (std::vector<std::pair<uint32_t, uint32_t>>{{0, slot_of_0}, {2, slot_of_0}}));
    EXPECT_EQ(c.store(1, 0), 0u); // core 1 now owns the line
    c.meet();
    c.shared.clear();
    EXPECT_EQ(c.load(0, 0), kC2c); // held dirty by core 1
    EXPECT_EQ(c.shared, (std::vector<std::pair<uint32_t, uint32_t>>{{1, slot_of_0}}));
    EXPECT_EQ(c.load(1, 0), 0u); // core 1 kept the line
    c.meet();
    EXPECT_EQ(c.store(1, 0), kUpgrade); // but no longer owned it
    EXPECT_EQ(memsys_core_counters(c.m, 1).upgrades, 2u);
    EXPECT_EQ(memsys_core_counters(c.m, 0).invalidations, 2u);
}

TEST(Coherence, LockedAdditionsByManyCoresTakeATransferEach) {
    MemCpuConfig cpu = cores_of(8);
    cpu.store_buffer = 56;
    Cores c(cpu, small_device(true));
    c.locked_add(0, 0);
    c.meet();
    mem_ps start = c.now[0];
    for (int i = 0; i < 800; i++) {
        uint32_t core = c.least();
        c.locked_add(core, 0);
        c.now[core] += kNs; // otherwise the core with the line would run on without taking time
    }
    c.meet();
    expect_close("800 locked additions by 8 cores, ns", 800. * kC2c / kNs, double(c.now[0] - start) / kNs, 0.005);
}

TEST(Coherence, ALockedInstructionWaitsForItsLineAndOwnsIt) {
    MemCpuConfig cpu = cores_of(2);
    cpu.store_buffer = 56;
    cpu.lock_ps = 5 * kNs;
    Cores c(cpu, small_device(true));
    EXPECT_EQ(c.locked_add(0, 0), kDram + cpu.lock_ps);
    EXPECT_EQ(c.locked_add(0, 0), cpu.lock_ps); // a hit
    c.meet();
    EXPECT_EQ(c.store(1, 64), 0u); // posted: 104 ns
    EXPECT_EQ(c.locked_add(1, 0), kDram + cpu.lock_ps + kC2c);
    c.meet();
    EXPECT_EQ(c.load(0, 0), kC2c); // both hold it
    c.meet();
    EXPECT_EQ(c.locked_add(0, 0), cpu.lock_ps + kUpgrade);
    c.meet();
    EXPECT_EQ(c.load(1, 0), kC2c);
    c.meet();
    EXPECT_EQ(memsys_locked(c.m, 0, 0, true, c.now[0], &c.slot), kUpgrade); // the instruction's load was a hit
    MemCounters count = memsys_core_counters(c.m, 0);
    EXPECT_EQ(count.loads, 4u);
    EXPECT_EQ(count.stores, 4u);
    EXPECT_EQ(count.stall_dram_ps + count.stall_cache_ps, kDram + kC2c + 2 * kUpgrade);
}

TEST(Coherence, CoresOnAFullChannelGetTheSameShareEach) {
    Cores c(32); // a line takes 4 ns on the channel, a load 104 ns: 26 cores saturate it
    std::vector<uint64_t> lines(32);
    mem_ps end = 100 * kUs;
    for (uint32_t core = c.least(); c.now[core] < end; core = c.least()) {
        c.load(core, (uint64_t(core) << 20) + lines[core]++ * kLine);
    }
    for (uint32_t core = 0; core < 32; core++) {
        EXPECT_NEAR(double(lines[core]), double(end) / (32 * 4 * kNs), 2) << core;
    }
    expect_close("lines in 100 us by 32 cores", double(end) / (4 * kNs), double(memsys_counters(c.m).dram_reads), 0.01);
}

// Lines per microsecond that all cores together read, each from a file of its own that no cache holds.
double streamed(uint32_t count, mem_ps quantum_ps) {
    MemCpuConfig cpu = cores_of(count);
    cpu.dram_bandwidth = UINT64_C(64000000000); // a line takes 1 ns on the channel
    cpu.fill_buffers = 10;
    cpu.overlap = MEM_OVERLAP_STREAMS;
    cpu.overlap_window_ps = 50 * kNs;
    cpu.prefetch_streams = 8;
    cpu.prefetch_distance = 20;
    cpu.prefetch_degree = 2;
    cpu.prefetch_buffers = cpu.l2_requests = 16;
    Cores c(cpu, small_device(true));
    std::vector<uint64_t> lines(count);
    mem_ps end = 100 * kUs;
    for (uint32_t core = c.least(); c.now[core] < end; core = c.least()) {
        mem_ps until = c.now[core] + quantum_ps;
        do {
            c.load(core, (uint64_t(core) << 24) + lines[core]++ * kLine);
            c.now[core] += 500; // computing
        } while (c.now[core] < until);
    }
    return double(memsys_counters(c.m).dram_reads) * kUs / double(end);
}

TEST(Coherence, StreamsOfManyCoresHaveTheChannelAndAreNoSlowerBelowIt) {
    for (mem_ps quantum_ps : {mem_ps{1}, 39 * kNs}) {
        double alone = streamed(1, quantum_ps);
        expect_close("lines in 1 us by one core: 16 requests of 101 ns", 16 * 1000. / 101, alone, 0.05);
        for (uint32_t count : {2u, 4u, 8u}) {
            expect_close("lines in 1 us by several cores", std::min(count * alone, 1000.), streamed(count, quantum_ps),
                         0.1);
        }
    }
}

TEST(Coherence, ALineUnderWayIsReadOnceAndBothWait) {
    Cores c(2);
    mem_ps miss = c.load(0, kWindow);
    EXPECT_EQ(c.load(1, kWindow), miss + 20 * kNs); // waits until the line arrives for core 0, then hits the LLC
    EXPECT_EQ(memsys_counters(c.m).flash_reads, 1u);
    EXPECT_EQ(memsys_counters(c.m).cxl_reads, 1u);
    EXPECT_EQ(memsys_core_counters(c.m, 1).joins, 1u);
    EXPECT_EQ(memsys_core_counters(c.m, 1).llc_misses, 0u);
}

TEST(Coherence, APageWantedByTwoCoresIsOneFlashRead) {
    Cores c(2);
    mem_ps first = c.load(0, kWindow);
    mem_ps second = c.load(1, kWindow + kLine);
    EXPECT_EQ(second, first + 2 * kNs); // behind the other line on the link
    EXPECT_EQ(memsys_counters(c.m).flash_reads, 1u);
    EXPECT_EQ(memsys_counters(c.m).cache_merges, 1u);
}

TEST(Coherence, MissesOfManyCoresFillTheMshrs) {
    MemDeviceConfig device = small_device(true);
    device.flash_channels = 8;
    device.cache_mshrs = 4;
    Cores c(cores_of(5), device);
    mem_ps alone = 10302 * kNs;
    for (uint32_t core = 0; core < 4; core++) {
        EXPECT_EQ(c.load(core, kWindow + core * 4096), alone + core * 2 * kNs)
            << core; // one after the other on the link
    }
    EXPECT_EQ(c.load(4, kWindow + 4 * 4096), alone + 10 * kUs); // waits for the first read to end
}

TEST(Coherence, AFenceIsOfItsCore) {
    MemCpuConfig cpu = cores_of(2);
    cpu.store_buffer = 8;
    Cores c(cpu, small_device(true));
    EXPECT_EQ(c.store(0, 0), 0u); // under way in the store buffer
    EXPECT_EQ(c.nt_store(0, kWindow + 4096, 8), 0u);
    EXPECT_EQ(c.fence(1), 0u);
    EXPECT_EQ(memsys_counters(c.m).cxl_writes, 0u); // nor did it send the buffer of core 0
    EXPECT_GT(c.fence(0), kDram - kNs);
    EXPECT_EQ(memsys_counters(c.m).cxl_writes, 1u);
}

TEST(Coherence, AFlushByAnotherCoreMakesDurable) {
    Cores c(2);
    c.store(0, kWindow);
    c.meet();
    EXPECT_EQ(memsys_line_state(c.m, 0, 0, c.now[1]), MEM_LINE_CPU_DIRTY);
    c.dropped.clear();
    c.flush(1, kWindow);
    EXPECT_EQ(c.dropped.size(), 1u); // core 0 must report its next store
    EXPECT_EQ(c.fence(1), 304 * kNs);
    EXPECT_EQ(memsys_line_state(c.m, 0, 0, c.now[1]), MEM_LINE_DURABLE);
    EXPECT_EQ(c.fence(0), 0u);
}

TEST(Coherence, AnAccessSendsWhatAnotherCoreGathers) {
    Cores c(2);
    c.nt_store(0, kWindow, 8);
    c.load(1, kWindow);
    EXPECT_EQ(memsys_core_counters(c.m, 1).loads, 1u);
    EXPECT_EQ(memsys_counters(c.m).cxl_writes, 1u);
    EXPECT_GT(c.fence(0), 0u); // it counts as a write of core 0
}

TEST(Coherence, WbinvdIsOfAllCores) {
    Cores c(4);
    for (uint32_t core = 0; core < 4; core++) {
        c.store(core, kWindow + core * kLine);
        c.meet();
    }
    memsys_wbinvd(c.m, 2, c.now[2]);
    EXPECT_EQ(memsys_counters(c.m).cxl_writes, 4u);
    for (uint32_t core = 0; core < 4; core++) {
        EXPECT_GT(c.load(core, kWindow + core * kLine), 0u);
    }
}

TEST(Coherence, ACutKeepsWhatAnyCoreHoldsAsTheDomainSays) {
    for (auto [domain, kept] : {std::pair{MEM_DOMAIN_ADR, 0u}, {MEM_DOMAIN_EADR, 3u}}) {
        MemDeviceConfig device = small_device(true);
        device.persist_domain = domain;
        Cores c(cores_of(3), device);
        for (uint32_t core = 0; core < 3; core++) {
            c.store(core, kWindow + core * kLine);
        }
        c.meet();
        EXPECT_EQ(memsys_power_cut(c.m, c.now[0]).lines_kept, kept);
        EXPECT_EQ(memsys_line_state(c.m, 0, 0, c.now[0]), MEM_LINE_DURABLE);
    }
}

TEST(Coherence, CallsMayGoBackBetweenCores) {
    Cores c(2);
    c.now = {500 * kNs, 400 * kNs};
    EXPECT_EQ(c.load(0, 0), kDram);
    EXPECT_EQ(c.load(1, 1 << 20), kDram); // 100 ns earlier, the channel was free
    c.now[1] = 500 * kNs;
    EXPECT_EQ(c.load(1, 2 << 20), kDram + 4 * kNs); // at the same time, it was not
}

TEST(Coherence, EachLawIsCheckedWhenItIsBroken) {
    Cores c(2);
    c.store(0, 0);
    c.load(1, 64);
    c.meet();
    MemDirectory *d = &c.m->directory;
    auto broken = [&c] { return std::string(memsys_check_invariants(c.m) ? memsys_check_invariants(c.m) : ""); };
    ASSERT_EQ(broken(), "");
    mem_directory_remove(d, 1, 1);
    EXPECT_EQ(broken(), "the directory knows the holders of a line");
    mem_directory_add(d, 1, 1);
    mem_directory_add(d, 2, 1);
    EXPECT_EQ(broken(), "the directory knows of no line that its core does not hold");
    mem_directory_remove(d, 2, 1);
    MemSet *llc = mem_place_of(&c.m->cpus[0].caches.llc, 0).set;
    llc->marks |= MEM_DIRTY;
    EXPECT_EQ(broken(), "a line has at most one dirty copy, and the holder of the dirty copy is the only holder");
    llc->marks &= ~MEM_DIRTY;
    EXPECT_EQ(broken(), "");
}
