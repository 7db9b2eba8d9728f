// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of sequences of one and of two operations, the first one durable. In each state that a power cut could
// leave during the last one, recovery must find the tree before it or after it, the checker no fault, and the file
// system must be usable; also if the power is cut again during recovery, or during another operation after it.
//
//     explore_crashes DATA ATOMIC_BYTES one|two|pair|triple|wrap|full [BUG]
//
// DATA is inplace, cow, hybrid, hybrid-pages or hybrid-idle, which merges logs in the background; with `logged-` before
// it the metadata's policy is `log`. Pairs and triples are of one mount, so that what the first ones have done need not
// be durable; triples are of the operations on logs. What an operation does must also be what it does in the model.
// With the name of a seeded bug it succeeds if the bug is caught. TORN_UNITS is none of the core's: lines do not travel
// whole then.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "model.hpp"
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
static std::vector<Operation> explored;
static bool tears_units, is_full;
static const std::string Filling = "/filling"; // takes all that is free of a full medium
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

// An operation on a medium that a seeded bug has spoilt may follow a link to nowhere.
static void onFault(int number) {
    dprintf(STDERR_FILENO, "violation: signal %d in state %lu\n", number, totals.states);
    _exit(*tbfs_seeded_bug ? 0 : 1);
}

// Where an operation begins. After a crash there is no model.
struct Start {
    Medium medium;
    std::optional<Model> model;
};

// A sequence, and what its last operation may leave.
struct Trial {
    std::string sequence;
    Oracle oracle;
    size_t ordinal;
    bool is_chained;
};

