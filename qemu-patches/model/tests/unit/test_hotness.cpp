// SPDX-License-Identifier: GPL-2.0-or-later
// The most accessed pages compared with an exact count in a map; and a check that
// counting changes no result.
#include <algorithm>
#include <map>
#include <random>

#include "../rigs/rig.h"

extern "C" {
#include "device/hotness.h"
}

namespace {

MemDeviceConfig counted(uint32_t hot_pages, bool flash = true) {
    MemDeviceConfig d = small_device(true);
    d.flash_channels = flash ? d.flash_channels : 0;
    d.hot_pages = hot_pages;
    return d;
}

std::vector<MemHotPage> hot_pages(const Rig &r) {
    std::vector<MemHotPage> pages(r.device.hot_pages);
    pages.resize(memsys_hot_pages(r.m, 0, pages.data()));
    return pages;
}

bool same(const MemHotPage &a, const MemHotPage &b) {
    return a.dpa == b.dpa && a.reads == b.reads && a.writes == b.writes;
}

} // namespace

TEST(Hotness, IsWhatReachesTheDevice) {
    for (bool flash : {true, false}) {
        Rig r(small_cpu(), counted(8, flash));
        r.load(kWindow);
        r.load(kWindow); // L1 has it
        r.load(kWindow + 4095);
        r.load(kWindow + 5 * 4096);
        r.load(0); // local
        r.nt_store(5 * 4096, 1);
        r.nt_store(5 * 4096 + kLine, 1);
        r.fence();
        std::vector<MemHotPage> pages = hot_pages(r);
        ASSERT_EQ(pages.size(), 2u);
        EXPECT_TRUE(same(pages[0], {5 * 4096, 1, 2}));
        EXPECT_TRUE(same(pages[1], {0, 2, 0}));
        memsys_reset_counters(r.m);
        EXPECT_TRUE(hot_pages(r).empty());
    }
}

TEST(Hotness, TheHottestAreThoseOfAnExactCount) {
    for (uint32_t most : {1u, 2u, 7u, 100u, 1000u}) {
        MemHotness h;
        mem_hotness_init(&h, UINT64_C(1) << 24);
        std::map<uint64_t, MemHotPage> exact;
        std::mt19937_64 random(most);
        for (int i = 0; i < 60000; i++) {
            uint64_t page = random() % (1 + random() % 4096); // low pages are hotter, with ties
            bool write = random() % 3 == 0;
            mem_hotness_count(&h, page * MEM_HOT_PAGE_LINES + random() % MEM_HOT_PAGE_LINES, write);
            MemHotPage &p = exact.try_emplace(page, MemHotPage{page * 4096, 0, 0}).first->second;
            (write ? p.writes : p.reads)++;
        }
        std::vector<MemHotPage> expected, pages(most);
        for (const auto &[page, counts] : exact) {
            expected.push_back(counts);
        }
        std::sort(expected.begin(), expected.end(), [](const MemHotPage &a, const MemHotPage &b) {
            uint64_t a_count = a.reads + a.writes, b_count = b.reads + b.writes;
            return a_count != b_count ? a_count > b_count : a.dpa < b.dpa;
        });
        expected.resize(std::min(size_t(most), expected.size()));
        pages.resize(mem_hotness_top(&h, pages.data(), most));
        EXPECT_TRUE(std::equal(pages.begin(), pages.end(), expected.begin(), expected.end(), same)) << most;
        mem_hotness_destroy(&h);
    }
}

TEST(Hotness, ACountThatIsFullStaysSo) {
    MemHotness h;
    mem_hotness_init(&h, 1 << 20);
    mem_hotness_count(&h, 0, false);
    h.leaves[0]->reads[0] = UINT32_MAX;
    mem_hotness_count(&h, 0, false);
    EXPECT_EQ(h.leaves[0]->reads[0], UINT32_MAX);
    mem_hotness_destroy(&h);
}

TEST(Hotness, CountingChangesNoResult) {
    Rig with(small_cpu(), counted(16)), without(small_cpu(), counted(0));
    std::mt19937_64 random(5);
    for (int i = 0; i < 20000; i++) {
        uint64_t dpa = random() % (1 << 20) / kLine * kLine, kind = random() % 4;
        for (Rig *r : {&with, &without}) {
            kind == 0   ? r->store(dpa, 1)
            : kind == 1 ? r->nt_store(dpa, 2)
            : kind == 2 ? r->flush(dpa)
                        : r->load(kWindow + dpa);
        }
        ASSERT_EQ(with.now, without.now);
    }
    MemCounters a = with.counters(), b = without.counters();
    EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
    uint64_t counted_lines = 0;
    for (const MemHotPage &page : hot_pages(with)) {
        counted_lines += page.reads + page.writes;
    }
    EXPECT_GT(counted_lines, 100u);
    EXPECT_TRUE(hot_pages(without).empty());
}
