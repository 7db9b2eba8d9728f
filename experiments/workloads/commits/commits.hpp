// SPDX-License-Identifier: BSD-3-Clause
//
// The workload commits: each thread changes cells and commits, round after round, while the others do the same. No
// thread waits for another thread's round. The threads have separate regions of one file, separate files, or the same
// cells.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "crew.hpp"
#include "driver.hpp"
#include "random.hpp"

namespace workloads {

struct CommitsOptions : Options {
    enum class Data { Regions, Files, Shared };
    static constexpr const char *DataNames[] = {"regions", "files", "shared"};

    uint64_t threads = 2, rounds = 20000, batch = 16;
    Data data = Data::Regions;

    void setData(const std::string &text) {
        const auto *found = std::find(std::begin(DataNames), std::end(DataNames), text);
        if (found == std::end(DataNames))
            throw std::invalid_argument("--data must be regions, files or shared, not '" + text + "'");
        data = Data(found - std::begin(DataNames));
    }

    std::vector<Flag> flags() {
        return {
            {"threads", "N", "1 to 64 (default 2)",
             [this](const char *text) { threads = number("threads", text, 1, 64); }},
            {"data", "HOW", "regions of one file, files, or the same cells: regions, files, shared (default regions)",
             [this](const char *text) { setData(text); }},
            {"rounds", "N", "commits of every thread (default 20000)",
             [this](const char *text) { rounds = number("rounds", text, 1, Many); }},
            {"batch", "N", "updates before each commit (default 16)",
             [this](const char *text) { batch = number("batch", text, 1, 64); }},
        };
    }
};

template <class Engine> class Commits {
  public:
    static constexpr const char *Name = "commits";
    using Options = CommitsOptions;

    static size_t poolBytes(const Options &options) {
        return shares(options) * sizeof(Share) + sizeof(Block) * Blocks + (8u << 20);
    }

    Commits(Engine &engine, const Options &options)
        : options(options), engine(engine), root(engine.template root<Root>()) {
        bool is_new = root->threads == 0;
        if (!is_new && root->threads != options.threads)
            throw std::runtime_error("the pool was made for " + std::to_string(root->threads) + " threads");
        openOthers(is_new ? engines::OpenMode::Create : engines::OpenMode::OpenExisting);
        if (is_new)
            create();
    }

    void load() {}

    std::vector<Phase> phases() {
        crew = std::make_unique<Crew>(options.threads, [this](uint64_t thread) { work(thread); });
        return {{"commits", [this](Progress &of_first) {
                     progress = &of_first;
                     crew->run();
                 }}};
    }

    void describe(Report &report) const {
        uint64_t checksum = 0;
        for (uint64_t thread = 0; thread < options.threads; thread++)
            for (uint64_t cell : share(thread).cells)
                checksum = splitmix64(checksum ^ cell);
        report.add("data", CommitsOptions::DataNames[static_cast<size_t>(options.data)]);
        report.add("threads", options.threads).add("rounds", options.rounds).add("batch", options.batch);
        report.add("transactions", options.threads * options.rounds).addHex("checksum", checksum);
    }

    bool complete() const {
        for (uint64_t thread = 0; thread < options.threads; thread++)
            if (share(thread).rounds != options.rounds)
                return false;
        return true;
    }

    // Rounds of the first thread, which reports progress.
    uint64_t commits() const { return share(0).rounds; }

    std::string difference() const { return isShared() ? sharedDifference() : ownDifference(); }

  private:
    static constexpr uint64_t Cells = 4096; // 32 KiB for each thread
    static constexpr uint64_t Blocks = 64, BlockCells = Cells / Blocks;
    // If a commit covers the stores of all threads, it can have a part of another thread's round.
    static constexpr uint64_t RoundsUnderWay = Engine::CommitsAllThreads ? 1 : 0;

    struct alignas(64) Share {
        uint64_t rounds;
        uint64_t unused[7]; // threads have no line in common
        uint64_t cells[Cells];
        uint64_t apart[512]; // threads have no page in common either
    };
    struct Block {
        uint64_t cells[BlockCells];
    };
    struct Root {
        typename Engine::template Ptr<Share> shares;
        typename Engine::template Ptr<Block> blocks; // for Data::Shared
        uint64_t threads;                            // 0: the pool is empty
    };
    struct Other { // the file of one more thread
        std::unique_ptr<Engine> engine;
        Root *root;
    };
    struct alignas(64) BlockLock {
        SpinLock lock;
    };

    static uint64_t shares(const Options &options) {
        return options.data == Options::Data::Files ? 1 : options.threads;
    }
    bool isShared() const { return options.data == Options::Data::Shared; }

    void openOthers(engines::OpenMode mode) {
        for (uint64_t thread = shares(options); thread < options.threads; thread++) {
            std::string path = options.file + "." + std::to_string(thread);
            auto own = std::make_unique<Engine>(path, wholeUnits(poolBytes(options)), mode);
            Root *its_root = own->template root<Root>();
            others.push_back({std::move(own), its_root});
        }
    }

    void create() {
        for (Other &other : others)
            fill(*other.engine, other.root);
        fill(engine, root); // last, because a filled root states that all files are complete
    }

    void fill(Engine &pool, Root *its_root) {
        pool.transaction([&] {
            pool.writing(its_root);
            its_root->shares = zeroed<Share>(pool, shares(options));
            its_root->blocks = zeroed<Block>(pool, Blocks);
            its_root->threads = options.threads;
        });
    }

    template <class T> typename Engine::template Ptr<T> zeroed(Engine &pool, uint64_t count) {
        auto memory = pool.template allocate<T>(count);
        pool.fresh(memory.get(), count);
        memset(static_cast<void *>(memory.get()), 0, count * sizeof(T));
        return memory;
    }

    Share &share(uint64_t thread) const {
        return thread < shares(options) ? root->shares.get()[thread] : *others[thread - 1].root->shares.get();
    }
    Engine &engineOf(uint64_t thread) { return thread < shares(options) ? engine : *others[thread - 1].engine; }

    Random randomOf(uint64_t thread, uint64_t round) const {
        return Random(splitmix64(options.seed ^ splitmix64(thread)) + round);
    }

    // Calls update(cell, value) for each update of a round. The updates of shared cells are in one block.
    template <class Update> void forEachUpdate(uint64_t thread, uint64_t round, Update &&update) const {
        Random random = randomOf(thread, round);
        uint64_t first = isShared() ? random.below(Blocks) * BlockCells : 0, count = isShared() ? BlockCells : Cells;
        for (uint64_t i = 0; i < options.batch; i++) {
            uint64_t cell = first + random.below(count);
            update(cell, random.next());
        }
    }
    uint64_t blockOf(uint64_t thread, uint64_t round) const { return randomOf(thread, round).below(Blocks); }

    void work(uint64_t thread) {
        for (uint64_t round = 0; round < options.rounds; round++) {
            isShared() ? commitShared(thread, round) : commitOwn(thread, round);
            if (thread == 0)
                progress->committed();
        }
    }

    void commitOwn(uint64_t thread, uint64_t round) {
        engineOf(thread).transaction([&] { change(engineOf(thread), thread, round, share(thread).cells); });
    }

    // If a transaction covers its own thread only, concurrent transactions must not have a word in common, so the lock
    // is held until the commit is done. Otherwise the lock covers the change only.
    void commitShared(uint64_t thread, uint64_t round) {
        uint64_t *cells = root->blocks.get()->cells;
        SpinLock &lock = locks[blockOf(thread, round)].lock;
        if constexpr (!Engine::CommitsAllThreads)
            lock.lock();
        engine.transaction([&] {
            if constexpr (Engine::CommitsAllThreads)
                lock.lock();
            change(engine, thread, round, cells);
            if constexpr (Engine::CommitsAllThreads)
                lock.unlock();
        });
        if constexpr (!Engine::CommitsAllThreads)
            lock.unlock();
    }

    void change(Engine &pool, uint64_t thread, uint64_t round, uint64_t *cells) {
        Share &mine = share(thread);
        forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) {
            pool.writing(&cells[cell]);
            cells[cell] = value;
        });
        pool.writing(&mine.rounds);
        mine.rounds++;
    }

    // Each cell must be as its thread's last round left it, or as a round leaves it that may be under way.
    std::string ownDifference() const {
        for (uint64_t thread = 0; thread < options.threads; thread++) {
            std::vector<uint64_t> before(Cells, 0);
            for (uint64_t round = 0; round < share(thread).rounds; round++)
                forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) { before[cell] = value; });
            std::vector<std::vector<uint64_t>> allowed(Cells);
            for (uint64_t cell = 0; cell < Cells; cell++)
                allowed[cell] = {before[cell]};
            allowUnderWay(thread, allowed);
            if (std::string found = otherThan(allowed, share(thread).cells); !found.empty())
                return "thread " + std::to_string(thread) + ": " + found;
        }
        return "";
    }

    // The order of two threads' updates is unknown, so each thread's last update of a cell is allowed.
    std::string sharedDifference() const {
        std::vector<std::vector<uint64_t>> allowed(Cells);
        for (uint64_t thread = 0; thread < options.threads; thread++) {
            std::vector<uint64_t> last(Cells, 0);
            for (uint64_t round = 0; round < share(thread).rounds; round++)
                forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) { last[cell] = value; });
            for (uint64_t cell = 0; cell < Cells; cell++)
                if (last[cell])
                    allowed[cell].push_back(last[cell]);
        }
        for (std::vector<uint64_t> &values : allowed)
            if (values.empty())
                values.push_back(0);
        for (uint64_t thread = 0; thread < options.threads; thread++)
            allowUnderWay(thread, allowed);
        return otherThan(allowed, root->blocks.get()->cells);
    }

    void allowUnderWay(uint64_t thread, std::vector<std::vector<uint64_t>> &allowed) const {
        uint64_t begin = share(thread).rounds, end = std::min(begin + RoundsUnderWay, options.rounds);
        for (uint64_t round = begin; round < end; round++)
            forEachUpdate(thread, round, [&](uint64_t cell, uint64_t value) { allowed[cell].push_back(value); });
    }

    static std::string otherThan(const std::vector<std::vector<uint64_t>> &allowed, const uint64_t *cells) {
        for (uint64_t cell = 0; cell < Cells; cell++)
            if (std::find(allowed[cell].begin(), allowed[cell].end(), cells[cell]) == allowed[cell].end())
                return "cell " + std::to_string(cell) + " is " + std::to_string(cells[cell]);
        return "";
    }

    Options options;
    Engine &engine;
    Root *root;
    std::vector<Other> others; // for Data::Files
    BlockLock locks[Blocks];
    Progress *progress = nullptr;
    std::unique_ptr<Crew> crew; // the last member: it is destroyed before the data that its threads use
};

} // namespace workloads
