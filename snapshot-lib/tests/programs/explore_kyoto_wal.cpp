// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of stock Kyoto Cabinet with its own write-ahead log and hard transactions, under the model of
// the rig power_cut/folders.hpp. Every state is opened by Kyoto, which recovers it, and compared with the contents
// before and after the transaction. The program prints counts; explorers_test.py has the expected ones.
//
//     explore_kyoto_wal DIRECTORY tree|hash posix|with-file
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "kyoto_transactions.hpp"
#include "report.hpp"
#include "watched_files.hpp"

using namespace programs;

static constexpr FolderSampling Cuts = {.steps = {.exhaustive = 16, .random = 3},
                                        .content = {.exhaustive = 8, .random = 4}};
static constexpr unsigned Changes[] = {1, 6, 90, 90}; // of each transaction: the last two log more than a page

struct Explorer {
    std::string directory;
    KyotoShape shape{};
    Contents before, after;
    bool is_committed = false;
    uint64_t points = 0, states = 0, violations = 0, log_lost = 0, log_void = 0, log_torn = 0, refused = 0, crashed = 0;

    enum Answer { Before, After, Neither, Refused };

    static void write(const std::string &path, const WatchedFiles::Content &content) {
        std::filesystem::remove(path);
        if (content.exists)
            std::ofstream(path, std::ios::binary) << content.bytes;
    }

    int open(const std::string &path) const {
        watched_files = nullptr; // in this child
        try {
            KyotoStore store(path, shape, false);
            return holds(store, before) ? Before : holds(store, after) ? After : Neither;
        } catch (const std::exception &) {
            return Refused;
        }
    }

    // Why recovery could not help: its log was gone, said that there was nothing to undo, or was there in parts.
    void violation(const WatchedFiles::State &state, int answer) {
        const WatchedFiles::Content &log = state[1];
        bool is_void = log.bytes.empty() || log.bytes[0] == 0;
        violations++;
        refused += answer == Refused;
        crashed += answer < 0;
        (!log.exists ? log_lost : is_void ? log_void : log_torn)++;
    }

    void check(const WatchedFiles::State &state) {
        std::string path = directory + "/crashed";
        write(path, state[0]);
        write(path + ".wal", state[1]);
        int answer = answerOf([&] { return open(path); });
        states++;
        bool same = before == after && (answer == Before || answer == After);
        if (!same && answer != After && (is_committed || answer != Before))
            violation(state, answer);
    }

    void point() {
        points++;
        watched_files->forEachState(Cuts, [this](const WatchedFiles::State &state) { check(state); });
    }
};

static void explore(Explorer &explorer, NameRule rule) {
    std::string path = explorer.directory + "/database";
    explorer.before = explorer.after = createDatabase(path, explorer.shape);
    std::mt19937_64 random(11);
    WatchedFiles files({path, path + ".wal"}, rule, [&] { explorer.point(); });
    KyotoStore store(path, explorer.shape, false);
    for (unsigned count : Changes) {
        std::vector<Change> changes = changesOf(count, random);
        applyTo(changes, explorer.after);
        explorer.is_committed = false;
        store.begin();
        applyTo(changes, store);
        store.commit(0);
        explorer.is_committed = true;
        files.look();
        explorer.point();
        explorer.before = explorer.after;
    }
    watched_files = nullptr;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    bool is_tree = strcmp(argv[2], "tree") == 0;
    Explorer explorer;
    explorer.directory = std::filesystem::canonical(argv[1]);
    explorer.shape = smallShape(is_tree);
    explore(explorer, strcmp(argv[3], "posix") == 0 ? NameRule::Posix : NameRule::WithFile);
    std::filesystem::remove_all(argv[1]);
    workloads::Report report;
    report.add("program", "explore-kyoto-wal").add("db", argv[2]).add("names", argv[3]);
    report.add("points", explorer.points).add("states", explorer.states).add("violations", explorer.violations);
    report.add("log_lost", explorer.log_lost).add("log_void", explorer.log_void).add("log_torn", explorer.log_torn);
    report.add("refused", explorer.refused).add("crashed", explorer.crashed).print();
    return 0;
}
