// SPDX-License-Identifier: GPL-2.0-or-later
// Traces are read as they were written and take few bytes. A damaged trace is rejected; the part before is readable.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>

#include "../../rigs/trace_rig.h"

extern "C" {
#include "base/mem_hash.h"
#include "config/param_text.h"
#include "trace/trace_codec.h"
}

namespace {

// Writes a trace and records the items that reading it must return.
class Recorder {
  public:
    Recorder() : w(mem_trace_writer_new(&setup, append, &bytes)), now(setup.start_ps) {}

    void op(MemOpKind kind, uint64_t line, mem_ps gap_ps, mem_ps stall_ps, uint64_t mask = UINT64_MAX) {
        MemOperation op = {.kind = kind, .with_previous = false, .line = line, .byte_mask = mask};
        now += gap_ps;
        mem_trace_op(w, &op, now, stall_ps);
        now += stall_ps;
        expect(op, gap_ps);
    }
    void op_with_previous(MemOpKind kind, uint64_t line, uint64_t mask = UINT64_MAX) {
        MemOperation op = {.kind = kind, .with_previous = true, .line = line, .byte_mask = mask};
        mem_trace_op(w, &op, 0, 0);
        expect(op, 0);
    }
    void timed(bool on, mem_ps gap_ps) {
        mem_trace_timed(w, on, now += gap_ps);
        MemTraceRecord r = record(MEM_TRACE_TIMED, gap_ps);
        r.on = on;
        expected.push_back(item_of(r));
    }
    void roi_begin(uint64_t roi, mem_ps gap_ps) {
        mem_trace_roi_begin(w, roi, now += gap_ps);
        MemTraceRecord r = record(MEM_TRACE_ROI, gap_ps);
        r.on = true;
        r.roi = roi;
        expected.push_back(item_of(r));
    }
    void roi_end(uint64_t roi, const MemCounters &counters, mem_ps gap_ps) {
        mem_trace_roi_end(w, roi, &counters, now += gap_ps);
        MemTraceRecord r = record(MEM_TRACE_ROI, gap_ps);
        r.roi = roi;
        r.counters = counters;
        expected.push_back(item_of(r));
    }
    void window(uint32_t index, const MemWindow &window, mem_ps gap_ps) {
        mem_trace_window(w, index, &window, now += gap_ps);
        MemTraceRecord r = record(MEM_TRACE_WINDOW, gap_ps);
        r.index = index;
        r.window = window;
        expected.push_back(item_of(r));
    }
    void reset_counters() {
        mem_trace_reset_counters(w);
        expected.push_back(item_of(record(MEM_TRACE_RESET_COUNTERS, 0)));
    }
    void reconfigure(uint32_t device, const MemDeviceConfig &config, mem_ps gap_ps) {
        mem_trace_reconfigure(w, device, &config, now += gap_ps);
        MemTraceRecord r = record(MEM_TRACE_RECONFIGURE, gap_ps);
        r.index = device;
        r.device = config;
        expected.push_back(item_of(r));
    }
    const Bytes &end(mem_ps gap_ps = 0) {
        EXPECT_GE(mem_trace_size(w).bytes, bytes.size());
        mem_trace_writer_end(w, now += gap_ps);
        expected.push_back(item_of(record(MEM_TRACE_END, gap_ps)));
        return bytes;
    }

    MemTraceSetup setup = small_setup();
    Bytes bytes;
    MemTraceWriter *w;
    mem_ps now;
    std::vector<Item> expected;

