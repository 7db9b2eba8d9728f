// SPDX-License-Identifier: GPL-2.0-or-later
// The laws that every test asserts (in rig.h, and after each step of the random runs) hold for a system in use, and
// the check of each law detects a violation.
#include <functional>
#include <gtest/gtest.h>

#include "../rigs/rig.h"

extern "C" {
#include "flash/ftl_internal.h"
#include "front.h"
}

namespace {

MemDeviceConfig busy_device() {
    MemDeviceConfig d = small_device(false);
    d.capacity_bytes = 1 << 18; // 64 pages
    d.cache_size_bytes = 4 * 4096;
    d.flash_channels = 1;
    d.flash_ftl = MEM_FTL_PAGE;
    d.flash_block_pages = 4;
    d.flash_over_provisioning_permille = 300;
    d.flash_gc_free_blocks = 1;
    return d;
}

// A system in use, in which every mechanism has counted something.
class UsedSystem : public Rig {
  public:
    UsedSystem() : Rig(small_cpu(), busy_device()) {
        for (uint64_t i = 0; i < 2000; i++) {
            uint64_t dpa = i * 37 % 64 * 4096 + i % 3 * kLine;
            store(dpa, uint8_t(i));
            flush(dpa);
            load(i % 512 * kLine);
        }
        fence();
        nt_store(0, 1, 8);
        store(4096, 1);
    }
    const char *broken() const { return memsys_check_invariants(m); }
    MemCounters &count() { return m->cpus[0].core.counters; }
    MemDevice &device_state() { return *m->memory.devices[0]; }
    MemFtlMap &ftl() { return *device_state().flash.ftl; }
    // A full block of the only plane with a valid and an invalid page.
    MemFlashBlock &block() {
        uint32_t at = 0;
        while (!(mem_ftl_peek(&ftl(), 0, at) && mem_ftl_peek(&ftl(), 0, at)->written == 4 &&
                 mem_ftl_peek(&ftl(), 0, at)->valid % 4 != 0)) {
            at++;
        }
        return *mem_ftl_block(&ftl(), 0, at);
    }
    uint64_t &valid_page() {
        MemFlashBlock &b = block();
        return *std::find_if(b.pages, b.pages + 4, [](uint64_t page) { return page != MEM_FTL_NO_PAGE; });
    }
};

struct Law {
    const char *sentence;
    std::function<std::function<void()>(UsedSystem &)> break_it; // returns a function that restores the state
};

// Adds one to a number. Returns a function that subtracts it again.
template <typename T> std::function<void()> add_one(T &number) {
    number++;
    return [&number] { number--; };
}

template <typename T> std::function<void()> set(T &place, T value) {
    T before = place;
    place = value;
    return [&place, before] { place = before; };
}

// Adds `count` prefetched lines that never arrive, and limits `places` to one.
std::function<void()> add_lines(MemCore &core, MemSlots &places, uint32_t count) {
    auto undo = set(places.room, 1u);
    for (uint64_t line = 0; line < count; line++) {
        mem_in_flight_add(&core.arrivals, line, 0, MEM_NOT_SENT - 1, 0);
    }
    return [&core, undo] {
        mem_in_flight_clear(&core.arrivals);
        undo();
    };
}

std::function<void()> add_loads(MemCore &core) {
    auto undo_room = set(core.fill_buffers.room, 1u), undo_count = set(core.load_count, 2u);
    auto undo_first = set(core.loads[core.first_load].done_ps, UINT64_MAX);
    auto undo_second = set(core.loads[(core.first_load + 1) % MEM_LOADS_UNDER_WAY].done_ps, UINT64_MAX);
    return [=] {
        undo_second();
        undo_first();
        undo_count();
        undo_room();
    };
}

const Law kLaws[] = {
    {"no more loads are under way", [](UsedSystem &s) { return add_loads(s.m->cpus[0].core); }},
    {"no more lines are under way to L2",
     [](UsedSystem &s) { return add_lines(s.m->cpus[0].core, s.m->cpus[0].core.l2_requests, 2); }},
    {"each prefetched line under way has a buffer",
     [](UsedSystem &s) {
         MemCore &core = s.m->cpus[0].core;
         auto undo = set(core.fill_buffers.room, 1u), remove = add_lines(core, core.prefetch_buffers, 3);
         return [=] {
             remove();
             undo();
         };
     }},
    {"no more stores wait", [](UsedSystem &s) { return add_one(s.m->cpus[0].core.store_count); }},
    {"no level misses more often than it is asked", [](UsedSystem &s) { return set(s.count().l1_misses, UINT64_MAX); }},
    {"LLC misses + prefetches = DRAM reads", [](UsedSystem &s) { return add_one(s.count().dram_reads); }},
    {"device-cache hits + misses = device reads + writes",
     [](UsedSystem &s) { return add_one(s.device_state().counters.cache_hits); }},
    {"pages read = device-cache misses", [](UsedSystem &s) { return add_one(s.device_state().counters.flash_reads); }},
    {"pages programmed = write-backs", [](UsedSystem &s) { return add_one(s.device_state().counters.flash_programs); }},
    {"link bytes = lines moved * 64",
     [](UsedSystem &s) { return add_one(s.device_state().counters.link_write_bytes); }},
    {"open WC buffers are counted right", [](UsedSystem &s) { return add_one(s.m->cpus[0].wc.open_count); }},
    {"a line gathered in a WC buffer",
     [](UsedSystem &s) { return set(s.m->cpus[0].wc.buffers[0].line, (kWindow + 4096) / kLine); }},
    {"the device lines that are CPU-dirty",
     [](UsedSystem &s) { return add_one(s.device_state().persist.cpu_dirty_count); }},
    {"dirty pages + pages cleaned = pages dirtied",
     [](UsedSystem &s) { return add_one(s.device_state().cache.pages_dirtied); }},
    {"each valid flash page is where", [](UsedSystem &s) { return set(s.valid_page(), UINT64_C(1000)); }},
    {"the valid pages of a flash block", [](UsedSystem &s) { return add_one(s.block().valid); }},
    {"the valid pages of a flash block", [](UsedSystem &s) { return set(s.valid_page(), uint64_t(MEM_FTL_NO_PAGE)); }},
    {"the block that is partly written",
     [](UsedSystem &s) { return set(s.ftl().planes[0].open, uint32_t(MEM_FTL_NO_BLOCK - 1)); }},
    {"the live pages of a flash plane", [](UsedSystem &s) { return add_one(s.ftl().planes[0].live); }},
    {"the erased flash blocks are the free ones",
     [](UsedSystem &s) { return add_one(s.ftl().planes[0].erased_count); }},
    {"a full flash block is listed", [](UsedSystem &s) { return set(s.block().modified, UINT64_MAX); }},
    {"the lists of full flash blocks are whole",
     [](UsedSystem &s) { return set(s.ftl().planes[0].full[s.block().valid].newest, uint32_t(7777)); }},
    {"each full flash block with an invalid page",
     [](UsedSystem &s) {
         MemBlockList &list = s.ftl().planes[0].full[s.block().valid];
         auto undo = set(list, MemBlockList{MEM_FTL_NO_BLOCK, MEM_FTL_NO_BLOCK});
         return undo;
     }},
    {"the wear of all flash blocks = erases", [](UsedSystem &s) { return add_one(s.ftl().totals.erases); }},
    {"flash pages written = programs of the host", [](UsedSystem &s) { return add_one(s.ftl().totals.gc_moves); }},
    {"flash pages written = programs of the host", [](UsedSystem &s) { return add_one(s.ftl().totals.host_programs); }},
};

} // namespace

