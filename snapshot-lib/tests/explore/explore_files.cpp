// SPDX-License-Identifier: BSD-3-Clause
//
// Two threads that open, recover and close files of their own, or map, read, write, cut, move and rename one: every
// schedule of one switch at calls of the runtime, then seeded samples of more. A thread must not get, or close, the
// other's file, and no call may fail or lose a change because of the other thread.
//
//     explore_files DIRECTORY [SCENARIO [BUG|- [SCHEDULE]]]
//
// With a seeded bug it succeeds if there is a violation. With a schedule, as a failure prints it, it runs just that
// one.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix_calls.hpp"
#include "runtime_under_test.hpp"
#include "scheduler.hpp"

const char *seeded_bug = "";
extern "C" void regions_publish_at_exit(void);
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 0;

static constexpr size_t Page = 4096;
static constexpr uint64_t Samples = 1000;
static constexpr unsigned ScheduleLimit =
    10; // seconds of one schedule: threads that wait for each other are a violation

static std::string directory;
static const char *scenario;
static Schedule current;
static uint64_t violations;

static void require(bool holds, const char *what) {
    if (!holds && violations++ < 3)
        printf("violation: %s: %s, schedule %s\n", scenario, what, describe(current).c_str());
}

static void crashed(int signal) {
    printf("violation: %s: signal %d, schedule %s\n", scenario, signal, describe(current).c_str());
    fflush(stdout);
    _exit(*seeded_bug ? 0 : 1);
}

static std::string named(const char *name) { return directory + "/" + name; }

static uint64_t firstWord(const uint8_t *memory) {
    uint64_t value;
    memcpy(&value, memory, sizeof(value));
    return value;
}

