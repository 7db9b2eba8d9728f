// SPDX-License-Identifier: GPL-2.0-or-later
// Link, controller and device DRAM, alone and together, compared with closed forms.
#include "../rigs/device_rig.h"

namespace {

// A device without delays, to which each test adds its own.
MemDeviceConfig plain_device() {
    return {.capacity_bytes = 1 << 20,
            .link_read_bandwidth = UINT64_C(64000000000000),
            .link_write_bandwidth = UINT64_C(64000000000000),
            .cache_size_bytes = 1 << 16,
            .cache_page_bytes = 4096,
            .cache_power_loss_protected = true,
            .flash_channels = 4,
            .flash_dies = 1,
            .flash_planes = 1};
}

MemDeviceConfig flit_device(uint32_t flit_bytes) {
    MemDeviceConfig c = plain_device();
    c.link_latency_ps = 100 * kNs;
    c.link_read_bandwidth = UINT64_C(32000000000);
    c.link_write_bandwidth = UINT64_C(16000000000);
    c.link_flit_bytes = flit_bytes;
    return c;
}

constexpr mem_ps kLinePs = 1; // a line at 64 TB/s

} // namespace

TEST(Link, PayloadOnly) {
    DeviceRig r(flit_device(0));
    MemReadTimes t = r.read(0, 0);
    expect_form("read, 64 bytes at 32 GB/s", 200 * kNs + 2 * kNs, t.done_ps);
    EXPECT_EQ(t.why.link_ps, t.done_ps);
    MemWriteTimes w = r.write(0, kUs);
    expect_form("write has left, 64 bytes at 16 GB/s", kUs + 4 * kNs, w.taken_ps);
    expect_form("write accepted", w.taken_ps + 100 * kNs, w.accepted_ps);
    expect_form("write completed", w.accepted_ps + 100 * kNs, w.completed_ps);
}

TEST(Link, Flits68) {
    DeviceRig r(flit_device(68)); // 17 bytes a slot: 531.25 ps to the host, 1062.5 ps to the device
    expect_form("read, 1 slot there and 5 back", 1063 + 200 * kNs + 2657, r.read(0, 0).done_ps);
    MemWriteTimes w = r.write(0, kUs);
    expect_form("write has left, 5 slots", kUs + 5313, w.taken_ps);
    expect_form("write completed, 1 slot back", w.accepted_ps + 532 + 100 * kNs, w.completed_ps);
}

TEST(Link, Flits256) {
    DeviceRig r(flit_device(256)); // 256 / 15 bytes a slot: 533.3 ps to the host, 1066.7 ps to the device
    expect_form("read, 1 slot there and 5 back", 1067 + 200 * kNs + 2667, r.read(0, 0).done_ps);
    MemWriteTimes w = r.write(0, kUs);
    expect_form("write has left, 5 slots", kUs + 5334, w.taken_ps);
    expect_form("write completed, 1 slot back", w.accepted_ps + 534 + 100 * kNs, w.completed_ps);
}

TEST(Link, ReadsQueueForTheWireOfTheirData) {
    struct Case {
        uint32_t flit_bytes;
        bool multi_header;
        mem_ps wire; // of each line but the first: 64 bytes, five slots, or four and a half
    };
    for (auto [flit_bytes, multi_header, wire] : {Case{0, true, 2000}, Case{68, false, 2657}, Case{68, true, 2391},
                                                  Case{256, false, 2667}, Case{256, true, 2400}}) {
        MemDeviceConfig c = flit_device(flit_bytes);
        c.link_multi_header = multi_header;
        DeviceRig r(c);
        mem_ps first = r.read(0, 0).done_ps, last = 0;
        for (uint64_t i = 1; i < 100; i++) {
            MemReadTimes t = r.read(i * kLine, 0);
            EXPECT_GE(t.done_ps, last);
            last = t.done_ps;
        }
        expect_form("99 more reads at once", first + 99 * wire, last);
    }
}

TEST(Link, ARequestWaitsForALineOnTheSameWire) {
    DeviceRig r(flit_device(68));
    r.write(0, 0);
    MemReadTimes t = r.read(0, 0);
    expect_form("read behind a write", 5313 + 1063 + 200 * kNs + 2657, t.done_ps);
    EXPECT_EQ(t.why.queue_ps, 5313u);
    r.write(0, 50 * kNs);
    t = r.read(0, 50 * kNs + 5312);
    EXPECT_EQ(t.why.queue_ps, 1u) << "1 ps before the wire is free";
    r.write(0, 100 * kNs);
    t = r.read(0, 100 * kNs + 5313);
    EXPECT_EQ(t.why.queue_ps, 0u);
}

