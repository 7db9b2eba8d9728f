// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref_system.h"

#include <algorithm>
#include <map>
#include <set>

using LineBytes = RefTimedDevice::LineBytes;

static constexpr uint64_t kPageLines = 64;
static constexpr int kStreamStep = 4;
static constexpr size_t kLoadsUnderWay = 512;
static const LineBytes kAllBytes = LineBytes().set();

RefSystem::RefSystem(const MemCpuConfig &cpu, const std::vector<MemDeviceConfig> &devices)
    : cpu_(cpu), windows_(MEMSYS_MAX_WINDOWS), l1_(cpu.l1d), l2_(cpu.l2), llc_(cpu.llc),
      fill_buffers_(cpu.fill_buffers), prefetch_buffers_(cpu.prefetch_buffers), l2_requests_(cpu.l2_requests),
      held_until_(cpu.wc_buffers, 0) {
    for (const MemDeviceConfig &device : devices) {
        devices_.emplace_back(device, &count_);
    }
    if (cpu.prefetch_streams) {
        streams_.resize(cpu.prefetch_streams);
    } else if (cpu.overlap == MEM_OVERLAP_STREAMS) {
        streams_.resize(32);
    }
}

mem_ps RefSystem::enter(mem_ps now) {
    now_ = std::max(now_, now);
    at_ = now_;
    begun_ = false;
    return now_;
}

// ---- Waiting ----

void RefSystem::wait(mem_ps until, uint64_t &counter) {
    if (until > at_) {
        counter += until - at_;
        stalled_ += until - at_;
        at_ = until;
    }
}

// The core waits for each load from when it had computed a window beyond it.
void RefSystem::catch_up() {
    for (const Load &l : loads_) {
        mem_ps full = l.full + stalled_;
        if (full < at_ && full < l.done) {
            count_->stall_overlap_ps += l.done - full;
            stalled_ += l.done - full;
            at_ += l.done - full;
        }
    }
}

// What asks something of memory comes first here, but for what is issued together with the operation before.
void RefSystem::begin_operation() {
    catch_up();
    issued_ = at_;
    begun_ = true;
    send_prefetches(at_);
}

mem_ps RefSystem::loads_done() const {
    mem_ps done = at_;
    for (const Load &l : loads_) {
        done = std::max(done, l.done);
    }
    return done;
}

mem_ps RefSystem::stores_done() const {
    mem_ps done = at_;
    for (const Store &s : stores_) {
        done = std::max(done, s.commits);
    }
    return done;
}

// ---- CPU caches ----

RefSystem::Level::Level(const MemCacheConfig &config) {
    sets.resize(config.size_bytes / kLine / config.ways);
    for (Set &s : sets) {
        s.ways.resize(config.ways);
        for (size_t way = 0; way < config.ways; way++) {
            s.order.push_front(way); // way 0 is filled first
        }
    }
}

RefSystem::Way *RefSystem::Level::find(uint64_t line) {
    for (Way &w : set(line).ways) {
        if (w.used && w.line == line) {
            return &w;
        }
    }
    return nullptr;
}

uint32_t RefSystem::Level::slot(uint64_t line) {
    return uint32_t(line % sets.size() * set(line).ways.size()) + uint32_t(find(line) - set(line).ways.data());
}

void RefSystem::Level::move(uint64_t line, bool to_front) {
    Set &s = set(line);
    size_t way = size_t(find(line) - s.ways.data());
    s.order.remove(way);
    s.order.insert(to_front ? s.order.begin() : s.order.end(), way);
}

void RefSystem::Level::use(uint64_t line) { move(line, true); }

RefSystem::Way RefSystem::Level::fill(uint64_t line, bool dirty, bool prefetched, uint32_t *at) {
    Way &w = set(line).ways[set(line).order.back()];
    Way victim = w;
    w = {true, dirty, prefetched, line};
    use(line);
    if (at) {
        *at = slot(line);
    }
    return victim;
}

