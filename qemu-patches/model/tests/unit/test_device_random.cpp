// SPDX-License-Identifier: GPL-2.0-or-later
#include "../reference/device_scenario.h"

// MODEL_SEED=n in the environment replays one seed.
TEST(DeviceRandom, DoesWithEveryByteWhatTheReferenceDoes) {
    const char *seed_text = std::getenv("MODEL_SEED");
    uint64_t first = seed_text ? std::strtoull(seed_text, nullptr, 10) : 1, last = seed_text ? first : 40;
    for (uint64_t seed = first; seed <= last; seed++) {
        DeviceScenario scenario(seed);
        ASSERT_EQ(scenario.run(400), "") << "replay with MODEL_SEED=" << seed;
    }
}

// The same under load: times change the hits, but the laws hold and the waits of a read add up to its time.
TEST(DeviceRandom, LawsHoldUnderLoad) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        std::mt19937_64 random(seed);
        auto below = [&random](uint32_t bound) { return uint32_t(random() % bound); };
        MemDeviceConfig c = small_device(below(2));
        c.cache_size_bytes = 6 * 4096;
        c.cache_policy = below(6);
        c.cache_mshrs = below(4);
        c.link_flit_bytes = below(2) ? 68 : 0;
        c.link_multi_header = below(2);
        c.controller_interval_ps = 3 * kNs;
        c.cache_bandwidth = UINT64_C(20000000000);
        c.cache_write_miss = below(3);
        c.cache_write = c.cache_write_miss == MEM_WRITE_LOG ? 0 : below(2);
        c.write_log_bytes = 2048;
        c.cache_prefetch = below(3);
        c.cache_prefetch_pages = 2;
        c.flash_suspend = below(2);
        c.flash_channel_bandwidth = UINT64_C(1000000000);
        DeviceRig r(c);
        std::vector<mem_ps> accepted(c.capacity_bytes / kLine);
        mem_ps now = 0;
        for (int step = 0; step < 1500; step++) {
            now += below(8) ? below(2000) : below(50000000);
            uint64_t line = below(below(2) ? 64 : uint32_t(c.capacity_bytes / kLine / 8));
            if (below(2)) {
                mem_ps at = r.write(line * kLine, now, below(2) ? MEM_ALL_BYTES : UINT64_C(1) << below(64)).accepted_ps;
                ASSERT_GE(at, accepted[line]) << "writes of a line are accepted in order, seed " << seed;
                accepted[line] = at;
            } else {
                MemReadTimes t = r.read(line * kLine, now);
                ASSERT_EQ(mem_delays_sum(&t.why), t.done_ps - now) << "seed " << seed;
            }
            if (below(200) == 0) {
                mem_device_set_timed(&r.d, below(2), now);
                std::fill(accepted.begin(), accepted.end(), 0);
            }
            if (below(100) == 0) {
                r.config.link_latency_ps = below(200) * kNs;
                r.config.cache_policy = below(6);
                r.config.cache_mshrs = below(4);
                ASSERT_EQ(mem_device_reconfigure(&r.d, &r.config), nullptr);
            }
            const MemCounters &n = r.count;
            ASSERT_EQ(n.flash_reads + n.cache_unfetched, n.cache_misses + n.cache_prefetches + n.cache_completions);
            ASSERT_EQ(n.flash_programs, n.cache_writebacks + n.cache_through_programs + n.log_compactions);
            if (step % 20 == 0) {
                ASSERT_STREQ(mem_device_check_state(&r.d), nullptr);
                ASSERT_STREQ(mem_persist_check(&r.d.persist), nullptr);
            }
        }
        if (below(2)) {
            mem_device_power_off(&r.d, now);
            EXPECT_EQ(mem_masks_count(&r.d.masks), 0u);
        } else {
            mem_device_power_cut(&r.d, now);
        }
        ASSERT_STREQ(mem_device_check_state(&r.d), nullptr);
    }
}
