// SPDX-License-Identifier: BSD-3-Clause
//
// Threads that share lines, ordered against the commit by a barrier as the documented rule asks; under ThreadSanitizer.
// After every commit the file holds what all threads stored; after the process ends, what the last commit saw.
#include <barrier>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "runtime_under_test.hpp"

static constexpr unsigned Threads = 4;
static constexpr unsigned Rounds = 60;
static constexpr size_t Bytes = 65536;

static int failures;

static void expect(bool condition, const char *what) {
    if (!condition && failures++ < 5)
        fprintf(stderr, "%s\n", what);
}

// Each thread owns every fourth word, so that four threads write each line.
static void storeAll(uint8_t *working, unsigned thread, unsigned round) {
    for (size_t word = thread; word < Bytes / 8; word += Threads * (1 + round % 3))
        trackedStore(working + word * 8, uint64_t{round} << 32 | word);
}

static void checkFile(const TrackedFile &file) {
    Image image = file.image();
    expect(memcmp(image.dataBytes(), file.working(), Bytes) == 0, "the file differs from the working copy");
}

static void rounds(TrackedFile &file) {
    std::barrier barrier(Threads);
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < Threads; thread++)
        threads.emplace_back([&, thread] {
            for (unsigned round = 1; round <= Rounds; round++) {
                storeAll(file.working(), thread, round);
                barrier.arrive_and_wait();
                if (thread == round % Threads) {
                    expect(file.commit() == 0, "commit fails");
                    checkFile(file);
                }
                barrier.arrive_and_wait();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

// What a thread stored before it ended is part of the next commit, and its log is taken over by another.
static void shortThreads(TrackedFile &file) {
    for (unsigned round = 0; round < 200; round++)
        std::thread(storeAll, file.working(), round % Threads, round).join();
    expect(file.commit() == 0, "commit fails");
    checkFile(file);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    TrackedFile file(std::string(argv[1]) + "/data", Bytes);
    rounds(file);
    shortThreads(file);
    std::vector<uint8_t> last(file.working(), file.working() + Bytes);
    trackedStore(file.working(), 1);
    file.close();
    TrackedFile again(std::string(argv[1]) + "/data", 0);
    expect(memcmp(again.working(), last.data(), Bytes) == 0, "reopening finds another state");
    return failures ? 1 : 0;
}
