// SPDX-License-Identifier: GPL-2.0-or-later
// The effects of misses, writes, prefetches and changes at run time, to the picosecond.
#include <algorithm>
#include <string>
#include <utility>

#include "../rigs/device_rig.h"

namespace {

constexpr mem_ps kLinePs = 1; // a line on the link
constexpr uint64_t kPage = 4096;

// Only flash takes time: 10 us a read, 70 us a program, on 8 channels. 16 frames in one set.
MemDeviceConfig flash_device() {
    MemDeviceConfig c = small_device(true);
    c.link_latency_ps = 0;
    c.link_read_bandwidth = c.link_write_bandwidth = UINT64_C(64000000000000);
    c.controller_latency_ps = c.cache_latency_ps = 0;
    c.flash_channels = 8;
    return c;
}

MemDeviceConfig log_device(uint64_t lines_of_a_half) {
    MemDeviceConfig c = flash_device();
    c.cache_write_miss = MEM_WRITE_LOG;
    c.write_log_bytes = 2 * kLine * lines_of_a_half;
    return c;
}

bool sound(const DeviceRig &r) {
    const char *broken = mem_device_check_state(&r.d);
    EXPECT_STREQ(broken, nullptr);
    return !broken;
}

} // namespace

// ---- MSHRs ----

TEST(Mshrs, AMissWaitsForTheFirstFetchToEnd) {
    MemDeviceConfig c = flash_device();
    c.cache_mshrs = 2;
    DeviceRig r(c);
    expect_form("first of two", 10 * kUs + kLinePs, r.read(0 * kPage, 0).done_ps);
    expect_form("second of two", 11 * kUs + kLinePs, r.read(1 * kPage, 1 * kUs).done_ps);
    MemReadTimes t = r.read(2 * kPage, 10 * kUs - 1);
    expect_form("third, 1 ps before the first ends", 20 * kUs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.queue_ps, 1u);
    t = r.read(3 * kPage, 11 * kUs);
    expect_form("fourth, as the second ends", 21 * kUs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.queue_ps, 0u);
}

TEST(Mshrs, BoundTheRateOfMisses) {
    for (uint32_t mshrs : {1u, 3u, 8u}) {
        MemDeviceConfig c = flash_device();
        c.cache_mshrs = mshrs;
        DeviceRig r(c);
        mem_ps last = 0;
        for (uint64_t page = 0; page < 120; page++) {
            last = r.read(page * kPage, 0).done_ps;
        }
        std::string what = "120 misses at once, " + std::to_string(mshrs) + " MSHRs";
        expect_form(what.c_str(), 120 / mshrs * 10 * kUs + mshrs * kLinePs, last);
    }
}

TEST(Mshrs, AccessesToAPageUnderWayMerge) {
    MemDeviceConfig c = flash_device();
    c.cache_mshrs = 1;
    DeviceRig r(c);
    r.read(0, 0);
    MemReadTimes t = r.read(64, 4 * kUs);
    expect_form("read of the same page", 10 * kUs + 2 * kLinePs, t.done_ps);
    EXPECT_TRUE(t.hit);
    EXPECT_EQ(t.why.flash_ps, 6 * kUs);
    expect_form("write of the same page", 10 * kUs, r.write(128, 5 * kUs).accepted_ps);
    EXPECT_EQ(r.count.cache_merges, 2u);
    EXPECT_EQ(r.count.flash_reads, 1u);
    r.read(192, 10 * kUs);
    EXPECT_EQ(r.count.cache_merges, 2u) << "it is there";
}

// ---- Write-back and write-through ----

TEST(WriteThrough, AWriteJoinsAProgramThatHasNotStarted) {
    MemDeviceConfig c = flash_device();
    c.cache_write = MEM_WRITE_THROUGH;
    c.flash_channels = 1;
    DeviceRig r(c);
    r.read(0, 0);
    r.read(kPage, 0);
    r.write(0, 100 * kUs - kLinePs); // accepted at 100 us: the program takes the only plane until 170 us
    r.write(kPage, 110 * kUs);
    EXPECT_EQ(r.count.cache_through_programs, 2u);
    r.write(kPage + 64, 170 * kUs - kLinePs);
    EXPECT_EQ(r.count.cache_through_joins, 1u) << "accepted as the second program starts";
    r.write(kPage + 128, 170 * kUs);
    EXPECT_EQ(r.count.cache_through_joins, 1u) << "accepted 1 ps after its start";
    EXPECT_EQ(r.count.cache_through_programs, 3u);
    EXPECT_EQ(r.count.flash_programs, 3u);
    EXPECT_EQ(r.d.cache.pages_dirtied, 0u);
    sound(r);
}

