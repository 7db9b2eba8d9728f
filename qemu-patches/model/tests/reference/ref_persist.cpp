// SPDX-License-Identifier: GPL-2.0-or-later
#include "ref_persist.h"

#include <algorithm>
#include <tuple>

// The bytes of the newest write-back can still change until its line is dirtied again.
void RefPersist::dirtied(uint64_t line) {
    if (!tracked(line)) {
        return;
    }
    if (Writes &writes = writes_[line]; !writes.empty() && !writes.back().captured) {
        writes.back().bytes = media_.at(line);
        writes.back().captured = true;
    }
    cpu_[line] = true;
}

void RefPersist::written_back(uint64_t line, mem_ps accepted) {
    if (!tracked(line) || gone()) {
        return;
    }
    cpu_.erase(line);
    events_++;
    last_accepted_ = std::max(last_accepted_, accepted);
    mem_ps start = drains() ? accepted : MEM_NEVER, end = drains() ? accepted + config.wbarrier_latency_ps : MEM_NEVER;
    writes_[line].push_back({{}, false, false, accepted, start, end});
    if (is_protected() && accepted <= now_ && writes_[line].size() == 1 && !gone()) {
        run(now_);    // durable at once; other write-backs wait for the next run()
        late_ = line; // the store that filled a WC buffer changes the bytes after this call
    }
}

// A program that has begun keeps its start time.
void RefPersist::follow(Write &w, mem_ps start, mem_ps end) const {
    w.start = w.start <= now_ ? w.start : start;
    w.end = end;
}

void RefPersist::programmed(uint64_t first, uint64_t count, mem_ps start, mem_ps end) {
    for (uint64_t line = first; line < first + count && !is_protected() && !gone(); line++) {
        Write *carried = nullptr;
        for (Write &w : writes_[line]) {
            carried = w.accepted <= start ? &w : carried;
        }
        if (carried && end < carried->end) {
            follow(*carried, start, end);
        }
    }
}

void RefPersist::moved(uint64_t first, uint64_t count, mem_ps old_end, mem_ps start, mem_ps end) {
    for (uint64_t line = first; line < first + count && !is_protected() && !gone(); line++) {
        for (Write &w : writes_[line]) {
            if (w.end == old_end) {
                follow(w, start, end);
            }
        }
    }
}

mem_ps RefPersist::barrier() {
    mem_ps end = std::max(now_, last_accepted_) + config.wbarrier_latency_ps;
    for (auto &[line, writes] : writes_) {
        if (!is_protected() && !gone() && !writes.empty() && end < writes.back().end) {
            follow(writes.back(), std::max(now_, writes.back().accepted), end);
        }
    }
    return end;
}

void RefPersist::become_durable(uint64_t line, size_t index) {
    Writes &writes = writes_[line];
    durable_[line] = bytes_of(line, writes[index]);
    writes.erase(writes.begin(), writes.begin() + int64_t(index) + 1);
    events_++;
}

// Writes arrive or become durable one at a time, in order of time and then line.
void RefPersist::run(mem_ps now) {
    now_ = now;
    if (late_ != MEM_NO_LINE) {
        durable_[late_] = media_.at(late_);
        late_ = MEM_NO_LINE;
    }
    while (!gone()) {
        std::tuple<mem_ps, uint64_t, size_t> next = {MEM_NEVER, 0, 0};
        for (const auto &[line, writes] : writes_) {
            for (size_t i = 0; i < writes.size(); i++) {
                next = std::min(next, {next_at(writes[i]), line, i});
            }
        }
        auto [at, line, index] = next;
        if (at > now) {
            return;
        }
        Write &w = writes_[line][index];
        if (w.arrived || is_protected()) {
            become_durable(line, index);
        } else {
            w.arrived = true;
        }
    }
}

void RefPersist::settle() {
    for (auto &[line, writes] : writes_) {
        for (Write &w : writes) {
            w.accepted = std::min(w.accepted, now_);
            w.start = w.start == MEM_NEVER ? MEM_NEVER : std::min(w.start, now_);
            w.end = w.end == MEM_NEVER ? MEM_NEVER : std::min(w.end, now_);
        }
    }
    last_accepted_ = 0;
    run(now_);
}

MemLineState RefPersist::state(uint64_t line, mem_ps at) const {
    if (cpu_dirty(line)) {
        return MEM_LINE_CPU_DIRTY;
    }
    auto found = writes_.find(line);
    if (found == writes_.end() || found->second.empty() || durable_at(found->second.back()) <= at) {
        return MEM_LINE_DURABLE;
    }
    const Write &w = found->second.back();
    return at < w.accepted ? MEM_LINE_IN_FLIGHT : at < w.start ? MEM_LINE_DEVICE_CACHE : MEM_LINE_PROGRAMMING;
}

bool RefPersist::evicted(uint64_t line) const {
    uint64_t x = config.cut_seed + (line + 1) * 11400714819323198485u;
    x = (x ^ x >> 30) * 13787848793156543929u;
    x = (x ^ x >> 27) * 10723151780598845931u;
    bool toss = ((x ^ x >> 31) & 1) != 0;
    return config.cut_lines == MEM_CUT_KEPT || (config.cut_lines == MEM_CUT_SEEDED && toss);
}

void RefPersist::reach_device(Arrivals &arrivals, uint64_t &energy, MemPowerCut &cut) const {
    bool none = config.persist_domain == MEM_DOMAIN_NONE, gpf = config.persist_domain == MEM_DOMAIN_GPF;
    for (const auto &[line, writes] : writes_) {
        for (const Write &w : writes) {
            if (!none || w.arrived) {
                arrivals[line] = {bytes_of(line, w), false};
            }
        }
    }
    for (const auto &[line, dirty] : cpu_) {
        if (gpf && energy < config.gpf_line_nj) {
            cut.dirty_shutdown = true;
            continue;
        }
        energy -= gpf ? config.gpf_line_nj : 0;
        if (gpf || config.persist_domain == MEM_DOMAIN_EADR || evicted(line)) {
            arrivals[line] = {media_.at(line), true};
        }
    }
}

MemPowerCut RefPersist::power_cut() {
    MemPowerCut cut = {};
    Arrivals arrivals;
    uint64_t energy = config.gpf_energy_uj * 1000;
    reach_device(arrivals, energy, cut);
    std::map<uint64_t, bool> page_saved;
    for (const auto &[line, arrival] : arrivals) {
        auto [page, first] = page_saved.try_emplace(line * MEMSYS_LINE_BYTES / saved_bytes(), true);
        if (first && !is_protected()) {
            page->second = config.persist_domain == MEM_DOMAIN_GPF && energy >= config.gpf_page_nj;
            energy -= page->second ? config.gpf_page_nj : 0;
        }
        if (page->second) {
            durable_[line] = arrival.bytes;
            cut.lines_kept += arrival.from_cpu;
        } else {
            cut.dirty_shutdown = true;
        }
    }
    cut.energy_used_nj = config.gpf_energy_uj * 1000 - energy;
    for (const auto &[line, bytes] : media_) {
        cut.lines_lost += bytes != durable_.at(line);
    }
    forget();
    return cut;
}

void RefPersist::power_off() {
    durable_ = media_;
    forget();
}

void RefPersist::forget() {
    writes_.clear();
    cpu_.clear();
    last_accepted_ = 0;
    cut_after_ = UINT64_MAX;
}
