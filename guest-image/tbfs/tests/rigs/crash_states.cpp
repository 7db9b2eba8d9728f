// SPDX-License-Identifier: BSD-3-Clause
#include "crash_states.hpp"

#include <algorithm>

static void apply(Medium &medium, const PersistEvent &event, uint64_t bytes) {
    for (size_t i = 0; i < LineBytes; i++)
        if (event.bytes & bytes & 1ull << i)
            medium[event.line + i] = event.content[i];
}

void CrashStates::follow(const PersistEvent &event) {
    if (event.kind == PersistEvent::Fence)
        return fence();
    auto found = pending.find(event.line);
    if (event.kind == PersistEvent::Flush) {
        if (found != pending.end())
            found->second.flushed = found->second.stores.size();
        return;
    }
    Pending &line = pending[event.line];
    line.stores.push_back(&event);
    if (event.kind == PersistEvent::PassingCaches)
        line.flushed = line.stores.size();
}

void CrashStates::fence() {
    for (auto line = pending.begin(); line != pending.end();) {
        auto &[stores, flushed] = line->second;
        for (size_t i = 0; i < flushed; i++)
            apply(durable, *stores[i], ~0ull);
        stores.erase(stores.begin(), stores.begin() + static_cast<ptrdiff_t>(flushed));
        flushed = 0;
        line = stores.empty() ? pending.erase(line) : std::next(line);
    }
}

// Bytes of a store that may have arrived while others have not: any of its words.
static uint64_t tornBytes(uint64_t random) {
    uint64_t bytes = 0;
    for (unsigned word = 0; word < 8; word++)
        if (random >> word & 1)
            bytes |= 0xffull << 8 * word;
    return bytes;
}

void CrashStates::visitChoice(const Choice &choice, bool torn, const Visit &visit) {
    Medium medium = durable;
    for (const auto &[at, count] : choice) {
        const Pending &line = pending.at(at);
        for (size_t i = 0; i < count; i++)
            apply(medium, *line.stores[i], ~0ull);
        if (torn && count < line.stores.size() && line.stores[count]->kind == PersistEvent::PassingCaches)
            apply(medium, *line.stores[count], tornBytes(random()));
    }
    visit(medium);
}

CrashStates::Choice CrashStates::chooseAll(bool newest) const {
    Choice choice;
    for (const auto &[at, line] : pending)
        choice[at] = newest ? line.stores.size() : 0;
    return choice;
}

void CrashStates::forEach(const Sampling &sampling, const Visit &visit) {
    size_t total = 1;
    for (const auto &[at, line] : pending)
        total = std::min(total * (line.stores.size() + 1), sampling.exhaustive + 1);
    if (total <= sampling.exhaustive) {
        for (size_t ordinal = 0; ordinal < total; ordinal++) {
            Choice choice;
            size_t rest = ordinal;
            for (const auto &[at, line] : pending) {
                choice[at] = rest % (line.stores.size() + 1);
                rest /= line.stores.size() + 1;
            }
            visitChoice(choice, ordinal == 0, visit);
        }
        return;
    }
    Choice none = chooseAll(false), all = chooseAll(true);
    visitChoice(none, false, visit);
    visitChoice(all, false, visit);
    size_t step = pending.size() / sampling.lines + 1, number = 0;
    for (const auto &[at, line] : pending) {
        if (number++ % step)
            continue;
        Choice alone = none, missing = all;
        alone[at] = line.stores.size();
        missing[at] = random() % line.stores.size();
        visitChoice(alone, false, visit);
        visitChoice(missing, true, visit);
    }
    for (size_t i = 0; i < sampling.random; i++) {
        Choice choice;
        for (const auto &[at, line] : pending)
            choice[at] = random() % (line.stores.size() + 1);
        visitChoice(choice, true, visit);
    }
}

void exploreCrashes(const Medium &before, const std::vector<PersistEvent> &events, const Sampling &sampling,
                    uint64_t seed, const std::function<void(Medium &, bool is_end)> &visit, size_t passed) {
    CrashStates states(before, seed);
    for (const PersistEvent &event : events) {
        if (event.kind == PersistEvent::Fence && &event >= events.data() + passed)
            states.forEach(sampling, [&](Medium &medium) { visit(medium, false); });
        states.follow(event);
    }
    states.forEach(sampling, [&](Medium &medium) { visit(medium, true); });
}
