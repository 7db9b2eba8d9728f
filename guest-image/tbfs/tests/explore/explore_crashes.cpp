// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of sequences of one and of two operations, the first one durable. In each state that a power cut could
// leave during the last one, recovery must find the tree before it or after it, the checker no fault, and the file
// system must be usable; also if the power is cut again during recovery, or during another operation after it.
//
//     explore_crashes DATA ATOMIC_BYTES one|two|wrap [BUG]
//
// DATA is inplace or cow. With the name of a seeded bug it succeeds if the bug is caught. TORN_UNITS is none of the
// core's: lines do not travel whole then.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "operations.hpp"
#include "oracle.hpp"

extern "C" const char *tbfs_seeded_bug;
const char *tbfs_seeded_bug = "";

static constexpr uint64_t Blocks = 60, Inodes = 24;

// How much is explored: one in so many states is cut again in recovery, or followed by another operation and a cut.
struct Depth {
    size_t exhaustive, samples, recovery_every, chain_every;
};
static Depth depth = {48, 12, 31, 199};

static struct tbfs_options options;
static bool tears_units;
static struct {
    uint64_t operations, states, recoveries, chains, violations;
} totals;

static void violation(const std::string &sequence, const std::string &what) {
    if (totals.violations++ < 5)
        fprintf(stderr, "violation: %s: %s\n", sequence.c_str(), what.c_str());
    if (*tbfs_seeded_bug) {
        printf("%s is caught in state %lu\n", tbfs_seeded_bug, totals.states);
        exit(0);
    }
}

// A sequence, and what its last operation may leave.
struct Trial {
    std::string sequence;
    Oracle oracle;
    size_t ordinal;
    bool is_chained;
};

// Each file grows without showing anything, each directory takes a name and gives it up.
static void use(Mounted &mounted, const Tree &tree) {
    for (const auto &[path, node] : tree) {
        std::string name = (path == "/" ? "" : path) + "/probe";
        uint64_t size = node.content.size() + 5000;
        bool works =
            !S_ISREG(node.mode) || run(mounted.fs(), {.kind = Operation::Truncate, .path = path, .offset = size}) == 0;
        if (S_ISDIR(node.mode))
            works = run(mounted.fs(), {.kind = Operation::Create, .path = name}) == 0 &&
                    run(mounted.fs(), {.kind = Operation::Unlink, .path = name}) == 0;
        if (!works)
            throw std::runtime_error(path + " cannot be used");
    }
    for (const auto &[path, node] : mounted.tree()) {
        const Node &old = tree.at(path);
        if (S_ISREG(node.mode) &&
            node.content != old.content + std::string(node.content.size() - old.content.size(), 0))
            throw std::runtime_error(path + " shows what was behind its end");
    }
}

static void mustBeSound(Mounted &mounted) {
    if (mounted.status() < 0)
        throw std::runtime_error("the mount says " + std::to_string(mounted.status()));
    for (const std::string &fault : mounted.faults())
        throw std::runtime_error(fault);
}

static void judge(const Trial &trial, Medium &medium, bool has_returned) {
    try {
        Mounted mounted(medium, options);
        mustBeSound(mounted);
        Snapshot found = snapshotOf(mounted);
        if (auto wrong = trial.oracle.judge(found, has_returned))
            throw std::runtime_error(*wrong);
        if (totals.states % 3 == 0) {
            use(mounted, found.tree);
            mustBeSound(mounted);
        }
    } catch (const std::runtime_error &error) {
        violation(trial.sequence, error.what());
    }
}

// The power is cut while this state is being recovered.
static void cutRecovery(const Trial &trial, Medium &medium, bool has_returned) {
    std::vector<PersistEvent> events;
    {
        Recorder recording(nullptr);
        recorder = &recording;
        Mounted mounted(medium, options);
        events = recording.events;
    }
    exploreCrashes(medium, events, 12, 4, totals.states, [&](Medium &again, bool) {
        totals.recoveries++;
        judge(trial, again, has_returned);
    });
}

static void explore(const std::string &sequence, Medium &start, const Operation &operation, size_t ordinal,
                    bool is_chained);

