// SPDX-License-Identifier: GPL-2.0-or-later
// Every crash state of short programs. Power is cut at each transition of a line, just before it and between all
// calls, in each persistence domain, and the surviving bytes must be allowed by a few simple rules. Of times, the rules
// know only which instructions had ended at the cut, and on which of two cores. A store writes a whole line, in two
// halves that identify the stores that the line contains.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "../rigs/rig.h"

namespace {

constexpr mem_ps kGap = kNs;        // between instructions, so that no two start at the same time
constexpr mem_ps kWait = 400 * kUs; // longer than the reads and programs of all pages together
constexpr uint32_t kMaxLines = 4;

enum class Kind { Store, Flush, Nt, HalfNt, Fence, Evict, Wait };
struct Op {
    Kind kind;
    uint32_t line;
    uint32_t core = 0;
};
using Program = std::vector<Op>;
using Content = std::pair<uint8_t, uint8_t>; // the halves of a line
using Image = std::vector<Content>;

struct Cut {
    MemDomain domain;
    MemCutLines lines;
    uint64_t energy_uj, line_nj, page_nj;
};

const Cut kCuts[] = {
    {MEM_DOMAIN_NONE, MEM_CUT_LOST, 0, 0, 0},   {MEM_DOMAIN_NONE, MEM_CUT_KEPT, 0, 0, 0},
    {MEM_DOMAIN_NONE, MEM_CUT_SEEDED, 0, 0, 0}, {MEM_DOMAIN_ADR, MEM_CUT_LOST, 0, 0, 0},
    {MEM_DOMAIN_ADR, MEM_CUT_KEPT, 0, 0, 0},    {MEM_DOMAIN_ADR, MEM_CUT_SEEDED, 0, 0, 0},
    {MEM_DOMAIN_EADR, MEM_CUT_LOST, 0, 0, 0},   {MEM_DOMAIN_GPF, MEM_CUT_LOST, 100, 50, 700},
    {MEM_DOMAIN_GPF, MEM_CUT_LOST, 1, 1000, 0}, // one line
    {MEM_DOMAIN_GPF, MEM_CUT_LOST, 1, 0, 1000}, // one page
};

// Lines 0 and 1 share a page, 2 and 3 another; the device cache holds two pages.
uint64_t dpa_of(uint32_t line) { return line / 2 * 4096 + line % 2 * 64; }

MemDeviceConfig device_of(const Cut &cut, bool cache_protected, uint64_t seed) {
    MemDeviceConfig d = small_device(cache_protected);
    d.capacity_bytes = 32 * 4096; // small, since the test creates many machines
    d.cache_size_bytes = 2 * 4096;
    d.persist_domain = cut.domain;
    d.cut_lines = cut.lines;
    d.cut_seed = seed;
    d.gpf_energy_uj = cut.energy_uj;
    d.gpf_line_nj = cut.line_nj;
    d.gpf_page_nj = cut.page_nj;
    return d;
}

// ---- The program on the model ----

// Start and end of an instruction.
struct Span {
    mem_ps start, end;
};

MemCpuConfig cpu_of(uint32_t cores) {
    MemCpuConfig cpu = small_cpu();
    cpu.cores = cores;
    cpu.c2c_ps = 50 * kNs;
    cpu.upgrade_ps = 40 * kNs;
    return cpu;
}

class Machine {
  public:
    Machine(const MemDeviceConfig &device, uint32_t cores) : rig_(cpu_of(cores), device) {
        memsys_set_timed(rig_.m, false);
        rig_.load(kWindow + 4096 + 256);
        rig_.load(kWindow + 256); // the device caches both pages; the CPU caches no line of the program
        memsys_set_timed(rig_.m, true);
        rig_.now = kUs;
    }
    // Run the `number`-th instruction, counted from 1. It writes its number as the value.
    Span run(const Op &op, uint8_t number) {
        rig_.now += kGap;
        rig_.core = op.core;
        Span span = {rig_.now, 0};
        uint64_t dpa = dpa_of(op.line);
        switch (op.kind) {
        case Kind::Store:
            rig_.store(dpa, number);
            break;
        case Kind::Flush:
            rig_.flush(dpa, MemFlushKind(number % 3));
            break;
        case Kind::Nt:
            rig_.nt_store(dpa, number);
            break;
        case Kind::HalfNt:
            rig_.nt_store(dpa, number, 32);
            break;
        case Kind::Fence:
            rig_.fence();
            break;
        case Kind::Evict:
            rig_.load(kWindow + (evict_ += 4096));
            rig_.load(kWindow + (evict_ += 4096));
            break;
        case Kind::Wait:
            rig_.now += kWait;
            break;
        }
        span.end = rig_.now;
        return span;
    }
    const std::vector<Transition> &transitions() {
        rig_.now += kWait;
        rig_.fence(); // reports the transitions until then
        return rig_.transitions;
    }
    Image cut(mem_ps at, uint32_t lines) {
        memsys_power_cut(rig_.m, at);
        EXPECT_EQ(memsys_check_invariants(rig_.m), nullptr);
        Image image;
        for (uint32_t line = 0; line < lines; line++) {
            const uint8_t *bytes = &rig_.media[dpa_of(line)];
            EXPECT_EQ(std::count(bytes, bytes + 32, bytes[0]), 32) << "torn";
            EXPECT_EQ(std::count(bytes + 32, bytes + 64, bytes[32]), 32) << "torn";
            image.emplace_back(bytes[0], bytes[32]);
        }
        return image;
    }