TEST(Link, CompletionsTakeTurnsWithData) {
    DeviceRig r(flit_device(68));
    MemWriteTimes w = r.write(0, 0); // accepted at 105313: its completion takes the wire to the host until 105845
    mem_ps at_device = w.accepted_ps - 1063 - 100 * kNs; // a read request sent now arrives as the write is accepted
    MemReadTimes t = r.read(0, at_device + 5313);
    EXPECT_EQ(t.why.queue_ps, 0u) << "the request follows the write, its data come after the completion";
    DeviceRig both(flit_device(68));
    mem_ps data_at = both.read(0, 0).done_ps - 100 * kNs - 2657;
    w = both.write(0, data_at - 100 * kNs - 5313); // accepted as the data start
    expect_form("completion behind data", data_at + 2657 + 532 + 100 * kNs, w.completed_ps);
}

// 20 lines follow one another to the host when a write is accepted.
TEST(Link, CompletionsGoWithTheHeadersOfLines) {
    constexpr mem_ps kWire = 21250, kSlot = 4250, kWriteWire = 5313; // a line and a completion at 4 GB/s
    MemDeviceConfig c = flit_device(68);
    c.link_read_bandwidth = UINT64_C(4000000000);
    auto with_lines = [&] {
        auto r = std::make_unique<DeviceRig>(c);
        for (int i = 0; i < 20; i++) {
            r->read(0, 0);
        }
        return r;
    };
    auto completion_starts = [&](DeviceRig &r, mem_ps accepted) {
        MemWriteTimes w = r.write(0, accepted - 100 * kNs - kWriteWire);
        EXPECT_EQ(w.accepted_ps, accepted);
        return w.completed_ps - 100 * kNs - kSlot;
    };
    DeviceRig idle(c);
    mem_ps first = idle.read(0, 0).done_ps - 100 * kNs - kWire; // when the first line starts
    mem_ps last = first + 19 * kWire, behind = last + 2 * kWire + 100 * kNs;

    auto r = with_lines();
    expect_form("completion while lines flow", first + 5 * kWire, completion_starts(*r, first + 4 * kWire));
    expect_form("the next goes with the next line", first + 6 * kWire,
                completion_starts(*r, first + 4 * kWire + kWriteWire));
    expect_form("they take no time of the wire", behind, r->read(0, 0).done_ps);
    r = with_lines();
    expect_form("with the last line", last, completion_starts(*r, last - kWire));
    expect_form("no time of the wire", behind, r->read(0, 0).done_ps);
    r = with_lines();
    expect_form("1 ps later: behind it", last + kWire, completion_starts(*r, last - kWire + 1));
    expect_form("where it takes a slot", behind + kSlot, r->read(0, 0).done_ps);
}

// 20 lines wait for each other. Two completions share their headers, and the next line pays for both.
TEST(Link, HeadersOfLinesShareASlotUnlessCompletionsDo) {
    constexpr mem_ps kWire = 21250, kHalf = 2125, kWriteWire = 5313; // to the host at 4 GB/s
    MemDeviceConfig c = flit_device(68);
    c.link_read_bandwidth = UINT64_C(4000000000);
    c.link_multi_header = true;
    DeviceRig r(c);
    mem_ps first = r.read(0, 0).done_ps, end = first + 19 * (kWire - kHalf);
    for (int i = 1; i < 20; i++) {
        expect_form("a line that waits", first + i * (kWire - kHalf), r.read(0, 0).done_ps);
    }
    mem_ps accepted = first - 100 * kNs + 4 * kWire;
    for (int i = 0; i < 2; i++) {
        MemWriteTimes w = r.write(0, accepted - 100 * kNs - kWriteWire);
        expect_form("a completion", accepted + (i + 1) * kWire + 2 * kHalf + 100 * kNs, w.completed_ps);
    }
    expect_form("the next line makes up for both", end + kWire + kHalf, r.read(0, 0).done_ps);
    expect_form("the one after it does", end + 2 * kWire, r.read(0, 0).done_ps);
    mem_ps idle = end + 2 * kWire - 100 * kNs, asked = idle - 100 * kNs - 1063;
    expect_form("1 ps before the wire is free", idle + kWire - kHalf + 100 * kNs, r.read(0, asked - 1).done_ps);
    idle += kWire - kHalf;
    asked = idle - 100 * kNs - 1063;
    expect_form("when it is", idle + kWire + 100 * kNs, r.read(0, asked).done_ps);
}

