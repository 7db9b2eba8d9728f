// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that share lines, under ThreadSanitizer: some with stores and commits in the order of a barrier, and some
// that commit beside each other's stores. After every commit recovery would find the stores of all threads before it;
// after the process ends, those of the last commit. ThreadSanitizer does not see the copies of lines that a commit
// holds, for they race with the program's stores; that the library holds every line that it has to, it does see. Every
// protocol, one to eight threads; with a tracker of pages in SNAPSHOT_TRACK, the one that commits pages. With the name
// of a seeded bug, ThreadSanitizer finds it.
#include <atomic>
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "runtime_under_test.hpp"

static constexpr unsigned Rounds = 24;
static constexpr uint64_t BesideRounds = 60;
static constexpr size_t Bytes = 32768;

const char *seeded_bug = "";

// As the pass names them.
extern "C" __typeof__(pthread_mutex_init) __snapshot_libc_pthread_mutex_init;
extern "C" __typeof__(pthread_mutex_lock) __snapshot_libc_pthread_mutex_lock;
extern "C" __typeof__(pthread_mutex_timedlock) __snapshot_libc_pthread_mutex_timedlock;
extern "C" __typeof__(pthread_mutex_unlock) __snapshot_libc_pthread_mutex_unlock;

static int failures;

static void expect(bool condition, const char *what) {
    if (!condition && failures++ < 5)
        fprintf(stderr, "%s\n", what);
}

// Each thread owns every eighth word, so that all of them write each line.
static void storeAll(uint8_t *working, unsigned thread, unsigned round) {
    for (size_t word = thread; word < Bytes / 8; word += 8 * (1 + round % 3))
        trackedStore(working + word * 8, uint64_t{round} << 32 | word);
}

static void checkFile(const TrackedFile &file) {
    Image image = file.image();
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    expect(recover(log, image.dataBytes(), Bytes, &protocol_line, &result) == 0, "recovery fails");
    expect(memcmp(image.dataBytes(), file.working(), Bytes) == 0, "the file differs from the working copy");
}

// One thread of them commits, durable or declared, and sometimes rolls back first.
static void commitRound(TrackedFile &file, unsigned round) {
    if (round % 5 == 4)
        snapshot_rollback(file.working());
    expect((round % 3 ? file.commit() : file.declare()) == 0, "commit fails");
    if (round % 4 == 0)
        checkFile(file);
}

