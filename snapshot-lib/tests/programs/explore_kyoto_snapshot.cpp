// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of Kyoto Cabinet on Snapshot: the same transactions as in explore_kyoto_wal, at every line and fence
// that the runtime writes (tests/rigs/image.hpp states the model of persistent memory). Every state is opened by Kyoto
// and compared with the contents before and after the transaction.
//
//     explore_kyoto_snapshot DIRECTORY tree|hash
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/syscall.h>
#include <unistd.h>

#include "image.hpp"
#include "kyoto_transactions.hpp"
#include "report.hpp"
#include "runtime_under_test.hpp"
#include "watched_files.hpp"

using namespace programs;

static constexpr size_t ExhaustiveLines = 3, Samples = 3;
static constexpr unsigned Changes[] = {1, 6, 60};

// The address of the only mapping, caught between Kyoto and the library's mmap().
static void *mapping_address;

extern "C" {
void *__real_mmap64(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset);
void *__wrap_mmap64(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    return mapping_address = __real_mmap64(hint, bytes, protection, flags, fd, offset);
}
}

struct Explorer {
    std::string path;
    KyotoShape shape{};
    Contents before, after;
    uint64_t points = 0, states = 0, violations = 0;

    // As a crash does it: by the system calls themselves, which the library does not follow.
    static void write(const std::string &path, const uint8_t *bytes, size_t size) {
        long fd = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || syscall(SYS_write, fd, bytes, size) != static_cast<long>(size))
            std::abort();
        syscall(SYS_close, fd);
    }

    // In place: the log knows its file by its inode.
    void restore(Image &image) const {
        write(path, image.dataBytes(), image.dataSize());
        write(path + ".snapshot-log", image.logBytes(), image.logSize());
    }

    int open(bool is_committed) const {
        try {
            KyotoStore store(path, shape, false);
            return (!is_committed && holds(store, before)) || holds(store, after) ? 0 : 1;
        } catch (const std::exception &) {
            return 1;
        }
    }

    void check(const Crash &crash, Image &image) {
        restore(image);
        states++;
        points += crash.ordinal == 0;
        if (answerOf([&] { return open(crash.is_last); }) != 0 && violations++ < 3)
            fprintf(stderr, "violation at event %zu, image %lu\n", crash.position, crash.ordinal);
    }
};

struct Trace {
    Mapping mapping;
    Image start, end;
    Recorder events;
};

static Image imageOf(const Mapping &mapping) {
    return ::imageOf(mapping.log, mapping.log_bytes, mapping.data, mapping.data_bytes);
}

// One transaction on the present content of the file. The database is closed again: a file cannot be open twice.
static Trace traceOf(const Explorer &explorer, const std::vector<Change> &changes) {
    KyotoStore store(explorer.path, explorer.shape, false);
    struct log_view log{}, backing{};
    if (snapshot_test_views(mapping_address, &log, &backing) != 0)
        throw std::runtime_error("Kyoto Cabinet's mapping is not tracked");
    Trace trace{.mapping = {log.base, backing.base, log.bytes, backing.bytes}, .start = {}, .end = {}, .events = {}};
    trace.start = imageOf(trace.mapping);
    recorder = &trace.events;
    store.begin();
    applyTo(changes, store);
    store.commit(0);
    recorder = nullptr;
    trace.end = imageOf(trace.mapping);
    return trace;
}

static void explore(Explorer &explorer) {
    explorer.before = explorer.after = createDatabase(explorer.path, explorer.shape);
    std::mt19937_64 random(11);
    for (unsigned count : Changes) {
        std::vector<Change> changes = changesOf(count, random);
        applyTo(changes, explorer.after);
        Trace trace = traceOf(explorer, changes);
        exploreCrashes(trace.start, trace.mapping, trace.events.events, ExhaustiveLines, Samples, count,
                       [&](const Crash &crash, Image &image) { explorer.check(crash, image); });
        explorer.restore(trace.end);
        explorer.before = explorer.after;
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    Explorer explorer;
    explorer.path = std::string(argv[1]) + "/database";
    explorer.shape = smallShape(strcmp(argv[2], "tree") == 0);
    explore(explorer);
    std::filesystem::remove_all(argv[1]);
    workloads::Report report;
    report.add("program", "explore-kyoto-snapshot").add("db", argv[2]);
    report.add("points", explorer.points).add("states", explorer.states).add("violations", explorer.violations).print();
    return explorer.violations ? 1 : 0;
}