TEST(WriteThrough, APageStaysUntilItsProgramHasStarted) {
    MemDeviceConfig c = flash_device();
    c.cache_write = MEM_WRITE_THROUGH;
    c.cache_size_bytes = kPage;
    c.flash_channels = 1;
    DeviceRig r(c);
    r.write(0, 0);
    r.write(64, 11 * kUs); // waits behind the program that started at 10 us: starts at 80 us
    EXPECT_EQ(r.count.cache_through_programs, 2u);
    expect_form("other page", kLinePs + (80 + 70 + 10) * kUs + kLinePs, r.read(kPage, 20 * kUs).done_ps);
    EXPECT_EQ(r.count.cache_writebacks, 0u);
}

TEST(WriteBack, ADirtyPageIsProgrammedWhenItLeaves) {
    MemDeviceConfig c = flash_device();
    c.cache_size_bytes = kPage;
    DeviceRig r(c);
    r.write(0, 0);
    r.write(64, 20 * kUs);
    EXPECT_EQ(r.count.flash_programs, 0u);
    r.read(kPage, 40 * kUs);
    EXPECT_EQ(r.count.flash_programs, 1u);
    EXPECT_EQ(r.count.cache_writebacks, 1u);
    r.read(2 * kPage, 60 * kUs);
    EXPECT_EQ(r.count.flash_programs, 1u) << "the second page was clean";
}

// ---- Write misses without a fetch ----

TEST(NoFetch, AWriteMissIsAcceptedAtOnce) {
    MemDeviceConfig c = flash_device();
    c.cache_write_miss = MEM_WRITE_NO_FETCH;
    DeviceRig r(c);
    expect_form("write miss", kLinePs, r.write(0, 0).accepted_ps);
    EXPECT_EQ(r.count.cache_unfetched, 1u);
    EXPECT_EQ(r.count.flash_reads, 0u);
    MemReadTimes t = r.read(0, kUs);
    expect_form("read of what was written", kUs + kLinePs, t.done_ps);
    EXPECT_TRUE(t.hit);
    t = r.read(64, 2 * kUs);
    expect_form("read of what was not", 12 * kUs + kLinePs, t.done_ps);
    EXPECT_FALSE(t.hit);
    EXPECT_EQ(mem_masks_count(&r.d.masks), 0u) << "the page is whole now";
    t = r.read(128, 20 * kUs);
    expect_form("and all of it is there", 20 * kUs + kLinePs, t.done_ps);
    sound(r);
}

TEST(NoFetch, AWholePageNeedsNoMask) {
    MemDeviceConfig c = flash_device();
    c.cache_write_miss = MEM_WRITE_NO_FETCH;
    DeviceRig r(c);
    for (uint64_t line = 0; line < kPage / kLine; line++) {
        EXPECT_EQ(mem_masks_count(&r.d.masks), line ? 1u : 0u);
        r.write(line * kLine, line * kUs, UINT64_C(0xffffffff));
        r.write(line * kLine, line * kUs, ~UINT64_C(0xffffffff));
    }
    EXPECT_EQ(mem_masks_count(&r.d.masks), 0u);
    EXPECT_TRUE(r.read(0, kUs * 100).hit);
    EXPECT_EQ(r.count.flash_reads, 0u);
}

TEST(NoFetch, APartlyValidPageIsReadThenProgrammedBeforeItsFrameIsFree) {
    MemDeviceConfig c = flash_device();
    c.cache_write_miss = MEM_WRITE_NO_FETCH;
    c.cache_size_bytes = kPage;
    DeviceRig r(c);
    r.write(0, 0);
    // The next page's write takes the frame when the program of the first page starts, after 10 us of reading.
    expect_form("write that evicts", 100 * kUs + 10 * kUs + kLinePs, r.write(kPage, 100 * kUs).accepted_ps);
    EXPECT_EQ(r.count.cache_completions, 1u);
    EXPECT_EQ(r.count.flash_reads, 1u);
    EXPECT_EQ(r.count.flash_programs, 1u);
    EXPECT_EQ(mem_masks_count(&r.d.masks), 1u);
    sound(r);
}

