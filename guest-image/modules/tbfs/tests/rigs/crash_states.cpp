// SPDX-License-Identifier: BSD-3-Clause
#include "crash_states.hpp"

#include <algorithm>

static void apply(Medium &medium, const PersistEvent &event, uint64_t bytes) {
    for (size_t i = 0; i < LineBytes; i++)
        if (event.bytes & bytes & 1ull << i)
            medium[event.line + i] = event.content[i];
}

static uint64_t wordsOf(const PersistEvent &event) {
    uint64_t bytes = 0;
    for (unsigned word = 0; word < 8; word++)
        if (event.bytes >> 8 * word & 0xff)
            bytes |= 0xffull << 8 * word;
    return bytes;
}

static bool passesCaches(const PersistEvent &event) { return event.kind == PersistEvent::PassingCaches; }

void CrashStates::follow(const PersistEvent &event) {
    if (event.kind == PersistEvent::Fence)
        return fence();
    auto found = pending.find(event.line);
    if (event.kind == PersistEvent::Flush) {
        if (found != pending.end())
            found->second.flushed.assign(found->second.stores.size(), true);
        return;
    }
    if (found == pending.end() && skips_equal && passesCaches(event) && isEqual(event))
        return;
    Pending &line = pending[event.line];
    line.stores.push_back(&event);
    line.flushed.push_back(false);
    if (passesCaches(event))
        line.flushWithEarlier(line.stores.size() - 1);
}

bool CrashStates::isEqual(const PersistEvent &event) const {
    for (size_t i = 0; i < LineBytes; i++)
        if (event.bytes & 1ull << i && durable[event.line + i] != event.content[i])
            return false;
    return true;
}

// A store past the caches makes earlier stores to its words durable, and a cached store all earlier cached ones.
void CrashStates::Pending::flushWithEarlier(size_t last) {
    uint64_t words = 0;
    bool cached = false;
    for (size_t i = last + 1; i-- > 0;) {
        bool is_cached = !passesCaches(*stores[i]);
        if (i != last && !(wordsOf(*stores[i]) & words) && !(is_cached && cached))
            continue;
        flushed[i] = true;
        words |= wordsOf(*stores[i]);
        cached |= is_cached;
    }
}

void CrashStates::fence() {
    for (auto at = pending.begin(); at != pending.end();) {
        Pending rest;
        for (size_t i = 0; i < at->second.stores.size(); i++) {
            if (at->second.flushed[i]) {
                apply(durable, *at->second.stores[i], ~0ull);
                continue;
            }
            rest.stores.push_back(at->second.stores[i]);
            rest.flushed.push_back(false);
        }
        at->second = rest;
        at = rest.stores.empty() ? pending.erase(at) : std::next(at);
    }
}

static uint64_t anyWords(uint64_t random) {
    uint64_t bytes = 0;
    for (unsigned word = 0; word < 8; word++)
        if (random >> word & 1)
            bytes |= 0xffull << 8 * word;
    return bytes;
}

// Visits the state with the first `count` stores to each line. If `torn`, words of stores past the caches may be
// missing, or be present beyond `count`: only stores to one word keep their order.
void CrashStates::visitChoice(const Choice &choice, bool torn, const Visit &visit) {
    Medium medium = durable;
    for (const auto &[at, count] : choice) {
        const std::vector<const PersistEvent *> &stores = pending.at(at).stores;
        uint64_t missing = 0;
        for (size_t i = 0; i < stores.size(); i++) {
            uint64_t there = i < count ? ~0ull : 0;
            if (torn && passesCaches(*stores[i])) {
                there = anyWords(random());
                for (size_t later = i + 1; later < count; later++)
                    if (!passesCaches(*stores[later]))
                        there |= wordsOf(*stores[later]);
            }
            there &= ~missing;
            apply(medium, *stores[i], there);
            missing |= wordsOf(*stores[i]) & ~there;
        }
    }
    visit(medium);
}

bool CrashStates::hasAnyPast() const {
    for (const auto &[at, line] : pending)
        for (const PersistEvent *store : line.stores)
            if (passesCaches(*store))
                return true;
    return false;
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
            visitChoice(choice, false, visit);
            if (hasAnyPast())
                visitChoice(choice, true, visit);
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
    CrashStates states(before, seed, sampling.skips_equal);
    for (const PersistEvent &event : events) {
        if (event.kind == PersistEvent::Fence && &event >= events.data() + passed)
            states.forEach(sampling, [&](Medium &medium) { visit(medium, false); });
        states.follow(event);
    }
    states.forEach(sampling, [&](Medium &medium) { visit(medium, true); });
}
