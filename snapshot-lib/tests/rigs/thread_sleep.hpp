// SPDX-License-Identifier: BSD-3-Clause
//
// Waits until a thread sleeps: for a lock, or for what else it waits for.
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

// Or has ended, or is done.
inline void awaitSleep(const std::atomic<pid_t> &thread, const std::atomic<bool> *done = nullptr) {
    for (unsigned looks = 0; looks < 20 && !(done && *done); usleep(1000))
        looks = thread && sleeps(thread) ? looks + 1 : 0;
}
