// SPDX-License-Identifier: BSD-3-Clause
//
// Power cuts while files and logs are made, adopted, resized, replaced, renamed and deleted, at the level of the file
// system: which names, sizes and contents are durable (the rig power_cut/folders.hpp). A story is the actions of a
// program; its system calls and stores are recorded. Then the power is cut at every point of it, or the process is
// killed there, another one opens and commits on the kernel's state of the files, and the power is cut meanwhile. Every
// state that may be left must open, with a state that was committed: not older than the last commit that returned. So
// must it if the power is cut again during this; and no call may succeed without synchronising the data that it relies
// on.
//
//     explore_power_cuts DIRECTORY PROTOCOL [BUG]
//
// With the name of a seeded bug it succeeds if the bug is caught.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <unordered_set>

#include "folders.hpp"
#include "posix_calls.hpp"
#include "runtime_under_test.hpp"

static constexpr size_t DataBytes = 8192, BytesMax = 2 * DataBytes;
// Of more than six names and sizes each is also there alone and missing alone. Of the contents none, all and two parts.
static constexpr FolderSampling Cuts = {.steps = {.exhaustive = 64, .random = 24, .alone = 64},
                                        .content = {.random = 2}};

const char *seeded_bug = "";
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 1;

static std::string directory, scenario;
static unsigned protocol_flag;
static struct {
    uint64_t points, states, different, recoveries, kills, failing, violations;
} totals;

static void violation(const char *what, size_t at) {
    if (totals.violations++ < 10)
        printf("violation: %s: %s, event %zu\n", scenario.c_str(), what, at);
    if (!*seeded_bug)
        return;
    std::filesystem::remove_all(directory);
    exit(0); // the bug is caught
}

static void crashed(int signal) {
    printf("violation: %s: signal %d\n", scenario.c_str(), signal);
    fflush(stdout);
    std::filesystem::remove_all(directory);
    _exit(*seeded_bug ? 0 : 1);
}

// ---- The system calls of the library.

static struct Recording {
    FolderEvents *events = nullptr; // null: off
    std::map<ino_t, unsigned> numbers;
    unsigned number_last = 0;
    struct Mapped {
        const char *begin, *end;
        unsigned file;
    };
    std::vector<Mapped> mapped;
    size_t syncs = 0, failing = 0; // the one of them that fails; 0: none
    bool hides_folder = false;     // it may be written and searched, not read

    unsigned numberOf(int fd) const {
        struct stat status{};
        auto found = fstat(fd, &status) == 0 ? numbers.find(status.st_ino) : numbers.end();
        return found == numbers.end() ? 0 : found->second;
    }
    unsigned numberOf(const char *path) const {
        struct stat status{};
        auto found = stat(path, &status) == 0 ? numbers.find(status.st_ino) : numbers.end();
        return found == numbers.end() ? 0 : found->second;
    }
    unsigned make(int fd) {
        struct stat status{};
        fstat(fd, &status);
        return numbers[status.st_ino] = ++number_last;
    }
    void add(FolderEvent event) const {
        if (events)
            events->push_back(std::move(event));
    }
    void addContent(FolderEvent::Kind kind, unsigned file, size_t at, const char *bytes) const {
        add({.kind = kind, .file = file, .at = at, .content = std::string(bytes, 64)});
    }
    void store(const char *target, const char *source) const {
        for (size_t i = mapped.size(); events && i > 0; i--)
            if (const Mapped &place = mapped[i - 1]; target >= place.begin && target < place.end)
                return addContent(FolderEvent::Stored, place.file, static_cast<size_t>(target - place.begin), source);
    }
} recording;

static std::string nameOf(const char *path) { return std::filesystem::path(path).filename(); }

static FolderEvent named(const char *path, unsigned file) {
    return {.kind = FolderEvent::Name, .file = file, .name = nameOf(path)};
}

static FolderEvent moved(const char *from, const char *to, unsigned file) {
    return {.kind = FolderEvent::Move, .file = file, .name = nameOf(from), .to = nameOf(to)};
}

