// SPDX-License-Identifier: GPL-2.0-or-later
// Little's law: the requests under way never exceed the places for them, so the bandwidth of one core is at most the
// number of its buffers divided by the time for which a line holds one. Closed forms, and the law under random load.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "../rigs/rig.h"

extern "C" {
#include "front.h"
}

namespace {

constexpr uint64_t kLines = 8192; // of a file too large for the caches
constexpr mem_ps kStep = 1 * kNs; // computing between lines: four instructions at two a cycle

// The core of the shipped CPU. Memory bandwidth is no limit; latencies: 95 ns of local DRAM, 250 ns of an expander.
MemCpuConfig core_cpu() {
    return {.l1d = {32 << 10, 8, 0},
            .l2 = {64 << 10, 16, 4762},
            .llc = {256 << 10, 16, 23810},
            .cores = 1,
            .dram_latency_ps = 70735,
            .dram_bandwidth = UINT64_C(140800000000),
            .wc_buffers = 10,
            .fill_buffers = 10,
            .store_buffer = 56,
            .overlap = MEM_OVERLAP_STREAMS,
            .overlap_window_ps = 53333,
            .prefetch_streams = 32,
            .prefetch_distance = 20,
            .prefetch_degree = 2,
            .prefetch_buffers = 16,
            .l2_requests = 16,
            .clwb_keeps_line = false};
}

MemDeviceConfig expander() {
    MemDeviceConfig d = small_device(true);
    d.capacity_bytes = 4 * kLines * kLine;
    d.link_latency_ps = 50 * kNs;
    d.controller_latency_ps = 40 * kNs;
    d.cache_latency_ps = 86 * kNs;
    d.link_read_bandwidth = d.link_write_bandwidth = UINT64_C(64000000000);
    d.flash_channels = 0;
    return d;
}

struct Core {
    std::string name;
    MemCpuConfig cpu;
    uint64_t reads;               // most lines under way to the core
    uint64_t stores = UINT64_MAX; // most of them for stores
};

std::vector<Core> cores() {
    std::vector<Core> all;
    MemCpuConfig cpu = core_cpu();
    all.push_back({"as shipped", cpu, 16});
    for (uint32_t prefetches : {1u, 4u, 16u}) {
        cpu = core_cpu();
        cpu.prefetch_buffers = prefetches;
        cpu.l2_requests = 0;
        all.push_back({std::to_string(prefetches) + " prefetch buffers, any number of requests", cpu, 10 + prefetches});
    }
    cpu = core_cpu();
    cpu.prefetch_buffers = 1;
    all.push_back({"1 prefetch buffer", cpu, 11});
    for (uint32_t overlap : {MEM_OVERLAP_STREAMS, MEM_OVERLAP_ALL}) {
        cpu = core_cpu();
        cpu.prefetch_streams = 0;
        cpu.overlap = overlap;
        all.push_back({overlap == MEM_OVERLAP_ALL ? "no prefetcher, all" : "no prefetcher, streams", cpu, 10});
    }
    cpu.overlap = MEM_OVERLAP_ALL;
    cpu.l2_requests = 6;
    all.push_back({"no prefetcher, 6 requests", cpu, 6});
    cpu = core_cpu();
    cpu.fill_buffers = cpu.l2_requests = cpu.prefetch_streams = 0;
    cpu.store_buffer = 3;
    all.push_back({"3 stores waiting, any number of loads", cpu, UINT64_MAX, 3});
    return all;
}

// Lines that an access of a pass moves: read from memory, of these for stores, and sent by write-combining buffers.
struct Traffic {
    uint64_t read, stored, sent;
};

struct Pass {
    const char *name;
    Traffic (*line)(Rig &r, uint64_t base, uint64_t i);
};

void access(Rig &r, uint64_t hpa, bool store) {
    r.now += store ? memsys_store(r.m, 0, hpa, r.now, &r.slot) : memsys_load(r.m, 0, hpa, r.now, &r.slot);
}

const Pass kPasses[] = {
    {"read",
     [](Rig &r, uint64_t base, uint64_t i) {
         access(r, base + i * kLine, false);
         return Traffic{1, 0, 0};
     }},
    {"write",
     [](Rig &r, uint64_t base, uint64_t i) {
         access(r, base + i * kLine, true);
         return Traffic{1, 1, 0};
     }},
    {"copy",
     [](Rig &r, uint64_t base, uint64_t i) {
         access(r, base + i * kLine, false);
         access(r, base + (kLines + i) * kLine, true);
         return Traffic{2, 1, 0};
     }},
    {"non-temporal write",
     [](Rig &r, uint64_t base, uint64_t i) {
         r.now += memsys_nt_store(r.m, 0, base + i * kLine, kLine, r.now);
         return Traffic{0, 0, 1};
     }},
    {"non-temporal copy",
     [](Rig &r, uint64_t base, uint64_t i) {
         access(r, base + i * kLine, false);
         r.now += memsys_nt_store(r.m, 0, base + (kLines + i) * kLine, kLine, r.now);
         return Traffic{1, 0, 1};
     }},
};

// The least time for which a line holds its buffer.
struct Holds {
    mem_ps read, sent;
};

Holds holds_of(const Rig &r, bool remote) {
    mem_ps wire_ps = kLine * 1000 / 64;
    if (remote) {
        return {r.cpu.llc.latency_ps + 2 * r.device.link_latency_ps + r.device.controller_latency_ps +
                    r.device.cache_latency_ps + wire_ps,
                r.cpu.llc.latency_ps + wire_ps};
    }
    mem_ps transfer_ps = kLine * UINT64_C(1000000000000) / r.cpu.dram_bandwidth;
    return {r.cpu.llc.latency_ps + r.cpu.dram_latency_ps + transfer_ps, r.cpu.llc.latency_ps + transfer_ps};
}

} // namespace