// Each file grows without showing anything, each directory takes a name and gives it up.
static void use(Mounted &mounted, Tree tree) {
    if (tree.erase(Filling) && run(mounted.fs(), {.kind = Operation::Unlink, .path = Filling}) < 0)
        throw std::runtime_error("what fills the medium cannot be removed");
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

static void explore(const std::string &sequence, Start &start, const Operation &operation, size_t ordinal,
                    const std::vector<Operation> &earlier = {});

static void exploreState(const Trial &trial, Medium &medium, bool has_returned) {
    totals.states++;
    judge(trial, medium, has_returned);
    if (totals.states % depth.recovery_every == 0)
        cutRecovery(trial, medium, has_returned);
    if (totals.states % depth.chain_every == 0 && !trial.is_chained) {
        totals.chains++;
        Start crashed = {medium, std::nullopt};
        explore(trial.sequence + ", crash, ", crashed, explored[totals.states % explored.size()], trial.ordinal);
    }
}

static int64_t runOnBoth(Mounted &mounted, Start &start, Operation operation, uint32_t now) {
    operation.now = now;
    int64_t result = run(mounted.fs(), operation);
    if (start.model && result != -ENOSPC && start.model->run(operation) != result)
        violation(describe(operation), "it returns something else than in the model");
    return result;
}

// After each page but the last one: of a write in parts, and of a read, which merges one at a time. And after each step
// of merging in the background. In a mount that did the same before, so that the same blocks are taken.
static std::vector<Snapshot> stepsOf(const Start &start, const std::vector<Operation> &earlier, Operation operation,
                                     bool has_parts) {
    std::vector<Snapshot> steps;
    uint64_t end = operation.offset + operation.bytes;
    bool merges = operation.kind == Operation::MergeSome;
    if (!merges && operation.kind != Operation::Read && !(operation.kind == Operation::Write && has_parts))
        return steps;
    uint64_t unit = merges ? 1 : TBFS_BLOCK_BYTES;
    for (uint64_t at = operation.offset / unit + 1; at * unit < end; at++) {
        Medium medium = start.medium;
        Mounted mounted(medium, options);
        for (const Operation &one : earlier)
            run(mounted.fs(), one);
        operation.bytes = at * unit - operation.offset;
        run(mounted.fs(), operation);
        steps.push_back(snapshotOf(mounted));
    }
    return steps;
}

static uint64_t commitsOf(const struct tbfs_counters &counters) {
    return counters.transactions + counters.atomic_updates - counters.merges;
}

// What the earlier ones have left in the same mount is perhaps not durable.
static void explore(const std::string &sequence, Start &start, const Operation &operation, size_t ordinal,
                    const std::vector<Operation> &earlier) {
    Mounted live(start.medium, options);
    Start after = {{}, start.model};
    if (live.status() < 0)
        return; // a violation that has been told
    Operation last = operation;
    last.now = 3000;
    Medium durable = live.medium();
    Snapshot before;
    std::vector<PersistEvent> events;
    uint64_t commits;
    size_t passed;
    {
        Recorder recording(live.fs()->space.base);
        recording.tears_units = tears_units;
        recorder = &recording;
        for (const Operation &one : earlier)
            runOnBoth(live, after, one, one.now);
        passed = recording.events.size();
        before = snapshotOf(live);
        commits = commitsOf(live.fs()->counters);
        runOnBoth(live, after, last, last.now);
        events = recording.events;
    }
    totals.operations++;
    bool has_parts = commitsOf(live.fs()->counters) > commits + 1; // each page alone, or for want of room
    Oracle oracle(before, stepsOf(start, earlier, last, has_parts), snapshotOf(live), last, options.data);
    oracle.merges_first = is_full;
    Trial trial{sequence + describe(last), oracle, ordinal, !start.model};
    Tree found = withoutNumbers(oracle.after.tree);
    if (after.model && !(found == after.model->tree()))
        violation(trial.sequence, "not as in the model: " + describe(found, after.model->tree()));
    exploreCrashes(
        durable, events, depth.exhaustive, depth.samples, ordinal,
        [&](Medium &state, bool is_end) { exploreState(trial, state, is_end); }, passed);
}

static Start prepared() {
    Start start = {makeMedium(Blocks, Inodes), Model()};
    Mounted mounted(start.medium, options);
    mustBeSound(mounted);
    std::vector<Operation> all = preparation;
    if (options.data == TBFS_DATA_HYBRID)
        all.insert(all.end(), hybrid_preparation.begin(), hybrid_preparation.end());
    for (const Operation &operation : all)
        if (runOnBoth(mounted, start, operation, 2000) < 0)
            throw std::runtime_error("cannot prepare: " + describe(operation));
    start.medium = mounted.medium();
    return start;
}

static Start after(Start start, const Operation &operation, std::string &sequence) {
    Mounted mounted(start.medium, options);
    runOnBoth(mounted, start, operation, 2500);
    sequence = describe(operation) + ", ";
    start.medium = mounted.medium();
    return start;
}

// The journal's end is near, so that the next transactions go around.
static Start nearJournalEnd(Start start, uint32_t entries_left) {
    Mounted mounted(start.medium, options);
    struct tbfs *fs = mounted.fs();
    for (Operation::Kind kind = Operation::Create; fs->journal.capacity - fs->journal.tail > entries_left;
         kind = kind == Operation::Create ? Operation::Unlink : Operation::Create)
        runOnBoth(mounted, start, {.kind = kind, .path = "/around"}, 2000);
    if (resolve(fs, "/around") > 0)
        runOnBoth(mounted, start, {.kind = Operation::Unlink, .path = "/around"}, 2000);
    start.medium = mounted.medium();
    return start;
}

// So that what needs room merges logs.
static Start filled(Start start) {
    Mounted mounted(start.medium, options);
    runOnBoth(mounted, start, {.kind = Operation::Create, .path = Filling}, 2000);
    for (uint64_t at = 0; mounted.freeBlocks() > 0; at += TBFS_BLOCK_BYTES)
        runOnBoth(mounted, start, {.kind = Operation::Write, .path = Filling, .offset = at, .bytes = TBFS_BLOCK_BYTES},
                  2000);
    start.medium = mounted.medium();
    return start;
}

// Two operations that are of another policy are left out: they are explored with that. These begin here.
static size_t own_operations;
static size_t log_operations; // those on logs do
static bool isOfPolicy(size_t ordinal) { return ordinal >= own_operations; }

// Logged, of a file that nothing else is.
static const Operation OfItsOwn = {.kind = Operation::SetMode, .path = "/d/i", .flags = 0640, .now = 2500};

static Operation at(const Operation &operation, uint32_t now) {
    Operation result = operation;
    result.now = now;
    return result;
}

static void explorePairs(Start &start, size_t i) {
    for (size_t j = 0; j < explored.size(); j++)
        for (uint32_t now : {2500, 3000})
            explore("at once after " + describe(explored[i]) + ", ", start, explored[j], i * explored.size() + j,
                    {at(explored[i], now)});
}

// All at one time, so that less changes, and more of that in one store.
static void exploreTriples(Start &start, size_t i) {
    for (size_t j = log_operations; j < explored.size() && i >= log_operations; j++)
        for (size_t k = log_operations; k < explored.size(); k++)
            explore("at once after " + describe(explored[i]) + ", " + describe(explored[j]) + ", ", start, explored[k],
                    (i * explored.size() + j) * explored.size() + k, {at(explored[i], 3000), at(explored[j], 3000)});
}

static void exploreAll(const std::string &lengths) {
    Start start = is_full ? filled(prepared()) : prepared();
    for (size_t i = 0; i < explored.size(); i++) {
        if (lengths == "one" || is_full)
            explore(is_full ? "on a full medium, " : "", start, explored[i], i);
        for (uint32_t left = 8; lengths == "wrap" && left < 20; left += 4) {
            Start end = nearJournalEnd(start, left);
            explore("near the journal's end, ", end, explored[i], i);
            explore("near the journal's end, after another one, ", end, explored[i], i, {OfItsOwn});
        }
        if (lengths == "pair")
            explorePairs(start, i);
        if (lengths == "triple")
            exploreTriples(start, i);
        std::string sequence;
        Start middle = after(start, explored[i], sequence);
        for (size_t j = 0; lengths == "two" && j < explored.size(); j++)
            if (isOfPolicy(i) || isOfPolicy(j))
                explore(sequence, middle, explored[j], i * explored.size() + j);
    }
}

static const std::string Logged = "logged-";

// With logs each read of one merges it. The second kind has all that is unusual about them, the third merges only if
// it is told to.
static bool chooseData(std::string name) {
    static const struct tbfs_hybrid by_call = {0, 0, 0, 1, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 0, 0, 0},
                                    by_page = {512, 64, 4095, 1, TBFS_READ_FORWARD, TBFS_MULTI_PAGE, 0, 0, 0},
                                    idle = {512, 0, 0, TBFS_GC_NEVER, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 100, 0, 0};
    if (name.starts_with(Logged)) {
        options.metadata = TBFS_METADATA_LOG;
        name.erase(0, Logged.size());
    }
    bool has_logs = name.starts_with("hybrid"), is_idle = name == "hybrid-idle";
    explored = is_idle ? hybrid_operations : operations;
    own_operations = has_logs ? explored.size() : 0;
    log_operations = is_idle ? 0 : own_operations;
    const std::vector<Operation> &own = is_idle ? idle_operations : hybrid_operations;
    if (has_logs)
        explored.insert(explored.end(), own.begin(), own.end());
    options.data = has_logs ? TBFS_DATA_HYBRID : name == "cow" ? TBFS_DATA_COW : TBFS_DATA_INPLACE;
    if (has_logs)
        options.hybrid = name == "hybrid" ? by_call : is_idle ? idle : by_page;
    return has_logs || name == "cow" || name == "inplace";
}

int main(int argc, char **argv) {
    if (argc < 4 || !chooseData(argv[1]))
        return 2;
    options.atomic_bytes = static_cast<unsigned>(atoi(argv[2]));
    if (argc > 4)
        tbfs_seeded_bug = argv[4];
    is_full = strcmp(argv[3], "full") == 0;
    if (strcmp(argv[3], "one") != 0 && strcmp(argv[3], "wrap") != 0 && !is_full)
        depth = {10, 3, 97, 997};
    if (*tbfs_seeded_bug)
        depth.recovery_every = 7, depth.chain_every = 37;
    signal(SIGSEGV, onFault);
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // media are made by the thousand
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    tears_units = strcmp(tbfs_seeded_bug, "TORN_UNITS") == 0;
    exploreAll(argv[3]);
    printf("%lu operations, %lu states, %lu of recovery, %lu chains: %lu violations\n", totals.operations,
           totals.states, totals.recoveries, totals.chains, totals.violations);
    return totals.violations > 0 || *tbfs_seeded_bug;
}
