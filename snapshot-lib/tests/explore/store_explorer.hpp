// SPDX-License-Identifier: BSD-3-Clause
//
// The common parts of the explorers of an engine at its system calls: a KV store on it, changes that are made one by
// one, and the check whether a state is the store before or after the change under way. The same engine opens each
// state, in a process of its own.
//
//     PROGRAM DIRECTORY [BUG]
//
// With a bug it succeeds if that is caught.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "kv_store.hpp"
#include "report.hpp"
#include "ycsb.hpp"

inline std::string readFile(const std::string &path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

inline void writeFile(const std::string &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string pathOf(int fd) {
    return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd)).string();
}

template <class Engine> class StoreExplorer {
  public:
    static constexpr size_t PoolBytes = 256 << 10, PageBytes = 4096;

    virtual ~StoreExplorer() = default;

    bool hasBug(const char *name) const { return bug == name; }

    // Before a call takes effect, and when a transaction has returned.
    void point() {
        if (!bug.empty() && violations > 0)
            return; // it is caught
        points++;
        forEachState();
    }

    int run(const char *name, int argc, char **argv) {
        if (argc < 2)
            return 2;
        bug = argc > 2 ? argv[2] : "";
        std::filesystem::remove_all(argv[1]);
        std::filesystem::create_directories(argv[1]);
        std::string directory = std::filesystem::canonical(argv[1]);
        pool = directory + "/pool";
        crashed = directory + "/crashed";
        try {
            explore();
        } catch (const std::exception &error) {
            fprintf(stderr, "%s: %s\n", name, error.what());
            return 2;
        }
        std::filesystem::remove_all(argv[1]);
        workloads::Report report;
        report.add("program", name).add("points", points).add("states", states);
        report.add("violations", violations).add("lost_commits", lost).print();
        return (violations > 0) != bug.empty() && states > 0 ? 0 : 1;
    }

  protected:
    // Calls are recorded from the one to the other. A process that opens a state ends it for itself.
    virtual void begin() = 0;
    virtual void end() = 0;
    // Makes each state that a crash may leave now, of the file `crashed` and the files beside it, and judges it.
    virtual void forEachState() = 0;

    void judge() {
        states++;
        bool is_wrong = !opens();
        violations += is_wrong;
        lost += is_wrong && is_committed;
    }

    std::string pool, crashed; // paths

  private:
    using Store = workloads::KvStore<Engine>;
    using Contents = std::map<std::string, uint32_t>;
    static constexpr uint64_t Records = 100, Changes = 16;

    static Contents contentsOf(const Store &store) {
        Contents contents{{"commits", static_cast<uint32_t>(store.commits())}};
        store.forEach([&](const workloads::Record &record) {
            contents[std::string(record.key.bytes, record.key.length())] = record.value;
        });
        return contents;
    }

    bool opens() {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            end();
            _exit(holdsAllowed() ? 0 : 1);
        }
        int status = 0;
        return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

    bool holdsAllowed() {
        try {
            Engine engine(crashed, 0, engines::OpenMode::OpenExisting);
            Contents found = contentsOf(Store(engine, 0));
            return (!is_committed && found == before) || found == after;
        } catch (const std::exception &) {
            return false;
        }
    }

    void explore() {
        Engine engine(pool, PoolBytes, engines::OpenMode::Create);
        Store store(engine, 4);
        store.load(Records, [](uint64_t i) { return std::pair(workloads::keyOf(i), static_cast<uint32_t>(i)); });
        after = contentsOf(store);
        begin();
        for (uint64_t i = 0; i < Changes; i++)
            change(store, Records - Changes / 2 + i); // updates, then inserts
        end();
    }

    void change(Store &store, uint64_t i) {
        workloads::Key key = workloads::keyOf(i);
        const auto value = static_cast<uint32_t>(1000 + i);
        before = after;
        after["commits"]++;
        after[std::string(key.bytes, key.length())] = value;
        is_committed = false;
        if (i < Records)
            store.update(key, value);
        else
            store.insert(key, value);
        is_committed = true;
        point();
    }

    std::string bug; // empty: none
    Contents before, after;
    bool is_committed = false;
    uint64_t points = 0, states = 0, violations = 0, lost = 0;
};
