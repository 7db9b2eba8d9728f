// SPDX-License-Identifier: GPL-2.0-or-later
#include <chrono>
#include <gtest/gtest.h>

#include "../reference/policy_trace.h"

extern "C" {
#include "config/params.h"
}

namespace {

constexpr uint32_t kPolicies = 6;

struct Shape {
    uint32_t sets, ways;
};
constexpr Shape kShapes[] = {{1, 1}, {1, 2}, {1, 7}, {1, 64}, {16, 1}, {3, 5}, {7, 12}, {5, 40}};

} // namespace

TEST(Policies, AreNamedAsTheirParameterNamesThem) {
    const MemParam *param = mem_param_find(&mem_device_params, "cache-policy");
    for (uint32_t id = 0; id < kPolicies; id++) {
        ASSERT_NE(mem_cache_policy(id), nullptr);
        EXPECT_EQ(mem_param_choice(param, mem_cache_policy(id)->name), id);
    }
    EXPECT_EQ(mem_cache_policy(kPolicies), nullptr);
    EXPECT_EQ(param->choices[kPolicies], nullptr);
}

TEST(Policies, HitWhereTheirReferenceHits) {
    for (uint32_t id = 0; id < kPolicies; id++) {
        if (!make_reference(mem_cache_policy(id)->name, 1)) {
            continue;
        }
        int hits = 0, steps = 0;
        for (Shape shape : kShapes) {
            for (uint64_t seed = 1; seed <= 5; seed++) {
                ASSERT_EQ(first_difference(id, shape.sets, shape.ways, seed, 4000, &hits), -1)
                    << mem_cache_policy(id)->name << ", " << shape.sets << " sets of " << shape.ways << ", seed "
                    << seed;
                steps += 4000;
            }
        }
        std::printf("%-8s hit rate %.3f on %d accesses\n", mem_cache_policy(id)->name, double(hits) / steps, steps);
    }
}

TEST(Policies, KeepTheCacheSound) {
    for (uint32_t id = 0; id < kPolicies; id++) {
        for (Shape shape : kShapes) {
            BareCache cache(id, shape.sets, shape.ways);
            PolicyTrace trace(9, shape.sets * shape.ways * 2);
            for (int step = 0; step < 2000; step++) {
                cache.access(trace.next());
                if (step % 50 == 0) {
                    ASSERT_EQ(mem_device_cache_check(&cache), nullptr) << mem_cache_policy(id)->name;
                }
            }
        }
    }
}

TEST(Policies, RandomIsUniformAndSeeded) {
    constexpr uint32_t kWays = 10, kDraws = 100000;
    std::vector<uint32_t> first, again, other;
    for (auto [draws, seed] : {std::pair{&first, 1}, {&again, 1}, {&other, 2}}) {
        BareCache cache(MEM_POLICY_RANDOM, 1, kWays, uint64_t(seed));
        for (Page page = 0; page < kWays; page++) {
            cache.access(page);
        }
        for (uint32_t i = 0; i < kDraws; i++) {
            draws->push_back(mem_device_cache_victim(&cache, kWays));
        }
    }
    EXPECT_EQ(first, again);
    EXPECT_NE(first, other);
    for (uint32_t frame = 0; frame < kWays; frame++) {
        double share = double(std::count(first.begin(), first.end(), frame)) / kDraws;
        EXPECT_NEAR(share, 0.1, 0.004) << "four standard deviations";
    }
}

TEST(Policies, AChangeHandsOverThePagesInTheOrderOfTheirFrames) {
    for (uint32_t from = 0; from < kPolicies; from++) {
        for (uint32_t to = 0; to < kPolicies; to++) {
            BareCache cache(from, 3, 8);
            PolicyTrace trace(4, 50);
            for (int step = 0; step < 500; step++) {
                cache.access(trace.next());
            }
            BareCache fresh(to, 3, 8);
            mem_device_cache_set_policy(&cache, to);
            ASSERT_EQ(mem_device_cache_check(&cache), nullptr);
            for (uint32_t frame = 0; frame < cache.frame_count; frame++) {
                ASSERT_FALSE(fresh.access(mem_frame_page(&cache.frames[frame])));
            }
            for (int step = 0; step < 500; step++) {
                Page page = trace.next();
                ASSERT_EQ(cache.access(page), fresh.access(page)) << "from " << from << " to " << to;
            }
        }
    }
}

TEST(Policies, PagesFarApartFallIntoTheirSets) {
    for (uint32_t sets : {1u, 2u, 3u, 7u, 1000u, 65537u}) {
        BareCache cache(MEM_POLICY_LRU, sets, 1);
        std::mt19937_64 random(sets);
        for (int i = 0; i < 2000; i++) {
            Page page = random() % (UINT64_C(1) << 44);
            cache.access(page);
            ASSERT_EQ(mem_device_cache_find(&cache, page), page % sets);
        }
        Page last = (UINT64_C(1) << 44) - 1;
        ASSERT_EQ(mem_device_cache_victim(&cache, last), last % sets);
    }
}

// 48 GiB of 4 KiB pages. Memory is allocated lazily; the test counts its full size.
TEST(Policies, ALargeCacheIsThereAtOnce) {
    constexpr uint32_t kFrames = UINT32_C(48) << 18;
    for (uint32_t id = 0; id < kPolicies; id++) {
        auto start = std::chrono::steady_clock::now();
        BareCache cache(id, 1, kFrames);
        cache.access(1);
        EXPECT_TRUE(cache.access(1));
        std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        std::printf("%-8s created in %.3f s\n", mem_cache_policy(id)->name, took.count());
        EXPECT_LT(took.count(), 1.0);
    }
    size_t frame_bytes = size_t(kFrames) * sizeof(MemFrame) + (size_t(4) << 25);
    std::printf("frames and their hash: %.2f GiB\n", double(frame_bytes) / (1 << 30));
    EXPECT_LT(frame_bytes, size_t(1) << 30);
}