TEST(Link, DataOfAHitPassDataThatAreNotThereYet) {
    MemDeviceConfig c = flit_device(0);
    c.flash_read_ps = 10 * kUs;
    DeviceRig r(c);
    r.read(0, 0);
    mem_ps now = 20 * kUs;
    MemReadTimes miss = r.read(4096, now), hit = r.read(0, now + 1);
    expect_form("miss", now + 10 * kUs + 202 * kNs, miss.done_ps);
    expect_form("hit behind a miss", now + 1 + 202 * kNs, hit.done_ps);
    EXPECT_TRUE(hit.hit);
    EXPECT_EQ(miss.why.flash_ps, 10 * kUs);
}

TEST(Link, LinesToTheDeviceKeepTheirOrderOverCredits) {
    MemDeviceConfig c = plain_device();
    c.controller_latency_ps = 10 * kUs;
    DeviceRig r(c);
    std::vector<MemWriteTimes> w;
    for (uint64_t i = 0; i < 2 * MEM_LINK_WRITE_CREDITS; i++) {
        w.push_back(r.write(i % 1024 * kLine, 0));
        if (i) {
            ASSERT_EQ(w[i].taken_ps,
                      w[i - 1].taken_ps + (i == MEM_LINK_WRITE_CREDITS ? w[0].accepted_ps - 1023 : kLinePs));
        }
    }
}

// A line that the core flushed passes the LLC first. A line that the LLC evicts later waits behind it.
TEST(Link, NoLineOvertakesOneThatIsOnItsWay) {
    for (uint32_t queue : {0u, 4u}) {
        MemDeviceConfig c = small_device(true);
        c.write_queue = queue;
        DeviceRig r(c);
        r.read(0, 0);
        constexpr mem_ps kWay = 20 * kNs;
        MemWriteTimes flushed = r.write(0, 20 * kUs, MEM_ALL_BYTES, kWay), evicted = r.write(0, 20 * kUs);
        mem_ps apart = queue ? 0 : 4 * kNs;                     // the queue accepts writes at once while it has room
        mem_ps taken = queue ? 2 * c.link_latency_ps : 4 * kNs; // the queue answered, or the last byte left
        expect_form("taken, after its way", 20 * kUs + kWay + taken, flushed.taken_ps);
        expect_form("taken, the other behind it", flushed.taken_ps + apart, evicted.taken_ps);
        expect_form("accepted in this order", flushed.accepted_ps + apart, evicted.accepted_ps);
        DeviceRig alone(c);
        alone.read(0, 0);
        mem_ps direct = alone.write(0, 20 * kUs).completed_ps;
        expect_form("the way is all that it costs", direct + kWay, flushed.completed_ps);
        EXPECT_EQ(mem_persist_state(&r.d.persist, 0, evicted.accepted_ps - 1), MEM_LINE_IN_FLIGHT);
        EXPECT_EQ(mem_persist_state(&r.d.persist, 0, evicted.accepted_ps), MEM_LINE_DURABLE);
    }
}

TEST(Controller, StartsOneRequestAnInterval) {
    MemDeviceConfig c = plain_device();
    c.controller_latency_ps = 300 * kNs;
    c.controller_interval_ps = 40 * kNs;
    DeviceRig r(c);
    expect_form("first", 300 * kNs + kLinePs, r.read(0, 0).done_ps);
    MemReadTimes t = r.read(0, 40 * kNs - 1);
    expect_form("1 ps early", 340 * kNs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.queue_ps, 1u);
    t = r.read(0, 80 * kNs);
    expect_form("on time", 380 * kNs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.queue_ps, 0u);
    mem_ps last = 0;
    for (int i = 0; i < 100; i++) {
        last = r.read(0, 120 * kNs).done_ps;
    }
    expect_form("100 at once", 120 * kNs + 99 * 40 * kNs + 300 * kNs + kLinePs, last);
    expect_form("a write counts as well", 120 * kNs + 100 * 40 * kNs + 300 * kNs, r.write(0, 120 * kNs).accepted_ps);
}

