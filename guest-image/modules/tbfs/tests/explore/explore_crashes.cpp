// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of sequences of one and of two operations; the first of two is durable. In each state that a power cut
// can leave during the last operation, recovery must find the tree before or after that operation, the checker must
// find no fault, and the file system must be usable. This also holds if the power is cut again during recovery, or
// during another operation after it.
//
//     explore_crashes DATA ATOMIC_BYTES one|two|pair|triple|wrap|generations|names|yields|full [BUG]
//
// DATA is inplace, cow, hybrid, hybrid-pages or hybrid-idle, which merges logs in the background. The prefix `logged-`
// selects the metadata policy `log`. Pairs and triples are in one mount, so that changes of the first operations need
// not be durable; triples consist of the operations on logs. Each operation must also have the same effect as in the
// model. With the name of a seeded bug the program succeeds if the bug is caught. TORN_UNITS is not a bug of the core:
// lines do not travel whole then.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>

#include "explorer.hpp"

static Start after(Start start, const Operation &operation, std::string &sequence) {
    Mounted mounted(start.medium, options);
    runOnBoth(mounted, start, operation, 2500);
    sequence = describe(operation) + ", ";
    start.medium = mounted.medium();
    return start;
}

// A medium near the end of its journal, so that the next transactions wrap around.
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

// A medium with free, unmerged entries at the end of the root. The last but one is at the end of a line.
static Start withFreeEntries(Start start) {
    Mounted mounted(start.medium, options);
    for (const char *name : {"/1", "/2", "/3", "/4"})
        runOnBoth(mounted, start, {.kind = Operation::Create, .path = name}, 2000);
    for (const char *name : {"/3", "/4"})
        runOnBoth(mounted, start, {.kind = Operation::Unlink, .path = name}, 2000);
    start.medium = mounted.medium();
    return start;
}

// Changes a medium of nearJournalEnd() so that the next mount has this generation, and the entries at both ends have an
// old one. Generations begin again at 1, so an old entry may have a number that comes again. The entries between are
// zero, so that the sample of states covers each of the other entries.
static Start ofGeneration(Start start, uint16_t generation, uint16_t old) {
    constexpr uint64_t KeptFirst = 24, KeptLast = 24;
    auto *super = reinterpret_cast<struct tbfs_super *>(start.medium.data());
    auto *header = reinterpret_cast<struct tbfs_journal_header *>(start.medium.data() + super->journal_offset);
    auto *entries =
        reinterpret_cast<struct tbfs_entry *>(start.medium.data() + super->journal_offset + TBFS_LINE_BYTES);
    header->head = header->tail;
    header->redo = 0;
    header->generation = static_cast<uint16_t>(generation - 2); // recovery adds two
    for (uint64_t i = 0; i < super->journal_bytes / TBFS_LINE_BYTES - 1; i++)
        if (i >= KeptFirst && i + KeptLast < header->tail)
            entries[i] = {};
        else if (entries[i].generation)
            entries[i].generation = old;
    return start;
}

// Fills the medium, so that an operation that needs space merges logs.
static Start filled(Start start) {
    Mounted mounted(start.medium, options);
    runOnBoth(mounted, start, {.kind = Operation::Create, .path = Filling}, 2000);
    for (uint64_t at = 0; mounted.freeBlocks() > 0; at += TBFS_BLOCK_BYTES)
        runOnBoth(mounted, start, {.kind = Operation::Write, .path = Filling, .offset = at, .bytes = TBFS_BLOCK_BYTES},
                  2000);
    start.medium = mounted.medium();
    return start;
}

// Whether an operation belongs to this policy only. Pairs of two other operations are left out: another policy explores
// them.
static bool isOfPolicy(size_t ordinal) { return ordinal >= own_operations; }

// A logged operation before the explored one, on a file that few other operations use.
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

// All operations have the same time, so that fewer words change, and more of the changes fit into one store.
static void exploreTriples(Start &start, size_t i) {
    for (size_t j = log_operations; j < explored.size() && i >= log_operations; j++)
        for (size_t k = log_operations; k < explored.size(); k++)
            explore("at once after " + describe(explored[i]) + ", " + describe(explored[j]) + ", ", start, explored[k],
                    (i * explored.size() + j) * explored.size() + k, {at(explored[i], 3000), at(explored[j], 3000)});
}

static void exploreYields(Start &start) {
    size_t ordinal = 0;
    for (const std::vector<Operation> &sequence : yielding) {
        std::string text;
        for (auto last = sequence.begin(); last != sequence.end(); text += describe(*last++) + ", ")
            explore(text, start, *last, ordinal++, {sequence.begin(), last});
    }
}

static void exploreAll(const std::string &lengths) {
    Start start = is_full ? filled(prepared()) : prepared();
    if (lengths == "yields")
        return exploreYields(start);
    if (lengths == "names")
        start = withFreeEntries(std::move(start));
    for (size_t i = 0; i < explored.size(); i++) {
        if (lengths == "one" || is_full)
            explore(is_full ? "on a full medium, " : "", start, explored[i], i);
        for (uint32_t left = 8; lengths == "wrap" && left < 20; left += 4) {
            Start end = nearJournalEnd(start, left);
            explore("near the journal's end, ", end, explored[i], i);
            explore("near the journal's end, after another one, ", end, explored[i], i, {OfItsOwn});
        }
        for (uint16_t old = 1; lengths == "generations" && old <= 3; old++)
            for (uint16_t generation : {65533, 65535}) {
                Start end = ofGeneration(nearJournalEnd(start, 12), generation, old);
                explore("generation " + std::to_string(generation) + ", ", end, explored[i], i);
                explore("generation " + std::to_string(generation) + ", after another one, ", end, explored[i], i,
                        {OfItsOwn});
            }
        if (lengths == "names")
            explore("after unlinked names, ", start, explored[i], i);
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

int main(int argc, char **argv) {
    if (argc < 4 || !chooseData(argv[1]))
        return 2;
    options.atomic_bytes = static_cast<unsigned>(atoi(argv[2]));
    if (argc > 4)
        seeded_bug = argv[4];
    is_full = strcmp(argv[3], "full") == 0;
    if (strcmp(argv[3], "one") != 0 && strcmp(argv[3], "wrap") != 0 && strcmp(argv[3], "names") != 0 &&
        strcmp(argv[3], "yields") != 0 && !is_full)
        depth = {{.exhaustive = 10, .random = 3, .alone = 16}, 97, 997};
    if (*seeded_bug)
        depth.recovery_every = 7, depth.chain_every = 37;
    signal(SIGSEGV, onFault);
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // thousands of media are allocated
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    tears_units = strcmp(seeded_bug, "TORN_UNITS") == 0;
    exploreAll(argv[3]);
    printf("%lu operations, %lu states, %lu of recovery, %lu chains: %lu violations\n", totals.operations,
           totals.states, totals.recoveries, totals.chains, totals.violations);
    return totals.violations > 0 || *seeded_bug;
}