TEST(NoFetch, WithoutAMaskLeftTheWriteFetches) {
    MemValidMasks m;
    mem_masks_init(&m, 32768); // 2 MiB pages: 256 KiB a mask
    for (uint32_t i = 0; i < 256; i++) {
        ASSERT_NE(mem_masks_take(&m), MEM_NO_MASK);
    }
    EXPECT_EQ(mem_masks_take(&m), MEM_NO_MASK);
    mem_masks_free(&m, 7);
    EXPECT_EQ(mem_masks_take(&m), 7u);
    mem_masks_destroy(&m);

    MemDeviceConfig c = flash_device();
    c.cache_write_miss = MEM_WRITE_NO_FETCH;
    DeviceRig r(c);
    r.d.masks.most = 1;
    r.write(0, 0);
    expect_form("second write miss", 11 * kUs, r.write(kPage, kUs).accepted_ps - kLinePs);
    EXPECT_EQ(r.count.flash_reads, 1u);
    EXPECT_EQ(r.count.cache_unfetched, 1u);
    sound(r);
}

// ---- The write log ----

TEST(WriteLog, TakesWritesWithoutTouchingFlashAndServesReads) {
    DeviceRig r(log_device(8));
    for (uint64_t i = 0; i < 8; i++) {
        expect_form("logged write", i * kUs + kLinePs, r.write(i * kPage, i * kUs).accepted_ps);
    }
    EXPECT_EQ(r.count.flash_reads + r.count.flash_programs, 0u);
    MemReadTimes t = r.read(3 * kPage, 10 * kUs);
    expect_form("read of a logged line", 10 * kUs + kLinePs, t.done_ps);
    EXPECT_TRUE(t.hit);
    EXPECT_EQ(r.count.log_hits, 1u);
    t = r.read(3 * kPage + 64, 11 * kUs);
    expect_form("read of another line of its page", 21 * kUs + kLinePs, t.done_ps);
    EXPECT_FALSE(t.hit);
    EXPECT_TRUE(r.read(3 * kPage, 30 * kUs).hit);
    EXPECT_EQ(r.count.log_hits, 1u) << "the page is in the cache";
    EXPECT_EQ(r.count.log_writes, 8u);
    sound(r);
}

TEST(WriteLog, AFullHalfIsCompactedWhileTheOtherFills) {
    DeviceRig r(log_device(2)); // 8 channels: compacts up to 8 pages at once
    r.write(0, 0);
    r.write(kPage, 0);
    expect_form("first write of the other half", 100 * kUs + kLinePs, r.write(2 * kPage, 100 * kUs).accepted_ps);
    EXPECT_EQ(r.count.log_compactions, 2u);
    EXPECT_EQ(r.count.cache_completions, 2u) << "pages of one line each are read first";
    r.write(3 * kPage, 110 * kUs);
    // Reads end at 110 us and programs at 180 us: until then both halves are full.
    expect_form("both halves full", 180 * kUs + kLinePs, r.write(4 * kPage, 120 * kUs).accepted_ps);
    EXPECT_EQ(r.count.log_wait_ps, 60 * kUs);
    expect_form("1 ps later it is over", 180 * kUs + 10 * kLinePs, r.write(5 * kPage, 180 * kUs + 9).accepted_ps);
    sound(r);
}

TEST(WriteLog, AWrittenLineIsCoalescedAndAWholePageIsNotRead) {
    DeviceRig r(log_device(64));
    for (int pass = 0; pass < 3; pass++) {
        for (uint64_t line = 0; line < 64; line++) {
            r.write(line * kLine, 0);
        }
    }
    EXPECT_EQ(r.d.log.lines_dirtied, 64u);
    r.write(kPage, kUs);
    EXPECT_EQ(r.count.log_compactions, 1u);
    EXPECT_EQ(r.count.flash_reads, 0u);
    EXPECT_EQ(r.d.log.lines_cleaned, 64u);
    sound(r);
}

TEST(WriteLog, CompactionUsesACachedPageAndKeepsItUpToDate) {
    DeviceRig r(log_device(1));
    r.read(0, 0);
    r.write(0, 20 * kUs);
    r.write(kPage, 30 * kUs);
    EXPECT_EQ(r.count.log_compactions, 1u);
    EXPECT_EQ(r.count.flash_reads, 1u) << "of the fetch";
    EXPECT_EQ(r.d.cache.pages_dirtied, 0u);
    sound(r);
}

