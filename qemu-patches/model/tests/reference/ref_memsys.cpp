// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref_memsys.h"

#include <algorithm>

static constexpr mem_ps kNever = UINT64_MAX;
static constexpr size_t kCredits = 1024;

RefMemSys::Level RefMemSys::make_level(const MemCacheConfig &config) {
    return {std::vector<Set>(config.size_bytes / kLine / config.ways), config.ways};
}

RefMemSys::Entry *RefMemSys::Level::find(uint64_t line) {
    for (Entry &e : set(line)) {
        if (e.line == line) {
            return &e;
        }
    }
    return nullptr;
}

bool RefMemSys::Level::take(uint64_t line) {
    Entry *e = find(line);
    bool dirty = e && e->dirty;
    set(line).remove_if([line](const Entry &other) { return other.line == line; });
    return dirty;
}

RefMemSys::RefMemSys(const MemCpuConfig &cpu, const MemDeviceConfig &device, const std::vector<uint8_t> &media)
    : cpu_(cpu), device_(device), media_(media), l1_(make_level(cpu.l1d)), l2_(make_level(cpu.l2)),
      llc_(make_level(cpu.llc)), held_until_(cpu.wc_buffers, 0), base_(media) {
    size_t frames = device.cache_size_bytes / device.cache_page_bytes;
    pages_.resize(device.cache_ways ? frames / device.cache_ways : 1);
    timed_ = true;
    set_timed(false);
}

mem_ps RefMemSys::occupy(mem_ps &free_at, mem_ps at, mem_ps span) {
    free_at = std::max(free_at, at) + span;
    return free_at;
}

void RefMemSys::enter(mem_ps now) {
    now_ = std::max(now_, now);
    if (uncaptured_ >= 0) {
        history_[uncaptured_].back().bytes = live(uncaptured_);
        uncaptured_ = -1;
    }
}

bool RefMemSys::on_device(uint64_t line, uint64_t *device_line) const {
    uint64_t hpa = line * kLine;
    *device_line = (window_dpa_ + hpa - window_) / kLine;
    return hpa >= window_ && hpa < window_ + window_size_;
}

Bytes RefMemSys::live(uint64_t device_line) const {
    Bytes bytes;
    std::copy_n(media_.begin() + device_line * kLine, kLine, bytes.begin());
    return bytes;
}

void RefMemSys::set_timed(bool timed) {
    if (timed == timed_) {
        return;
    }
    enter(now_);
    timed_ = timed;
    cpu_now_ = cpu_;
    device_now_ = device_;
    auto transfer = [timed](uint64_t bandwidth) {
        return timed ? (64 * UINT64_C(1000000000000) + bandwidth - 1) / bandwidth : 0;
    };
    if (!timed) {
        cpu_now_.l2.latency_ps = cpu_now_.llc.latency_ps = cpu_now_.dram_latency_ps = 0;
        device_now_.link_latency_ps = device_now_.controller_latency_ps = device_now_.cache_latency_ps = 0;
        device_now_.cache_tag_ps = device_now_.cache_refresh_ps = 0;
        device_now_.flash_read_ps = device_now_.flash_program_ps = 0;
        for (auto &[line, versions] : history_) {
            for (RefVersion &v : versions) {
                v.accepted = std::min(v.accepted, now_);
                v.program_start = v.program_start == kNever ? kNever : std::min(v.program_start, now_);
                v.programmed = v.programmed == kNever ? kNever : std::min(v.programmed, now_);
            }
        }
    }
    dram_transfer_ = transfer(cpu_.dram_bandwidth);
    read_transfer_ = transfer(device_.link_read_bandwidth);
    write_transfer_ = transfer(device_.link_write_bandwidth);
    count_ = timed ? &counters_ : &ignored_;
    restart(false);
}

// Empty all queues. Only survivors() empties the CPU caches.
void RefMemSys::restart(bool cache_lost) {
    dram_ = to_host_ = to_device_ = fence_until_ = 0;
    channels_.assign(device_.flash_channels, 0);
    accepted_.assign(kCredits, 0);
    completed_.clear();
    std::fill(held_until_.begin(), held_until_.end(), 0);
    for (auto &set : pages_) {
        if (cache_lost) {
            set.clear();
        }
        for (Page &p : set) {
            p.filled = p.settled = 0;
        }
    }
}

