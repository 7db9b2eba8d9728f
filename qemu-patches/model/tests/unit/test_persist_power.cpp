// SPDX-License-Identifier: GPL-2.0-or-later
// Durability alone, without a CPU or a device: order of programs, domains, energy, barrier, events, shutdown state.
#include <gtest/gtest.h>

#include <cstring>

#include "../rigs/rig.h"

extern "C" {
#include "persist/persist.h"
}

namespace {

MemDeviceConfig unprotected() {
    MemDeviceConfig d = small_device(false);
    d.cache_page_bytes = 256; // four lines
    return d;
}

// The lines of one device and their media. The default configuration has no protection.
class Lines {
  public:
    explicit Lines(const MemDeviceConfig &config = unprotected()) : media_(64 * kLine) {
        MemMedia media = {.base = media_.data()};
        MemCallbacks callbacks = {};
        mem_persist_init(&p, 0, &config, &media, &callbacks, &supply);
        mem_persist_listen(&p, &page_saved);
    }
    ~Lines() { mem_persist_destroy(&p); }

    void store(uint64_t line, uint8_t value, mem_ps at) {
        mem_persist_run(&p, at);
        mem_persist_dirtied(&p, line, at);
        std::memset(&media_[(line - first()) * kLine], value, kLine);
    }
    // Store at `at` and write back at once.
    void write(uint64_t line, uint8_t value, mem_ps at, mem_ps accepted) {
        store(line, value, at);
        mem_persist_written_back(&p, line, at, accepted);
    }
    MemPowerCut cut(mem_ps at) {
        MemPowerCut outcome = mem_persist_power_cut(&p, at);
        supply.cut_after = UINT64_MAX;
        return outcome;
    }
    int byte(uint64_t line) const { return media_[(line - first()) * kLine]; }
    uint64_t first() const { return p.first_line == MEM_NO_LINE ? 0 : p.first_line; }

    MemPowerSupply supply = {.event_count = 0, .cut_after = UINT64_MAX};
    MemPersist p;
    std::vector<uint64_t> pages_saved;

  private:
    MemPageSaved page_saved = {
        [](void *opaque, uint64_t page) { static_cast<Lines *>(opaque)->pages_saved.push_back(page); }, this};
    std::vector<uint8_t> media_;
};

// Two versions of a line with programs that end in reverse order: version 1 at 900, version 2 at 500.
Lines &late_program(Lines &l) {
    l.write(0, 1, 0, 10);
    mem_persist_programmed(&l.p, 0, 4, 20, 900);
    l.write(0, 2, 30, 40);
    mem_persist_programmed(&l.p, 0, 4, 50, 500);
    return l;
}

} // namespace

TEST(Programs, ALateEndOfAnOldOneBringsNothingBack) {
    for (mem_ps at : {499, 500, 899, 900, 2000}) {
        Lines l;
        late_program(l).cut(at);
        EXPECT_EQ(l.byte(0), at < 500 ? 0 : 2) << at;
    }
}

TEST(Programs, AnOlderVersionCountsUntilTheNewerOneIsThere) {
    Lines l;
    l.write(0, 1, 0, 10);
    mem_persist_programmed(&l.p, 0, 4, 20, 100);
    l.write(0, 2, 30, 40);
    mem_persist_programmed(&l.p, 0, 4, 50, 500);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 499), MEM_LINE_PROGRAMMING);
    l.cut(499);
    EXPECT_EQ(l.byte(0), 1);
}

TEST(Programs, CarryWhatHasArrivedByTheirStart) {
    Lines l;
    l.write(0, 1, 0, 10);
    l.write(0, 2, 20, 300); // still on its way
    mem_persist_programmed(&l.p, 0, 4, 100, 200);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 1000), MEM_LINE_DEVICE_CACHE);
    l.cut(1000);
    EXPECT_EQ(l.byte(0), 1);
}