  private:
    void expect(MemOperation op, mem_ps gap_ps) {
        bool writes = op.kind == MEM_OP_EVICT || op.kind == MEM_OP_WRITE_BACK || op.kind == MEM_OP_NT_SEND;
        expected.push_back(
            {uint32_t(op.kind), op.with_previous, op.line, writes ? op.byte_mask : 0, op.with_previous ? 0 : gap_ps});
    }
    MemTraceRecord record(MemTraceRecordKind kind, mem_ps gap_ps) const {
        MemTraceRecord r = {};
        r.kind = kind;
        r.gap_ps = gap_ps;
        r.captured_ps = now;
        return r;
    }
};

constexpr MemOpKind kPosted[] = {MEM_OP_EVICT, MEM_OP_WRITE_BACK, MEM_OP_PREFETCH, MEM_OP_CLEAN_FLUSH};
constexpr MemOpKind kWaiting[] = {MEM_OP_LOAD,         MEM_OP_STREAM_LOAD, MEM_OP_STORE,     MEM_OP_TOUCH,
                                  MEM_OP_STREAM_TOUCH, MEM_OP_STORE_TOUCH, MEM_OP_FLUSH_WAIT};
constexpr MemOpKind kFences[] = {MEM_OP_STORE_FENCE, MEM_OP_LOAD_FENCE, MEM_OP_FULL_FENCE, MEM_OP_SERIALIZE,
                                 MEM_OP_BARRIER};

// Items of every kind, in random order, with numbers of every size.
void record_anything(Recorder &rec, uint64_t seed, int count) {
    std::mt19937_64 random(seed);
    auto below = [&](uint64_t bound) { return random() % bound; };
    auto number = [&](unsigned bits) { return random() >> (64 - 1 - below(bits)); };
    auto line = [&] { return below(4) ? below(50000) : number(57); };
    auto gap = [&] { return below(3) ? 1000 * below(5) : number(44); };
    auto mask = [&] { return below(2) ? UINT64_MAX : random(); };
    uint32_t open = 0;

    for (int i = 0; i < count; i++) {
        switch (below(12)) {
        case 0:
            rec.op(kFences[below(std::size(kFences))], 0, gap(), number(30));
            break;
        case 1:
        case 2:
        case 3:
            rec.op_with_previous(kPosted[below(std::size(kPosted))], line(), mask());
            break;
        case 4:
            rec.op(kPosted[below(std::size(kPosted))], line(), gap(), 0, mask());
            break;
        case 5:
            if (open < rec.setup.cpu.wc_buffers && ++open) {
                rec.op(MEM_OP_NT_OPEN, line(), gap(), number(20));
            } else if (open--) {
                rec.op(MEM_OP_NT_SEND, line(), gap(), number(20), mask());
            }
            break;
        case 6:
            if (below(20) == 0) {
                MemCounters counters = {};
                counters.cxl_reads = number(60);
                rec.timed(below(2), gap());
                rec.reset_counters();
                rec.roi_begin(number(32), gap());
                rec.roi_end(number(32), counters, gap());
            }
            break;
        default:
            rec.op(kWaiting[below(std::size(kWaiting))], line(), gap(), number(40));
        }
    }
}

TEST(Trace, what_is_written_is_read) {
    for (uint64_t seed = 1; seed <= 10; seed++) {
        Recorder rec;
        record_anything(rec, seed, 20000);
        rec.end(7);
        for (size_t room : {size_t(1), size_t(1000), size_t(1) << 17}) {
            ReadBack back = read_back(rec.bytes, room);
            ASSERT_EQ(back.status, MEM_TRACE_DONE) << "seed " << seed << ": " << back.fault.what;
            ASSERT_TRUE(back.items == rec.expected) << "seed " << seed;
        }
    }
}

TEST(Trace, holds_the_configurations) {
    Recorder rec;
    rec.end();
    ReadBack back = read_back(rec.bytes);
    ASSERT_EQ(back.status, MEM_TRACE_DONE) << back.fault.what;
    ASSERT_EQ(back.setup.device_count, 2u);
    EXPECT_EQ(back.setup.start_ps, rec.setup.start_ps);
    for (size_t i = 0; i < mem_cpu_params.count; i++) {
        const MemParam *p = &mem_cpu_params.params[i];
        EXPECT_EQ(mem_param_get(p, &back.setup.cpu), mem_param_get(p, &rec.setup.cpu)) << p->name;
    }
    for (uint32_t d = 0; d < 2; d++) {
        EXPECT_EQ(back.setup.devices[d].capacity_bytes, rec.setup.devices[d].capacity_bytes);
        for (size_t i = 0; i < mem_device_params.count; i++) {
            const MemParam *p = &mem_device_params.params[i];
            EXPECT_EQ(mem_param_get(p, &back.setup.devices[d]), mem_param_get(p, &rec.setup.devices[d])) << p->name;
        }
    }
}

TEST(Trace, holds_windows_and_changes) {
    Recorder rec;
    MemDeviceConfig faster = rec.setup.devices[1];
    faster.link_latency_ps = 7;
    rec.window(0, {.hpa = 1 << 20, .size_bytes = 1 << 20, .dpa = 0, .ways = 1}, 5);
    rec.window(
        3, {.hpa = 1 << 30, .size_bytes = 1 << 20, .dpa = 4096, .ways = 2, .granularity_bytes = 256, .devices = {1, 0}},
        9);
    rec.reconfigure(1, faster, 11);
    rec.window(3, {.ways = 1}, 0);
    rec.end();
    ReadBack back = read_back(rec.bytes);
    ASSERT_EQ(back.status, MEM_TRACE_DONE) << back.fault.what;
    EXPECT_TRUE(back.items == rec.expected);
}

TEST(Trace, a_window_that_cannot_be_is_refused) {
    const MemWindow impossible[] = {
        {.hpa = 0, .size_bytes = 2 << 20, .dpa = 0, .ways = 1},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = 64, .ways = 1},
        {.hpa = 1, .size_bytes = 1 << 20, .dpa = 0, .ways = 1},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = 0, .ways = 0},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = 0, .ways = 9},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = 0, .ways = 1, .devices = {2}},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = 0, .ways = 2, .granularity_bytes = 0, .devices = {0, 1}},
        {.hpa = 0, .size_bytes = 1 << 20, .dpa = UINT64_MAX - 63, .ways = 1},
    };
    for (const MemWindow &window : impossible) {
        Recorder rec;
        mem_trace_window(rec.w, 0, &window, rec.now);
        rec.end();
        ReadBack back = read_back(rec.bytes);
        EXPECT_EQ(back.status, MEM_TRACE_BAD) << &window - impossible;
        EXPECT_STREQ(back.fault.what, "is damaged: it maps an impossible window");
    }
}