// Bandwidth <= buffers * 64 B / latency for every kind of access, and the shipped core comes close to this bound.
TEST(Bandwidth, OfOneCoreIsWhatItsBuffersHold) {
    for (const Core &core : cores()) {
        for (const Pass &pass : kPasses) {
            for (bool remote : {false, true}) {
                SCOPED_TRACE(core.name + ", " + pass.name + (remote ? ", remote" : ", local"));
                Rig r(core.cpu, expander());
                Holds holds = holds_of(r, remote);
                Traffic done = {};
                for (uint64_t i = 0; i < kLines; i++) {
                    Traffic t = pass.line(r, remote ? kWindow : 0, i);
                    done.read += t.read;
                    done.stored += t.stored;
                    done.sent += t.sent;
                    r.now += kStep;
                }
                r.now += memsys_fence(r.m, 0, MEM_MFENCE, r.now);
                mem_ps reads_ps = std::max(done.read * holds.read / core.reads, done.stored * holds.read / core.stores);
                mem_ps sends_ps = done.sent * holds.sent / core.cpu.wc_buffers;
                mem_ps least_ps = std::max({reads_ps, sends_ps, kLines * kStep});
                EXPECT_GE(r.now, least_ps);
                std::printf("%-52s %-18s %-6s %5.2f GB/s, at most %5.2f\n", core.name.c_str(), pass.name,
                            remote ? "remote" : "local", double(kLines * kLine) / double(r.now) * 1000,
                            double(kLines * kLine) / double(least_ps) * 1000);
                if (core.cpu.overlap == MEM_OVERLAP_ALL || core.cpu.l2_requests == core.reads) {
                    EXPECT_LE(double(r.now), 1.25 * double(reads_ps + sends_ps + kLines * kStep))
                        << "far from its limit";
                }
            }
        }
    }
}