TEST(Programs, NeedNoFetchAndMayCarryALineTwice) {
    Lines l;
    l.write(5, 7, 0, 10);
    mem_persist_programmed(&l.p, 4, 4, 20, 800);
    mem_persist_programmed(&l.p, 4, 4, 30, 300);
    EXPECT_EQ(mem_persist_state(&l.p, 5, 299), MEM_LINE_PROGRAMMING);
    EXPECT_EQ(mem_persist_state(&l.p, 5, 300), MEM_LINE_DURABLE);
}

TEST(Programs, SuspendedOnesEndLater) {
    Lines l;
    l.write(0, 1, 0, 10);
    mem_persist_programmed(&l.p, 0, 4, 20, 100);
    mem_persist_run(&l.p, 50);
    mem_persist_program_moved(&l.p, 0, 4, 100, 20, 180);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 179), MEM_LINE_PROGRAMMING);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 180), MEM_LINE_DURABLE);
    mem_persist_run(&l.p, 100); // the event scheduled for this time is void
    EXPECT_EQ(mem_persist_check(&l.p), nullptr);
    l.cut(179);
    EXPECT_EQ(l.byte(0), 0);
}

// While the device is untimed, a program takes no time, and can end with an earlier one that is suspended later.
TEST(Programs, OfNoDurationMoveWithTheOneBeforeThem) {
    Lines l;
    l.write(0, 1, 0, 10);
    mem_persist_programmed(&l.p, 0, 4, 20, 100);
    l.write(0, 2, 30, 40);
    mem_persist_programmed(&l.p, 0, 4, 100, 100);
    mem_persist_program_moved(&l.p, 0, 4, 100, 20, 180);
    EXPECT_EQ(mem_persist_check(&l.p), nullptr);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 180), MEM_LINE_DURABLE);
    mem_persist_run(&l.p, 200);
    EXPECT_EQ(mem_persist_check(&l.p), nullptr);
    l.cut(200);
    EXPECT_EQ(l.byte(0), 2);
}

TEST(Ignored, VolatileLinesAndDevicesWithoutMedia) {
    MemDeviceConfig config = unprotected();
    config.volatile_bytes = 8 * kLine;
    Lines l(config);
    l.write(8, 1, 0, 10);
    mem_persist_dirtied(&l.p, 7, 0);
    mem_persist_written_back(&l.p, 7, 0, 10);
    EXPECT_EQ(l.p.pool.record_count, 1u);
    EXPECT_EQ(l.cut(1).lines_lost, 1u);

    MemPersist none;
    MemPowerSupply supply = {.event_count = 0, .cut_after = UINT64_MAX};
    MemCallbacks callbacks = {};
    mem_persist_init(&none, 0, &config, nullptr, &callbacks, &supply);
    mem_persist_dirtied(&none, 9, 0);
    mem_persist_written_back(&none, 9, 0, 10);
    mem_persist_programmed(&none, 8, 4, 20, 30);
    mem_persist_program_moved(&none, 8, 4, 30, 20, 40);
    EXPECT_EQ(mem_persist_state(&none, 9, 5), MEM_LINE_DURABLE);
    EXPECT_EQ(mem_persist_in_flight_until(&none, 9, 5), 0u);
    EXPECT_EQ(mem_persist_power_cut(&none, 5).lines_lost, 0u);
    EXPECT_EQ(supply.event_count, 0u);
    mem_persist_destroy(&none);
}

TEST(WithoutFlash, LinesAreDurableOnAcceptance) {
    MemDeviceConfig config = small_device(true);
    config.flash_channels = 0;
    Lines l(config);
    l.write(0, 1, 0, 10);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 9), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 10), MEM_LINE_DURABLE);
}