  private:
    Rig rig_;
    uint64_t evict_ = 4096;
};

// ---- The allowed contents ----

class Rules {
  public:
    explicit Rules(uint32_t lines) : lines_(lines) {}

    // An instruction has started; `over`: it had ended by the cut.
    void add(const Op &op, uint8_t number, bool over) {
        Line &l = lines_[op.line];
        switch (op.kind) {
        case Kind::Store:
            leave_if(l, l.in_wc, l.wc_core);
            l.content = {number, number};
            l.dirty = true;
            break;
        case Kind::Flush:
            leave_if(l, l.dirty, l.in_wc ? l.wc_core : op.core);
            l.sent[op.core] = l.last(); // a flush of a clean line waits for any core's write-back
            break;
        case Kind::Nt:
        case Kind::HalfNt:
            leave_if(l, l.dirty && (!l.in_wc || l.wc_core != op.core), l.in_wc ? l.wc_core : op.core);
            l.content = {number, op.kind == Kind::Nt ? number : l.content.second};
            l.dirty = l.in_wc = true;
            l.wc_core = op.core;
            leave_if(l, op.kind == Kind::Nt, op.core);
            break;
        case Kind::Fence:
            for (Line &other : lines_) {
                leave_if(other, other.in_wc && other.wc_core == op.core, op.core);
                other.fenced = over ? std::max(other.fenced, other.sent[op.core]) : other.fenced;
            }
            break;
        case Kind::Evict:
            for (Line &other : lines_) {
                other.programming = other.fenced;
                other.saved_at_most = other.last();
            }
            evicted_ = true;
            break;
        case Kind::Wait:
            for (Line &other : lines_) {
                other.saved = over ? other.programming : other.saved;
            }
        }
    }

    // The contents that each line may have after a cut.
    std::vector<std::set<Content>> allowed(const Cut &cut, bool cache_protected) const {
        std::vector<std::set<Content>> all;
        uint64_t moved = 0, page = UINT64_MAX, pages = 0;
        for (uint32_t i = 0; i < lines_.size(); i++) {
            const Line &l = lines_[i];
            if (cut.domain == MEM_DOMAIN_GPF) {
                bool moves = l.dirty && (moved + 1) * cut.line_nj <= cut.energy_uj * 1000;
                bool arrives = moves || l.last() > 0;
                moved += moves;
                pages += arrives && page != dpa_of(i) / 4096;
                page = arrives ? dpa_of(i) / 4096 : page;
                bool saved = cache_protected || pages * cut.page_nj + moved * cut.line_nj <= cut.energy_uj * 1000;
                const Content &top = moves ? l.content : l.left.back();
                all.push_back(saved ? std::set{top} : l.range(l.saved, l.saved_at_most));
                if (evicted_) {
                    all.back().insert(top); // fewer pages than counted may have needed a program
                }
            } else if (!cache_protected) {
                all.push_back(l.range(l.saved, l.saved_at_most));
            } else {
                all.push_back(allowed_by_protected_cache(l, cut));
            }
        }
        return all;
    }

  private:
    struct Line {
        Content content = {0, 0};
        std::vector<Content> left = {{0, 0}}; // contents that left the CPU, oldest first, after the initial one
        bool dirty = false, in_wc = false;
        uint32_t wc_core = 0;
        size_t sent[2] = {};                                              // covered by each core's next fence
        size_t fenced = 0, programming = 0, saved = 0, saved_at_most = 0; // in `left`
        size_t last() const { return left.size() - 1; }
        std::set<Content> range(size_t from, size_t to) const {
            return {left.begin() + int64_t(from), left.begin() + int64_t(to) + 1};
        }
    };

