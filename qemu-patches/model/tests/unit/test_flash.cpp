// SPDX-License-Identifier: GPL-2.0-or-later
// Planes, channels and suspension compared with closed forms, one picosecond before a server is free and when it is.
extern "C" {
#include "config/params.h"
}

#include "../rigs/flash_rig.h"

// With small_flash(), page p is on channel p % 2, die p / 2 % 2, plane p / 4 % 2: planes 0 to 7 in that order.

TEST(FlashIdle, ReadAndProgram) {
    FlashRig r(small_flash());
    expect_us("read: array, transfer", 10 + 1, r.read(0, 0).end_ps);
    MemFlashTimes t = r.program(1, 0);
    expect_us("program: its start, after the transfer", 1, t.start_ps);
    expect_us("program: transfer, array", 1 + 70, t.end_ps);
    EXPECT_EQ(r.count.flash_reads, 1u);
    EXPECT_EQ(r.count.flash_programs, 1u);
}

TEST(FlashIdle, ATransferIsRoundedUp) {
    MemDeviceConfig config = small_flash();
    config.flash_channel_bandwidth = UINT64_C(3000000000);
    FlashRig r(config);
    EXPECT_EQ(r.read(0, 0).end_ps, 10 * kUs + 1365334); // 1365333.3 ps
}

TEST(FlashPlane, IsBusyUntilItsReadOrProgramEnds) {
    for (bool program : {false, true}) {
        MemDeviceConfig config = one_plane();
        mem_ps busy = program ? config.flash_program_ps : config.flash_read_ps;
        for (mem_ps at : {mem_ps(0), busy - 1, busy, busy + 1}) {
            FlashRig r(config);
            program ? r.program(5, 0) : r.read(5, 0);
            MemFlashTimes t = r.read(6, at);
            EXPECT_EQ(t.start_ps, std::max(at, busy));
            EXPECT_EQ(program ? t.program_wait_ps : t.queue_wait_ps, std::max(at, busy) - at);
        }
    }
}

TEST(FlashPlane, AllWorkSideBySide) {
    MemDeviceConfig config = small_flash();
    config.flash_channel_bandwidth = 0;
    FlashRig r(config);
    for (uint64_t page = 0; page < 8; page++) {
        expect_us("8 programs on 8 planes", 70, r.program(page, 0).end_ps);
    }
    MemFlashTimes t = r.program(8, 0);
    expect_us("the 9th waits for the first", 140, t.end_ps);
    expect_us("as a wait for a program", 70, t.program_wait_ps);
}

TEST(FlashChannel, MovesAPageAtATime) {
    FlashRig r(small_flash());
    expect_us("read, plane 0", 11, r.read(0, 0).end_ps);
    MemFlashTimes t = r.read(2, 0);
    expect_us("read, plane 2 on the same channel", 12, t.end_ps);
    expect_us("its wait for the other's transfer", 1, t.queue_wait_ps);
    expect_us("read, plane 1 on the other channel", 11, r.read(1, 0).end_ps);
}

TEST(FlashChannel, IsTakenUntilTheTransferEnds) {
    for (mem_ps at : {mem_ps(0), kUs - 1, kUs, kUs + 1}) {
        FlashRig r(small_flash());
        r.program(0, 0); // takes the channel from 0 to 1 us
        MemFlashTimes t = r.program(2, at);
        EXPECT_EQ(t.start_ps, std::max(at, kUs) + kUs);
        EXPECT_EQ(t.program_wait_ps, std::max(at, kUs) - at);
    }
}

TEST(FlashChannel, AGapBeforeAReadsTransferIsUsedIfItIsLongEnough) {
    for (mem_ps at : {mem_ps(0), 9 * kUs - 1, 9 * kUs, 9 * kUs + 1, 10 * kUs}) {
        FlashRig r(small_flash());
        r.read(0, 0); // takes the channel from 10 to 11 us
        MemFlashTimes t = r.program(2, at);
        mem_ps crossing = at <= 9 * kUs ? at : 11 * kUs;
        EXPECT_EQ(t.start_ps, crossing + kUs) << at;
        EXPECT_EQ(t.queue_wait_ps, crossing - at);
    }
}

