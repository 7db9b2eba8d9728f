// SPDX-License-Identifier: GPL-2.0-or-later
// Pages that cannot be read back: their number, the lines that are lost with them, and that no line is lost that is
// held elsewhere.
#include <cmath>
#include <random>

#include "../rigs/flash_bytes.h"
#include "../rigs/flash_rig.h"

extern "C" {
#include "flash/ftl_internal.h"
}

namespace {

constexpr uint64_t kPage = 4096, kEvery = UINT64_C(1000000000000);
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

MemReadErrors errors(uint64_t at_rated_wear, uint32_t rated, uint32_t worn) {
    return {.at_rated_wear = at_rated_wear, .seed = 7, .rated_cycles = rated, .worn_cycles = worn};
}

// A device of one plane in which half of the places cannot be read.
MemDeviceConfig half_lost(uint64_t seed) {
    MemDeviceConfig d = small_device(true);
    d.flash_channels = 1;
    d.flash_ftl = MEM_FTL_PAGE;
    d.flash_block_pages = 4;
    d.flash_over_provisioning_permille = 500;
    d.flash_gc_free_blocks = 1;
    d.flash_endurance_cycles = d.flash_worn_cycles = 10;
    d.flash_read_errors = kEvery / 2;
    d.flash_read_errors_seed = seed;
    return d;
}

bool is_lost(const MemDeviceConfig &d, uint64_t number) {
    MemReadErrors e = mem_read_errors_of(&d);
    return mem_read_fails(&e, number, 0);
}

// Page 0 is lost at its initial place. `again`: it is also lost at the next place, to which the first program goes.
MemDeviceConfig page_0_lost(bool again) {
    for (uint64_t seed = 0;; seed++) {
        MemDeviceConfig d = half_lost(seed);
        if (is_lost(d, 0) && is_lost(d, d.capacity_bytes / kPage) == again) {
            return d;
        }
    }
}

class LossRig : public Rig {
  public:
    explicit LossRig(const MemDeviceConfig &d) : Rig(small_cpu(), d) {}
    // Load unrelated pages until the caches have evicted all earlier content.
    void evict() {
        memsys_wbinvd(m, 0, now);
        for (uint64_t page = 200; page < 200 + device.cache_size_bytes / kPage; page++) {
            load(kWindow + page * kPage);
        }
        lost.clear();
    }
    Ranges lost_by_loading(uint64_t dpa) {
        lost.clear();
        load(kWindow + dpa);
        return lost;
    }
};

const Ranges kWholePage0 = {{0, kPage}};
const Ranges kNone = {};

} // namespace

TEST(ReadErrors, AreAsManyAsWearAsksFor) {
    const int places = 200000;
    for (uint32_t cycles : {1, 30, 99, 100, 250}) {
        for (uint64_t rate : {kEvery / 1000, kEvery / 10, kEvery / 2}) {
            MemReadErrors e = errors(rate, 100, 0), worn = errors(rate, 100, cycles);
            double p = std::min(1.0, double(rate) / double(kEvery) * cycles / 100);
            int fails = 0;
            for (uint64_t number = 0; number < places; number++) {
                fails += mem_read_fails(&e, number, cycles);
                ASSERT_EQ(mem_read_fails(&e, number, cycles), mem_read_fails(&worn, number, 0));
            }
            double expected = p * places, sigma = std::sqrt(places * p * (1 - p));
            std::printf("%3u of 100 erases, %6.3f %% at 100: expected %8.1f of %d, measured %6d, %+.1f sigma\n", cycles,
                        double(rate) * 100 / double(kEvery), expected, places, fails,
                        sigma > 0 ? (fails - expected) / sigma : 0);
            EXPECT_NEAR(fails, expected, 4.5 * sigma);
        }
    }
}

TEST(ReadErrors, ThereAreNoneWithoutWearAndOnlyTheyBeyondAllOfIt) {
    MemReadErrors all = errors(kEvery, 100, 0), none = errors(0, 100, 50);
    for (uint64_t number = 0; number < 1000; number++) {
        EXPECT_FALSE(mem_read_fails(&all, number, 0));
        EXPECT_TRUE(mem_read_fails(&all, number, 100));
        EXPECT_FALSE(mem_read_fails(&none, number, 50));
    }
    MemReadErrors most = {.at_rated_wear = kEvery, .rated_cycles = UINT32_MAX, .worn_cycles = UINT32_MAX};
    EXPECT_TRUE(mem_read_fails(&most, 1, UINT32_MAX)); // the sum must not overflow
}

