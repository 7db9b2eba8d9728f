// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref_flash.h"

#include <algorithm>
#include <utility>

RefFlash::RefFlash(const MemDeviceConfig &config) : config_(config) {
    uint64_t planes = uint64_t(config.flash_channels) * config.flash_dies * config.flash_planes;
    uint64_t pages = config.capacity_bytes / config.cache_page_bytes;
    uint64_t physical = pages * (1000 + config.flash_over_provisioning_permille);
    uint64_t plane_blocks = (physical + 1000 * planes * block_pages() - 1) / (1000 * planes * block_pages());

    planes_.resize(planes);
    channels_.resize(config.flash_channels);
    set_timed(false);
    if (config.flash_ftl == MEM_FTL_NONE) {
        return;
    }
    blocks.assign(planes, std::vector<Block>(plane_blocks));
    open_.resize(planes);
    clock_.resize(planes);
    for (uint64_t page = 0; page < pages; page++) {
        uint64_t plane = page % planes;
        size_t index = page / planes;
        Block &b = blocks[plane][index / block_pages()];
        b.pages.push_back(page);
        where[page] = {plane, index / block_pages(), index % block_pages()};
        open_[plane] = index / block_pages();
        if (b.pages.size() == block_pages()) {
            open_[plane].reset();
        }
    }
}

void RefFlash::use_times(bool timed) {
    now_ = config_;
    if (!timed) {
        now_.flash_read_ps = now_.flash_program_ps = now_.flash_erase_ps = now_.flash_channel_bandwidth = 0;
        now_.flash_suspend = false;
    }
}

// Programs that were reported while suspension was off do not move.
void RefFlash::reconfigure(const MemDeviceConfig &config, bool timed) {
    for (Server &plane : planes_) {
        if (config.flash_suspend && !config_.flash_suspend && !plane.uses.empty()) {
            plane.settled = std::max(plane.settled, plane.uses.back().end);
        }
    }
    config_ = config;
    use_times(timed);
}

void RefFlash::set_timed(bool timed) {
    use_times(timed);
    planes_.assign(planes_.size(), {});
    channels_.assign(channels_.size(), {});
}

// ---- Time ----

void RefFlash::divide(const Server &s, mem_ps from, mem_ps to, Waits &waits) {
    for (const Use &use : s.uses) {
        if (use.end > from && from < to) {
            mem_ps until = std::min(use.end, to);
            waits[use.with] += until - from;
            from = until;
        }
    }
    waits[MEM_BUSY_READ] += std::max(from, to) - from;
}

mem_ps RefFlash::append(Server &s, mem_ps at, mem_ps span, MemBusyWith with, std::optional<uint64_t> page,
                        Waits &waits) {
    mem_ps start = std::max(at, s.settled);
    if (!s.uses.empty()) {
        start = std::max(start, s.uses.back().end);
    }
    divide(s, at, start, waits);
    s.uses.push_back({start, start + span, start, with, page});
    return start;
}

mem_ps RefFlash::cross(uint64_t plane, mem_ps ready, MemBusyWith with, Waits &waits) {
    if (!now_.flash_channel_bandwidth) {
        return ready;
    }
    mem_ps span = (config_.cache_page_bytes * UINT64_C(1000000000000) + now_.flash_channel_bandwidth - 1) /
                  now_.flash_channel_bandwidth;
    Server &s = channels_[plane % channels_.size()];
    auto is_free = [&](mem_ps at) {
        return std::none_of(s.uses.begin(), s.uses.end(),
                            [&](const Use &use) { return use.start < at + span && at < use.end; });
    };
    std::vector<mem_ps> candidates = {ready};
    for (const Use &use : s.uses) {
        if (use.end > ready) {
            candidates.push_back(use.end);
        }
    }
    mem_ps start = *std::find_if(candidates.begin(), candidates.end(), is_free);
    divide(s, ready, start, waits);
    auto after = std::find_if(s.uses.begin(), s.uses.end(), [&](const Use &use) { return use.start >= start; });
    s.uses.insert(after, {start, start + span, start, with, {}});
    return start + span;
}

