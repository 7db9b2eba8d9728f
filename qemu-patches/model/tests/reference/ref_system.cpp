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

RefSystem::Core::Core(const MemCpuConfig &cpu)
    : l1(cpu.l1d), l2(cpu.l2, cpu.seed), fill_buffers(cpu.fill_buffers), prefetch_buffers(cpu.prefetch_buffers),
      l2_requests(cpu.l2_requests), held_until(cpu.wc_buffers, 0) {
    if (cpu.prefetch_streams) {
        streams.resize(cpu.prefetch_streams);
    } else if (cpu.overlap == MEM_OVERLAP_STREAMS) {
        streams.resize(32);
    }
}

RefSystem::RefSystem(const MemCpuConfig &cpu, const std::vector<MemDeviceConfig> &devices)
    : cpu_(cpu), windows_(MEMSYS_MAX_WINDOWS), llc_(cpu.llc, cpu.seed) {
    for (const MemDeviceConfig &device : devices) {
        devices_.emplace_back(device, &device_count_);
    }
    for (uint32_t core = 0; core < cpu.cores; core++) {
        cores_.emplace_back(cpu);
        cores_.back().count = &cores_.back().ignored;
        cores_.back().number = core;
    }
    c_ = &cores_[0];
}

mem_ps RefSystem::enter(uint32_t core, mem_ps now) {
    c_ = &cores_[core];
    c_->now = std::max(c_->now, now);
    c_->at = c_->now;
    c_->begun = false;
    return c_->now;
}

// ---- Waiting ----

void RefSystem::wait(mem_ps until, uint64_t &counter) {
    if (until > c_->at) {
        counter += until - c_->at;
        c_->stalled += until - c_->at;
        c_->at = until;
    }
}

// The core waits for a load once it has computed for a whole window beyond that load.
void RefSystem::catch_up() {
    for (const Load &l : c_->loads) {
        mem_ps full = l.full + c_->stalled;
        if (full < c_->at && full < l.done) {
            c_->count->stall_overlap_ps += l.done - full;
            c_->stalled += l.done - full;
            c_->at += l.done - full;
        }
    }
}

// The part of other cores in an access.

std::vector<RefSystem::Core *> RefSystem::others_with(uint64_t line) {
    std::vector<Core *> holders;
    for (Core &core : cores_) {
        if (&core != c_ && (core.l1.find(line) || core.l2.find(line))) {
            holders.push_back(&core);
        }
    }
    return holders;
}

bool RefSystem::dirty_in(Core &core, uint64_t line) {
    Way *l1 = core.l1.find(line), *l2 = core.l2.find(line);
    return (l1 && l1->dirty) || (l2 && l2->dirty);
}

bool RefSystem::lose(Core &core, uint64_t line) {
    bool dirty = dirty_in(core, line);
    if (core.l1.find(line)) {
        drop_slot(core, core.l1.slot(line));
    }
    core.l1.drop(line);
    core.l2.drop(line);
    core.count->invalidations++;
    return dirty;
}

bool RefSystem::clean(Core &core, uint64_t line) {
    bool dirty = dirty_in(core, line);
    for (Level *level : {&core.l1, &core.l2}) {
        if (Way *w = level->find(line)) {
            w->dirty = false;
        }
    }
    return dirty;
}

// A prefetch of the line, by any core, that waits to be sent.
RefSystem::Wanted *RefSystem::unsent(uint64_t line, Core **whose) {
    for (Core &core : cores_) {
        auto w =
            std::find_if(core.wanted.rbegin(), core.wanted.rend(), [line](const Wanted &o) { return o.line == line; });
        if (w != core.wanted.rend() && !w->arrives) {
            *whose = &core;
            return &*w;
        }
    }
    return nullptr;
}

// The request for the line that was sent last.
const RefSystem::UnderWay *RefSystem::under_way(uint64_t line) const {
    auto u = std::find_if(under_way_.rbegin(), under_way_.rend(), [line](const UnderWay &o) { return o.line == line; });
    return u == under_way_.rend() ? nullptr : &*u;
}

