// SPDX-License-Identifier: GPL-2.0-or-later
// Posted accesses compared with the same accesses run at once: every stall, slot, line state and counter is equal.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "../rigs/rig.h"

extern "C" {
#include "front.h"
}

namespace {

MemCpuConfig posted_cpu(uint32_t seed) {
    MemCpuConfig cpu = small_cpu();
    cpu.fill_buffers = seed % 3 * 4;
    cpu.store_buffer = seed % 2 * 5;
    cpu.overlap = seed % 3;
    cpu.overlap_window_ps = 50 * kNs;
    cpu.prefetch_streams = seed % 4 ? 8 : 0;
    cpu.prefetch_distance = 8;
    cpu.prefetch_degree = 2;
    cpu.prefetch_buffers = 4;
    cpu.l2_requests = seed % 2 * 6;
    return cpu;
}

// A memory system and the CPU's short cuts to lines in L1, as QEMU's TLB keeps them.
struct Machine {
    explicit Machine(const MemCpuConfig &cpu_config)
        : cpu(cpu_config), device(small_device(true)), media(device.capacity_bytes) {
        MemCallbacks callbacks = {.opaque = this, .l1_slot_dropped = on_dropped, .line_state = nullptr};
        MemMedia where = {.base = media.data()};
        m = memsys_new(&cpu, &callbacks);
        short_cuts.resize(memsys_l1_slots(m));
        memsys_add_device(m, &device, &where);
        map_window(m, kWindow, 0, device.capacity_bytes, 0);
        memsys_set_timed(m, true);
    }
    ~Machine() { memsys_free(m); }
    Machine(const Machine &) = delete;
    Machine &operator=(const Machine &) = delete;
    static void on_dropped(void *opaque, uint32_t, uint32_t slot) {
        static_cast<Machine *>(opaque)->short_cuts[slot] = false;
    }

    MemCpuConfig cpu;
    MemDeviceConfig device;
    std::vector<uint8_t> media;
    MemSys *m;
    std::vector<bool> short_cuts; // by slot
};

// Streams, revisits and jumps, mostly in local DRAM.
class Addresses {
  public:
    explicit Addresses(uint32_t seed) : random_(seed) {}
    uint32_t below(uint32_t bound) { return uint32_t(random_() % bound); }
    // Includes long stretches of local DRAM, so that more misses are posted than the ring can hold.
    uint32_t rarity() const { return steps_ / 4000 % 2 ? 40000 : 400; }
    uint64_t next() {
        steps_++;
        switch (below(8)) {
        case 0:
            at_ = below(1 << 12) * kLine;
            break;
        case 1:
            at_ = below(64) * kLine;
            break;
        default:
            at_ += (1 + below(2)) * kLine;
        }
        return at_ % (1 << 18) + (below(rarity()) == 0 ? kWindow : 0);
    }

  private:
    std::mt19937_64 random_;
    uint64_t at_ = 0;
    uint32_t steps_ = 0;
};

mem_ps settle(MemSys *m) {
    mem_ps stall = 0;
    while (!memsys_settle(m, &stall)) {
        std::this_thread::yield();
    }
    return stall;
}

// A thread that runs posted accesses while their owner continues.
class Helper {
  public:
    explicit Helper(MemSys *m)
        : thread_([this, m] {
              while (!stop_) {
                  if (!memsys_run_posted(m)) {
                      std::this_thread::yield();
                  }
              }
          }) {}
    ~Helper() {
        stop_ = true;
        thread_.join();
    }
    Helper(const Helper &) = delete;
    Helper &operator=(const Helper &) = delete;

  private:
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

// Runs the same accesses on a machine that answers at once and on a machine to which they are posted when possible.
class Comparison {
  public:
    explicit Comparison(uint32_t seed)
        : direct_machine_(posted_cpu(seed)), posting_machine_(posted_cpu(seed)), direct_(direct_machine_.m),
          posting_(posting_machine_.m), addresses_(seed) {}

    // `helped`: another thread runs the posted accesses.
    void run(uint32_t steps, bool helped) {
        std::optional<Helper> helper;
        if (helped) {
            helper.emplace(posting_);
        }
        for (uint32_t i = 0; i < steps; i++) {
            uint64_t hpa = addresses_.next();
            now_ += addresses_.below(100) * 10;
            ASSERT_NO_FATAL_FAILURE(access(hpa, addresses_.below(3) == 0));
            ASSERT_NO_FATAL_FAILURE(flush_or_nt_store(hpa));
        }
        ASSERT_NO_FATAL_FAILURE(close());
        EXPECT_GT(posts_, steps / 4);
        EXPECT_TRUE(helped || full_ > 0);
    }

    void end_alike() {
        MemCounters counters[2] = {memsys_counters(direct_), memsys_counters(posting_)};
        EXPECT_EQ(memcmp(&counters[0], &counters[1], sizeof(MemCounters)), 0);
        EXPECT_EQ(direct_machine_.short_cuts, posting_machine_.short_cuts);
        for (uint64_t dpa = 0; dpa < direct_machine_.device.capacity_bytes; dpa += kLine) {
            ASSERT_EQ(memsys_line_state(direct_, 0, dpa, now_), memsys_line_state(posting_, 0, dpa, now_));
        }
        EXPECT_EQ(memsys_check_invariants(posting_), nullptr);
    }

