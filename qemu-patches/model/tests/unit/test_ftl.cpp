// SPDX-License-Identifier: GPL-2.0-or-later
// The translation layer: compared with the reference and with published write amplification; its saved state.
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#if __has_include(<sanitizer/allocator_interface.h>)
#include <sanitizer/allocator_interface.h>
#endif

#include "../reference/flash_scenario.h"
#include "../rigs/flash_bytes.h"
#include "../rigs/flash_rig.h"

extern "C" {
#include "flash/ftl_internal.h"
}

TEST(FtlRandom, AgreesWithTheReferenceAfterEveryStep) {
    const char *chosen = std::getenv("MODEL_SEED");
    uint64_t first = chosen ? std::strtoull(chosen, nullptr, 0) : 1;
    for (uint64_t seed = first; seed < (chosen ? first + 1 : 61); seed++) {
        SeededChoices choices(seed, 500);
        ASSERT_EQ(run_flash_scenario(choices), "") << "MODEL_SEED=" << seed;
    }
}

static MemDeviceConfig big(uint64_t capacity_bytes) {
    MemDeviceConfig config = with_ftl(small_flash());
    config.capacity_bytes = capacity_bytes;
    config.flash_channels = 8;
    config.flash_dies = 4;
    config.flash_block_pages = 256;
    config.flash_over_provisioning_permille = 70;
    config.flash_gc_free_blocks = 2;
    return config;
}

#ifdef __SANITIZE_ADDRESS__
#define MEASURES_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEASURES_MEMORY 1
#endif
#endif

#ifdef MEASURES_MEMORY
TEST(Ftl, ATebibyteCostsMemoryOnlyWhereItIsWritten) {
    size_t before = __sanitizer_get_current_allocated_bytes();
    FlashRig r(big(UINT64_C(1) << 40));
    size_t fresh = __sanitizer_get_current_allocated_bytes() - before;
    std::printf("1 TiB before it is written: %zu bytes\n", fresh);
    EXPECT_LT(fresh, size_t(4) << 20);
    for (uint64_t i = 0; i < 1000; i++) {
        mem_flash_program(&r.f, &r.count, i * 268435 % (UINT64_C(1) << 28), 0);
    }
    size_t written = __sanitizer_get_current_allocated_bytes() - before;
    std::printf("after 1000 programs far apart: %zu bytes\n", written);
    EXPECT_LT(written, size_t(64) << 20);
}
#endif

TEST(Ftl, StartsWithEveryPageMappedInOrder) {
    FlashRig r(with_ftl(small_flash()));
    std::set<uint64_t> places;
    for (uint64_t page = 0; page < 64; page++) {
        EXPECT_EQ(mem_ftl_plane_of(r.f.ftl, page), page % 8);
        places.insert(mem_ftl_look_up(r.f.ftl, page));
    }
    EXPECT_EQ(places.size(), 64u);
    EXPECT_EQ(mem_flash_check_state(&r.f), nullptr);
}

TEST(Ftl, APlaneThatIsFullOfLivePagesIsPassedOver) {
    FlashRig r(with_ftl(small_flash())); // 8 planes of 4 blocks of 4 pages; at most 2 blocks of live pages
    for (int round = 0; round < 200; round++) {
        // Overwrite only pages on plane 0 while there are any, so that the other planes fill up.
        uint64_t page = 0;
        while (page < 63 && mem_ftl_plane_of(r.f.ftl, page) != 0) {
            page++;
        }
        r.program(page, 0);
        for (uint64_t plane = 0; plane < 8; plane++) {
            EXPECT_LE(r.f.ftl->planes[plane].live, 8u);
        }
    }
}

TEST(Ftl, WearStaysEvenUnderUniformWrites) {
    MemDeviceConfig config = with_ftl(one_plane());
    config.capacity_bytes = 1024 * 4096;
    config.flash_over_provisioning_permille = 200;
    FlashRig r(config);
    mem_flash_set_timed(&r.f, false);
    uint64_t random = 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 6364136223846793005 + 1442695040888963407;
        mem_flash_program(&r.f, &r.count, (random >> 33) % 1024, 0);
    }
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t block = 0; block < r.f.ftl->geometry.blocks; block++) {
        const MemFlashBlock *b = mem_ftl_peek(r.f.ftl, 0, block);
        least = std::min(least, b->wear);
        most = std::max(most, b->wear);
    }
    std::printf("erases of a block: %u to %u\n", least, most);
    EXPECT_LT(most, 2 * least);
    EXPECT_EQ(mem_flash_check_state(&r.f), nullptr);
}

// ---- Write amplification ----

// The branch of Lambert's W with W > -1 for x in (-1/e, 0), by Newton's method.
static double lambert_w(double x) {
    double w = 0;
    for (int i = 0; i < 200; i++) {
        w -= (w * std::exp(w) - x) / (std::exp(w) * (w + 1));
    }
    return w;
}