static void rounds(TrackedFile &file, unsigned thread_count) {
    std::barrier barrier(thread_count);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++)
        threads.emplace_back([&, thread] {
            for (unsigned round = 1; round <= Rounds; round++) {
                storeAll(file.working(), thread, round);
                barrier.arrive_and_wait();
                if (thread == round % thread_count)
                    commitRound(file, round);
                else if (round % 6 == 1)
                    expect(file.commit() == 0, "commit fails"); // beside the other's commit or rollback
                barrier.arrive_and_wait();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

// The stores of a thread that has ended are part of the next commit, and another thread takes over its log.
static void shortThreads(TrackedFile &file) {
    for (unsigned round = 0; round < 20; round++)
        std::thread(storeAll, file.working(), round % 8, round).join();
    expect(file.commit() == 0, "commit fails");
    checkFile(file);
}

// The lock that orders commits and stores lies in the file itself.
static void lockedRounds(TrackedFile &file, unsigned thread_count) {
    auto *lock = reinterpret_cast<pthread_mutex_t *>(file.working() + Bytes - 128);
    __snapshot_libc_pthread_mutex_init(lock, nullptr);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++)
        threads.emplace_back([&, thread] {
            for (unsigned round = 1; round <= 4 * Rounds; round++) {
                __snapshot_libc_pthread_mutex_lock(lock);
                trackedStore(file.working() + 8 * (97 * thread + round), round);
                if (round % 3 == thread % 3)
                    expect(file.commit() == 0, "commit fails");
                __snapshot_libc_pthread_mutex_unlock(lock);
            }
        });
    for (std::thread &thread : threads)
        thread.join();
    expect(file.commit() == 0, "commit fails");
    checkFile(file);
}

// ---- Nothing orders these threads: each stores to words of its own and commits, beside the others' stores.

// Of each line a word, so that all threads store to each line.
static void storeOwn(uint8_t *working, unsigned thread, uint64_t value) {
    for (size_t line = value % 7; line < Bytes / 64; line += 7)
        trackedStore(working + 64 * line + 8 * thread, value);
}

static void expectOwn(const uint8_t *data, unsigned thread, const std::vector<uint64_t> &last, const char *what) {
    for (size_t line = 0; line < Bytes / 64; line++) {
        uint64_t value;
        memcpy(&value, data + 64 * line + 8 * thread, sizeof(value));
        expect(value == last[line % 7], what);
    }
}

static std::vector<uint64_t> lastOwn() {
    std::vector<uint64_t> last(7);
    for (uint64_t value = 1; value <= BesideRounds; value++)
        last[value % 7] = value;
    return last;
}

// A thread's commit has all its earlier stores, whatever the others do meanwhile, a rollback excepted.
static void besideOthers(const std::string &path, const Protocol &protocol, unsigned thread_count) {
    TrackedFile file(path, Bytes, protocol.flag);
    file.commit();
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++)
        threads.emplace_back([&, thread] {
            for (uint64_t value = 1; value <= BesideRounds; value++) {
                storeOwn(file.working(), thread, value);
                if (value % 3 == thread % 3) // some commit less often than they store
                    expect((thread % 2 ? file.commit() : file.declare()) == 0, "a commit beside others fails");
                if (value % 10 == thread)
                    expect(snapshot_test_publish(file.working()) == 0, "a publication beside others fails");
            }
            expect(file.commit() == 0, "the last commit beside others fails");
        });
    for (std::thread &thread : threads)
        thread.join();
    Image image = file.image();
    struct recovery result{};
    expect(recover({image.logBytes(), image.logSize()}, image.dataBytes(), Bytes, &protocol_line, &result) == 0,
           "recovery fails");
    for (unsigned thread = 0; thread < thread_count; thread++)
        expectOwn(image.dataBytes(), thread, lastOwn(), "a store beside commits is lost");
}

// The file grows and is cut again, by pages and by parts of one, while threads store to the part that stays.
static void besideResizes(const std::string &path, const Protocol &protocol, unsigned thread_count) {
    TrackedFile file(path, Bytes + 100, protocol.flag);
    std::atomic<unsigned> storing = thread_count;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++)
        threads.emplace_back([&, thread] {
            for (uint64_t value = 1; value <= BesideRounds; value++)
                storeOwn(file.working(), thread, value);
            storing--;
        });
    for (size_t resizes = 0; storing > 0; resizes++)
        expect(snapshot_resize(file.working(), Bytes + 100 + 3000 * (resizes % 4)) == 0,
               "a resize beside stores fails");
    for (std::thread &thread : threads)
        thread.join();
    expect(file.commit() == 0, "the commit after resizes fails");
    file.close();
    TrackedFile again(path, 0, protocol.flag);
    for (unsigned thread = 0; thread < thread_count; thread++)
        expectOwn(again.working(), thread, lastOwn(), "a store beside resizes is lost");
}

// A thread that has stored beyond the new end is inside while another one cuts the file.
static void cutBesideInside(const std::string &path, const Protocol &protocol) {
    TrackedFile file(path, Bytes, protocol.flag);
    constexpr size_t rest = Bytes / 2;
    trackedStore(file.working() + 8, 1);
    trackedStore(file.working() + rest + 4096, 1);
    std::thread([&] {
        expect(snapshot_resize(file.working(), rest) == 0, "the cut fails");
        expect(file.commit() == 0, "a commit after the cut fails");
    }).join();
    trackedStore(file.working() + 8, 2);
    expect(file.commit() == 0, "the last commit fails");
    Image image = file.image();
    struct recovery result{};
    expect(recover({image.logBytes(), image.logSize()}, image.dataBytes(), rest, &protocol_line, &result) == 0,
           "recovery after a cut fails");
    expect(image.dataBytes()[8] == 2, "a store beside a cut is lost");
}

// ---- A callback that comes to a lock, in a call that goes on storing when the callback has returned.

extern "C" __typeof__(qsort) __snapshot_libc_qsort;
static TrackedFile *sorted;
static unsigned compares;