RefSystem::Way RefSystem::Level::drop(uint64_t line) {
    Way *w = find(line);
    if (!w) {
        return {};
    }
    move(line, false);
    Way dropped = *w;
    *w = {};
    return dropped;
}

// A dirty victim enters the next level, a clean one is forgotten.
void RefSystem::spill_llc(const Way &victim, std::vector<uint64_t> &victims) {
    if (victim.dirty) {
        victims.push_back(victim.line);
    }
}

void RefSystem::spill(Level &level, const Way &victim, std::vector<uint64_t> &victims) {
    if (!victim.dirty) {
        if (Way *w = victim.prefetched ? level.find(victim.line) : nullptr) {
            w->prefetched = true; // not used yet, and perhaps not there
        }
        return;
    }
    if (Way *w = level.find(victim.line)) {
        w->dirty = true;
        w->prefetched = false;
        level.use(victim.line);
        return;
    }
    Way next = level.fill(victim.line, true, false);
    if (&level == &l2_) {
        spill(llc_, next, victims);
    } else {
        spill_llc(next, victims);
    }
}

// What a hit takes along to the level within: the line stays, used and plain.
RefSystem::Way RefSystem::take(Level &level, uint64_t line) {
    Way *w = level.find(line);
    if (!w) {
        return {};
    }
    Way taken = *w;
    w->dirty = w->prefetched = false;
    level.use(line);
    return taken;
}

// Returns whether it was dirty.
bool RefSystem::drop(uint64_t line) {
    if (l1_.find(line)) {
        drop_slot(l1_.slot(line));
    }
    Way l1 = l1_.drop(line), l2 = l2_.drop(line), llc = llc_.drop(line);
    return l1.dirty || l2.dirty || llc.dirty;
}

// ---- Streams ----

// Whether a recognised stream of another page has just run out at the edge that this line begins at.
bool RefSystem::continues_another(Stream &stream, int line) {
    for (Stream &old : streams_) {
        // Where the line would be if its page followed that of the old stream in its direction.
        int there = line + old.step * int(kPageLines);
        int way = (there - old.last) * old.step;
        if (old.used && old.recognised && way > 0 && way <= kStreamStep) {
            old.recognised = false; // it ends, and only once
            stream.step = old.step;
            return true;
        }
    }
    return false;
}

// A miss of L1. Returns whether it continues a stream; `ahead` gets the lines to prefetch.
bool RefSystem::train(uint64_t line, std::vector<uint64_t> &ahead) {
    if (streams_.empty()) {
        return false;
    }
    uint64_t page = line / kPageLines;
    int at = int(line % kPageLines);
    auto s = std::find_if(streams_.begin(), streams_.end(), [&](const Stream &o) { return o.used && o.page == page; });
    if (s == streams_.end()) {
        s = std::min_element(streams_.begin(), streams_.end(),
                             [](const Stream &a, const Stream &b) { return a.last_use < b.last_use; });
        *s = {};
        s->recognised = continues_another(*s, at);
        s->used = true;
        s->page = page;
        s->last = s->ahead = at;
    } else if (at != s->last) {
        int step = at > s->last ? 1 : -1;
        bool near = (at - s->last) * step <= kStreamStep;
        s->recognised = near && s->step == step;
        s->step = near ? step : 0;
        s->last = at;
        if (!s->recognised || (at - s->ahead) * step > 0) {
            s->ahead = at;
        }
    }
    s->last_use = ++misses_;
    for (uint32_t i = 0; s->recognised && i < (cpu_.prefetch_streams ? cpu_.prefetch_degree : 0); i++) {
        int next = s->ahead + s->step;
        if (next < 0 || next >= int(kPageLines) || (next - at) * s->step > int(cpu_.prefetch_distance)) {
            break;
        }
        s->ahead = next;
        ahead.push_back(page * kPageLines + uint64_t(next));
    }
    return s->recognised;
}

// ---- Memory ----

