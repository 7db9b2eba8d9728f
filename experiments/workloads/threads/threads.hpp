// SPDX-License-Identifier: BSD-3-Clause
//
// The workload threads: each thread changes values in cells of its own, a batch in each round. If a transaction covers
// the stores of all threads (Engine::CommitsAllThreads), one thread commits the round of all, ordered by barriers as
// the rule for threads requires; otherwise each thread commits its own round. A guest needs as many CPUs as there are
// threads.
#pragma once

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"
#include "options.hpp"
#include "random.hpp"
#include "report.hpp"

namespace workloads {

struct ThreadsOptions : Options {
    uint64_t threads = 2, rounds = 20000, batch = 16;

    std::vector<Flag> flags() {
        return {
            {"threads", "N", "1 to 64 (default 2)",
             [this](const char *text) { threads = number("threads", text, 1, 64); }},
            {"rounds", "N", "of every thread (default 20000)",
             [this](const char *text) { rounds = number("rounds", text, 1, Many); }},
            {"batch", "N", "updates of a thread in a round (default 16)",
             [this](const char *text) { batch = number("batch", text, 1, 4096); }},
        };
    }
};

template <class Engine> class Threads {
  public:
    static constexpr const char *Name = "threads";
    using Options = ThreadsOptions;

    static size_t poolBytes(const Options &options) { return options.threads * sizeof(Share) * 2 + (8u << 20); }

    Threads(Engine &engine, const Options &options)
        : options(options), engine(engine), root(engine.template root<Root>()) {
        if (root->threads == 0)
            create();
        if (root->threads != options.threads)
            throw std::runtime_error("the pool was made for " + std::to_string(root->threads) + " threads");
    }

    void load() {}

    std::vector<Phase> phases() {
        return {{"updates", [this](Progress &progress) { runAll(progress); }}};
    }

    void describe(Report &report) const {
        uint64_t checksum = 0;
        for (uint64_t thread = 0; thread < options.threads; thread++)
            for (uint64_t cell : share(thread).cells)
                checksum = splitmix64(checksum ^ cell);
        report.add("threads", options.threads).add("rounds", options.rounds).add("batch", options.batch);
        report.add("updates", options.threads * options.rounds * options.batch).addHex("checksum", checksum);
    }

    bool complete() const { return commits() == options.rounds; }

    // Rounds of the first thread, which reports progress.
    uint64_t commits() const { return share(0).rounds; }

    std::string difference() const {
        for (uint64_t thread = 0; thread < options.threads; thread++) {
            uint64_t rounds = share(thread).rounds;
            if (Engine::CommitsAllThreads && rounds != commits())
                return "thread " + std::to_string(thread) + " is in another round than the first";
            std::vector<uint64_t> expected(Cells, 0);
            for (uint64_t round = 0; round < rounds; round++)
                forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) { expected[cell] = value; });
            if (!std::equal(expected.begin(), expected.end(), share(thread).cells))
                return "a cell of thread " + std::to_string(thread) + " is not as its last round left it";
        }
        return "";
    }

  private:
    static constexpr uint64_t Cells = 4096; // 32 KiB for each thread

    struct alignas(64) Share {
        uint64_t rounds;
        uint64_t unused[7]; // threads have no line in common
        uint64_t cells[Cells];
    };
    struct Root {
        typename Engine::template Ptr<Share> shares;
        uint64_t threads;
    };

    Share &share(uint64_t thread) const { return root->shares.get()[thread]; }

    void create() {
        engine.transaction([&] {
            engine.writing(root);
            root->shares = engine.template allocate<Share>(options.threads);
            engine.fresh(root->shares.get(), options.threads);
            memset(static_cast<void *>(root->shares.get()), 0, options.threads * sizeof(Share));
            root->threads = options.threads;
        });
    }

    template <class Update> void forEachUpdate(uint64_t thread, uint64_t round, Update &&update) const {
        Random random(splitmix64(options.seed ^ splitmix64(thread)) + round);
        for (uint64_t i = 0; i < options.batch; i++) {
            uint64_t cell = random.below(Cells);
            update(cell, random.next());
        }
    }

    void doRound(uint64_t thread, uint64_t round) {
        Share &mine = share(thread);
        forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) {
            engine.writing(&mine.cells[cell]);
            mine.cells[cell] = value;
        });
        engine.writing(&mine.rounds);
        mine.rounds++;
    }

    void runAll(Progress &progress) {
        std::barrier<> begin(static_cast<ptrdiff_t>(options.threads)), end(static_cast<ptrdiff_t>(options.threads));
        std::vector<std::thread> others;
        for (uint64_t thread = 1; thread < options.threads; thread++)
            others.emplace_back([this, thread, &begin, &end] { follow(thread, begin, end); });
        lead(progress, begin, end);
        for (std::thread &other : others)
            other.join();
    }

    void lead(Progress &progress, std::barrier<> &begin, std::barrier<> &end) {
        for (uint64_t round = 0; round < options.rounds; round++) {
            if constexpr (Engine::CommitsAllThreads) {
                begin.arrive_and_wait();
                engine.transaction([&] {
                    doRound(0, round);
                    end.arrive_and_wait(); // the stores of the other threads come before the commit
                });
            } else {
                engine.transaction([&] { doRound(0, round); });
            }
            progress.committed();
        }
    }

    void follow(uint64_t thread, std::barrier<> &begin, std::barrier<> &end) {
        for (uint64_t round = 0; round < options.rounds; round++) {
            if constexpr (Engine::CommitsAllThreads) {
                begin.arrive_and_wait(); // the last round is committed
                doRound(thread, round);
                end.arrive_and_wait();
            } else {
                engine.transaction([&] { doRound(thread, round); });
            }
        }
    }

    Options options;
    Engine &engine;
    Root *root;
};

} // namespace workloads
