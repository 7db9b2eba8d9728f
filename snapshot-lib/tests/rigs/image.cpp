// SPDX-License-Identifier: BSD-3-Clause
#include "image.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <ranges>
#include <set>
#include <stdexcept>

static std::vector<Image::Line> linesOf(const uint8_t *bytes, size_t size) {
    std::vector<Image::Line> lines((size + 63) / 64);
    memcpy(lines.data(), bytes, size);
    return lines;
}

Image imageOf(const uint8_t *log, size_t log_bytes, const uint8_t *data, size_t data_bytes) {
    return {linesOf(log, log_bytes), linesOf(data, data_bytes)};
}

static uint8_t *placeOf(Image &image, const Mapping &mapping, const uint8_t *target) {
    if (target >= mapping.log && target < mapping.log + mapping.log_bytes)
        return image.logBytes() + (target - mapping.log);
    if (target >= mapping.data && target < mapping.data + mapping.data_bytes)
        return image.dataBytes() + (target - mapping.data);
    throw std::logic_error("a write outside log and data");
}

// Bit n of `words` set: the n-th 8 bytes of the line arrived.
static void apply(Image &image, const Mapping &mapping, const PersistEvent &event, unsigned words) {
    uint8_t *place = placeOf(image, mapping, event.target);
    for (unsigned i = 0; i < 8; i++)
        if (words >> i & 1)
            memcpy(place + 8 * i, event.content.data() + 8 * i, 8);
}

using Pending = std::vector<const PersistEvent *>;

static void exploreSubsets(const Image &durable, const Mapping &mapping, const Pending &pending,
                           size_t exhaustive_lines, size_t samples, std::mt19937_64 &random,
                           const std::function<void(Image &)> &visit) {
    bool exhaustive = pending.size() <= exhaustive_lines;
    uint64_t count = exhaustive ? uint64_t{1} << pending.size() : samples;
    static constexpr unsigned arrive_of_64[] = {32, 4, 60, 63}; // also almost nothing, and almost everything
    for (uint64_t i = 0; i < 2 * count; i++) {
        Image image = durable;
        bool torn = i >= count;
        for (size_t line = 0; line < pending.size(); line++) {
            bool arrived = exhaustive ? (i % count) >> line & 1 : random() % 64 < arrive_of_64[i % 4];
            unsigned all = arrived ? 0xff : 0;
            apply(image, mapping, *pending[line],
                  torn && random() % pending.size() < 2 ? static_cast<unsigned>(random() & 0xff) : all);
        }
        visit(image);
    }
}

// The thread's writes become durable, and with a line all earlier writes of any thread to it: a line keeps its order.
static void fence(Image &durable, const Mapping &mapping, Pending &pending, unsigned thread) {
    std::set<const uint8_t *> lines;
    Pending left, arrived;
    for (const PersistEvent *event : std::views::reverse(pending)) {
        if (thread == EveryThread || event->thread == thread)
            lines.insert(event->target);
        (lines.contains(event->target) ? arrived : left).push_back(event);
    }
    for (const PersistEvent *event : std::views::reverse(arrived))
        apply(durable, mapping, *event, 0xff);
    pending.assign(left.rbegin(), left.rend());
}

Image durableImage(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events) {
    Image durable = before;
    Pending pending;
    for (const PersistEvent &event : events)
        if (event.target)
            pending.push_back(&event);
        else
            fence(durable, mapping, pending, event.thread);
    return durable;
}

void exploreCrashes(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events,
                    size_t exhaustive_lines, size_t samples, uint64_t seed,
                    const std::function<void(const Crash &, Image &)> &visit) {
    std::mt19937_64 random(seed);
    Image durable = before;
    Pending pending;
    for (size_t position = 0; position <= events.size(); position++) {
        uint64_t ordinal = 0;
        bool is_last = position == events.size();
        exploreSubsets(durable, mapping, pending, exhaustive_lines, samples, random,
                       [&](Image &image) { visit({position, is_last, ordinal++}, image); });
        if (is_last)
            return;
        if (events[position].target) {
            pending.push_back(&events[position]);
            continue;
        }
        fence(durable, mapping, pending, events[position].thread);
    }
}