static void commitOnAnother() {
    std::thread([] { expect(sorted->commit() == 0, "commit fails"); }).join();
}

// The first call leaves, for a commit has held the log; the second sees how many lines commits beside the call write.
static int compareWords(const void *a, const void *b) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (++compares == 1) {
        __snapshot_libc_pthread_mutex_lock(&lock);
        __snapshot_libc_pthread_mutex_unlock(&lock);
    } else if (compares == 2) {
        commitOnAnother();
        uint64_t before = sorted->stats().lines_logged;
        commitOnAnother();
        expect(sorted->stats().lines_logged > before, "a commit does not hold what a call is storing");
    }
    return memcmp(a, b, 8);
}

static void leaveInCallback(const std::string &path, const Protocol &protocol) {
    TrackedFile file(path, Bytes, protocol.flag);
    sorted = &file;
    compares = 0;
    for (size_t word = 0; word < 8; word++)
        trackedStore(file.working() + 8 * word, 8 - word);
    commitOnAnother();
    __snapshot_libc_qsort(file.working(), 8, 8, compareWords);
    expect(file.commit() == 0, "commit fails");
    checkFile(file);
}

// ---- A thread that waits for a lock has made its stores, so a commit of the lock's holder does not hold them.

static int lockSoon(pthread_mutex_t *lock) {
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    return __snapshot_libc_pthread_mutex_timedlock(lock, &until);
}

static void commitWhileAnotherWaits(const std::string &path, const Protocol &protocol, int take(pthread_mutex_t *)) {
    TrackedFile file(path, Bytes, protocol.flag);
    pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, free = PTHREAD_MUTEX_INITIALIZER;
    std::atomic<bool> stored = false;
    pthread_mutex_lock(&taken);
    std::thread other([&] {
        trackedStore(file.working(), 1);
        __snapshot_libc_pthread_mutex_lock(&free); // leaves because of earlier commits, so that the next call need not
        pthread_mutex_unlock(&free);
        trackedStore(file.working(), 2);
        stored = true;
        take(&taken);
        pthread_mutex_unlock(&taken);
    });
    while (!stored)
        usleep(100);
    usleep(20'000);
    expect(file.commit() == 0 && file.stats().lines_logged > 0, "a store before a commit is not part of it");
    uint64_t before = file.stats().lines_logged;
    expect(file.commit() == 0 && file.stats().lines_logged == before,
           "a commit holds the stores of a thread that waits for a lock");
    pthread_mutex_unlock(&taken);
    other.join();
    checkFile(file);
}

static void run(const std::string &path, const Protocol &protocol, unsigned thread_count) {
    std::filesystem::remove(path);
    std::filesystem::remove(path + ".snapshot-log");
    std::filesystem::remove(path + "-resized");
    std::filesystem::remove(path + "-resized.snapshot-log");
    besideOthers(path, protocol, thread_count);
    besideResizes(path + "-resized", protocol, thread_count);
    cutBesideInside(path + "-cut", protocol);
    if (!getenv("SNAPSHOT_TRACK")) { // a tracker of pages finds the later stores of the call
        leaveInCallback(path + "-callback", protocol);
        commitWhileAnotherWaits(path + "-waits", protocol, __snapshot_libc_pthread_mutex_lock);
        commitWhileAnotherWaits(path + "-waits-for-a-time", protocol, lockSoon);
    }
    TrackedFile file(path, Bytes, protocol.flag);
    rounds(file, thread_count);
    lockedRounds(file, thread_count);
    shortThreads(file);
    std::vector<uint8_t> last(file.working(), file.working() + Bytes);
    trackedStore(file.working(), 1);
    file.close();
    TrackedFile again(path, 0);
    expect(memcmp(again.working(), last.data(), Bytes) == 0, "reopening finds another state");
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    if (argc > 2)
        seeded_bug = argv[2];
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    for (const Protocol &protocol : Protocols)
        for (unsigned thread_count = 1; thread_count <= 8 && commitsWhatIsTracked(protocol); thread_count++)
            run(std::string(argv[1]) + "/data", protocol, thread_count);
    std::filesystem::remove_all(argv[1]);
    return failures ? 1 : 0;
}