  private:
    static mem_ps call(MemSys *m, uint64_t hpa, bool store, mem_ps now, uint32_t *slot) {
        return store ? memsys_store(m, 0, hpa, now, slot) : memsys_load(m, 0, hpa, now, slot);
    }

    void close() {
        ASSERT_EQ(settle(posting_), posted_stalls_);
        ASSERT_LE(posted_stalls_, bound_);
        posted_stalls_ = bound_ = 0;
        open_ = false;
    }

    void access(uint64_t hpa, bool store) {
        uint32_t slots[2];
        mem_ps stall = call(direct_, hpa, store, now_, &slots[0]);
        bool local = hpa < kWindow;
        if (open_ && (!local || addresses_.below(2 * addresses_.rarity()) == 0)) {
            ASSERT_NO_FATAL_FAILURE(close());
        }
        if (local && !open_ && memsys_may_post(posting_) && addresses_.below(4)) {
            open_ = true;
            // For few accesses, requests already under way make up most of the bound.
            room_ = 1 + addresses_.below(addresses_.below(4) ? 5 * addresses_.rarity() : 4);
            bound_ = memsys_post_bound(posting_, now_, room_);
        }
        bool missed = false;
        if (open_ && room_ && memsys_post(posting_, hpa, store, now_ - posted_stalls_, &slots[1], &missed)) {
            posted_stalls_ += stall;
            room_--;
            posts_++;
            if (missed) {
                posting_machine_.short_cuts[slots[1]] = false;
            }
        } else {
            if (open_) {
                full_ += room_ > 0;
                ASSERT_NO_FATAL_FAILURE(close());
            }
            ASSERT_EQ(stall, call(posting_, hpa, store, now_, &slots[1]));
        }
        ASSERT_EQ(slots[0], slots[1]);
        ASSERT_EQ(direct_machine_.short_cuts[slots[0]], posting_machine_.short_cuts[slots[0]]); // previous line
        direct_machine_.short_cuts[slots[0]] = posting_machine_.short_cuts[slots[0]] = true;
        now_ += stall;
    }

    void same(mem_ps direct, mem_ps posting) {
        ASSERT_EQ(direct, posting);
        now_ += direct;
    }

    void flush_or_nt_store(uint64_t hpa) {
        if (!open_ && addresses_.below(50) == 0) {
            MemFlushKind kind = MemFlushKind(addresses_.below(3));
            same(memsys_flush(direct_, 0, hpa, kind, now_), memsys_flush(posting_, 0, hpa, kind, now_));
        }
        if (!open_ && addresses_.below(50) == 0) {
            same(memsys_nt_store(direct_, 0, hpa, 16, now_), memsys_nt_store(posting_, 0, hpa, 16, now_));
            same(memsys_fence(direct_, 0, MEM_MFENCE, now_), memsys_fence(posting_, 0, MEM_MFENCE, now_));
        }
    }

    Machine direct_machine_, posting_machine_;
    MemSys *direct_, *posting_;
    Addresses addresses_;
    mem_ps now_ = 0;           // of the machine that answers at once
    mem_ps posted_stalls_ = 0; // stalls that the posting machine has not charged yet
    mem_ps bound_ = 0;
    bool open_ = false;
    uint32_t room_ = 0; /* posts that the bound still covers */
    uint32_t posts_ = 0;
    uint32_t full_ = 0; /* how often a post was rejected because too many waited */
};

void compare(uint32_t seed, uint32_t steps, bool helped) {
    Comparison comparison(seed);
    ASSERT_NO_FATAL_FAILURE(comparison.run(steps, helped));
    comparison.end_alike();
}

} // namespace

TEST(Posted, AnswersAreThoseGivenAtOnce) {
    for (uint32_t seed = 0; seed < 24; seed++) {
        SCOPED_TRACE(seed);
        compare(seed, 20000, false);
    }
}

TEST(Posted, AnotherThreadChangesNothing) {
    for (uint32_t seed = 0; seed < 12; seed++) {
        SCOPED_TRACE(seed);
        compare(seed, 20000, true);
    }
}

TEST(Posted, NothingIsPostedOutsideTheRegionBesideAnOpenBufferOrBeforeACut) {
    Machine machine(posted_cpu(1));
    EXPECT_TRUE(memsys_may_post(machine.m));
    memsys_nt_store(machine.m, 0, 0, 8, 0);
    EXPECT_FALSE(memsys_may_post(machine.m));
    memsys_fence(machine.m, 0, MEM_SFENCE, 0);
    EXPECT_TRUE(memsys_may_post(machine.m));
    memsys_set_timed(machine.m, false);
    EXPECT_FALSE(memsys_may_post(machine.m));
    memsys_set_timed(machine.m, true);
    EXPECT_TRUE(memsys_may_post(machine.m));
    memsys_cut_after(machine.m, 5); // no line may change after the cut event
    EXPECT_FALSE(memsys_may_post(machine.m));
}
