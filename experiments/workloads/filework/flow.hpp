// SPDX-License-Identifier: BSD-3-Clause
//
// The two flows: the calls of a thread in one loop, and the total time of each kind of call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "file_set.hpp"
#include "random.hpp"

namespace workloads {

enum class Flow { Varmail, Webproxy };

enum Call : size_t { Delete, Create, Append, Sync, Open, Read, Close, Calls };
constexpr std::array<const char *, Calls> CallNames = {"delete", "create", "append", "fsync", "open", "read", "close"};

struct FlowCounts {
    std::array<uint64_t, Calls> calls{}, ns{};
    uint64_t written_bytes = 0, read_bytes = 0;

    void add(const FlowCounts &other) {
        for (size_t call = 0; call < Calls; call++) {
            calls[call] += other.calls[call];
            ns[call] += other.ns[call];
        }
        written_bytes += other.written_bytes;
        read_bytes += other.read_bytes;
    }
};

// One thread's hands. `Files` is a Folder, or a test's replacement of it.
template <class Files> class alignas(64) FlowThread {
  public:
    FlowThread(Flow flow, Files &files, FileSet &set, uint64_t seed, uint64_t append_bytes, uint64_t read_bytes)
        : flow(flow), files(files), set(set), seed(seed), append_bytes(append_bytes), buffer(read_bytes) {}

    // The calls depend on the loop's number and not on the thread.
    void loop(uint64_t number) {
        Random random(splitmix64(seed) + number);
        before_ns = nowNs();
        removeOne(random);
        if (flow == Flow::Varmail) {
            createOne(random, number, true);
            openOne(random, true);
            openOne(random, false);
        } else {
            createOne(random, number, false);
            for (int reads = 0; reads < 5; reads++)
                openOne(random, false);
        }
    }

    FlowCounts counts;

  private:
    void did(Call call) {
        uint64_t now_ns = nowNs();
        counts.calls[call]++;
        counts.ns[call] += now_ns - before_ns;
        before_ns = now_ns;
    }

    void removeOne(Random &random) {
        uint64_t file = set.takePresent(random);
        files.remove(file);
        set.giveBack(file, false);
        did(Delete);
    }

    void createOne(Random &random, uint64_t number, bool sync) {
        uint64_t file = set.takeAbsent(random);
        set[file] = {0, set.size() + number}; // a tag that none had before
        int opened = files.create(file);
        did(Create);
        appendTo(random, opened, file, sync);
        closeOne(opened, file);
    }

    void openOne(Random &random, bool append) {
        uint64_t file = set.takePresent(random);
        int opened = files.open(file);
        did(Open);
        files.readAll(opened, file, set[file], buffer);
        counts.read_bytes += set[file].bytes;
        did(Read);
        if (append)
            appendTo(random, opened, file, true);
        closeOne(opened, file);
    }

    // Up to, and never, `append_bytes`; nothing at all is a call that is left out.
    void appendTo(Random &random, int opened, uint64_t file, bool sync) {
        uint64_t bytes = random.below(append_bytes);
        files.append(opened, file, set[file], bytes);
        counts.written_bytes += bytes;
        did(Append);
        if (sync) {
            files.synchronise(opened, file);
            did(Sync);
        }
    }

    void closeOne(int opened, uint64_t file) {
        files.close(opened, file);
        set.giveBack(file, true);
        did(Close);
    }

    Flow flow;
    Files &files;
    FileSet &set;
    uint64_t seed, append_bytes, before_ns = 0;
    std::vector<char> buffer;
};

} // namespace workloads
