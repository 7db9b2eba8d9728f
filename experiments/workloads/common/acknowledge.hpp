// SPDX-License-Identifier: BSD-3-Clause
//
// The number of committed updates, in a file of its own that survives the process. A crash test may insist on so many
// updates.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>

#include "engine.hpp"

namespace workloads {

class Acknowledge {
  public:
    // Empty path: no count is kept.
    explicit Acknowledge(const std::string &path) {
        if (path.empty())
            return;
        int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (fd < 0 || ftruncate(fd, sizeof(*counter)) < 0)
            engines::fail(errno, "cannot create " + path);
        void *memory = mmap(nullptr, sizeof(*counter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (memory == MAP_FAILED)
            engines::fail(errno, "cannot map " + path);
        counter = static_cast<std::atomic<uint64_t> *>(memory);
    }

    void set(uint64_t commits) {
        if (counter)
            counter->store(commits, std::memory_order_release);
    }

  private:
    std::atomic<uint64_t> *counter = nullptr;
};

} // namespace workloads
