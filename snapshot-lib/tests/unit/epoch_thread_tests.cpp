// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that store, come to points, rest, leave, end and ask for checkpoints, while the library replays; under
// ThreadSanitizer. Each thread keeps two words equal between its points: neither a checkpoint nor the end of the
// process tears a pair. With the name of a seeded bug, ThreadSanitizer or a torn pair finds it.
//
//     epoch_thread_tests DIRECTORY [BUG]
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <thread>
#include <vector>

#include "runtime_under_test.hpp"

static constexpr size_t Bytes = 1 << 18, Lines = Bytes / 64;
static constexpr unsigned Changes = 1500;

const char *seeded_bug = "";

static std::atomic<int> failures;

static void expect(bool condition, const char *what) {
    if (!condition && failures++ < 5)
        fprintf(stderr, "%s\n", what);
}

// Eight threads share each line; the other half of a pair is half a file away.
static void changePair(uint8_t *working, unsigned thread, uint64_t random) {
    size_t first = random % (Lines / 2) * 64 + 8 * thread;
    trackedStore(working + first, random);
    trackedStore(working + first + Bytes / 2, random);
}

static void work(uint8_t *working, unsigned thread, uint64_t seed) {
    std::mt19937_64 random(seed);
    snapshot_epoch_enter(working);
    for (unsigned change = 0; change < Changes; change++) {
        changePair(working, thread, random());
        unsigned then = random() % 64;
        if (then == 0) {
            snapshot_epoch_idle(working, true);
            std::this_thread::yield();
            if (random() % 2)
                snapshot_epoch_leave(working);
            snapshot_epoch_enter(working);
        } else if (then == 1) {
            snapshot_epoch_leave(working);
            snapshot_epoch_enter(working);
        } else if (then == 2) {
            expect(snapshot_sync(working) == 0, "a checkpoint fails");
        } else {
            expect(snapshot_epoch_point(working) == 0, "a checkpoint that was due fails");
        }
    }
    if (thread % 2)
        snapshot_epoch_leave(working); // the others just end
}

static bool pairsAreWhole(const uint8_t *data) { return memcmp(data, data + Bytes / 2, Bytes / 2) == 0; }

static void checkRecovered(const TrackedFile &file) {
    Image image = file.image();
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    expect(recover(log, image.dataBytes(), Bytes, &protocol_line, &result) == 0, "recovery fails");
    expect(pairsAreWhole(image.dataBytes()), "recovery finds a torn pair");
}

// Two threads at once: one starts the epochs, the other is refused.
static void startTwice(void *working, const struct snapshot_epochs &options) {
    int other = 1;
    std::thread thread([&] { other = snapshot_epochs_start(working, &options); });
    int own = snapshot_epochs_start(working, &options);
    thread.join();
    expect(std::min(own, other) == -EALREADY && std::max(own, other) == 0, "epochs are not started exactly once");
}

static void stopTwice(void *working) {
    std::thread other([=] { expect(snapshot_epochs_stop(working) == 0, "a second stop fails"); });
    expect(snapshot_epochs_stop(working) == 0, "epochs cannot be stopped");
    other.join();
}

// Until the threads of a run have ended, a thread that has not entered counts, asks for checkpoints and replays.
static void watch(const TrackedFile &file, const std::atomic<bool> &done) {
    while (!done) {
        struct snapshot_epochs_stats stats{};
        expect(snapshot_epochs_get_stats(file.working(), &stats) == 0, "no statistics");
        expect(snapshot_sync(file.working()) == 0, "a checkpoint of a thread that has not entered fails");
        expect(snapshot_epochs_replay(file.working()) == 0, "a replay fails");
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

static void run(const std::string &path, unsigned thread_count, unsigned flags) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    struct snapshot_epochs options{};
    options.period_ns = 300000;
    options.timeout_ns = 60000000000;
    options.flags = flags;
    startTwice(file.working(), options);
    std::atomic<bool> done = false;
    std::thread watcher(watch, std::cref(file), std::cref(done));
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < thread_count; thread++)
        threads.emplace_back(work, file.working(), thread, thread_count * 10 + thread);
    for (std::thread &thread : threads)
        thread.join();
    done = true;
    watcher.join();
    stopTwice(file.working());
    checkRecovered(file);
    expect(snapshot_sync(file.working()) == 0, "the last checkpoint fails");
    struct snapshot_epochs_stats stats{};
    snapshot_epochs_get_stats(file.working(), &stats);
    expect(stats.replayed_epochs <= stats.checkpoints, "an epoch is replayed twice");
    expect(stats.checkpoints > 0 && stats.timeouts == 0, "checkpoints are not made");
    std::vector<uint8_t> last(file.working(), file.working() + Bytes);
    file.close();
    TrackedFile again(path, 0, SNAPSHOT_PROTOCOL_EPOCH);
    expect(memcmp(again.working(), last.data(), Bytes) == 0, "reopening finds another state");
}

