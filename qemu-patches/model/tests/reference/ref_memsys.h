// SPDX-License-Identifier: GPL-2.0-or-later
// The reference: the rules of docs/explanation/model.md in the most obvious form. It searches lists, never forgets a
// version and saves no pre-images: it derives the durable bytes from the bytes at the start and the full
// history of write-backs.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <vector>

#include "../rigs/rig.h"

using Bytes = std::array<uint8_t, kLine>;

struct RefVersion {
    Bytes bytes;
    mem_ps accepted, program_start, programmed;
};

class RefMemSys {
  public:
    RefMemSys(const MemCpuConfig &cpu, const MemDeviceConfig &device, const std::vector<uint8_t> &media);

    mem_ps access(uint64_t hpa, bool store, mem_ps now);
    mem_ps nt_store(uint64_t hpa, uint32_t size, mem_ps now);
    mem_ps flush(uint64_t hpa, MemFlushKind kind, mem_ps now);
    mem_ps fence(mem_ps now);
    mem_ps wbinvd(mem_ps now);
    void map_window(uint64_t hpa, uint64_t dpa, uint64_t size, mem_ps now);
    void set_timed(bool timed);
    void reset_counters() { counters_ = {}; }
    MemLineState state(uint64_t device_line, mem_ps now) const;
    // Cut the power at `now`. Returns the surviving content of the media and continues from it.
    std::vector<uint8_t> survivors(mem_ps now);
    void restart(bool cache_lost);
    const MemCounters &counters() const { return counters_; }

  private:
    struct Entry {
        uint64_t line;
        bool dirty;
    };
    using Set = std::list<Entry>;
    struct Level {
        std::vector<Set> sets;
        uint32_t ways;
        Set &set(uint64_t line) { return sets[line % sets.size()]; }
        Entry *find(uint64_t line);
        bool take(uint64_t line); // removes the line; returns whether it was dirty
    };
    struct Page {
        uint64_t page;
        bool dirty;
        mem_ps filled, settled;
    };
    struct Buffer {
        uint64_t line;
        std::set<uint32_t> bytes;
    };
    struct Sent {
        mem_ps left, completed;
    };

    static Level make_level(const MemCacheConfig &config);
    static mem_ps occupy(mem_ps &free_at, mem_ps at, mem_ps span);
    void enter(mem_ps now);
    bool on_device(uint64_t line, uint64_t *device_line) const;
    void put(Level &level, uint64_t line, bool dirty, std::vector<uint64_t> &victims);
    void dirtied(uint64_t line);
    mem_ps read_memory(uint64_t line, mem_ps now);
    mem_ps look_up_done(mem_ps arrived) const;
    Page &look_up(uint64_t page, mem_ps at, bool *hit);
    void program(uint64_t page, mem_ps at);
    Sent write_back(uint64_t line, mem_ps at, bool capture_later = false);
    Sent write_from_core(uint64_t line, mem_ps at, bool capture_later = false);
    void send_buffer(std::list<Buffer>::iterator buffer, mem_ps at, bool capture_later = false);
    std::list<Buffer>::iterator find_buffer(uint64_t line);
    bool drop(uint64_t line);
    Bytes live(uint64_t device_line) const;

    MemCpuConfig cpu_, cpu_now_;
    MemDeviceConfig device_, device_now_;
    const std::vector<uint8_t> &media_;
    Level l1_, l2_, llc_;
    std::list<Buffer> open_;         // oldest first
    std::vector<mem_ps> held_until_; // of the buffers that are not open
    std::vector<std::list<Page>> pages_;
    std::vector<mem_ps> accepted_;         // acceptance of every timed write: the credits
    std::map<uint64_t, mem_ps> completed_; // by line: when the host learns that its last write is complete
    std::vector<mem_ps> channels_;
    mem_ps dram_ = 0, to_host_ = 0, to_device_ = 0;
    mem_ps dram_transfer_ = 0, read_transfer_ = 0, write_transfer_ = 0;
    mem_ps now_ = 0, fence_until_ = 0;
    bool timed_ = false;
    uint64_t window_ = 0, window_size_ = 0, window_dpa_ = 0;
    std::vector<uint8_t> base_;
    std::map<uint64_t, std::vector<RefVersion>> history_;
    std::set<uint64_t> cpu_dirty_; // device lines
    int64_t uncaptured_ = -1;      // a device line: its newest version has no bytes yet
    MemCounters counters_ = {}, ignored_ = {};
    MemCounters *count_ = &ignored_;
};
