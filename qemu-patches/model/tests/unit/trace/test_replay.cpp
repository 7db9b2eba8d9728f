// SPDX-License-Identifier: GPL-2.0-or-later
// A replay yields the same times and counters as the whole model: on the captured memory, and on any other.
#include <gtest/gtest.h>

#include "../../rigs/trace_workloads.h"

extern "C" {
#include "replay/options.h"
#include "replay/replay.h"
#include "replay/report.h"
}

namespace {

constexpr uint64_t kSpan = 1 << 19;
constexpr int kCount = 8000;

MemCpuConfig blocking_cpu() {
    MemCpuConfig cpu;
    mem_params_init(&mem_cpu_params, &cpu);
    MemCpuConfig small = small_cpu();
    cpu.l1d = small.l1d;
    cpu.l2 = small.l2;
    cpu.llc = small.llc;
    cpu.dram_latency_ps = small.dram_latency_ps;
    cpu.dram_bandwidth = small.dram_bandwidth;
    cpu.wc_buffers = small.wc_buffers;
    return cpu;
}

MemCpuConfig overlapping_cpu(uint32_t overlap) {
    MemCpuConfig cpu = blocking_cpu();
    cpu.overlap = overlap;
    cpu.overlap_window_ps = 60000;
    cpu.fill_buffers = 6;
    cpu.store_buffer = 5;
    cpu.prefetch_streams = 4;
    cpu.prefetch_distance = 8;
    cpu.prefetch_buffers = 3;
    return cpu;
}

MemDeviceConfig device() {
    MemDeviceConfig d;
    mem_params_init(&mem_device_params, &d);
    MemDeviceConfig small = small_device(true);
    d.capacity_bytes = small.capacity_bytes;
    d.link_latency_ps = small.link_latency_ps;
    d.link_read_bandwidth = small.link_read_bandwidth;
    d.link_write_bandwidth = small.link_write_bandwidth;
    d.controller_latency_ps = small.controller_latency_ps;
    d.cache_size_bytes = small.cache_size_bytes;
    d.cache_latency_ps = small.cache_latency_ps;
    d.flash_channels = small.flash_channels;
    d.flash_read_ps = small.flash_read_ps;
    d.flash_program_ps = small.flash_program_ps;
    return d;
}

ReplayConfig parse(const char *line, const MemTraceSetup &setup) {
    ReplayConfig config = {};
    Message message = {};
    std::string words = line;
    EXPECT_TRUE(options_assign_line(&config, words.data(), &setup, &message)) << message.text;
    return config;
}

// A replay of a trace with other parameter values.
struct Replayed {
    Replayed(const Bytes &trace, const char *line) {
        MemTraceReader *r = mem_trace_reader_of_memory(trace.data(), trace.size(), &setup);
        config = parse(line, setup);
        const char *fault = replay_configure(&setup, &config);
        EXPECT_EQ(fault, nullptr) << fault;
        replay_init(&replay, &setup, &config);
        status = replay_run(r, &replay, 1, &operations);
        mem_trace_reader_free(r);
    }
    ~Replayed() {
        replay_destroy(&replay);
        options_free(&config);
    }
    MemTraceSetup setup;
    ReplayConfig config;
    Replay replay;
    MemTraceStatus status;
    uint64_t operations;
};

void expect_same(const Machine &full, const Replayed &replayed, const std::string &what) {
    const Replay &r = replayed.replay;
    ASSERT_EQ(replayed.status, MEM_TRACE_DONE) << what;
    ASSERT_EQ(r.region_count, 2u) << what;
    const ReplayRegion &last = r.regions[1];
    EXPECT_EQ(last.begin_ps, full.begin) << what;
    EXPECT_EQ(last.end_ps, full.end) << what;
    EXPECT_EQ(r.end_ps, full.now) << what;
#define X(field, meaning) EXPECT_EQ(last.counters.field, full.counters.field) << what << ": " #field;
    MEM_COUNTERS(X)
#undef X
    for (unsigned cause = 0; cause < MEM_CAUSE_COUNT; cause++) {
        EXPECT_EQ(last.percentiles_ps[cause][2], full.p99[cause]) << what << ": cause " << cause;
    }
}

const MemCpuConfig kCpus[] = {blocking_cpu(), overlapping_cpu(MEM_OVERLAP_STREAMS), overlapping_cpu(MEM_OVERLAP_ALL)};

TEST(Replay, is_exact_on_the_captured_memory) {
    for (const Program &program : kPrograms) {
        for (const MemCpuConfig &cpu : kCpus) {
            Machine full(cpu, {device()}, true);
            run_program(full, program, kSpan, kCount);
            Replayed replayed(full.trace, "");
            std::string what = std::string(program.name) + ", overlap " + std::to_string(cpu.overlap);
            expect_same(full, replayed, what);
            EXPECT_EQ(report_differences(stdout, &replayed.replay), 0u) << what;
            EXPECT_GT(full.counters.cxl_reads + full.counters.cxl_writes, 200u) << what;
        }
    }
}

// Other memories, each as a line of a grid and as a change of the model's configuration.
struct Other {
    const char *line;
    void (*change)(MemDeviceConfig &d);
};

const Other kOthers[] = {
    {"device.flash-read=3us device.flash-program=9us",
     [](MemDeviceConfig &d) { d.flash_read_ps = 3000000, d.flash_program_ps = 9000000; }},
    {"device.cache-size=16K", [](MemDeviceConfig &d) { d.cache_size_bytes = 16384; }},
    {"device.cache-size=1M", [](MemDeviceConfig &d) { d.cache_size_bytes = 1 << 20; }},
    {"device.cache-ways=4 device.cache-policy=fifo",
     [](MemDeviceConfig &d) { d.cache_ways = 4, d.cache_policy = MEM_POLICY_FIFO; }},
    {"device.cache-page-size=1K device.cache-policy=s3-fifo",
     [](MemDeviceConfig &d) { d.cache_page_bytes = 1024, d.cache_policy = MEM_POLICY_S3_FIFO; }},
    {"device0.link-latency=1us device0.link-read-bandwidth=1G device.link-flit-bytes=68",
     [](MemDeviceConfig &d) {
         d.link_latency_ps = 1000000, d.link_read_bandwidth = 1000000000, d.link_flit_bytes = 68;
     }},
    {"device.flash-channels=0", [](MemDeviceConfig &d) { d.flash_channels = 0; }},
    {"device.cache-mshrs=2 device.cache-prefetch=next",
     [](MemDeviceConfig &d) { d.cache_mshrs = 2, d.cache_prefetch = MEM_PREFETCH_NEXT; }},
    {"device.cache-write=through", [](MemDeviceConfig &d) { d.cache_write = MEM_WRITE_THROUGH; }},
    {"device.cache-write-miss=log device.write-log-size=8K",
     [](MemDeviceConfig &d) { d.cache_write_miss = MEM_WRITE_LOG, d.write_log_bytes = 8192; }},
    {"device.flash-ftl=page device.flash-erase=1ms device.flash-block-pages=4 device.flash-dies=2 "
     "device.flash-over-provisioning-permille=500",
     [](MemDeviceConfig &d) {
         d.flash_ftl = MEM_FTL_PAGE, d.flash_erase_ps = 1000000000, d.flash_block_pages = 4, d.flash_dies = 2;
         d.flash_over_provisioning_permille = 500;
     }},
    {"device.flash-channels=1 device.controller-interval=20ns device.cache-bandwidth=2G",
     [](MemDeviceConfig &d) {
         d.flash_channels = 1, d.controller_interval_ps = 20000, d.cache_bandwidth = 2000000000;
     }},
};

TEST(Replay, is_exact_on_any_other_memory) {
    for (const Program &program : kPrograms) {
        for (const MemCpuConfig &cpu : kCpus) {
            Machine captured(cpu, {device()}, true);
            run_program(captured, program, kSpan, kCount);
            for (const Other &other : kOthers) {
                MemDeviceConfig d = device();
                other.change(d);
                ASSERT_EQ(memsys_check_device(&d), nullptr) << other.line << ": " << memsys_check_device(&d);
                Machine full(cpu, {d}, false);
                run_program(full, program, kSpan, kCount);
                expect_same(full, Replayed(captured.trace, other.line), std::string(program.name) + ", " + other.line);
            }
        }
    }
}

TEST(Replay, knows_several_devices_by_their_number) {
    Machine captured(kCpus[1], {device(), device()}, true);
    run_program(captured, kPrograms[5], 2 * kSpan, kCount);
    MemDeviceConfig slow = device();
    slow.flash_read_ps = 40000000;
    Machine full(kCpus[1], {device(), slow}, false);
    run_program(full, kPrograms[5], 2 * kSpan, kCount);
    expect_same(full, Replayed(captured.trace, "device1.flash_read=40us"), "device1");
    EXPECT_NE(full.end, captured.end);
}

// Runs a program, changes the device, and runs the program again.
void run_with_change(Machine &m, MemDeviceConfig changed) {
    m.roi_begin(1);
    m.roi_end(1);
    m.roi_begin(2);
    kPrograms[5].run(m, kSpan, kCount / 2);
    ASSERT_EQ(memsys_reconfigure_device(m.m, 0, &changed), nullptr);
    m.compute(1000);
    kPrograms[5].run(m, kSpan, kCount / 2);
    m.roi_end(2);
    m.finish();
}

TEST(Replay, changes_the_device_when_the_capture_did) {
    MemDeviceConfig changed = device();
    changed.flash_read_ps = 1000000;
    changed.link_latency_ps = 300000;
    Machine captured(kCpus[1], {device()}, true);
    run_with_change(captured, changed);
    expect_same(captured, Replayed(captured.trace, ""), "as captured");
    // A parameter that the replay sets keeps its value: the change in the trace affects the others only.
    MemDeviceConfig slow = device();
    slow.flash_read_ps = changed.flash_read_ps = 40000000;
    Machine full(kCpus[1], {slow}, false);
    run_with_change(full, changed);
    expect_same(full, Replayed(captured.trace, "device.flash-read=40us"), "with another flash");
}

TEST(Replay, several_memories_share_one_decoding) {
    Machine captured(kCpus[2], {device()}, true);
    run_program(captured, kPrograms[5], kSpan, kCount);
    MemTraceSetup setup;
    MemTraceReader *r = mem_trace_reader_of_memory(captured.trace.data(), captured.trace.size(), &setup);
    ReplayConfig configs[2] = {parse("device.cache-size=16K", setup), parse("device.cache-size=256K", setup)};
    Replay replays[2];
    uint64_t operations;
    for (int i = 0; i < 2; i++) {
        MemTraceSetup changed = setup;
        ASSERT_EQ(replay_configure(&changed, &configs[i]), nullptr);
        replay_init(&replays[i], &changed, &configs[i]);
    }
    ASSERT_EQ(replay_run(r, replays, 2, &operations), MEM_TRACE_DONE);
    for (int i = 0; i < 2; i++) {
        Replayed alone(captured.trace, i ? "device.cache-size=256K" : "device.cache-size=16K");
        EXPECT_EQ(replays[i].end_ps, alone.replay.end_ps);
        EXPECT_EQ(operations, alone.operations);
        replay_destroy(&replays[i]);
        options_free(&configs[i]);
    }
    mem_trace_reader_free(r);
}

// A minimal change of a latency must be detected: otherwise the tests above prove little.
TEST(Replay, notices_what_is_missing) {
    Machine full(kCpus[0], {device()}, true);
    run_program(full, kPrograms[1], kSpan, 2000);
    Replayed other(full.trace, "device.link-latency=100001ps");
    EXPECT_GT(report_differences(fopen("/dev/null", "w"), &other.replay), 0u);
}

std::string refusal(const char *assignment) {
    static const MemTraceSetup setup = small_setup();
    ReplayConfig config = {};
    Message message = {};
    EXPECT_FALSE(options_assign(&config, assignment, &setup, &message)) << assignment;
    options_free(&config);
    return message.text;
}

TEST(Options, refuse_what_makes_no_sense_and_say_what_would) {
    EXPECT_EQ(refusal("device.cache-siz=1M"), "unknown key 'device.cache-siz'; did you mean 'device.cache-size'?");
    EXPECT_EQ(refusal("cache-size=1M"), "'cache-size' names no parameter; write device.cache-size=VALUE");
    EXPECT_EQ(refusal("device.cache-size"), "'device.cache-size' is not NAME=VALUE, as device.cache-size=64M");
    EXPECT_EQ(refusal("device2.cache-size=1M"),
              "'device2.cache-size': the trace has no 'device2'; it has cpu and 2 devices: device0, ...");
    EXPECT_EQ(refusal("cpu.l2-size=1M"), "'cpu.l2-size' shapes the trace itself; capture again with another profile");
    EXPECT_EQ(refusal("device.cache-policy=mru"),
              "'device.cache-policy=mru': the value must be one of its choices: lru, fifo, clock, 2q, s3-fifo, random");
    EXPECT_EQ(refusal("device.flash-read=3"
                      "x")
                  .substr(0, 50),
              "'device.flash-read=3x': the value must be a whole ");
    EXPECT_EQ(refusal("device.cache-ways=4294967296"), "'device.cache-ways=4294967296': the value must be below 2^32");
    EXPECT_EQ(refusal("cpu.fill-buffers=4294967296"), "'cpu.fill-buffers=4294967296': the value must be below 2^32");
    EXPECT_NE(refusal((std::string(400, 'x') + "=1").c_str()), "");
    EXPECT_NE(refusal("gpu.x=1"), "");
    EXPECT_NE(refusal("devices.x=1"), "");
    EXPECT_NE(refusal("device11.cache-size=1"), "");
    EXPECT_NE(refusal("=1"), "");
}

} // namespace
