// SPDX-License-Identifier: BSD-3-Clause
//
// A process that several threads work in until kill -9, and how far each of them said it had come.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>

namespace programs {

// In memory that parent and child share.
template <size_t Threads> struct Acknowledged {
    std::atomic<uint64_t> rounds[Threads];

    static Acknowledged *make() {
        void *memory = mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        return new (memory) Acknowledged{};
    }
};

// Runs work() in a child, and kills it once each thread has acknowledged `least` rounds. Returns the child's end:
// -SIGKILL, or its exit status if work() ended by itself.
template <size_t Threads, class Work>
int killedAfter(uint64_t least, const Acknowledged<Threads> &acknowledged, Work &&work) {
    pid_t child = fork();
    if (child == 0) {
        try {
            work();
        } catch (const std::exception &error) {
            fprintf(stderr, "%s\n", error.what());
        }
        _exit(3);
    }
    int status = 0;
    auto arrived = [&] {
        for (const std::atomic<uint64_t> &rounds : acknowledged.rounds)
            if (rounds < least)
                return false;
        return true;
    };
    while (!arrived()) {
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        usleep(500);
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

} // namespace programs