namespace {

// A finite resource after a run: the requests that held a place, the least time of holding it, and the places.
struct Use {
    const char *what;
    uint64_t count;
    mem_ps hold_ps;
    uint64_t places; // 0: any number
};

MemCpuConfig draw_cpu(std::mt19937_64 &dice) {
    MemCpuConfig cpu = core_cpu();
    cpu.dram_bandwidth = dice() % 2 ? UINT64_C(140800000000) : UINT64_C(2000000000);
    cpu.wc_buffers = uint32_t(1 + dice() % 10);
    cpu.fill_buffers = uint32_t(dice() % 12);
    cpu.store_buffer = uint32_t(dice() % 56);
    cpu.overlap = uint32_t(dice() % 3);
    cpu.overlap_window_ps = dice() % 2 ? 53333 : 4 * kUs;
    cpu.prefetch_streams = dice() % 3 ? 32 : 0;
    cpu.prefetch_buffers = uint32_t(dice() % 17);
    cpu.l2_requests = uint32_t(dice() % 20);
    return cpu;
}

MemDeviceConfig draw_device(std::mt19937_64 &dice) {
    MemDeviceConfig d = expander();
    d.link_read_bandwidth = d.link_write_bandwidth = dice() % 2 ? UINT64_C(64000000000) : UINT64_C(1600000000);
    if (dice() % 3 == 0) { // behind the host's memory controller
        d.write_queue = uint32_t(1 + dice() % 8);
    } else if (dice() % 2) {
        d.cache_size_bytes = 16 * 4096;
        d.flash_channels = uint32_t(1 + dice() % 4);
        d.flash_read_ps = 3 * kUs;
        d.flash_program_ps = 1 * kUs;
        d.cache_mshrs = uint32_t(dice() % 5);
    }
    return d;
}

// Streams, jumps, stores and non-temporal stores of whole lines, with occasional fences.
void load_it(Rig &r, std::mt19937_64 &dice) {
    uint64_t at[4] = {}, end = 2 * kLines, nt_stores = dice() % 3 ? 3 : 14;
    for (int i = 0; i < 20000; i++) {
        uint64_t &line = at[dice() % 4];
        line = dice() % 50 ? line + 1 : dice();
        uint64_t hpa = (&line - at) % 2 ? kWindow + line % end * kLine : line % end * kLine;
        uint64_t kind = dice() % 16;
        if (kind < nt_stores) {
            r.now += memsys_nt_store(r.m, 0, hpa, kLine, r.now);
        } else {
            access(r, hpa, kind % 2 == 0);
        }
        r.now += dice() % 2 * kNs;
        if (dice() % 2000 == 0) {
            r.now += memsys_fence(r.m, 0, MEM_MFENCE, r.now);
        }
    }
    r.now += memsys_fence(r.m, 0, MEM_MFENCE, r.now);
    r.now += memsys_barrier(r.m, 0, r.now);
}

uint64_t sum_of_limits(uint32_t a, uint32_t b) { return a && b ? a + b : 0; }

std::vector<Use> uses_of(const Rig &r) {
    MemCounters n = r.counters();
    const MemDeviceConfig &d = r.device;
    mem_ps read_wire = kLine * UINT64_C(1000000000000) / d.link_read_bandwidth;
    mem_ps there = d.controller_latency_ps + d.cache_latency_ps;
    mem_ps read_ps = holds_of(r, false).read; // a remote one takes longer
    uint64_t reads = n.dram_reads + n.cxl_reads;
    uint32_t prefetches = r.cpu.prefetch_streams ? r.cpu.prefetch_buffers : 0;
    return {
        {"requests of L2", reads, read_ps, r.cpu.l2_requests},
        {"fill and prefetch buffers", reads, read_ps,
         r.cpu.prefetch_streams ? sum_of_limits(r.cpu.fill_buffers, prefetches) : r.cpu.fill_buffers},
        {"write-combining buffers", n.nt_stores, r.cpu.llc.latency_ps, r.cpu.wc_buffers},
        {"link to the host", n.cxl_reads, read_wire, 1},
        {"link to the device", n.cxl_writes, kLine * UINT64_C(1000000000000) / d.link_write_bandwidth, 1},
        {"write credits", n.cxl_writes, d.link_latency_ps + there, 1024},
        {"write queue", n.cxl_writes, there, d.write_queue},
        {"MSHRs of the device", n.flash_reads, d.flash_read_ps, d.cache_mshrs},
        {"flash planes", n.flash_reads, d.flash_read_ps, d.flash_channels},
        {"local DRAM", n.dram_reads + n.dram_writes, kLine * UINT64_C(1000000000000) / r.cpu.dram_bandwidth, 1},
    };
}

} // namespace