TEST(WriteLog, CompactionTakesItsPageFromBothHalves) {
    MemDeviceConfig c = log_device(2);
    c.flash_channels = 1; // one page at a time
    DeviceRig r(c);
    r.write(0, 0);
    r.write(kPage, 0);
    r.write(kPage + 64, 10 * kUs); // the halves swap: page 0 is read and programmed until 90 us
    EXPECT_EQ(r.count.log_compactions, 1u);
    r.read(0, 95 * kUs); // page 1 is due, with both of its lines
    EXPECT_EQ(r.count.log_compactions, 2u);
    EXPECT_EQ(r.d.log.lines_cleaned, 3u);
    r.write(2 * kPage, 1000 * kUs);
    r.write(3 * kPage, 2000 * kUs); // this half is full, and clean except for page 2
    EXPECT_EQ(r.count.log_compactions, 3u);
    sound(r);
}

TEST(WriteLog, IsEmptiedWhenItIsNotWrittenAnyMore) {
    DeviceRig r(log_device(4));
    r.write(0, 0);
    r.write(kPage, 0);
    r.config.cache_write_miss = MEM_WRITE_FETCH;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    r.read(2 * kPage, kUs);
    EXPECT_EQ(r.count.log_compactions, 2u);
    EXPECT_EQ(r.d.log.lines_cleaned, 2u);
    r.write(0, 200 * kUs);
    EXPECT_EQ(r.count.cache_misses, 4u) << "the write fetched its page";
    sound(r);
}

TEST(WriteLog, ThePowerDecidesWhetherItIsLost) {
    for (bool is_protected : {false, true}) {
        MemDeviceConfig c = log_device(4);
        c.cache_power_loss_protected = is_protected;
        DeviceRig r(c);
        r.write(0, 0);
        mem_device_power_cut(&r.d, kUs);
        EXPECT_EQ(r.read(0, 2 * kUs).hit, is_protected);
        mem_device_power_off(&r.d, 100 * kUs);
        EXPECT_EQ(r.d.log.lines_cleaned, r.d.log.lines_dirtied);
        sound(r);
    }
}

// ---- Prefetches ----

TEST(Prefetch, TheNextPagesComeWithAMissAndWithAFirstUse) {
    MemDeviceConfig c = flash_device();
    c.cache_prefetch = MEM_PREFETCH_NEXT;
    c.cache_prefetch_pages = 2;
    DeviceRig r(c);
    r.read(0, 0);
    EXPECT_EQ(r.count.cache_prefetches, 2u);
    MemReadTimes t = r.read(kPage, 4 * kUs);
    expect_form("page under way, behind the data of the first", 10 * kUs + 2 * kLinePs, t.done_ps);
    EXPECT_EQ(r.count.cache_prefetches_useful, 1u);
    EXPECT_EQ(r.count.cache_prefetches, 3u) << "page 3";
    expect_form("page there", 20 * kUs + kLinePs, r.read(2 * kPage, 20 * kUs).done_ps);
    EXPECT_EQ(r.count.cache_prefetches_useful, 2u);
    r.read(2 * kPage + 64, 21 * kUs);
    EXPECT_EQ(r.count.cache_prefetches_useful, 2u) << "only the first use counts";
    EXPECT_EQ(r.count.cache_misses, 1u);
}

TEST(Prefetch, TakesOnlyFreeMshrsAndStaysInTheDevice) {
    MemDeviceConfig c = flash_device();
    c.cache_prefetch = MEM_PREFETCH_NEXT;
    c.cache_prefetch_pages = 4;
    c.cache_mshrs = 3;
    DeviceRig r(c);
    r.read(0, 0);
    EXPECT_EQ(r.count.cache_prefetches, 2u) << "two MSHRs were left";
    expect_form("a miss waits for none of them longer", 20 * kUs + kLinePs, r.read(100 * kPage, 5 * kUs).done_ps);
    EXPECT_EQ(r.count.cache_prefetches, 2u);
    r.read(c.capacity_bytes - kPage, 100 * kUs);
    EXPECT_EQ(r.count.cache_prefetches, 2u) << "no page follows the last";
}

