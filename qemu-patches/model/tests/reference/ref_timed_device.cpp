// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref_timed_device.h"

#include <algorithm>

static constexpr uint64_t kSecond = UINT64_C(1000000000000);
static constexpr size_t kCredits = 1024;
static constexpr uint64_t kRegionPages = 1024;

static uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The finalizer of SplitMix64.
static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

// ---- Queues ----

mem_ps RefCalendar::first_gap(mem_ps at, mem_ps span) const {
    if (span == 0) {
        return at;
    }
    at = std::max(at, forgotten_);
    for (auto [start, end] : busy_) {
        at = end > at && start < at + span ? end : at;
    }
    return at;
}

mem_ps RefCalendar::reserve(mem_ps at, mem_ps span) {
    if (span == 0) {
        return at;
    }
    at = first_gap(at, span);
    busy_.push_back({at, at + span});
    std::sort(busy_.begin(), busy_.end());
    for (size_t i = 1; i < busy_.size();) {
        if (busy_[i - 1].second == busy_[i].first) {
            busy_[i - 1].second = busy_[i].second;
            busy_.erase(busy_.begin() + ptrdiff_t(i));
        } else {
            i++;
        }
    }
    if (busy_.size() > kRemembered) {
        forgotten_ = busy_.front().second;
        busy_.erase(busy_.begin());
    }
    return at;
}

mem_ps RefPlaces::free_from(mem_ps at) const {
    return until_.empty() ? at : std::max(at, *std::min_element(until_.begin(), until_.end()));
}

void RefPlaces::take(mem_ps until) {
    if (!until_.empty()) {
        *std::min_element(until_.begin(), until_.end()) = until;
    }
}

// Fewer places: keep the ones that are free last. More places: the new ones are free.
void RefPlaces::resize(size_t count) {
    std::sort(until_.rbegin(), until_.rend());
    until_.resize(count, 0);
}

// ---- Modes ----

RefTimedDevice::RefTimedDevice(const MemDeviceConfig &config, MemCounters *const *count)
    : config_(config), count_(count) {
    if (config.flash_channels) {
        flash_.emplace(config);
        mshrs_ = RefPlaces(config.cache_mshrs);
        reset_cache();
    }
    empty_queues();
}

void RefTimedDevice::reset_cache() {
    size_t sets = config_.cache_ways ? frames() / config_.cache_ways : 1;
    sets_.clear();
    sets_.resize(sets);
    reset_policies();
}

// A new policy sees the cached pages as if they were filled in the order of their frames.
void RefTimedDevice::reset_policies() {
    static const char *const kNames[] = {"lru", "fifo", "clock", "2q", "s3-fifo", "random"};
    draws_ = 0;
    policies_.clear();
    for (const auto &set : sets_) {
        policies_.push_back(make_reference(kNames[config_.cache_policy], frames() / sets_.size()));
        for (const auto &p : set) {
            if (policies_.back()) {
                policies_.back()->access(p->page);
            }
        }
    }
}

void RefTimedDevice::use_times() {
    auto message = [this](uint64_t slots, uint64_t bandwidth) -> mem_ps {
        if (config_.link_flit_bytes == 0) {
            return slots == 1 ? 0 : divide_up(kLine * kSecond, bandwidth);
        }
        uint64_t flit_slots = config_.link_flit_bytes == 68 ? 4 : 15;
        return divide_up(slots * config_.link_flit_bytes * kSecond, flit_slots * bandwidth);
    };
    request_ = timed_ ? message(1, config_.link_write_bandwidth) : 0;
    write_data_ = timed_ ? message(5, config_.link_write_bandwidth) : 0;
    completion_ = timed_ ? message(1, config_.link_read_bandwidth) : 0;
    read_data_ = timed_ ? message(5, config_.link_read_bandwidth) : 0;
    latency_ = timed_ ? config_.link_latency_ps : 0;
    controller_ = timed_ ? config_.controller_latency_ps : 0;
    interval_ = timed_ ? config_.controller_interval_ps : 0;
    tags_ = timed_ ? config_.cache_tag_ps : 0;
    look_up_ = timed_ ? config_.cache_latency_ps : 0;
    line_ = timed_ && config_.cache_bandwidth ? divide_up(kLine * kSecond, config_.cache_bandwidth) : 0;
}

