// SPDX-License-Identifier: BSD-3-Clause
//
// Files of a program on mmap, msync and fsync, for the model of a power cut (the rig power_cut/folders.hpp). The files
// are looked at before and after each system call: a difference is a new name, size or content of a page of 4 KiB. So
// contents between two calls are not explored, and a page is never torn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "folders.hpp"

namespace programs {

class WatchedFiles {
  public:
    struct Content {
        bool exists = false;
        std::string bytes;
    };
    using State = std::vector<Content>; // of the files, in the order of their paths
    using Visit = std::function<void(const State &)>;

    // The present content of the files is durable; `crash_point` is called before each system call on them.
    WatchedFiles(std::vector<std::string> paths, NameRule rule, std::function<void()> crash_point);
    ~WatchedFiles();
    WatchedFiles(const WatchedFiles &) = delete;
    WatchedFiles &operator=(const WatchedFiles &) = delete;

    // Visits the states that a power cut may leave now.
    void forEachState(const FolderSampling &sampling, const Visit &visit);

    void look(); // at the files

    // For the interposed system calls. A call on a mapping or an open file names it by its place among the paths.
    enum class Call { Other, Msync, Fsync };
    int find(int fd) const;
    int find(const std::string &path) const;
    void before();
    void after(int file, Call call);

  private:
    static constexpr size_t PageBytes = 4096;
    struct Seen {
        unsigned number = 0; // of the file that has the name; 0: there is none
        uint64_t inode = 0;
        std::string bytes;
    };

    void lookAt(const std::string &path, Seen &seen);

    std::vector<std::string> paths;
    NameRule rule;
    std::function<void()> crash_point;
    std::vector<Seen> files;
    unsigned last_number = 0;
    Folder base;
    FolderEvents events;
    bool busy = false;
};

// The ones that the interposed calls tell; null: none.
extern WatchedFiles *watched_files;

// In a child, so that a crash or a hang of the program is an answer too: the status, or -1.
int answerOf(const std::function<int()> &question);

} // namespace programs