// Not by base/interleave.h: what is judged by this must not be in it.
std::pair<RefTimedDevice *, uint64_t> RefSystem::route(uint64_t line) {
    for (const MemWindow &w : windows_) {
        uint64_t byte = line * kLine - w.hpa;
        if (line * kLine < w.hpa || byte >= w.size_bytes) {
            continue;
        }
        if (w.ways == 1) {
            return {&devices_[w.devices[0]], (w.dpa + byte) / kLine};
        }
        uint64_t piece = byte / w.granularity_bytes;
        uint64_t dpa = w.dpa + piece / w.ways * w.granularity_bytes + byte % w.granularity_bytes;
        return {&devices_[w.devices[piece % w.ways]], dpa / kLine};
    }
    return {nullptr, 0};
}

static mem_ps dram_transfer(const MemCpuConfig &cpu) {
    return (kLine * UINT64_C(1000000000000) + cpu.dram_bandwidth - 1) / cpu.dram_bandwidth;
}

RefSystem::MemoryRead RefSystem::read_memory(uint64_t line, mem_ps at, bool demand) {
    auto [device, device_line] = route(line);
    mem_ps looked_up = at + (timed_ ? cpu_.llc.latency_ps : 0);
    auto note = [&](MemCause cause, mem_ps span) {
        if (demand && timed_) {
            spans_[cause].add(span);
        }
    };
    auto note_some = [&](MemCause cause, mem_ps span) {
        if (span) {
            note(cause, span);
        }
    };
    if (!device) {
        count_->dram_reads++;
        dram_free_ = std::max(dram_free_, looked_up) + (timed_ ? dram_transfer(cpu_) : 0);
        mem_ps done = dram_free_ + (timed_ ? cpu_.dram_latency_ps : 0);
        note(MEM_CAUSE_dram, done - at);
        return {done, &count_->stall_dram_ps};
    }
    RefTimedDevice::Read r = device->read(device_line, looked_up);
    note(r.hit ? MEM_CAUSE_cxl_hit : MEM_CAUSE_cxl_miss, r.done - at);
    note(MEM_CAUSE_link, r.link);
    note(MEM_CAUSE_device_cache, r.cache);
    note_some(MEM_CAUSE_queue, r.queue);
    if (!r.hit || r.flash) {
        note(MEM_CAUSE_flash_read, r.flash);
    }
    if (!r.hit) {
        note_some(MEM_CAUSE_program, r.program);
        note_some(MEM_CAUSE_gc, r.gc);
    }
    return {r.done, r.hit ? &count_->stall_cxl_hit_ps : &count_->stall_cxl_miss_ps};
}

// From behind the LLC. Returns when the host knows that it was accepted; `*taken`: when it has it from the core.
mem_ps RefSystem::write_memory(uint64_t line, const LineBytes &bytes, mem_ps at, mem_ps *taken) {
    auto [device, device_line] = route(line);
    if (!device) {
        count_->dram_writes++;
        dram_free_ = std::max(dram_free_, at) + (timed_ ? dram_transfer(cpu_) : 0);
        *taken = dram_free_;
        return dram_free_;
    }
    RefTimedDevice::Write w = device->write(device_line, bytes, at);
    if (timed_) {
        written_.push_back({line, w.completed});
    }
    *taken = w.taken;
    return w.completed;
}

// It has the LLC to pass first, and a fence waits for it.
mem_ps RefSystem::write_from_core(uint64_t line, const LineBytes &bytes, mem_ps at, mem_ps *taken) {
    mem_ps completed = write_memory(line, bytes, at + (timed_ ? cpu_.llc.latency_ps : 0), taken);
    fence_until_ = std::max(fence_until_, completed);
    return completed;
}

// ---- What the core has under way ----

