// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the last call of each pair and each triple of calls in one mount, with each combination of policies.
// A combination visits each of its sequences once, in an order that the seed determines, until the CPU time is spent.
//
//     explore_calls calls|orphans SECONDS SEED [BUG]
//
// calls: all operations, with no file open, and with three open files that have no name.
// orphans: operations on one or three open files without a name, and calls that take freed blocks and inodes. Pairs
// come first here, and each is followed by overwrites of another file.
//
// Exit status 0: no violation, or the seeded bug is caught. 2: bad arguments.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <malloc.h>
#include <numeric>

#include "explorer.hpp"

namespace {
constexpr unsigned AtomicBytes[] = {0, 8, 16, 64};
constexpr uint32_t Times[] = {2500, 3000}; // of the earlier calls; the last call is at 3000

// Each number below a bound once, in an order that the seed determines.
class Permutation {
  public:
    Permutation(uint64_t bound, uint64_t seed) : bound(bound), step(seed * 2654435761u % bound), at(seed % bound) {
        while (std::gcd(++step, bound) != 1)
            ;
    }
    bool next(uint64_t &number) {
        at = (at + step) % bound;
        number = at;
        return visited++ < bound;
    }
    uint64_t done() const { return std::min(visited, bound); }
    const uint64_t bound;

  private:
    uint64_t step, at, visited = 0;
};

// One combination of policies, and the progress through its sequences.
struct Combination {
    std::string data;
    unsigned atomic_bytes;
    std::vector<Operation> calls;
    std::optional<Start> start;
    std::array<std::optional<Permutation>, 2> sequences; // of two calls, of three

    std::string name() const { return "data=" + data + ",atomic=" + std::to_string(atomic_bytes); }
};
} // namespace

static bool is_orphans;

static void choose(const Combination &combination) {
    chooseData(combination.data);
    options.atomic_bytes = combination.atomic_bytes;
    explored = combination.calls;
    context = combination.name();
}

static std::vector<Operation> callsOf(const std::string &data) {
    std::vector<Operation> calls = orphan_operations;
    chooseData(data);
    if (!is_orphans)
        calls.insert(calls.end(), explored.begin(), explored.end());
    else if (data.ends_with("hybrid-idle"))
        calls.insert(calls.end(), idle_operations.begin(), idle_operations.end());
    return calls;
}

static std::vector<Combination> combinations(uint64_t seed) {
    std::vector<Combination> all;
    for (const char *metadata : {"logged-", ""})
        for (const char *data : {"cow", "hybrid", "inplace", "hybrid-pages", "hybrid-idle"})
            for (unsigned atomic_bytes : AtomicBytes) {
                Combination one = {std::string(metadata) + data, atomic_bytes, {}, {}, {}};
                one.calls = callsOf(one.data);
                uint64_t pairs = one.calls.size() * one.calls.size() * 2 * (is_orphans ? 1 : std::size(Times));
                one.sequences[0].emplace(pairs, seed + all.size());
                one.sequences[1].emplace(pairs * one.calls.size(), seed + all.size());
                all.push_back(std::move(one));
            }
    return all;
}

static uint64_t take(uint64_t &number, uint64_t count) {
    uint64_t part = number % count;
    number /= count;
    return part;
}

static void exploreSequence(Combination &combination, uint64_t number, unsigned length) {
    const std::vector<Operation> &calls = combination.calls;
    uint64_t ordinal = number;
    static const std::vector<Operation> none_open;
    const std::vector<Operation> &opening = take(number, 2) ? three_open : is_orphans ? one_open : none_open;
    uint32_t now = is_orphans ? Times[1] : Times[take(number, std::size(Times))];
    std::vector<Operation> earlier = opening;
    std::string text = opening.empty() ? "" : std::string(&opening == &one_open ? "one" : "three") + " open, ";
    for (unsigned i = 0; i < length; i++) {
        earlier.push_back(calls[take(number, calls.size())]);
        text += describe(earlier.back()) + ", ";
    }
    if (is_orphans && length == 2)
        for (const Operation &one : overwrites())
            earlier.push_back(one);
    for (Operation &one : earlier)
        one.now = now;
    if (!combination.start)
        combination.start = prepared();
    Operation last = earlier.back();
    earlier.pop_back();
    explore(text, *combination.start, last, ordinal, earlier);
}

static double secondsOfCpu() { return static_cast<double>(clock()) / CLOCKS_PER_SEC; }

// Explores one sequence of this length with each combination. False: all have been explored, or the time is over.
static bool exploreRound(std::vector<Combination> &all, unsigned length, double seconds) {
    bool has_more = false;
    for (Combination &one : all) {
        uint64_t number;
        if (secondsOfCpu() >= seconds)
            return false;
        if (!one.sequences[length - 2]->next(number))
            continue;
        has_more = true;
        choose(one);
        exploreSequence(one, number, length);
    }
    return has_more;
}

static void exploreAll(std::vector<Combination> &all, double seconds) {
    bool has_pairs = true, has_triples = true;
    while (has_pairs || has_triples) {
        has_pairs = exploreRound(all, 2, seconds);
        if (!is_orphans || !has_pairs)
            has_triples = exploreRound(all, 3, seconds);
    }
}

static void report(const std::vector<Combination> &all, double seconds) {
    std::array<uint64_t, 2> done = {}, bound = {};
    for (const Combination &one : all)
        for (size_t i = 0; i < 2; i++)
            done[i] += one.sequences[i]->done(), bound[i] += one.sequences[i]->bound;
    printf("%zu combinations of policies, %.0f of %.0f s of CPU time: %lu of %lu pairs (%.3g %%), %lu of %lu triples "
           "(%.3g %%)\n",
           all.size(), secondsOfCpu(), seconds, done[0], bound[0],
           100.0 * static_cast<double>(done[0]) / static_cast<double>(bound[0]), done[1], bound[1],
           100.0 * static_cast<double>(done[1]) / static_cast<double>(bound[1]));
    printf("%lu operations, %lu states, %lu of recovery, %lu chains: %lu violations\n", totals.operations,
           totals.states, totals.recoveries, totals.chains, totals.violations);
}

int main(int argc, char **argv) {
    is_orphans = argc > 1 && strcmp(argv[1], "orphans") == 0;
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    if (argc < 4 || (!is_orphans && strcmp(argv[1], "calls") != 0) || seconds <= 0)
        return fputs("usage: explore_calls calls|orphans SECONDS SEED [BUG]\n", stderr), 2;
    if (argc > 4)
        seeded_bug = argv[4];
    has_orphans = true;
    depth = {{.exhaustive = 4, .random = 2, .alone = 2}, 499, 1999};
    signal(SIGSEGV, onFault);
    mallopt(M_MMAP_THRESHOLD, 1 << 30); // thousands of media are allocated
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    std::vector<Combination> all = combinations(strtoull(argv[3], nullptr, 10));
    exploreAll(all, seconds);
    report(all, seconds);
    return totals.violations > 0 || *seeded_bug;
}