TEST(Prefetch, AStrideIsFollowedOnceItIsSteady) {
    MemDeviceConfig c = flash_device();
    c.cache_prefetch = MEM_PREFETCH_STRIDE;
    c.cache_prefetch_pages = 1;
    DeviceRig r(c);
    for (uint64_t i = 0; i < 10; i++) {
        r.read(i * 3 * kPage, i * 100 * kUs);
        EXPECT_EQ(r.count.cache_prefetches, i < 2 ? 0 : i - 1);
    }
    EXPECT_EQ(r.count.cache_misses, 3u);
    EXPECT_EQ(r.count.cache_prefetches_useful, 7u);
    MemPagePrefetcher p = {};
    for (uint64_t page : {50u, 40u}) {
        EXPECT_EQ(mem_prefetch_step(&p, MEM_PREFETCH_STRIDE, page), 0);
    }
    EXPECT_EQ(mem_prefetch_step(&p, MEM_PREFETCH_STRIDE, 30), -10);
    EXPECT_EQ(mem_prefetch_step(&p, MEM_PREFETCH_STRIDE, 30 + 16 * 1024), 0) << "another region in its place";
    EXPECT_EQ(mem_prefetch_step(&p, MEM_PREFETCH_NONE, 20), 0);
}

TEST(Prefetch, AnUnusedPageThatLeavesWasUseless) {
    MemDeviceConfig c = flash_device();
    c.cache_prefetch = MEM_PREFETCH_NEXT;
    c.cache_prefetch_pages = 1;
    c.cache_size_bytes = 2 * kPage;
    DeviceRig r(c);
    r.read(0, 0);
    r.read(100 * kPage, 100 * kUs);
    EXPECT_EQ(r.count.cache_prefetches, 2u);
    EXPECT_EQ(r.count.cache_prefetches_useless, 1u);
    EXPECT_EQ(r.count.cache_prefetches_useful, 0u);
}

// ---- Compaction in the background ----

// The device compacts its log, one page after the other, without any access by the host.
TEST(WriteLog, CompactionGoesOnWithoutAccesses) {
    MemDeviceConfig c = log_device(2);
    c.cache_power_loss_protected = false;
    c.flash_channels = 1;
    // The halves swap at 100 us. Each page takes 10 us for the read and 70 us for the program.
    constexpr mem_ps kFirst = 180 * kUs + kLinePs, kSecond = kFirst + 80 * kUs;
    for (auto [cut_ps, lost] : {std::pair{kFirst - 1, 3u}, {kFirst, 2u}, {kSecond - 1, 2u}, {kSecond, 1u}}) {
        DeviceRig r(c);
        for (uint64_t page = 0; page < 3; page++) {
            r.write(page * kPage, page == 2 ? 100 * kUs : 0);
            r.media[page * kPage] = 1;
        }
        EXPECT_EQ(mem_device_power_cut(&r.d, cut_ps).lines_lost, lost) << cut_ps;
        EXPECT_EQ(r.media[kPage], cut_ps >= kSecond);
        EXPECT_EQ(r.media[2 * kPage], 0) << "it was in the half that fills";
        sound(r);
    }
}

// ---- Wear by programs as power goes off ----

static MemDeviceConfig wearing_device() {
    MemDeviceConfig c = flash_device();
    c.capacity_bytes = 64 * kPage;
    c.flash_channels = 1;
    c.flash_ftl = MEM_FTL_PAGE;
    c.flash_block_pages = 4;
    c.flash_over_provisioning_permille = 1000;
    c.flash_gc_free_blocks = 1;
    return c;
}

TEST(Power, AGlobalPersistentFlushProgramsFlash) {
    MemDeviceConfig c = wearing_device();
    c.cache_power_loss_protected = false;
    c.persist_domain = MEM_DOMAIN_GPF;
    c.gpf_page_nj = 1000;
    for (uint64_t energy_uj : {0, 2, 9}) {
        c.gpf_energy_uj = energy_uj;
        DeviceRig r(c);
        for (uint64_t page = 0; page < 5; page++) {
            r.write(page * kPage, page);
            r.media[page * kPage] = 1;
        }
        EXPECT_EQ(r.d.flash.ftl->totals.host_programs, 0u);
        MemPowerCut cut = mem_device_power_cut(&r.d, kUs * 1000);
        EXPECT_EQ(cut.lines_lost, 5 - std::min<uint64_t>(energy_uj, 5));
        EXPECT_EQ(r.d.flash.ftl->totals.host_programs, std::min<uint64_t>(energy_uj, 5)) << "one a microjoule";
        EXPECT_EQ(r.count.flash_programs, 0u) << "counters are about what the host waited for";
        sound(r);
    }
}

