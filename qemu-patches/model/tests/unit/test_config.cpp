// SPDX-License-Identifier: GPL-2.0-or-later
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <string>

extern "C" {
#include "config/params.h"
}

#include "../rigs/rig.h"

template <class Config> struct Case {
    const char *sentence_starts; // begins with the field's name
    std::function<void(Config &)> spoil;
};

TEST(Config, GoodOnesPass) {
    MemCpuConfig cpu = small_cpu();
    MemDeviceConfig device = small_device(true);
    EXPECT_EQ(memsys_check_cpu(&cpu), nullptr);
    EXPECT_EQ(memsys_check_device(&device), nullptr);
    device.cache_ways = 4;
    EXPECT_EQ(memsys_check_device(&device), nullptr);
}

TEST(Config, EachCpuRuleNamesItsField) {
    const Case<MemCpuConfig> cases[] = {
        {"l1d.size_bytes", [](auto &c) { c.l1d.size_bytes = 0; }},
        {"l1d.ways must be from 1 to 16", [](auto &c) { c.l1d.ways = 0; }},
        {"l1d.ways must be from 1 to 16", [](auto &c) { c.l1d.ways = 17; }},
        {"l1d.latency_ps", [](auto &c) { c.l1d.latency_ps = 1; }},
        {"l2.size_bytes", [](auto &c) { c.l2.size_bytes = 128; }},
        {"l2.size_bytes", [](auto &c) { c.l2.size_bytes = 4096 + 64; }},
        {"l2.latency_ps", [](auto &c) { c.l2.latency_ps = c.llc.latency_ps + 1; }},
        {"llc.size_bytes", [](auto &c) { c.llc.size_bytes = UINT64_C(8) << 30; }},
        {"fill_buffers", [](auto &c) { c.fill_buffers = 4097; }},
        {"store_buffer", [](auto &c) { c.store_buffer = 4097; }},
        {"overlap must", [](auto &c) { c.overlap = 3; }},
        {"overlap_window_ps", [](auto &c) { c.overlap_window_ps = UINT64_MAX; }},
        {"prefetch_streams", [](auto &c) { c.prefetch_streams = 1025; }},
        {"prefetch_distance", [](auto &c) { c.prefetch_streams = 1; }},
        {"prefetch_degree",
         [](auto &c) {
             c.prefetch_streams = 1;
             c.prefetch_distance = 4;
             c.prefetch_degree = 5;
         }},
        {"prefetch_buffers", [](auto &c) { c.prefetch_buffers = 4097; }},
        {"l2_requests", [](auto &c) { c.l2_requests = 4097; }},
        {"llc.latency_ps", [](auto &c) { c.llc.latency_ps = UINT64_MAX; }},
        {"dram_latency_ps", [](auto &c) { c.dram_latency_ps = UINT64_C(1000000000001); }},
        {"dram_bandwidth", [](auto &c) { c.dram_bandwidth = 999999; }},
        {"wc_buffers", [](auto &c) { c.wc_buffers = 0; }},
        {"wc_buffers", [](auto &c) { c.wc_buffers = 1025; }},
        {"cores must be from 1 to 32", [](auto &c) { c.cores = 0; }},
        {"cores must be from 1 to 32", [](auto &c) { c.cores = 33; }},
        {"c2c_ps must not be below llc.latency_ps",
         [](auto &c) {
             c.cores = 2;
             c.c2c_ps = c.llc.latency_ps - 1;
         }},
        {"upgrade_ps must not exceed c2c_ps",
         [](auto &c) {
             c.cores = 2;
             c.c2c_ps = c.llc.latency_ps;
             c.upgrade_ps = c.c2c_ps + 1;
         }},
    };
    for (const auto &test : cases) {
        MemCpuConfig cpu = small_cpu();
        test.spoil(cpu);
        const char *sentence = memsys_check_cpu(&cpu);
        ASSERT_NE(sentence, nullptr) << test.sentence_starts;
        EXPECT_EQ(std::string(sentence).rfind(test.sentence_starts, 0), 0u) << sentence;
    }
}