// Desnoyers, "Analytic modeling of SSD write performance" (SYSTOR 2012): greedy cleaning, uniform random writes,
// n pages a block, alpha = physical / logical pages.
static double desnoyers(double alpha, double n) {
    double scaled = (1 + 1 / (2 * n)) * alpha;
    double valid = 0.5 - n / alpha * lambert_w(-scaled * std::exp(-scaled));
    return n / (n - (valid - 1));
}

static double measured_amplification(uint32_t over_provisioning_permille, uint32_t block_pages, MemGc gc) {
    MemDeviceConfig config = with_ftl(one_plane(), gc);
    const uint64_t pages = 65536;
    config.capacity_bytes = pages * 4096;
    config.flash_block_pages = block_pages;
    config.flash_over_provisioning_permille = over_provisioning_permille;
    MemFlash f;
    MemCounters count = {};
    mem_flash_init(&f, &config);
    uint64_t random = 1;
    for (uint64_t i = 0; i < 12 * pages; i++) {
        if (i == 6 * pages) {
            count = {}; // steady state
        }
        random = random * 6364136223846793005 + 1442695040888963407;
        mem_flash_program(&f, &count, (random >> 33) % pages, 0);
    }
    EXPECT_EQ(mem_flash_check_state(&f), nullptr);
    mem_flash_destroy(&f);
    return double(count.flash_programs) / double(count.flash_programs - count.flash_gc_moves);
}

// The free block and the block being written hold no invalid pages to reclaim. The formula's physical pages ignore this
// difference, which is below 1 % here.
TEST(WriteAmplification, OfGreedyCleaningIsThePublishedOne) {
    struct Point {
        uint32_t over_provisioning_permille, block_pages;
    };
    for (Point p : {Point{70, 64}, Point{150, 64}, Point{280, 64}, Point{500, 64}, Point{150, 16}, Point{150, 128}}) {
        double expected = desnoyers(1 + p.over_provisioning_permille / 1000.0, p.block_pages);
        double measured = measured_amplification(p.over_provisioning_permille, p.block_pages, MEM_GC_GREEDY);
        std::printf("%3u permille over, blocks of %3u: published %.3f, measured %.3f, deviation %+.1f %%\n",
                    p.over_provisioning_permille, p.block_pages, expected, measured, (measured / expected - 1) * 100);
        EXPECT_NEAR(measured / expected, 1, 0.01);
    }
}

TEST(WriteAmplification, OfCostBenefitUnderUniformWritesIsNoLess) {
    double greedy = measured_amplification(150, 32, MEM_GC_GREEDY);
    double benefit = measured_amplification(150, 32, MEM_GC_COST_BENEFIT);
    std::printf("uniform writes: greedy %.3f, cost-benefit %.3f\n", greedy, benefit);
    EXPECT_LE(greedy, benefit * 1.01); // greedy is optimal for uniform writes
}

// ---- Saved state ----

static std::string load_sentence(const MemDeviceConfig &config, const std::vector<uint8_t> &bytes) {
    FlashRig r(config);
    const char *sentence = load_flash(r.f, bytes);
    EXPECT_EQ(mem_flash_check_state(&r.f), nullptr);
    return sentence ? sentence : "";
}

static std::vector<uint8_t> used_state(const MemDeviceConfig &config, uint64_t programs = 500) {
    FlashRig r(config);
    for (uint64_t i = 0; i < programs; i++) {
        r.program(i * i % 61, 0);
    }
    return save_flash(r.f);
}

TEST(FlashState, ALoadedDeviceGoesOnAsTheSavedOneWould) {
    for (MemGc gc : {MEM_GC_GREEDY, MEM_GC_COST_BENEFIT}) {
        MemDeviceConfig config = with_ftl(small_flash(), gc);
        FlashRig saved(config), loaded(config);
        for (uint64_t i = 0; i < 777; i++) {
            saved.program(i * i % 61, 0);
        }
        ASSERT_EQ(load_flash(loaded.f, save_flash(saved.f)), nullptr);
        EXPECT_EQ(save_flash(loaded.f), save_flash(saved.f));
        for (uint64_t i = 0; i < 777; i++) {
            saved.program(i * 7 % 64, 0);
            loaded.program(i * 7 % 64, 0);
        }
        EXPECT_EQ(save_flash(loaded.f), save_flash(saved.f));
    }
}

TEST(FlashState, OfAnUntouchedDeviceIsShort) {
    MemDeviceConfig config = big(UINT64_C(1) << 40);
    std::vector<uint8_t> bytes = used_state(config, 0);
    EXPECT_LT(bytes.size(), 1024u);
    EXPECT_EQ(load_sentence(config, bytes), "");
}

