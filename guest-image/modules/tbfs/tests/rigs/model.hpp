// SPDX-License-Identifier: BSD-3-Clause
//
// The simplest file system, of maps and strings, as the reference for the core.
#pragma once

#include <map>
#include <string>

#include "mounted.hpp"
#include "operation.hpp"

class Model {
  public:
    Model();
    int64_t run(const Operation &operation);            // as run() of the core, with unlimited space
    Tree tree() const;                                  // inode numbers are 0
    std::map<std::string, std::string> orphans() const; // the contents of open files without a name

  private:
    struct File {
        Node node;
        std::map<std::string, uint64_t> entries;
        uint64_t parent = 0;
    };
    struct Place {
        int64_t dir; // or -errno
        std::string name;
        uint64_t ino; // 0: the name does not exist
    };

    bool isDirectory(uint64_t ino) const { return S_ISDIR(files.at(ino).node.mode); }
    int64_t resolve(const std::string &path) const;
    Place place(const std::string &path) const;
    bool isBelow(uint64_t dir, uint64_t above) const;
    void touch(uint64_t ino, uint32_t now);
    void drop(uint64_t ino, const Operation &operation, const std::string &path);
    int64_t close(const Operation &operation);
    void attach(const Place &to, uint64_t ino);
    int removable(uint64_t ino) const;
    int create(const Operation &operation, const Place &at);
    int link(const Operation &operation);
    int remove(const Operation &operation, const Place &at);
    int renameError(const Operation &operation, const Place &from, const Place &to) const;
    int rename(const Operation &operation, const Place &from);
    int64_t change(const Operation &operation, Node &node);
    static int64_t read(const Operation &operation, const Node &node);
    void addTo(Tree &tree, const std::string &path, uint64_t ino) const;

    std::map<uint64_t, File> files;
    OpenOrphans open;
    uint64_t last = 1;
};
