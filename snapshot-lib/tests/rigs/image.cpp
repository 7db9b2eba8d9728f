// SPDX-License-Identifier: BSD-3-Clause
#include "image.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

static size_t wholeLines(size_t bytes) { return (bytes + LineBytes - 1) / LineBytes * LineBytes; }

Image::Image(size_t log_bytes, size_t data_bytes)
    : bytes(wholeLines(log_bytes) + wholeLines(data_bytes)), data_bytes(wholeLines(data_bytes)) {}

void Image::resizeLog(size_t log_bytes) { bytes.resize(data_bytes + wholeLines(log_bytes)); }

void Image::resizeData(size_t size) {
    Medium log(bytes.begin() + static_cast<ptrdiff_t>(data_bytes), bytes.end());
    bytes.resize(data_bytes);
    bytes.resize(data_bytes = wholeLines(size));
    bytes.insert(bytes.end(), log.begin(), log.end());
}

Image imageOf(const uint8_t *log, size_t log_bytes, const uint8_t *data, size_t data_bytes) {
    Image image(log_bytes, data_bytes);
    memcpy(image.logBytes(), log, log_bytes);
    memcpy(image.dataBytes(), data, data_bytes);
    return image;
}

static size_t placeOf(const Image &image, const Mapping &mapping, const uint8_t *target) {
    if (target >= mapping.log && target < mapping.log + mapping.log_bytes)
        return image.dataSize() + static_cast<size_t>(target - mapping.log);
    if (target >= mapping.data && target < mapping.data + mapping.data_bytes)
        return static_cast<size_t>(target - mapping.data);
    throw std::logic_error("a write outside log and data");
}

static std::vector<MediaEvent> placed(const Image &image, const Mapping &mapping,
                                      const std::vector<PersistEvent> &events) {
    std::vector<MediaEvent> found;
    for (const PersistEvent &event : events) {
        if (!event.target)
            found.push_back({.kind = MediaEvent::Fence, .core = event.thread});
        else
            found.push_back({MediaEvent::NonTemporalStore, event.thread, placeOf(image, mapping, event.target), ~0ull,
                             event.content});
    }
    return found;
}

Image durableImage(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events) {
    CrashStates states(before.medium(), 0);
    for (const MediaEvent &event : placed(before, mapping, events))
        states.follow(event);
    return {states.durable(), before.dataSize()};
}

void exploreCrashes(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events,
                    size_t exhaustive_lines, size_t samples, uint64_t seed,
                    const std::function<void(const Crash &, Image &)> &visit) {
    const Sampling sampling = {.exhaustive = size_t{1} << exhaustive_lines, .random = samples};
    exploreCrashes(before.medium(), placed(before, mapping, events), CutBefore::EachEvent, sampling, seed,
                   [&](const Crash &crash, Medium &medium) {
                       Image image(std::move(medium), before.dataSize());
                       visit(crash, image);
                   });
}