bool RefSystem::comes_for_another(uint64_t line) {
    const UnderWay *sent = under_way(line);
    Core *whose;
    if (cores_.size() == 1) {
        return false;
    }
    return (sent && sent->core != c_->number && sent->arrives > c_->now) || (unsent(line, &whose) && whose != c_);
}

void RefSystem::note_under_way(uint64_t line, mem_ps arrives) {
    if (timed_) {
        under_way_.push_back({line, arrives, c_->number});
    }
}

// Another core supplies the line, or gives it up, as soon as the line has arrived there.
mem_ps RefSystem::given(uint64_t line, mem_ps span) {
    Core *whose;
    c_->issued = std::max(c_->fill_buffers.free_from(c_->at), c_->l2_requests.free_from(c_->at));
    mem_ps there = c_->issued;
    if (Wanted *w = unsent(line, &whose)) {
        w->arrives = there = read_memory(line, c_->issued, false).done;
    } else if (const UnderWay *sent = under_way(line)) {
        there = std::max(there, sent->arrives);
    }
    mem_ps done = there + (timed_ ? span : 0);
    c_->fill_buffers.take(done);
    c_->l2_requests.take(done);
    note_under_way(line, done);
    return done;
}

void RefSystem::take_transfer(uint64_t line, bool store, bool independent) {
    c_->count->transfers++;
    if (store) {
        wait_for_store_buffer();
    }
    mem_ps there = given(line, cpu_.c2c_ps);
    if (store) {
        post_store(line, there, c_->count->stall_cache_ps);
    } else if (independent) {
        wait(c_->issued, c_->count->stall_overlap_ps);
        load_under_way(there);
    } else {
        wait(there, c_->count->stall_cache_ps);
    }
}

void RefSystem::upgrade(uint64_t line) {
    c_->count->upgrades++;
    wait_for_store_buffer();
    post_store(line, given(line, cpu_.upgrade_ps), c_->count->stall_cache_ps);
}

// The prefetcher asks no other core for a line and joins no request of another core.
bool RefSystem::may_prefetch(uint64_t line) {
    for (const Core &core : cores_) {
        for (const Buffer &b : core.open) {
            if (b.line == line) {
                return false;
            }
        }
    }
    Way *llc = llc_.find(line);
    for (Core *other : others_with(line)) {
        if (dirty_in(*other, line) || !llc || llc->dirty) {
            return false;
        }
    }
    return !comes_for_another(line);
}

// Send the buffers in which other cores gather the line. Those cores do not wait, but their next fence does.
void RefSystem::send_others_buffers(uint64_t line) {
    for (Core &core : cores_) {
        auto b = std::find_if(core.open.begin(), core.open.end(), [line](const Buffer &o) { return o.line == line; });
        if (&core != c_ && b != core.open.end()) {
            mem_ps taken;
            mem_ps completed = write_memory(line, b->bytes, c_->at + (timed_ ? cpu_.llc.latency_ps : 0), &taken, core);
            core.fence_until = std::max(core.fence_until, completed);
            core.held_until.push_back(taken);
            core.open.erase(b);
        }
    }
}

// Called before each operation on memory, except operations that are issued together with the one before.
void RefSystem::begin_operation() {
    catch_up();
    c_->issued = c_->at;
    c_->begun = true;
    Core *self = c_;
    for (Core &core : cores_) {
        c_ = &core;
        send_prefetches(self->at);
    }
    c_ = self;
}

mem_ps RefSystem::loads_done() const {
    mem_ps done = c_->at;
    for (const Load &l : c_->loads) {
        done = std::max(done, l.done);
    }
    return done;
}

mem_ps RefSystem::stores_done() const {
    mem_ps done = c_->at;
    for (const Store &s : c_->stores) {
        done = std::max(done, s.commits);
    }
    return done;
}

// ---- CPU caches ----

