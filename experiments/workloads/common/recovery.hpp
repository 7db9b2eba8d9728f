// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the time to open a pool after a crash. A child process loads the pool, runs all requests of the workload as
// one transaction, and is killed at its end, before or after the commit. This process, which has had nothing of the
// pool in memory, then opens the pool in a region of interest. Everything that reached the file survives such a crash
// of a process; a region of interest of its own first evicts the file's lines from the CPU's caches.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

#include "clock.hpp"
#include "engine.hpp"
#include "epoch_counts.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report.hpp"

namespace workloads {

enum class CrashPoint { Closed, BeforeCommit, AfterCommit };

inline CrashPoint crashPointOf(const std::string &name) {
    if (name == "closed")
        return CrashPoint::Closed;
    if (name == "before-commit")
        return CrashPoint::BeforeCommit;
    if (name == "after-commit")
        return CrashPoint::AfterCommit;
    throw std::invalid_argument("--recovery must be closed, before-commit or after-commit, not '" + name + "'");
}

// An engine that can join its transactions to one.
template <class Base> class Joining : public Base {
  public:
    using Base::Base;

    template <class Change> void transaction(Change &&change) {
        if (joined)
            change();
        else
            Base::transaction(change);
    }

    template <class All> void together(All &&all) {
        Base::transaction([&] {
            joined = true;
            all();
            joined = false;
        });
    }

  private:
    bool joined = false;
};

// Loads, runs the requests as one transaction and dies there. Returns only if no crash is requested.
template <class Engine, template <class> class Workload, class Options>
void runAndCrash(const Options &options, size_t pool_bytes) {
    CrashPoint point = crashPointOf(options.recovery);
    Joining<Engine> engine(options.file, pool_bytes, engines::OpenMode::Create);
    Workload<Joining<Engine>> workload(engine, options);
    workload.load();
    Progress progress(options);
    auto phases = workload.phases();
    engine.together([&] {
        phases.front().run(progress);
        if (point == CrashPoint::BeforeCommit)
            raise(SIGKILL);
    });
    if (point == CrashPoint::AfterCommit)
        raise(SIGKILL);
}

// Runs runAndCrash() in a child process. Throws if the child does not end as requested.
template <class Engine, template <class> class Workload, class Options>
void leaveCrashed(const Options &options, size_t pool_bytes) {
    pid_t child = fork();
    if (child < 0)
        engines::fail(errno, "fork");
    if (child == 0) {
        try {
            runAndCrash<Engine, Workload>(options, pool_bytes);
        } catch (const std::exception &error) {
            fprintf(stderr, "%s\n", error.what());
            _exit(2);
        }
        _exit(0);
    }
    int status = 0, wanted = crashPointOf(options.recovery) == CrashPoint::Closed ? 0 : SIGKILL;
    if (waitpid(child, &status, 0) != child || status != wanted)
        throw std::runtime_error("the process that was to leave a pool ended with status " + std::to_string(status));
}

// Evicts the pool from all CPU caches: the memory is larger than the largest cache of a profile.
inline void emptyCaches(uint32_t region) {
    constexpr size_t bytes = 64u << 20, line = 64;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        engines::fail(errno, "cannot map memory");
    testbed_roi_begin(region);
    for (size_t at = 0; at < bytes; at += line)
        static_cast<volatile char *>(memory)[at] = 1;
    testbed_roi_end();
    munmap(memory, bytes);
}

template <class Engine, template <class> class Workload, class Options>
int recover(const Options &options, size_t pool_bytes) {
    leaveCrashed<Engine, Workload>(options, pool_bytes);
    emptyCaches(1);
    std::optional<Engine> engine;
    testbed_roi_begin(2);
    uint64_t begin_ns = nowNs();
    engine.emplace(options.file, 0, engines::OpenMode::OpenExisting);
    Workload<Engine> workload(*engine, options);
    uint64_t roi_ns = nowNs() - begin_ns;
    testbed_roi_end();
    engines::Statistics statistics = engine->statistics();
    struct stat file{};
    if (stat(options.file.c_str(), &file) < 0)
        engines::fail(errno, "cannot open " + options.file);
    PageIn<Engine> page_in(*engine);
    std::string problem = workload.difference(); // reads the whole pool
    Report report;
    page_in.addTo(report);
    report.add("program", std::string(Workload<Engine>::Name) + "-recovery").add("engine", Engine::Name);
    report.add("phase", "open").add("crash", options.recovery).add("roi_ns", roi_ns);
    report.add("records", options.records).add("operations", options.operations);
    report.add("file_bytes", static_cast<uint64_t>(file.st_size)).add("commits", workload.commits());
    report.add("lines_undone", statistics.lines_undone).add("lines_replayed", statistics.lines_replayed);
    report.addBool("verified", problem.empty()).add("problem", problem).print();
    return problem.empty() ? 0 : 1;
}

} // namespace workloads
