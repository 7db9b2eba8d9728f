// SPDX-License-Identifier: BSD-3-Clause
//
// An engine that believes nothing: a transaction must announce a change before it, and completely enough for an undo
// log, which knows the old content and nothing of fresh blocks. It counts the lines that changed, and can be told to
// miss all announcements of one place in the source.
#pragma once

#include <algorithm>
#include <cstring>
#include <set>
#include <source_location>
#include <stdexcept>
#include <vector>

#include "engine.hpp"

class AnnouncedEngine {
  public:
    static constexpr const char *Name = "announced";
    static constexpr bool Durable = false, CommitsAllThreads = true;
    static constexpr size_t LineBytes = 64, PageBytes = 4096;

    struct NotAnnounced : std::logic_error {
        using std::logic_error::logic_error;
    };
    struct Undone {}; // thrown at the end of a transaction that was not to be

    template <class T> using Ptr = engines::RelativePtr<T>;

    explicit AnnouncedEngine(size_t bytes) : memory(bytes / LineBytes), committed(memory), known(bytes, Unknown) {}

    template <class Root> Root *root() {
        top = std::max(top, alignedUp(sizeof(Root), LineBytes));
        return reinterpret_cast<Root *>(base());
    }
    template <class T> Ptr<T> allocate(size_t count) {
        size_t bytes = count * sizeof(T), begin = alignedUp(top, bytes < LineBytes ? 16 : LineBytes);
        if (begin + bytes > known.size())
            throw std::bad_alloc();
        top = begin + bytes;
        return Ptr<T>(reinterpret_cast<T *>(base() + begin));
    }
    template <class T> void release(Ptr<T>, size_t) {}

    template <class T>
    void writing(T *field, size_t count = 1, std::source_location place = std::source_location::current()) {
        size_t begin = offsetOf(field), end = begin + count * sizeof(T);
        places.insert(place.line());
        if (place.line() == forgotten)
            return;
        for (size_t i = begin; i < end; i++) {
            if (known[i] == Unknown && base()[i] != before()[i])
                throw NotAnnounced("announced after it was changed, at " + std::to_string(i));
            if (known[i] == Unknown)
                known[i] = Kept;
        }
        announced.push_back({begin, end});
    }
    template <class T> void fresh(T *place, size_t count = 1) {
        size_t begin = offsetOf(place), end = begin + count * sizeof(T);
        std::fill(known.begin() + static_cast<ptrdiff_t>(begin), known.begin() + static_cast<ptrdiff_t>(end), Fresh);
        announced.push_back({begin, end});
    }

    template <class Change> void transaction(Change &&change) {
        size_t top_before = top;
        change();
        compare();
        if (is_undone) {
            undo();
            top = top_before;
            throw Undone();
        }
        for (Range range : announced)
            memcpy(before() + range.begin, base() + range.begin, range.end - range.begin);
        forget();
    }

    std::set<size_t> lines; // offsets of those that the last transaction changed
    bool is_undone = false;
    std::set<unsigned> places; // lines of the source that announce
    unsigned forgotten = 0;    // 0: none

  private:
    struct alignas(LineBytes) Line {
        char bytes[LineBytes];
    };
    enum State : char { Unknown, Kept, Fresh };
    struct Range {
        size_t begin, end;
    };

    static size_t alignedUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }
    char *base() { return memory[0].bytes; }
    char *before() { return committed[0].bytes; }
    size_t offsetOf(const void *place) { return static_cast<size_t>(static_cast<const char *>(place) - base()); }

    void compare() {
        lines.clear();
        for (size_t page = 0; page < top; page += PageBytes) {
            size_t end = std::min(page + PageBytes, known.size());
            if (memcmp(base() + page, before() + page, end - page) == 0)
                continue;
            for (size_t i = page; i < end; i++) {
                if (base()[i] == before()[i])
                    continue;
                if (known[i] == Unknown)
                    throw NotAnnounced("changed and never announced, at " + std::to_string(i));
                lines.insert(i / LineBytes * LineBytes);
            }
        }
    }

    void undo() {
        for (Range range : announced)
            for (size_t i = range.begin; i < range.end; i++)
                base()[i] = known[i] == Fresh ? static_cast<char>(0x5a ^ i) : before()[i];
        for (Range range : announced)
            memcpy(before() + range.begin, base() + range.begin, range.end - range.begin);
        forget();
    }

    void forget() {
        for (Range range : announced)
            std::fill(known.begin() + static_cast<ptrdiff_t>(range.begin),
                      known.begin() + static_cast<ptrdiff_t>(range.end), Unknown);
        announced.clear();
    }

    std::vector<Line> memory, committed; // as it is, and as the last transaction left it
    std::vector<State> known;
    std::vector<Range> announced;
    size_t top = 0;
};
