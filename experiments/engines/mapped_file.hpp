// SPDX-License-Identifier: BSD-3-Clause
//
// A shared mapping of a whole file, for engines that leave durability to the kernel.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "engine.hpp"

namespace engines {

class MappedFile {
  public:
    // Create the file with all its blocks and a size rounded up to whole units, or open it as it is.
    MappedFile(const std::string &path, size_t wanted, OpenMode mode, size_t unit) {
        file = ::open(path.c_str(), mode == OpenMode::Create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR, 0666);
        if (file < 0 && errno == ENOENT && mode == OpenMode::OpenExisting)
            throw NoPool(path + " does not exist");
        if (file < 0)
            fail(errno, "cannot open " + path);
        mapped_bytes = mode == OpenMode::Create ? (wanted + unit - 1) / unit * unit : sizeOf(file);
        if (mapped_bytes == 0 && mode == OpenMode::OpenExisting) { // a crash came before its blocks were allocated
            close(file);
            throw NoPool(path + " is empty");
        }
        int error = mode == OpenMode::Create ? posix_fallocate(file, 0, static_cast<off_t>(mapped_bytes)) : 0;
        if (error == 0)
            error = map();
        if (error) {
            close(file);
            if (mode == OpenMode::Create)
                unlink(path.c_str()); // a file without its blocks is no pool
            fail(error, "cannot map " + path);
        }
    }
    ~MappedFile() {
        munmap(memory, mapped_bytes);
        close(file);
    }
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;

    void *data() const { return memory; }
    size_t bytes() const { return mapped_bytes; }
    int descriptor() const { return file; }

    void sync() {
        if (msync(memory, mapped_bytes, MS_SYNC) < 0)
            fail(errno, "msync");
    }

    // Write to each page the content that it has, so that no later store is the first to a page.
    void touch() { touch(0, mapped_bytes); }
    void touch(size_t from, size_t to) {
        for (size_t at = from; at < to; at += 4096) {
            char zero = 0;
            __atomic_compare_exchange_n(static_cast<char *>(memory) + at, &zero, 0, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
        }
    }

  private:
    static size_t sizeOf(int file) {
        struct stat status{};
        fstat(file, &status);
        return static_cast<size_t>(status.st_size);
    }

    int map() {
        if (mapped_bytes == 0)
            return EINVAL;
        memory = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        return memory == MAP_FAILED ? errno : 0;
    }

    int file;
    size_t mapped_bytes;
    void *memory = nullptr;
};

} // namespace engines
