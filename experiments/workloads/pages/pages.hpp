// SPDX-License-Identifier: BSD-3-Clause
//
// The workload pages: each transaction stores to a number of lines in each of a number of pages, and to nothing else.
// There is a phase for every pair of numbers, so that one run measures commits from one line in one page to all lines
// of a thousand pages. The first two transactions of a phase are not timed: an engine may still have work to do for the
// last ones of the phase before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.hpp"
#include "driver.hpp"
#include "options.hpp"
#include "random.hpp"
#include "report.hpp"

namespace workloads {

struct PagesOptions : Options {
    std::vector<uint64_t> pages = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, lines = {64};
    uint64_t data_pages = 4096, commits = 64, written_pages = 2048, think_us = 0;

    std::vector<Flag> flags() {
        return {
            {"pages", "N,...", "in each of which a transaction changes lines (default 1,2,4 and so on to 1024)",
             [this](const char *text) { pages = numbers("pages", text, 1, 1u << 16); }},
            {"lines", "N,...", "changed in each of these pages, up to 64 (default 64)",
             [this](const char *text) { lines = numbers("lines", text, 1, 64); }},
            {"data-pages", "N", "a power of two that all pages come from (default 4096)",
             [this](const char *text) { setDataPages(text); }},
            {"commits", "N", "of each phase, if these are not too many pages (default 64)",
             [this](const char *text) { commits = number("commits", text, 1, Many); }},
            {"written-pages", "N", "of a phase: fewer commits then, but at least 4 (default 2048)",
             [this](const char *text) { written_pages = number("written-pages", text, 1, Many); }},
            {"think", "US", "microseconds of sleep before each transaction (default 0)",
             [this](const char *text) { think_us = number("think", text, 0, 1'000'000); }},
        };
    }

    uint64_t commitsOf(uint64_t pages_each) const {
        return std::min(commits, std::max<uint64_t>(4, written_pages / pages_each));
    }

  private:
    void setDataPages(const char *text) {
        data_pages = number("data-pages", text, 1, 1u << 20);
        if (data_pages & (data_pages - 1))
            throw std::invalid_argument("--data-pages must be a power of two, not " + std::string(text));
    }