// Little's law: places * time >= requests * holding time, for every finite resource under any load.
TEST(Bandwidth, OccupiesEachResourceNoLongerThanItHasPlaces) {
    std::vector<double> most(10);
    std::vector<const char *> names(10);
    for (uint64_t seed = 0; seed < 150; seed++) {
        std::mt19937_64 dice(seed);
        MemCpuConfig cpu = draw_cpu(dice);
        Rig r(cpu, draw_device(dice));
        load_it(r, dice);
        std::vector<Use> uses = uses_of(r);
        ASSERT_EQ(uses.size(), most.size());
        for (size_t i = 0; i < uses.size(); i++) {
            const Use &u = uses[i];
            // Requests that have not ended, such as prefetches, hold a place beyond the end of the run.
            double busy =
                u.places ? double(u.count) * double(u.hold_ps) / (double(u.places) * double(r.now + u.hold_ps)) : 0;
            EXPECT_LE(busy, 1.0) << u.what << ", seed " << seed;
            most[i] = std::max(most[i], busy);
            names[i] = u.what;
        }
        ASSERT_STREQ(memsys_check_invariants(r.m), nullptr) << seed;
    }
    for (size_t i = 0; i < most.size(); i++) {
        std::printf("%-28s busy at most %5.1f %%\n", names[i], 100 * most[i]);
        EXPECT_GT(most[i], std::string(names[i]) == "write credits" ? 0.002 : 0.4) << "not loaded: " << names[i];
    }
}

namespace {

// Optane memory with the values of its profile. Returns the time per line of a pass of stores and flushes over kLines.
double stored_and_flushed_ns(uint64_t buffer_bytes, mem_ps program_ps) {
    MemDeviceConfig d = small_device(true);
    d.capacity_bytes = 64 << 20;
    d.link_latency_ps = 19950;
    d.link_read_bandwidth = d.link_write_bandwidth = UINT64_C(127970000000);
    d.controller_latency_ps = 0;
    d.write_queue = 408;
    d.cache_size_bytes = buffer_bytes;
    d.cache_page_bytes = 256;
    d.cache_latency_ps = 44188;
    d.cache_write_miss = MEM_WRITE_NO_FETCH;
    d.persist_domain = MEM_DOMAIN_ADR;
    d.flash_channels = 6;
    d.flash_dies = 4;
    d.flash_read_ps = 158717;
    d.flash_program_ps = program_ps;
    d.flash_channel_bandwidth = UINT64_C(6800000000);
    Rig r(core_cpu(), d);
    for (uint64_t at = 0; at < kLines * kLine; at += kLine) {
        access(r, kWindow + at, true);
        r.flush(at);
        r.now += kStep;
    }
    r.fence();
    return double(r.now) / 1000 / kLines;
}

} // namespace

// Explains why store and clwb of 4 KiB are slower on Optane memory than published (docs/explanation/calibration.md): a
// line that is read for ownership waits until a page of the full buffer has been programmed, and L2 limits the waiting
// requests.
TEST(Bandwidth, OfStoresIntoAFullBufferIsThatOfItsPrograms) {
    double shipped = stored_and_flushed_ns(96 << 10, 445217), quick = stored_and_flushed_ns(96 << 10, 1000);
    double roomy = stored_and_flushed_ns(2 * kLines * kLine, 445217);
    std::printf("store and clwb, a line: %.1f ns; a program of 1 ns: %.1f ns; a buffer that never fills: %.1f ns\n",
                shipped, quick, roomy);
    double read_ns =
        (23.810 + 2 * 19.950 + 44.188 + 158.717) / core_cpu().l2_requests; // least time per line, by Little's law
    EXPECT_GE(roomy, read_ns);
    EXPECT_LT(quick, 1.5 * read_ns);
    EXPECT_GT(shipped, 2 * quick);
}