void RefSystem::load_under_way(mem_ps done) {
    if (done <= at_) {
        return;
    }
    if (loads_.size() >= kLoadsUnderWay) {
        mem_ps oldest = loads_[loads_.size() - kLoadsUnderWay].done;
        stalled_ += std::max(oldest, at_) - at_;
        at_ = std::max(oldest, at_);
    }
    loads_.push_back({done, at_ - stalled_ + cpu_.overlap_window_ps});
}

// What is demanded of memory has a fill buffer and is a request of L2, until it is there.
RefSystem::MemoryRead RefSystem::demand(uint64_t line, bool load) {
    issued_ = std::max(fill_buffers_.free_from(at_), l2_requests_.free_from(at_));
    MemoryRead r = read_memory(line, issued_, load);
    fill_buffers_.take(r.done);
    l2_requests_.take(r.done);
    return r;
}

void RefSystem::load(uint64_t line, bool independent) {
    MemoryRead r = demand(line, true);
    if (!independent) {
        wait(r.done, *r.stall);
        return;
    }
    wait(issued_, count_->stall_overlap_ps);
    load_under_way(r.done);
}

// Stores leave the buffer in program order, so the one that leaves first of a full buffer is `store_buffer` before.
void RefSystem::wait_for_store_buffer() {
    if (cpu_.store_buffer && stores_.size() >= cpu_.store_buffer) {
        wait(stores_[stores_.size() - cpu_.store_buffer].commits, count_->stall_store_ps);
    }
}

// A store whose line is there by `there` waits for it in the buffer; if it is there already it takes no place.
void RefSystem::post_store(uint64_t line, mem_ps there, uint64_t &counter) {
    if (!cpu_.store_buffer) {
        wait(there, counter);
    } else if (there > at_) {
        mem_ps before = stores_.empty() ? 0 : stores_.back().commits;
        stores_.push_back({line, std::max(before, there)});
    }
}

void RefSystem::store(uint64_t line) {
    wait_for_store_buffer();
    MemoryRead r = demand(line, false);
    post_store(line, r.done, *r.stall);
}

// The first use of a prefetched line.
void RefSystem::touch(uint64_t line, bool store, bool independent) {
    count_->prefetches_used++;
    if (store) {
        wait_for_store_buffer();
    }
    issued_ = at_;
    mem_ps there = std::max(arrival(line), at_);
    if (store) {
        post_store(line, there, count_->stall_overlap_ps);
    } else if (independent) {
        wait(issued_, count_->stall_overlap_ps);
        load_under_way(there);
    } else {
        wait(there, count_->stall_overlap_ps);
    }
}

// ---- Prefetches ----

void RefSystem::send_prefetches(mem_ps until) {
    for (Wanted &w : wanted_) {
        if (w.arrives) {
            continue;
        }
        mem_ps at = std::max(prefetch_buffers_.free_from(w.asked), l2_requests_.free_from(w.asked));
        if (at > until) {
            return;
        }
        w.arrives = read_memory(w.line, at, false).done;
        prefetch_buffers_.take(*w.arrives);
        l2_requests_.take(*w.arrives);
    }
}

void RefSystem::prefetch(uint64_t line) {
    if (!timed_) {
        read_memory(line, issued_, false);
        return;
    }
    count_->prefetches++;
    wanted_.push_back({line, issued_, {}});
    send_prefetches(issued_);
}

// Of the prefetch asked for last; one that still waits for a buffer is demanded now. Until then it has a fill buffer.
mem_ps RefSystem::arrival(uint64_t line) {
    auto w = std::find_if(wanted_.rbegin(), wanted_.rend(), [line](const Wanted &o) { return o.line == line; });
    if (w == wanted_.rend()) {
        return at_;
    }
    if (!w->arrives) {
        w->arrives = demand(line, false).done;
    } else if (*w->arrives > at_) {
        issued_ = fill_buffers_.free_from(at_);
        fill_buffers_.take(std::max(*w->arrives, issued_));
        return std::max(*w->arrives, issued_);
    }
    return *w->arrives;
}

// ---- Loads and stores ----

