// SPDX-License-Identifier: BSD-3-Clause
//
// Waits until a thread sleeps: for a lock, or for another event.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>

inline bool sleeps(pid_t thread) {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(stat, text);
    size_t end = text.rfind(')');
    return end != std::string::npos && text[end + 2] == 'S';
}

// True if it does. False: it is done, or has not slept for ten seconds.
inline bool awaitSleep(const std::atomic<pid_t> &thread, const std::atomic<bool> *done = nullptr) {
    unsigned looks = 0;
    for (unsigned all = 0; looks < 20 && all < 10000 && !(done && *done); all++) {
        looks = thread && sleeps(thread) ? looks + 1 : 0;
        usleep(1000);
    }
    return looks == 20;
}
