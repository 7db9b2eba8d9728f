// SPDX-License-Identifier: BSD-3-Clause
//
// The driver of all workloads: load, then run each phase in its own region of interest and report it; or verify a pool
// after a crash.
//
// A workload is a class template over the engine with
//
//     Name, Options (with flags() of its own), poolBytes(options)
//     Workload(engine, options)     opens the workload's data in the pool, or creates it
//     load()                        makes the initial state of the phases; not measured
//     phases()                      in order; requests are made here, before any phase is measured
//     describe(report)              results of the last phase, and a checksum of the state, equal for all engines
//     complete()                    true if all requests could be served
//     commits()                     operations committed according to the pool, in this run and before a crash
//     difference()                  differences from the state after exactly so many operations, or an empty string
//     printDetails(heading)         optional: rows of its own, after the rows of the phases
//
// With a member `recovery`, Options may ask for the time to open the pool after a crash instead (recovery.hpp).
#pragma once

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.hpp"
#include "engine.hpp"
#include "epoch_counts.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "recovery.hpp"
#include "report.hpp"
#include "timed.hpp"

namespace workloads {

struct Phase {
    const char *name;
    std::function<void(Progress &)> run;
};

template <class Engine, class Workload>
void measure(const Phase &phase, uint32_t region, Engine &engine, Workload &workload, Progress &progress,
             Report report) {
    engines::Statistics before = engine.statistics();
    EpochCounts<Engine> epochs(engine);
    uint64_t commit_before_ns = engine.commitNs();
    testbed_roi_begin(region);
    uint64_t begin_ns = nowNs();
    phase.run(progress);
    uint64_t roi_ns = nowNs() - begin_ns;
    testbed_roi_end();
    engines::Statistics after = engine.statistics();
    report.add("phase", phase.name).add("roi_ns", roi_ns);
    if (engine.isTimed())
        report.add("commit_ns", engine.commitNs() - commit_before_ns);
    workload.describe(report);
    report.add("commits", after.commits - before.commits).add("log_bytes", after.log_bytes - before.log_bytes);
    report.add("data_bytes", after.data_bytes - before.data_bytes).add("fences", after.fences - before.fences);
    epochs.addTo(report);
    report.print();
}

// DAX maps a file with huge pages if its size is a multiple of 2 MiB, which saves page faults in every engine.
inline size_t wholeUnits(size_t bytes) {
    constexpr size_t unit = 2 << 20;
    return (bytes + unit - 1) / unit * unit;
}

template <class Engine, class Workload> int run(const typename Workload::Options &options) {
    Engine engine(options.file, wholeUnits(Workload::poolBytes(options)), engines::OpenMode::Create);
    engine.setTimed(options.commit_time);
    Workload workload(engine, options);
    uint64_t begin_ns = nowNs();
    workload.load();
    Report report;
    report.add("program", Workload::Name).add("engine", Engine::Name).add("seed", options.seed);
    report.add("load_ns", nowNs() - begin_ns);
    Progress progress(options);
    uint32_t region = 0;
    for (const Phase &phase : workload.phases())
        measure(phase, ++region, engine, workload, progress, report);
    if constexpr (requires { workload.printDetails(report); })
        workload.printDetails(report);
    return workload.complete() ? 0 : 1;
}

template <class Engine, class Workload> int verify(const typename Workload::Options &options) {
    Report report;
    report.add("program", std::string(Workload::Name) + "-verify").add("engine", Engine::Name);
    std::string problem;
    uint64_t commits = 0, lines_undone = 0;
    try {
        Engine engine(options.file, 0, engines::OpenMode::OpenExisting);
        Workload workload(engine, options);
        commits = workload.commits();
        lines_undone = engine.statistics().lines_undone;
        problem = workload.difference();
    } catch (const engines::NoPool &) {
        // The crash came before the pool existed: nothing was promised yet.
    } catch (const std::exception &error) {
        problem = error.what();
    }
    report.addBool("verified", problem.empty()).add("commits", commits).add("lines_undone", lines_undone);
    report.add("problem", problem).print();
    return problem.empty() ? 0 : 1;
}

template <class Engine, template <class> class WorkloadOn> int runAsAsked(const auto &options) {
    using Workload = WorkloadOn<Engine>;
    if constexpr (requires { options.recovery; })
        if (!options.recovery.empty()) {
            if constexpr (!Engine::Durable)
                throw std::invalid_argument("--recovery needs an engine that keeps something");
            else
                return recover<Engine, WorkloadOn>(options, wholeUnits(Workload::poolBytes(options)));
        }
    return options.verify ? verify<Engine, Workload>(options) : run<Engine, Workload>(options);
}

template <class Engine, template <class> class WorkloadOn> int workloadMain(int argc, char **argv) {
    using Workload = WorkloadOn<Engine>;
    typename Workload::Options options;
    std::vector<Flag> flags = commonFlags(options);
    for (Flag &flag : options.flags())
        flags.push_back(flag);
    flags.push_back({"commit-time", nullptr, "measure how long commits take, with two looks at the clock in each",
                     [&](const char *) { options.commit_time = true; }});
    try {
        parse(argc, argv, flags);
        if (options.help)
            return fputs(usage(Workload::Name, flags).c_str(), stdout) < 0;
        if (!options.engine.empty() && options.engine != Engine::Name)
            throw std::invalid_argument("this is the program of the engine " + std::string(Engine::Name));
        if (options.file.empty() && Engine::Durable)
            throw std::invalid_argument("--file is missing: give a path on the file system under test");
        return runAsAsked<Engine, WorkloadOn>(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "%s: %s\n%s", Workload::Name, error.what(), usage(Workload::Name, flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "%s: %s\n", Workload::Name, error.what());
    }
    return 2;
}

} // namespace workloads