TEST(Trace, operations_that_cannot_be_are_refused) {
    Recorder unopened;
    unopened.op(MEM_OP_NT_SEND, 1, 0, 0);
    EXPECT_EQ(read_back(unopened.end()).status, MEM_TRACE_BAD);
    Recorder too_many;
    for (int i = 0; i < 5; i++) {
        too_many.op(MEM_OP_NT_OPEN, 1, 0, 0);
    }
    EXPECT_EQ(read_back(too_many.end()).status, MEM_TRACE_BAD);
    Recorder waits_with_previous;
    waits_with_previous.op_with_previous(MEM_OP_LOAD, 1);
    EXPECT_EQ(read_back(waits_with_previous.end()).status, MEM_TRACE_BAD);
    Recorder nowhere;
    nowhere.op(MEM_OP_LOAD, UINT64_C(1) << 58, 0, 0);
    EXPECT_EQ(read_back(nowhere.end()).status, MEM_TRACE_BAD);
    Recorder of_no_byte;
    of_no_byte.op(MEM_OP_WRITE_BACK, 1, 0, 0, 0);
    EXPECT_EQ(read_back(of_no_byte.end()).status, MEM_TRACE_BAD);
    Recorder long_ago;
    long_ago.op(MEM_OP_LOAD, 1, UINT64_C(1) << 61, 0);
    long_ago.op(MEM_OP_LOAD, 1, UINT64_C(1) << 61, 0);
    EXPECT_EQ(read_back(long_ago.end()).status, MEM_TRACE_BAD);
}

// If two contexts share an entry of the follower table, a damaged trace can give a fence the line of a load.
TEST(Trace, a_fence_of_a_line_is_refused) {
    auto entry = [](uint64_t leader, unsigned kind) { return mem_hash(leader << 5 | kind, TRACE_FOLLOWER_SHIFT); };
    uint64_t line = 1;
    while (entry(line, MEM_OP_SERIALIZE) != entry(0, MEM_OP_LOAD)) {
        line++;
    }
    for (bool predicted : {false, true}) {
        uint8_t payload[64], *at = payload;
        *at++ = MEM_OP_LOAD | TRACE_GAP_PLAIN << TRACE_GAP_SHIFT;
        at = trace_put_varint(at, 0);
        at = trace_put_varint(at, trace_zigzag(line));
        *at++ = uint8_t(MEM_OP_SERIALIZE | (predicted ? TRACE_LINE_PREDICTED : 0) | TRACE_GAP_PLAIN << TRACE_GAP_SHIFT);
        at = trace_put_varint(at, 0);
        ReadBack back = read_back(trace_of(payload, size_t(at - payload)), 1);
        EXPECT_EQ(back.items.size(), predicted ? 1u : 2u);
        EXPECT_STREQ(back.fault.what,
                     predicted ? "is damaged: it holds an impossible operation" : "is cut short: it has no end");
    }
}

bool is_prefix(const std::vector<Item> &part, const std::vector<Item> &whole) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

