// SPDX-License-Identifier: BSD-3-Clause
//
// Interleavings of two processes or two threads in the runtime: every schedule of so many switches, then seeded samples
// of more; and a process that is killed at every yield point. The scenario checks its conditions after each.
//
//     explore_schedules DIRECTORY SCENARIO [BUG [SCHEDULE]]
//
// With the name of a seeded bug it succeeds if the bug is caught; "-" is none. With a schedule, as a failure prints it,
// it runs just that one.
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime_under_test.hpp"
#include "scheduler.hpp"

const char *seeded_bug = "";
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 0;
extern "C" unsigned snapshot_spins;

static constexpr size_t Page = 4096;

// The reports of processes to their parent.
struct Report {
    int status[TasksMax];
    uint64_t inode[TasksMax];
    uint64_t begun, acknowledged;
};

static Report *report;
static std::string directory, path, log_path;
static Schedule current;
static uint64_t schedules, kills, crash_images, recovery_images, violations;

[[noreturn]] static void end(int status) {
    std::filesystem::remove_all(directory);
    fflush(stdout);
    _exit(status);
}

static void violation(const std::string &what) {
    if (violations++ < 3)
        printf("violation: %s, schedule %s\n", what.c_str(), describe(current).c_str());
    if (*seeded_bug)
        end(0); // the bug is caught
}

static void require(bool holds, const char *what) {
    if (!holds)
        violation(what);
}

static void crashed(int signal) {
    printf("violation: signal %d, schedule %s\n", signal, describe(current).c_str());
    fflush(stdout);
    _exit(*seeded_bug ? 0 : 1);
}

static uint64_t wordAt(const TrackedFile &file, size_t offset) {
    uint64_t value;
    memcpy(&value, file.working() + offset, sizeof(value));
    return value;
}

// An empty folder with a file of one page, or without.
static void fresh(bool has_file) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    if (has_file) {
        std::fclose(std::fopen(path.c_str(), "w"));
        std::filesystem::resize_file(path, Page);
    }
    *report = {};
}

// ---- Processes that open one file.

// Opens the file for good, and commits the number of the task.
static void openAndCommit(unsigned task, const std::string &name, size_t bytes) {
    void *address = nullptr;
    int status = snapshot_map(name.c_str(), bytes, 0, nullptr, &address);
    struct stat file{};
    if (status == 0) {
        fstatat(AT_FDCWD, name.c_str(), &file, 0);
        trackedStore(static_cast<uint8_t *>(address), task + 1);
        status = snapshot_sync(address);
    }
    report->inode[task] = file.st_ino;
    report->status[task] = status;
}

static unsigned successes() { return (report->status[0] == 0) + (report->status[1] == 0); }

static void requireNoSignals(const Run &run) {
    for (int signal : run.signals)
        require(signal == 0, "a process died of a signal");
}

static void requireReopening(uint64_t value) {
    TrackedFile file(path, 0);
    require(file.error() == 0, "what was left does not open");
    require(file.error() || wordAt(file, 0) == value, "a commit is lost");
}

static Run openNew(const Schedule &schedule, bool has_file) {
    fresh(has_file);
    Run run = runProcesses({[&] { openAndCommit(0, path, Page); }, [&] { openAndCommit(1, path, Page); }}, schedule);
    requireNoSignals(run);
    require(successes() == 1, successes() ? "two processes have the file" : "neither process has the file");
    if (successes() == 1)
        requireReopening(report->status[0] == 0 ? 1 : 2);
    return run;
}

static Run openPresent(const Schedule &schedule) { return openNew(schedule, true); }

static Run openCreating(const Schedule &schedule) { return openNew(schedule, false); }

// The other process first does something to the file or its log that the library does not see.
static Run openBehindTheBack(const Schedule &schedule, const std::function<void()> &first, const std::string &name) {
    fresh(true);
    Run run = runProcesses({[&] { openAndCommit(0, path, Page); },
                            [&] {
                                first();
                                openAndCommit(1, name, 0);
                            }},
                           schedule);
    requireNoSignals(run);
    return run;
}

static Run openWithLogRemoved(const Schedule &schedule) {
    Run run = openBehindTheBack(schedule, [] { unlink(log_path.c_str()); }, path);
    require(successes() < 2, "two processes have the file");
    return run;
}