TEST(FlashChannel, BoundsTheRateOfItsPlanes) {
    FlashRig r(small_flash());
    mem_ps end = 0;
    for (uint64_t i = 0; i < 1000; i++) { // the 4 planes of channel 0 in turn: 10 us of array for 4 us of channel
        end = std::max(end, r.read(i * 2, 0).end_ps);
    }
    expect_us("1000 reads on 4 planes: array bound", 250 * 10 + 4, end);
    MemDeviceConfig slow = small_flash();
    slow.flash_channel_bandwidth = UINT64_C(1024000000); // 4 us a page
    FlashRig s(slow);
    for (uint64_t i = 0; i < 1000; i++) {
        end = s.read(i * 2, 0).end_ps;
    }
    expect_us("1000 reads on 4 planes: channel bound", 10 + 1000 * 4, end);
}

TEST(FlashSuspend, AReadSuspendsAProgramForItsCost) {
    FlashRig r(with_suspend(one_plane()));
    MemFlashTimes p = r.program(5, 0);
    MemFlashTimes t = r.read(6, 20 * kUs);
    expect_us("read in a program", 20 + 3 + 10, t.end_ps);
    expect_us("what it waited for the program", 3, t.program_wait_ps);
    ASSERT_EQ(r.moves.size(), 1u);
    EXPECT_EQ(r.moves[0].page, 5u);
    EXPECT_EQ(r.moves[0].old_end_ps, p.end_ps);
    EXPECT_EQ(r.moves[0].start_ps, p.start_ps);
    expect_us("the program ends later by what the read took", 70 + 13, r.moves[0].end_ps);
}

TEST(FlashSuspend, NotBeforeAProgramBeginsNorAfterItEnds) {
    const mem_ps end = 70 * kUs;
    for (mem_ps at : {mem_ps(0), mem_ps(1), end - 1, end}) {
        FlashRig r(with_suspend(one_plane()));
        r.program(5, 0);
        MemFlashTimes t = r.read(6, at);
        bool suspends = at > 0 && at < end;
        EXPECT_EQ(t.start_ps, at + (suspends ? 3 * kUs : 0)) << at;
        EXPECT_EQ(r.moves.size(), at < end ? 1u : 0u);
        if (at == 0) {
            EXPECT_EQ(r.moves[0].start_ps, 10 * kUs); // overtaken before it began
        }
    }
}

TEST(FlashSuspend, ASecondReadWaitsForTheFirstOnly) {
    FlashRig r(with_suspend(one_plane()));
    r.program(5, 0);
    r.read(6, 20 * kUs); // until 33 us
    MemFlashTimes t = r.read(7, 21 * kUs);
    expect_us("second read", 33 + 10, t.end_ps);
    expect_us("its wait for the first", 12, t.queue_wait_ps);
    expect_us("the program, suspended once", 70 + 13 + 10, r.moves.back().end_ps);
}

TEST(FlashSuspend, ReadsOvertakeProgramsThatWaitAndPushAllOfThemBack) {
    FlashRig r(with_suspend(one_plane()));
    r.program(1, 0);
    r.program(2, 0);
    r.program(3, 200 * kUs); // after a gap of 60 us, which absorbs the delay
    r.read(6, 10 * kUs);
    ASSERT_EQ(r.moves.size(), 2u);
    expect_us("the first", 70 + 13, r.moves[0].end_ps);
    expect_us("the second", 140 + 13, r.moves[1].end_ps);
    expect_us("the second starts later, too", 70 + 13, r.moves[1].start_ps);
}

TEST(FlashSuspend, AReadDoesNotOvertakeTheProgramOfItsOwnPage) {
    FlashRig r(with_suspend(one_plane()));
    r.program(1, 0);
    MemFlashTimes t = r.read(1, 10 * kUs);
    expect_us("read of a page being programmed", 70 + 10, t.end_ps);
    EXPECT_EQ(r.moves.size(), 0u);
    t = r.read(2, 20 * kUs);
    expect_us("and one after it", 80 + 10, t.end_ps);
    EXPECT_EQ(r.moves.size(), 0u);
}