TEST(ReadErrors, AnotherSeedAndAnotherEraseAreOtherDraws) {
    int same_seed = 0, same_cycle = 0;
    for (uint64_t number = 0; number < 10000; number++) {
        MemReadErrors a = errors(kEvery / 2, 100, 100), b = a, c = errors(kEvery / 2, 101, 101);
        b.seed++;
        same_seed += mem_read_fails(&a, number, 0) == mem_read_fails(&b, number, 0);
        same_cycle += mem_read_fails(&a, number, 0) == mem_read_fails(&c, number, 0);
    }
    EXPECT_NEAR(same_seed, 5000, 250);
    EXPECT_NEAR(same_cycle, 5000, 250);
}

TEST(ReadErrors, AreKeptWithTheFlash) {
    MemDeviceConfig config = with_ftl(small_flash());
    config.flash_endurance_cycles = 3;
    config.flash_read_errors = kEvery / 4;
    FlashRig saved(config), loaded(config);
    for (uint64_t i = 0; i < 777; i++) {
        saved.program(i * i % 61, 0);
    }
    ASSERT_EQ(load_flash(loaded.f, save_flash(saved.f)), nullptr);
    int lost = 0;
    for (uint64_t page = 0; page < 64; page++) {
        bool is = saved.read(page, kUs).lost;
        EXPECT_EQ(loaded.read(page, kUs).lost, is) << page;
        lost += is;
    }
    EXPECT_GT(lost, 5);
    EXPECT_LT(lost, 60);
    EXPECT_GT(saved.count.flash_read_failures, uint64_t(lost)); // cleaning also met lost pages
}

TEST(ReadErrors, WornCyclesAreLifeUsed) {
    MemDeviceConfig d = half_lost(1);
    LossRig r(d);
    EXPECT_EQ(memsys_life_used_percent(r.m, 0), 100u);
}

TEST(ReadErrors, APageIsLostOnceAndIsProgrammedElsewhere) {
    LossRig r(page_0_lost(false));
    mem_ps stall = r.load(kWindow + 5 * kLine);
    EXPECT_EQ(stall, r.miss_ps()); // reading a lost page takes the usual time
    EXPECT_EQ(r.lost, kWholePage0);
    EXPECT_EQ(r.lost_by_loading(6 * kLine), kNone) << "it is in the cache";
    EXPECT_EQ(r.counters().flash_programs, 0u);
    r.evict();
    EXPECT_GE(r.counters().flash_programs, 1u);
    EXPECT_EQ(r.lost_by_loading(0), kNone) << "what is left of it is elsewhere, and good";
    EXPECT_EQ(r.counters().lines_lost % 64, 0u);
}

TEST(ReadErrors, APageThatIsLostAgainIsToldOfAgain) {
    LossRig r(page_0_lost(true));
    EXPECT_EQ(r.lost_by_loading(0), kWholePage0);
    r.evict();
    EXPECT_EQ(r.lost_by_loading(0), kWholePage0);
}

TEST(ReadErrors, AWriteOfAWholeLineNeedsNothingOfIt) {
    LossRig r(page_0_lost(false));
    r.nt_store(3 * kLine, 1); // a whole line, so its buffer is sent; its page is fetched
    r.fence();
    EXPECT_EQ(r.lost, (Ranges{{0, 3 * kLine}, {4 * kLine, kPage - 4 * kLine}}));
    LossRig part(page_0_lost(false));
    part.nt_store(3 * kLine, 1, 8);
    part.fence();
    EXPECT_EQ(part.lost, kWholePage0);
}

TEST(ReadErrors, WhatWasWrittenWithoutAFetchIsThere) {
    MemDeviceConfig d = page_0_lost(false);
    d.cache_write_miss = MEM_WRITE_NO_FETCH;
    for (bool read : {true, false}) { // the page is completed by a load, or when it is evicted
        LossRig r(d);
        r.nt_store(0, 1);
        r.nt_store(63 * kLine, 1);
        r.nt_store(5 * kLine, 1, 16);
        r.fence();
        EXPECT_EQ(r.lost, kNone);
        if (read) {
            r.load(kWindow + 7 * kLine);
        } else {
            memsys_wbinvd(r.m, 0, r.now);
            for (uint64_t page = 200; page < 216; page++) {
                if (!is_lost(d, page)) {
                    r.load(kWindow + page * kPage);
                }
            }
            for (uint64_t page = 100; page < 200 && r.counters().cache_completions == 0; page++) {
                if (!is_lost(d, page)) {
                    r.load(kWindow + page * kPage);
                }
            }
        }
        EXPECT_EQ(r.lost, (Ranges{{kLine, 62 * kLine}})) << read;
    }
}