// ---- CPU caches ----

void RefMemSys::put(Level &level, uint64_t line, bool dirty, std::vector<uint64_t> &victims) {
    Set &set = level.set(line);
    dirty |= level.take(line);
    // L1 keeps its order of filling; L2 and LLC put the most recently used line first. All evict the last of the list.
    set.push_front({line, dirty});
    if (set.size() <= level.ways) {
        return;
    }
    Entry victim = set.back();
    set.pop_back();
    if (!victim.dirty) {
        return;
    }
    if (&level == &llc_) {
        victims.push_back(victim.line);
    } else {
        put(&level == &l1_ ? l2_ : llc_, victim.line, true, victims);
    }
}

void RefMemSys::dirtied(uint64_t line) {
    uint64_t device_line;
    if (on_device(line, &device_line)) {
        cpu_dirty_.insert(device_line);
    }
}

mem_ps RefMemSys::access(uint64_t hpa, bool store, mem_ps now) {
    uint64_t line = hpa / kLine;
    enter(now);
    (store ? count_->stores : count_->loads)++;
    if (auto buffer = find_buffer(line); buffer != open_.end()) {
        send_buffer(buffer, now_);
    }
    if (Entry *e = l1_.find(line)) {
        if (store && !e->dirty) {
            dirtied(line);
        }
        e->dirty |= store;
        return 0;
    }
    std::vector<uint64_t> victims;
    mem_ps stall;
    bool dirty = false;
    count_->l1_misses++;
    if (Entry *in_l2 = l2_.find(line)) {
        stall = cpu_now_.l2.latency_ps;
        count_->stall_cache_ps += stall;
        dirty = in_l2->dirty;
        l2_.take(line);
        put(l2_, line, false, victims);
    } else if (Entry *in_llc = llc_.find(line)) {
        count_->l2_misses++;
        stall = cpu_now_.llc.latency_ps;
        count_->stall_cache_ps += stall;
        dirty = in_llc->dirty;
        llc_.take(line);
        put(llc_, line, false, victims);
        put(l2_, line, false, victims);
    } else {
        count_->l2_misses++;
        count_->llc_misses++;
        stall = read_memory(line, now_);
        put(llc_, line, false, victims);
        put(l2_, line, false, victims);
    }
    put(l1_, line, dirty || store, victims);
    for (uint64_t victim : victims) {
        write_back(victim, now_);
    }
    if (store && !dirty) {
        dirtied(line);
    }
    return stall;
}

bool RefMemSys::drop(uint64_t line) {
    bool in_l1 = l1_.take(line), in_l2 = l2_.take(line), in_llc = llc_.take(line);
    return in_l1 || in_l2 || in_llc;
}

// ---- Memory and device ----

mem_ps RefMemSys::read_memory(uint64_t line, mem_ps now) {
    uint64_t device_line;
    mem_ps at = now + cpu_now_.llc.latency_ps;
    if (!on_device(line, &device_line)) {
        count_->dram_reads++;
        mem_ps stall = occupy(dram_, at, dram_transfer_) + cpu_now_.dram_latency_ps - now;
        count_->stall_dram_ps += stall;
        return stall;
    }
    bool hit;
    mem_ps ready = look_up_done(at + device_now_.link_latency_ps);
    ready = std::max(ready, look_up(device_line * kLine / device_.cache_page_bytes, ready, &hit).filled);
    mem_ps stall = occupy(to_host_, ready, read_transfer_) + device_now_.link_latency_ps - now;
    count_->cxl_reads++;
    count_->link_read_bytes += kLine;
    (hit ? count_->stall_cxl_hit_ps : count_->stall_cxl_miss_ps) += stall;
    return stall;
}

// All banks form one group here, which starts every interval with a refresh.
mem_ps RefMemSys::look_up_done(mem_ps arrived) const {
    mem_ps at = arrived + device_now_.controller_latency_ps;
    for (mem_ps access : {device_now_.cache_tag_ps, device_now_.cache_latency_ps}) {
        mem_ps start = device_now_.cache_refresh_ps
                           ? at / device_.cache_refresh_interval_ps * device_.cache_refresh_interval_ps
                           : 0;
        at = access ? std::max(at, start + device_now_.cache_refresh_ps) + access : at;
    }
    return at;
}

