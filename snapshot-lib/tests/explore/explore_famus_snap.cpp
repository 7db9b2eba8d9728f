// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine famus-snap, at its system calls, which the linker puts in between (--wrap). The model, no
// file system with reflinks being at hand:
//
//  - A clone has the content that its source had, and each of its pages is there or zero, and its size full or nothing,
//    until it is synchronised. Here it is a copy.
//  - A name that was made, removed or moved is as before or after, each for itself, until the folder is synchronised.
//  - Recovery must ignore the content of the mapped file: it is filled with another pattern.
//
// Bugs: no-clone-sync, no-folder-sync: fsync() of these does nothing.
#include <cstdio>
#include <map>
#include <memory>
#include <random>

#include "famus_snap.hpp"
#include "store_explorer.hpp"

struct Inode {
    std::string bytes;
    bool is_durable = false;
};
using InodePtr = std::shared_ptr<Inode>; // null: there is no such file

// The states of the clones that a crash may leave.
class Clones {
  public:
    explicit Clones(const std::string &pool) : pool(pool) {
        for (const char *suffix : {".snapshot", ".snapshot.new"}) {
            std::string bytes = readFile(pool + suffix);
            names[pool + suffix] = {bytes.empty() ? nullptr : std::make_shared<Inode>(Inode{bytes, true})};
        }
    }

    bool has(const std::string &path) const { return names.contains(path); }
    bool isFolder(const std::string &path) const { return pool.starts_with(path + "/"); }

    void make(const std::string &path) { names[path].push_back(std::make_shared<Inode>()); }
    void remove(const std::string &path) { names[path].push_back(nullptr); }
    void move(const std::string &from, const std::string &to) {
        names[to].push_back(names[from].back());
        remove(from);
    }
    void fill(const std::string &path, const std::string &bytes) { names[path].back()->bytes = bytes; }
    void sync(const std::string &path) { names[path].back()->is_durable = true; }
    void syncFolder() {
        for (auto &[path, versions] : names)
            versions.erase(versions.begin(), versions.end() - 1);
    }

    // Every combination of names, with four contents of each clone that is not durable.
    template <class Visit> void forEachState(const Visit &visit) {
        for (const InodePtr &last : names[pool + ".snapshot"])
            for (const InodePtr &next : names[pool + ".snapshot.new"])
                for (unsigned kind = 0; kind < (isSettled(last) && isSettled(next) ? 1 : 4); kind++)
                    visit(last, last ? left(*last, kind) : "", next, next ? left(*next, kind) : "");
    }

  private:
    static constexpr size_t PageBytes = 4096;

    static bool isSettled(const InodePtr &inode) { return !inode || inode->is_durable; }

    // Kind 0: all of it; 1: nothing; else any pages.
    std::string left(const Inode &inode, unsigned kind) {
        std::string bytes = inode.bytes;
        for (size_t at = 0; !inode.is_durable && at < bytes.size(); at += PageBytes)
            if (kind == 1 || (kind > 1 && random() % 4 == 0))
                bytes.replace(at, PageBytes, PageBytes, '\0');
        return inode.is_durable || kind != 1 ? bytes : "";
    }

    std::string pool;
    std::map<std::string, std::vector<InodePtr>> names; // versions, the first is durable
    std::mt19937_64 random{1};
};

static struct Explorer : StoreExplorer<engines::FamusSnap> {
    std::unique_ptr<Clones> clones; // null: not exploring

    void begin() override { clones = std::make_unique<Clones>(pool); }
    void end() override { clones = nullptr; }

    void forEachState() override {
        std::string last_path = crashed + ".snapshot", next_path = last_path + ".new";
        clones->forEachState([&](const InodePtr &last, const std::string &last_bytes, const InodePtr &next,
                                 const std::string &next_bytes) {
            for (const std::string &name : {crashed, last_path, next_path})
                std::filesystem::remove(name);
            writeFile(crashed, std::string(PoolBytes, '\xee'));
            if (last)
                writeFile(last_path, last_bytes);
            if (next)
                writeFile(next_path, next_bytes);
            judge();
        });
    }
} explorer;

static bool isClone(const std::string &path) { return explorer.clones && explorer.clones->has(path); }

extern "C" {
int __real_open(const char *path, int flags, mode_t mode);
int __real_fsync(int fd);
int __real_unlink(const char *path);
int __real_rename(const char *from, const char *to);

int __wrap_open(const char *path, int flags, mode_t mode) {
    if (isClone(path) && (flags & O_CREAT)) {
        explorer.point();
        explorer.clones->make(path);
    }
    return __real_open(path, flags, mode);
}

int __wrap_unlink(const char *path) {
    if (isClone(path)) {
        explorer.point();
        explorer.clones->remove(path);
    }
    return __real_unlink(path);
}

int __wrap_rename(const char *from, const char *to) {
    if (isClone(from)) {
        explorer.point();
        explorer.clones->move(from, to);
    }
    return __real_rename(from, to);
}

// FICLONE is the one that the engine uses.
int __wrap_ioctl(int fd, unsigned long, int source) {
    std::string path = pathOf(fd), bytes = readFile(pathOf(source));
    if (isClone(path)) {
        explorer.point();
        explorer.clones->fill(path, bytes);
    }
    writeFile(path, bytes);
    return 0;
}

int __wrap_fsync(int fd) {
    std::string path = pathOf(fd);
    if (isClone(path)) {
        explorer.point();
        if (!explorer.hasBug("no-clone-sync"))
            explorer.clones->sync(path);
    } else if (explorer.clones && explorer.clones->isFolder(path)) {
        explorer.point();
        if (!explorer.hasBug("no-folder-sync"))
            explorer.clones->syncFolder();
    }
    return __real_fsync(fd);
}
}

int main(int argc, char **argv) { return explorer.run("explore-famus-snap", argc, argv); }
