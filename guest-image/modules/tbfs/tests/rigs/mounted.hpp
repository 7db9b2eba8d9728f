// SPDX-License-Identifier: BSD-3-Clause
//
// A file system in memory, and its content as a tree that can be compared.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core.hpp"
#include "recorder.hpp"

// All that a user can see of a file, except the access time.
struct Node {
    uint64_t ino = 0;
    uint32_t mode = 0, links = 0, uid = 0, gid = 0, rdev = 0, ctime = 0, mtime = 0;
    std::string content; // of a file, or a symbolic link's target
    bool operator==(const Node &) const = default;
};
using Tree = std::map<std::string, Node>; // by path; "/" is the root

// The inode numbers of open files without a name, by their paths, which begin with "@".
using OpenOrphans = std::map<std::string, uint64_t>;

std::string describe(const Tree &tree, const Tree &other); // the first difference
Tree withoutNumbers(Tree tree);                            // of inodes

class Mounted {
  public:
    // Mounts a copy of the caller's medium that is aligned to a block.
    Mounted(Medium &medium, const struct tbfs_options &options);
    ~Mounted();
    Mounted(const Mounted &) = delete;
    Mounted &operator=(const Mounted &) = delete;

    int status() const { return mount_status; } // of the mount
    struct tbfs *fs() { return &mounted; }
    Tree tree(); // merges no log; throws std::runtime_error if something cannot be read
    std::vector<std::string> faults();
    uint64_t freeBlocks() const { return mounted.blocks.free; }
    Medium medium() const; // a copy of its present content
    OpenOrphans orphans;   // maintained by the caller

  private:
    void addTo(Tree &tree, const std::string &path, uint64_t ino);
    Node read(uint64_t ino);

    uint8_t *base;
    uint64_t bytes;
    struct tbfs mounted = {};
    std::vector<uint64_t> memory;
    int mount_status;
};

constexpr struct tbfs_options optionsOf(enum tbfs_data data, unsigned atomic_bytes, struct tbfs_hybrid hybrid = {},
                                        enum tbfs_metadata metadata = TBFS_METADATA_UNDO) {
    return {data, atomic_bytes, hybrid, metadata, nullptr};
}

struct tbfs_name nameOf(const std::string &name);
Medium makeMedium(uint64_t blocks, uint64_t inodes);
