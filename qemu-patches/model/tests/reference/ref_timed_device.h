// SPDX-License-Identifier: GPL-2.0-or-later
// One device with its times, by the rules of docs/explanation/model-device.md and of the comments in device/, in the
// obvious way: busy spans and pages are lists, and each byte of a page or of the log is a bit in a set. It shares no
// code with the model. ref_flash.h models its flash.
#pragma once

#include <bitset>
#include <memory>
#include <optional>

#include "../rigs/rig.h"
#include "ref_flash.h"
#include "ref_policies.h"

extern "C" {
#include "base/histogram.h"
}

// The values that are compared with the model's MemHistogram.
struct RefSpans {
    uint64_t count = 0;
    mem_ps sum = 0, longest = 0;
    void add(mem_ps span) {
        count++;
        sum += span;
        longest = std::max(longest, span);
    }
};

// Serves one request at a time. A request takes the first gap that is long enough, from the time it is ready.
class RefCalendar {
  public:
    mem_ps reserve(mem_ps at, mem_ps span);
    mem_ps first_gap(mem_ps at, mem_ps span) const;

  private:
    static constexpr size_t kRemembered = 64;
    std::vector<std::pair<mem_ps, mem_ps>> busy_; // by time; adjacent spans are merged
    mem_ps forgotten_ = 0;
};

// A number of places, each taken until some time. A count of 0 means no limit.
class RefPlaces {
  public:
    explicit RefPlaces(size_t count = 0) : until_(count, 0) {}
    mem_ps free_from(mem_ps at) const;
    void take(mem_ps until); // takes the place that is free first
    void resize(size_t count);

  private:
    std::vector<mem_ps> until_;
};

class RefTimedDevice {
  public:
    using LineBytes = std::bitset<kLine>;
    struct Read {
        mem_ps done;
        bool hit;
        mem_ps link = 0, queue = 0, cache = 0, flash = 0, program = 0, gc = 0;
    };
    struct Write {
        mem_ps taken, completed; // when the host has taken the line; when it knows the line was accepted
    };

    RefTimedDevice(const MemDeviceConfig &config, MemCounters *const *count);
    void set_timed(bool timed, mem_ps now);
    void reconfigure(const MemDeviceConfig &config);
    Read read(uint64_t line, mem_ps at);
    Write write(uint64_t line, const LineBytes &bytes, mem_ps at);
    mem_ps barrier(mem_ps at);
    void power_cut(mem_ps now);
    void power_off(mem_ps now);
    std::vector<uint64_t> lost; // lost lines, in order

  private:
    struct Page {
        uint64_t page;
        std::vector<bool> valid; // bytes
        mem_ps filled = 0, settled = 0;
        bool dirty = false, prefetched = false;
        bool programmed = false; // by write-through, at these times
        mem_ps program_start = 0, program_end = 0;
        bool is_whole() const { return std::count(valid.begin(), valid.end(), false) == 0; }
    };
    struct Place {
        Page *page;
        mem_ps evicted, free; // when the old page may leave, and when it has left
    };
    struct LogLine {
        LineBytes bytes;
        bool dirty = false;
    };
    struct LogPage {
        uint64_t page;
        mem_ps accepted;
    };
    struct LogHalf {
        std::map<uint64_t, LogLine> lines;
        std::vector<LogPage> pages; // in the order of the first line
    };
    struct LookUp {
        Page *page;
        mem_ps ready;
        bool hit, teaches;
    };

    MemCounters &count() const { return **count_; }
    bool logs() const { return config_.cache_write_miss == MEM_WRITE_LOG; }
    uint64_t frames() const { return config_.cache_size_bytes / config_.cache_page_bytes; }
    uint64_t page_lines() const { return config_.cache_page_bytes / kLine; }
    void use_times();
    void empty_queues();
    void settle();
    mem_ps access_dram(uint64_t address, mem_ps at, mem_ps span, Read &why) const;
    mem_ps start_request(uint64_t line, mem_ps at, Read &why);
    mem_ps half_header() const;
    mem_ps complete(mem_ps accepted);
    mem_ps move_line(mem_ps at, Read &why);
    void reset_cache();
    void reset_policies();

