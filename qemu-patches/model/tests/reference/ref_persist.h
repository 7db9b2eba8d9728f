// SPDX-License-Identifier: GPL-2.0-or-later
// Durability in the most obvious form: maps ordered by line hold every write-back since the last power cut, with its
// bytes and the times of the flash program that it follows. No bytes are saved in advance, and no write-back is dropped
// before a newer one is durable.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

extern "C" {
#include "persist/persist.h"
}

using LineBytes = std::array<uint8_t, MEMSYS_LINE_BYTES>;

class RefPersist {
  public:
    RefPersist(const MemDeviceConfig &config, const std::map<uint64_t, LineBytes> &media)
        : config(config), media_(media), durable_(media) {}

    void dirtied(uint64_t line);
    void written_back(uint64_t line, mem_ps accepted);
    void programmed(uint64_t first, uint64_t count, mem_ps start, mem_ps end);
    void moved(uint64_t first, uint64_t count, mem_ps old_end, mem_ps start, mem_ps end);
    mem_ps barrier();
    void run(mem_ps now);
    void settle();
    MemLineState state(uint64_t line, mem_ps at) const;
    bool cpu_dirty(uint64_t line) const { return cpu_.count(line) != 0; }
    uint64_t events() const { return events_; }
    void cut_after(uint64_t count) { cut_after_ = count; }
    bool gone() const { return events_ >= cut_after_; }
    // Cut the power now; survivors() then returns the content of the media.
    MemPowerCut power_cut();
    const std::map<uint64_t, LineBytes> &survivors() const { return durable_; }
    void power_off();

    MemDeviceConfig config;

  private:
    struct Write {
        LineBytes bytes;
        bool captured, arrived;
        mem_ps accepted, start, end;
    };
    using Writes = std::vector<Write>;
    struct Arrival {
        LineBytes bytes;
        bool from_cpu;
    };
    using Arrivals = std::map<uint64_t, Arrival>;

    bool tracked(uint64_t line) const { return line >= config.volatile_bytes / MEMSYS_LINE_BYTES; }
    bool is_protected() const { return config.cache_power_loss_protected; }
    bool drains() const { return config.flash_channels == 0 && !is_protected(); }
    uint64_t saved_bytes() const { return drains() ? MEMSYS_LINE_BYTES : config.cache_page_bytes; }
    mem_ps durable_at(const Write &w) const { return is_protected() ? w.accepted : w.end; }
    mem_ps next_at(const Write &w) const { return w.arrived ? w.end : w.accepted; }
    void become_durable(uint64_t line, size_t index);
    LineBytes bytes_of(uint64_t line, const Write &w) const { return w.captured ? w.bytes : media_.at(line); }
    void follow(Write &w, mem_ps start, mem_ps end) const;
    bool evicted(uint64_t line) const;
    void reach_device(Arrivals &arrivals, uint64_t &energy, MemPowerCut &cut) const;
    void forget();

    const std::map<uint64_t, LineBytes> &media_; // the live content of the persistent lines
    std::map<uint64_t, LineBytes> durable_;
    std::map<uint64_t, Writes> writes_; // by line, oldest first
    std::map<uint64_t, bool> cpu_;      // lines dirty in the CPU
    mem_ps now_ = 0, last_accepted_ = 0;
    uint64_t late_ = MEM_NO_LINE; // the next call reads the durable bytes of this line from the media
    uint64_t events_ = 0, cut_after_ = UINT64_MAX;
};