TEST(FlashState, WithoutATranslationLayerIsEmpty) {
    std::vector<uint8_t> bytes = used_state(small_flash());
    EXPECT_EQ(bytes.size(), 20u);
    EXPECT_EQ(load_sentence(small_flash(), bytes), "");
    EXPECT_EQ(load_sentence(with_ftl(small_flash()), bytes), "flash state: it is of a device with another flash_ftl");
    bytes.insert(bytes.end() - 4, 0);
    seal(bytes);
    EXPECT_EQ(load_sentence(small_flash(), bytes), "flash state: it goes on after its end");
}

TEST(FlashState, NoChangedBitAndNoShorterStringIsTaken) {
    MemDeviceConfig config = with_ftl(small_flash());
    const std::vector<uint8_t> good = used_state(config);
    for (size_t bit = 0; bit < good.size() * 8; bit += 3) {
        std::vector<uint8_t> bytes = good;
        bytes[bit / 8] ^= uint8_t(1 << bit % 8);
        EXPECT_EQ(load_sentence(config, bytes).rfind("flash state: ", 0), 0u);
    }
    for (size_t count = 0; count < good.size(); count++) {
        std::vector<uint8_t> bytes(good.begin(), good.begin() + long(count));
        EXPECT_NE(load_sentence(config, bytes), "");
        seal(bytes);
        EXPECT_NE(load_sentence(config, bytes), "") << count;
    }
}

TEST(FlashState, IsOfOneGeometry) {
    const std::vector<uint8_t> good = used_state(with_ftl(small_flash()));
    for (auto spoil :
         {+[](MemDeviceConfig &c) { c.capacity_bytes -= 4096; }, +[](MemDeviceConfig &c) { c.flash_dies = 1; },
          +[](MemDeviceConfig &c) { c.flash_block_pages = 3; },
          +[](MemDeviceConfig &c) { c.flash_over_provisioning_permille = 2000; }}) {
        MemDeviceConfig config = with_ftl(small_flash());
        spoil(config);
        EXPECT_EQ(load_sentence(config, good), "flash state: it is of a device of another geometry");
    }
}

// Set a number of `width` bytes at `at`, recompute the checksum, and return the sentence of the load.
static std::string sentence_with(const std::vector<uint8_t> &good, size_t at, uint64_t value, size_t width = 8) {
    std::vector<uint8_t> bytes = good;
    for (size_t i = 0; i < width; i++) {
        bytes[at + i] = uint8_t(value >> (8 * i));
    }
    seal(bytes);
    return load_sentence(with_ftl(small_flash()), bytes);
}

TEST(FlashState, EachLieUnderAGoodChecksumIsNamed) {
    const std::vector<uint8_t> good = used_state(with_ftl(small_flash()), 30);
    const size_t turn = 16 + 4 * 8, totals = turn + 8, clocks = totals + 3 * 8, tables = clocks + 8 * 8;
    const size_t table = tables + 8, blocks = table + 8 + 64 * 8, block = blocks + 8;
    auto number = [&](size_t at) {
        uint64_t n = 0;
        for (size_t i = 8; i-- > 0;) {
            n = n << 8 | good[at + i];
        }
        return n;
    };
    const std::string say = "flash state: ";
    EXPECT_EQ(sentence_with(good, 0, 'x', 1), say + "it does not start as one does");
    EXPECT_EQ(sentence_with(good, 8, 2, 4), say + "it is of another version");
    EXPECT_EQ(sentence_with(good, turn, 8), say + "the turn is that of a plane it does not have");
    EXPECT_EQ(sentence_with(good, totals, 31), say + "its counts do not agree");
    EXPECT_EQ(sentence_with(good, totals + 16, 99), say + "its counts do not agree");
    EXPECT_EQ(sentence_with(good, clocks, UINT64_MAX), say + "a plane has changed too often to be true");
    EXPECT_EQ(sentence_with(good, clocks, 0), say + "a block changed later than its plane");
    EXPECT_EQ(sentence_with(good, tables, 2), say + "its tables of the mapping are out of order");
    EXPECT_EQ(sentence_with(good, table, 1), say + "its tables of the mapping are out of order");
    EXPECT_EQ(sentence_with(good, table + 8, 128), say + "a page is mapped beyond the flash");
    EXPECT_EQ(sentence_with(good, table + 8, number(table + 16)), say + "two pages are mapped to one");
    EXPECT_EQ(sentence_with(good, blocks, 500), say + "its blocks are out of order");
    EXPECT_EQ(sentence_with(good, block + 24, 0), say + "its blocks are out of order");
    EXPECT_EQ(sentence_with(good, block + 16, UINT32_MAX, 4), say + "a block has been erased too often to be true");
    EXPECT_EQ(sentence_with(good, block + 20, 5, 4), say + "a block has more pages written than it has");
    EXPECT_EQ(sentence_with(good, block + 20, 0, 4), say + "a page is mapped to one that is not written");
}