TEST(WithoutFlash, UnprotectedLinesAreDurableOnceABarrierWouldHaveTakenThem) {
    MemDeviceConfig config = unprotected();
    config.flash_channels = 0;
    config.wbarrier_latency_ps = 100;
    for (mem_ps cut : {109, 110}) {
        Lines l(config);
        l.write(0, 1, 0, 10);
        EXPECT_EQ(mem_persist_state(&l.p, 0, 109), MEM_LINE_PROGRAMMING);
        EXPECT_EQ(mem_persist_state(&l.p, 0, 110), MEM_LINE_DURABLE);
        EXPECT_EQ(mem_persist_barrier(&l.p, 5), 110u);
        EXPECT_EQ(mem_persist_check(&l.p), nullptr);
        EXPECT_EQ(l.cut(cut).lines_lost, cut == 109 ? 1u : 0u);
        EXPECT_EQ(l.byte(0), cut == 109 ? 0 : 1);
    }
}

// Cut the power at 100, with line 0 accepted, line 1 in flight and line 2 dirty in the CPU, each with the value 1.
static MemPowerCut cut_in(uint32_t domain, bool cache_protected, uint32_t cut_lines, std::vector<int> *survivors) {
    MemDeviceConfig config = unprotected();
    config.cache_power_loss_protected = cache_protected;
    config.persist_domain = domain;
    config.cut_lines = cut_lines;
    config.gpf_energy_uj = 1000;
    config.gpf_line_nj = 3;
    config.gpf_page_nj = 50;
    Lines l(config);
    l.write(0, 1, 0, 50);
    l.write(1, 1, 0, 101);
    l.store(2, 1, 0);
    MemPowerCut cut = l.cut(100);
    *survivors = {l.byte(0), l.byte(1), l.byte(2)};
    EXPECT_EQ(mem_persist_check(&l.p), nullptr);
    return cut;
}

TEST(Domain, ReachesAsFarAsItSays) {
    using Survivors = std::vector<int>;
    const struct {
        uint32_t domain, cut_lines;
        Survivors is_protected, is_not;
    } cases[] = {
        {MEM_DOMAIN_NONE, MEM_CUT_LOST, {1, 0, 0}, {0, 0, 0}}, {MEM_DOMAIN_NONE, MEM_CUT_KEPT, {1, 0, 1}, {0, 0, 0}},
        {MEM_DOMAIN_ADR, MEM_CUT_LOST, {1, 1, 0}, {0, 0, 0}},  {MEM_DOMAIN_ADR, MEM_CUT_KEPT, {1, 1, 1}, {0, 0, 0}},
        {MEM_DOMAIN_EADR, MEM_CUT_LOST, {1, 1, 1}, {0, 0, 0}}, {MEM_DOMAIN_GPF, MEM_CUT_LOST, {1, 1, 1}, {1, 1, 1}},
    };
    for (const auto &c : cases) {
        for (bool cache_protected : {true, false}) {
            Survivors survivors;
            MemPowerCut cut = cut_in(c.domain, cache_protected, c.cut_lines, &survivors);
            EXPECT_EQ(survivors, cache_protected ? c.is_protected : c.is_not) << c.domain << c.cut_lines;
            EXPECT_EQ(cut.dirty_shutdown, !cache_protected && c.domain != MEM_DOMAIN_GPF);
            EXPECT_EQ(cut.lines_lost + uint64_t(survivors[0] + survivors[1] + survivors[2]), 3u);
            EXPECT_EQ(cut.lines_kept, uint64_t(survivors[2]));
            uint64_t energy = c.domain != MEM_DOMAIN_GPF ? 0 : cache_protected ? 3 : 3 + 50;
            EXPECT_EQ(cut.energy_used_nj, energy);
        }
    }
}

// Lines 0, 4 and 8, on different pages, are dirty in the CPU. The energy is 1000 nJ.
static MemPowerCut flush_with(uint64_t line_nj, uint64_t page_nj, std::vector<int> *survivors) {
    MemDeviceConfig config = unprotected();
    config.persist_domain = MEM_DOMAIN_GPF;
    config.gpf_energy_uj = 1;
    config.gpf_line_nj = line_nj;
    config.gpf_page_nj = page_nj;
    Lines l(config);
    for (uint64_t line : {8, 0, 4}) {
        l.store(line, 1, 0);
    }
    MemPowerCut cut = l.cut(100);
    *survivors = {l.byte(0), l.byte(4), l.byte(8)};
    return cut;
}