mem_ps RefFlash::program_end(const Server &s, uint64_t page, mem_ps at) {
    mem_ps end = 0;
    for (const Use &use : s.uses) {
        if (use.page == page && use.end > at) {
            end = use.end;
        }
    }
    return end;
}

mem_ps RefFlash::preempt(Server &s, uint64_t page, mem_ps at, Waits &waits) {
    mem_ps start = std::max({at, s.settled, program_end(s, page, at)});
    for (const Use &use : s.uses) {
        start = use.with == MEM_BUSY_READ ? std::max(start, use.end) : start;
    }
    divide(s, at, start, waits);
    std::vector<Use> before, later;
    mem_ps own = start;
    for (Use use : s.uses) {
        if (use.end <= start) {
            before.push_back(use);
        } else if (use.start < start) {
            before.push_back({use.start, start, use.began, use.with, {}});
            later.push_back({start, use.end, use.began, use.with, use.page});
            own += config_.flash_suspend_ps;
            waits[use.with] += config_.flash_suspend_ps;
        } else {
            later.push_back(use);
        }
    }
    mem_ps clear = own + config_.flash_read_ps;
    before.push_back({start, clear, start, MEM_BUSY_READ, {}});
    for (Use use : later) {
        mem_ps delay = use.start < clear ? clear - use.start : 0;
        mem_ps began = use.began == use.start ? use.began + delay : use.began;
        if (delay && use.page) {
            moves.push_back({*use.page, use.end, began, use.end + delay});
        }
        before.push_back({use.start + delay, use.end + delay, began, use.with, use.page});
        clear = use.end + delay;
    }
    s.uses = before;
    return own;
}

MemFlashTimes RefFlash::read(uint64_t page, mem_ps at) {
    uint64_t plane = blocks.empty() ? page % planes_.size() : where[page].plane;
    Waits waits(MEM_BUSY_KINDS);
    moves.clear();
    mem_ps start = now_.flash_suspend ? preempt(planes_[plane], page, at, waits)
                                      : append(planes_[plane], at, now_.flash_read_ps, MEM_BUSY_READ, {}, waits);
    mem_ps end = cross(plane, start + now_.flash_read_ps, MEM_BUSY_READ, waits);
    return {start, end, waits[0], waits[1], waits[2], is_lost(page)};
}

MemFlashTimes RefFlash::program(uint64_t page, mem_ps at) {
    uint64_t plane = page % planes_.size();
    uint64_t old_plane = plane;
    uint64_t moves_before = gc_moves, erases_before = erases;
    Waits waits(MEM_BUSY_KINDS), nobody(MEM_BUSY_KINDS);

    lost.clear();
    if (!blocks.empty()) {
        old_plane = where[page].plane;
        drop(where[page]);
        plane = next_plane();
        while (free_blocks(plane).size() < config_.flash_gc_free_blocks) {
            clean(plane);
        }
        write(plane, page);
        host_programs++;
    }
    mem_ps sent = cross(plane, at, MEM_BUSY_PROGRAM, waits);
    mem_ps ready = sent;
    if (!blocks.empty()) {
        ready = std::max(ready, program_end(planes_[old_plane], page, sent));
        planes_[old_plane].settled = std::max(planes_[old_plane].settled, program_end(planes_[old_plane], page, sent));
    }
    if (erases > erases_before) {
        mem_ps span = (gc_moves - moves_before) * (now_.flash_read_ps + now_.flash_program_ps) +
                      (erases - erases_before) * now_.flash_erase_ps;
        append(planes_[plane], at, span, MEM_BUSY_GC, {}, nobody);
    }
    waits[MEM_BUSY_PROGRAM] += ready - sent;
    mem_ps start = append(planes_[plane], ready, now_.flash_program_ps, MEM_BUSY_PROGRAM, page, waits);
    return {start, start + now_.flash_program_ps, waits[0], waits[1], waits[2], false};
}

// ---- Errors ----

