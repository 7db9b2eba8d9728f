// SPDX-License-Identifier: GPL-2.0-or-later
// The writer of journals: this test decodes its bytes as docs/reference/formats.md describes them.
#include <gtest/gtest.h>

#include <string>

#include "../../rigs/trace_rig.h"

extern "C" {
#include "trace/mem_journal.h"
}

namespace {

class Cursor {
  public:
    explicit Cursor(const Bytes &bytes) : bytes_(bytes) {}

    uint64_t number(size_t count) {
        uint64_t value = 0;
        for (size_t i = 0; i < count; i++) {
            value |= uint64_t(bytes_.at(at_++)) << 8 * i;
        }
        return value;
    }
    Bytes take(size_t count) {
        EXPECT_LE(at_ + count, bytes_.size());
        at_ += count;
        return Bytes(bytes_.begin() + long(at_ - count), bytes_.begin() + long(at_));
    }
    std::string text(size_t count) {
        Bytes bytes = take(count);
        return std::string(bytes.begin(), bytes.end());
    }
    bool at_end() const { return at_ == bytes_.size(); }

  private:
    const Bytes &bytes_;
    size_t at_ = 0;
};

std::string header_text(Cursor &c) {
    EXPECT_EQ(c.text(8), "CXLJOURN");
    EXPECT_EQ(c.number(4), 1u);
    uint64_t crc = c.number(4);
    std::string text = c.text(c.number(4));
    EXPECT_EQ(crc, mem_crc32c(0, text.data(), text.size()));
    return text;
}

MemJournalRecord record_in(Cursor &c) {
    MemJournalRecord r = {};
    r.kind = MemJournalKind(c.number(1));
    r.core = uint32_t(c.number(1));
    r.device = uint32_t(c.number(1));
    r.count = uint32_t(c.number(1));
    r.value = uint32_t(c.number(4));
    r.dpa = c.number(8);
    r.pc = c.number(8);
    r.process = c.number(8);
    r.at_ps = c.number(8);
    Bytes bytes = c.take(r.count);
    std::copy(bytes.begin(), bytes.end(), r.bytes);
    return r;
}

std::vector<MemJournalRecord> block_in(Cursor &c) {
    std::vector<MemJournalRecord> records;
    EXPECT_EQ(c.text(4), "JBLK");
    uint64_t crc = c.number(4), length = c.number(4), count = c.number(4);
    Bytes checked;
    put(checked, length, 4);
    put(checked, count, 4);
    Bytes payload = c.take(length);
    checked.insert(checked.end(), payload.begin(), payload.end());
    EXPECT_EQ(crc, mem_crc32c(0, checked.data(), checked.size()));
    EXPECT_LE(length, 1u << 16);
    Cursor in(payload);
    while (!in.at_end()) {
        records.push_back(record_in(in));
    }
    EXPECT_EQ(records.size(), count);
    return records;
}

void expect_equal(const MemJournalRecord &a, const MemJournalRecord &b) {
    EXPECT_EQ(std::tie(a.kind, a.core, a.device, a.value, a.dpa, a.pc, a.process, a.at_ps, a.count),
              std::tie(b.kind, b.core, b.device, b.value, b.dpa, b.pc, b.process, b.at_ps, b.count));
    EXPECT_EQ(Bytes(a.bytes, a.bytes + a.count), Bytes(b.bytes, b.bytes + b.count));
}

// A record that differs from others in every field, with bytes up to the end of its line.
MemJournalRecord record_number(uint32_t n) {
    MemJournalRecord r = {.kind = MemJournalKind(n % MEM_JOURNAL_END),
                          .core = n % 32,
                          .device = n % MEMSYS_MAX_DEVICES,
                          .value = ~n,
                          .dpa = (UINT64_C(1) << 40) + n,
                          .pc = UINT64_C(0xffffffff81000000) + n,
                          .process = UINT64_C(4096) * n,
                          .at_ps = UINT64_MAX - n,
                          .count = n % MEMSYS_LINE_BYTES ? uint32_t(MEMSYS_LINE_BYTES - n % MEMSYS_LINE_BYTES) : 0,
                          .bytes = {}};
    for (uint32_t i = 0; i < r.count; i++) {
        r.bytes[i] = uint8_t(n + i);
    }
    return r;
}

TEST(Journal, AnEmptyOneHasItsSetupAndItsEnd) {
    MemTraceSetup setup = small_setup();
    Bytes bytes;
    mem_journal_writer_end(mem_journal_writer_new(&setup, append, &bytes));
    Cursor c(bytes);
    std::string text = header_text(c);
    EXPECT_NE(text.find("device1.link-latency-ps=200000\n"), std::string::npos);
    EXPECT_NE(text.find("device0.persist-domain=adr\n"), std::string::npos);
    std::vector<MemJournalRecord> records = block_in(c);
    ASSERT_EQ(records.size(), 1u);
    expect_equal(records[0], {.kind = MEM_JOURNAL_END, .at_ps = setup.start_ps, .bytes = {}});
    EXPECT_TRUE(c.at_end());
}

TEST(Journal, HasEveryRecordInItsOrderAndNoneAcrossTwoBlocks) {
    constexpr uint32_t kRecords = 5000;
    MemTraceSetup setup = small_setup();
    Bytes bytes;
    MemJournalWriter *w = mem_journal_writer_new(&setup, append, &bytes);
    for (uint32_t n = 0; n < kRecords; n++) {
        MemJournalRecord r = record_number(n);
        mem_journal_write(w, &r);
    }
    mem_journal_writer_end(w);
    Cursor c(bytes);
    header_text(c);
    uint32_t n = 0, blocks = 0;
    for (; !c.at_end(); blocks++) {
        for (const MemJournalRecord &r : block_in(c)) {
            if (n < kRecords) {
                expect_equal(r, record_number(n));
            } else {
                expect_equal(r, {.kind = MEM_JOURNAL_END, .at_ps = record_number(kRecords - 1).at_ps, .bytes = {}});
            }
            n++;
        }
    }
    EXPECT_EQ(n, kRecords + 1);
    EXPECT_GT(blocks, 3u);
}

TEST(Journal, WhatItHasNotYetGivenAwayIsLessThanABlock) {
    MemTraceSetup setup = small_setup();
    Bytes bytes;
    MemJournalWriter *w = mem_journal_writer_new(&setup, append, &bytes);
    size_t written = bytes.size();
    for (uint32_t n = 0; n < 3000; n++) {
        MemJournalRecord r = record_number(n);
        mem_journal_write(w, &r);
        written += MEM_JOURNAL_RECORD_BYTES + r.count;
        ASSERT_LE(written, bytes.size() + MEM_JOURNAL_BLOCK_BYTES_MAX);
    }
    mem_journal_writer_end(w);
}

} // namespace
