// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that read statistics beside one that stores, commits and rolls back; under ThreadSanitizer. The number of
// commits gives the number of logged lines, so a reader notices counts that are not of one moment. The log grows within
// commits and, with an undo log, within stores.
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "runtime_under_test.hpp"

static constexpr unsigned Commits = 60, Readers = 2;
static constexpr size_t LinesMore = 40, Bytes = 64 * LinesMore * Commits;

const char *seeded_bug = "";

static std::atomic<int> failures;

static void expect(bool condition, const char *what) {
    if (!condition && failures++ < 5)
        fprintf(stderr, "%s\n", what);
}

// Each commit has `LinesMore` lines more than the one before.
static constexpr uint64_t linesOf(uint64_t commits) { return LinesMore * commits * (commits + 1) / 2; }

// Not beside readStats() in one thread: that waits for commits.
static void readEpochStats(const TrackedFile &file, const std::atomic<bool> &done) {
    struct snapshot_epochs_stats stats{};
    while (!done && snapshot_epochs_get_stats(file.working(), &stats) == 0) {
        expect(stats.replayed_epochs <= stats.checkpoints && stats.epoch_replayed <= stats.epoch_durable,
               "an epoch is replayed before it is durable");
        std::this_thread::yield(); // or the commits never get the lock
    }
}

static void readStats(const TrackedFile &file, const std::atomic<bool> &done) {
    struct snapshot_stats before{};
    while (!done) {
        struct snapshot_stats stats{};
        expect(snapshot_get_stats(file.working(), &stats) == 0, "no statistics");
        expect(stats.lines_logged == linesOf(stats.commits), "the statistics are not of one moment");
        expect(stats.commits >= before.commits && stats.fences >= before.fences, "a count goes back");
        expect(stats.log_file_bytes >= before.log_file_bytes, "the log shrinks");
        before = stats;
    }
}

static void storeLines(const TrackedFile &file, size_t count, uint64_t value) {
    for (size_t line = 0; line < count; line++)
        trackedStore(file.working() + 64 * line, value);
}

static void work(TrackedFile &file) {
    for (unsigned commit = 1; commit <= Commits; commit++) {
        storeLines(file, LinesMore * commit, commit);
        if (commit % 16 == 7) {
            expect(snapshot_rollback(file.working()) == 0, "a rollback fails");
            storeLines(file, LinesMore * commit, commit);
        }
        expect(file.commit() == 0, "a commit fails");
    }
}

// Replays count, too.
static void startEpochs(const TrackedFile &file, const Protocol &protocol) {
    struct snapshot_epochs options{};
    options.period_ns = SNAPSHOT_EPOCHS_BY_CALL;
    options.timeout_ns = 60000000000;
    options.flags = SNAPSHOT_REPLAY_BACKGROUND;
    int expected = protocol.flag == SNAPSHOT_PROTOCOL_EPOCH ? 0 : -EOPNOTSUPP;
    expect(snapshot_epochs_start(file.working(), &options) == expected, "epochs cannot be started");
}

static void run(const std::string &path, const Protocol &protocol) {
    TrackedFile file(path, Bytes, protocol.flag);
    expect(file.error() == 0, "the file does not open");
    startEpochs(file, protocol);
    std::atomic<bool> done = false;
    std::vector<std::thread> readers;
    for (unsigned reader = 0; reader < Readers; reader++)
        readers.emplace_back(readStats, std::cref(file), std::cref(done));
    readers.emplace_back(readEpochStats, std::cref(file), std::cref(done));
    work(file);
    done = true;
    for (std::thread &reader : readers)
        reader.join();
    struct snapshot_stats stats = file.stats();
    expect(stats.commits == Commits && stats.lines_logged == linesOf(Commits), "a commit is not counted");
    expect(stats.log_file_bytes == file.mapping().log_bytes, "the size of the log is not what it is");
}

// Many short checkpoints: a reader seldom meets a count that is updated without a lock.
static void runCheckpoints(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    std::atomic<bool> done = false;
    std::thread reader(readEpochStats, std::cref(file), std::cref(done));
    for (unsigned commit = 1; commit <= 300; commit++) {
        trackedStore(file.working(), commit);
        expect(file.commit() == 0, "a checkpoint fails");
    }
    done = true;
    reader.join();
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    for (const Protocol &protocol : Protocols)
        run(std::string(argv[1]) + "/" + protocol.name, protocol);
    runCheckpoints(std::string(argv[1]) + "/checkpoints");
    std::filesystem::remove_all(argv[1]);
    return failures ? 1 : 0;
}