TEST(Gpf, GoesByLineAndPageNumberUntilTheEnergyIsUsedUp) {
    const struct {
        uint64_t line_nj, page_nj, used_nj;
        std::vector<int> survivors;
    } cases[] = {
        {100, 233, 999, {1, 1, 1}}, {100, 234, 768, {1, 1, 0}}, {100, 700, 1000, {1, 0, 0}}, {100, 701, 300, {0, 0, 0}},
        {334, 0, 668, {1, 1, 0}},   {500, 0, 1000, {1, 1, 0}},  {500, 1, 1000, {0, 0, 0}},   {1001, 1000, 0, {0, 0, 0}},
    };
    for (const auto &c : cases) {
        std::vector<int> survivors;
        MemPowerCut cut = flush_with(c.line_nj, c.page_nj, &survivors);
        EXPECT_EQ(survivors, c.survivors) << c.line_nj << " " << c.page_nj;
        EXPECT_EQ(cut.energy_used_nj, c.used_nj);
        EXPECT_EQ(cut.dirty_shutdown, c.survivors != std::vector<int>({1, 1, 1}));
        EXPECT_EQ(cut.lines_lost + cut.lines_kept, 3u);
    }
}

TEST(CutLines, TossesDependOnSeedAndLineAlone) {
    auto kept_of = [](uint64_t seed, bool backwards) {
        MemDeviceConfig config = small_device(true);
        config.cut_lines = MEM_CUT_SEEDED;
        config.cut_seed = seed;
        Lines l(config);
        for (uint64_t i = 0; i < 64; i++) {
            l.store(backwards ? 63 - i : i, 1, 0);
        }
        l.cut(1);
        uint64_t kept = 0;
        for (uint64_t line = 0; line < 64; line++) {
            kept |= uint64_t(l.byte(line)) << line;
        }
        return kept;
    };
    uint64_t total = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        EXPECT_EQ(kept_of(seed, false), kept_of(seed, true));
        EXPECT_NE(kept_of(seed, false), kept_of(seed + 1, false));
        total += uint64_t(__builtin_popcountll(kept_of(seed, false)));
    }
    EXPECT_NEAR(double(total), 3200, 4 * 40); // 6400 fair tosses, within 4 standard deviations
}

TEST(Barrier, EndsItsLatencyAfterTheLastAcceptance) {
    MemDeviceConfig config = unprotected();
    config.wbarrier_latency_ps = 1000;
    Lines l(config);
    EXPECT_EQ(mem_persist_barrier(&l.p, 5), 1005u); // nothing to wait for
    l.write(0, 1, 10, 400);
    l.write(1, 2, 20, 300);
    l.store(2, 3, 30); // stays in the CPU: no barrier covers it
    EXPECT_EQ(mem_persist_barrier(&l.p, 100), 1400u);
    EXPECT_EQ(mem_persist_state(&l.p, 1, 299), MEM_LINE_IN_FLIGHT);
    EXPECT_EQ(mem_persist_state(&l.p, 1, 300), MEM_LINE_PROGRAMMING);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 1399), MEM_LINE_PROGRAMMING);
    EXPECT_EQ(mem_persist_state(&l.p, 0, 1400), MEM_LINE_DURABLE);
    l.cut(1400);
    EXPECT_EQ(l.byte(0), 1);
    EXPECT_EQ(l.byte(1), 2);
    EXPECT_EQ(l.byte(2), 0);
}