TEST(FlashSuspend, TurnedOnLaterItSparesWhatWasReportedBefore) {
    FlashRig r(one_plane());
    r.program(1, 0);
    MemDeviceConfig config = with_suspend(one_plane());
    config.flash_read_ps = 20 * kUs;
    mem_flash_reconfigure(&r.f, &config, true);
    expect_us("waits for the old program", 70 + 20, r.read(2, 10 * kUs).end_ps);
    r.program(3, 90 * kUs);
    expect_us("suspends the new one", 100 + 3 + 20, r.read(2, 100 * kUs).end_ps);
    EXPECT_EQ(r.moves.size(), 1u);
}

TEST(FlashUntimed, NothingTakesTimeAndEverythingIsCounted) {
    FlashRig r(with_ftl(small_flash()));
    mem_flash_set_timed(&r.f, false);
    for (uint64_t i = 0; i < 3000; i++) {
        EXPECT_EQ(r.program(i * 37 % 64, i).end_ps, i);
        EXPECT_EQ(r.read(i * 11 % 64, i).end_ps, i);
    }
    EXPECT_EQ(r.count.flash_programs, 3000 + r.count.flash_gc_moves);
    EXPECT_GT(r.count.flash_erases, 0u);
    mem_flash_set_timed(&r.f, true);
    expect_us("timed again: idle", 11, r.read(0, 0).end_ps);
}

TEST(FlashTimeline, ForgetsThePastAndKeepsEveryServerSerial) {
    FlashRig r(with_suspend(small_flash()));
    uint64_t random = 1;
    for (mem_ps at = 0, i = 0; i < 20000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        at += (random >> 33) % (20 * kUs);
        mem_ps early = at - std::min(at, (random >> 40) % (2 * kUs)); // a little out of order
        random >> 63 ? r.program((random >> 20) % 64, early) : r.read((random >> 20) % 64, early);
    }
    for (uint64_t i = 0; i < 8; i++) {
        EXPECT_LE(r.f.planes[i].room, 256u); // it does not grow with the number of past operations
    }
}

// 64 pages in 16 of 32 blocks of 4: overwriting 61 of them opens the last free block. Returns the end time.
static mem_ps use_up(FlashRig &r) {
    mem_ps now = 0;
    for (uint64_t page = 0; page < 61; page++) {
        MemFlashTimes t = r.program(page, now);
        EXPECT_EQ(t.gc_wait_ps, 0u) << page;
        now = t.end_ps;
    }
    return now;
}

TEST(FlashGc, AProgramWaitsForTheCleaningItSetsOff) {
    FlashRig r(with_ftl(one_plane()));
    mem_ps now = use_up(r);
    MemFlashTimes t = r.program(0, now);
    expect_us("cleaning a block without valid pages: an erase", 500, t.gc_wait_ps);
    expect_us("and the program", 570, t.end_ps - now);
    MemFlashTimes behind = r.read(1, now);
    expect_us("a read behind it, for cleaning", 500, behind.gc_wait_ps);
    expect_us("a read behind it, for the program", 70, behind.program_wait_ps);
}

TEST(FlashGc, AMoveReadsAndPrograms) {
    MemDeviceConfig config = with_ftl(one_plane());
    config.flash_over_provisioning_permille = 125; // 18 blocks, 16 of them with data
    FlashRig r(config);
    mem_ps now = 0;
    for (uint64_t page : {0, 4, 8, 12}) {
        now = r.program(page, now).end_ps; // fills the first free block
    }
    now = r.program(16, now).end_ps; // opens the last one
    MemFlashTimes t = r.program(20, now);
    expect_us("3 moves and an erase", 3 * (10 + 70) + 500, t.gc_wait_ps);
    EXPECT_EQ(r.count.flash_gc_moves, 3u);
    EXPECT_EQ(r.count.flash_erases, 1u);
    EXPECT_EQ(r.count.flash_programs, 6u + 3u);
}

TEST(FlashGc, ReadsSuspendCleaning) {
    FlashRig r(with_suspend(with_ftl(one_plane())));
    mem_ps now = use_up(r);
    MemFlashTimes p = r.program(0, now);
    MemFlashTimes t = r.read(7, now + 100 * kUs);
    expect_us("read in an erase", 3 + 10, t.end_ps - now - 100 * kUs);
    expect_us("what it waited for cleaning", 3, t.gc_wait_ps);
    ASSERT_EQ(r.moves.size(), 1u);
    EXPECT_EQ(r.moves[0].end_ps, p.end_ps + 13 * kUs);
}

