// SPDX-License-Identifier: BSD-3-Clause
#include "media.hpp"

#include <cstring>

static void apply(Medium &medium, const MediaEvent &store, uint64_t bytes) {
    bytes &= store.bytes;
    if (bytes == ~0ull) {
        memcpy(medium.data() + store.line, store.content.data(), LineBytes);
        return;
    }
    for (size_t i = 0; i < LineBytes; i++)
        if (bytes & 1ull << i)
            medium[store.line + i] = store.content[i];
}

// All bytes of the words of 8 bytes that the store changes.
static uint64_t wordsOf(const MediaEvent &store) {
    uint64_t bytes = 0;
    for (unsigned word = 0; word < 8; word++)
        if (store.bytes >> 8 * word & 0xff)
            bytes |= 0xffull << 8 * word;
    return bytes;
}

static bool isNonTemporal(const MediaEvent &store) { return store.kind == MediaEvent::NonTemporalStore; }

void CrashStates::follow(const MediaEvent &event) {
    if (event.kind == MediaEvent::Fence)
        return fence(event.core);
    auto found = pending.find(event.line);
    if (event.kind == MediaEvent::Flush) {
        if (found != pending.end())
            found->second.flush(event.core);
        return;
    }
    if (found == pending.end() && changesNothing(event))
        return;
    Pending &line = pending[event.line];
    line.stores.push_back(event);
    line.awaited.emplace_back();
    if (isNonTemporal(event))
        line.send(event.core, line.stores.size() - 1);
}

// A store of bytes that the durable line has anyway makes no new state.
bool CrashStates::changesNothing(const MediaEvent &store) const {
    for (size_t i = 0; i < LineBytes; i++)
        if (store.bytes & 1ull << i && certain[store.line + i] != store.content[i])
            return false;
    return true;
}

// A word becomes durable with all earlier stores to it, and a cached store with all earlier cached ones.
void CrashStates::Pending::send(unsigned core, size_t last) {
    uint64_t words = 0;
    bool with_cached = false;
    for (size_t i = last + 1; i-- > 0;) {
        const bool is_cached = !isNonTemporal(stores[i]);
        uint64_t sent = i == last || (is_cached && with_cached) ? ~0ull : wordsOf(stores[i]) & words;
        if (sent == 0)
            continue;
        if (is_cached)
            sent = ~0ull;
        awaited[i][core] |= sent;
        words |= wordsOf(stores[i]) & sent;
        with_cached |= is_cached;
    }
}

// A flush is for the line in the caches: not for non-temporal stores that wait in the buffers of other cores.
void CrashStates::Pending::flush(unsigned core) {
    for (size_t i = stores.size(); i-- > 0;)
        if (!isNonTemporal(stores[i]))
            return send(core, i);
}

uint64_t CrashStates::Pending::awaitedBy(unsigned core, size_t store) const {
    uint64_t bytes = 0;
    for (const auto &[other, sent] : awaited[store])
        if (core == EveryCore || core == other)
            bytes |= sent;
    return bytes;
}

void CrashStates::fence(unsigned core) {
    for (auto at = pending.begin(); at != pending.end();) {
        Pending &line = at->second, rest;
        for (size_t i = 0; i < line.stores.size(); i++) {
            const uint64_t durable = line.awaitedBy(core, i);
            apply(certain, line.stores[i], durable);
            line.stores[i].bytes &= ~durable;
            if (line.stores[i].bytes == 0)
                continue;
            rest.stores.push_back(line.stores[i]);
            rest.awaited.push_back(std::move(line.awaited[i]));
        }
        line = std::move(rest);
        at = line.stores.empty() ? pending.erase(at) : std::next(at);
    }
}

size_t CrashStates::nonTemporalStores() const {
    size_t count = 0;
    for (const auto &[at, line] : pending)
        for (const MediaEvent &store : line.stores)
            count += isNonTemporal(store);
    return count;
}

static uint64_t anyWords(uint64_t random) {
    uint64_t bytes = 0;
    for (unsigned word = 0; word < 8; word++)
        if (random >> word & 1)
            bytes |= 0xffull << 8 * word;
    return bytes;
}

// The state with the first stores to each line. Of `tearable` non-temporal stores, about two have any words instead:
// words are missing, or are there although the store is not chosen. Only stores to one word keep their order.
Medium CrashStates::stateOf(const Choice &choice, size_t tearable) {
    Medium medium = certain;
    auto count = choice.begin();
    for (const auto &[at, line] : pending) {
        const std::vector<MediaEvent> &stores = line.stores;
        uint64_t missing = 0;
        for (size_t i = 0; i < stores.size(); i++) {
            uint64_t there = i < *count ? ~0ull : 0;
            if (tearable > 0 && isNonTemporal(stores[i]) && random() % tearable < 2) {
                there = anyWords(random());
                for (size_t later = i + 1; later < *count; later++)
                    if (!isNonTemporal(stores[later]))
                        there |= wordsOf(stores[later]);
            }
            there &= ~missing;
            apply(medium, stores[i], there);
            missing |= wordsOf(stores[i]) & ~there;
        }
        ++count;
    }
    return medium;
}

void CrashStates::forEach(const Sampling &sampling, const Visit &visit) {
    std::vector<size_t> changes;
    for (const auto &[at, line] : pending)
        changes.push_back(line.stores.size());
    const size_t tearable = nonTemporalStores();
    forEachChoice(changes, sampling, random, [&](const Choice &choice) {
        Medium whole = stateOf(choice, 0);
        visit(whole);
        if (tearable == 0)
            return;
        Medium torn = stateOf(choice, tearable);
        visit(torn);
    });
}

void exploreCrashes(const Medium &before, const std::vector<MediaEvent> &events, CutBefore cut,
                    const Sampling &sampling, uint64_t seed, const std::function<void(const Crash &, Medium &)> &visit,
                    size_t passed) {
    CrashStates states(before, seed);
    for (size_t position = 0; position <= events.size(); position++) {
        const bool is_last = position == events.size();
        const bool is_place = is_last || cut == CutBefore::EachEvent || events[position].kind == MediaEvent::Fence;
        uint64_t ordinal = 0;
        if (is_place && position >= passed)
            states.forEach(sampling, [&](Medium &medium) { visit({position, is_last, ordinal++}, medium); });
        if (!is_last)
            states.follow(events[position]);
    }
}