TEST(Gpf, TellsOfEachPageItPrograms) {
    MemDeviceConfig config = unprotected();
    config.persist_domain = MEM_DOMAIN_GPF;
    config.gpf_energy_uj = 2;
    config.gpf_page_nj = 1000;
    Lines l(config);
    for (uint64_t line : {9, 1, 8, 5}) { // four lines a page
        l.write(line, 1, 0, 10);
    }
    l.cut(20);
    EXPECT_EQ(l.pages_saved, (std::vector<uint64_t>{0, 1})) << "by number, as far as the energy goes";
}

TEST(Events, PowerIsGoneRightAfterTheNth) {
    // Line 0 leaves the CPU at 0 and is durable at 200, line 1 leaves at 50 and is durable at 100: four events by time.
    for (uint64_t n = 1; n <= 4; n++) {
        Lines l(small_device(true));
        l.supply.cut_after = n;
        l.write(0, 1, 0, 200);
        l.write(1, 2, 50, 100);
        mem_persist_run(&l.p, 1000);
        EXPECT_TRUE(mem_persist_power_is_gone(&l.p));
        EXPECT_EQ(l.supply.event_count, n);
        l.store(1, 3, 1000); // the store of the call during which the power went
        MemPowerCut cut = l.cut(1000);
        EXPECT_EQ(l.byte(0), n >= 4 ? 1 : 0);
        EXPECT_EQ(l.byte(1), n >= 3 ? 2 : 0);
        EXPECT_FALSE(cut.dirty_shutdown);
        EXPECT_FALSE(mem_persist_power_is_gone(&l.p));
    }
}

TEST(Shutdown, IsDirtyIfThePromiseWasBroken) {
    MemShutdown s = {};
    MemPowerCut clean = {}, broken = {};
    broken.dirty_shutdown = true;
    mem_shutdown_cut(&s, &broken); // nothing was written
    mem_shutdown_power_on(&s);
    EXPECT_EQ(s.dirty_count, 0u);
    mem_shutdown_written(&s);
    mem_shutdown_cut(&s, &clean); // all was saved
    mem_shutdown_power_on(&s);
    EXPECT_EQ(s.dirty_count, 0u);
    mem_shutdown_written(&s);
    mem_shutdown_orderly(&s);
    mem_shutdown_cut(&s, &broken);
    EXPECT_FALSE(s.dirty);
    mem_shutdown_written(&s);
    mem_shutdown_cut(&s, &broken);
    EXPECT_TRUE(s.dirty);
    mem_shutdown_power_on(&s);
    EXPECT_EQ(s.dirty_count, 1u);
    EXPECT_FALSE(s.dirty);
    s = {.dirty = true, .dirty_count = UINT32_MAX};
    mem_shutdown_power_on(&s);
    EXPECT_EQ(s.dirty_count, UINT32_MAX);
}

TEST(Check, FindsWhatIsBroken) {
    Lines l;
    l.write(0, 1, 0, 10);
    l.p.cpu_dirty_count++;
    EXPECT_NE(mem_persist_check(&l.p), nullptr);
    l.p.cpu_dirty_count--;
    l.p.pool.version_count++;
    EXPECT_NE(mem_persist_check(&l.p), nullptr);
    l.p.pool.version_count--;
    uint32_t record = mem_pool_find(&l.p.pool, 0);
    l.p.pool.records[record].newest = MEM_NO_INDEX;
    EXPECT_NE(mem_persist_check(&l.p), nullptr);
    l.p.pool.records[record].newest = l.p.pool.records[record].oldest;
    l.p.pool.versions[l.p.pool.records[record].newest].programmed_ps = 5;
    EXPECT_NE(mem_persist_check(&l.p), nullptr);
    l.p.pool.versions[l.p.pool.records[record].newest].programmed_ps = MEM_NEVER;
    EXPECT_EQ(mem_persist_check(&l.p), nullptr);
    l.p.pool.records[record].oldest = l.p.pool.records[record].newest = MEM_NO_INDEX;
    EXPECT_NE(mem_persist_check(&l.p), nullptr);
}
