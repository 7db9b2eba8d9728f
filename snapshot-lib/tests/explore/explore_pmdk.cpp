// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine pmdk under the model of the rig power_cut/media.hpp, those of crashes during recovery
// included. Every state is opened by the same engine, in a process of its own, and compared with the store before and
// after the transaction.
//
//     explore_pmdk DIRECTORY [BUG]
//
// With a bug it succeeds if that is caught. no-flush, no-drain: libpmem does not; no-add: the engine forgets to
// announce a change.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "kv_store.hpp"
#include "pmdk.hpp"
#include "pmem_program.hpp"
#include "random.hpp"
#include "report.hpp"
#include "ycsb.hpp"

static constexpr Sampling States = {.exhaustive = 16, .random = 6}, Extremes = {};
static constexpr uint64_t Records = 200, Updates = 4, Inserts = 4;
static std::string bug; // empty: none

class Watched : public engines::Pmdk {
  public:
    using engines::Pmdk::Pmdk;
    template <class T> void writing(T *field, size_t count = 1) {
        if (bug != "no-add")
            engines::Pmdk::writing(field, count);
        if (pmem_program)
            pmem_program->look();
    }
};

using Store = workloads::KvStore<Watched>;

// A digest of the store's content, independent of its order.
static uint64_t digestOf(const Store &store) {
    uint64_t sum = workloads::splitmix64(store.commits());
    store.forEach([&](const workloads::Record &record) {
        sum += workloads::splitmix64(record.key.hash() ^ workloads::splitmix64(record.value));
    });
    return sum;
}

static uint64_t digestOfPool(const std::string &path) {
    Watched engine(path, 0, engines::OpenMode::OpenExisting);
    return digestOf(Store(engine, 0));
}

// The permitted states: before the transaction or after it. Equal when it has returned.
struct Allowed {
    uint64_t before, after;
    bool has(uint64_t digest) const { return digest == before || digest == after; }
};

// A process that has a pool open can open no copy of it. It recovers the pool too, if told so under the model.
static bool opensIn(const char *mode, const std::string &path, Allowed allowed) {
    std::string words[] = {"explore_pmdk", mode, path, std::to_string(allowed.before), std::to_string(allowed.after)};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), words[4].data(), nullptr};
    pid_t child = 0;
    int status = 0;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0)
        throw std::runtime_error("cannot start a process");
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// One state differs from the next in few pages.
static void writeFile(const std::string &path, const Medium &bytes) {
    constexpr size_t page = 4096;
    int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    void *memory = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes.size())) == 0)
        memory = mmap(nullptr, bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        throw std::runtime_error("cannot write " + path);
    char *file = static_cast<char *>(memory);
    for (size_t at = 0; at < bytes.size(); at += page)
        if (memcmp(file + at, bytes.data() + at, page) != 0)
            memcpy(file + at, bytes.data() + at, page);
    munmap(memory, bytes.size());
    close(fd);
}

// The rest of the command line: a pool, and its permitted contents.
static int openPool(bool is_cut_again, char **arguments) {
    alarm(60); // a pool that hangs is an answer too
    std::string path = arguments[0];
    Allowed allowed = {strtoull(arguments[1], nullptr, 10), strtoull(arguments[2], nullptr, 10)};
    if (!is_cut_again)
        return allowed.has(digestOfPool(path)) ? 0 : 1;
    uint64_t violations = 0;
    PmemProgram program(path, [&] {
        pmem_program->forEachState(Extremes, [&](const Medium &bytes) {
            writeFile(path + ".again", bytes);
            violations += !opensIn("--open", path + ".again", allowed);
        });
    });
    violations += !allowed.has(digestOfPool(path));
    return violations ? 1 : 0;
}

struct Explorer {
    std::string directory;
    Allowed allowed{};
    uint64_t points = 0, states = 0, recoveries = 0, violations = 0, lost = 0;

    void point() {
        if (!bug.empty() && violations > 0)
            return; // it is caught
        points++;
        pmem_program->forEachState(States, [this](const Medium &bytes) {
            bool is_cut_again = states++ % 32 == 0;
            recoveries += is_cut_again;
            std::string path = directory + "/crashed";
            writeFile(path, bytes);
            bool is_wrong = !opensIn(is_cut_again ? "--recover" : "--open", path, allowed);
            violations += is_wrong;
            lost += is_wrong && allowed.before == allowed.after;
        });
    }
};

static void change(Store &store, uint64_t i) {
    if (i < Updates)
        store.update(workloads::keyOf(i * 17 % Records), static_cast<uint32_t>(1000 + i));
    else
        store.insert(workloads::keyOf(Records + i), 1);
}

// Runs after the same change on another copy of the store, which gives the expected result.
static void explore(Explorer &explorer, Store &store, Store &ahead, uint64_t i) {
    PmemProgram *program = std::exchange(pmem_program, nullptr); // the other pool is none of its business
    change(ahead, i);
    pmem_program = program;
    explorer.allowed.after = digestOf(ahead);
    change(store, i);
    explorer.allowed.before = explorer.allowed.after;
    pmem_program->look();
    explorer.point();
}

// As small as a pool may be: each state is a copy of it.
static std::string poolIn(const std::string &directory, const char *name) {
    std::string path = directory + "/" + name;
    PMEMobjpool *pool = pmemobj_create(path.c_str(), "testbed", PMEMOBJ_MIN_POOL, 0644);
    if (!pool)
        throw std::runtime_error(pmemobj_errormsg());
    pmemobj_close(pool);
    return path;
}

static void run(Explorer &explorer) {
    std::string path = poolIn(explorer.directory, "pool"), other_path = poolIn(explorer.directory, "ahead");
    Watched engine(path, 0, engines::OpenMode::OpenExisting), other(other_path, 0, engines::OpenMode::OpenExisting);
    Store store(engine, 4), ahead(other, 4);
    for (Store *each : {&store, &ahead})
        each->load(Records, [](uint64_t i) { return std::pair(workloads::keyOf(i), static_cast<uint32_t>(i)); });
    explorer.allowed = {digestOf(store), digestOf(store)};
    PmemProgram program(path, [&] { explorer.point(); });
    for (uint64_t i = 0; i < Updates + Inserts; i++)
        explore(explorer, store, ahead, i);
}

int main(int argc, char **argv) {
    if (argc == 5)
        return openPool(strcmp(argv[1], "--recover") == 0, argv + 2);
    if (argc < 2)
        return 2;
    bug = argc > 2 ? argv[2] : "";
    pmem_bug_no_flush = bug == "no-flush";
    pmem_bug_no_drain = bug == "no-drain";
    std::filesystem::remove_all(argv[1]);
    std::filesystem::create_directories(argv[1]);
    Explorer explorer;
    explorer.directory = std::filesystem::canonical(argv[1]);
    run(explorer);
    std::filesystem::remove_all(argv[1]);
    workloads::Report report;
    report.add("program", "explore-pmdk").add("points", explorer.points).add("states", explorer.states);
    report.add("recoveries", explorer.recoveries);
    report.add("violations", explorer.violations).add("lost_commits", explorer.lost).print();
    return (explorer.violations > 0) != bug.empty() && explorer.states > 0 ? 0 : 1;
}