static int resized(int fd, int result) {
    struct stat status{};
    if (unsigned file = recording.numberOf(fd); result == 0 && file && fstat(fd, &status) == 0)
        recording.add({.kind = FolderEvent::Size, .file = file, .at = static_cast<uint64_t>(status.st_size)});
    return result;
}

extern "C" {
int __real_open(const char *path, int flags, mode_t mode);
int __real_ftruncate(int fd, off_t bytes);
int __real_posix_fallocate(int fd, off_t at, off_t bytes);
int __real_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags);
int __real_unlink(const char *path);
long __real_syscall(long number, ...);
void *__real_kernel_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset);
int __real_file_identity_read(int fd, uint64_t identity[3]);

int __wrap_open(const char *path, int flags, mode_t mode) {
    if (recording.hides_folder && (flags & O_DIRECTORY)) {
        errno = EACCES;
        return -1;
    }
    bool is_new = recording.events && (flags & O_CREAT) && access(path, F_OK) < 0;
    int fd = __real_open(path, flags, mode);
    if (is_new && fd >= 0)
        recording.add(named(path, recording.make(fd)));
    return fd;
}

int __wrap_ftruncate(int fd, off_t bytes) { return resized(fd, __real_ftruncate(fd, bytes)); }

int __wrap_posix_fallocate(int fd, off_t at, off_t bytes) { return resized(fd, __real_posix_fallocate(fd, at, bytes)); }

int __wrap_renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    int result = __real_renameat2(from_folder, from, to_folder, to, flags);
    if (result == 0)
        recording.add(moved(from, to, recording.numberOf(to)));
    return result;
}

int __wrap_unlink(const char *path) {
    int result = __real_unlink(path);
    if (result == 0)
        recording.add(named(path, 0));
    return result;
}

int __wrap_fsync(int fd) {
    struct stat status{};
    if (!recording.events || fstat(fd, &status) < 0)
        return recording.events ? -1 : 0;
    if (++recording.syncs == recording.failing) {
        errno = EIO;
        return -1;
    }
    bool is_folder = S_ISDIR(status.st_mode);
    recording.add(
        {.kind = is_folder ? FolderEvent::SyncFolder : FolderEvent::SyncFile, .file = recording.numberOf(fd)});
    return 0;
}

// All of the file system.
int __wrap_syncfs(int) {
    if (++recording.syncs == recording.failing) {
        errno = EIO;
        return -1;
    }
    for (auto [inode, file] : recording.numbers)
        recording.add({.kind = FolderEvent::SyncFile, .file = file});
    recording.add({.kind = FolderEvent::SyncFolder});
    return 0;
}

// Those of the library that change names, and the rest.
long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long a[6];
    for (long &argument : a)
        argument = va_arg(list, long);
    va_end(list);
    auto path = [&](int i) { return reinterpret_cast<const char *>(a[i]); };
    if (number == SYS_openat && static_cast<int>(a[0]) == AT_FDCWD)
        return __wrap_open(path(1), static_cast<int>(a[2]), static_cast<mode_t>(a[3]));
    if (number == SYS_renameat2)
        return __wrap_renameat2(AT_FDCWD, path(1), AT_FDCWD, path(3), static_cast<unsigned>(a[4]));
    if (number == SYS_unlinkat)
        return __wrap_unlink(path(1));
    if (number == SYS_fsync)
        return __wrap_fsync(static_cast<int>(a[0]));
    if (number == SYS_ftruncate)
        return __wrap_ftruncate(static_cast<int>(a[0]), a[1]);
    long result = __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (number == SYS_linkat && result == 0)
        recording.add(named(path(3), recording.numberOf(path(3))));
    return result;
}

void *__wrap_kernel_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    void *address = __real_kernel_mmap(hint, bytes, protection, flags, fd, offset);
    auto *begin = static_cast<const char *>(address);
    if (address != MAP_FAILED && fd >= 0 && (flags & MAP_SHARED) && (protection & PROT_WRITE))
        recording.mapped.push_back({begin, begin + bytes, recording.numberOf(fd)});
    return address;
}

