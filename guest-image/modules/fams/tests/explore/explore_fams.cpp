// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of sequences of commits, applications, closings and openings. At each point a power cut leaves all
// fenced writes and any part of the others, by lines and torn lines. Opening must find the last commit that returned or
// the one in progress. This also holds if the opening itself is cut, and if the interrupted commit is made again with a
// small difference and is cut, too. Applied or closed commits must be in the data without the journal. Finally another
// store is made over this one.
//
//     explore_fams [BUG]
//
// With the name of a seeded bug the program succeeds if the bug is caught.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "store.hpp"

const char *seeded_bug = "";

static constexpr size_t ExhaustiveLines = 6, Samples = 16, Histories = 60, Steps = 8;
static constexpr uint64_t RecoveryEvery = 23, ChainEvery = 61;

using Random = std::mt19937_64;

static struct {
    uint64_t images, recoveries, chains, makings, violations;
} totals;

static void violation(const char *what, uint64_t seed, const Crash &crash) {
    if (totals.violations++ < 5)
        fprintf(stderr, "violation: %s: seed %lu, position %zu, image %lu\n", what, seed, crash.position,
                crash.ordinal);
    if (*seeded_bug) {
        printf("%s is caught in image %lu\n", seeded_bug, totals.images);
        exit(0);
    }
}

static Recorder recorded(const auto &work) {
    Recorder trace;
    recorder = &trace;
    work();
    recorder = nullptr;
    return trace;
}

// One call, from event `begin` to event `end`. `content` is the result of an opening after it.
struct Step {
    size_t begin, end;
    Content content;
    Update update;
    bool is_applied;
};

struct History {
    uint64_t seed;
    Content before;
    std::vector<Step> steps;

    // The contents that an opening may find after this many events: the state before the step in progress, and the
    // state after it.
    std::vector<Content> allowed(size_t position) const {
        std::vector<Content> found{before};
        for (const Step &step : steps) {
            if (step.end <= position)
                found = {step.content};
            else if (step.begin < position)
                found.push_back(step.content);
        }
        return found;
    }
    const Step *underWay(size_t position) const {
        for (const Step &step : steps)
            if (step.begin < position && position < step.end)
                return &step;
        return nullptr;
    }
};

static bool isOneOf(const std::vector<Content> &allowed, const Content &content) {
    for (const Content &one : allowed)
        if (one == content)
            return true;
    return false;
}

static void open(Image &image, const std::vector<Content> &allowed, uint64_t seed, const Crash &crash) {
    struct fams fams;
    if (fams_open(&fams, spaceOf(image)) < 0)
        violation("opening fails", seed, crash);
    else if (!isOneOf(allowed, contentOf(fams)))
        violation("no commit's state", seed, crash);
}

static void cutOpening(const Image &crashed, const std::vector<Content> &allowed, uint64_t seed, const Crash &crash) {
    Image live = crashed;
    Recorder trace = recorded([&] { open(live, allowed, seed, crash); });
    exploreCrashes(crashed, mappingOf(live), trace.events, ExhaustiveLines, Samples / 4, seed,
                   [&](const Crash &, Image &image) {
                       totals.recoveries++;
                       open(image, allowed, seed, crash);
                   });
}

// The program repeats the commit that the power cut interrupted, with another last page.
static void cutAgain(const Image &crashed, const Update &update, uint64_t seed, const Crash &crash) {
    Image live = crashed;
    struct fams fams;
    if (fams_open(&fams, spaceOf(live)) < 0)
        return; // reported elsewhere
    Update again = update;
    again.fills.back() ^= 0x55;
    Content found = contentOf(fams);
    Image before = live;
    Recorder trace = recorded([&] { again.commit(fams); });
    exploreCrashes(before, mappingOf(live), trace.events, ExhaustiveLines, Samples / 4, seed,
                   [&](const Crash &, Image &image) {
                       totals.chains++;
                       open(image, {found, again.on(found)}, seed, crash);
                   });
}

static Update randomUpdate(const struct fams &fams, Random &random) {
    Update update;
    uint64_t first = random(), count = 1 + random() % fams.capacity;
    for (uint64_t i = 0; i < count; i++) {
        update.numbers.push_back((first + 2 * i) % fams.data_pages);
        update.fills.push_back(static_cast<uint8_t>(random() % 250 + 1));
    }
    return update;
}