// The finalizer of SplitMix64.
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// A page is lost if its draw, out of 2^32, is below the share of lost pages.
bool RefFlash::is_lost(uint64_t page) const {
    if (blocks.empty() || !config_.flash_read_errors) {
        return false;
    }
    const Place &at = where.at(page);
    uint64_t number = (at.plane * blocks[at.plane].size() + at.block) * block_pages() + at.index;
    uint64_t cycles = config_.flash_worn_cycles + uint64_t(blocks[at.plane][at.block].wear);
    uint64_t draw = mix(mix(mix(config_.flash_read_errors_seed) ^ number) + cycles) / (UINT64_C(1) << 32);
    using Wide = unsigned __int128;
    Wide share = Wide(config_.flash_read_errors) * cycles * (UINT64_C(1) << 32);
    return Wide(draw) * config_.flash_endurance_cycles * UINT64_C(1000000000000) < share;
}

// ---- Translation ----

size_t RefFlash::valid(const Block &b) const {
    return size_t(std::count_if(b.pages.begin(), b.pages.end(), [](const auto &page) { return page.has_value(); }));
}

uint64_t RefFlash::live(uint64_t plane) const {
    uint64_t sum = 0;
    for (const Block &b : blocks[plane]) {
        sum += valid(b);
    }
    return sum;
}

std::vector<size_t> RefFlash::free_blocks(uint64_t plane) const {
    std::vector<size_t> free;
    for (size_t i = 0; i < blocks[plane].size(); i++) {
        if (blocks[plane][i].pages.empty()) {
            free.push_back(i);
        }
    }
    return free;
}

bool RefFlash::is_better(const Block &a, const Block &b, uint64_t clock) const {
    uint64_t valid_a = valid(a), valid_b = valid(b);
    if (config_.flash_gc == MEM_GC_COST_BENEFIT && valid_a && valid_b) {
        // age * (1 - u) / 2u, without the factors that both have in common
        uint64_t gain_a = (clock - a.modified) * (block_pages() - valid_a) * valid_b;
        uint64_t gain_b = (clock - b.modified) * (block_pages() - valid_b) * valid_a;
        if (gain_a != gain_b) {
            return gain_a > gain_b;
        }
    }
    return std::pair(valid_a, a.modified) < std::pair(valid_b, b.modified);
}

size_t RefFlash::victim(uint64_t plane) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < blocks[plane].size(); i++) {
        const Block &b = blocks[plane][i];
        if (b.pages.size() == block_pages() && valid(b) < block_pages() &&
            (!best || is_better(b, blocks[plane][*best], clock_[plane]))) {
            best = i;
        }
    }
    return *best;
}

void RefFlash::drop(Place place) {
    Block &b = blocks[place.plane][place.block];
    b.pages[place.index].reset();
    b.modified = ++clock_[place.plane];
}

void RefFlash::write(uint64_t plane, uint64_t page) {
    std::vector<Block> &all = blocks[plane];
    if (!open_[plane]) {
        std::vector<size_t> free = free_blocks(plane);
        open_[plane] = *std::min_element(free.begin(), free.end(), [&](size_t a, size_t b) {
            return std::pair(all[a].wear, a) < std::pair(all[b].wear, b);
        });
    }
    Block &b = all[*open_[plane]];
    where[page] = {plane, *open_[plane], b.pages.size()};
    b.pages.push_back(page);
    b.modified = ++clock_[plane];
    if (b.pages.size() == block_pages()) {
        open_[plane].reset();
    }
}

void RefFlash::clean(uint64_t plane) {
    size_t which = victim(plane);
    std::vector<std::optional<uint64_t>> pages = blocks[plane][which].pages;
    for (const auto &page : pages) {
        if (page) {
            if (is_lost(*page)) {
                lost.push_back(*page);
            }
            write(plane, *page);
            gc_moves++;
        }
    }
    blocks[plane][which].pages.clear();
    blocks[plane][which].wear++;
    erases++;
}

uint64_t RefFlash::next_plane() {
    for (;;) {
        uint64_t plane = turn_;
        turn_ = (turn_ + 1) % planes_.size();
        if (live(plane) < (blocks[plane].size() - config_.flash_gc_free_blocks - 1) * block_pages()) {
            return plane;
        }
    }
}