    static std::vector<uint64_t> numbers(const char *name, const char *text, uint64_t least, uint64_t most) {
        std::vector<uint64_t> found;
        std::string words = text;
        for (size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
            end = words.find(',', at);
            found.push_back(number(name, words.substr(at, end - at).c_str(), least, most));
        }
        return found;
    }
};

template <class Engine> class Pages {
  public:
    static constexpr const char *Name = "pages";
    using Options = PagesOptions;

    static size_t poolBytes(const Options &options) { return (options.data_pages + 1) * PageBytes + (8u << 20); }

    Pages(Engine &engine, const Options &options)
        : options(options), engine(engine), root(engine.template root<Root>()) {
        for (uint64_t pages : options.pages)
            if (pages > options.data_pages)
                throw std::invalid_argument("--pages must be at most --data-pages, not " + std::to_string(pages));
        for (uint64_t pages : options.pages)
            for (uint64_t lines : options.lines)
                works.push_back({pages, lines, options.commitsOf(pages)});
        if (root->data_pages == 0)
            create();
        if (root->data_pages != options.data_pages)
            throw std::runtime_error("the pool was made for " + std::to_string(root->data_pages) + " pages");
        for (uint64_t page = 0; page < options.data_pages; page++)
            for (const Line &line : data()[page].lines)
                committed = std::max(committed, line.words[0]);
    }

    // Sets all lines to zero, so that no later store is the first to a page.
    void load() {
        for (uint64_t page = 0; page < options.data_pages; page += LoadPages)
            engine.transaction([&] {
                uint64_t count = std::min(LoadPages, options.data_pages - page);
                engine.writing(data() + page, count);
                memset(static_cast<void *>(data() + page), 0, count * sizeof(Page));
            });
        committed = 0;
    }

    std::vector<Phase> phases() {
        std::vector<Phase> phases;
        for (const Work &work : works)
            phases.push_back({"commits", [this, &work](Progress &progress) { run(work, progress); }});
        return phases;
    }

    void describe(Report &report) const {
        uint64_t checksum = committed;
        for (uint64_t page = 0; page < options.data_pages; page++)
            for (const Line &line : data()[page].lines)
                checksum = splitmix64(checksum ^ line.words[0] ^ line.words[1]);
        report.add("pages", last->pages).add("lines", last->lines).add("transactions", last->commits);
        report.add("data_pages", options.data_pages)
            .add("think_us", options.think_us)
            .add("update_ns", update_ns)
            .add("longest_ns", longest_ns);
        report.addHex("checksum", checksum);
    }

    bool complete() const { return true; }
    // The newest transaction that any line belongs to.
    uint64_t commits() const { return committed; }

    std::string difference() const {
        std::vector<uint64_t> expected(options.data_pages * LinesPerPage, 0); // by line: the number of its transaction
        uint64_t n = 0;
        for (const Work &work : works)
            for (uint64_t i = 0; i < work.commits + Untimed && n < committed; i++, n++)
                forEachLine(work, n,
                            [&](uint64_t page, uint64_t line) { expected[page * LinesPerPage + line] = n + 1; });
        if (n < committed)
            return "the pool has seen more commits than the phases make";
        for (uint64_t i = 0; i < expected.size(); i++)
            for (uint64_t word = 0; word < WordsPerLine; word++)
                if (data()[i / LinesPerPage].lines[i % LinesPerPage].words[word] != wordOf(expected[i], word))
                    return "line " + std::to_string(i % LinesPerPage) + " of page " + std::to_string(i / LinesPerPage) +
                           " is not as its last transaction left it";
        return "";
    }

  private:
    static constexpr uint64_t PageBytes = 4096, LinesPerPage = 64, WordsPerLine = 8, LoadPages = 256, Untimed = 2;

    struct Line {
        uint64_t words[WordsPerLine];
    };
    struct Page {
        Line lines[LinesPerPage];
    };
    struct Root {
        uint64_t data_pages;
        typename Engine::template Ptr<char> memory;
        uint64_t begin; // offset of the first whole page in `memory`
    };
    struct Work {
        uint64_t pages, lines, commits;
    };

    Page *data() const { return reinterpret_cast<Page *>(root->memory.get() + root->begin); }

    void create() {
        engine.transaction([&] {
            auto memory = engine.template allocate<char>((options.data_pages + 1) * PageBytes);
            engine.writing(root);
            root->memory = memory;
            root->begin = -reinterpret_cast<uint64_t>(memory.get()) % PageBytes;
            root->data_pages = options.data_pages;
        });
    }

    // A word of a line of the n-th transaction, counted from 1; n = 0 is the state after load().
    uint64_t wordOf(uint64_t n, uint64_t word) const {
        return n == 0 || word == 0 ? n : splitmix64(options.seed ^ splitmix64(n)) + word;
    }

    // Visits the lines of the n-th transaction since the pool was made, counted from 0: pages far from each other, and
    // in each page lines as far apart as possible. No page occurs twice in one transaction.
    template <class Visit> void forEachLine(const Work &work, uint64_t n, Visit &&visit) const {
        constexpr uint64_t Scatter = 0x9e3779b97f4a7c15; // odd, so a bijection
        uint64_t begin = splitmix64(options.seed ^ splitmix64(n));
        for (uint64_t i = 0; i < work.pages; i++) {
            uint64_t page = (begin + i) * Scatter % options.data_pages, first = splitmix64(begin + i);
            for (uint64_t j = 0; j < work.lines; j++)
                visit(page, (first + j * LinesPerPage / work.lines) % LinesPerPage);
        }
    }

    void change(const Work &work) {
        forEachLine(work, committed, [this](uint64_t page, uint64_t line) {
            Line &changed = data()[page].lines[line];
            engine.writing(&changed);
            for (uint64_t word = 0; word < WordsPerLine; word++)
                changed.words[word] = wordOf(committed + 1, word);
        });
    }

    void run(const Work &work, Progress &progress) {
        last = &work;
        update_ns = longest_ns = 0;
        for (uint64_t i = 0; i < work.commits + Untimed; i++) {
            think();
            uint64_t begin_ns = nowNs();
            engine.transaction([&] { change(work); });
            uint64_t took_ns = nowNs() - begin_ns;
            committed++;
            if (i >= Untimed) {
                update_ns += took_ns;
                longest_ns = std::max(longest_ns, took_ns);
            }
            progress.committed();
        }
    }

    void think() const {
        if (options.think_us == 0)
            return;
        timespec time{static_cast<time_t>(options.think_us / 1'000'000),
                      static_cast<long>(options.think_us % 1'000'000 * 1000)};
        nanosleep(&time, nullptr);
    }

    Options options;
    Engine &engine;
    Root *root;
    std::vector<Work> works; // one for each phase
    const Work *last = nullptr;
    uint64_t committed = 0;
    uint64_t update_ns = 0, longest_ns = 0; // of the transactions of the last phase
};

} // namespace workloads