TEST(ReadErrors, WhatTheWriteLogHoldsIsThere) {
    MemDeviceConfig d = page_0_lost(false);
    d.cache_write_miss = MEM_WRITE_LOG;
    d.write_log_bytes = 64 * kLine;
    LossRig r(d);
    r.nt_store(2 * kLine, 1);
    r.fence();
    EXPECT_EQ(r.lost_by_loading(0), (Ranges{{0, 2 * kLine}, {3 * kLine, kPage - 3 * kLine}}));
}

// Cleaning moves pages that it cannot read. It takes the bytes that the cache holds from there.
TEST(ReadErrors, CleaningLosesWhatTheCacheDoesNotHave) {
    MemDeviceConfig d = half_lost(3);
    LossRig r(d);
    std::mt19937_64 random(1);
    uint64_t by_cleaning = 0, spared = 0;
    for (int i = 0; i < 3000; i++) {
        uint64_t page = random() % 250;
        MemCounters before = r.counters();
        r.lost.clear();
        r.nt_store(page * kPage, uint8_t(i)); // the first line of the page
        r.fence();
        MemCounters after = r.counters();
        uint64_t failures = after.flash_read_failures - before.flash_read_failures, whole = 0, others = 0;
        for (auto [dpa, size] : r.lost) {
            bool fetched = dpa == page * kPage + kLine && size == kPage - kLine;
            EXPECT_TRUE(fetched || size == kPage) << "else the cache has none of it";
            whole += fetched || size == kPage;
            others += !fetched;
        }
        EXPECT_LE(whole, failures);
        EXPECT_TRUE(!others || after.flash_gc_moves > before.flash_gc_moves);
        by_cleaning += others;
        spared += failures - whole;
    }
    std::printf("%llu pages lost by cleaning, %llu that the cache had\n", (unsigned long long)by_cleaning,
                (unsigned long long)spared);
    EXPECT_GT(by_cleaning, 100u);
    EXPECT_GT(spared, 10u);
}

// A protected cache saves its pages, so that later reads do not go to the place at which the page was lost.
TEST(ReadErrors, WhatAPowerCutLeavesCanBeRead) {
    for (bool cut : {true, false}) {
        MemDeviceConfig d = page_0_lost(false);
        LossRig r(d);
        r.load(kWindow);
        r.nt_store(0, 1);
        r.fence();
        if (cut) {
            memsys_power_cut(r.m, r.now);
        } else {
            memsys_power_off(r.m, r.now);
        }
        std::vector<uint8_t> kept;
        memsys_flash_save(
            r.m, 0,
            [](void *opaque, const void *bytes, size_t count) {
                auto *out = static_cast<std::vector<uint8_t> *>(opaque);
                out->insert(out->end(), static_cast<const uint8_t *>(bytes),
                            static_cast<const uint8_t *>(bytes) + count);
            },
            &kept);
        LossRig next(d);
        ASSERT_EQ(memsys_flash_load(next.m, 0, kept.data(), kept.size()), nullptr);
        EXPECT_EQ(next.lost_by_loading(0), kNone) << cut;
    }
}

TEST(ReadErrors, AreRefusedWhereNothingWears) {
    MemDeviceConfig d = half_lost(1);
    EXPECT_EQ(memsys_check_device(&d), nullptr);
    d.flash_endurance_cycles = 0;
    EXPECT_STREQ(memsys_check_device(&d),
                 "flash_read_errors must be 0 unless flash_endurance_cycles gives the erase count that they are for");
    d = half_lost(1);
    d.flash_ftl = MEM_FTL_NONE;
    EXPECT_STREQ(memsys_check_device(&d),
                 "flash_read_errors must be 0 unless flash_ftl is page: without one no block is ever erased");
    d = half_lost(1);
    d.flash_read_errors = kEvery + 1;
    EXPECT_STREQ(memsys_check_device(&d), "flash_read_errors must not exceed 1000000000000");
}

TEST(ReadErrors, NothingIsPostedBesideThem) {
    MemDeviceConfig d = half_lost(1);
    LossRig with(d);
    d.flash_read_errors = 0;
    LossRig without(d);
    EXPECT_FALSE(memsys_may_post(with.m));
    EXPECT_TRUE(memsys_may_post(without.m));
}
