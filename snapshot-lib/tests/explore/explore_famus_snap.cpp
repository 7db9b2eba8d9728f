// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine famus-snap, at its system calls, which the linker puts in between (--wrap), under the
// model of the rig power_cut/folders.hpp. A clone is a copy of its source here, page by page: no file system with
// reflinks is at hand. Recovery must ignore the content of the mapped file, which is filled with another pattern.
//
// Bugs: no-clone-sync, no-folder-sync: fsync() of these does nothing.
#include <cstdio>
#include <map>
#include <memory>

#include "famus_snap.hpp"
#include "folders.hpp"
#include "store_explorer.hpp"

// The system calls on the clones, as changes of their folder.
class Clones {
  public:
    explicit Clones(const std::string &pool) : pool(pool) {
        for (const char *suffix : {".snapshot", ".snapshot.new"})
            if (std::filesystem::exists(pool + suffix)) {
                base.names[pool + suffix] = numbers[pool + suffix] = ++last_number;
                base.files[last_number] = readFile(pool + suffix);
            }
    }

    bool has(const std::string &path) const { return path == pool + ".snapshot" || path == pool + ".snapshot.new"; }
    bool isFolder(const std::string &path) const { return pool.starts_with(path + "/"); }

    void make(const std::string &path) {
        numbers[path] = ++last_number;
        events.push_back({.kind = FolderEvent::Name, .file = last_number, .name = path});
    }
    void remove(const std::string &path) {
        numbers.erase(path);
        events.push_back({.kind = FolderEvent::Name, .name = path});
    }
    void move(const std::string &from, const std::string &to) {
        numbers[to] = numbers[from];
        numbers.erase(from);
        events.push_back({.kind = FolderEvent::Move, .file = numbers[to], .name = from, .to = to});
    }
    void fill(const std::string &path, const std::string &bytes) {
        events.push_back({.kind = FolderEvent::Size, .file = numbers[path], .at = bytes.size()});
        for (size_t at = 0; at < bytes.size(); at += PageBytes)
            events.push_back({.kind = FolderEvent::Written,
                              .file = numbers[path],
                              .at = at,
                              .content = bytes.substr(at, PageBytes)});
    }
    void sync(const std::string &path) { events.push_back({.kind = FolderEvent::SyncFile, .file = numbers[path]}); }
    void syncFolder() { events.push_back({.kind = FolderEvent::SyncFolder}); }

    template <class Visit> void forEachState(const Visit &visit) const {
        forEachCut(base, events, events.size(), NameRule::Posix, Cuts, visit);
    }

  private:
    static constexpr size_t PageBytes = 4096;
    // Every combination of names and sizes, with four contents of the clones that are not durable.
    static constexpr FolderSampling Cuts = {.steps = {.exhaustive = 256, .random = 32}, .content = {.random = 2}};

    std::string pool;
    std::map<std::string, unsigned> numbers; // of the clones, by their present names
    unsigned last_number = 0;
    Folder base;
    FolderEvents events;
};

static struct Explorer : StoreExplorer<engines::FamusSnap> {
    std::unique_ptr<Clones> clones; // null: not exploring

    void begin() override { clones = std::make_unique<Clones>(pool); }
    void end() override { clones = nullptr; }

    void forEachState() override {
        clones->forEachState([&](const Folder &folder) {
            for (const char *suffix : {"", ".snapshot", ".snapshot.new"})
                std::filesystem::remove(crashed + suffix);
            writeFile(crashed, std::string(PoolBytes, '\xee'));
            for (const auto &[path, number] : folder.names)
                writeFile(crashed + path.substr(pool.size()), folder.files.at(number));
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