void RefSystem::evict(const std::vector<uint64_t> &victims) {
    for (uint64_t line : victims) {
        if (!begun_) {
            begin_operation();
        }
        mem_ps taken;
        write_memory(line, kAllBytes, issued_, &taken);
    }
}

void RefSystem::miss(uint64_t line, bool store, const Found &found, const std::vector<uint64_t> &victims) {
    std::vector<uint64_t> ahead;
    bool continues = train(line, ahead);
    bool goes_on = store ? cpu_.store_buffer != 0
                         : cpu_.overlap == MEM_OVERLAP_ALL || (cpu_.overlap == MEM_OVERLAP_STREAMS && continues);

    count_->l1_misses++;
    count_->l2_misses += found.where != Found::kL2;
    count_->llc_misses += found.where == Found::kMemory;
    count_->stream_loads += !store && goes_on;
    begun_ = false;
    if (found.where == Found::kMemory || found.prefetched) {
        begin_operation();
    }
    if (found.where != Found::kMemory && found.prefetched) {
        touch(line, store, goes_on);
    } else if (found.where == Found::kMemory && store) {
        this->store(line);
    } else if (found.where == Found::kMemory) {
        load(line, goes_on);
    }
    evict(victims);
    for (uint64_t next : ahead) {
        if (l2_.find(next) || find_buffer(next) != open_.end()) {
            continue;
        }
        std::vector<uint64_t> pushed_out;
        Way in_llc = take(llc_, next);
        if (!in_llc.used) {
            spill_llc(llc_.fill(next, false, false), pushed_out);
        }
        spill(llc_, l2_.fill(next, in_llc.dirty, !in_llc.used || in_llc.prefetched), pushed_out);
        if (!in_llc.used) {
            if (!begun_) {
                begin_operation();
            }
            prefetch(next);
        }
        evict(pushed_out);
    }
    if (found.where != Found::kMemory && !goes_on && timed_) {
        mem_ps latency = found.where == Found::kL2 ? cpu_.l2.latency_ps : cpu_.llc.latency_ps;
        count_->stall_cache_ps += latency;
        at_ += latency;
    }
}

mem_ps RefSystem::access(uint64_t hpa, bool store, mem_ps now, uint32_t *slot) {
    uint64_t line = hpa / kLine;
    enter(now);
    (store ? count_->stores : count_->loads)++;
    if (auto buffer = find_buffer(line); buffer != open_.end()) {
        send_buffer(buffer);
    }
    if (Way *w = l1_.find(line)) {
        w->dirty |= store;
        *slot = l1_.slot(line);
        return at_ - now_;
    }
    std::vector<uint64_t> victims;
    Way in_l2 = take(l2_, line), in_llc, pushed_out;
    if (!in_l2.used) {
        in_llc = take(llc_, line);
        if (!in_llc.used) {
            spill_llc(llc_.fill(line, false, false), victims);
        }
        spill(llc_, l2_.fill(line, false, false), victims);
    }
    pushed_out = l1_.fill(line, in_l2.dirty || in_llc.dirty || store, false, slot);
    if (pushed_out.used) {
        drop_slot(*slot);
    }
    spill(l2_, pushed_out, victims);
    auto where = in_l2.used ? Found::kL2 : in_llc.used ? Found::kLlc : Found::kMemory;
    miss(line, store, {where, in_l2.prefetched || in_llc.prefetched}, victims);
    return at_ - now_;
}

// ---- Non-temporal stores ----

std::list<RefSystem::Buffer>::iterator RefSystem::find_buffer(uint64_t line) {
    return std::find_if(open_.begin(), open_.end(), [line](const Buffer &b) { return b.line == line; });
}

void RefSystem::send_buffer(std::list<Buffer>::iterator buffer) {
    mem_ps taken;
    begin_operation();
    write_from_core(buffer->line, buffer->bytes, at_, &taken);
    held_until_.push_back(taken);
    open_.erase(buffer);
}

