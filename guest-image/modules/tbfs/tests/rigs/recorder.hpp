// SPDX-License-Identifier: BSD-3-Clause
//
// The persistence layer of tests: executes each operation, and records it line by line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

constexpr size_t LineBytes = 64;

struct PersistEvent {
    enum Kind : uint8_t { Store, PassingCaches, Flush, Fence } kind;
    size_t line;    // its offset
    uint64_t bytes; // bit n: byte n of the line is stored
    std::array<uint8_t, LineBytes> content;
};

struct Recorder {
    explicit Recorder(const uint8_t *base) : base(base) {}
    ~Recorder();
    const uint8_t *base;
    bool tears_units = false; // stores of 16 or 64 bytes may arrive word by word
    std::vector<PersistEvent> events;
    uint64_t count(PersistEvent::Kind kind) const;
    uint64_t linesWritten() const; // a line counts once between two fences
};

// Null: stores are executed and not recorded.
extern Recorder *recorder;
