// SPDX-License-Identifier: GPL-2.0-or-later
// Page frames as L2 and LLC see them: each seed permutes the frames and leaves the order of lines within a frame.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "../rigs/rig.h"

extern "C" {
#include "cpu/cpu_caches.h"
}

namespace {

constexpr uint64_t kFrameLines = 4096 / kLine;
constexpr uint64_t kGibLines = (UINT64_C(1) << 30) / kLine;
constexpr uint64_t kSeeds[] = {0, 1, 2, 3, 4294967295};

MemFrames frames_of(uint64_t seed) {
    MemFrames f;
    mem_frames_init(&f, seed);
    return f;
}

uint64_t frame_seen(const MemFrames &f, uint64_t frame) {
    return mem_frames_seen(&f, frame * kFrameLines) / kFrameLines;
}

// Of `count` frames from `first` on, the number that both permutations map to the same place.
uint64_t frames_alike(const MemFrames &a, const MemFrames &b, uint64_t first, uint64_t count, uint64_t apart = 0) {
    uint64_t alike = 0;
    for (uint64_t frame = first; frame < first + count; frame++) {
        alike += frame_seen(a, frame) + apart == frame_seen(b, frame + apart);
    }
    return alike;
}

} // namespace

TEST(Frames, OfEachGibAreAPermutation) {
    for (uint64_t seed : kSeeds) {
        MemFrames f = frames_of(seed);
        for (uint64_t gib : {0, 1, 3, 1023}) {
            std::vector<bool> taken(kGibLines / kFrameLines);
            for (uint64_t frame = 0; frame < taken.size(); frame++) {
                uint64_t line = gib * kGibLines + frame * kFrameLines;
                uint64_t seen = mem_frames_seen(&f, line);
                ASSERT_EQ(seen / kGibLines, gib);
                ASSERT_FALSE(taken[seen % kGibLines / kFrameLines]);
                taken[seen % kGibLines / kFrameLines] = true;
                ASSERT_EQ(mem_frames_line(&f, seen), line);
            }
        }
    }
}

TEST(Frames, StayWhereTheyAreWithSeed0) {
    MemFrames f = frames_of(0);
    for (uint64_t line = 0; line < 4 * kGibLines; line += 4099) {
        ASSERT_EQ(mem_frames_seen(&f, line), line);
        ASSERT_EQ(mem_frames_line(&f, line), line);
    }
}

TEST(Frames, LinesKeepTheirPlaceWithinThem) {
    MemFrames f = frames_of(7);
    for (uint64_t frame = 0; frame < 1000; frame++) {
        uint64_t first = mem_frames_seen(&f, frame * kFrameLines);
        ASSERT_EQ(first % kFrameLines, 0u);
        for (uint64_t i = 0; i < kFrameLines; i++) {
            ASSERT_EQ(mem_frames_seen(&f, frame * kFrameLines + i), first + i);
            ASSERT_EQ(mem_frames_line(&f, first + i), frame * kFrameLines + i);
        }
    }
}

TEST(Frames, OfOtherSeedsAndOtherGibsAreElsewhere) {
    constexpr uint64_t kCount = 10000, kGibFrames = kGibLines / kFrameLines;
    MemFrames one = frames_of(1);
    for (uint64_t seed : {0, 2, 3, 1000000}) {
        EXPECT_LT(frames_alike(one, frames_of(seed), 0, kCount), 5u);
    }
    EXPECT_LT(frames_alike(one, one, 0, kCount, kGibFrames), 5u);
}

// As for independent draws: of n neighbouring frames on n sets, a share of 1/e of the sets receives no frame.
TEST(Frames, NeighboursAreSpreadOverAllSets) {
    constexpr uint64_t kSets = 256;
    for (uint64_t seed : {1, 2, 3, 4}) {
        MemFrames f = frames_of(seed);
        uint64_t used = 0;
        for (uint64_t run = 0; run < 64; run++) {
            std::set<uint64_t> sets;
            for (uint64_t frame = 0; frame < kSets; frame++) {
                sets.insert(frame_seen(f, run * kSets + frame) % kSets);
            }
            used += sets.size();
        }
        EXPECT_NEAR(double(used) / (64 * kSets), 1 - 1 / 2.718, 0.01);
    }
}

// L1 is looked up by the line itself, L2 and LLC by the line's permuted number.
TEST(Frames, DecideOnSetsOfL2AndLlcAlone) {
    MemCpuConfig config = small_cpu();
    config.l1d = {.size_bytes = 4096, .ways = 1, .latency_ps = 0};
    config.l2.size_bytes = config.l2.ways * 8 * 4096;
    config.llc.size_bytes = config.llc.ways * 16 * 4096;
    config.seed = 5;
    MemFrames f = frames_of(5);
    MemCpuCaches c;
    mem_cpu_init(&c, &config, nullptr);
    for (uint64_t frame = 0; frame < 64; frame++) {
        uint64_t line = frame * kFrameLines + 3;
        MemL1Access l1 = mem_cpu_access_l1(&c, line, false);
        EXPECT_EQ(l1.slot, 3u);
        MemCpuFetch beyond{};
        mem_cpu_fetch(&c, line, MEM_NO_LINE, &beyond);
        EXPECT_EQ(beyond.level, MEM_LEVEL_MEMORY);
        for (const MemSets *level : {&c.l2, &c.llc}) {
            MemPlace place = mem_place_of(level, mem_frames_seen(&f, line));
            EXPECT_NE(mem_set_find(level, place), MEM_NO_WAY);
        }
        EXPECT_TRUE(mem_cpu_has_private(&c, line));
        EXPECT_TRUE(mem_cpu_has_clean_llc(&c, line));
    }
    EXPECT_EQ(mem_cpu_check(&c), nullptr);
    mem_cpu_destroy(&c);
}

// Small caches and a working set that overflows them: seeds give different numbers of misses, each reproducibly.
TEST(Frames, OfASeedGiveTheSameMissesAgain) {
    auto misses = [](uint64_t seed) {
        MemCpuConfig cpu = small_cpu();
        cpu.llc.size_bytes = cpu.llc.ways * 32 * 4096;
        cpu.seed = seed;
        Rig r(cpu, small_device(true));
        for (uint64_t round = 0; round < 3; round++) {
            for (uint64_t frame = 0; frame < 100; frame++) {
                r.load(frame * 4096);
            }
        }
        return memsys_counters(r.m).llc_misses;
    };
    std::set<uint64_t> found;
    for (uint64_t seed = 0; seed < 8; seed++) {
        EXPECT_EQ(misses(seed), misses(seed));
        found.insert(misses(seed));
    }
    EXPECT_EQ(misses(0), 100u); // up to 32 · 4 contiguous frames have a way each
    EXPECT_GT(found.size(), 3u);
}