RefSystem::Level::Level(const MemCacheConfig &config, uint64_t seed) {
    mem_frames_init(&frames_, seed);
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

// A dirty victim moves to the next level; a clean victim is dropped.
void RefSystem::spill_llc(const Way &victim, std::vector<uint64_t> &victims) {
    if (victim.dirty) {
        victims.push_back(victim.line);
    }
}

void RefSystem::spill(Level &level, const Way &victim, std::vector<uint64_t> &victims) {
    if (!victim.dirty) {
        if (Way *w = victim.prefetched ? level.find(victim.line) : nullptr) {
            w->prefetched = true; // not used yet, and perhaps still on its way
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
    if (&level == &c_->l2) {
        spill(llc_, next, victims);
    } else {
        spill_llc(next, victims);
    }
}

// A hit moves the line's flags to the inner level. The line stays here, most recently used, clean and not prefetched.
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

// Drop a line from all caches. Returns whether it was dirty.
bool RefSystem::drop(uint64_t line) {
    bool dirty = false;
    if (c_->l1.find(line)) {
        drop_slot(*c_, c_->l1.slot(line));
    }
    Way l1 = c_->l1.drop(line), l2 = c_->l2.drop(line), llc = llc_.drop(line);
    for (Core *other : others_with(line)) {
        dirty |= lose(*other, line);
    }
    return dirty || l1.dirty || l2.dirty || llc.dirty;
}

// ---- Streams ----

// Whether a recognised stream of another page has just ended at the page edge near which this line begins.
bool RefSystem::continues_another(Stream &stream, int line) {
    for (Stream &old : c_->streams) {
        // The position of the line if its page followed the old stream's page in the direction of that stream.
        int there = line + old.step * int(kPageLines);
        int way = (there - old.last) * old.step;
        if (old.used && old.recognised && way > 0 && way <= kStreamStep) {
            old.recognised = false; // the old stream ends, and is continued only once
            stream.step = old.step;
            return true;
        }
    }
    return false;
}

// Handle a miss of L1. Returns whether it continues a stream; `ahead` receives the lines to prefetch.
bool RefSystem::train(uint64_t line, std::vector<uint64_t> &ahead) {
    if (c_->streams.empty()) {
        return false;
    }
    uint64_t page = line / kPageLines;
    int at = int(line % kPageLines);
    auto s =
        std::find_if(c_->streams.begin(), c_->streams.end(), [&](const Stream &o) { return o.used && o.page == page; });
    if (s == c_->streams.end()) {
        s = std::min_element(c_->streams.begin(), c_->streams.end(),
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
    s->last_use = ++c_->misses;
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

// Does not use base/interleave.h, since this reference checks it.
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

// When a line that is ready at `at` has crossed local DRAM's channel.
mem_ps RefSystem::over_channel(mem_ps at) {
    mem_ps span = timed_ ? dram_transfer(cpu_) : 0;
    return dram_.reserve(at, span) + span;
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
        c_->count->dram_reads++;
        mem_ps done = over_channel(looked_up) + (timed_ ? cpu_.dram_latency_ps : 0);
        note(MEM_CAUSE_dram, done - at);
        note_under_way(line, done);
        return {done, &c_->count->stall_dram_ps};
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
    note_under_way(line, r.done);
    return {r.done, r.hit ? &c_->count->stall_cxl_hit_ps : &c_->count->stall_cxl_miss_ps};
}

// A write from the LLC. Returns when the host knows that it was accepted; `*taken`: when the host has taken the line.
mem_ps RefSystem::write_memory(uint64_t line, const LineBytes &bytes, mem_ps at, mem_ps *taken, const Core &by) {
    auto [device, device_line] = route(line);
    if (!device) {
        by.count->dram_writes++;
        return *taken = over_channel(at);
    }
    RefTimedDevice::Write w = device->write(device_line, bytes, at);
    if (timed_) {
        written_.push_back({line, w.completed});
    }
    *taken = w.taken;
    return w.completed;
}

// A write from a core: it first passes the LLC, and the next fence waits for it.
mem_ps RefSystem::write_from_core(uint64_t line, const LineBytes &bytes, mem_ps at, mem_ps *taken) {
    mem_ps completed = write_memory(line, bytes, at + (timed_ ? cpu_.llc.latency_ps : 0), taken, *c_);
    c_->fence_until = std::max(c_->fence_until, completed);
    return completed;
}

// ---- Requests of a core under way ----

void RefSystem::load_under_way(mem_ps done) {
    if (done <= c_->at) {
        return;
    }
    if (c_->loads.size() >= kLoadsUnderWay) {
        mem_ps oldest = c_->loads[c_->loads.size() - kLoadsUnderWay].done;
        c_->stalled += std::max(oldest, c_->at) - c_->at;
        c_->at = std::max(oldest, c_->at);
    }
    c_->loads.push_back({done, c_->at - c_->stalled + cpu_.overlap_window_ps});
}

// A demanded line occupies a fill buffer and a request of L2 until it arrives.
RefSystem::MemoryRead RefSystem::demand(uint64_t line, bool load) {
    c_->issued = std::max(c_->fill_buffers.free_from(c_->at), c_->l2_requests.free_from(c_->at));
    MemoryRead r = read_memory(line, c_->issued, load);
    c_->fill_buffers.take(r.done);
    c_->l2_requests.take(r.done);
    return r;
}

void RefSystem::load(uint64_t line, bool independent) {
    MemoryRead r = demand(line, true);
    if (!independent) {
        wait(r.done, *r.stall);
        return;
    }
    wait(c_->issued, c_->count->stall_overlap_ps);
    load_under_way(r.done);
}

// Stores leave the buffer in program order. A full buffer has a place again when its oldest store has left.
void RefSystem::wait_for_store_buffer() {
    if (cpu_.store_buffer && c_->stores.size() >= cpu_.store_buffer) {
        wait(c_->stores[c_->stores.size() - cpu_.store_buffer].commits, c_->count->stall_store_ps);
    }
}

// The line of a store arrives at `there`. The store waits for it in the buffer, and takes no place if the line has
// already arrived. Without a store buffer, or for a locked instruction, the core itself waits.
void RefSystem::post_store(uint64_t line, mem_ps there, uint64_t &counter) {
    if (!cpu_.store_buffer || locked_) {
        wait(there, counter);
    } else if (there > c_->at) {
        mem_ps before = c_->stores.empty() ? 0 : c_->stores.back().commits;
        c_->stores.push_back({line, std::max(before, there)});
    }
}

void RefSystem::store(uint64_t line) {
    wait_for_store_buffer();
    MemoryRead r = demand(line, false);
    post_store(line, r.done, *r.stall);
}

// Access a prefetched line for the first time, or a line on its way to another core.
void RefSystem::touch(uint64_t line, bool store, bool independent) {
    if (store) {
        wait_for_store_buffer();
    }
    c_->issued = c_->at;
    mem_ps there = std::max(arrival(line), c_->at);
    if (store) {
        post_store(line, there, c_->count->stall_overlap_ps);
    } else if (independent) {
        wait(c_->issued, c_->count->stall_overlap_ps);
        load_under_way(there);
    } else {
        wait(there, c_->count->stall_overlap_ps);
    }
}

// ---- Prefetches ----

void RefSystem::send_prefetches(mem_ps until) {
    for (Wanted &w : c_->wanted) {
        if (w.arrives) {
            continue;
        }
        mem_ps at = std::max(c_->prefetch_buffers.free_from(w.asked), c_->l2_requests.free_from(w.asked));
        if (at > until) {
            return;
        }
        w.arrives = read_memory(w.line, at, false).done;
        c_->prefetch_buffers.take(*w.arrives);
        c_->l2_requests.take(*w.arrives);
    }
}

void RefSystem::prefetch(uint64_t line) {
    if (!timed_) {
        read_memory(line, c_->issued, false);
        return;
    }
    c_->count->prefetches++;
    c_->wanted.push_back({line, c_->issued, {}});
    send_prefetches(c_->issued);
}

// When the line's last prefetch arrives. If it still waits for a buffer, demand it now. The wait takes a fill buffer.
mem_ps RefSystem::arrival(uint64_t line) {
    auto w = std::find_if(c_->wanted.rbegin(), c_->wanted.rend(), [line](const Wanted &o) { return o.line == line; });
    if (w != c_->wanted.rend() && !w->arrives) {
        w->arrives = demand(line, false).done;
        return *w->arrives;
    }
    if (w != c_->wanted.rend() && *w->arrives > c_->at) {
        c_->issued = c_->fill_buffers.free_from(c_->at);
        c_->fill_buffers.take(std::max(*w->arrives, c_->issued));
        return std::max(*w->arrives, c_->issued);
    }
    return cores_.size() > 1 ? joined(line) : c_->at;
}

// When a line that another core asked for arrives.
mem_ps RefSystem::joined(uint64_t line) {
    Core *whose;
    if (Wanted *w = unsent(line, &whose)) {
        w->arrives = demand(line, false).done;
        return *w->arrives;
    }
    const UnderWay *sent = under_way(line);
    if (!sent || sent->arrives <= c_->at) {
        return c_->at;
    }
    mem_ps arrives = sent->arrives;
    c_->issued = c_->fill_buffers.free_from(c_->at);
    c_->fill_buffers.take(std::max(arrives, c_->issued));
    return std::max(arrives, c_->issued);
}

// ---- Loads and stores ----

void RefSystem::evict(const std::vector<uint64_t> &victims) {
    for (uint64_t line : victims) {
        if (!c_->begun) {
            begin_operation();
        }
        mem_ps taken;
        write_memory(line, kAllBytes, c_->issued, &taken, *c_);
    }
}

void RefSystem::miss(uint64_t line, bool store, const Found &found, const std::vector<uint64_t> &victims) {
    std::vector<uint64_t> ahead;
    bool continues = train(line, ahead);
    bool goes_on = store ? cpu_.store_buffer != 0 && !locked_
                         : cpu_.overlap == MEM_OVERLAP_ALL || (cpu_.overlap == MEM_OVERLAP_STREAMS && continues);

    c_->count->l1_misses++;
    c_->count->l2_misses += found.where != Found::kL2;
    c_->count->llc_misses += found.where == Found::kMemory && !found.given;
    c_->count->stream_loads += !store && goes_on;
    bool own_now = store && found.others && !found.given;
    bool joins = !found.given && !own_now && !found.prefetched && found.where == Found::kLlc && comes_for_another(line);
    c_->begun = false;
    c_->count->prefetches_used += found.prefetched;
    if (found.where == Found::kMemory || found.prefetched || found.given || own_now || joins) {
        begin_operation();
    }
    if (found.given) {
        take_transfer(line, store, goes_on);
    } else if (own_now) {
        upgrade(line);
    } else if (found.where != Found::kMemory && (found.prefetched || joins)) {
        c_->count->joins += joins;
        touch(line, store, goes_on);
    } else if (found.where == Found::kMemory && store) {
        this->store(line);
    } else if (found.where == Found::kMemory) {
        load(line, goes_on);
    }
    evict(victims);
    for (uint64_t next : ahead) {
        if (c_->l2.find(next) || !may_prefetch(next)) {
            continue;
        }
        std::vector<uint64_t> pushed_out;
        Way in_llc = take(llc_, next);
        if (!in_llc.used) {
            spill_llc(llc_.fill(next, false, false), pushed_out);
        }
        spill(llc_, c_->l2.fill(next, in_llc.dirty, !in_llc.used || in_llc.prefetched), pushed_out);
        if (!in_llc.used) {
            if (!c_->begun) {
                begin_operation();
            }
            prefetch(next);
        }
        evict(pushed_out);
    }
    if (found.where != Found::kMemory && !found.given && !goes_on && timed_) {
        mem_ps latency = found.where == Found::kL2 ? cpu_.l2.latency_ps : cpu_.llc.latency_ps;
        c_->count->stall_cache_ps += latency;
        c_->at += latency;
    }
}

mem_ps RefSystem::access(uint32_t core, uint64_t hpa, bool store, bool locked, mem_ps now, uint32_t *slot) {
    uint64_t line = hpa / kLine;
    enter(core, now);
    (store ? c_->count->stores : c_->count->loads)++;
    locked_ = locked && cores_.size() > 1;
    store |= locked_;
    send_others_buffers(line);
    if (auto buffer = find_buffer(line); buffer != c_->open.end()) {
        send_buffer(buffer);
    }
    std::vector<Core *> others = others_with(line);
    if (Way *w = c_->l1.find(line)) {
        *slot = c_->l1.slot(line);
        if (store && !w->dirty) {
            w->dirty = true;
            if (Way *llc = llc_.find(line)) {
                llc->dirty = false;
            }
            for (Core *other : others) {
                lose(*other, line);
            }
            if (!others.empty()) {
                begin_operation();
                upgrade(line);
            }
        }
        return c_->at - c_->now;
    }
    Way pushed_out = c_->l1.fill(line, store, false, slot);
    if (pushed_out.used) {
        drop_slot(*c_, *slot);
    }
    bool was_dirty = false; // in another core
    for (Core *other : others) {
        if (store) {
            was_dirty |= lose(*other, line);
        } else if (dirty_in(*other, line)) {
            was_dirty = clean(*other, line);
            if (other->l1.find(line)) {
                shared.push_back({other->number, other->l1.slot(line)});
            }
        }
    }
    std::vector<uint64_t> victims;
    Way in_l2 = take(c_->l2, line), in_llc;
    if (!in_l2.used) {
        in_llc = take(llc_, line);
        if (!in_llc.used) {
            spill_llc(llc_.fill(line, false, false), victims);
        }
        spill(llc_, c_->l2.fill(line, false, false), victims);
    }
    bool dirty = in_l2.dirty || in_llc.dirty || was_dirty;
    c_->l1.find(line)->dirty |= dirty && others.empty();
    spill(c_->l2, pushed_out, victims);
    if (store) {
        if (Way *llc = llc_.find(line)) {
            llc->dirty = false;
        }
    } else if (dirty && !others.empty()) { // the LLC keeps the dirty line for the cores that share it
        spill(llc_, {true, true, false, line}, victims);
    }
    auto where = in_l2.used ? Found::kL2 : in_llc.used ? Found::kLlc : Found::kMemory;
    bool given = was_dirty || (!others.empty() && where == Found::kMemory);
    miss(line, store, {where, in_l2.prefetched || in_llc.prefetched, !others.empty(), given}, victims);
    return c_->at - c_->now;
}

// ---- Non-temporal stores ----

std::list<RefSystem::Buffer>::iterator RefSystem::find_buffer(uint64_t line) {
    return std::find_if(c_->open.begin(), c_->open.end(), [line](const Buffer &b) { return b.line == line; });
}

void RefSystem::send_buffer(std::list<Buffer>::iterator buffer) {
    mem_ps taken;
    begin_operation();
    write_from_core(buffer->line, buffer->bytes, c_->at, &taken);
    c_->held_until.push_back(taken);
    c_->open.erase(buffer);
}

void RefSystem::send_all_buffers() {
    while (!c_->open.empty()) {
        send_buffer(c_->open.begin());
    }
}

mem_ps RefSystem::nt_store(uint32_t core, uint64_t hpa, uint32_t size, mem_ps now) {
    uint64_t line = hpa / kLine;
    enter(core, now);
    c_->count->nt_stores++;
    if (find_buffer(line) == c_->open.end()) {
        send_others_buffers(line);
        if (drop(line)) {
            write_back(line);
        }
        if (c_->held_until.empty()) {
            send_buffer(c_->open.begin());
        }
        begin_operation();
        auto first = std::min_element(c_->held_until.begin(), c_->held_until.end());
        wait(*first, c_->count->stall_fence_ps);
        c_->held_until.erase(first);
        c_->open.push_back({line, {}});
    }
    auto buffer = find_buffer(line);
    for (uint64_t i = 0; i < size; i++) {
        buffer->bytes.set(hpa % kLine + i);
    }
    if (buffer->bytes.all()) {
        send_buffer(buffer);
    }
    return c_->at - c_->now;
}

// ---- Flushes and fences ----

// Waits for the stores to the line, and for the line's arrival at another core.
void RefSystem::write_back(uint64_t line) {
    mem_ps taken;
    begin_operation();
    mem_ps committed = c_->at;
    for (const Store &s : c_->stores) {
        committed = s.line == line ? std::max(committed, s.commits) : committed;
    }
    if (const UnderWay *sent = under_way(line); sent && sent->core != c_->number) {
        committed = std::max(committed, sent->arrives);
    }
    c_->flushed = write_from_core(line, kAllBytes, committed, &taken);
}

mem_ps RefSystem::flush(uint32_t core, uint64_t hpa, MemFlushKind kind, mem_ps now) {
    uint64_t line = hpa / kLine;
    bool dirty = false;
    enter(core, now);
    c_->count->flushes++;
    send_others_buffers(line);
    if (auto buffer = find_buffer(line); buffer != c_->open.end()) {
        send_buffer(buffer);
    }
    if (kind == MEM_CLWB && cpu_.clwb_keeps_line) {
        if (Way *w = c_->l1.find(line); w && w->dirty) {
            drop_slot(*c_, c_->l1.slot(line));
        }
        for (Core *other : others_with(line)) {
            if (clean(*other, line)) {
                dirty = true;
                if (other->l1.find(line)) {
                    drop_slot(*other, other->l1.slot(line));
                }
            }
        }
        for (Level *level : {&c_->l1, &c_->l2, &llc_}) {
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
        c_->flushed = last == written_.rend() ? c_->at : std::max(c_->at, last->completed);
        c_->fence_until = std::max(c_->fence_until, c_->flushed);
    }
    if (kind == MEM_CLFLUSH) {
        begin_operation();
        wait_fence(c_->flushed);
    }
    return c_->at - c_->now;
}

void RefSystem::wait_fence(mem_ps until) {
    if (timed_) {
        spans_[MEM_CAUSE_fence].add(std::max(until, c_->at) - c_->at);
    }
    wait(until, c_->count->stall_fence_ps);
}

mem_ps RefSystem::fence(uint32_t core, MemFenceKind kind, mem_ps now) {
    enter(core, now);
    if (kind != MEM_LFENCE && kind != MEM_SERIALIZE) {
        c_->count->fences++;
        send_all_buffers();
    }
    begin_operation();
    mem_ps until = c_->at;
    if (kind != MEM_SFENCE) {
        until = std::max(until, loads_done());
    }
    if (kind != MEM_LFENCE) {
        until = std::max(until, stores_done());
    }
    if (kind != MEM_LFENCE && kind != MEM_SERIALIZE) {
        until = std::max(until, c_->fence_until);
    }
    wait_fence(until);
    if (kind == MEM_LOCKED && timed_) {
        c_->at += cpu_.lock_ps;
    }
    return c_->at - c_->now;
}

mem_ps RefSystem::instruction(uint32_t core, MemInsn insn, mem_ps now) {
    const std::map<MemInsn, mem_ps> costs = {
        {MEM_INSN_CPUID, cpu_.cpuid_ps},     {MEM_INSN_RDMSR, cpu_.rdmsr_ps},
        {MEM_INSN_WRMSR, cpu_.wrmsr_ps},     {MEM_INSN_MOV_CR, cpu_.mov_cr_ps},
        {MEM_INSN_MOV_CR3, cpu_.mov_cr3_ps}, {MEM_INSN_MOV_DR, cpu_.mov_dr_ps},
        {MEM_INSN_INVLPG, cpu_.invlpg_ps},   {MEM_INSN_LOAD_TABLE, cpu_.load_table_ps},
        {MEM_INSN_IRET, cpu_.iret_ps},       {MEM_INSN_RDTSC, cpu_.rdtsc_ps},
        {MEM_INSN_WBINVD, cpu_.wbinvd_ps},   {MEM_INSN_WRMSR_RELAXED, cpu_.wrmsr_ps},
    };
    enter(core, now);
    if (!std::set{MEM_INSN_RDMSR, MEM_INSN_RDTSC, MEM_INSN_WRMSR_RELAXED}.contains(insn)) {
        send_all_buffers();
        begin_operation();
        wait_fence(std::max({c_->at, loads_done(), stores_done()}));
    }
    return c_->at - c_->now + (timed_ ? costs.at(insn) : 0);
}

mem_ps RefSystem::barrier(uint32_t core, mem_ps now) {
    enter(core, now);
    begin_operation();
    mem_ps until = c_->at;
    for (RefTimedDevice &device : devices_) {
        until = std::max(until, device.barrier(c_->at));
    }
    wait(timed_ ? until : c_->at, c_->count->stall_fence_ps);
    return c_->at - c_->now;
}

// The order of write-backs: L1 and L2 of each core, then the LLC; within a cache by set and way.
void RefSystem::empty_caches() {
    send_all_buffers();
    for (Core &core : cores_) {
        while (!core.open.empty()) {
            send_others_buffers(core.open.front().line);
        }
    }
    for (Core &core : cores_) {
        write_back_level(core.l1);
        write_back_level(core.l2);
    }
    write_back_level(llc_);
    forget_all();
}

void RefSystem::write_back_level(const Level &level) {
    for (const Set &set : level.sets) {
        for (const Way &w : set.ways) {
            if (w.dirty) {
                write_back(w.line);
            }
        }
    }
}

void RefSystem::forget_all() {
    for (Core &core : cores_) {
        for (const Set &set : core.l1.sets) {
            for (const Way &w : set.ways) {
                if (w.used) {
                    drop_slot(core, core.l1.slot(w.line));
                }
            }
        }
        core.l1 = Level(cpu_.l1d);
        core.l2 = Level(cpu_.l2, cpu_.seed);
    }
    llc_ = Level(cpu_.llc, cpu_.seed);
}

mem_ps RefSystem::wbinvd(uint32_t core, mem_ps now) {
    enter(core, now);
    empty_caches();
    c_->count->fences++;
    begin_operation();
    wait_fence(std::max({loads_done(), stores_done(), c_->fence_until}));
    return c_->at - c_->now;
}

void RefSystem::map_window(uint32_t index, const MemWindow &window, mem_ps now) {
    enter(0, now);
    empty_caches();
    windows_[index] = window;
}

// ---- Modes ----

void RefSystem::nothing_under_way() {
    for (Core &core : cores_) {
        core.loads.clear();
        core.stores.clear();
        core.wanted.clear();
        core.fill_buffers = RefPlaces(cpu_.fill_buffers);
        core.prefetch_buffers = RefPlaces(cpu_.prefetch_buffers);
        core.l2_requests = RefPlaces(cpu_.l2_requests);
        core.flushed = core.fence_until = 0;
    }
    written_.clear();
    under_way_.clear();
    dram_ = {};
}

// When the first core can continue, but not before the latest call.
mem_ps RefSystem::time_now() const {
    mem_ps called = 0, goes_on = UINT64_MAX;
    for (const Core &core : cores_) {
        called = std::max(called, core.now);
        goes_on = std::min(goes_on, core.at);
    }
    return std::max(called, goes_on);
}

void RefSystem::set_timed(bool timed) {
    if (timed == timed_) {
        return;
    }
    mem_ps now = time_now();
    if (cores_.size() == 1) {
        enter(0, now);
    }
    for (Core &core : cores_) {
        c_ = &core;
        for (Wanted &w : core.wanted) { // send the prefetches that wait, without a buffer
            if (!w.arrives) {
                w.arrives = read_memory(w.line, now, false).done;
            }
        }
    }
    for (RefTimedDevice &device : devices_) {
        device.set_timed(timed, now);
    }
    timed_ = timed;
    for (Core &core : cores_) {
        core.count = timed ? &core.counters : &core.ignored;
        core.held_until.assign(core.held_until.size(), 0);
    }
    device_count_ = timed ? &device_counters_ : &device_ignored_;
    nothing_under_way();
}

void RefSystem::power(bool cut, mem_ps now) {
    for (const Core &core : cores_) {
        now = std::max(now, core.now);
    }
    if (cores_.size() == 1) {
        enter(0, now);
    }
    forget_all();
    for (Core &core : cores_) {
        core.open.clear();
        core.held_until.assign(cpu_.wc_buffers, 0);
    }
    nothing_under_way();
    for (RefTimedDevice &device : devices_) {
        cut ? device.power_cut(now) : device.power_off(now);
    }
}

void RefSystem::reset_counters() {
    for (Core &core : cores_) {
        core.counters = {};
    }
    device_counters_ = {};
    for (RefSpans &s : spans_) {
        s = {};
    }
}

MemCounters RefSystem::counters() const {
    MemCounters sum = device_counters_;
    for (const Core &core : cores_) {
#define X(field, what) sum.field += core.counters.field;
        MEM_COUNTERS(X)
        MEM_COHERENCE_COUNTERS(X)
#undef X
    }
    return sum;
}