TEST(Config, EachDeviceRuleNamesItsField) {
    const Case<MemDeviceConfig> cases[] = {
        {"capacity_bytes", [](auto &c) { c.capacity_bytes = 0; }},
        {"capacity_bytes", [](auto &c) { c.capacity_bytes += 64; }},
        {"capacity_bytes", [](auto &c) { c.capacity_bytes = UINT64_C(1) << 51; }},
        {"volatile_bytes must not exceed capacity_bytes", [](auto &c) { c.volatile_bytes = c.capacity_bytes + 1; }},
        {"link_latency_ps", [](auto &c) { c.link_latency_ps = UINT64_MAX; }},
        {"link_read_bandwidth", [](auto &c) { c.link_read_bandwidth = 0; }},
        {"link_write_bandwidth", [](auto &c) { c.link_write_bandwidth = 0; }},
        {"link_flit_bytes", [](auto &c) { c.link_flit_bytes = 64; }},
        {"cache_size_bytes", [](auto &c) { c.cache_size_bytes = 0; }},
        {"cache_size_bytes", [](auto &c) { c.cache_size_bytes = 4097; }},
        {"cache_size_bytes", [](auto &c) { c.cache_size_bytes = c.capacity_bytes * 2; }},
        {"cache_size_bytes",
         [](auto &c) {
             c.cache_page_bytes = 64;
             c.capacity_bytes = c.cache_size_bytes = UINT64_C(1) << 37;
         }},
        {"cache_page_bytes", [](auto &c) { c.cache_page_bytes = 32; }},
        {"cache_page_bytes", [](auto &c) { c.cache_page_bytes = 3000; }},
        {"cache_page_bytes", [](auto &c) { c.cache_page_bytes = 4 << 20; }},
        {"cache_ways", [](auto &c) { c.cache_ways = 3; }},
        {"cache_bandwidth", [](auto &c) { c.cache_bandwidth = 999999; }},
        {"cache_policy", [](auto &c) { c.cache_policy = 6; }},
        {"cache_write ", [](auto &c) { c.cache_write = 2; }},
        {"cache_write_miss", [](auto &c) { c.cache_write_miss = 3; }},
        {"write_log_bytes", [](auto &c) { c.write_log_bytes = 64; }},
        {"write_log_bytes", [](auto &c) { c.write_log_bytes = UINT64_C(1) << 37; }},
        {"write_log_bytes", [](auto &c) { c.cache_write_miss = MEM_WRITE_LOG; }},
        {"cache_write ",
         [](auto &c) {
             c.write_log_bytes = 128;
             c.cache_write_miss = MEM_WRITE_LOG;
             c.cache_write = MEM_WRITE_THROUGH;
         }},
        {"cache_mshrs", [](auto &c) { c.cache_mshrs = 65537; }},
        {"cache_prefetch ", [](auto &c) { c.cache_prefetch = 3; }},
        {"cache_prefetch_pages",
         [](auto &c) {
             c.cache_prefetch = MEM_PREFETCH_NEXT;
             c.cache_prefetch_pages = 0;
         }},
        {"cache_latency_ps", [](auto &c) { c.cache_latency_ps = UINT64_MAX; }},
        {"cache_refresh_interval_ps", [](auto &c) { c.cache_refresh_interval_ps = UINT64_MAX; }},
        {"cache_refresh_ps must be below",
         [](auto &c) {
             c.cache_refresh_ps = c.cache_refresh_interval_ps = 1000;
             c.cache_refresh_groups = 1;
         }},
        {"cache_refresh_groups",
         [](auto &c) {
             c.cache_refresh_ps = 1;
             c.cache_refresh_interval_ps = 1000;
         }},
        {"write_queue must not", [](auto &c) { c.write_queue = 65537; }},
        {"write_queue must be 0",
         [](auto &c) {
             c.write_queue = 1;
             c.cache_power_loss_protected = false;
         }},
        {"flash_channels", [](auto &c) { c.flash_channels = 65537; }},
    };
    for (const auto &test : cases) {
        MemDeviceConfig device = small_device(true);
        test.spoil(device);
        const char *sentence = memsys_check_device(&device);
        ASSERT_NE(sentence, nullptr) << test.sentence_starts;
        EXPECT_EQ(std::string(sentence).rfind(test.sentence_starts, 0), 0u) << sentence;
    }
}