TEST(DeviceDram, MovesALineAtATime) {
    MemDeviceConfig c = plain_device();
    c.cache_latency_ps = 60 * kNs;
    c.cache_bandwidth = UINT64_C(3200000000); // 20 ns a line
    DeviceRig r(c);
    MemReadTimes t = r.read(0, 0);
    expect_form("look-up and a line", 80 * kNs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.cache_ps, 80 * kNs);
    expect_form("1 ps early", 100 * kNs + kLinePs, r.read(0, 20 * kNs - 1).done_ps);
    expect_form("on time", 120 * kNs + kLinePs, r.read(0, 40 * kNs).done_ps);
    expect_form("a write takes it too", 60 * kNs + 80 * kNs, r.write(0, 20 * kNs).accepted_ps);
}

// A queue in the host accepts writes before the device has them, up to the room of the queue.
TEST(WriteQueue, AcceptsWhatItHasRoomFor) {
    MemDeviceConfig c = plain_device();
    c.link_latency_ps = 20 * kNs;
    c.controller_latency_ps = 500 * kNs;
    c.write_queue = 2;
    mem_ps in_device = kLinePs + 20 * kNs + 500 * kNs;
    for (mem_ps early : {mem_ps(1), mem_ps(0)}) {
        DeviceRig r(c);
        MemWriteTimes t = r.write(0, 0);
        expect_form("accepted as it is in the queue", 20 * kNs, t.accepted_ps);
        expect_form("the host knows", 40 * kNs, t.completed_ps);
        EXPECT_EQ(mem_persist_state(&r.d.persist, 0, 20 * kNs - 1), MEM_LINE_IN_FLIGHT);
        EXPECT_EQ(mem_persist_state(&r.d.persist, 0, 20 * kNs), MEM_LINE_DURABLE);
        r.write(kLine, 100 * kNs);
        t = r.write(2 * kLine, in_device - early);
        expect_form("the third waits for the first", in_device + 20 * kNs, t.accepted_ps);
        t = r.write(3 * kLine, in_device);
        expect_form("the fourth for the second", 100 * kNs + in_device + 20 * kNs, t.accepted_ps);
    }
}

TEST(WriteQueue, ABarrierWaitsForWhatItHasAcceptedAndNotForTheDevice) {
    MemDeviceConfig c = plain_device();
    c.link_latency_ps = 20 * kNs;
    c.controller_latency_ps = 500 * kNs;
    c.write_queue = 2;
    c.wbarrier_latency_ps = 7 * kNs;
    DeviceRig r(c);
    r.write(0, 0);
    expect_form("after acceptance", 27 * kNs, mem_device_barrier(&r.d, 1 * kNs));
    expect_form("at once, of what is accepted", 107 * kNs, mem_device_barrier(&r.d, 100 * kNs));
}

TEST(WriteQueue, AWayThatBecomesShorterLetsNoWriteBeAcceptedBeforeAnEarlierOne) {
    MemDeviceConfig c = plain_device();
    c.link_latency_ps = 1000 * kNs;
    c.write_queue = 2;
    DeviceRig r(c);
    mem_ps first = r.write(0, 0).accepted_ps;
    expect_form("the first", 1000 * kNs, first);
    c.link_latency_ps = 10 * kNs;
    ASSERT_STREQ(mem_device_reconfigure(&r.d, &c), nullptr);
    expect_form("the second", first, r.write(kLine, 1 * kNs).accepted_ps);
    expect_form("a later one", 1110 * kNs, r.write(2 * kLine, 1100 * kNs).accepted_ps);
}

namespace {

constexpr mem_ps kRefresh = 350 * kNs, kInterval = 7800 * kNs;

MemDeviceConfig refreshed_device(uint32_t groups) {
    MemDeviceConfig c = plain_device();
    c.cache_latency_ps = 60 * kNs;
    c.cache_refresh_ps = kRefresh;
    c.cache_refresh_interval_ps = kInterval;
    c.cache_refresh_groups = groups;
    return c;
}

} // namespace

TEST(Refresh, AnAccessWaitsForItsEnd) {
    auto wait_ps = [](mem_ps at_ps) { return DeviceRig(refreshed_device(1)).read(0, at_ps).why.queue_ps; };
    for (mem_ps turn : {mem_ps(0), kInterval, 100 * kInterval}) {
        DeviceRig r(refreshed_device(1));
        expect_form("read as it starts", turn + kRefresh + 60 * kNs + kLinePs, r.read(0, turn).done_ps);
        expect_form("write as it starts", turn + kRefresh + 60 * kNs, r.write(0, turn).accepted_ps);
        EXPECT_EQ(wait_ps(turn + kRefresh - 1), 1u) << "1 ps before it ends";
        EXPECT_EQ(wait_ps(turn + kRefresh), 0u) << "as it ends";
        EXPECT_EQ(wait_ps(turn + kInterval - 1), 0u) << "1 ps before the next";
    }
}

