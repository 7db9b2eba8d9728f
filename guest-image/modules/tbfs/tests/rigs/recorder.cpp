// SPDX-License-Identifier: BSD-3-Clause
#include "recorder.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "core.hpp"

Recorder *recorder;

Recorder::~Recorder() { recorder = nullptr; }

uint64_t Recorder::count(MediaEvent::Kind kind) const {
    return static_cast<uint64_t>(std::count_if(events.begin(), events.end(), [&](auto &e) { return e.kind == kind; }));
}

uint64_t Recorder::linesWritten() const {
    std::set<size_t> lines;
    uint64_t count = 0;
    for (const MediaEvent &event : events) {
        if (event.kind == MediaEvent::Fence)
            lines.clear();
        else if (event.kind != MediaEvent::Flush)
            count += lines.insert(event.line).second;
    }
    return count;
}

// Records an event of one line, after its bytes have been stored.
static void record(MediaEvent::Kind kind, const void *target, size_t bytes) {
    if (!recorder)
        return;
    size_t offset = static_cast<size_t>(static_cast<const uint8_t *>(target) - recorder->base);
    size_t line = offset - offset % LineBytes;
    uint64_t mask = (bytes < LineBytes ? (1ull << bytes) - 1 : ~0ull) << offset % LineBytes;
    MediaEvent event{.kind = kind, .line = line, .bytes = mask};
    memcpy(event.content.data(), recorder->base + line, LineBytes);
    recorder->events.push_back(event);
}

// Visits the parts of a range, split at multiples of `unit`.
template <class Visit> static void forEachPart(const void *target, size_t bytes, size_t unit, const Visit &visit) {
    for (size_t done = 0; done < bytes;) {
        uintptr_t at = reinterpret_cast<uintptr_t>(target) + done;
        size_t part = std::min(bytes - done, unit - at % unit);
        visit(done, part);
        done += part;
    }
}

static void store(MediaEvent::Kind kind, void *target, const void *source, size_t bytes, size_t unit) {
    uint8_t *to = static_cast<uint8_t *>(target);
    const uint8_t *from = static_cast<const uint8_t *>(source);
    forEachPart(target, bytes, unit, [&](size_t at, size_t part) {
        memcpy(to + at, from + at, part);
        record(kind, to + at, part);
    });
}

static size_t unitOf(size_t bytes) { return recorder && recorder->tears_units ? 8 : bytes; }

void pm_store8(void *target, uint64_t value) { store(MediaEvent::Store, target, &value, 8, 8); }
void pm_store16(void *target, const void *source) { store(MediaEvent::Store, target, source, 16, unitOf(16)); }
void pm_store64(void *target, const void *source) { store(MediaEvent::Store, target, source, 64, unitOf(64)); }
void pm_copy(void *target, const void *source, size_t bytes) { store(MediaEvent::Store, target, source, bytes, 8); }
void pm_copy_nt(void *target, const void *source, size_t bytes) {
    store(MediaEvent::NonTemporalStore, target, source, bytes, LineBytes);
}
void pm_zero_nt(void *target, size_t bytes) {
    static const uint8_t zeros[LineBytes] = {};
    forEachPart(target, bytes, LineBytes, [&](size_t at, size_t part) {
        store(MediaEvent::NonTemporalStore, static_cast<uint8_t *>(target) + at, zeros, part, LineBytes);
    });
}
void pm_flush(const void *target, size_t bytes) {
    forEachPart(target, bytes, LineBytes,
                [&](size_t at, size_t) { record(MediaEvent::Flush, static_cast<const uint8_t *>(target) + at, 1); });
}
void pm_fence(void) {
    if (recorder)
        recorder->events.push_back({.kind = MediaEvent::Fence});
}