RefMemSys::Page &RefMemSys::look_up(uint64_t page, mem_ps at, bool *hit) {
    auto &set = pages_[page % pages_.size()];
    size_t ways = device_.cache_size_bytes / device_.cache_page_bytes / pages_.size();
    auto found = std::find_if(set.begin(), set.end(), [page](const Page &p) { return p.page == page; });
    *hit = found != set.end();
    if (*hit) {
        count_->cache_hits++;
        count_->cache_merges += found->filled > at;
        set.splice(set.begin(), set, found);
        return set.front();
    }
    count_->cache_misses++;
    count_->flash_reads++;
    if (set.size() == ways) {
        at = std::max(at, set.back().settled);
        if (set.back().dirty) {
            program(set.back().page, at);
        }
        set.pop_back();
    }
    mem_ps filled = occupy(channels_[page % channels_.size()], at, device_now_.flash_read_ps);
    set.push_front({page, false, filled, filled});
    return set.front();
}

void RefMemSys::program(uint64_t page, mem_ps at) {
    mem_ps end = occupy(channels_[page % channels_.size()], at, device_now_.flash_program_ps);
    uint64_t lines = device_.cache_page_bytes / kLine;
    count_->cache_writebacks++;
    count_->flash_programs++;
    for (uint64_t line = page * lines; line < (page + 1) * lines; line++) {
        if (auto h = history_.find(line); h != history_.end() && !h->second.empty()) {
            RefVersion &newest = h->second.back();
            if (newest.programmed == kNever) {
                newest.program_start = end - device_now_.flash_program_ps;
                newest.programmed = end;
            }
        }
    }
}

RefMemSys::Sent RefMemSys::write_back(uint64_t line, mem_ps at, bool capture_later) {
    uint64_t device_line;
    if (!on_device(line, &device_line)) {
        count_->dram_writes++;
        mem_ps left = occupy(dram_, at, dram_transfer_);
        return {left, left};
    }
    bool hit;
    mem_ps credit = accepted_[accepted_.size() - kCredits];
    mem_ps left = occupy(to_device_, std::max(at, credit), write_transfer_);
    mem_ps in_cache = look_up_done(left + device_now_.link_latency_ps);
    Page &page = look_up(device_line * kLine / device_.cache_page_bytes, in_cache, &hit);
    mem_ps accepted = std::max(in_cache, page.filled);
    page.settled = std::max(page.settled, accepted);
    page.dirty = true;
    accepted_.push_back(accepted);
    count_->cxl_writes++;
    count_->link_write_bytes += kLine;
    cpu_dirty_.erase(device_line);
    history_[device_line].push_back({live(device_line), accepted, kNever, kNever});
    uncaptured_ = capture_later ? int64_t(device_line) : uncaptured_;
    completed_[line] = accepted + device_now_.link_latency_ps;
    return {left, completed_[line]};
}

// A line sent by a flush or a write-combining buffer passes the LLC as a load does.
RefMemSys::Sent RefMemSys::write_from_core(uint64_t line, mem_ps at, bool capture_later) {
    Sent sent = write_back(line, at + cpu_now_.llc.latency_ps, capture_later);
    fence_until_ = std::max(fence_until_, sent.completed);
    return sent;
}

// ---- Write-combining buffers, flushes, fences ----

std::list<RefMemSys::Buffer>::iterator RefMemSys::find_buffer(uint64_t line) {
    return std::find_if(open_.begin(), open_.end(), [line](const Buffer &b) { return b.line == line; });
}

void RefMemSys::send_buffer(std::list<Buffer>::iterator buffer, mem_ps at, bool capture_later) {
    held_until_.push_back(write_from_core(buffer->line, at, capture_later).left);
    open_.erase(buffer);
}

mem_ps RefMemSys::nt_store(uint64_t hpa, uint32_t size, mem_ps now) {
    uint64_t line = hpa / kLine;
    enter(now);
    mem_ps ready = now_;
    count_->nt_stores++;
    auto buffer = find_buffer(line);
    if (buffer == open_.end()) {
        if (drop(line)) {
            write_from_core(line, now_);
        }
        if (held_until_.empty()) {
            send_buffer(open_.begin(), now_);
        }
        auto first = std::min_element(held_until_.begin(), held_until_.end());
        ready = std::max(ready, *first);
        held_until_.erase(first);
        buffer = open_.insert(open_.end(), {line, {}});
        dirtied(line);
    }
    for (uint32_t byte = 0; byte < size; byte++) {
        buffer->bytes.insert(uint32_t(hpa % kLine) + byte);
    }
    if (buffer->bytes.size() == kLine) {
        send_buffer(buffer, ready, true);
    }
    count_->stall_fence_ps += ready - now_;
    return ready - now_;
}