void RefTimedDevice::empty_queues() {
    use_times();
    to_host_ = to_device_ = controller_calendar_ = dram_ = {};
    in_dram_.clear();
    last_line_ = header_taken_ = owed_ = write_sent_ = write_left_ = accepted_until_ = placed_until_ = 0;
    in_dram_until_ = in_dram_from_ = 0;
    early_evictions_.clear();
    log_from_ = log_done_ = log_open_from_ = 0;
    write_queue_ = RefPlaces(config_.write_queue);
    mshrs_ = RefPlaces(config_.cache_mshrs);
    lanes_ = RefPlaces(config_.flash_channels);
    if (flash_) {
        flash_->set_timed(timed_);
    }
}

// All requests under way have ended.
void RefTimedDevice::settle() {
    for (auto &set : sets_) {
        for (auto &p : set) {
            p->filled = p->settled = 0;
            p->programmed = false;
        }
    }
}

void RefTimedDevice::set_timed(bool timed, mem_ps now) {
    if (!timed) {
        run_log(now);
        settle();
    }
    timed_ = timed;
    empty_queues();
}

// Requests under way keep their times. No write is accepted before the writes that were sent earlier.
void RefTimedDevice::reconfigure(const MemDeviceConfig &config) {
    bool other_policy = config.cache_policy != config_.cache_policy;
    bool other_mshrs = config.cache_mshrs != config_.cache_mshrs;

    config_ = config;
    in_dram_from_ = in_dram_until_;
    use_times();
    if (flash_ && other_policy) {
        reset_policies();
    }
    if (flash_ && other_mshrs) {
        mshrs_.resize(config.cache_mshrs);
    }
    if (flash_) {
        flash_->reconfigure(config, timed_);
    }
}

void RefTimedDevice::power_cut(mem_ps now) {
    run_log(now);
    if (flash_ && config_.cache_power_loss_protected && config_.flash_read_errors) {
        save_all(now);
    }
    if (flash_ && !config_.cache_power_loss_protected) {
        reset_cache();
        halves_[0] = halves_[1] = {};
        compacted_ = 0;
    }
    settle();
    empty_queues();
}

// Program everything: the content of the log, half by half, then the dirty pages of the cache by frame.
void RefTimedDevice::power_off(mem_ps now) {
    run_log(now);
    save_all(now);
    settle();
    empty_queues();
}

void RefTimedDevice::save_all(mem_ps now) {
    MemCounters before = count(); // the host does not wait for these operations
    saving_ = true;
    for (int half = 0; flash_ && half < 2; half++) {
        while (compacted_ < full_->pages.size()) {
            compact_next();
        }
        turn_log(now);
    }
    for (auto &set : sets_) {
        for (auto &p : set) {
            if (p->dirty) {
                program_flash(p->page, now);
            }
        }
    }
    uint64_t lines_lost = count().lines_lost;
    count() = before;
    count().lines_lost = lines_lost;
    for (auto &set : sets_) {
        for (auto &p : set) {
            p->dirty = false;
            p->valid.assign(p->valid.size(), true);
        }
    }
    halves_[0] = halves_[1] = {};
    compacted_ = 0;
    saving_ = false;
}

// ---- Requests ----

// If a refresh blocks the address, wait for its end.
mem_ps RefTimedDevice::access_dram(uint64_t address, mem_ps at, mem_ps span, Read &why) const {
    mem_ps begun = at;
    if (timed_ && config_.cache_refresh_ps) {
        mem_ps interval = config_.cache_refresh_interval_ps;
        mem_ps turn = mix(address) % config_.cache_refresh_groups * (interval / config_.cache_refresh_groups);
        for (mem_ps cycle = at / interval; cycle <= at / interval + 1; cycle++) { // shifted by one interval
            mem_ps blocked = cycle * interval + turn;
            mem_ps end = blocked + config_.cache_refresh_ps;
            begun = blocked <= at + interval && at + interval < end ? end - interval : begun;
        }
    }
    why.queue += begun - at;
    why.cache += span;
    return begun + span;
}

mem_ps RefTimedDevice::start_request(uint64_t line, mem_ps at, Read &why) {
    mem_ps start = controller_calendar_.reserve(at, interval_);
    why.queue += start - at;
    why.cache += controller_;
    at = start + controller_;
    if (tags_) {
        at = access_dram(~(flash_ ? line / page_lines() : line), at, tags_, why);
    }
    return access_dram(line, at, look_up_, why);
}

// The wire time that a line saves if it shares its header slot with another line.
mem_ps RefTimedDevice::half_header() const { return config_.link_multi_header ? completion_ / 2 : 0; }