TEST(Power, AnOrderlyPowerOffProgramsWhatIsDirty) {
    for (bool logs : {false, true}) {
        MemDeviceConfig c = wearing_device();
        c.cache_write_miss = logs ? MEM_WRITE_LOG : MEM_WRITE_FETCH;
        c.write_log_bytes = logs ? 16 * kLine : 0;
        DeviceRig r(c);
        for (uint64_t page = 0; page < 5; page++) {
            r.write(page * kPage, page * kUs);
            r.write(page * kPage + 64, page * kUs);
        }
        r.read(6 * kPage, 100 * kUs);
        mem_device_power_off(&r.d, 200 * kUs);
        EXPECT_EQ(r.d.flash.ftl->totals.host_programs, 5u) << logs;
        mem_device_power_off(&r.d, 300 * kUs);
        EXPECT_EQ(r.d.flash.ftl->totals.host_programs, 5u) << "nothing is dirty any more";
        sound(r);
    }
}

TEST(Life, IsTheMeanOfTheErasesInPerCentOfTheEndurance) {
    DeviceRig r(wearing_device());
    MemFtlMap *ftl = r.d.flash.ftl;
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 0), MEM_LIFE_UNKNOWN);
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 10), 0u);
    ASSERT_EQ(ftl->geometry.blocks, 32u);
    while (ftl->totals.erases < 16) {
        mem_ftl_program(ftl, ftl->totals.host_programs % 64);
    }
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 1), 50u);
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 50), 1u);
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 51), 0u) << "rounded down";
    while (ftl->totals.erases < 64) {
        mem_ftl_program(ftl, ftl->totals.host_programs % 64);
    }
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, 1), 200u) << "a device may outlive its rating";
    EXPECT_EQ(mem_ftl_life_used_percent(ftl, UINT32_MAX), 0u);
}

// ---- Without flash ----

TEST(Expander, EveryAccessIsAHit) {
    MemDeviceConfig c = flash_device();
    c.flash_channels = 0;
    c.capacity_bytes = 3 * 64;
    c.cache_size_bytes = c.cache_page_bytes = 0;
    c.cache_latency_ps = 90 * kNs;
    ASSERT_EQ(memsys_check_device(&c), nullptr);
    DeviceRig r(c);
    MemReadTimes t = r.read(128, 0);
    expect_form("read", 90 * kNs + kLinePs, t.done_ps);
    EXPECT_TRUE(t.hit);
    expect_form("write", kUs + 90 * kNs + kLinePs, r.write(64, kUs).accepted_ps);
    EXPECT_EQ(r.count.cache_hits, 2u);
    EXPECT_EQ(r.d.cache.frames, nullptr);
    r.config.cache_latency_ps = 80 * kNs;
    EXPECT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("read after a change", 2 * kUs + 80 * kNs + kLinePs, r.read(0, 2 * kUs).done_ps);
    mem_device_set_timed(&r.d, false, 3 * kUs);
    EXPECT_EQ(r.read(0, 3 * kUs).done_ps, 3 * kUs);
    mem_device_power_cut(&r.d, 4 * kUs);
    mem_device_power_off(&r.d, 4 * kUs);
    sound(r);
    r.d.cache.frames = new MemFrame;
    EXPECT_NE(mem_device_check_state(&r.d), nullptr);
    delete r.d.cache.frames;
    r.d.cache.frames = nullptr;
}

// ---- Changes at run time ----

TEST(Reconfigure, ChangesTimesFromTheNextRequestOn) {
    DeviceRig r(flash_device());
    r.read(0, 0);
    r.config.link_latency_ps = 100 * kNs;
    r.config.controller_latency_ps = 7 * kNs;
    r.config.flash_read_ps = 3 * kUs;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("hit", 20 * kUs + 207 * kNs + kLinePs, r.read(0, 20 * kUs).done_ps);
    expect_form("miss", 30 * kUs + 207 * kNs + 3 * kUs + kLinePs, r.read(kPage, 30 * kUs).done_ps);
}

