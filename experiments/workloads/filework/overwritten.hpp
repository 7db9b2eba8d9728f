// SPDX-License-Identifier: BSD-3-Clause
//
// A file of pages, and writes of a part of a page that come in any order. The same numbers give the bytes again.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "clock.hpp"
#include "latency.hpp"
#include "random.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace workloads {

constexpr uint64_t WholeBytes = 4096; // of a page

struct PageWrite {
    uint64_t page, at, value; // `at` is within the page; each byte is of `value`
};

class Overwrites {
  public:
    Overwrites(uint64_t pages, uint64_t bytes, uint64_t seed) : bytes(bytes), random(seed), order(pages) {
        for (uint64_t page = 0; page < pages; page++)
            order[page] = page;
    }

    // The pages in another order each time.
    const std::vector<uint64_t> &shuffled() {
        for (uint64_t i = order.size(); i > 1; i--)
            std::swap(order[i - 1], order[random.below(i)]);
        return order;
    }
    PageWrite of(uint64_t page) { return {page, random.below(WholeBytes - bytes + 1), random.next()}; }
    PageWrite any() { return of(random.below(order.size())); }
    bool isRead() { return random.below(2) == 0; }
    uint64_t anyPage() { return random.below(order.size()); }

    static char byteOf(uint64_t value) { return static_cast<char>(value >> 56); }

  private:
    uint64_t bytes;
    Random random;
    std::vector<uint64_t> order;
};

struct OverwritesSettings {
    std::string file;
    std::vector<uint64_t> times = {0, 1, 2, 4, 8, 16, 32, 64};
    uint64_t pages = 64, bytes = 256, reads = 2, mixed = 0, seed = 1;
};

[[noreturn]] inline void failed(const char *what, const std::string &file) {
    throw std::system_error(errno, std::generic_category(), std::string("cannot ") + what + " " + file);
}

// The file that is overwritten `times` times, or by mixed calls.
class OverwrittenFile {
  public:
    OverwrittenFile(const OverwritesSettings &options, uint64_t times)
        : options(options), times(times), name(options.file + "-" + std::to_string(times)), page(WholeBytes) {
        file = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0)
            failed("create", name);
        for (uint64_t at = 0; at < options.pages; at++)
            if (pwrite(file, page.data(), WholeBytes, placeOf(at)) != static_cast<ssize_t>(WholeBytes))
                failed("write", name);
        if (fsync(file) < 0)
            failed("synchronise", name);
        latencies.calibrate(nowNs);
    }
    ~OverwrittenFile() { close(file); }
    OverwrittenFile(const OverwrittenFile &) = delete;
    OverwrittenFile &operator=(const OverwrittenFile &) = delete;

    void run() {
        perform([this](const PageWrite &write) { overwrite(write); },
                [this](uint64_t at, uint64_t turn) { read(at, turn); }, true);
    }

    // Throws if a byte is not the one that was written last.
    void verify() {
        std::vector<char> wanted(options.pages * WholeBytes);
        perform(
            [&](const PageWrite &write) {
                memset(&wanted[write.page * WholeBytes + write.at], Overwrites::byteOf(write.value), options.bytes);
            },
            [](uint64_t, uint64_t) {}, false);
        for (uint64_t at = 0; at < options.pages; at++)
            if (pread(file, page.data(), WholeBytes, placeOf(at)) != static_cast<ssize_t>(WholeBytes) ||
                memcmp(page.data(), &wanted[at * WholeBytes], WholeBytes) != 0)
                throw std::runtime_error(name + " has other bytes in page " + std::to_string(at) +
                                         " than were written");
    }

    void print() const {
        Report row;
        row.add("program", "overwrites").add("times", times).add("pages", options.pages);
        row.add("bytes", options.bytes).add("mixed", options.mixed).add("seed", options.seed);
        Report whole = row;
        whole.add("roi_ns", roi_ns).add("writes", writes).addBool("verified", true);
        for (size_t kind = 0; kind < Kinds; kind++)
            whole.add(std::string(Names[kind]) + "_calls", calls[kind]).add(std::string(Names[kind]) + "_ns", ns[kind]);
        whole.print();
        latencies.print(row, Names);
    }

  private:
    static constexpr size_t Kinds = 3;
    static constexpr std::array<const char *, Kinds> Names = {"write", "read", "read_again"};

    static off_t placeOf(uint64_t at) { return static_cast<off_t>(at * WholeBytes); }

    template <class Write, class Read> void perform(Write &&write, Read &&read, bool measured) {
        Overwrites numbers(options.pages, options.bytes, options.seed);
        uint64_t begin_ns = nowNs();
        if (measured)
            testbed_roi_begin(1);
        for (uint64_t call = 0; call < options.mixed; call++)
            if (numbers.isRead())
                read(numbers.anyPage(), 0);
            else
                write(numbers.any());
        for (uint64_t turn = 0; !options.mixed && turn < times; turn++)
            for (uint64_t at : numbers.shuffled())
                write(numbers.of(at));
        for (uint64_t turn = 0; !options.mixed && turn < options.reads; turn++)
            for (uint64_t at : numbers.shuffled())
                read(at, turn);
        if (measured) {
            testbed_roi_end();
            roi_ns = nowNs() - begin_ns;
        }
    }

    void overwrite(const PageWrite &write) {
        memset(page.data(), Overwrites::byteOf(write.value), options.bytes);
        uint64_t begin_ns = nowNs();
        ssize_t done = pwrite(file, page.data(), options.bytes, placeOf(write.page) + static_cast<off_t>(write.at));
        did(0, begin_ns);
        writes++;
        if (done != static_cast<ssize_t>(options.bytes))
            failed("write", name);
    }

    void read(uint64_t at, uint64_t turn) {
        uint64_t begin_ns = nowNs();
        ssize_t done = pread(file, page.data(), WholeBytes, placeOf(at));
        did(turn ? 2 : 1, begin_ns);
        if (done != static_cast<ssize_t>(WholeBytes))
            failed("read", name);
    }

    void did(size_t kind, uint64_t begin_ns) {
        uint64_t took_ns = nowNs() - begin_ns;
        calls[kind]++;
        ns[kind] += took_ns;
        latencies.record(kind, took_ns);
    }

    const OverwritesSettings &options;
    uint64_t times;
    std::string name;
    std::vector<char> page;
    int file = -1;
    Latencies<Kinds> latencies;
    std::array<uint64_t, Kinds> calls{}, ns{};
    uint64_t writes = 0, roi_ns = 0;
};

} // namespace workloads