// Send a completion in the header of a line to the host if that is earlier than its own slot, else in its own slot.
mem_ps RefTimedDevice::complete(mem_ps accepted) {
    mem_ps own = to_host_.first_gap(accepted, completion_);
    mem_ps shared = std::max(accepted, header_taken_) + read_data_;
    if (shared < own && shared <= last_line_) {
        header_taken_ = shared;
        owed_ += half_header();
        return shared + completion_ + latency_;
    }
    return to_host_.reserve(accepted, completion_) + completion_ + latency_;
}

mem_ps RefTimedDevice::move_line(mem_ps at, Read &why) {
    mem_ps start = dram_.reserve(at, line_);
    why.queue += start - at;
    why.cache += line_;
    return start + line_;
}

RefTimedDevice::Read RefTimedDevice::read(uint64_t line, mem_ps at) {
    Read r = {};
    mem_ps sent = to_device_.reserve(at, request_);
    mem_ps looked_up = start_request(line, sent + request_ + latency_, r);
    run_log(looked_up);
    LookUp l = look_up_read(line, looked_up, r);
    mem_ps ready = move_line(l.ready, r);
    bool pairs = to_host_.first_gap(ready, read_data_) > ready; // shares a header slot, unless completions took it
    mem_ps wire = pairs ? read_data_ - half_header() + owed_ : read_data_;
    mem_ps answered = to_host_.reserve(ready, wire);
    owed_ = 0;
    last_line_ = std::max(last_line_, answered);
    r.hit = l.hit;
    r.done = answered + wire + latency_;
    r.queue += sent - at + answered - ready;
    r.link += request_ + wire + 2 * latency_;
    if (l.teaches) {
        prefetch(line / page_lines(), looked_up);
    }
    count().cxl_reads++;
    count().link_read_bytes += kLine;
    return r;
}

RefTimedDevice::Write RefTimedDevice::write(uint64_t line, const LineBytes &bytes, mem_ps at) {
    Read nobodys = {};
    mem_ps credit = in_dram_.size() < kCredits ? 0 : in_dram_[in_dram_.size() - kCredits];
    mem_ps sent = std::max(write_queue_.free_from(at), write_sent_); // writes are sent in the order of the calls
    mem_ps left = to_device_.reserve(std::max({sent, credit, write_left_}), write_data_) + write_data_;
    mem_ps looked_up = start_request(line, left + latency_, nobodys);
    run_log(looked_up);
    LookUp l = look_up_write(line, bytes, looked_up, nobodys);
    mem_ps in_dram = std::max(move_line(l.ready, nobodys), in_dram_from_);
    write_queue_.take(in_dram);
    mem_ps accepted = config_.write_queue ? std::max(sent + latency_, accepted_until_) : in_dram;
    mem_ps completed = config_.write_queue ? accepted + latency_ : complete(in_dram);
    write_sent_ = sent;
    write_left_ = left;
    accepted_until_ = std::max(accepted_until_, accepted);
    in_dram_until_ = std::max(in_dram_until_, in_dram);
    in_dram_.push_back(in_dram);
    if (l.page) {
        l.page->settled = std::max(l.page->settled, in_dram);
    }
    if (flash_ && logs()) {
        append_to_log(line, bytes, in_dram);
        if (l.page) {
            validate(*l.page, line, bytes);
        }
    } else if (l.page && config_.cache_write == MEM_WRITE_THROUGH) {
        write_through(*l.page, in_dram);
    } else if (l.page) {
        l.page->dirty = true;
    }
    if (l.teaches) {
        prefetch(line / page_lines(), looked_up);
    }
    count().cxl_writes++;
    count().link_write_bytes += kLine;
    return {config_.write_queue ? completed : left, completed};
}

mem_ps RefTimedDevice::barrier(mem_ps at) {
    run_log(at);
    return std::max(at, accepted_until_) + (timed_ ? config_.wbarrier_latency_ps : 0);
}

// ---- Pages ----

RefTimedDevice::Page *RefTimedDevice::find(uint64_t page) {
    for (auto &set : sets_) {
        for (auto &p : set) {
            if (p->page == page) {
                return p.get();
            }
        }
    }
    return nullptr;
}

bool RefTimedDevice::use(Page &p) {
    bool first = p.prefetched;
    RefPolicy *policy = policies_[p.page % sets_.size()].get();
    if (policy) {
        policy->access(p.page);
    }
    p.prefetched = false;
    count().cache_prefetches_useful += first;
    return first;
}