    static void leave_if(Line &l, bool leaves, uint32_t core) {
        if (leaves) {
            l.left.push_back(l.content);
            l.sent[core] = l.last();
            l.dirty = l.in_wc = false;
        }
    }
    static std::set<Content> allowed_by_protected_cache(const Line &l, const Cut &cut) {
        if (l.dirty && (cut.domain == MEM_DOMAIN_EADR || cut.lines == MEM_CUT_KEPT)) {
            return {l.content};
        }
        auto set = l.range(cut.domain == MEM_DOMAIN_NONE ? l.fenced : l.last(), l.last());
        if (l.dirty && cut.lines == MEM_CUT_SEEDED) {
            set.insert(l.content);
        }
        return set;
    }

    std::vector<Line> lines_;
    bool evicted_ = false;
};

// ---- The explorer ----

std::string text_of(const Program &program) {
    std::string text;
    for (const Op &op : program) {
        text += "SCNHFEW"[int(op.kind)];
        text += op.kind < Kind::Fence ? std::to_string(op.line) : "";
        text += op.core ? "' " : " ";
    }
    return text;
}

struct Explored {
    uint64_t programs = 0, cuts = 0;
    std::set<std::pair<bool, Image>> images;
    uint64_t seeded_kept = 0, seeded_lost = 0;
};

class Explorer {
  public:
    Explorer(uint32_t lines, Explored &explored, uint32_t cores = 1)
        : lines_(lines), explored_(explored), cores_(cores) {}

    // `keep`: explore one of every `keep` cuts.
    void explore(const Program &program, bool cache_protected, uint32_t keep = 1) {
        std::vector<Span> spans;
        std::vector<mem_ps> times = cut_times(program, cache_protected, &spans);
        explored_.programs++;
        for (mem_ps at : times) {
            for (const Cut &cut : kCuts) {
                if (skipped_++ % keep == 0) {
                    explore_cut(program, spans, cut, cache_protected, at);
                }
            }
        }
    }

  private:
    std::vector<mem_ps> cut_times(const Program &program, bool cache_protected, std::vector<Span> *spans) {
        std::set<mem_ps> times;
        Machine machine(device_of(kCuts[0], cache_protected, 0), cores_);
        for (uint8_t i = 0; i < program.size(); i++) {
            spans->push_back(machine.run(program[i], uint8_t(i + 1)));
            times.insert({spans->back().start, spans->back().end});
        }
        for (const Transition &t : machine.transitions()) {
            if (t.at_ps >= spans->front().start) {
                times.insert({t.at_ps, t.at_ps - 1});
            }
        }
        times.erase(times.begin(), times.lower_bound(spans->front().start));
        return {times.begin(), times.end()};
    }
    void explore_cut(const Program &program, const std::vector<Span> &spans, const Cut &cut, bool cache_protected,
                     mem_ps at) {
        Machine machine(device_of(cut, cache_protected, explored_.cuts), cores_);
        Rules rules(lines_);
        for (uint8_t i = 0; i < program.size() && spans[i].start <= at; i++) {
            Span span = machine.run(program[i], uint8_t(i + 1));
            ASSERT_EQ(span.start, spans[i].start);
            rules.add(program[i], uint8_t(i + 1), span.end <= at);
        }
        Image image = machine.cut(at, lines_);
        auto allowed = rules.allowed(cut, cache_protected);
        for (uint32_t line = 0; line < lines_; line++) {
            ASSERT_TRUE(allowed[line].count(image[line]))
                << text_of(program) << "cut at " << at << ", domain " << cut.domain << ", lines " << cut.lines
                << ", protected " << cache_protected << ", seed " << explored_.cuts << ": line " << line << " is "
                << int(image[line].first) << "/" << int(image[line].second);
            if (cut.lines == MEM_CUT_SEEDED && allowed[line].size() > 1) {
                (image[line] == *allowed[line].rbegin() ? explored_.seeded_kept : explored_.seeded_lost)++;
            }
        }
        explored_.cuts++;
        explored_.images.insert({cache_protected, image});
    }

