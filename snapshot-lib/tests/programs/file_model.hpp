// SPDX-License-Identifier: BSD-3-Clause
//
// The possible content of a file system after a power cut, for programs on mmap, msync and fsync. The model:
//
//  - A file is a row of 4 KiB pages, a size and a name. The kernel may write back any page at any time: after a cut
//  each
//    page holds, independently of all others, some content that it had at a system call since it was last synchronised.
//    So does the size. A page is never torn.
//  - msync() makes the pages durable, fsync() pages and size, when they return.
//  - A name that was created or removed may or may not be there. With `Names::Posix` until the directory is
//    synchronised; with `Names::WithFile` until the file is, which ext4 and XFS guarantee beyond the standard.
//
// Stores through a mapping are seen at the next system call, so contents between two calls are not explored.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace programs {

enum class Names { Posix, WithFile };

class FileModel {
  public:
    struct Content {
        bool exists = false;
        std::string bytes;
    };
    using State = std::vector<Content>; // of the files, in the order of their paths
    using Visit = std::function<void(const State &)>;

    // The present content of the files is durable; `crash_point` is called before each system call on them.
    FileModel(std::vector<std::string> paths, Names names, std::function<void()> crash_point);
    ~FileModel();
    FileModel(const FileModel &) = delete;
    FileModel &operator=(const FileModel &) = delete;

    // All states possible now if there are at most `exhaustive`, else `samples` seeded ones and the two extremes.
    void forEachState(size_t exhaustive, size_t samples, const Visit &visit);

    void sample(); // look at the files: a difference from the last look is a new version

    // For the interposed system calls.
    enum class Call { Write, Msync, Fsync, Named };
    int find(int fd) const;
    int find(const std::string &path) const;
    void before();
    void after(int file, Call call);

  private:
    static constexpr size_t PageBytes = 4096;
    using Page = std::array<char, PageBytes>;
    using PagePtr = std::shared_ptr<Page>;
    struct File {
        std::string path;
        std::vector<std::vector<PagePtr>> pages; // versions, the first is durable
        std::vector<uint64_t> sizes;
        std::vector<bool> exists;
    };

    void sampleFile(File &file);
    std::vector<size_t> choices() const;
    State stateOf(const std::vector<size_t> &chosen) const;

    std::vector<File> files;
    Names names;
    std::function<void()> crash_point;
    std::mt19937_64 random{1};
    bool busy = false;
};

// The one that the interposed calls tell; null: none.
extern FileModel *file_model;

// In a child, so that a crash or a hang of the program is an answer too: the status, or -1.
int answerOf(const std::function<int()> &question);

} // namespace programs