TEST(Refresh, GroupsTakeTurns) {
    constexpr uint32_t kGroups = 4;
    DeviceRig r(refreshed_device(kGroups));
    int waits[kGroups] = {};
    for (uint64_t line = 0; line < 1000; line++) {
        int waited = 0;
        for (uint32_t turn = 0; turn < kGroups; turn++) {
            mem_ps start = (line * kGroups + turn) * kInterval + turn * (kInterval / kGroups);
            bool mine = r.read(line * kLine, start + 10 * kNs).why.queue_ps == kRefresh - 10 * kNs;
            waited += mine;
            waits[turn] += mine;
        }
        ASSERT_EQ(waited, 1) << "line " << line << " is in one group";
    }
    for (int lines : waits) {
        EXPECT_NEAR(lines, 250, 60) << "as many lines in each";
    }
}

TEST(Refresh, TagsInDramAreAnAccessOfTheirOwn) {
    MemDeviceConfig c = refreshed_device(1);
    c.cache_tag_ps = 40 * kNs;
    DeviceRig r(c);
    MemReadTimes t = r.read(0, kRefresh);
    expect_form("tags, then data", kRefresh + 40 * kNs + 60 * kNs + kLinePs, t.done_ps);
    EXPECT_EQ(t.why.cache_ps, 100 * kNs);
    t = r.read(0, kInterval - 40 * kNs);
    expect_form("the data find a refresh", kInterval + kRefresh + 60 * kNs + kLinePs, t.done_ps);
    t = r.read(0, 2 * kInterval - 40 * kNs - 1);
    expect_form("1 ps earlier they do not", 2 * kInterval - 1 + 60 * kNs + kLinePs, t.done_ps);
    c.cache_refresh_ps = 0;
    DeviceRig plain(c);
    expect_form("without refresh", 100 * kNs + kLinePs, plain.read(0, 0).done_ps);
}

// The mean wait at a random time is tRFC^2 / 2 tREFI, also for a pointer chase that is not in step with refresh.
TEST(Refresh, AChaseWaitsAsOftenAsAnyAccess) {
    DeviceRig r(refreshed_device(16));
    mem_ps now = 0, waited = 0;
    constexpr int kLoads = 100000;
    for (int i = 0; i < kLoads; i++) {
        MemReadTimes t = r.read(uint64_t(i) * kLine % r.config.capacity_bytes, now);
        waited += t.why.queue_ps;
        now = t.done_ps + 700 * kNs;
    }
    double mean = double(waited) / kLoads, expected = double(kRefresh) * kRefresh / 2 / kInterval;
    std::printf("mean wait of a chase: expected %.0f ps, measured %.0f ps\n", expected, mean);
    EXPECT_NEAR(mean / expected, 1, 0.1);
}

TEST(Delays, AddUpUnderLoad) {
    MemDeviceConfig c = flit_device(256);
    c.controller_latency_ps = 33 * kNs;
    c.controller_interval_ps = 7 * kNs;
    c.cache_latency_ps = 51 * kNs;
    c.cache_tag_ps = 23 * kNs;
    c.cache_refresh_ps = 295 * kNs;
    c.cache_refresh_interval_ps = 3900 * kNs;
    c.cache_refresh_groups = 7;
    c.cache_bandwidth = UINT64_C(9700000000);
    c.flash_read_ps = 3 * kUs;
    c.flash_program_ps = 11 * kUs;
    DeviceRig r(c);
    uint64_t x = 1;
    for (mem_ps now = 0; now < 400 * kUs; now += (x >> 40) % 100000) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t dpa = (x >> 33) % (c.capacity_bytes / 4) / kLine * kLine;
        if (x >> 63) {
            r.write(dpa, now);
        } else {
            MemReadTimes t = r.read(dpa, now);
            ASSERT_EQ(mem_delays_sum(&t.why), t.done_ps - now);
            ASSERT_GE(t.why.link_ps, 2 * c.link_latency_ps);
        }
    }
    EXPECT_GT(r.count.cache_hits, 100u);
    EXPECT_GT(r.count.cache_misses, 100u);
}
