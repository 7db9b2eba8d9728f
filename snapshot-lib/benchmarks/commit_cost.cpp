// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of a commit under each protocol, natively: fences, bytes to the log, bytes to the file, and nanoseconds from
// the first store to the end of the commit, for commits of 1 to 1000 lines.
//
//     commit_cost FILE [COMMITS]
//
// "hot": every commit changes the same lines. "cold": each changes other lines, random ones. Protocols take turns, and
// the median of the turns counts; the last column is the time as a multiple of the first protocol's, of the same run.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include "snapshot/snapshot.h"

static constexpr size_t FileBytes = 64 << 20;
static constexpr unsigned Turns = 5;

struct Protocol {
    const char *name;
    unsigned flag;
};

static constexpr std::array<Protocol, 4> Protocols = {{{"line", SNAPSHOT_PROTOCOL_LINE},
                                                       {"undo", SNAPSHOT_PROTOCOL_UNDO},
                                                       {"undo-nv", SNAPSHOT_PROTOCOL_UNDO_NV},
                                                       {"redo", SNAPSHOT_PROTOCOL_REDO}}};

struct Cost {
    double fences, log_bytes, data_bytes, ns;
};

static void check(int status, const char *what) {
    if (status < 0) {
        fprintf(stderr, "commit_cost: %s: %s\n", what, strerror(-status));
        exit(2);
    }
}

static void store(uint8_t *line, uint64_t value) {
    snapshot_log_range(line, sizeof(value));
    memcpy(line, &value, sizeof(value));
}

static Cost measure(const std::string &path, const Protocol &protocol, size_t lines, bool hot, size_t commits) {
    void *address = nullptr;
    check(snapshot_map(path.c_str(), FileBytes, SNAPSHOT_POPULATE | protocol.flag, nullptr, &address), path.c_str());
    auto *file = static_cast<uint8_t *>(address);
    std::mt19937_64 random(1);
    std::vector<size_t> places(lines * (hot ? 1 : commits));
    for (size_t &place : places)
        place = random() % (FileBytes / 64) * 64;
    struct snapshot_stats before{}, after{};
    snapshot_get_stats(file, &before);
    auto begin = std::chrono::steady_clock::now();
    for (size_t commit = 0; commit < commits; commit++) {
        for (size_t i = 0; i < lines; i++)
            store(file + places[hot ? i : commit * lines + i], commit);
        check(snapshot_sync(file), "snapshot_sync");
    }
    std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - begin;
    snapshot_get_stats(file, &after);
    snapshot_unmap(file);
    auto each = [&](uint64_t a, uint64_t b) { return static_cast<double>(b - a) / static_cast<double>(commits); };
    return {each(before.fences, after.fences), each(before.log_bytes, after.log_bytes),
            each(before.data_bytes, after.data_bytes), time.count() / static_cast<double>(commits)};
}

static void compare(const std::string &path, size_t lines, bool hot, size_t commits) {
    std::array<std::vector<Cost>, Protocols.size()> costs;
    for (unsigned turn = 0; turn < Turns; turn++)
        for (size_t i = 0; i < Protocols.size(); i++)
            costs[i].push_back(measure(path, Protocols[i], lines, hot, commits));
    double first_ns = 0;
    for (size_t i = 0; i < Protocols.size(); i++) {
        std::sort(costs[i].begin(), costs[i].end(), [](const Cost &a, const Cost &b) { return a.ns < b.ns; });
        const Cost &cost = costs[i][Turns / 2];
        first_ns = i == 0 ? cost.ns : first_ns;
        printf("%5zu %-5s %-8s %7.2f %10.1f %11.1f %10.0f %6.2f\n", lines, hot ? "hot" : "cold", Protocols[i].name,
               cost.fences, cost.log_bytes, cost.data_bytes, cost.ns, cost.ns / first_ns);
    }
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: commit_cost FILE [COMMITS]\n");
        return 2;
    }
    size_t commits = argc > 2 ? strtoul(argv[2], nullptr, 10) : 2000;
    if (commits == 0) {
        fprintf(stderr, "commit_cost: COMMITS must be a positive number\n");
        return 2;
    }
    printf("lines where protocol  fences  log bytes  data bytes  ns/commit  ratio\n");
    for (size_t lines : {1, 2, 10, 100, 1000})
        for (bool hot : {true, false})
            compare(argv[1], lines, hot, lines > 100 ? (commits + 9) / 10 : commits);
    unlink(argv[1]);
    unlink((std::string(argv[1]) + ".snapshot-log").c_str());
    return 0;
}
