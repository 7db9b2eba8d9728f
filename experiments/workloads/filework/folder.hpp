// SPDX-License-Identifier: BSD-3-Clause
//
// The files of a set, in a folder of the file system under test. The content of a file follows from its tag, so that
// each byte of it can be checked.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "file_set.hpp"
#include "random.hpp"

namespace workloads {

// Byte `at` of a file is pattern[(at + tag's shift) % Period]. A prime, so that no page is like another one.
class Content {
  public:
    static constexpr uint64_t Period = 4093;

    explicit Content(uint64_t most_bytes) : bytes(Period + most_bytes) {
        for (uint64_t i = 0; i < bytes.size(); i++)
            bytes[i] = static_cast<char>(splitmix64(i % Period) >> 56);
    }

    // Up to `most_bytes`.
    const char *of(uint64_t tag, uint64_t at) const {
        return &bytes[(at % Period + splitmix64(tag) % Period) % Period];
    }

  private:
    std::vector<char> bytes;
};

class Folder {
  public:
    // `width`: how many files a folder below has; 0: all are in the one.
    Folder(std::string path, uint64_t files, uint64_t width, uint64_t write_bytes)
        : path(std::move(path)), width(width), piece_bytes(write_bytes), content(write_bytes) {
        make(this->path);
        for (uint64_t below = 0; width && below * width < files; below++)
            make(this->path + "/" + std::to_string(below));
    }

    std::string name(uint64_t file) const {
        char last[24];
        snprintf(last, sizeof(last), "/%08llu", static_cast<unsigned long long>(file));
        return path + (width ? "/" + std::to_string(file / width) : "") + last;
    }

    void remove(uint64_t file) const {
        if (unlink(name(file).c_str()) < 0)
            failed("remove", file);
    }
    int create(uint64_t file) const { return opened(file, O_RDWR | O_CREAT | O_EXCL); }
    int open(uint64_t file) const { return opened(file, O_RDWR); }

    // One call, as long as the file system takes all; a file of more than that is made in pieces.
    void append(int opened, uint64_t file, WorkFile &of, uint64_t bytes) const {
        if (lseek(opened, 0, SEEK_END) != static_cast<off_t>(of.bytes))
            throw std::runtime_error("filework: " + name(file) + " has not the size that was written");
        while (bytes > 0) {
            ssize_t done = write(opened, content.of(of.tag, of.bytes), std::min(bytes, piece_bytes));
            if (done <= 0)
                failed("write", file);
            of.bytes += static_cast<uint64_t>(done);
            bytes -= static_cast<uint64_t>(done);
        }
    }

    void synchronise(int opened, uint64_t file) const {
        if (fsync(opened) < 0)
            failed("synchronise", file);
    }

    // From its begin, in pieces of the buffer, until there is no more.
    void readAll(int opened, uint64_t file, const WorkFile &of, std::vector<char> &buffer) const {
        uint64_t seen = 0;
        for (ssize_t done = 1; done > 0; seen += static_cast<uint64_t>(done))
            if ((done = pread(opened, buffer.data(), buffer.size(), static_cast<off_t>(seen))) < 0)
                failed("read", file);
        if (seen != of.bytes)
            throw std::runtime_error("filework: " + name(file) + " has " + std::to_string(seen) + " bytes, and " +
                                     std::to_string(of.bytes) + " were written");
    }

    void close(int opened, uint64_t file) const {
        if (::close(opened) < 0)
            failed("close", file);
    }

    void synchroniseAll() const {
        int opened = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (opened < 0 || syncfs(opened) < 0 || ::close(opened) < 0)
            throw std::system_error(errno, std::generic_category(), "filework: cannot synchronise " + path);
    }

    // Throws if a file has another byte than were written, or is there and must not be, or the other way.
    void verify(const FileSet &set, std::vector<char> &buffer) const {
        for (uint64_t file = 0; file < set.size(); file++)
            if (set.isPresent(file))
                verifyFile(file, set[file], buffer);
            else if (access(name(file).c_str(), F_OK) == 0)
                throw std::runtime_error("filework: " + name(file) + " is there, and was removed");
    }

  private:
    static void make(const std::string &folder) {
        if (mkdir(folder.c_str(), 0777) < 0 && errno != EEXIST)
            throw std::system_error(errno, std::generic_category(), "filework: cannot make the folder " + folder);
    }

    [[noreturn]] void failed(const char *what, uint64_t file) const {
        throw std::system_error(errno, std::generic_category(),
                                std::string("filework: cannot ") + what + " " + name(file));
    }

    int opened(uint64_t file, int flags) const {
        int opened = ::open(name(file).c_str(), flags | O_CLOEXEC, 0666);
        if (opened < 0)
            failed(flags & O_CREAT ? "create" : "open", file);
        return opened;
    }

    void verifyFile(uint64_t file, const WorkFile &of, std::vector<char> &buffer) const {
        int opened = open(file);
        readAll(opened, file, of, buffer);
        for (uint64_t at = 0, piece; at < of.bytes; at += piece) {
            piece = std::min({of.bytes - at, piece_bytes, static_cast<uint64_t>(buffer.size())});
            ssize_t done = pread(opened, buffer.data(), piece, static_cast<off_t>(at));
            if (done != static_cast<ssize_t>(piece) || memcmp(buffer.data(), content.of(of.tag, at), piece) != 0)
                throw std::runtime_error("filework: " + name(file) + " has other bytes behind byte " +
                                         std::to_string(at) + " than were written");
        }
        close(opened, file);
    }

    std::string path;
    uint64_t width, piece_bytes;
    Content content;
};

} // namespace workloads