static Run openRenamed(const Schedule &schedule) {
    Run run = openBehindTheBack(schedule, [] { rename(path.c_str(), (path + "2").c_str()); }, path + "2");
    bool both = successes() == 2 && report->inode[0] == report->inode[1];
    require(!both, "two processes have the file");
    return run;
}

static Run openReplaced(const Schedule &schedule) {
    auto replace = [] {
        std::string next = path + "-next";
        int fd = open(next.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        (void)!ftruncate(fd, Page);
        close(fd);
        rename(next.c_str(), path.c_str());
    };
    Run run = openBehindTheBack(schedule, replace, path);
    require(successes() < 2 || report->inode[0] != report->inode[1], "two processes have the file");
    if (report->status[1] == 0)
        requireReopening(2);
    return run;
}

// One of two processes that open a new file is killed.
static void killWhileOpening() {
    current = {};
    size_t steps = openPresent({}).steps.size();
    for (unsigned turn = 0; turn < steps; turn++)
        for (unsigned step = 0; step < steps; step++, kills++) {
            fresh(true);
            current = {{turn, 1}, {step, 9}}; // for the report
            report->status[0] = report->status[1] = -EINTR;
            runProcesses({[&] { openAndCommit(0, path, Page); }, [&] { openAndCommit(1, path, Page); }}, {{turn, 1}},
                         step);
            require(successes() < 2, "two processes have the file");
            if (successes() == 1)
                requireReopening(report->status[0] == 0 ? 1 : 2);
            else
                require(TrackedFile(path, 0).error() == 0, "what was left does not open");
        }
}

// ---- A process that is killed at any point of a life: opening, commits, growth, rollback, a cut, the end.

static void commitVersion(void *address, uint64_t version) {
    auto *words = static_cast<uint8_t *>(address);
    for (size_t line = version % 3; line < Page / 64; line += 3)
        trackedStore(words + 64 * line + 8, version);
    trackedStore(words, version);
    report->begun = version;
    if (snapshot_sync(address) == 0)
        report->acknowledged = version;
}

static void live() {
    void *address = nullptr;
    if (snapshot_map(path.c_str(), Page, 0, nullptr, &address) < 0)
        return;
    for (uint64_t version = 1; version <= 3; version++)
        commitVersion(address, version);
    (void)snapshot_resize(address, 3 * Page);
    commitVersion(address, 4);
    trackedStore(static_cast<uint8_t *>(address), 99);
    (void)snapshot_rollback(address);
    commitVersion(address, 5);
    (void)snapshot_resize(address, Page);
    commitVersion(address, 6);
    report->status[0] = snapshot_unmap(address);
}

static Run liveAndDie(unsigned step) {
    fresh(false);
    Run run = runProcesses({live}, {}, step);
    TrackedFile file(path, Page);
    require(file.error() == 0, "what was left does not open");
    if (file.error())
        return run;
    uint64_t found = wordAt(file, 0);
    require(found == report->acknowledged || found == report->begun, "the file is in a state it may not be in");
    for (size_t line = found % 3; found > 0 && line < Page / 64; line += 3)
        require(wordAt(file, 64 * line + 8) == found, "a commit is there in part");
    return run;
}

static void killAnywhere() {
    for (const Protocol &protocol : Protocols) {
        setenv("SNAPSHOT_PROTOCOL", protocol.name, 1);
        size_t steps = liveAndDie(NeverKill).steps.size();
        require(report->acknowledged == 6 && report->status[0] == 0, "the life does not work");
        for (unsigned step = 0; step < steps; step++, kills++) {
            current = {{step, 9}};
            liveAndDie(step);
        }
    }
}

// ---- Threads of one process.

static constexpr size_t FileBytes = 8 * Page, GrowthMax = 4 * Page;
static TrackedFile *opened;

// The memory that fences waited for must hold all commits, by any process. So must the file when it is opened again.
using TraceCheck = std::function<void(const Image &start, const Mapping &mapping, const Recorder &trace)>;

static Run threads(const Schedule &schedule, const Tasks &tasks, const std::function<void()> &check = {},
                   const TraceCheck &check_trace = {}) {
    fresh(false);
    TrackedFile file(path, FileBytes);
    opened = &file;
    const std::vector<uint8_t> hole(FileBytes); // to read the file would give it blocks
    Mapping before = file.mapping();
    Image start = imageOf(before.log, before.log_bytes, hole.data(), FileBytes);
    Recorder trace;
    recorder = &trace;
    Run run = runThreads(tasks, schedule);
    if (check)
        check();
    require(!file.working() || file.commit() == 0, "the commit fails");
    recorder = nullptr;
    if (!file.working())
        return run;
    Mapping mapping = file.mapping();
    const size_t bytes = mapping.data_bytes;
    mapping.data_bytes = bytes + GrowthMax; // it may have been that much larger
    start.resizeLog(mapping.log_bytes);
    start.resizeData(mapping.data_bytes);
    if (check_trace)
        check_trace(start, mapping, trace);
    Image durable = durableImage(start, mapping, trace.events);
    struct recovery result{};
    require(recover({durable.logBytes(), durable.logSize()}, durable.dataBytes(), bytes, &protocol_line, &result) == 0,
            "recovery fails");
    require(memcmp(durable.dataBytes(), file.working(), bytes) == 0, "the file lacks what was committed");
    require(std::filesystem::file_size(path) == bytes, "the file has another size");
    std::vector<uint8_t> last(file.working(), file.working() + bytes);
    require(snapshot_unmap(file.release()) == 0, "the end fails");
    TrackedFile again(path, 0);
    require(again.error() == 0 && memcmp(again.working(), last.data(), last.size()) == 0,
            "reopening finds another state");
    return run;
}

static void storeLines(size_t first, size_t count, uint64_t value) {
    for (size_t line = first; line < first + count; line++)
        trackedStore(opened->working() + 64 * line, value + line);
}

// Programs order their stores against commits: each round, all store; then each does its part, side by side.
class Rounds {
  public:
    explicit Rounds(unsigned task_count) : task_count(task_count) {}
    void await() {
        unsigned round = arrived++ / task_count;
        while (arrived / task_count == round)
            letOthersRun();
    }

  private:
    unsigned task_count, arrived = 0;
};

using Work = std::function<void()>;

static void commit() { require(opened->commit() == 0, "the commit fails"); }

static Run inRounds(const Schedule &schedule, const std::vector<Work> &works, const Work &check = {}) {
    Rounds rounds(static_cast<unsigned>(works.size()));
    Tasks tasks;
    for (size_t task = 0; task < works.size(); task++)
        tasks.push_back([&, task] {
            for (size_t round = 1; round <= 2; round++) {
                storeLines(round * task, 12 / round, 100 * round + task);
                storeLines(64 * (works.size() * (round - 1) + task), 1, 7); // a page of its own
                rounds.await();
                works[task]();
                rounds.await();
            }
        });
    return threads(schedule, tasks, check);
}

static Run commitAndCommit(const Schedule &schedule) { return inRounds(schedule, {commit, commit}); }

static Run commitAndGrow(const Schedule &schedule) {
    return inRounds(schedule, {commit, [] {
                                   size_t pages = opened->mapping().data_bytes / Page + 1;
                                   require(snapshot_resize(opened->working(), pages * Page) == 0, "growth fails");
                               }});
}

static Run commitAndCut(const Schedule &schedule) {
    return inRounds(schedule, {commit, [] {
                                   size_t size = opened->mapping().data_bytes - 40;
                                   require(snapshot_resize(opened->working(), size) == 0, "the cut fails");
                               }});
}

static Run commitAndRollback(const Schedule &schedule) {
    return inRounds(schedule, {commit, [] { require(snapshot_rollback(opened->working()) == 0, "rollback fails"); },
                               [] { require(snapshot_test_publish(opened->working()) == 0, "publication fails"); }});
}

// Pages of a hole that were stored to and committed have blocks, whether or not the commit has written them already.
static Run holes(const Schedule &schedule) {
    return inRounds(schedule, {commit, commit}, [] {
        int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        for (off_t at = 0; at < static_cast<off_t>(4 * Page); at += static_cast<off_t>(Page))
            require(lseek(fd, at, SEEK_DATA) == at, "a page was committed and has no block");
        close(fd);
    });
}

// The last mapping goes while a thread that stored to it ends.
static Run endAndUnmap(const Schedule &schedule) {
    static bool has_stored;
    has_stored = false;
    return threads(schedule, {[] {
                                  storeLines(0, 2, 100);
                                  has_stored = true;
                              },
                              [] {
                                  while (!has_stored)
                                      letOthersRun();
                                  require(snapshot_unmap(opened->release()) == 0, "the end fails");
                              }});
}

// ---- Threads that store while others commit, and nothing orders them.

extern "C" __attribute__((preserve_most)) void __snapshot_log(const void *address, size_t bytes);

// The compiler pass puts this call before a store; the store may come at any time after it.
static void announceWord(size_t word) {
    __snapshot_log(opened->working() + 8 * word, 8);
    yieldPoint();
}

static void storeWord(size_t word, uint64_t value) {
    __atomic_store_n(reinterpret_cast<uint64_t *>(opened->working()) + word, value, __ATOMIC_RELAXED);
    yieldPoint();
}

// Each task has a word of a line that all share, one of a line of its own, and one of a page of its own.
static std::array<size_t, 3> wordsOf(unsigned task) { return {task, 8 * (1 + task), 512 * (1 + task)}; }

// And a word that all change, which only its atomic instructions order.
static constexpr size_t CounterWord = 3;

static void count() {
    announceWord(CounterWord);
    __atomic_fetch_add(reinterpret_cast<uint64_t *>(opened->working()) + CounterWord, 1, __ATOMIC_RELAXED);
    yieldPoint();
}

static void storeVersion(unsigned task, uint64_t version) {
    count();
    for (size_t word : wordsOf(task))
        announceWord(word);
    for (size_t word : wordsOf(task))
        storeWord(word, version);
}

// A commit of the task's own that has returned: its words have this version from this position of the trace on.
struct Returned {
    unsigned task;
    uint64_t version;
    size_t position;
};
static std::vector<Returned> returned;

static void commitVersion(unsigned task, uint64_t version) {
    commit();
    returned.push_back({task, version, recorder->position()});
}

struct Recovered {
    uint64_t epoch;
    std::vector<uint8_t> state;
};

static Recovered recovered(Image &image, const char *where) {
    struct recovery result{};
    int status =
        recover({image.logBytes(), image.logSize()}, image.dataBytes(), image.dataSize(), &protocol_line, &result);
    require(status == 0, where);
    return {result.epoch, {image.dataBytes(), image.dataBytes() + image.dataSize()}};
}

static uint64_t wordOf(const std::vector<uint8_t> &state, size_t word) {
    uint64_t value;
    memcpy(&value, state.data() + 8 * word, sizeof(value));
    return value;
}

// The content that recovery finds if the power is cut there and only data that fences had waited for arrives.
static Recovered durableAt(size_t position, const Image &start, const Mapping &mapping, const Recorder &trace) {
    std::vector<PersistEvent> events(trace.events.begin(),
                                     trace.events.begin() + static_cast<std::ptrdiff_t>(position));
    Image durable = durableImage(start, mapping, events);
    return recovered(durable, "recovery fails after a fence");
}

static void checkReturned(const Image &start, const Mapping &mapping, const Recorder &trace) {
    for (const Returned &one : returned) {
        std::vector<uint8_t> state = durableAt(one.position, start, mapping, trace).state;
        for (size_t word : wordsOf(one.task))
            require(wordOf(state, word) == one.version, "a commit lacks what its own thread stored before it");
    }
}

// The epochs that commits leave, in order, each with the position of the fence that makes it durable, and its state. A
// crash before the next one is durable has to go back to just that state.
struct Committed {
    size_t position;
    Recovered at;
};

static std::vector<Committed> committedEpochs(const Image &start, const Mapping &mapping, const Recorder &trace) {
    std::vector<Committed> epochs;
    for (size_t position = 0; position <= trace.events.size(); position++) {
        if (position > 0 && trace.events[position - 1].target)
            continue;
        Recovered now = durableAt(position, start, mapping, trace);
        if (epochs.empty() || now.epoch != epochs.back().at.epoch)
            epochs.push_back({position, now});
        else
            require(now.state == epochs.back().at.state, "the state of an epoch changes");
    }
    return epochs;
}

// The same image, with the power cut again while it is being recovered.
static constexpr uint64_t RecoveryEvery = 499;

static void cutRecovery(const Image &left, const std::function<void(Image &)> &check) {
    Image image = left;
    Recorder second;
    recorder = &second;
    (void)recovered(image, "recovery refuses what a crash left");
    recorder = nullptr;
    Mapping mapping{image.logBytes(), image.dataBytes(), image.logSize(), image.dataSize()};
    exploreCrashes(left, mapping, second.events, 2, 2, 1, [&](const Crash &, Image &again) {
        recovery_images++;
        check(again);
    });
}

// A crash at any position leaves the last commit or the next one, in whole.
static void checkCrashes(const Image &start, const Mapping &mapping, const Recorder &trace) {
    std::vector<Committed> epochs = committedEpochs(start, mapping, trace);
    exploreCrashes(start, mapping, trace.events, 2, 3, 1, [&](const Crash &crash, Image &image) {
        size_t last = epochs.size() - 1;
        while (epochs[last].position > crash.position)
            last--;
        auto check = [&](Image &left, bool was_recovered) { // which counts the epoch on
            Recovered now = recovered(left, "recovery refuses what a crash left");
            bool found = false;
            for (size_t i = last; i < epochs.size() && i <= last + 1; i++)
                found |= now.state == epochs[i].at.state && (was_recovered || now.epoch == epochs[i].at.epoch);
            require(found, "a crash leaves what no commit had");
        };
        if (crash_images++ % RecoveryEvery == 0)
            cutRecovery(image, [&](Image &again) { check(again, true); });
        check(image, false);
    });
}

// The power is cut at each position of the trace, after every so many schedules.
static constexpr uint64_t CrashesEvery = 8;

static Run beside(const Schedule &schedule, const Tasks &tasks, uint64_t crashes_every = CrashesEvery) {
    returned.clear();
    static uint64_t count;
    bool crashes = count++ % crashes_every == 0;
    auto check = [&](const Image &start, const Mapping &mapping, const Recorder &trace) {
        returned.push_back(
            {0, wordAt(*opened, 8 * wordsOf(0)[0]), trace.events.size()}); // the last one, of all threads
        checkReturned(start, mapping, trace);
        if (crashes)
            checkCrashes(start, mapping, trace);
    };
    return threads(schedule, tasks, {}, check);
}

static void storeAndCommit(unsigned task) {
    for (uint64_t version = 1; version <= 2; version++) {
        storeVersion(task, version);
        commitVersion(task, version);
    }
}

// A thread that never commits announces once and goes on storing, as a loop after its guard was hoisted.
static void storeOnly(unsigned task) {
    count();
    for (size_t word : wordsOf(task))
        announceWord(word);
    for (uint64_t version = 1; version <= 3; version++)
        for (size_t word : wordsOf(task))
            storeWord(word, version);
}

static Run storesBesideCommits(const Schedule &schedule) {
    return beside(schedule, {[] { storeOnly(1); }, [] { storeAndCommit(0); }});
}

static Run commitsBesideCommits(const Schedule &schedule) {
    return beside(schedule, {[] { storeAndCommit(0); }, [] { storeAndCommit(1); }});
}

static Run threeBeside(const Schedule &schedule) {
    return beside(schedule, {[] { storeAndCommit(0); }, [] { storeAndCommit(1); }, [] { storeOnly(2); }});
}

// Threads that commit all the time: one leads, the others wait and join it, and all write their logs side by side.
static Run pairs(const Schedule &schedule) {
    snapshot_spins = 20;
    return beside(schedule, {[] { storeAndCommit(0); }, [] { storeAndCommit(1); }});
}

static Run groups(const Schedule &schedule) {
    snapshot_spins = 20;
    return beside(schedule, {[] { storeAndCommit(0); }, [] { storeAndCommit(1); }, [] { storeAndCommit(2); }});
}

// Two threads change one word: recovery must go back to the oldest content that they overwrote.
static Run countsBesideCommits(const Schedule &schedule) {
    auto countAndCommit = [] {
        count();
        commit();
    };
    return beside(schedule, {countAndCommit, countAndCommit}, 1);
}

// Stores beside a rollback may be taken back, and stores after it stay.
static Run storesBesideRollback(const Schedule &schedule) {
    return beside(schedule, {[] {
                                 storeAndCommit(0);
                                 storeVersion(0, 3);
                                 require(snapshot_rollback(opened->working()) == 0, "rollback fails");
                                 storeAndCommit(0);
                             },
                             [] { storeOnly(1); }});
}

static Run storesBesideResize(const Schedule &schedule) {
    return beside(schedule, {[] {
                                 for (size_t pages : {9, 8, 10, 8}) {
                                     storeVersion(0, pages);
                                     require(snapshot_resize(opened->working(), pages * Page) == 0, "resizing fails");
                                 }
                                 storeAndCommit(0);
                             },
                             [] { storeOnly(1); }});
}

struct Scenario {
    const char *name;
    Run (*run)(const Schedule &schedule);
    bool is_of_threads;
    unsigned switches = 1; // of threads, at calls of the runtime
};

static constexpr Scenario Scenarios[] = {{"open-present", openPresent, false},
                                         {"open-creating", openCreating, false},
                                         {"log-removed", openWithLogRemoved, false},
                                         {"renamed", openRenamed, false},
                                         {"replaced", openReplaced, false},
                                         {"commit-commit", commitAndCommit, true},
                                         {"commit-grow", commitAndGrow, true},
                                         {"commit-cut", commitAndCut, true},
                                         {"commit-rollback", commitAndRollback, true},
                                         {"holes", holes, true},
                                         {"end-unmap", endAndUnmap, true},
                                         {"beside-stores", storesBesideCommits, true, 2},
                                         {"beside-commits", commitsBesideCommits, true},
                                         {"beside-three", threeBeside, true},
                                         {"beside-pair", pairs, true, 2},
                                         {"beside-sleep", commitsBesideCommits, true, 2},
                                         {"beside-group", groups, true},
                                         {"beside-counts", countsBesideCommits, true},
                                         {"beside-rollback", storesBesideRollback, true},
                                         {"beside-resize", storesBesideResize, true}};

static void explore(const Scenario &scenario, unsigned switches, uint64_t samples) {
    auto run = [&](const Schedule &schedule) {
        current = schedule;
        return scenario.run(schedule);
    };
    schedules += everySchedule(switches, run);
    schedules += sampleSchedules(samples, 1, run);
}

// Every schedule of two switches between processes. Between threads, with many more yield points in their calls: of one
// or two, and of one more with each access to memory as a yield point.
static void explore(const Scenario &scenario) {
    if (!scenario.is_of_threads)
        return explore(scenario, 2, 300);
    for (const Protocol &protocol : Protocols) {
        setenv("SNAPSHOT_PROTOCOL", protocol.name, 1);
        for (bool every : {false, true}) {
            watchMemory(every);
            explore(scenario, every ? 1 : scenario.switches, 100);
        }
    }
}

static bool runNamed(const std::string &name, const char *schedule) {
    for (const Scenario &scenario : Scenarios)
        if (name == scenario.name) {
            if (schedule)
                scenario.run(current = parseSchedule(schedule));
            else
                explore(scenario);
            return true;
        }
    if (name == "kill-opening")
        killWhileOpening();
    else if (name == "kill")
        killAnywhere();
    return name.starts_with("kill");
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    directory = std::string(argv[1]) + "-" + std::to_string(getpid());
    path = directory + "/data";
    log_path = path + ".snapshot-log";
    if (argc > 3 && strcmp(argv[3], "-") != 0)
        seeded_bug = argv[3];
    report =
        static_cast<Report *>(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (int signal : {SIGSEGV, SIGBUS})
        std::signal(signal, crashed);
    if (!runNamed(argv[2], argc > 4 ? argv[4] : nullptr))
        return 2;
    std::filesystem::remove_all(directory);
    printf("%lu schedules, %lu kills, %lu crash images, %lu of crashes in recovery, %lu violations\n", schedules, kills,
           crash_images, recovery_images, violations);
    return *seeded_bug || schedules + kills == 0 || violations > 0 ? 1 : 0;
}