// For each bound of a table row: the last value within it passes, the first beyond it fails with the row's sentence.
template <class Config> size_t expect_bounds(const MemParamTable &table, const Config &good) {
    size_t beyond = 0;
    for (size_t i = 0; i < table.count; i++) {
        const MemParam &p = table.params[i];
        for (bool above : {false, true}) {
            Config config = good;
            bool none = above ? p.most == UINT64_MAX : p.least == 0;
            if (none || p.type == MEM_PARAM_BOOL || mem_param_set(&p, &config, above ? p.most + 1 : p.least - 1)) {
                continue;
            }
            if (p.needs) { // otherwise the parameter is not checked
                mem_param_set(mem_param_find(&table, p.needs), &config, 1);
            }
            EXPECT_STREQ(mem_params_check(&table, &config), p.refusal) << p.name;
            EXPECT_EQ(std::string(p.refusal).rfind(p.field, 0), 0u) << p.refusal;
            mem_param_set(&p, &config, above ? p.most : p.least);
            EXPECT_STREQ(mem_params_check(&table, &config), nullptr) << p.name;
            beyond++;
        }
    }
    return beyond;
}

TEST(Config, EveryBoundOfTheTablesIsChecked) {
    MemCpuConfig cpu = small_cpu();
    MemDeviceConfig device = small_device(true);
    cpu.prefetch_distance = cpu.prefetch_degree = 1;
    cpu.c2c_ps = cpu.llc.latency_ps;
    device.cache_prefetch_pages = device.cache_refresh_groups = 1;
    device.flash_block_pages = 2;
    device.flash_gc_free_blocks = 1;
    size_t of_cpu = expect_bounds(mem_cpu_params, cpu), of_device = expect_bounds(mem_device_params, device);
    std::printf("%zu bounds of the CPU's parameters, %zu of a device's\n", of_cpu, of_device);
    EXPECT_GT(of_cpu, 30u);
    EXPECT_GT(of_device, 25u);
}

TEST(Config, WhatAnUnusedParameterIsDoesNotMatter) {
    MemDeviceConfig expander = small_device(true);
    expander.flash_channels = 0;
    expander.flash_ftl = MEM_FTL_PAGE; // checks the pages of a block if there is flash
    expander.flash_block_pages = 0;
    EXPECT_STREQ(mem_params_check(&mem_device_params, &expander), nullptr);
    expander.flash_channels = 1;
    EXPECT_STREQ(mem_params_check(&mem_device_params, &expander), "flash_block_pages must be from 2 to 65536");
}

TEST(Config, ABarrierTakesASecondAtMost) {
    MemDeviceConfig device = small_device(true);
    for (uint32_t channels : {4u, 0u}) {
        device.flash_channels = channels;
        device.wbarrier_latency_ps = UINT64_C(1000000000000);
        EXPECT_STREQ(memsys_check_device(&device), nullptr);
        device.wbarrier_latency_ps++;
        EXPECT_STREQ(memsys_check_device(&device), "wbarrier_latency_ps must not exceed 1 s");
    }
}

// The checks ignore an expander's cache parameters, so no value of them may do harm.
TEST(Config, AnExpanderHasNoPages) {
    MemCpuConfig cpu = small_cpu();
    MemDeviceConfig expander = small_device(true);
    MemCallbacks callbacks = {nullptr, [](void *, uint32_t, uint32_t) {}, nullptr};
    expander.flash_channels = 0;
    expander.cache_page_bytes = UINT32_MAX;
    ASSERT_EQ(memsys_check_device(&expander), nullptr);
    MemSys *m = memsys_new(&cpu, &callbacks);
    EXPECT_EQ(memsys_add_device(m, &expander, nullptr), 0u);
    memsys_free(m);
}

TEST(Config, WithoutADeviceEverythingIsDram) {
    MemCpuConfig cpu = small_cpu();
    MemCallbacks callbacks = {nullptr, [](void *, uint32_t, uint32_t) {}, nullptr};
    MemSys *m = memsys_new(&cpu, &callbacks);
    uint32_t slot;
    memsys_set_timed(m, true);
    EXPECT_EQ(memsys_load(m, 0, kWindow, 0, &slot), 104 * kNs);
    EXPECT_EQ(memsys_store(m, 0, 64, 200 * kNs, &slot), 104 * kNs);
    EXPECT_EQ(memsys_check_invariants(m), nullptr);
    EXPECT_EQ(memsys_power_cut(m, 400 * kNs).lines_lost, 0u);
    memsys_power_off(m, 400 * kNs);
    memsys_set_timed(m, false);
    EXPECT_EQ(memsys_load(m, 0, kWindow, 500 * kNs, &slot), 0u);
    memsys_free(m);
    memsys_free(nullptr);
}