mem_ps RefMemSys::flush(uint64_t hpa, MemFlushKind kind, mem_ps now) {
    uint64_t line = hpa / kLine;
    enter(now);
    count_->flushes++;
    if (auto buffer = find_buffer(line); buffer != open_.end()) {
        send_buffer(buffer, now_);
    }
    bool dirty = false;
    if (kind == MEM_CLWB) {
        for (Level *level : {&l1_, &l2_, &llc_}) {
            if (Entry *e = level->find(line)) {
                dirty |= e->dirty;
                e->dirty = false;
            }
        }
    } else {
        dirty = drop(line);
    }
    mem_ps until = 0;
    if (dirty) {
        until = write_from_core(line, now_).completed;
    } else if (auto sent = completed_.find(line); sent != completed_.end()) {
        until = sent->second;
    }
    fence_until_ = std::max(fence_until_, until);
    mem_ps stall = kind == MEM_CLFLUSH && until > now_ ? until - now_ : 0;
    count_->stall_fence_ps += stall;
    return stall;
}

mem_ps RefMemSys::fence(mem_ps now) {
    enter(now);
    while (!open_.empty()) {
        send_buffer(open_.begin(), now_);
    }
    mem_ps stall = std::max(fence_until_, now_) - now_;
    count_->fences++;
    count_->stall_fence_ps += stall;
    return stall;
}

// WBINVD writes lines back in the order of their slots, which lists do not have. The scenario therefore
// calls it only with at most one dirty line in the caches, or outside timed mode.
mem_ps RefMemSys::wbinvd(mem_ps now) {
    enter(now);
    while (!open_.empty()) {
        send_buffer(open_.begin(), now_);
    }
    for (Level *level : {&l1_, &l2_, &llc_}) {
        for (Set &set : level->sets) {
            for (const Entry &e : set) {
                if (e.dirty) {
                    write_from_core(e.line, now_);
                }
            }
            set.clear();
        }
    }
    return fence(now);
}

void RefMemSys::map_window(uint64_t hpa, uint64_t dpa, uint64_t size, mem_ps now) {
    MemCounters before = *count_;
    wbinvd(now);
    count_->fences = before.fences;
    count_->stall_fence_ps = before.stall_fence_ps;
    window_ = hpa;
    window_dpa_ = dpa;
    window_size_ = size;
}

// ---- Persistence ----

MemLineState RefMemSys::state(uint64_t device_line, mem_ps now) const {
    if (cpu_dirty_.count(device_line)) {
        return MEM_LINE_CPU_DIRTY;
    }
    auto h = history_.find(device_line);
    if (h == history_.end() || h->second.empty()) {
        return MEM_LINE_DURABLE;
    }
    const RefVersion &v = h->second.back();
    if (now < v.accepted) {
        return MEM_LINE_IN_FLIGHT;
    }
    if (device_.cache_power_loss_protected || now >= v.programmed) {
        return MEM_LINE_DURABLE;
    }
    return now >= v.program_start ? MEM_LINE_PROGRAMMING : MEM_LINE_DEVICE_CACHE;
}

std::vector<uint8_t> RefMemSys::survivors(mem_ps now) {
    enter(now);
    for (const auto &[line, versions] : history_) {
        for (const RefVersion &v : versions) {
            if ((device_.cache_power_loss_protected ? v.accepted : v.programmed) <= now_) {
                std::copy(v.bytes.begin(), v.bytes.end(), base_.begin() + line * kLine);
            }
        }
    }
    history_.clear();
    cpu_dirty_.clear();
    for (Level *level : {&l1_, &l2_, &llc_}) {
        for (Set &set : level->sets) {
            set.clear();
        }
    }
    open_.clear();
    held_until_.assign(cpu_.wc_buffers, 0);
    restart(!device_.cache_power_loss_protected);
    return base_;
}