// Each line by itself, as the persistence layer promises no more.
void __wrap_persist_copy(void *target, const void *source, size_t bytes) {
    for (size_t i = 0; i < bytes; i += 64)
        recording.store(static_cast<char *>(target) + i, static_cast<const char *>(source) + i);
    memcpy(target, source, bytes);
}

void __wrap_persist_fence() { recording.add({.kind = FolderEvent::Fence}); }

void __wrap_persist_fence_all() { __wrap_persist_fence(); }

int __wrap_persist_resize(int fd, uint64_t bytes) {
    return __wrap_ftruncate(fd, static_cast<off_t>(bytes)) < 0 || __wrap_fsync(fd) < 0 ? -errno : 0;
}

// Of the file as the model knows it: each state is written to files of its own. Device, inode, birth.
int __wrap_file_identity_read(int fd, uint64_t identity[3]) {
    int status = __real_file_identity_read(fd, identity);
    if (unsigned number = recording.numberOf(fd))
        identity[1] = number, identity[2] = 1;
    return status;
}
}

// ---- States of the folder.

// Pages of zeros are holes, as in a copy made with `cp --sparse=always`.
static void writeSparsely(int fd, const std::string &bytes) {
    static const std::string zeros(4096, '\0');
    if (__real_ftruncate(fd, static_cast<off_t>(bytes.size())) < 0)
        abort();
    for (size_t at = 0; at < bytes.size(); at += 4096) {
        size_t count = std::min<size_t>(4096, bytes.size() - at);
        if (bytes.compare(at, count, zeros, 0, count) != 0 &&
            pwrite(fd, bytes.data() + at, count, static_cast<off_t>(at)) != static_cast<ssize_t>(count))
            abort();
    }
}

static void writeFolder(const Folder &folder) {
    for (const auto &entry : std::filesystem::directory_iterator(directory))
        std::filesystem::remove(entry.path());
    recording.numbers.clear();
    std::map<unsigned, std::string> written;
    for (const auto &[name, file] : folder.names) {
        std::string path = directory + "/" + name;
        if (auto other = written.find(file); other != written.end()) {
            std::filesystem::create_hard_link(other->second, path);
            continue;
        }
        written[file] = path;
        int fd = __real_open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        struct stat status{};
        fstat(fd, &status);
        recording.numbers[status.st_ino] = file;
        recording.number_last = std::max(recording.number_last, file);
        writeSparsely(fd, folder.files.at(file));
        close(fd);
    }
}

// Which of the states of a story may be found from here on, and how.
struct Promise {
    size_t oldest = 0, youngest = 0;
    unsigned flags = 0;       // to open it with
    bool is_none = false;     // anything may be found, and nothing
    bool may_be_gone = false; // there need not be a file
};

static bool isSeen(const Folder &folder, const Promise &promise) {
    static std::unordered_set<size_t> seen;
    std::string text = scenario + std::to_string(promise.oldest) + "," + std::to_string(promise.youngest) + "," +
                       std::to_string(promise.flags);
    for (const auto &[name, file] : folder.names)
        text += "/" + name + "=" + std::to_string(file) + ":" + folder.files.at(file);
    return !seen.insert(std::hash<std::string>()(text)).second;
}

// ---- Stories.

struct Story {
    Folder base{};
    FolderEvents events;
    std::vector<Promise> promises; // each from its mark in the events on
    std::vector<std::string> states{std::string(BytesMax, '\0')};
    NameRule rule = NameRule::Posix;

    Story() { say({}); }

    Promise promiseAt(size_t count) const {
        while (events[count - 1].kind != FolderEvent::Mark)
            count--;
        return promises[events[count - 1].at];
    }
    Promise promise() const { return promiseAt(events.size()); }
    void say(const Promise &promise) {
        events.push_back({.kind = FolderEvent::Mark, .at = promises.size()});
        promises.push_back(promise);
    }
    void begin(Folder folder, const Promise &promise) {
        base = std::move(folder);
        events.clear();
        say(promise);
    }
    // All earlier work is durable, and the story begins here.
    void settle() { begin(folderAfter(base, events, events.size()), promise()); }
};