TEST(Trace, cut_anywhere_it_says_so_and_gives_what_is_before) {
    Recorder rec;
    record_anything(rec, 5, 40000);
    rec.end();
    size_t read_most = 0;
    for (size_t cut = 0; cut < rec.bytes.size(); cut += cut < 300 ? 1 : cut < 9000 ? 23 : 1997) {
        ReadBack back = read_back(Bytes(rec.bytes.begin(), rec.bytes.begin() + long(cut)), 5000);
        ASSERT_EQ(back.status, MEM_TRACE_BAD) << cut;
        const char *expected = cut < 8 ? "is no trace" : "is cut short";
        ASSERT_EQ(std::string(back.fault.what).substr(0, std::strlen(expected)), expected) << cut;
        ASSERT_TRUE(is_prefix(back.items, rec.expected)) << cut;
        read_most = std::max(read_most, back.items.size());
    }
    EXPECT_GT(read_most, rec.expected.size() / 2);
}

TEST(Trace, a_changed_byte_is_found) {
    Recorder rec;
    record_anything(rec, 6, 300);
    rec.end();
    for (size_t at = 0; at < rec.bytes.size(); at++) {
        Bytes damaged = rec.bytes;
        damaged[at] ^= uint8_t(1 << at % 8);
        ReadBack back = read_back(damaged, 5000);
        ASSERT_EQ(back.status, MEM_TRACE_BAD) << at;
        ASSERT_TRUE(is_prefix(back.items, rec.expected)) << at;
    }
}

TEST(Trace, faults_name_what_is_wrong) {
    Recorder rec;
    rec.op(MEM_OP_LOAD, 1, 1, 1);
    rec.end();
    Bytes other = rec.bytes;
    other[8]++;
    EXPECT_STREQ(read_back(other).fault.what, "has another format version than this program reads; capture it again");
    EXPECT_STREQ(read_back(Bytes(1000, 'x')).fault.what, "is no trace");
    EXPECT_STREQ(read_back({}).fault.what, "is no trace");
    Bytes last = rec.bytes;
    last.back() ^= 1;
    EXPECT_STREQ(read_back(last).fault.what, "is damaged");
    Bytes longer = rec.bytes;
    longer.push_back(0);
    EXPECT_EQ(read_back(longer).status, MEM_TRACE_DONE);
}

TEST(Trace, a_configuration_that_is_refused_now_is_named) {
    Recorder rec;
    MemTraceSetup setup = rec.setup;
    setup.devices[1].cache_size_bytes = 2 << 20;
    Bytes bytes;
    mem_trace_writer_end(mem_trace_writer_new(&setup, append, &bytes), setup.start_ps);
    ReadBack back = read_back(bytes);
    EXPECT_STREQ(back.fault.what, "was captured with a configuration that is refused now");
    EXPECT_NE(back.subject.find("cache_size_bytes"), std::string::npos) << back.subject;
    rec.end();
}

// Prints the bytes per operation. The bounds in the test below are the purpose of the format.
double bytes_per_op(const char *name, const std::function<void(Recorder &, std::mt19937_64 &)> &make) {
    Recorder rec;
    std::mt19937_64 random(1);
    for (int i = 0; i < 100000; i++) {
        make(rec, random);
    }
    rec.end();
    double bytes = double(rec.bytes.size()) / double(rec.expected.size());
    std::printf("%-40s %.2f bytes an operation\n", name, bytes);
    return bytes;
}

TEST(Trace, is_compact) {
    uint64_t at = 0;
    EXPECT_LT(
        bytes_per_op("sequential loads, equal gaps", [&](Recorder &r, auto &) { r.op(MEM_OP_LOAD, ++at, 2500, 9000); }),
        2.1);
    EXPECT_LT(bytes_per_op("random loads and victims, 64 MiB",
                           [&](Recorder &r, auto &random) {
                               uint64_t line = random() % (1 << 20);
                               r.op(MEM_OP_LOAD, line, 100000 + random() % 100 * 250, 9000);
                               r.op_with_previous(MEM_OP_EVICT, line % 64 + 64 * (random() % (1 << 14)));
                           }),
              5.1);
    std::vector<uint64_t> next(20000);
    for (size_t i = 0; i < next.size(); i++) {
        next[i] = i;
    }
    std::shuffle(next.begin(), next.end(), std::mt19937_64(1));
    EXPECT_LT(bytes_per_op("the same chain again and again",
                           [&](Recorder &r, auto &) { r.op(MEM_OP_LOAD, at = next[at % next.size()], 1250, 9000); }),
              4.0);
}