TEST(Laws, EachHoldsAndSaysWhenItIsBroken) {
    UsedSystem s;
    ASSERT_STREQ(s.broken(), nullptr);
    ASSERT_GT(s.counters().flash_gc_moves, 0u);
    for (const Law &law : kLaws) {
        auto undo = law.break_it(s);
        const char *said = s.broken();
        EXPECT_TRUE(said && std::string(said).starts_with(law.sentence)) << law.sentence << ": " << (said ? said : "-");
        undo();
        ASSERT_STREQ(s.broken(), nullptr) << law.sentence;
    }
}

// Programs = host writes to flash * write amplification, from the counters alone.
TEST(Laws, ProgramsAreHostWritesTimesWriteAmplification) {
    UsedSystem s;
    MemCounters n = s.counters();
    EXPECT_EQ(n.flash_programs - n.flash_gc_moves, n.cache_writebacks);
    EXPECT_EQ(s.ftl().totals.host_programs, n.cache_writebacks);
    EXPECT_EQ(n.flash_erases, s.ftl().totals.erases);
}

// Saving, loading and moving a device's flash state and media through memsys.h.
TEST(Laws, ADeviceGoesOnWhereItsStateWasSaved) {
    UsedSystem s;
    std::vector<uint8_t> state;
    auto sink = [](void *to, const void *bytes, size_t count) {
        auto *first = static_cast<const uint8_t *>(bytes);
        static_cast<std::vector<uint8_t> *>(to)->insert(static_cast<std::vector<uint8_t> *>(to)->end(), first,
                                                        first + count);
    };
    memsys_flash_save(s.m, 0, sink, &state);
    Rig fresh(small_cpu(), busy_device());
    EXPECT_EQ(memsys_flash_load(fresh.m, 0, state.data(), state.size()), nullptr);
    EXPECT_EQ(fresh.m->memory.devices[0]->flash.ftl->totals.host_programs, s.ftl().totals.host_programs);
    state.pop_back();
    EXPECT_NE(memsys_flash_load(fresh.m, 0, state.data(), state.size()), nullptr);

    std::vector<uint8_t> moved(s.media);
    MemMedia where = {.base = moved.data()};
    memsys_set_media(s.m, 0, &where);
    EXPECT_GT(memsys_power_cut(s.m, s.now).lines_lost, 0u); // the cut writes to the new place
    EXPECT_NE(moved, s.media);

    MemDeviceConfig expander = small_device(true);
    expander.flash_channels = 0;
    Rig none(small_cpu(), expander);
    EXPECT_STREQ(memsys_flash_load(none.m, 0, nullptr, 0), "the device has no flash");
}