static std::string pathNow() {
    std::string path = directory + "/data", other = directory + "/moved";
    return access(other.c_str(), F_OK) == 0 && access(path.c_str(), F_OK) < 0 ? other : path;
}

static std::string contentOf(const TrackedFile &file) {
    std::string content(reinterpret_cast<char *>(file.working()), file.mapping().data_bytes);
    content.resize(BytesMax);
    return content;
}

// A program with the file open, as long as this lives.
class Program {
  public:
    Program(Story &story, size_t bytes)
        : story(story), file(pathNow(), bytes, protocol_flag | story.promise().flags), random(story.events.size()) {
        Promise before = story.promise();
        if (file.error() == 0)
            found(before);
        else if (!before.is_none && recording.failing == 0)
            violation("a process cannot open what another one left", story.events.size());
    }
    bool isOpen() const { return file.error() == 0; }

    void commit(size_t stores) {
        for (size_t i = 0; isOpen() && i < stores; i++)
            trackedStore(file.working() + random() % (file.mapping().data_bytes / 64) * 64, random());
        if (!isOpen() || has_failed)
            return;
        size_t state = next(contentOf(file));
        if (file.commit() == 0)
            story.say({.oldest = state, .youngest = state});
    }
    // Growing changes nothing; a cut is a commit.
    void resize(size_t bytes) {
        if (!isOpen() || has_failed)
            return;
        std::string cut = contentOf(file);
        std::fill(cut.begin() + static_cast<long>(bytes), cut.end(), '\0');
        size_t state = next(cut);
        has_failed = snapshot_resize(file.working(), bytes) < 0;
        if (!has_failed)
            story.say({.oldest = state, .youngest = state});
    }

  private:
    void found(const Promise &before) {
        std::string content = contentOf(file);
        for (size_t i = before.youngest + 1; i > before.oldest; i--)
            if (story.states[i - 1] == content)
                return story.say({.oldest = i - 1, .youngest = i - 1});
        violation("a process finds what was never committed", story.events.size());
    }
    size_t next(const std::string &content) {
        size_t oldest = story.promise().oldest;
        story.states.push_back(content);
        story.say({.oldest = oldest, .youngest = story.states.size() - 1});
        return story.states.size() - 1;
    }

    Story &story;
    TrackedFile file;
    std::mt19937_64 random;
    bool has_failed = false; // to be resized: it has the one size or the other
};

static void openAndCommit(Story &story, size_t bytes) {
    Program program(story, bytes);
    program.commit(3);
    program.commit(40); // the log grows
}

static void leaveAfter(Story &story, unsigned commits) {
    Program program(story, DataBytes);
    while (commits-- > 0)
        program.commit(30);
    story.settle();
    recording.events = nullptr;
}

// The only copy of the last commits may be in its log.
static void leaveCrashed(Story &story) { leaveAfter(story, 2); }

static void leaveClosed(Story &story) {
    openAndCommit(story, DataBytes);
    story.settle();
}

static void leaveNothing(Story &) {}

static void leaveUnreadableFolder(Story &) { recording.hides_folder = true; }

// Copies that the program has synchronised are as good as other files with the same content.
static void leaveCopies(Story &story) {
    leaveAfter(story, 1); // under redo the file is all hole
    Folder copies;
    for (const auto &[name, file] : story.base.names) {
        copies.names[name] = file + 100;
        copies.files[file + 100] = story.base.files.at(file);
    }
    Promise promise = story.promise();
    promise.flags = SNAPSHOT_ADOPT;
    story.begin(copies, promise);
}

static void create(Story &story) { openAndCommit(story, DataBytes); }

