// SPDX-License-Identifier: BSD-3-Clause
//
// Counters of the engines that make checkpoints, for a phase and for opening a pool. Other engines report no counters.
#pragma once

#include "clock.hpp"
#include "report.hpp"

namespace workloads {

template <class Engine>
concept KeepsEpochs = requires(const Engine &engine) { engine.epochs(); };

template <class Engine> class EpochCounts {
  public:
    explicit EpochCounts(const Engine &) {}
    void addTo(Report &) const {}
};

template <KeepsEpochs Engine> class EpochCounts<Engine> {
  public:
    explicit EpochCounts(const Engine &engine) : engine(engine), before(engine.epochs()) {}

    void addTo(Report &report) const {
        auto now = engine.epochs();
        report.add("stop_ns", now.stop_ns - before.stop_ns);
        report.add("waits_for_room", now.waits_for_room - before.waits_for_room);
        report.add("replayed_epochs", now.replayed_epochs - before.replayed_epochs);
        report.add("replayed_lines", now.replayed_lines - before.replayed_lines);
        report.add("replay_ns", now.replay_ns - before.replay_ns);
    }

  private:
    const Engine &engine;
    decltype(engine.epochs()) before;
};

// Pages read when the pool was opened, pages read since, and the time since (check_ns), which includes all other work.
template <class Engine> class PageIn {
  public:
    explicit PageIn(const Engine &) {}
    void addTo(Report &) const {}
};

template <KeepsEpochs Engine> class PageIn<Engine> {
  public:
    explicit PageIn(const Engine &engine) : engine(engine), before(engine.epochs().pages_in), begin_ns(nowNs()) {}

    void addTo(Report &report) const {
        report.add("check_ns", nowNs() - begin_ns);
        report.add("pages_in_at_open", before).add("pages_in", engine.epochs().pages_in - before);
    }

  private:
    const Engine &engine;
    uint64_t before, begin_ns;
};

} // namespace workloads