// Half of the steps are commits. The caller itself applies some of these, from its own pages.
static void randomWork(Step &step, struct fams &fams, const fams_space &space, const Content &content, Random &random) {
    uint64_t kind = random() % 8;
    step.is_applied = kind < 4;
    if (kind == 0)
        return (void)fams_apply(&fams);
    if (kind == 1)
        return fams_close(&fams);
    if (kind <= 3) {
        fams_open(&fams, space);
        return;
    }
    step.update = randomUpdate(fams, random);
    step.update.commit(fams);
    step.content = step.update.on(content);
    if (kind == 4) {
        step.update.apply(fams);
        step.is_applied = true;
    }
}

static Content dataOf(Image &image, uint64_t journal_bytes) {
    return {image.logBytes() + journal_bytes, image.logBytes() + image.logSize()};
}

static void check(const History &history, uint64_t journal_bytes, const Crash &crash, Image &image) {
    std::vector<Content> allowed = history.allowed(crash.position);
    for (const Step &step : history.steps)
        if (step.is_applied && step.end == crash.position && dataOf(image, journal_bytes) != step.content)
            violation("what was applied is not in the data", history.seed, crash);
    if (totals.images % RecoveryEvery == 0)
        cutOpening(image, allowed, history.seed, crash);
    const Step *step = history.underWay(crash.position);
    if (step && !step->update.numbers.empty() && totals.images % ChainEvery == 0)
        cutAgain(image, step->update, history.seed, crash);
    totals.images++;
    open(image, allowed, history.seed, crash);
}

// Makes a store over one that was not opened since its last commit. The journal's size identifies the store that a
// power cut leaves, if it leaves one.
static void exploreMaking(const Image &before, const Content &content, uint64_t journal_bytes, uint64_t seed) {
    Image live = before;
    const uint64_t other_bytes = Journal + WideJournal - journal_bytes;
    Recorder trace = recorded([&] { fams_make(spaceOf(live), other_bytes); });
    exploreCrashes(before, mappingOf(live), trace.events, ExhaustiveLines, Samples, seed,
                   [&](const Crash &crash, Image &image) {
                       struct fams fams;
                       Content data = dataOf(image, other_bytes);
                       totals.makings++;
                       if (fams_open(&fams, spaceOf(image)) < 0)
                           return crash.is_last ? violation("no store was made", seed, crash) : void();
                       bool is_new = fams.capacity == fams_capacity_of(other_bytes);
                       if (contentOf(fams) != (is_new ? data : content))
                           violation("making a store changes the data", seed, crash);
                   });
}

static void explore(uint64_t seed, uint64_t journal_bytes) {
    Random random(seed);
    Image live = blankImage();
    const fams_space space = spaceOf(live);
    struct fams fams;
    if (fams_make(space, journal_bytes) < 0 || fams_open(&fams, space) < 0)
        return violation("no store can be made", seed, {});
    Image start = live;
    History history{seed, contentOf(fams), {}};
    Recorder trace;
    recorder = &trace;
    for (size_t i = 0; i < Steps; i++) {
        Step step{trace.events.size(), 0, i ? history.steps.back().content : history.before, {}, false};
        randomWork(step, fams, space, step.content, random);
        step.end = trace.events.size();
        history.steps.push_back(step);
    }
    recorder = nullptr;
    exploreCrashes(start, mappingOf(live), trace.events, ExhaustiveLines, Samples, seed,
                   [&](const Crash &crash, Image &image) { check(history, journal_bytes, crash, image); });
    exploreMaking(live, history.steps.back().content, journal_bytes, seed);
}

int main(int argc, char **argv) {
    if (argc > 1)
        seeded_bug = argv[1];
    for (uint64_t seed = 1; seed <= Histories; seed++)
        explore(seed, seed % 4 ? Journal : WideJournal);
    printf("%lu images, %lu of openings, %lu of commits made again, %lu of stores made: %lu violations\n",
           totals.images, totals.recoveries, totals.chains, totals.makings, totals.violations);
    return totals.violations > 0 || *seeded_bug;
}