static void createMade(Story &story) {
    int fd = open(pathNow().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (ftruncate(fd, DataBytes) == 0)
        openAndCommit(story, 0);
    close(fd);
}

static void reopen(Story &story) { openAndCommit(story, DataBytes); }

// The file as it was, or with nothing in it.
static void mayBeEmpty(Story &story) {
    Promise promise = story.promise();
    story.states.emplace_back(BytesMax, '\0');
    promise.youngest = story.states.size() - 1;
    story.say(promise);
}

// By a program that knows nothing of logs.
static void makeAgain(Story &story) {
    mayBeEmpty(story);
    unlink(pathNow().c_str());
    openAndCommit(story, DataBytes);
}

static void empty(Story &story) {
    mayBeEmpty(story);
    int fd = open(pathNow().c_str(), O_RDWR | O_CLOEXEC, 0644);
    if (ftruncate(fd, 0) == 0)
        openAndCommit(story, DataBytes);
    close(fd);
}

static void resize(Story &story) {
    Program program(story, DataBytes);
    program.commit(10);
    program.resize(BytesMax);
    program.commit(10);
    program.resize(DataBytes / 2);
    program.commit(10);
}

// Copies that nobody has synchronised: their state after a cut before the adoption is the copier's business.
static void adoptUnsynchronised(Story &story) {
    Folder copies = story.base;
    Promise promise = story.promise();
    promise.is_none = true;
    story.begin({}, promise);
    for (const auto &[name, file] : copies.names) {
        recording.add(named(name.c_str(), file));
        const std::string &bytes = copies.files.at(file);
        recording.add({.kind = FolderEvent::Size, .file = file, .at = bytes.size()});
        for (size_t at = 0; at < bytes.size(); at += 64)
            if (bytes.find_first_not_of('\0', at) < at + 64)
                recording.addContent(FolderEvent::Written, file, at, bytes.data() + at);
    }
    openAndCommit(story, 0);
}

static void renameOpen(Story &story) {
    Program program(story, DataBytes);
    program.commit(10);
    snapshot_posix_rename((directory + "/data").c_str(), (directory + "/moved").c_str());
    program.commit(10);
}

static void unlinkCrashed(Story &story) {
    Promise promise = story.promise();
    promise.may_be_gone = true;
    story.begin(story.base, promise);
    snapshot_posix_unlink(pathNow().c_str());
}

// ---- Exploring.

static void checkCuts(const Story &story, size_t from, unsigned depth);

// The state opens and is one of the promised ones. One of five is opened once more while the power is cut.
static void check(const Story &story, const Folder &folder, const Promise &promise, size_t at, unsigned depth) {
    totals.states++;
    if (isSeen(folder, promise))
        return;
    totals.different++;
    writeFolder(folder);
    if (promise.may_be_gone && access(pathNow().c_str(), F_OK) < 0)
        return;
    {
        TrackedFile file(pathNow(), BytesMax, promise.flags);
        if (file.error())
            return violation(strerrorname_np(-file.error()), at);
        std::string content = contentOf(file);
        auto begin = story.states.begin();
        if (std::find(begin + static_cast<long>(promise.oldest), begin + static_cast<long>(promise.youngest) + 1,
                      content) == begin + static_cast<long>(promise.youngest) + 1)
            violation(content == story.states[0] ? "the file is empty" : "the file has what was never committed", at);
    }
    if (depth > 0 || totals.different % 5)
        return;
    Story again = story;
    again.begin(folder, promise);
    writeFolder(folder);
    recording.events = &again.events;
    Program(again, DataBytes);
    recording.events = nullptr;
    uint64_t before = totals.states;
    checkCuts(again, 0, depth + 1);
    totals.recoveries += totals.states - before;
}

// Between two events that make changes durable, the set of other changes only grows, and so do the states.
static bool isPoint(const FolderEvents &events, size_t at) {
    return at == events.size() || !(events[at].isStep() || events[at].isContent());
}

static void checkCuts(const Story &story, size_t from, unsigned depth) {
    for (size_t at = std::max<size_t>(from, 1); at <= story.events.size(); at++) {
        Promise promise = story.promiseAt(at);
        if (promise.is_none || !isPoint(story.events, at))
            continue;
        totals.points++;
        forEachCut(story.base, story.events, at, story.rule, Cuts,
                   [&](const Folder &folder) { check(story, folder, promise, at, depth); });
    }
}

// Killed at each call; another process continues on the kernel's state of the files. Its stores are not durable yet.
static void checkKills(const Story &story) {
    for (size_t at = 1; at <= story.events.size(); at++) {
        Promise promise = story.promiseAt(at);
        bool is_call =
            at == story.events.size() || !(story.events[at].isContent() || story.events[at].kind == FolderEvent::Fence);
        if (promise.is_none || !is_call)
            continue;
        Story next = story;
        next.events.resize(at);
        next.events.push_back({.kind = FolderEvent::Fence});
        writeFolder(folderAfter(story.base, story.events, at));
        if (promise.may_be_gone && access(pathNow().c_str(), F_OK) < 0)
            continue;
        totals.kills++;
        recording.events = &next.events;
        openAndCommit(next, DataBytes);
        recording.events = nullptr;
        checkCuts(next, at, 1);
    }
}

struct Scenario {
    const char *name;
    NameRule rule;
    void (*before)(Story &);
    void (*live)(Story &);
};

static const Scenario scenarios[] = {
    {"create", NameRule::Posix, leaveNothing, create},
    {"create-in-unreadable-folder", NameRule::Posix, leaveUnreadableFolder, create},
    {"create-made", NameRule::Posix, leaveNothing, createMade},
    {"reopen-crashed", NameRule::Posix, leaveCrashed, reopen},
    {"reopen-closed", NameRule::Posix, leaveClosed, reopen},
    {"make-again", NameRule::Journal, leaveClosed, makeAgain},
    {"empty", NameRule::Posix, leaveCrashed, empty},
    {"resize", NameRule::Posix, leaveClosed, resize},
    {"adopt", NameRule::Posix, leaveCopies, reopen},
    {"adopt-unsynchronised", NameRule::Posix, leaveCopies, adoptUnsynchronised},
    {"rename", NameRule::Journal, leaveClosed, renameOpen},
    {"unlink", NameRule::Journal, leaveCrashed, unlinkCrashed},
};

// With the given synchronisation failing; 0: none. False: there are not so many.
static bool explore(const Scenario &what, size_t failing) {
    scenario = what.name + std::string(failing ? " with failing fsync " + std::to_string(failing) : "");
    Story story;
    story.rule = what.rule;
    recording.hides_folder = false;
    writeFolder({});
    recording.events = &story.events;
    what.before(story);
    writeFolder(story.base);
    recording.events = &story.events;
    recording.syncs = 0;
    recording.failing = failing;
    what.live(story);
    recording.events = nullptr;
    recording.failing = 0;
    if (recording.syncs < failing)
        return false;
    totals.failing += failing > 0;
    checkCuts(story, 0, 0);
    if (failing == 0)
        checkKills(story);
    return true;
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    for (const Protocol &protocol : Protocols)
        if (strcmp(protocol.name, argv[2]) == 0)
            protocol_flag = protocol.flag;
    seeded_bug = argc > 3 ? argv[3] : "";
    for (int number : {SIGBUS, SIGSEGV})
        signal(number, crashed);
    directory = argv[1] + ("-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    for (const Scenario &what : scenarios)
        for (size_t failing = 0; explore(what, failing); failing++)
            ;
    std::filesystem::remove_all(directory);
    printf("%lu points, %lu states, %lu of them different, %lu of cuts in recovery, %lu kills, %lu failing calls of "
           "fsync, %lu violations\n",
           totals.points, totals.states, totals.different, totals.recoveries, totals.kills, totals.failing,
           totals.violations);
    bool has_looked = totals.recoveries > 0 && totals.kills > 0 && totals.failing > 0;
    return *seeded_bug || !has_looked || totals.violations > 0 ? 1 : 0;
}