    uint32_t lines_;
    Explored &explored_;
    uint32_t cores_;
    uint64_t skipped_ = 0;
};

// Every program of `length` of these instructions that starts with a store of core 0 to line 0. Programs that start
// with another line or core are equivalent after renaming.
void for_each_program(const std::vector<Op> &letters, size_t length, const std::function<void(const Program &)> &act) {
    std::function<void(Program &)> extend = [&](Program &program) {
        if (program.size() == length) {
            return act(program);
        }
        for (const Op &op : letters) {
            bool starts = op.line == 0 && op.core == 0 && (op.kind == Kind::Store || op.kind == Kind::HalfNt);
            if (program.empty() && !starts) {
                continue;
            }
            program.push_back(op);
            extend(program);
            program.pop_back();
        }
    };
    Program program;
    extend(program);
}

std::vector<Op> letters_of(uint32_t lines, const std::vector<Kind> &kinds, uint32_t cores = 1) {
    std::vector<Op> letters;
    for (Kind kind : kinds) {
        for (uint32_t line = 0; line < (kind < Kind::Fence ? lines : 1); line++) {
            for (uint32_t core = 0; core < cores; core++) {
                letters.push_back({kind, line, core});
            }
        }
    }
    return letters;
}

void print(const char *what, const Explored &e) {
    std::printf("%s: %llu programs, %llu cuts, %zu different images; seeded lines kept %llu, lost %llu\n", what,
                (unsigned long long)e.programs, (unsigned long long)e.cuts, e.images.size(),
                (unsigned long long)e.seeded_kept, (unsigned long long)e.seeded_lost);
}

// Explore all programs of these instructions until a check fails.
Explored explore_all(const std::vector<Op> &letters, uint32_t lines, size_t length, std::vector<bool> protections,
                     uint32_t cores = 1) {
    Explored explored;
    Explorer explorer(lines, explored, cores);
    for_each_program(letters, length, [&](const Program &program) {
        for (bool cache_protected : protections) {
            if (!testing::Test::HasFailure()) {
                explorer.explore(program, cache_protected);
            }
        }
    });
    return explored;
}

} // namespace

TEST(CrashStates, TwoLines) {
    auto letters = letters_of(2, {Kind::Store, Kind::Flush, Kind::Nt, Kind::HalfNt, Kind::Fence});
    Explored e = explore_all(letters, 2, 4, {true, false});
    print("two lines", e);
    EXPECT_GT(e.images.size(), 50u);
    EXPECT_GT(e.seeded_kept, 0u);
    EXPECT_GT(e.seeded_lost, 0u);
}

TEST(CrashStates, FourLinesOnTwoPages) {
    auto letters = letters_of(4, {Kind::Store, Kind::Flush, Kind::HalfNt, Kind::Fence});
    Explored e = explore_all(letters, 4, 3, {true, false});
    print("four lines", e);
    EXPECT_GT(e.images.size(), 50u);
}

TEST(CrashStates, ProgramsOfEvictedPages) {
    auto letters = letters_of(2, {Kind::Store, Kind::Flush, Kind::Fence, Kind::Evict, Kind::Wait});
    Explored e = explore_all(letters, 2, 5, {false});
    print("evicted pages", e);
    EXPECT_GT(e.images.size(), 5u);
}

// Either core may run each instruction.
TEST(CrashStates, TwoLinesOfTwoCores) {
    auto letters = letters_of(2, {Kind::Store, Kind::Flush, Kind::HalfNt, Kind::Fence}, 2);
    Explored e = explore_all(letters, 2, 3, {true, false}, 2);
    print("two cores", e);
    EXPECT_GT(e.images.size(), 20u);
}

TEST(CrashStates, OneLineOfTwoCores) {
    auto letters = letters_of(1, {Kind::Store, Kind::Flush, Kind::Nt, Kind::HalfNt, Kind::Fence}, 2);
    Explored e = explore_all(letters, 1, 4, {true, false}, 2);
    print("one line of two cores", e);
    EXPECT_GT(e.images.size(), 10u);
}

// Programs of 40 instructions, including evictions and waits. Fences are drawn twice as often.
static void explore_long(const char *what, uint32_t cores, uint64_t seed) {
    std::mt19937_64 random(seed);
    Explored e;
    Explorer explorer(kMaxLines, e, cores);
    auto letters = letters_of(kMaxLines, {Kind::Store, Kind::Flush, Kind::Nt, Kind::HalfNt, Kind::Fence}, cores);
    for (uint32_t core = 0; core < cores; core++) {
        letters.push_back({Kind::Fence, 0, core});
    }
    letters.insert(letters.end(), {{Kind::Evict, 0}, {Kind::Wait, 0}});
    for (int i = 0; i < 60 && !testing::Test::HasFailure(); i++) {
        Program program;
        for (int op = 0; op < 40; op++) {
            program.push_back(letters[random() % letters.size()]);
        }
        explorer.explore(program, random() % 2 == 0, 17);
    }
    std::printf("seed %llu, ", (unsigned long long)seed);
    print(what, e);
    EXPECT_GT(e.images.size(), 200u);
}

TEST(CrashStates, LongSeededPrograms) { explore_long("long programs", 1, 20231106); }

TEST(CrashStates, LongSeededProgramsOfTwoCores) { explore_long("long programs of two cores", 2, 20261125); }
