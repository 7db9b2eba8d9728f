// SPDX-License-Identifier: BSD-3-Clause
#include "explorer.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "oracle.hpp"

const char *seeded_bug = "";

static constexpr uint64_t Blocks = 60, BlocksWithOrphans = 90, Inodes = 24;

Depth depth = {{.exhaustive = 48, .random = 12, .alone = 16}, 31, 199};
struct tbfs_options options;
std::vector<Operation> explored;
bool tears_units, is_full, has_orphans;
std::string context;
Totals totals;

void violation(const std::string &sequence, const std::string &what) {
    if (totals.violations++ < 5)
        fprintf(stderr, "violation: %s%s%s: %s\n", context.c_str(), context.empty() ? "" : ": ", sequence.c_str(),
                what.c_str());
    if (*seeded_bug) {
        printf("%s is caught in state %lu\n", seeded_bug, totals.states);
        exit(0);
    }
}

// An operation on a medium that a seeded bug has damaged may follow an invalid pointer.
void onFault(int number) {
    dprintf(STDERR_FILENO, "violation: signal %d in state %lu\n", number, totals.states);
    _exit(*seeded_bug ? 0 : 1);
}

// A sequence, and the allowed results of its last operation.
struct Trial {
    std::string sequence;
    Oracle oracle;
    size_t ordinal;
    bool is_chained;
};

// Each file grows, and must show only zeros in the new part. Each directory takes a name and drops it.
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

void mustBeSound(Mounted &mounted) {
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

// Cuts the power while this state is being recovered.
static void cutRecovery(const Trial &trial, Medium &medium, bool has_returned) {
    std::vector<MediaEvent> events;
    {
        Recorder recording(nullptr);
        recorder = &recording;
        Mounted mounted(medium, options);
        events = recording.events;
    }
    const Sampling sampling = {.exhaustive = 12, .random = 4, .alone = 16};
    exploreCrashes(medium, events, CutBefore::EachFence, sampling, totals.states, [&](const Crash &, Medium &again) {
        totals.recoveries++;
        judge(trial, again, has_returned);
    });
}

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

// Recovery may store the last logged transaction again at any time. A repetition must change no byte, and reach no free
// block.
static std::optional<std::string> redoFault(const struct tbfs *fs) {
    const struct tbfs_journal &journal = fs->journal;
    for (uint32_t i = journal.head; journal.redo && i < journal.tail; i++) {
        const struct tbfs_entry &entry = journal.entries[i];
        uint64_t block = entry.offset / TBFS_BLOCK_BYTES;
        if (!(fs->blocks.words[block / 64] >> block % 64 & 1))
            return "recovery would store into the free block " + std::to_string(block);
        if (memcmp(fs->space.base + entry.offset, entry.content, entry.size) != 0)
            return "recovery would store old content at " + std::to_string(entry.offset);
    }
    return std::nullopt;
}

int64_t runOnBoth(Mounted &mounted, Start &start, Operation operation, uint32_t now) {
    operation.now = now;
    int64_t result = run(mounted.fs(), operation, &mounted.orphans);
    if (start.model && result != -ENOSPC && start.model->run(operation) != result)
        violation(describe(operation), "it returns something else than in the model");
    auto fault = *seeded_bug ? std::nullopt : redoFault(mounted.fs());
    if (fault)
        violation(describe(operation), *fault);
    return result;
}

// The tree after a power cut with all stores durable. Open files without a name are then gone, and their blocks are
// free.
static Snapshot snapshotAfterCut(Mounted &live) {
    Snapshot found = snapshotOf(live);
    if (live.orphans.empty())
        return found;
    Recorder *recording = std::exchange(recorder, nullptr);
    Medium medium = live.medium();
    Mounted again(medium, options);
    try {
        mustBeSound(again);
        Snapshot recovered = snapshotOf(again);
        if (!(recovered.tree == found.tree))
            throw std::runtime_error("after recovery " + describe(recovered.tree, found.tree));
        found.free_blocks = recovered.free_blocks;
    } catch (const std::runtime_error &error) {
        violation("with open files without a name", error.what());
    }
    recorder = recording;
    return found;
}

static void compareOrphans(Mounted &mounted, const Model &model, const std::string &sequence) {
    for (const auto &[path, content] : model.orphans()) {
        Operation whole = {.kind = Operation::Read, .path = path, .bytes = content.size() + 1};
        if (mounted.orphans.contains(path) && run(mounted.fs(), whole, &mounted.orphans) != sumOf(content))
            violation(sequence, path + " has another content than in the model");
    }
}

// The snapshots between the steps of an operation: after each page but the last one of a write in parts, or of a read,
// which merges one page at a time; and after each step of merging in the background. Each snapshot is from a mount that
// has done the same before, so that the same blocks are taken.
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
            run(mounted.fs(), one, &mounted.orphans);
        operation.bytes = at * unit - operation.offset;
        run(mounted.fs(), operation, &mounted.orphans);
        steps.push_back(snapshotAfterCut(mounted));
    }
    return steps;
}

