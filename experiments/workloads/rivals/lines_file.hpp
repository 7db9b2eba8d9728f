// SPDX-License-Identifier: BSD-3-Clause
//
// The rivals' programs use this in place of an engine: zeroed lines in a mapped file with DAX, with blocks that are
// durable before the first store; or, as the baseline of the overhead, lines in DRAM that are never written back.
#pragma once

#include <emmintrin.h>
#include <immintrin.h>
#include <sys/mman.h>

#include <cerrno>

#include "mapped_file.hpp"

namespace engines {

// Counters that are increased by the code that ends epochs.
class CountsEpochs {
  public:
    Statistics statistics() const { return counted; }
    Statistics counted;
};

class LinesFile : public CountsEpochs {
  public:
    static constexpr const char *Name = "epochs";
    static constexpr bool Durable = true;

    LinesFile(const std::string &path, size_t bytes, OpenMode mode) : file(path, bytes, mode, 2u << 20) {
        if (mode == OpenMode::OpenExisting) {
            if (*words() == 0)
                throw NoPool(path + " was never formatted");
            return;
        }
        // The kernel notes in its own tables that a block was written to, and the write is durable only when these
        // tables are.
        file.touch();
        if (fsync(file.descriptor()) < 0)
            fail(errno, "fsync of " + path);
    }

    uint64_t *words() const { return static_cast<uint64_t *>(file.data()); }
    size_t bytes() const { return file.bytes(); }

    // The memory interface of the leaves. Stores must keep their order, which the compiler must not change.
    void store(uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
    [[gnu::target("clwb")]] void flush(void *line) {
        _mm_clwb(line);
        counted.data_bytes += 64;
    }
    void fence() {
        _mm_sfence();
        counted.fences++;
    }

  private:
    MappedFile file;
};

class LinesInDram : public CountsEpochs {
  public:
    static constexpr const char *Name = "volatile";
    static constexpr bool Durable = false;

    LinesInDram(const std::string &path, size_t bytes, OpenMode mode) : mapped_bytes(bytes) {
        if (mode == OpenMode::OpenExisting)
            throw NoPool(path + ": the volatile engine keeps nothing");
        memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            fail(errno, "cannot map memory");
    }
    ~LinesInDram() { munmap(memory, mapped_bytes); }
    LinesInDram(const LinesInDram &) = delete;
    LinesInDram &operator=(const LinesInDram &) = delete;

    uint64_t *words() const { return static_cast<uint64_t *>(memory); }
    size_t bytes() const { return mapped_bytes; }

    void store(uint64_t *word, uint64_t value) { *word = value; }
    void flush(void *) {}
    void fence() {}

  private:
    size_t mapped_bytes;
    void *memory = nullptr;
};

} // namespace engines
