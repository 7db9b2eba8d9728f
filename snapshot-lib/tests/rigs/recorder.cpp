// SPDX-License-Identifier: BSD-3-Clause
#include "recorder.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
#include "log/persist.h"
}

Recorder *recorder;
static std::mutex mutex;
// A child of fork() has a mutex of its own, whatever other threads were recording.
[[maybe_unused]] static const int watched = pthread_atfork(nullptr, nullptr, [] { new (&mutex) std::mutex; });
static std::atomic<unsigned> thread_last;
static thread_local const unsigned this_thread = ++thread_last;

Recorder::~Recorder() {
    if (recorder == this)
        recorder = nullptr; // closing a file writes too
}

uint64_t Recorder::fences() const {
    return static_cast<uint64_t>(std::count_if(events.begin(), events.end(), [](auto &e) { return !e.target; }));
}

std::size_t Recorder::position() const {
    std::lock_guard<std::mutex> lock(mutex);
    return events.size();
}

uint64_t Recorder::lines() const { return events.size() - fences(); }

static void record(uint8_t *target, const void *source) {
    PersistEvent event{target, this_thread, {}};
    memcpy(event.content.data(), source, 64);
    recorder->events.push_back(event);
}

void persist_copy(void *target, const void *source, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = 0; recorder && i < bytes; i += 64)
        record(static_cast<uint8_t *>(target) + i, static_cast<const uint8_t *>(source) + i);
    memcpy(target, source, bytes);
}

int persist_resize(int fd, uint64_t bytes) {
    if (recorder)
        recorder->resizes.push_back({recorder->events.size(), bytes});
    return syscall(SYS_ftruncate, fd, bytes) < 0 ? -errno : 0; // not a call that the library follows
}

static void recordFence(unsigned thread) {
    std::lock_guard<std::mutex> lock(mutex);
    if (recorder)
        recorder->events.push_back({nullptr, thread, {}});
}

void persist_fence() { recordFence(this_thread); }

void persist_fence_all() { recordFence(EveryThread); }
