// SPDX-License-Identifier: GPL-2.0-or-later
// Flash alone, with round numbers: the time of each operation must be exactly the sum of its waits and its own time.
#pragma once

#include <cstdio>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
#include "flash/flash.h"
}
#include "rig.h"

// 64 pages of 4 KiB on 2 channels of 2 dies of 2 planes; a transfer takes 1 us.
inline MemDeviceConfig small_flash() {
    return {.capacity_bytes = 64 * 4096,
            .cache_page_bytes = 4096,
            .flash_channels = 2,
            .flash_dies = 2,
            .flash_planes = 2,
            .flash_read_ps = 10 * kUs,
            .flash_program_ps = 70 * kUs,
            .flash_erase_ps = 500 * kUs,
            .flash_channel_bandwidth = UINT64_C(4096000000),
            .flash_suspend_ps = 3 * kUs,
            .flash_block_pages = 4,
            .flash_over_provisioning_permille = 1000,
            .flash_gc_free_blocks = 1};
}

// The same with one plane, and without a cost for transfers.
inline MemDeviceConfig one_plane() {
    MemDeviceConfig config = small_flash();
    config.flash_channels = config.flash_dies = config.flash_planes = 1;
    config.flash_channel_bandwidth = 0;
    return config;
}

inline MemDeviceConfig with_suspend(MemDeviceConfig config) {
    config.flash_suspend = true;
    return config;
}

inline MemDeviceConfig with_ftl(MemDeviceConfig config, MemGc gc = MEM_GC_GREEDY) {
    config.flash_ftl = MEM_FTL_PAGE;
    config.flash_gc = gc;
    return config;
}

class FlashRig {
  public:
    explicit FlashRig(const MemDeviceConfig &flash_config) : config(flash_config) {
        EXPECT_EQ(mem_flash_check(&config), nullptr);
        mem_flash_init(&f, &config);
        MemMoveListener listener = {on_move, this};
        mem_flash_listen(&f, &listener);
        mem_flash_set_timed(&f, true);
    }
    ~FlashRig() { mem_flash_destroy(&f); }
    FlashRig(const FlashRig &) = delete;
    FlashRig &operator=(const FlashRig &) = delete;

    MemFlashTimes read(uint64_t page, mem_ps at_ps) {
        return divided(mem_flash_read(&f, &count, page, at_ps), at_ps, f.active.read_ps + f.active.transfer_ps);
    }
    MemFlashTimes program(uint64_t page, mem_ps at_ps) {
        return divided(mem_flash_program(&f, &count, page, at_ps), at_ps, f.active.program_ps + f.active.transfer_ps);
    }

    MemDeviceConfig config;
    MemFlash f;
    MemCounters count = {};
    std::vector<MemProgramMove> moves;

  private:
    MemFlashTimes divided(MemFlashTimes t, mem_ps at_ps, mem_ps own_ps) {
        EXPECT_EQ(t.end_ps - at_ps, t.queue_wait_ps + t.program_wait_ps + t.gc_wait_ps + own_ps);
        EXPECT_LE(at_ps, t.start_ps);
        EXPECT_LE(t.start_ps, t.end_ps);
        EXPECT_EQ(mem_flash_check_state(&f), nullptr);
        return t;
    }
    static void on_move(void *opaque, const MemProgramMove *move) {
        static_cast<FlashRig *>(opaque)->moves.push_back(*move);
    }
};

// Compare a measurement with a closed form. Prints the deviation, which must be zero.
inline void expect_us(const char *what, double expected_us, mem_ps measured_ps) {
    mem_ps expected_ps = mem_ps(expected_us * 1e6 + 0.5);
    std::printf("%-52s expected %12llu ps, measured %12llu ps, deviation %+.1f ppm\n", what,
                (unsigned long long)expected_ps, (unsigned long long)measured_ps,
                expected_ps ? (double(measured_ps) / double(expected_ps) - 1) * 1e6 : 0.0);
    EXPECT_EQ(expected_ps, measured_ps) << what;
}
