// SPDX-License-Identifier: GPL-2.0-or-later
// Flash, by the rules of docs/explanation/model-flash.md and of the comments in flash/, in the obvious way: maps, full
// histories and exhaustive searches.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

extern "C" {
#include "flash/flash.h"
}

class RefFlash {
  public:
    struct Place {
        uint64_t plane;
        size_t block, index;
        bool operator==(const Place &) const = default;
    };
    struct Block {
        std::vector<std::optional<uint64_t>> pages; // written so far; an empty entry was overwritten since
        uint32_t wear = 0;
        uint64_t modified = 0;
    };

    explicit RefFlash(const MemDeviceConfig &config);
    void set_timed(bool timed);
    void reconfigure(const MemDeviceConfig &config, bool timed);
    MemFlashTimes read(uint64_t page, mem_ps at);
    MemFlashTimes program(uint64_t page, mem_ps at);

    std::map<uint64_t, Place> where; // with a translation layer
    std::vector<std::vector<Block>> blocks;
    uint64_t host_programs = 0, gc_moves = 0, erases = 0;
    std::vector<MemProgramMove> moves; // of the last read
    std::vector<uint64_t> lost;        // pages that the last program's cleaning could not read

  private:
    // A part of an operation that occupies a plane or a channel.
    struct Use {
        mem_ps start, end, began;
        MemBusyWith with;
        std::optional<uint64_t> page; // the page, if its program ends with this part
    };
    struct Server {
        std::vector<Use> uses; // all uses, by time
        mem_ps settled = 0;
    };
    using Waits = std::vector<mem_ps>;

    void use_times(bool timed);
    static void divide(const Server &s, mem_ps from, mem_ps to, Waits &waits);
    mem_ps append(Server &s, mem_ps at, mem_ps span, MemBusyWith with, std::optional<uint64_t> page, Waits &waits);
    mem_ps cross(uint64_t plane, mem_ps ready, MemBusyWith with, Waits &waits);
    mem_ps preempt(Server &s, uint64_t page, mem_ps at, Waits &waits);
    static mem_ps program_end(const Server &s, uint64_t page, mem_ps at);

    size_t block_pages() const { return config_.flash_block_pages; }
    size_t valid(const Block &b) const;
    uint64_t live(uint64_t plane) const;
    bool is_lost(uint64_t page) const;
    std::vector<size_t> free_blocks(uint64_t plane) const;
    bool is_better(const Block &a, const Block &b, uint64_t clock) const;
    size_t victim(uint64_t plane) const;
    void drop(Place place);
    void write(uint64_t plane, uint64_t page);
    void clean(uint64_t plane);
    uint64_t next_plane();

    MemDeviceConfig config_, now_;
    std::vector<Server> planes_, channels_;
    std::vector<std::optional<size_t>> open_;
    std::vector<uint64_t> clock_;
    uint64_t turn_ = 0;
};