static uint64_t commitsOf(const struct tbfs_counters &counters) {
    return counters.transactions + counters.atomic_updates - counters.merges;
}

// Changes of the earlier operations in the same mount may not be durable yet.
void explore(const std::string &sequence, Start &start, const Operation &operation, size_t ordinal,
             const std::vector<Operation> &earlier) {
    Mounted live(start.medium, options);
    Start after = {{}, start.model};
    if (live.status() < 0)
        return; // a violation that has been reported
    Operation last = operation;
    last.now = 3000;
    Medium durable = live.medium();
    Snapshot before;
    std::vector<MediaEvent> events;
    uint64_t commits;
    size_t passed;
    {
        Recorder recording(live.fs()->space.base);
        recording.tears_units = tears_units;
        recorder = &recording;
        for (const Operation &one : earlier)
            runOnBoth(live, after, one, one.now);
        passed = recording.events.size();
        before = snapshotAfterCut(live);
        commits = commitsOf(live.fs()->counters);
        runOnBoth(live, after, last, last.now);
        events = recording.events;
    }
    totals.operations++;
    bool has_parts = commitsOf(live.fs()->counters) > commits + 1; // each page separately, or because space is short
    Oracle oracle(before, stepsOf(start, earlier, last, has_parts), snapshotAfterCut(live), last, options.data);
    oracle.merges_first = is_full;
    Trial trial{sequence + describe(last), oracle, ordinal, !start.model};
    Tree found = withoutNumbers(oracle.after.tree);
    if (after.model && !(found == after.model->tree()))
        violation(trial.sequence, "not as in the model: " + describe(found, after.model->tree()));
    exploreCrashes(
        durable, events, CutBefore::EachFence, depth.sampling, ordinal,
        [&](const Crash &crash, Medium &state) { exploreState(trial, state, crash.is_last); }, passed);
    if (after.model)
        compareOrphans(live, *after.model, trial.sequence);
}

Start prepared() {
    Start start = {makeMedium(has_orphans ? BlocksWithOrphans : Blocks, Inodes), Model()};
    Mounted mounted(start.medium, options);
    mustBeSound(mounted);
    std::vector<Operation> all = preparation;
    if (options.data == TBFS_DATA_HYBRID)
        all.insert(all.end(), hybrid_preparation.begin(), hybrid_preparation.end());
    if (has_orphans)
        all.insert(all.end(), orphan_preparation.begin(), orphan_preparation.end());
    for (const Operation &operation : all)
        if (runOnBoth(mounted, start, operation, 2000) < 0)
            throw std::runtime_error("cannot prepare: " + describe(operation));
    start.medium = mounted.medium();
    return start;
}

size_t own_operations, log_operations;
static const std::string Logged = "logged-";

// A read of a log merges it in `by_call` and `by_page`. `by_page` has all unusual options of logs. `idle` merges logs
// only in steps of background merging.
bool chooseData(std::string name) {
    static const struct tbfs_hybrid by_call = {0, 0, 0, 1, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 0, 0, 0},
                                    by_page = {512, 64, 4095, 1, TBFS_READ_FORWARD, TBFS_MULTI_PAGE, 0, 0, 0},
                                    idle = {512, 0, 0, TBFS_GC_NEVER, TBFS_READ_REVERSE, TBFS_MULTI_CALL, 100, 0, 0};
    options.metadata = TBFS_METADATA_UNDO;
    options.hybrid = {};
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
