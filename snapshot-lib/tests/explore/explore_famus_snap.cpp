// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine famus-snap, at its system calls, which the linker puts in between (--wrap). Every state is
// opened by the same engine and compared with the store before and after the transaction. The model, no file system
// with reflinks being at hand:
//
//  - A clone has the content that its source had, and each of its pages is there or zero, and its size full or nothing,
//    until it is synchronised. Here it is a copy.
//  - A name that was made, removed or moved is as before or after, each for itself, until the folder is synchronised.
//  - What the mapped file has is nothing to recovery: it is filled with another pattern.
//
//     explore_famus_snap DIRECTORY [BUG]
//
// With a bug it succeeds if that is caught. no-clone-sync, no-folder-sync: fsync() of these does nothing.
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>

#include "famus_snap.hpp"
#include "kv_store.hpp"
#include "report.hpp"
#include "ycsb.hpp"

using Store = workloads::KvStore<engines::FamusSnap>;
using Contents = std::map<std::string, uint32_t>;

static constexpr uint64_t Records = 100, Changes = 16;
static constexpr size_t PoolBytes = 256 << 10, PageBytes = 4096;

static std::string bug; // empty: none

static std::string readFile(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

static void writeFile(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

struct Inode {
    std::string bytes;
    bool is_durable = false;
};
using InodePtr = std::shared_ptr<Inode>; // null: there is no such file

// What a crash may leave of the clones.
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

static struct Explorer {
    std::string directory;
    std::unique_ptr<Clones> clones; // null: not exploring
    Contents before, after;
    bool is_committed = false;
    uint64_t points = 0, states = 0, violations = 0, lost = 0;

    int open(const std::string &path) {
        clones = nullptr; // in this child
        try {
            engines::FamusSnap engine(path, 0, engines::OpenMode::OpenExisting);
            Contents found = contentsOf(Store(engine, 0));
            return (!is_committed && found == before) || found == after ? 0 : 1;
        } catch (const std::exception &) {
            return 1;
        }
    }

    static Contents contentsOf(const Store &store) {
        Contents contents{{"commits", static_cast<uint32_t>(store.commits())}};
        store.forEach([&](const workloads::Record &record) {
            contents[std::string(record.key.bytes, record.key.length())] = record.value;
        });
        return contents;
    }

    bool opens(const std::string &path) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            _exit(open(path));
        }
        int status = 0;
        return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    // Before a call takes effect, and when a transaction has returned.
    void point() {
        if (!bug.empty() && violations > 0)
            return; // it is caught
        points++;
        std::string path = directory + "/crashed", last_path = path + ".snapshot", next_path = last_path + ".new";
        clones->forEachState([&](const InodePtr &last, const std::string &last_bytes, const InodePtr &next,
                                 const std::string &next_bytes) {
            for (const std::string &name : {path, last_path, next_path})
                std::filesystem::remove(name);
            writeFile(path, std::string(PoolBytes, '\xee'));
            if (last)
                writeFile(last_path, last_bytes);
            if (next)
                writeFile(next_path, next_bytes);
            states++;
            bool is_wrong = !opens(path);
            violations += is_wrong;
            lost += is_wrong && is_committed;
        });
    }
} explorer;

static std::string pathOf(int fd) {
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
}

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
        if (bug != "no-clone-sync")
            explorer.clones->sync(path);
    } else if (explorer.clones && explorer.clones->isFolder(path)) {
        explorer.point();
        if (bug != "no-folder-sync")
            explorer.clones->syncFolder();
    }
    return __real_fsync(fd);
}
}

// A change is explored when it has been made to what the store must hold after it.
static void explore(Store &store, uint64_t i) {
    std::string key(workloads::keyOf(i).bytes, workloads::keyOf(i).length());
    explorer.before = explorer.after;
    explorer.after["commits"]++;
    explorer.after[key] = static_cast<uint32_t>(1000 + i);
    explorer.is_committed = false;
    if (i < Records)
        store.update(workloads::keyOf(i), static_cast<uint32_t>(1000 + i));
    else
        store.insert(workloads::keyOf(i), static_cast<uint32_t>(1000 + i));
    explorer.is_committed = true;
    explorer.point();
}

int main(int argc, char **argv) {
    if (argc < 2)
        return 2;
    bug = argc > 2 ? argv[2] : "";
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    explorer.directory = std::filesystem::canonical(argv[1]);
    std::string path = explorer.directory + "/pool";
    {
        engines::FamusSnap engine(path, PoolBytes, engines::OpenMode::Create);
        Store store(engine, 4);
        store.load(Records, [](uint64_t i) { return std::pair(workloads::keyOf(i), static_cast<uint32_t>(i)); });
        explorer.after = Explorer::contentsOf(store);
        explorer.clones = std::make_unique<Clones>(path);
        for (uint64_t i = 0; i < Changes; i++)
            explore(store, Records - Changes / 2 + i); // updates, then inserts
        explorer.clones = nullptr;
    }
    std::filesystem::remove_all(argv[1]);
    workloads::Report report;
    report.add("program", "explore-famus-snap").add("points", explorer.points).add("states", explorer.states);
    report.add("violations", explorer.violations).add("lost_commits", explorer.lost).print();
    return (explorer.violations > 0) != bug.empty() && explorer.states > 0 ? 0 : 1;
}