// The clock is asked when all wait for a checkpoint, and gives a thread the time to enter, which it must not use.
static uint8_t *entered_file;
static std::atomic<unsigned> looks;
static std::atomic<bool> has_entered;
static std::thread late;

static uint64_t slowNs() {
    if (++looks == 2) { // the first is before anybody is waited for
        late = std::thread([] {
            snapshot_epoch_enter(entered_file);
            has_entered = true;
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        expect(!has_entered, "a thread enters during a checkpoint");
    }
    return looks;
}

static void enterDuringCheckpoint(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    entered_file = file.working();
    struct snapshot_epochs options{};
    options.period_ns = SNAPSHOT_EPOCHS_BY_CALL;
    options.timeout_ns = 1000000000;
    options.now_ns = slowNs;
    expect(snapshot_epochs_start(file.working(), &options) == 0, "epochs cannot be started");
    trackedStore(file.working(), 1);
    expect(snapshot_sync(file.working()) == 0, "a checkpoint fails");
    expect(late.joinable(), "the clock is not asked when all wait");
    late.join();
    expect(has_entered, "a thread does not enter after a checkpoint");
}

// A thread that has entered ends after another thread has closed the file.
static void endAfterClose(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    uint8_t *working = file.working();
    std::atomic<bool> entered = false, closed = false;
    std::thread ending([&] {
        snapshot_epoch_enter(working);
        entered = true;
        while (!closed.load(std::memory_order_relaxed)) // orders nothing: the library's locks must
            std::this_thread::yield();
    });
    while (!entered)
        std::this_thread::yield();
    file.close();
    closed.store(true, std::memory_order_relaxed);
    ending.join();
}

// One thread stays between its points, so that no rollback is possible, while another enters and leaves.
static void refuseRollbacks(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    uint8_t *working = file.working();
    std::atomic<bool> entered = false, done = false;
    std::thread staying([&] {
        snapshot_epoch_enter(working);
        entered = true;
        while (!done)
            std::this_thread::yield();
    });
    while (!entered)
        std::this_thread::yield();
    std::thread changing([&] {
        for (unsigned round = 0; round < 200; round++) {
            snapshot_epoch_enter(working);
            snapshot_epoch_leave(working);
        }
    });
    for (unsigned round = 0; round < 200; round++)
        expect(snapshot_rollback(working) == -EBUSY, "a rollback is possible beside a thread that may store");
    changing.join();
    done = true;
    staying.join();
}

// Threads that come to no point but msync(): each stores to words of its own. One that stores nothing, for which no
// checkpoint waits, resizes the file meanwhile: that commits, and waits for no thread.
static void besideOthers(const std::string &path) {
    static constexpr unsigned Threads = 4;
    static constexpr uint64_t Rounds = 60;
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < Threads; thread++)
        threads.emplace_back([&, thread] {
            for (uint64_t value = 1; value <= Rounds; value++) {
                for (size_t line = 0; line < Lines; line += 16)
                    trackedStore(file.working() + 64 * line + 8 * thread, value);
                if (value % 3 == thread % 3)
                    expect(snapshot_sync(file.working()) == 0, "a checkpoint beside stores fails");
            }
        });
    for (uint64_t round = 0; round < Rounds; round++)
        for (size_t bytes : {Bytes + 4096, Bytes})
            expect(snapshot_resize(file.working(), bytes) == 0, "resizing beside stores fails");
    for (std::thread &thread : threads)
        thread.join();
    expect(snapshot_sync(file.working()) == 0, "the last checkpoint beside stores fails");
    Image image = file.image();
    struct recovery result{};
    expect(recover({image.logBytes(), image.logSize()}, image.dataBytes(), Bytes, &protocol_line, &result) == 0,
           "recovery fails");
    for (size_t at = 0; at < Bytes; at += 8) {
        uint64_t value, last = at / 64 % 16 == 0 && at % 64 < 8 * Threads ? Rounds : 0;
        memcpy(&value, image.dataBytes() + at, sizeof(value));
        expect(value == last, "a store beside checkpoints is lost");
    }
}

// A cut commits between the announcement of a store and the store.
static void storeAfterCut(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    std::atomic<unsigned> step{0};
    auto await = [&](unsigned number) {
        while (step < number)
            std::this_thread::yield();
    };
    std::thread storing([&] {
        const uint64_t value = 7;
        snapshot_log_range(file.working(), sizeof(value));
        step = 1;
        await(2);
        memcpy(file.working(), &value, sizeof(value));
    });
    await(1);
    for (size_t bytes : {Bytes + 4096, Bytes})
        expect(snapshot_resize(file.working(), bytes) == 0, "resizing before a store fails");
    step = 2;
    storing.join();
    expect(snapshot_sync(file.working()) == 0, "a checkpoint after a cut fails");
    Image image = file.image();
    struct recovery result{};
    expect(recover({image.logBytes(), image.logSize()}, image.dataBytes(), Bytes, &protocol_line, &result) == 0,
           "recovery fails");
    expect(image.dataBytes()[0] == 7, "a store that was announced before a cut is lost");
}

// As the pass names them.
extern "C" __typeof__(pthread_barrier_wait) __snapshot_libc_pthread_barrier_wait;
extern "C" __typeof__(pthread_join) __snapshot_libc_pthread_join;

// A thread that has stored waits at a barrier and then for the end of another thread, which commits beside each wait.
// The commit does not wait for it. Its stores between the waits are in the second commit.
static void waitForOthers(const std::string &path) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_EPOCH);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, nullptr, 2);
    struct Shared {
        TrackedFile &file;
        pthread_barrier_t &barrier;
        std::atomic<bool> has_stored{false};
    } shared{file, barrier};
    auto commitTwice = [](void *argument) -> void * {
        auto *with = static_cast<Shared *>(argument);
        expect(snapshot_sync(with->file.working()) == 0, "a commit waits for a thread at a barrier");
        __snapshot_libc_pthread_barrier_wait(&with->barrier);
        while (!with->has_stored)
            std::this_thread::yield();
        expect(snapshot_sync(with->file.working()) == 0, "a commit waits for a thread that joins");
        return nullptr;
    };
    trackedStore(file.working(), 1);
    pthread_t other;
    pthread_create(&other, nullptr, commitTwice, &shared);
    __snapshot_libc_pthread_barrier_wait(&barrier);
    trackedStore(file.working(), 2);
    shared.has_stored = true;
    __snapshot_libc_pthread_join(other, nullptr);
    pthread_barrier_destroy(&barrier);
    Image image = file.image();
    struct recovery result{};
    expect(recover({image.logBytes(), image.logSize()}, image.dataBytes(), Bytes, &protocol_line, &result) == 0,
           "recovery fails");
    expect(image.dataBytes()[0] == 2, "a store between two waits is lost");
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    if (argc > 2)
        seeded_bug = argv[2];
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    enterDuringCheckpoint(std::string(argv[1]) + "/late");
    endAfterClose(std::string(argv[1]) + "/ending");
    refuseRollbacks(std::string(argv[1]) + "/rollback");
    besideOthers(std::string(argv[1]) + "/beside");
    storeAfterCut(std::string(argv[1]) + "/cut");
    waitForOthers(std::string(argv[1]) + "/waits");
    for (unsigned thread_count : {1, 2, 3, 5, 8})
        for (unsigned flags : {0u, SNAPSHOT_REPLAY_BACKGROUND})
            run(std::string(argv[1]) + "/data", thread_count, flags);
    std::filesystem::remove_all(argv[1]);
    return failures ? 1 : 0;
}