void RefSystem::send_all_buffers() {
    while (!open_.empty()) {
        send_buffer(open_.begin());
    }
}

mem_ps RefSystem::nt_store(uint64_t hpa, uint32_t size, mem_ps now) {
    uint64_t line = hpa / kLine;
    enter(now);
    count_->nt_stores++;
    if (find_buffer(line) == open_.end()) {
        if (drop(line)) {
            write_back(line);
        }
        if (held_until_.empty()) {
            send_buffer(open_.begin());
        }
        begin_operation();
        auto first = std::min_element(held_until_.begin(), held_until_.end());
        wait(*first, count_->stall_fence_ps);
        held_until_.erase(first);
        open_.push_back({line, {}});
    }
    auto buffer = find_buffer(line);
    for (uint64_t i = 0; i < size; i++) {
        buffer->bytes.set(hpa % kLine + i);
    }
    if (buffer->bytes.all()) {
        send_buffer(buffer);
    }
    return at_ - now_;
}

// ---- Flushes and fences ----

// The stores to the line come first.
void RefSystem::write_back(uint64_t line) {
    mem_ps taken;
    begin_operation();
    mem_ps committed = at_;
    for (const Store &s : stores_) {
        committed = s.line == line ? std::max(committed, s.commits) : committed;
    }
    flushed_ = write_from_core(line, kAllBytes, committed, &taken);
}

mem_ps RefSystem::flush(uint64_t hpa, MemFlushKind kind, mem_ps now) {
    uint64_t line = hpa / kLine;
    bool dirty = false;
    enter(now);
    count_->flushes++;
    if (auto buffer = find_buffer(line); buffer != open_.end()) {
        send_buffer(buffer);
    }
    if (kind == MEM_CLWB && cpu_.clwb_keeps_line) {
        if (Way *w = l1_.find(line); w && w->dirty) {
            drop_slot(l1_.slot(line));
        }
        for (Level *level : {&l1_, &l2_, &llc_}) {
            if (Way *w = level->find(line)) {
                dirty |= w->dirty;
                w->dirty = false;
            }
        }
    } else {
        dirty = drop(line);
    }
    if (dirty) {
        write_back(line);
    } else {
        begin_operation();
        auto last =
            std::find_if(written_.rbegin(), written_.rend(), [line](const Written &w) { return w.line == line; });
        flushed_ = last == written_.rend() ? at_ : std::max(at_, last->completed);
        fence_until_ = std::max(fence_until_, flushed_);
    }
    if (kind == MEM_CLFLUSH) {
        begin_operation();
        wait_fence(flushed_);
    }
    return at_ - now_;
}

void RefSystem::wait_fence(mem_ps until) {
    if (timed_) {
        spans_[MEM_CAUSE_fence].add(std::max(until, at_) - at_);
    }
    wait(until, count_->stall_fence_ps);
}

mem_ps RefSystem::fence(MemFenceKind kind, mem_ps now) {
    enter(now);
    if (kind == MEM_SFENCE || kind == MEM_MFENCE) {
        count_->fences++;
        send_all_buffers();
    }
    begin_operation();
    mem_ps until = at_;
    if (kind != MEM_SFENCE) {
        until = std::max(until, loads_done());
    }
    if (kind != MEM_LFENCE) {
        until = std::max(until, stores_done());
    }
    if (kind == MEM_SFENCE || kind == MEM_MFENCE) {
        until = std::max(until, fence_until_);
    }
    wait_fence(until);
    return at_ - now_;
}

