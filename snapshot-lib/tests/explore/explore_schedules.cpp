// SPDX-License-Identifier: BSD-3-Clause
//
// Interleavings of two processes or two threads in the runtime: every schedule of so many switches, then seeded samples
// of more; and a process that is killed at every yield point. What holds after each is the scenario's to say.
//
//     explore_schedules DIRECTORY SCENARIO [BUG [SCHEDULE]]
//
// With the name of a seeded bug it succeeds if the bug is caught; "-" is none. With a schedule, as a failure prints it,
// it runs just that one.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>

#include "runtime_under_test.hpp"
#include "scheduler.hpp"

extern "C" const char *snapshot_seeded_bug;
const char *snapshot_seeded_bug = "";
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 0;

static constexpr size_t Page = 4096;

// What processes tell the one that started them.
struct Report {
    int status[TasksMax];
    uint64_t inode[TasksMax];
    uint64_t begun, acknowledged;
};

static Report *report;
static std::string directory, path, log_path;
static Schedule current;
static uint64_t schedules, kills, violations;

[[noreturn]] static void end(int status) {
    std::filesystem::remove_all(directory);
    fflush(stdout);
    _exit(status);
}

static void violation(const std::string &what) {
    if (violations++ < 3)
        printf("violation: %s, schedule %s\n", what.c_str(), describe(current).c_str());
    if (*snapshot_seeded_bug)
        end(0); // the bug is caught
}

static void require(bool holds, const char *what) {
    if (!holds)
        violation(what);
}

static void crashed(int signal) {
    printf("violation: signal %d, schedule %s\n", signal, describe(current).c_str());
    fflush(stdout);
    _exit(*snapshot_seeded_bug ? 0 : 1);
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

static constexpr size_t FileBytes = 8 * Page;
static TrackedFile *opened;

// What fences waited for must hold what was committed, whoever wrote it; and so must what is opened again.
static Run threads(const Schedule &schedule, const Tasks &tasks, const std::function<void()> &check = {}) {
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
    start.log.resize(mapping.log_bytes / 64);
    start.data.resize((mapping.data_bytes + 63) / 64);
    Image durable = durableImage(start, mapping, trace.events);
    struct recovery result{};
    require(recover({durable.logBytes(), durable.logSize()}, durable.dataBytes(), mapping.data_bytes, &protocol_line,
                    &result) == 0,
            "recovery fails");
    require(memcmp(durable.dataBytes(), file.working(), mapping.data_bytes) == 0, "the file lacks what was committed");
    std::vector<uint8_t> last(file.working(), file.working() + mapping.data_bytes);
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

// Programs order their stores against commits: each round, all store; then, side by side, each does what it has to.
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

struct Scenario {
    const char *name;
    Run (*run)(const Schedule &schedule);
    bool is_of_threads;
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
                                         {"end-unmap", endAndUnmap, true}};

static void explore(const Scenario &scenario, unsigned switches, uint64_t samples) {
    auto run = [&](const Schedule &schedule) {
        current = schedule;
        return scenario.run(schedule);
    };
    schedules += everySchedule(switches, run);
    schedules += sampleSchedules(samples, 1, run);
}

// Every schedule of two switches between processes. Between threads, whose calls have many more yield points: of one,
// and of one more with each access to memory as a yield point.
static void explore(const Scenario &scenario) {
    if (!scenario.is_of_threads)
        return explore(scenario, 2, 300);
    for (const Protocol &protocol : Protocols) {
        setenv("SNAPSHOT_PROTOCOL", protocol.name, 1);
        for (bool every : {false, true}) {
            watchMemory(every);
            explore(scenario, 1, 100);
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
        snapshot_seeded_bug = argv[3];
    report =
        static_cast<Report *>(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    for (int signal : {SIGSEGV, SIGBUS})
        std::signal(signal, crashed);
    if (!runNamed(argv[2], argc > 4 ? argv[4] : nullptr))
        return 2;
    std::filesystem::remove_all(directory);
    printf("%lu schedules, %lu kills, %lu violations\n", schedules, kills, violations);
    return *snapshot_seeded_bug || schedules + kills == 0 || violations > 0 ? 1 : 0;
}