TEST(Crc32c, is_castagnoli) {
    EXPECT_EQ(mem_crc32c(0, "123456789", 9), 0xe3069283u);
    EXPECT_EQ(mem_crc32c(mem_crc32c(0, "1234", 4), "56789", 5), 0xe3069283u);
    for (uint32_t byte = 0; byte < 256; byte++) { // the table, derived bit by bit
        uint32_t remainder = ~uint32_t(0) ^ byte;
        for (int bit = 0; bit < 8; bit++) {
            remainder = remainder & 1 ? remainder >> 1 ^ 0x82f63b78u : remainder >> 1;
        }
        auto one = uint8_t(byte);
        EXPECT_EQ(mem_crc32c(0, &one, 1), ~remainder);
    }
}

uint64_t parsed(const char *name, const char *text) {
    uint64_t value = 0;
    const char *fault = mem_param_parse(mem_param_find(&mem_device_params, name), text, &value);
    return fault ? UINT64_MAX : value;
}

TEST(ParamText, reads_units) {
    EXPECT_EQ(parsed("cache-size", "64M"), UINT64_C(64) << 20);
    EXPECT_EQ(parsed("cache-size", "1.5KiB"), 1536u);
    EXPECT_EQ(parsed("cache-size", "16777215TiB"), UINT64_C(16777215) << 40);
    EXPECT_EQ(parsed("flash-read-ps", "800ns"), 800000u);
    EXPECT_EQ(parsed("flash-read-ps", "13.87us"), 13870000u);
    EXPECT_EQ(parsed("flash-read-ps", "250"), 250u);
    EXPECT_EQ(parsed("link-read-bandwidth", "62.4GB/s"), UINT64_C(62400000000));
    EXPECT_EQ(parsed("cache-policy", "s3-fifo"), uint64_t(MEM_POLICY_S3_FIFO));
    EXPECT_EQ(parsed("flash-suspend", "on"), 1u);
    EXPECT_EQ(parsed("cache-ways", "18446744073709551615"), UINT64_MAX);
}

TEST(ParamText, refuses_what_is_no_value) {
    for (const char *text : {"", " 1", "1 ", "-1", "M", "1.", ".5", "1.2.3", "1m", "64MM", "0x10", "1e6", "1.5",
                             "18446744073709551616", "16777216TiB", "1.00000000000000000000001K"}) {
        EXPECT_EQ(parsed("cache-size", text), UINT64_MAX) << text;
    }
    EXPECT_EQ(parsed("flash-read-ps", "64M"), UINT64_MAX);
    EXPECT_EQ(parsed("flash-read-ps", "0.5"), UINT64_MAX);
    EXPECT_EQ(parsed("cache-ways", "4K"), UINT64_MAX);
    EXPECT_EQ(parsed("cache-policy", "LRU"), UINT64_MAX);
    EXPECT_EQ(parsed("flash-suspend", "1"), UINT64_MAX);
}

TEST(ParamText, what_it_writes_it_reads) {
    MemDeviceConfig config = small_setup().devices[0];
    for (size_t i = 0; i < mem_device_params.count; i++) {
        const MemParam *p = &mem_device_params.params[i];
        char text[MEM_PARAM_TEXT_BYTES];
        mem_param_format(p, &config, text);
        EXPECT_EQ(parsed(p->name, text), mem_param_get(p, &config)) << p->name << "=" << text;
    }
}

TEST(ParamText, finds_names) {
    EXPECT_STREQ(mem_param_named(&mem_device_params, "flash_read")->name, "flash-read-ps");
    EXPECT_STREQ(mem_param_named(&mem_device_params, "cache-size")->name, "cache-size");
    EXPECT_EQ(mem_param_named(&mem_device_params, "cache-siz"), nullptr);
    EXPECT_EQ(mem_param_named(&mem_device_params, std::string(500, 'x').c_str()), nullptr);
    EXPECT_STREQ(mem_param_nearest(&mem_device_params, "cache_siz")->name, "cache-size");
    EXPECT_STREQ(mem_param_nearest(&mem_device_params, "flash-raed-ps")->name, "flash-read-ps");
    EXPECT_NE(mem_param_nearest(&mem_device_params, std::string(500, 'x').c_str()), nullptr);
}

} // namespace