mem_ps RefSystem::instruction(MemInsn insn, mem_ps now) {
    const std::map<MemInsn, mem_ps> costs = {
        {MEM_INSN_CPUID, cpu_.cpuid_ps},     {MEM_INSN_RDMSR, cpu_.rdmsr_ps},
        {MEM_INSN_WRMSR, cpu_.wrmsr_ps},     {MEM_INSN_MOV_CR, cpu_.mov_cr_ps},
        {MEM_INSN_MOV_CR3, cpu_.mov_cr3_ps}, {MEM_INSN_MOV_DR, cpu_.mov_dr_ps},
        {MEM_INSN_INVLPG, cpu_.invlpg_ps},   {MEM_INSN_LOAD_TABLE, cpu_.load_table_ps},
        {MEM_INSN_IRET, cpu_.iret_ps},       {MEM_INSN_RDTSC, cpu_.rdtsc_ps},
        {MEM_INSN_WBINVD, cpu_.wbinvd_ps},   {MEM_INSN_WRMSR_RELAXED, cpu_.wrmsr_ps},
    };
    enter(now);
    if (!std::set{MEM_INSN_RDMSR, MEM_INSN_RDTSC, MEM_INSN_WRMSR_RELAXED}.contains(insn)) {
        send_all_buffers();
        begin_operation();
        wait_fence(std::max({at_, loads_done(), stores_done()}));
    }
    return at_ - now_ + (timed_ ? costs.at(insn) : 0);
}

mem_ps RefSystem::barrier(mem_ps now) {
    enter(now);
    begin_operation();
    mem_ps until = at_;
    for (RefTimedDevice &device : devices_) {
        until = std::max(until, device.barrier(at_));
    }
    wait(timed_ ? until : at_, count_->stall_fence_ps);
    return at_ - now_;
}

// L1, L2, LLC, each by set and way.
void RefSystem::empty_caches() {
    send_all_buffers();
    for (Level *level : {&l1_, &l2_, &llc_}) {
        for (const Set &set : level->sets) {
            for (const Way &w : set.ways) {
                if (w.dirty) {
                    write_back(w.line);
                }
            }
        }
    }
    forget_all();
}

void RefSystem::forget_all() {
    for (const Set &set : l1_.sets) {
        for (const Way &w : set.ways) {
            if (w.used) {
                drop_slot(l1_.slot(w.line));
            }
        }
    }
    l1_ = Level(cpu_.l1d);
    l2_ = Level(cpu_.l2);
    llc_ = Level(cpu_.llc);
}

mem_ps RefSystem::wbinvd(mem_ps now) {
    enter(now);
    empty_caches();
    count_->fences++;
    begin_operation();
    wait_fence(std::max({loads_done(), stores_done(), fence_until_}));
    return at_ - now_;
}

void RefSystem::map_window(uint32_t index, const MemWindow &window, mem_ps now) {
    enter(now);
    empty_caches();
    windows_[index] = window;
}

// ---- Modes ----

void RefSystem::nothing_under_way() {
    loads_.clear();
    stores_.clear();
    wanted_.clear();
    written_.clear();
    fill_buffers_ = RefPlaces(cpu_.fill_buffers);
    prefetch_buffers_ = RefPlaces(cpu_.prefetch_buffers);
    l2_requests_ = RefPlaces(cpu_.l2_requests);
    dram_free_ = flushed_ = fence_until_ = 0;
}

void RefSystem::set_timed(bool timed) {
    if (timed == timed_) {
        return;
    }
    enter(at_);
    for (Wanted &w : wanted_) { // those that wait for a buffer go out without one
        if (!w.arrives) {
            w.arrives = read_memory(w.line, now_, false).done;
        }
    }
    for (RefTimedDevice &device : devices_) {
        device.set_timed(timed, now_);
    }
    timed_ = timed;
    count_ = timed ? &counters_ : &ignored_;
    nothing_under_way();
    held_until_.assign(held_until_.size(), 0);
}

void RefSystem::power(bool cut, mem_ps now) {
    enter(now);
    forget_all();
    open_.clear();
    nothing_under_way();
    held_until_.assign(cpu_.wc_buffers, 0);
    for (RefTimedDevice &device : devices_) {
        cut ? device.power_cut(now_) : device.power_off(now_);
    }
}

void RefSystem::reset_counters() {
    counters_ = {};
    for (RefSpans &s : spans_) {
        s = {};
    }
}