static int openFile(const char *name) { return p_open(named(name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644); }

static void openAndCommit(const char *name, uint64_t value) {
    TrackedFile file(named(name), Page);
    require(file.error() == 0, "a file does not open");
    if (file.error())
        return;
    trackedStore(file.working(), value);
    require(file.commit() == 0, "a commit fails");
    require(firstWord(file.working()) == value, "a file has another's content");
    require(snapshot_unmap(file.release()) == 0, "a file cannot be closed");
}

static void requireContent(const char *name, uint64_t value) {
    TrackedFile file(named(name), 0);
    require(file.error() == 0 && firstWord(file.working()) == value, "a file lacks its commit");
}

static Run openTwo(const Schedule &schedule) {
    Run run = runThreads({[] { openAndCommit("a", 1); }, [] { openAndCommit("b", 2); }}, schedule);
    requireContent("a", 1);
    requireContent("b", 2);
    return run;
}

// A process that ends without closing leaves a commit that only the log has.
static void crashWith(const char *name, uint64_t value) {
    pid_t child = fork();
    if (child == 0) {
        TrackedFile file(named(name), Page, SNAPSHOT_PROTOCOL_REDO);
        trackedStore(file.working(), value);
        _exit(file.commit() == 0 ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    require(status == 0, "nothing is left to recover");
}

static void recoverByOpening(const char *name, uint64_t value) {
    uint64_t found = 0;
    int fd = openFile(name);
    require(p_pread(fd, &found, sizeof(found), 0) == sizeof(found) && found == value, "a file is not recovered");
    p_close(fd);
}

static Run openAndRecover(const Schedule &schedule) {
    crashWith("b", 2);
    Run run = runThreads({[] { openAndCommit("a", 1); }, [] { recoverByOpening("b", 2); }}, schedule);
    requireContent("a", 1);
    requireContent("b", 2);
    return run;
}

static Run recoverTwo(const Schedule &schedule) {
    crashWith("a", 1);
    crashWith("b", 2);
    return runThreads({[] { recoverByOpening("a", 1); }, [] { recoverByOpening("b", 2); }}, schedule);
}

// It is not mapped, and has a store that was not committed.
static int idleFile(const char *name) {
    int fd = openFile(name);
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    void *memory = p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    require(memory != MAP_FAILED, "a file cannot be mapped");
    trackedStore(static_cast<uint8_t *>(memory), 5);
    threadRests(memory);
    require(p_munmap(memory, Page) == 0, "a file cannot be unmapped");
    return fd;
}

static Run closeIdle(const Schedule &schedule) {
    int fd = idleFile("a"), other = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    Run run = runThreads({[=] { require(p_close(fd) == 0, "close fails"); },
                          [=] {
                              require(p_close(other) == 0, "close fails");
                              openAndCommit("b", 2);
                          }},
                         schedule);
    requireContent("b", 2);
    requireContent("a", 0);
    return run;
}

// A file that is not mapped outgrows its room, and moves, while another thread commits it.
static Run moveAndCommit(const Schedule &schedule) {
    int fd = idleFile("a");
    Run run = runThreads({[=] { require(p_ftruncate(fd, off_t{1} << 31) == 0, "a file does not grow"); },
                          [=] { require(p_fsync(fd) == 0, "a commit fails"); }},
                         schedule);
    require(p_close(fd) == 0, "close fails");
    requireContent("a", 5);
    return run;
}

// The last mapping goes while another thread uses a descriptor.
static Run unmapAndUse(const Schedule &schedule) {
    static void *memory;
    int fd = openFile("a");
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    memory = p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    trackedStore(static_cast<uint8_t *>(memory), 5);
    require(p_msync(memory, Page, MS_SYNC) == 0, "a commit fails");
    threadRests(memory);
    Run run = runThreads({[] { require(p_munmap(memory, Page) == 0, "a file cannot be unmapped"); },
                          [=] {
                              uint64_t found = 0;
                              require(p_pread(fd, &found, sizeof(found), 0) == sizeof(found) && found == 5,
                                      "a file lacks its commit");
                              require(p_pwrite(fd, "123456789", 8, 8) == 8, "a file cannot be written");
                              require(p_fsync(fd) == 0, "a commit fails");
                          }},
                         schedule);
    require(p_close(fd) == 0, "close fails");
    requireContent("a", 5);
    return run;
}

// A file that is not mapped moves, not for the first time, while another thread writes it. The address it writes to is
// known for a few loads and stores only, so that each of these is a point where the other one may go on.
static Run moveAndWrite(const Schedule &schedule) {
    const uint64_t value = 6;
    int fd = idleFile("a");
    require(p_ftruncate(fd, off_t{1} << 31) == 0 && p_ftruncate(fd, Page) == 0, "a file does not move");
    watchMemory(true);
    Run run = runThreads({[=] { require(p_ftruncate(fd, off_t{1} << 33) == 0, "a file does not grow"); },
                          [&] { require(p_pwrite(fd, &value, 8, 0) == 8, "a file cannot be written"); }},
                         schedule);
    watchMemory(false);
    require(p_fsync(fd) == 0 && p_close(fd) == 0, "a commit or close fails");
    requireContent("a", value);
    return run;
}

// The program ends, and publishes a commit that only the log has, while another of its threads lets the file move.
static Run exitAndMove(const Schedule &schedule) {
    int fd = idleFile("a");
    require(p_fsync(fd) == 0, "a commit fails");
    watchMemory(true);
    Run run = runThreads(
        {regions_publish_at_exit, [=] { require(p_ftruncate(fd, off_t{1} << 31) == 0, "a file does not grow"); }},
        schedule);
    watchMemory(false);
    require(p_fsync(fd) == 0 && p_close(fd) == 0, "a commit or close fails");
    requireContent("a", 5);
    return run;
}

// The same with the last descriptor of a file, which that thread closes.
static Run exitAndClose(const Schedule &schedule) {
    int fd = idleFile("a");
    watchMemory(true);
    Run run = runThreads({regions_publish_at_exit, [=] { require(p_close(fd) == 0, "close fails"); }}, schedule);
    watchMemory(false);
    requireContent("a", 0);
    return run;
}

static void *mapped(int fd) {
    return p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
}

static int mappedFile(const char *name, off_t bytes, void **memory) {
    int fd = openFile(name);
    require(p_ftruncate(fd, bytes) == 0, "a file gets no size");
    *memory = mapped(fd);
    require(*memory != MAP_FAILED, "a file cannot be mapped");
    return fd;
}

static void unmapAndClose(void *memory, int fd) {
    require(p_msync(memory, Page, MS_SYNC) == 0, "a commit fails");
    require(p_munmap(memory, Page) == 0 && p_close(fd) == 0, "a file cannot be closed");
}

static void writeAt(int fd, off_t at, uint64_t value) {
    require(p_pwrite(fd, &value, sizeof(value), at) == sizeof(value), "a file cannot be written");
}

static void requireAt(int fd, off_t at, uint64_t value) {
    uint64_t found = 0;
    require(p_pread(fd, &found, sizeof(found), at) == sizeof(found) && found == value, "a file lacks what was written");
}

// Two threads write behind the end.
static Run growAndGrow(const Schedule &schedule) {
    static void *memory;
    int fd = mappedFile("a", Page, &memory);
    Run run = runThreads({[=] { writeAt(fd, 2 * Page, 1); }, [=] { writeAt(fd, 3 * Page, 2); }}, schedule);
    requireAt(fd, 2 * Page, 1);
    requireAt(fd, 3 * Page, 2);
    unmapAndClose(memory, fd);
    return run;
}

// One descriptor appends, and the other one writes and moves the position that both share.
static Run appendAndAppend(const Schedule &schedule) {
    static void *memory;
    int fd = mappedFile("a", Page, &memory), shared_position = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    auto append = [](int to, uint64_t value) { require(p_write(to, &value, 8) == 8, "a file cannot be written"); };
    Run run = runThreads({[=] { append(fd, 1); }, [=] { append(shared_position, 2); }}, schedule);
    uint64_t found[2] = {};
    require(p_pread(fd, found, sizeof(found), 0) == sizeof(found) && found[0] + found[1] == 3, "a write is lost");
    p_close(shared_position);
    unmapAndClose(memory, fd);
    return run;
}

// A file is cut while another thread reads the part that goes, and then writes it again.
static Run cutAndUse(const Schedule &schedule, int fd, const std::function<int()> &cut) {
    return runThreads({[&] { require(cut() == 0, "a file cannot be cut"); },
                       [=] {
                           static uint8_t bytes[4 * Page];
                           ssize_t got = p_pread(fd, bytes, sizeof(bytes), 0);
                           require(got == Page || got == 4 * Page, "a read gets part of a file");
                           writeAt(fd, 3 * Page, 3);
                       }},
                      schedule);
}

static Run cutByDescriptor(const Schedule &schedule) {
    void *memory;
    int fd = mappedFile("a", 4 * Page, &memory);
    Run run = cutAndUse(schedule, fd, [=] { return p_ftruncate(fd, Page); });
    unmapAndClose(memory, fd);
    return run;
}

static Run cutByAddress(const Schedule &schedule) {
    TrackedFile file(named("a"), 4 * Page);
    int fd = openFile("a");
    Run run = cutAndUse(schedule, fd, [&] { return snapshot_resize(file.working(), Page); });
    require(file.commit() == 0 && p_close(fd) == 0, "a commit or close fails");
    return run;
}

// Whichever of two threads maps a file first, the other one's mapping does not end its own.
static Run mapAndMapByName(const Schedule &schedule) {
    int fd = openFile("a");
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    static bool committed;
    Run run = runThreads({[] {
                              TrackedFile file(named("a"), 2 * Page);
                              committed = file.error() == 0;
                              require(committed || file.error() == -EBUSY, "a file does not open");
                              if (!committed)
                                  return;
                              trackedStore(file.working(), 5);
                              require(file.commit() == 0, "a commit fails");
                          },
                          [=] {
                              void *memory = mapped(fd);
                              require(memory != MAP_FAILED, "a file cannot be mapped");
                              require(p_munmap(memory, Page) == 0, "a file cannot be unmapped");
                          }},
                         schedule);
    require(p_close(fd) == 0, "close fails");
    requireContent("a", committed ? 5 : 0);
    return run;
}

// A file with a log gets another size while another thread maps it.
static Run resizeAndMap(const Schedule &schedule) {
    static void *memory;
    int fd = mappedFile("a", 2 * Page, &memory);
    trackedStore(static_cast<uint8_t *>(memory), 4);
    require(p_msync(memory, Page, MS_SYNC) == 0 && p_munmap(memory, Page) == 0, "a file gets no log");
    Run run = runThreads({[=] { require(p_ftruncate(fd, 3 * Page) == 0, "a file does not grow"); },
                          [=] {
                              void *own = mapped(fd);
                              require(own != MAP_FAILED, "a file cannot be mapped");
                              trackedStore(static_cast<uint8_t *>(own), 5);
                              require(p_msync(own, Page, MS_SYNC) == 0, "a commit fails");
                              require(p_munmap(own, Page) == 0, "a file cannot be unmapped");
                          }},
                         schedule);
    require(p_close(fd) == 0, "close fails");
    requireContent("a", 5);
    return run;
}

// The last descriptor of an idle file is closed while another thread reads by it.
static Run closeAndRead(const Schedule &schedule) {
    int fd = idleFile("a");
    Run run = runThreads({[=] {
                              uint64_t found;
                              (void)p_pread(fd, &found, sizeof(found), 0);
                          },
                          [=] { require(p_close(fd) == 0, "close fails"); }},
                         schedule);
    requireContent("a", 0);
    return run;
}

// Two threads read by one position: no word is read twice.
static Run readAndRead(const Schedule &schedule) {
    static void *memory;
    static uint64_t found[2];
    int fd = mappedFile("a", Page, &memory), shared_position = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    for (uint64_t word : {0, 1})
        trackedStore(static_cast<uint8_t *>(memory) + 8 * word, word + 1);
    auto read = [](int from, uint64_t *to) { require(p_read(from, to, 8) == 8, "a file cannot be read"); };
    watchMemory(true);
    Run run = runThreads({[=] { read(fd, &found[0]); }, [=] { read(shared_position, &found[1]); }}, schedule);
    watchMemory(false);
    require(found[0] + found[1] == 3, "two reads get the same words");
    p_close(shared_position);
    unmapAndClose(memory, fd);
    return run;
}

// Each of two threads has mappings of a file for itself; the last one that goes must not take the other's.
static void mapAndCommit(int fd, size_t word) {
    void *own = mapped(fd);
    require(own != MAP_FAILED, "a file cannot be mapped");
    trackedStore(static_cast<uint8_t *>(own) + 8 * word, 5);
    require(p_msync(own, Page, MS_SYNC) == 0, "a commit fails");
    require(p_munmap(own, Page) == 0, "a file cannot be unmapped");
}

static Run mapAndMap(const Schedule &schedule) {
    int fd = openFile("a");
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    watchMemory(true);
    Run run = runThreads({[=] { mapAndCommit(fd, 0); }, [=] { mapAndCommit(fd, 8); }}, schedule);
    watchMemory(false);
    requireAt(fd, 0, 5);
    requireAt(fd, 64, 5);
    require(p_close(fd) == 0, "close fails");
    return run;
}

// A mapping of a file is resized, or a page of it committed, while another thread unmaps other pages.
static Run besideUnmap(const Schedule &schedule, const std::function<void(uint8_t *memory)> &act) {
    static uint8_t *memory;
    int fd = openFile("a");
    require(p_ftruncate(fd, 4 * Page) == 0, "a file gets no size");
    memory = static_cast<uint8_t *>(
        p_mmap(nullptr, 4 * Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0));
    trackedStore(memory, 5);
    threadRests(memory);
    watchMemory(true);
    Run run = runThreads(
        {[&] { act(memory); }, [] { require(p_munmap(memory + Page, Page) == 0, "a page cannot be unmapped"); }},
        schedule);
    watchMemory(false);
    require(p_msync(memory, Page, MS_SYNC) == 0, "a page is not mapped any more");
    require(p_msync(memory + Page, Page, MS_SYNC) == -1, "a page is still mapped");
    require(p_munmap(memory, 4 * Page) == 0 && p_close(fd) == 0, "a file cannot be closed");
    requireContent("a", 5);
    return run;
}

static Run commitBesideUnmap(const Schedule &schedule) {
    return besideUnmap(schedule, [](uint8_t *memory) { // the pages behind the gap get a mapping of their own
        require(p_msync(memory + 3 * Page, Page, MS_SYNC) == 0, "a commit fails beside unmapping");
    });
}

static Run resizeBesideUnmap(const Schedule &schedule) {
    return besideUnmap(schedule, [](uint8_t *memory) {
        require(p_mremap(memory + 3 * Page, Page, 2 * Page, 0) == memory + 3 * Page, "a mapping does not grow");
        require(p_msync(memory + 3 * Page, 2 * Page, MS_SYNC) == 0, "a mapping has not grown");
        require(p_munmap(memory + 4 * Page, Page) == 0, "a page cannot be unmapped");
    });
}

// A thread maps a file for the first time, which makes its log, while another one removes or renames the file: file and
// log stay together.
static bool isThere(const char *name) { return std::filesystem::exists(named(name)); }

static Run besideMapping(const Schedule &schedule, const std::function<void()> &act) {
    int fd = openFile("a");
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    Run run = runThreads({act,
                          [=] {
                              void *own = mapped(fd); // fails if the file has no name any more
                              require(own == MAP_FAILED || p_munmap(own, Page) == 0, "a file cannot be unmapped");
                          }},
                         schedule);
    require(p_close(fd) == 0, "close fails");
    require(isThere("a") || !isThere("a.snapshot-log"), "a log stays without its file");
    return run;
}

static Run unlinkAndMap(const Schedule &schedule) {
    return besideMapping(schedule, [] { require(p_unlink(named("a").c_str()) == 0, "a file cannot be removed"); });
}

static Run renameAndMap(const Schedule &schedule) {
    Run run = besideMapping(
        schedule, [] { require(p_rename(named("a").c_str(), named("b").c_str()) == 0, "a file cannot be renamed"); });
    requireContent("b", 0);
    return run;
}

// A file that is not mapped moves while another thread publishes its last commit, for a reader that does not pass by
// the library.
static Run moveAndPublish(const Schedule &schedule, const std::function<void(int fd)> &act) {
    int fd = idleFile("a");
    require(p_fsync(fd) == 0, "a commit fails");
    watchMemory(true);
    Run run = runThreads(
        {[=] { require(p_ftruncate(fd, off_t{1} << 31) == 0, "a file does not grow"); }, [&] { act(fd); }}, schedule);
    watchMemory(false);
    require(p_close(fd) == 0, "close fails");
    requireContent("a", 5);
    return run;
}

static Run moveAndMapPrivately(const Schedule &schedule) {
    return moveAndPublish(schedule, [](int fd) {
        void *own = p_mmap(nullptr, Page, PROT_READ, MAP_PRIVATE, fd, 0);
        require(own != MAP_FAILED && firstWord(static_cast<uint8_t *>(own)) == 5, "a mapping lacks the commit");
        require(p_munmap(own, Page) == 0, "a file cannot be unmapped");
    });
}

static Run moveAndOpenStream(const Schedule &schedule) {
    return moveAndPublish(schedule, [](int) {
        FILE *stream = p_fopen(named("a").c_str(), "r");
        uint64_t found = 0;
        require(stream && fread(&found, sizeof(found), 1, stream) == 1 && found == 5, "a stream lacks the commit");
        if (stream)
            p_fclose(stream);
    });
}

static Run moveAndClone(const Schedule &schedule) {
    return moveAndPublish(schedule, [](int fd) {
        int copy = openFile("b");
        uint64_t found = 5; // unless the file system can clone
        if (p_ioctl(copy, FICLONE, fd) == 0)
            (void)p_pread(copy, &found, sizeof(found), 0);
        require(found == 5, "a clone lacks the commit");
        p_close(copy);
    });
}

static void *openAt(const char *name, size_t bytes, void *address) {
    void *memory = nullptr;
    require(snapshot_map(named(name).c_str(), bytes, address ? SNAPSHOT_FIXED : 0, address, &memory) == 0,
            "a file does not open");
    return memory;
}

// A thread stores to a file while another thread changes a second file, at lower addresses.
// Without a switch the thread that stores runs first, or the other one.
template <bool StoresFirst>
static Run besideStore(const Schedule &schedule, const std::function<void()> &act, void *address = nullptr) {
    static void *memory;
    memory = openAt("c", Page, address);
    std::function<void()> store = [] {
        trackedStore(static_cast<uint8_t *>(memory), 5);
        require(p_msync(memory, Page, MS_SYNC) == 0, "a commit fails");
    };
    watchMemory(true);
    Run run = StoresFirst ? runThreads({store, act}, schedule) : runThreads({act, store}, schedule);
    watchMemory(false);
    require(snapshot_unmap(memory) == 0, "a file cannot be closed");
    requireContent("c", 5);
    return run;
}

// The other file is closed, and its place in the list of files gets a longer one.
template <bool StoresFirst> static Run reopenLonger(const Schedule &schedule) {
    static void *memory, *longer;
    memory = openAt("a", Page, nullptr);
    Run run = besideStore<StoresFirst>(schedule, [] {
        require(snapshot_unmap(memory) == 0, "a file cannot be closed");
        longer = openAt("b", 32 * Page, nullptr);
    });
    require(snapshot_unmap(longer) == 0, "a file cannot be closed");
    return run;
}

// The place of a longer file gets a shorter one, at addresses below the file with the store.
template <bool StoresFirst> static Run reopenShorter(const Schedule &schedule) {
    static void *memory, *longer, *shorter;
    auto *lowest = TrackedFile(named("z"), Page).working();
    longer = openAt("a", 32 * Page, lowest + (1 << 24));
    memory = openAt("d", Page, lowest);
    auto reopen = [] {
        require(snapshot_unmap(memory) == 0 && snapshot_unmap(longer) == 0, "a file cannot be closed");
        shorter = openAt("b", Page, nullptr);
    };
    Run run = besideStore<StoresFirst>(schedule, reopen, lowest + 24 * Page);
    require(snapshot_unmap(shorter) == 0, "a file cannot be closed");
    return run;
}

// The other file outgrows its addresses and moves.
template <bool StoresFirst> static Run moveAndStore(const Schedule &schedule) {
    int fd = idleFile("a");
    Run run =
        besideStore<StoresFirst>(schedule, [=] { require(p_ftruncate(fd, 32 * Page) == 0, "a file does not grow"); });
    require(p_close(fd) == 0, "close fails");
    return run;
}

// A thread unmaps, and asks about, memory of its own between the addresses of files, while another one opens a file
// there.
static Run openAndUnmapOther(const Schedule &schedule) {
    static constexpr uint64_t Place = 0x120000000000; // behind the addresses that the library reserves
    static void *first, *second;
    first = openAt("a", Page, reinterpret_cast<void *>(3 * Place));
    void *other = mmap(reinterpret_cast<void *>(Place), Page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(other == reinterpret_cast<void *>(Place), "memory has not its place");
    watchMemory(true);
    Run run = runThreads({[=] { require(p_munmap(other, Page) == 0, "memory cannot be unmapped"); },
                          [] { second = openAt("b", Page, reinterpret_cast<void *>(2 * Place)); }},
                         schedule);
    watchMemory(false);
    require(madvise(other, Page, MADV_NORMAL) == -1, "memory stays mapped");
    munmap(other, Page);
    require(snapshot_unmap(first) == 0 && snapshot_unmap(second) == 0, "a file cannot be closed");
    return run;
}

extern "C" __attribute__((preserve_most)) void __snapshot_log(const void *address, size_t bytes);

// As reopenShorter, but the store is the thread's first, and is announced by the function that instrumented code calls.
static Run firstStoreReopenShorter(const Schedule &schedule) {
    static void *memory, *longer, *shorter, *target;
    auto *lowest = TrackedFile(named("z"), Page).working();
    longer = openAt("a", 32 * Page, lowest + (1 << 24));
    memory = openAt("d", Page, lowest);
    target = openAt("c", Page, lowest + 24 * Page);
    require(snapshot_unmap(memory) == 0, "a file cannot be closed");
    watchMemory(true);
    Run run = runThreads({[] {
                              const uint64_t value = 5;
                              __snapshot_log(target, sizeof(value));
                              memcpy(target, &value, sizeof(value));
                              require(p_msync(target, Page, MS_SYNC) == 0, "a commit fails");
                          },
                          [] {
                              require(snapshot_unmap(longer) == 0, "a file cannot be closed");
                              shorter = openAt("b", Page, nullptr);
                          }},
                         schedule);
    watchMemory(false);
    require(snapshot_unmap(target) == 0 && snapshot_unmap(shorter) == 0, "a file cannot be closed");
    requireContent("c", 5);
    return run;
}

// The last mapping goes while another thread writes by a descriptor: the write stays.
static Run writeAndUnmap(const Schedule &schedule) {
    static void *memory;
    int fd = mappedFile("a", Page, &memory);
    watchMemory(true);
    Run run = runThreads(
        {[=] { writeAt(fd, 0, 6); }, [] { require(p_munmap(memory, Page) == 0, "a file cannot be unmapped"); }},
        schedule);
    watchMemory(false);
    requireAt(fd, 0, 6);
    require(p_fsync(fd) == 0 && p_close(fd) == 0, "a commit or close fails");
    requireContent("a", 6);
    return run;
}

// A file that is not mapped keeps its stores while the process has a descriptor, be it not always the same one.
static Run closeAndDuplicate(const Schedule &schedule) {
    static int kept;
    int fd = idleFile("a"), other = openFile("b");
    watchMemory(true);
    Run run = runThreads({[=] { require(p_close(other) == 0, "close fails"); },
                          [=] {
                              kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
                              require(p_close(fd) == 0, "close fails");
                          }},
                         schedule);
    watchMemory(false);
    requireAt(kept, 0, 5);
    require(p_fsync(kept) == 0 && p_close(kept) == 0, "a commit or close fails");
    requireContent("a", 5);
    return run;
}

// A file grows by fallocate() while another thread maps it.
static Run allocateAndMap(const Schedule &schedule) {
    static void *own;
    int fd = openFile("a");
    require(p_ftruncate(fd, Page) == 0, "a file gets no size");
    Run run = runThreads({[=] { require(p_posix_fallocate(fd, 0, 3 * Page) == 0, "a file does not grow"); },
                          [=] {
                              own = mapped(fd);
                              require(own != MAP_FAILED, "a file cannot be mapped");
                          }},
                         schedule);
    requireAt(fd, 2 * Page, 0);
    unmapAndClose(own, fd);
    return run;
}

// The program ends while another of its threads cuts a file, with SNAPSHOT_CHECK=1.
static Run exitAndCut(const Schedule &schedule) {
    static void *memory;
    setenv("SNAPSHOT_CHECK", "1", 1);
    memory = openAt("a", 4 * Page, nullptr);
    unsetenv("SNAPSHOT_CHECK");
    watchMemory(true);
    Run run = runThreads(
        {regions_publish_at_exit, [] { require(snapshot_resize(memory, Page) == 0, "a file cannot be cut"); }},
        schedule);
    watchMemory(false);
    require(snapshot_unmap(memory) == 0, "a file cannot be closed");
    return run;
}

// A thread commits a range that has never been mapped as a whole, while another one unmaps its own mapping.
static Run commitGap(const Schedule &schedule) {
    static uint8_t *memory;
    int fd = openFile("a");
    require(p_ftruncate(fd, 4 * Page) == 0, "a file gets no size");
    auto map = [=](off_t page) {
        return static_cast<uint8_t *>(
            p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, page * off_t{Page}));
    };
    memory = map(0);
    require(map(0) == memory && map(3) == memory + 3 * Page, "pages cannot be mapped");
    watchMemory(true);
    Run run = runThreads({[] { require(p_msync(memory, 4 * Page, MS_SYNC) == -1, "a range with a gap is committed"); },
                          [] { require(p_munmap(memory, Page) == 0, "a page cannot be unmapped"); }},
                         schedule);
    watchMemory(false);
    require(p_munmap(memory, 4 * Page) == 0 && p_close(fd) == 0, "a file cannot be closed");
    return run;
}

// Two threads map a file that is not mapped at the same new address; one of them reads it before.
static Run mapFixedTwice(const Schedule &schedule) {
    int fd = idleFile("a");
    auto mapThere = [=] {
        auto *hint = reinterpret_cast<void *>(0x100000000000 + (uint64_t{1} << 28));
        void *own =
            p_mmap(hint, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED_NOREPLACE, fd, 0);
        require(own == hint, "a file cannot be mapped at an address");
    };
    watchMemory(true);
    Run run = runThreads({[=] {
                              requireAt(fd, 0, 5);
                              mapThere();
                          },
                          mapThere},
                         schedule);
    watchMemory(false);
    void *memory = reinterpret_cast<void *>(0x100000000000 + (uint64_t{1} << 28));
    require(p_munmap(memory, Page) == 0, "a file cannot be unmapped");
    (void)p_munmap(memory, Page);
    require(p_close(fd) == 0, "close fails");
    return run;
}

// A descriptor gets the number of one that another thread closes; its file needs recovery.
static Run closeAndReceive(const Schedule &schedule) {
    crashWith("b", 2);
    int raw = open(named("b").c_str(), O_RDWR | O_CLOEXEC); // as if received: not by the library
    int fd = openFile("a");
    watchMemory(true);
    Run run = runThreads({[=] { require(p_close(fd) == 0, "close fails"); },
                          [=] {
                              int received = fcntl(raw, F_DUPFD_CLOEXEC, 0);
                              requireAt(received, 0, 2);
                              require(p_close(received) == 0, "close fails");
                          }},
                         schedule);
    watchMemory(false);
    close(raw);
    return run;
}

// The last descriptor of an idle file is closed while another thread resizes the file by its name.
static Run truncateAndClose(const Schedule &schedule) {
    int fd = idleFile("a");
    Run run = runThreads({[] { require(p_truncate(named("a").c_str(), 2 * Page) == 0, "a file does not grow"); },
                          [=] { require(p_close(fd) == 0, "close fails"); }},
                         schedule);
    requireContent("a", 0);
    return run;
}

#ifdef SNAPSHOT_EPOCHS
// A rollback beside a transaction of a thread that enters: the transaction is undone as a whole, or not at all.
static Run rollbackAndEnter(const Schedule &schedule) {
    static uint8_t *memory;
    memory = static_cast<uint8_t *>(openAt("a", Page, nullptr));
    Run run = runThreads({[] {
                              int status = snapshot_rollback(memory);
                              require(status == 0 || status == -EBUSY, "a rollback fails");
                          },
                          [] {
                              require(snapshot_epoch_enter(memory) == 0, "a thread cannot enter");
                              trackedStore(memory, 5);
                              trackedStore(memory + 64, 5);
                              require(snapshot_sync(memory) == 0, "a commit fails");
                          }},
                         schedule);
    require(firstWord(memory) == firstWord(memory + 64), "half of a transaction is undone");
    require(snapshot_unmap(memory) == 0, "a file cannot be closed");
    return run;
}
#endif

// `pairs`: the number of steps for which a first switch is combined with every second one, too.
static constexpr struct {
    const char *name;
    Run (*run)(const Schedule &schedule);
    unsigned pairs = 0;
} Scenarios[] = {
    {"open-open", openTwo},
    {"open-recover", openAndRecover},
    {"recover-recover", recoverTwo},
    {"close-idle", closeIdle},
    {"move-commit", moveAndCommit},
    {"unmap-use", unmapAndUse},
    {"move-write", moveAndWrite},
    {"exit-move", exitAndMove},
    {"exit-close", exitAndClose},
    {"grow-grow", growAndGrow},
    {"append-append", appendAndAppend},
    {"read-read", readAndRead},
    {"cut-use", cutByDescriptor},
    {"cut-use-address", cutByAddress},
    {"resize-map", resizeAndMap},
    {"map-map", mapAndMap},
    {"map-map-name", mapAndMapByName},
    {"commit-unmap", commitBesideUnmap},
    {"resize-unmap", resizeBesideUnmap},
    {"unlink-map", unlinkAndMap},
    {"rename-map", renameAndMap},
    {"move-map-private", moveAndMapPrivately},
    {"move-stream", moveAndOpenStream},
    {"move-clone", moveAndClone},
    {"close-read", closeAndRead},
    {"store-reopen-longer", reopenLonger<true>},
    {"reopen-longer-store", reopenLonger<false>},
    {"store-reopen-shorter", reopenShorter<true>},
    {"reopen-shorter-store", reopenShorter<false>},
    {"store-move", moveAndStore<true>},
    {"move-store", moveAndStore<false>},
    {"unmap-open", openAndUnmapOther},
    {"first-store-reopen", firstStoreReopenShorter, 3},
    {"write-unmap", writeAndUnmap},
    {"close-duplicate", closeAndDuplicate},
    {"allocate-map", allocateAndMap},
    {"exit-cut", exitAndCut},
    {"commit-gap", commitGap},
    {"map-fixed-twice", mapFixedTwice},
    {"close-receive", closeAndReceive},
    {"truncate-close", truncateAndClose},
#ifdef SNAPSHOT_EPOCHS
    {"rollback-enter", rollbackAndEnter},
#endif
};

static uint64_t everyPair(unsigned first_end, const std::function<Run(const Schedule &)> &run) {
    uint64_t count = 0;
    for (unsigned first = 0; first < first_end; first++) {
        size_t end = run({{first, 1}}).steps.size();
        for (unsigned second = first + 1; second < end; second++, count++)
            run({{first, 1}, {second, 0}});
    }
    return count;
}

static uint64_t explore(Run (*run)(const Schedule &schedule), unsigned pairs) {
    auto fresh = [=](const Schedule &schedule) {
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        current = schedule;
        alarm(ScheduleLimit);
        return run(schedule);
    };
    return everySchedule(1, fresh) + everyPair(pairs, fresh) + sampleSchedules(Samples, 1, fresh);
}

static uint64_t replay(Run (*run)(const Schedule &schedule), const char *schedule) {
    std::filesystem::create_directories(directory);
    run(current = parseSchedule(schedule));
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 5)
        return 2;
    if (argc > 3 && strcmp(argv[3], "-") != 0)
        seeded_bug = argv[3];
    directory = std::string(argv[1]) + "-" + std::to_string(getpid());
    for (int signal : {SIGALRM, SIGBUS, SIGSEGV})
        std::signal(signal, crashed);
    uint64_t schedules = 0;
    for (const auto &one : Scenarios) {
        if (argc > 2 && strcmp(argv[2], one.name) != 0)
            continue;
        scenario = one.name;
        schedules += argc > 4 ? replay(one.run, argv[4]) : explore(one.run, one.pairs);
    }
    std::filesystem::remove_all(directory);
    printf("%lu schedules, %lu violations\n", schedules, violations);
    return schedules == 0 ? 2 : (violations > 0) != (*seeded_bug != '\0');
}