// A page that left before all its writes were accepted returns only after they are accepted.
RefTimedDevice::Place RefTimedDevice::make_place(uint64_t page, mem_ps asked, mem_ps at) {
    size_t set_number = page % sets_.size(), ways = frames() / sets_.size();
    auto &set = sets_[set_number];
    RefPolicy *policy = policies_[set_number].get();
    size_t frame = set.size();
    Place place = {nullptr, at, at};

    if (policy) {
        policy->access(page);
    }
    if (set.size() == ways) {
        frame = 0;
        while (policy && policy->has(set[frame]->page)) {
            frame++;
        }
        if (!policy) { // SplitMix64
            uint64_t draw = mix(config_.cache_seed + ++draws_ * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
            frame = draw * ways >> 32;
        }
        Page &old = *set[frame];
        place.evicted = place.free = std::max(at, old.settled);
        if (old.settled > asked) {
            early_evictions_[old.page] = old.settled;
            placed_until_ = std::max(placed_until_, old.settled);
        }
        count().cache_prefetches_useless += old.prefetched;
        if (old.dirty) {
            count().cache_writebacks++;
            place.free = program(old, place.evicted).start_ps;
        }
    } else {
        set.emplace_back();
    }
    set[frame] = std::make_unique<Page>();
    set[frame]->page = page;
    set[frame]->valid.assign(config_.cache_page_bytes, true);
    place.page = set[frame].get();
    return place;
}

MemFlashTimes RefTimedDevice::read_flash(uint64_t page, mem_ps at) {
    count().flash_reads++;
    MemFlashTimes t = flash_->read(page, at);
    count().flash_read_failures += t.lost;
    for (const MemProgramMove &move : flash_->moves) { // programs that this read suspended or overtook
        Page *p = find(move.page);
        if (p && p->program_end == move.old_end_ps) {
            p->program_start = move.start_ps;
            p->program_end = move.end_ps;
        }
    }
    return t;
}

MemFlashTimes RefTimedDevice::program_flash(uint64_t page, mem_ps at) {
    uint64_t moves = flash_->gc_moves, erases = flash_->erases;
    MemFlashTimes t = flash_->program(page, at);
    count().flash_programs += 1 + flash_->gc_moves - moves;
    count().flash_gc_moves += flash_->gc_moves - moves;
    count().flash_erases += flash_->erases - erases;
    count().flash_read_failures += flash_->lost.size();
    for (uint64_t lost_page : flash_->lost) {
        lose(lost_page, find(lost_page));
    }
    return t;
}

// Report the lines of an unreadable page, except lines that are complete in the log, the cache or the present write.
void RefTimedDevice::lose(uint64_t page, const Page *held) {
    for (uint64_t line = page * page_lines(); line < (page + 1) * page_lines(); line++) {
        if (arriving_ != line && !logged_bytes(line).all() && !(held && holds_line(*held, line))) {
            lost.push_back(line);
            count().lines_lost++;
        }
    }
}

// The bytes of the page that were never fetched are read first.
MemFlashTimes RefTimedDevice::program(Page &p, mem_ps at) {
    if (!p.is_whole()) {
        MemFlashTimes t = read_flash(p.page, at);
        at = t.end_ps;
        if (t.lost) {
            lose(p.page, &p);
        }
        p.filled = std::max(p.filled, at);
        p.valid.assign(p.valid.size(), true);
        count().cache_completions++;
    }
    return program_flash(p.page, at);
}

MemFlashTimes RefTimedDevice::fetch_bytes(uint64_t page, const Page *held, mem_ps wanted, mem_ps start, Read &why) {
    MemFlashTimes t = read_flash(page, start);
    if (t.lost) {
        lose(page, held);
    }
    mshrs_.take(t.end_ps);
    why.queue += start - wanted + t.queue_wait_ps;
    why.program += t.program_wait_ps;
    why.gc += t.gc_wait_ps;
    why.flash += t.end_ps - start - t.queue_wait_ps - t.program_wait_ps - t.gc_wait_ps;
    return t;
}

RefTimedDevice::Page *RefTimedDevice::fetch(uint64_t page, mem_ps at, Read &why) {
    Place place = make_place(page, at, mshrs_.free_from(at));
    MemFlashTimes read = fetch_bytes(page, nullptr, at, place.evicted, why);
    mem_ps filled = std::max(read.end_ps, early_evictions_[page]);
    place.page->filled = place.page->settled = filled;
    place.page->dirty = read.lost; // lost bytes must not be read from flash again
    why.queue += filled - read.end_ps;
    return place.page;
}

RefTimedDevice::LookUp RefTimedDevice::hit(Page &p, mem_ps at, Read &why) {
    count().cache_hits++;
    count().cache_merges += p.filled > at;
    mem_ps ready = std::max(at, p.filled);
    why.flash += ready - at;
    return {&p, ready, true, use(p)};
}

bool RefTimedDevice::holds_line(const Page &p, uint64_t line) const {
    auto first = p.valid.begin() + ptrdiff_t(line % page_lines() * kLine);
    return std::count(first, first + kLine, false) == 0;
}

void RefTimedDevice::validate(Page &p, uint64_t line, const LineBytes &bytes) const {
    for (uint64_t i = 0; i < kLine; i++) {
        p.valid[line % page_lines() * kLine + i] = p.valid[line % page_lines() * kLine + i] || bytes[i];
    }
}

RefTimedDevice::LookUp RefTimedDevice::look_up_read(uint64_t line, mem_ps at, Read &why) {
    if (!flash_) {
        count().cache_hits++;
        return {nullptr, at, true, false};
    }
    Page *p = find(line / page_lines());
    if (p && holds_line(*p, line)) {
        return hit(*p, at, why);
    }
    if (!p && logged_bytes(line).all()) {
        count().cache_hits++;
        count().log_hits++;
        return {nullptr, at, true, false};
    }
    count().cache_misses++;
    if (!p) {
        p = fetch(line / page_lines(), at, why);
    } else { // fetch the rest of a page that is present in part
        mem_ps from = std::max(at, p->filled);
        why.queue += from - at;
        MemFlashTimes read = fetch_bytes(p->page, p, from, mshrs_.free_from(from), why);
        p->filled = read.end_ps;
        p->dirty |= read.lost;
        p->settled = std::max(p->settled, p->filled);
        p->valid.assign(p->valid.size(), true);
        use(*p);
    }
    return {p, p->filled, false, true};
}

RefTimedDevice::LookUp RefTimedDevice::look_up_write(uint64_t line, const LineBytes &bytes, mem_ps at, Read &why) {
    arriving_ = bytes.all() ? std::optional(line) : std::nullopt;
    LookUp l = find_or_place(line, bytes, at, why);
    arriving_.reset();
    return l;
}

RefTimedDevice::LookUp RefTimedDevice::find_or_place(uint64_t line, const LineBytes &bytes, mem_ps at, Read &why) {
    if (!flash_) {
        count().cache_hits++;
        return {nullptr, at, true, false};
    }
    if (logs()) {
        return look_up_log(line, at);
    }
    LookUp l;
    if (Page *p = find(line / page_lines())) {
        l = hit(*p, at, why);
    } else if (config_.cache_write_miss == MEM_WRITE_NO_FETCH) {
        Place place = make_place(line / page_lines(), at, at);
        placed_until_ = std::max(placed_until_, place.free);
        place.page->valid.assign(config_.cache_page_bytes, false);
        place.page->filled = place.page->settled = placed_until_;
        count().cache_misses++;
        count().cache_unfetched++;
        l = {place.page, placed_until_, false, true};
    } else {
        count().cache_misses++;
        p = fetch(line / page_lines(), at, why);
        l = {p, p->filled, false, true};
    }
    validate(*l.page, line, bytes);
    drop_from_log(line, bytes);
    return l;
}

void RefTimedDevice::write_through(Page &p, mem_ps accepted) {
    if (p.programmed && accepted <= p.program_start) {
        count().cache_through_joins++;
        return;
    }
    MemFlashTimes t = program(p, accepted);
    p.programmed = true;
    p.program_start = t.start_ps;
    p.program_end = t.end_ps;
    p.settled = std::max(p.settled, t.start_ps);
    p.dirty = false;
    count().cache_through_programs++;
}

void RefTimedDevice::prefetch(uint64_t page, mem_ps at) {
    int64_t step = config_.cache_prefetch == MEM_PREFETCH_NEXT ? 1 : 0;
    if (config_.cache_prefetch == MEM_PREFETCH_STRIDE) {
        auto [region, first] = regions_.try_emplace(page / kRegionPages, Region{page, 0});
        int64_t stride = int64_t(page) - int64_t(region->second.last);
        step = !first && stride == region->second.stride ? stride : 0;
        region->second = {page, stride};
    }
    Read nobodys = {};
    for (uint32_t i = 0; step != 0 && i < config_.cache_prefetch_pages; i++) {
        page += uint64_t(step);
        if (page >= config_.capacity_bytes / config_.cache_page_bytes || mshrs_.free_from(at) > at) {
            return;
        }
        if (!find(page)) {
            fetch(page, at, nobodys)->prefetched = true;
            count().cache_prefetches++;
        }
    }
}

// ---- The log ----

RefTimedDevice::LineBytes RefTimedDevice::logged_bytes(uint64_t line) const {
    LineBytes bytes;
    for (const LogHalf &half : halves_) {
        auto found = half.lines.find(line);
        bytes |= found == half.lines.end() ? LineBytes() : found->second.bytes;
    }
    return bytes;
}

void RefTimedDevice::drop_from_log(uint64_t line, const LineBytes &bytes) {
    for (LogHalf &half : halves_) {
        if (auto found = half.lines.find(line); found != half.lines.end()) {
            found->second.bytes &= ~bytes;
            found->second.dirty &= found->second.bytes.any();
        }
    }
}

bool RefTimedDevice::log_is_busy() const {
    return compacted_ < full_->pages.size() || (!logs() && !filling_->lines.empty());
}

void RefTimedDevice::turn_log(mem_ps at) {
    std::swap(filling_, full_);
    *filling_ = {};
    compacted_ = 0;
    lanes_ = RefPlaces(config_.flash_channels);
    log_from_ = log_done_ = log_open_from_ = at;
}

void RefTimedDevice::run_log(mem_ps now) {
    while (flash_ && log_is_busy()) {
        bool compacts = compacted_ < full_->pages.size();
        if ((compacts ? lanes_.free_from(log_from_) : log_done_) > now) {
            return;
        }
        if (compacts) {
            compact_next();
        } else {
            turn_log(now);
        }
    }
}

void RefTimedDevice::compact_next() {
    uint64_t page = full_->pages[compacted_++].page;
    auto first = [&](LogHalf &half) { return half.lines.lower_bound(page * page_lines()); };
    auto last = [&](LogHalf &half) { return half.lines.lower_bound((page + 1) * page_lines()); };
    auto is_dirty = [](const auto &line) { return line.second.dirty; };
    if (std::none_of(first(*full_), last(*full_), is_dirty)) {
        return;
    }
    auto is_whole = [](const auto &line) { return line.second.bytes.all(); };
    bool whole = uint64_t(std::count_if(first(*full_), last(*full_), is_whole)) == page_lines();
    mem_ps at = lanes_.free_from(log_from_);
    for (LogHalf &half : halves_) {
        std::for_each(first(half), last(half), [](auto &line) { line.second.dirty = false; });
        for (const LogPage &p : half.pages) {
            at = p.page == page ? std::max(at, p.accepted) : at;
        }
    }
    Page *cached = find(page);
    if (cached && cached->is_whole()) {
        at = std::max(at, cached->filled);
    } else if (!whole) {
        MemFlashTimes read = read_flash(page, at);
        at = read.end_ps;
        if (read.lost && !saving_) {
            lose(page, cached);
        }
        count().cache_completions++;
    }
    mem_ps end = program_flash(page, at).end_ps;
    lanes_.take(end);
    log_done_ = std::max(log_done_, end);
    count().log_compactions++;
}

RefTimedDevice::LookUp RefTimedDevice::look_up_log(uint64_t line, mem_ps at) {
    Page *p = find(line / page_lines());
    bool is_hit = p || logged_bytes(line).any();
    bool teaches = p && use(*p);
    (is_hit ? count().cache_hits : count().cache_misses)++;
    count().cache_unfetched += !is_hit;
    count().log_writes++;
    mem_ps ready = std::max(at, log_open_from_);
    if (!filling_->lines.count(line) && filling_->lines.size() == config_.write_log_bytes / 2 / kLine) {
        while (compacted_ < full_->pages.size()) {
            compact_next();
        }
        mem_ps open = std::max(ready, log_done_);
        count().log_wait_ps += open - ready;
        turn_log(open);
        run_log(open);
        ready = open;
    }
    return {p, ready, is_hit, teaches};
}

void RefTimedDevice::append_to_log(uint64_t line, const LineBytes &bytes, mem_ps accepted) {
    LogLine &l = filling_->lines[line];
    l.bytes |= bytes;
    l.dirty = true;
    auto p = std::find_if(filling_->pages.begin(), filling_->pages.end(),
                          [&](const LogPage &other) { return other.page == line / page_lines(); });
    if (p == filling_->pages.end()) {
        p = filling_->pages.insert(p, {line / page_lines(), accepted});
    }
    p->accepted = std::max(p->accepted, accepted);
}