    Page *find(uint64_t page);
    bool use(Page &p); // returns whether this is the first use of a prefetched page
    Place make_place(uint64_t page, mem_ps asked, mem_ps at);
    MemFlashTimes read_flash(uint64_t page, mem_ps at);
    MemFlashTimes program_flash(uint64_t page, mem_ps at);
    MemFlashTimes program(Page &p, mem_ps at);
    void lose(uint64_t page, const Page *held);
    void save_all(mem_ps now);
    MemFlashTimes fetch_bytes(uint64_t page, const Page *held, mem_ps wanted, mem_ps start, Read &why);
    Page *fetch(uint64_t page, mem_ps at, Read &why);
    LookUp hit(Page &p, mem_ps at, Read &why);
    LookUp look_up_read(uint64_t line, mem_ps at, Read &why);
    LookUp look_up_write(uint64_t line, const LineBytes &bytes, mem_ps at, Read &why);
    LookUp find_or_place(uint64_t line, const LineBytes &bytes, mem_ps at, Read &why);
    bool holds_line(const Page &p, uint64_t line) const;
    void validate(Page &p, uint64_t line, const LineBytes &bytes) const;
    void write_through(Page &p, mem_ps accepted);
    void prefetch(uint64_t page, mem_ps at);

    LineBytes logged_bytes(uint64_t line) const;
    bool log_is_busy() const;
    void run_log(mem_ps now);
    void turn_log(mem_ps at);
    void compact_next();
    void drop_from_log(uint64_t line, const LineBytes &bytes);
    LookUp look_up_log(uint64_t line, mem_ps at);
    void append_to_log(uint64_t line, const LineBytes &bytes, mem_ps accepted);

    MemDeviceConfig config_;
    MemCounters *const *count_;
    bool timed_ = false;
    // The present times: all 0 when untimed.
    mem_ps latency_ = 0, request_ = 0, write_data_ = 0, read_data_ = 0, completion_ = 0;
    mem_ps controller_ = 0, interval_ = 0, tags_ = 0, look_up_ = 0, line_ = 0;
    RefCalendar to_host_, to_device_, controller_calendar_, dram_;
    std::vector<mem_ps> in_dram_; // when each write was in DRAM
    mem_ps last_line_ = 0;        // when the latest line to the host starts
    mem_ps header_taken_ = 0;     // when the last completion shared the header of a line
    mem_ps owed_ = 0;             // wire time that such completions add to the next line
    mem_ps write_sent_ = 0, write_left_ = 0, accepted_until_ = 0, placed_until_ = 0;
    mem_ps in_dram_until_ = 0, in_dram_from_ = 0;
    RefPlaces write_queue_, mshrs_, lanes_;
    std::vector<std::vector<std::unique_ptr<Page>>> sets_; // by frame; frames are filled from the first on
    std::vector<std::unique_ptr<RefPolicy>> policies_;     // one for each set; null: random
    uint64_t draws_ = 0;
    std::map<uint64_t, mem_ps> early_evictions_;
    struct Region {
        uint64_t last;
        int64_t stride;
    };
    std::map<uint64_t, Region> regions_;
    LogHalf halves_[2];
    LogHalf *filling_ = &halves_[0], *full_ = &halves_[1];
    size_t compacted_ = 0;             // number of pages of the full half
    std::optional<uint64_t> arriving_; // the line that the present write covers completely
    bool saving_ = false;              // power goes off: compactions read nothing and so lose no lines
    mem_ps log_from_ = 0, log_done_ = 0, log_open_from_ = 0;
    std::optional<RefFlash> flash_;
};