TEST(FlashFtl, ProgramsOfOnePageEndInOrder) {
    FlashRig r(with_ftl(small_flash()));
    MemFlashTimes first = r.program(9, 0);  // plane 0
    MemFlashTimes second = r.program(9, 0); // plane 1
    EXPECT_EQ(second.start_ps, first.end_ps);
    FlashRig s(with_suspend(with_ftl(small_flash())));
    s.program(9, 0);
    s.program(9, 0);
    s.read(8, 20 * kUs); // on plane 0; the first program must not move any more
    EXPECT_EQ(s.moves.size(), 0u);
}

// The checks of mem_device_check(), in its order: first the bounds of each parameter, then the rules of flash.
static const char *fault_of(const MemDeviceConfig &config) {
    MemDeviceConfig whole = config;
    whole.link_read_bandwidth = whole.link_write_bandwidth = 1000000;
    const char *fault = mem_params_check(&mem_device_params, &whole);
    return fault ? fault : mem_flash_check(&config);
}

TEST(FlashConfig, EachRuleNamesItsField) {
    struct Case {
        const char *field;
        void (*spoil)(MemDeviceConfig &c);
    };
    const Case cases[] = {
        {"flash_channels must", [](auto &c) { c.flash_channels = 65537; }},
        {"flash_dies", [](auto &c) { c.flash_dies = UINT32_MAX; }},
        {"flash_dies", [](auto &c) { c.flash_dies = 0; }},
        {"flash_planes", [](auto &c) { c.flash_planes = 0; }},
        {"flash_planes", [](auto &c) { c.flash_planes = UINT32_MAX; }},
        {"flash_channels * ", [](auto &c) { c.flash_channels = c.flash_dies = c.flash_planes = 65536; }},
        {"flash_read_ps", [](auto &c) { c.flash_read_ps = UINT64_MAX; }},
        {"flash_program_ps", [](auto &c) { c.flash_program_ps = UINT64_MAX; }},
        {"flash_erase_ps", [](auto &c) { c.flash_erase_ps = UINT64_MAX; }},
        {"flash_suspend_ps", [](auto &c) { c.flash_suspend_ps = UINT64_MAX; }},
        {"flash_channel_bandwidth", [](auto &c) { c.flash_channel_bandwidth = 1; }},
        {"flash_ftl", [](auto &c) { c.flash_ftl = 2; }},
        {"flash_gc must", [](auto &c) { c.flash_gc = 2; }},
        {"flash_block_pages", [](auto &c) { c.flash_block_pages = 0; }},
        {"flash_block_pages", [](auto &c) { c.flash_block_pages = 1; }},
        {"flash_block_pages", [](auto &c) { c.flash_block_pages = 65537; }},
        {"flash_block_pages",
         [](auto &c) {
             c.capacity_bytes = UINT64_C(1) << 50;
             c.flash_channels = c.flash_dies = c.flash_planes = 1;
         }},
        {"flash_gc_free_blocks", [](auto &c) { c.flash_gc_free_blocks = 0; }},
        {"flash_over_provisioning_permille", [](auto &c) { c.flash_over_provisioning_permille = 0; }},
        {"flash_over_provisioning_permille", [](auto &c) { c.flash_over_provisioning_permille = 10001; }},
        {"flash_over_provisioning_permille", [](auto &c) { c.flash_gc_free_blocks = UINT32_MAX; }},
    };
    for (const Case &test : cases) {
        MemDeviceConfig config = with_ftl(small_flash());
        EXPECT_EQ(fault_of(config), nullptr);
        test.spoil(config);
        const char *sentence = fault_of(config);
        ASSERT_NE(sentence, nullptr) << test.field;
        EXPECT_EQ(std::string(sentence).rfind(test.field, 0), 0u) << sentence;
    }
    MemDeviceConfig in_place = small_flash();
    in_place.flash_block_pages = 0; // without meaning if there is no translation layer
    EXPECT_EQ(fault_of(in_place), nullptr);
}