static void exploreState(const Trial &trial, Medium &medium, bool has_returned) {
    totals.states++;
    judge(trial, medium, has_returned);
    if (totals.states % depth.recovery_every == 0)
        cutRecovery(trial, medium, has_returned);
    if (totals.states % depth.chain_every == 0 && !trial.is_chained) {
        totals.chains++;
        explore(trial.sequence + ", crash, ", medium, operations[totals.states % operations.size()], trial.ordinal,
                true);
    }
}

static void explore(const std::string &sequence, Medium &start, const Operation &operation, size_t ordinal,
                    bool is_chained) {
    Mounted live(start, options);
    if (live.status() < 0)
        return; // a violation that has been told
    Operation last = operation;
    last.now = 3000;
    Snapshot before = snapshotOf(live);
    Medium medium = live.medium();
    std::vector<PersistEvent> events;
    {
        Recorder recording(live.fs()->space.base);
        recording.tears_units = tears_units;
        recorder = &recording;
        run(live.fs(), last);
        events = recording.events;
    }
    totals.operations++;
    Trial trial{sequence + describe(last), Oracle(before, snapshotOf(live), last, options.data), ordinal, is_chained};
    exploreCrashes(medium, events, depth.exhaustive, depth.samples, ordinal,
                   [&](Medium &state, bool is_end) { exploreState(trial, state, is_end); });
}

static Medium prepared() {
    Medium medium = makeMedium(Blocks, Inodes);
    Mounted mounted(medium, options);
    mustBeSound(mounted);
    for (Operation operation : preparation) {
        operation.now = 2000;
        if (run(mounted.fs(), operation) < 0)
            throw std::runtime_error("cannot prepare: " + describe(operation));
    }
    return mounted.medium();
}

static Medium after(Medium &start, Operation operation, std::string &sequence) {
    Mounted mounted(start, options);
    operation.now = 2500;
    run(mounted.fs(), operation);
    sequence = describe(operation) + ", ";
    return mounted.medium();
}

// The journal's end is near, so that the next transactions go around.
static Medium nearJournalEnd(Medium &start, uint32_t entries_left) {
    Mounted mounted(start, options);
    struct tbfs *fs = mounted.fs();
    for (Operation::Kind kind = Operation::Create; fs->journal.capacity - fs->journal.tail > entries_left;
         kind = kind == Operation::Create ? Operation::Unlink : Operation::Create)
        run(fs, {.kind = kind, .path = "/around", .now = 2000});
    if (resolve(fs, "/around") > 0)
        run(fs, {.kind = Operation::Unlink, .path = "/around", .now = 2000});
    return mounted.medium();
}

static void exploreAll(const std::string &lengths) {
    Medium start = prepared();
    for (size_t i = 0; i < operations.size(); i++) {
        if (lengths == "one")
            explore("", start, operations[i], i, false);
        for (uint32_t left = 8; lengths == "wrap" && left < 20; left += 4) {
            Medium end = nearJournalEnd(start, left);
            explore("near the journal's end, ", end, operations[i], i, false);
        }
        std::string sequence;
        Medium middle = after(start, operations[i], sequence);
        for (size_t j = 0; lengths == "two" && j < operations.size(); j++)
            explore(sequence, middle, operations[j], i * operations.size() + j, false);
    }
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    options.data = strcmp(argv[1], "cow") == 0 ? TBFS_DATA_COW : TBFS_DATA_INPLACE;
    options.atomic_bytes = static_cast<unsigned>(atoi(argv[2]));
    if (argc > 4)
        tbfs_seeded_bug = argv[4];
    if (strcmp(argv[3], "two") == 0)
        depth = {10, 3, 97, 997};
    if (*tbfs_seeded_bug)
        depth.recovery_every = 7;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // media are made by the thousand
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    tears_units = strcmp(tbfs_seeded_bug, "TORN_UNITS") == 0;
    exploreAll(argv[3]);
    printf("%lu operations, %lu states, %lu of recovery, %lu chains: %lu violations\n", totals.operations,
           totals.states, totals.recoveries, totals.chains, totals.violations);
    return totals.violations > 0 || *tbfs_seeded_bug;
}