TEST(Reconfigure, WritesKeepTheirOrderWhenTheLinkGetsFaster) {
    MemDeviceConfig c = flash_device();
    c.link_latency_ps = kUs;
    DeviceRig r(c);
    r.read(0, 0);
    mem_ps first = r.write(0, 100 * kUs).accepted_ps;
    r.config.link_latency_ps = 0;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("accepted no earlier than the one before", first, r.write(0, 100 * kUs + 10).accepted_ps);
}

TEST(Reconfigure, TheBusiestMshrsStay) {
    MemDeviceConfig c = flash_device();
    c.cache_mshrs = 4;
    DeviceRig r(c);
    for (uint64_t i = 0; i < 4; i++) {
        r.read(i * kPage, i * kUs); // the reads end at 10, 11, 12 and 13 us
    }
    r.config.cache_mshrs = 2;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("fewer", 22 * kUs + kLinePs, r.read(8 * kPage, 5 * kUs).done_ps);
    r.config.cache_mshrs = 3;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("one more", 16 * kUs + kLinePs, r.read(12 * kPage, 6 * kUs).done_ps);
    r.config.cache_mshrs = 0;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    expect_form("no limit", 17 * kUs + kLinePs, r.read(13 * kPage, 7 * kUs).done_ps);
}

TEST(Reconfigure, APolicyChangesWithThePagesInPlace) {
    DeviceRig r(flash_device());
    for (uint64_t page = 0; page < 16; page++) {
        r.read(page * kPage, page * 100 * kUs);
    }
    r.read(0, 2000 * kUs);
    r.config.cache_policy = MEM_POLICY_FIFO;
    ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
    for (uint64_t page = 0; page < 16; page++) {
        EXPECT_TRUE(r.read(page * kPage, 3000 * kUs).hit);
    }
    r.read(50 * kPage, 4000 * kUs);
    EXPECT_FALSE(r.read(0, 5000 * kUs).hit) << "the first one filled went";
    sound(r);
}

TEST(Reconfigure, RefusesWhatIsFixedAndWhatIsWrong) {
    DeviceRig r(flash_device());
    auto refused = [&r](auto spoil, const char *sentence) {
        MemDeviceConfig c = r.config;
        spoil(c);
        const char *fault = mem_device_reconfigure(&r.d, &c);
        ASSERT_NE(fault, nullptr);
        EXPECT_STREQ(fault, sentence);
    };
    refused([](auto &c) { c.cache_size_bytes *= 2; }, "cache-size cannot change while the device runs");
    refused([](auto &c) { c.flash_channels = 4; }, "flash-channels cannot change while the device runs");
    refused([](auto &c) { c.capacity_bytes *= 2; }, "capacity cannot change while the device runs");
    refused([](auto &c) { c.cache_write_miss = MEM_WRITE_LOG; },
            "write_log_bytes must not be 0 if cache_write_miss is log");
    refused([](auto &c) { c.link_read_bandwidth = 1; },
            "link_read_bandwidth must be at least 1000000 bytes per second and below 2^63");
    expect_form("nothing was changed", 10 * kUs + kLinePs, r.read(0, 0).done_ps);
}

TEST(Volatile, LinesBelowAreNotTracked) {
    MemDeviceConfig c = flash_device();
    c.volatile_bytes = 4 * kPage;
    c.cache_power_loss_protected = false;
    DeviceRig r(c);
    r.write(0, 0);
    r.write(4 * kPage, 0);
    EXPECT_EQ(mem_persist_state(&r.d.persist, 0, 100 * kUs), MEM_LINE_DURABLE);
    EXPECT_EQ(mem_persist_state(&r.d.persist, 4 * kPage / kLine, 100 * kUs), MEM_LINE_DEVICE_CACHE);
}

TEST(Invariants, ADamagedLogIsFound) {
    DeviceRig r(log_device(4));
    r.write(0, 0);
    r.d.log.lines_dirtied++;
    EXPECT_NE(mem_device_check_state(&r.d), nullptr);
    r.d.log.lines_dirtied--;
    r.d.log.halves[0].pages[0].dirty_lines++;
    EXPECT_NE(mem_device_check_state(&r.d), nullptr);
    r.d.log.halves[0].pages[0].dirty_lines--;
    r.d.masks.count++;
    EXPECT_NE(mem_device_check_state(&r.d), nullptr);
    r.d.masks.count--;
    sound(r);
}
