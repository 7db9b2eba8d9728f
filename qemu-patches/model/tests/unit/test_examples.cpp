// SPDX-License-Identifier: GPL-2.0-or-later
// Runs the examples of the pages in docs/explanation/: the model's results must equal the results on the page.
//
// A block of a page that begins with "```model NAME" is an example. Its lines are run in order:
//
//     with store_buffer=2 overlap=all    a new machine: the page's machine with these parameters
//     store line 1 -> 0 ns               the CPU's wait; "line 1-4": the sum for all these lines
//     state line 1 at 5us -> DURABLE     the location of the newest bytes, at a time or now
//     wait 5us                           the CPU computes
//     # ...                              a remark, also behind a result
//
// A place is "line N" or "page N" (its first line) of the device, or "dram N", a line of local DRAM.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../rigs/rig.h"

extern "C" {
#include "config/param_text.h"
}

namespace {

using std::string;

// The pages must have exactly one example of each of these mechanisms, and no others.
const std::set<string> kMechanisms = {
    "barrier",    "buffers",     "caches",    "channels",    "cleaning",
    "fences",     "gpf",         "link",      "loads",       "locked",
    "merges",     "no-fetch",    "outside",   "policies",    "power",
    "prefetcher", "pages-ahead", "refresh",   "serialise",   "stores",
    "streams",    "suspend",     "coherence", "joins",       "flushes-of-others",
    "versions",   "wc-buffers",  "write-log", "write-queue", "write-through",
    "latencies",  "read-errors", "drains",
};

struct Step {
    string place;     // page and line number
    string statement; // without result and remark
    string result;    // empty: no result
};

struct Example {
    string name;
    std::vector<Step> steps;
};

struct NotUnderstood : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// ---- The page ----

string trimmed(const string &text) {
    size_t first = text.find_first_not_of(' ');
    return first == string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Step step_of(const string &text, const string &place) {
    string said = text.substr(0, text.find('#'));
    size_t arrow = said.find("->");
    return {place, trimmed(said.substr(0, arrow)), arrow == string::npos ? "" : trimmed(said.substr(arrow + 2))};
}

// Add a line of an example. An indented line continues the line before it.
void add_step(std::vector<Step> &steps, const string &text, const string &place) {
    Step step = step_of(text, place);
    if (!steps.empty() && text.starts_with(" ")) {
        steps.back().statement += " " + step.statement;
    } else if (!step.statement.empty()) {
        steps.push_back(step);
    }
}

std::vector<Example> examples_of(std::istream &page, const string &name) {
    const string begin = "```model ";
    std::vector<Example> found;
    bool within = false;
    size_t number = 0;

    for (string text; std::getline(page, text);) {
        number++;
        if (!within && text.starts_with(begin)) {
            found.push_back({text.substr(begin.size()), {}});
            within = true;
        } else if (within && text.starts_with("```")) {
            within = false;
        } else if (within) {
            add_step(found.back().steps, text, name + ":" + std::to_string(number));
        }
    }
    return found;
}

// ---- Values as text ----

uint64_t number_of(const string &text) {
    uint64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw NotUnderstood("'" + text + "' is no number");
    }
    return value;
}

mem_ps time_of(const string &text) {
    static const MemParam *any_time = mem_param_named(&mem_device_params, "flash_read");
    uint64_t value = 0;
    const char *fault = mem_param_parse(any_time, text.c_str(), &value);
    if (fault) {
        throw NotUnderstood("'" + text + "' " + fault);
    }
    return value;
}

// In nanoseconds below one microsecond, else in microseconds, without trailing zeros.
string text_of(mem_ps ps) {
    bool micro = ps >= kUs;
    char text[64];
    std::snprintf(text, sizeof(text), micro ? "%.6f" : "%.3f", double(ps) / double(micro ? kUs : kNs));
    string said = text;
    said.erase(said.find_last_not_of('0') + 1);
    if (said.back() == '.') {
        said.pop_back();
    }
    return said + (micro ? " us" : " ns");
}

// ---- The machine ----

// Set parameters that the rig leaves at 0 to their defaults, except the limits of the core, where 0 means no limit.
void fill_in(const MemParamTable &table, void *config) {
    const std::set<string> unlimited = {"fill-buffers", "store-buffer", "prefetch-buffers", "l2-requests"};
    for (size_t i = 0; i < table.count; i++) {
        const MemParam *param = &table.params[i];
        if (mem_param_get(param, config) == 0 && !unlimited.contains(param->name)) {
            EXPECT_EQ(mem_param_set(param, config, param->initial), nullptr);
        }
    }
}

// Set NAME=VALUE in the configuration that has the parameter.
void configure(MemCpuConfig &cpu, MemDeviceConfig &device, const string &setting) {
    string name = setting.substr(0, setting.find('='));
    for (auto [table, config] :
         {std::pair<const MemParamTable *, void *>{&mem_cpu_params, &cpu}, {&mem_device_params, &device}}) {
        const MemParam *param = mem_param_named(table, name.c_str());
        uint64_t value = 0;
        if (param && setting.size() > name.size()) {
            const char *fault = mem_param_parse(param, setting.c_str() + name.size() + 1, &value);
            fault = fault ? fault : mem_param_set(param, config, value);
            if (!fault) {
                return;
            }
            throw NotUnderstood(setting + ": " + fault);
        }
    }
    throw NotUnderstood("'" + setting + "' sets no parameter");
}

class Machine {
  public:
    Machine() { build({}); }

    // The model's result of a statement; empty for statements without a result.
    string answer(const string &statement) {
        std::istringstream in(statement);
        std::vector<string> words{std::istream_iterator<string>(in), {}};
        string verb = words.front();
        words.erase(words.begin());
        auto known = verbs.find(verb);
        if (known == verbs.end()) {
            throw NotUnderstood("'" + verb + "' is nothing that can be done");
        }
        return known->second(words);
    }

  private:
    using Words = std::vector<string>;
    using Access = std::function<mem_ps(uint64_t hpa)>;

    string build(const Words &settings) {
        MemCpuConfig cpu = small_cpu();
        MemDeviceConfig device = small_device(true);

        fill_in(mem_cpu_params, &cpu);
        fill_in(mem_device_params, &device);
        for (const string &setting : settings) {
            configure(cpu, device, setting);
        }
        const char *fault = memsys_check_cpu(&cpu);
        fault = fault ? fault : memsys_check_device(&device);
        if (fault) {
            throw NotUnderstood(fault);
        }
        core = 0;
        r = std::make_unique<Rig>(cpu, device);
        return "";
    }

    string waits(mem_ps stall) {
        r->now += stall;
        return text_of(stall);
    }

    // Run `access` on each line named by "line 1-4", "page 2" or "dram 3". Returns the sum of the stalls.
    string each(const Words &place, const Access &access) {
        if (place.size() != 2) {
            throw NotUnderstood("a place is line N, page N or dram N");
        }
        size_t dash = place[1].find('-');
        uint64_t first = number_of(place[1].substr(0, dash));
        uint64_t last = dash == string::npos ? first : number_of(place[1].substr(dash + 1));
        uint64_t base = place[0] == "dram" ? 0 : kWindow;
        uint64_t pitch = place[0] == "page" ? r->device.cache_page_bytes : kLine;
        mem_ps sum = 0;

        if (place[0] != "dram" && place[0] != "page" && place[0] != "line") {
            throw NotUnderstood("'" + place[0] + "' is no place");
        }
        for (uint64_t i = first; i <= last; i++) {
            mem_ps stall = access(base + i * pitch);
            r->now += stall;
            sum += stall;
        }
        return text_of(sum);
    }

    // Write other bytes with each store.
    void change(uint64_t hpa, uint64_t size_bytes) {
        if (hpa >= kWindow) {
            std::memset(&r->media[hpa - kWindow], ++newest, size_bytes);
        }
    }

    string store(const Words &place) {
        return each(place, [this](uint64_t hpa) {
            mem_ps stall = memsys_store(r->m, core, hpa, r->now, &r->slot);
            change(hpa, kLine);
            return stall;
        });
    }

    // "ntstore line 3 8" stores 8 bytes; without a size, a whole line.
    string nt_store(Words place) {
        uint64_t size_bytes = place.size() > 2 ? number_of(place[2]) : kLine;
        place.resize(2);
        return each(place, [this, size_bytes](uint64_t hpa) {
            mem_ps stall = memsys_nt_store(r->m, core, hpa, uint32_t(size_bytes), r->now);
            change(hpa, size_bytes);
            return stall;
        });
    }

    string flush(const Words &place, MemFlushKind kind) {
        return each(place, [this, kind](uint64_t hpa) { return memsys_flush(r->m, core, hpa, kind, r->now); });
    }

    string state(const Words &words) {
        static const char *const names[] = {"DURABLE", "CPU_DIRTY", "IN_FLIGHT", "DEVICE_CACHE", "PROGRAMMING"};
        bool then = words.size() == 4 && words[2] == "at";
        if (words.size() != 2 && !then) {
            throw NotUnderstood("state line N, or state line N at TIME");
        }
        mem_ps at_ps = then ? time_of(words[3]) : r->now;
        string said;
        each({words[0], words[1]}, [&](uint64_t hpa) {
            said = names[r->state_at(hpa - kWindow, at_ps)];
            return mem_ps(0);
        });
        return said;
    }

    string count(const Words &words) {
        MemCounters c = r->counters();
        const std::map<string, uint64_t> by_name = {
#define X(field, what) {#field, c.field},
            MEM_COUNTERS(X) MEM_COHERENCE_COUNTERS(X) MEM_ERROR_COUNTERS(X)
#undef X
        };
        auto found = words.size() == 1 ? by_name.find(words[0]) : by_name.end();
        if (found == by_name.end()) {
            throw NotUnderstood("no such counter");
        }
        return words[0].ends_with("_ps") ? text_of(found->second) : std::to_string(found->second);
    }

    string cut() {
        MemPowerCut done = memsys_power_cut(r->m, r->now);
        string said = std::to_string(done.lines_lost) + " lost, " + std::to_string(done.lines_kept) + " kept";
        said += done.energy_used_nj ? ", " + std::to_string(done.energy_used_nj) + " nJ" : "";
        return said + (done.dirty_shutdown ? ", dirty shutdown" : "");
    }

    string wait(const Words &words) {
        r->now += time_of(words.empty() ? "" : words[0]);
        return "";
    }

    // Switch to another core for the following statements; "core 1 at 0ns" also sets the time.
    string use_core(const Words &words) {
        bool then = words.size() == 3 && words[1] == "at";
        if (words.size() != 1 && !then) {
            throw NotUnderstood("core N, or core N at TIME");
        }
        uint64_t number = number_of(words[0]);
        if (number >= r->cpu.cores) {
            throw NotUnderstood("there is no such core");
        }
        core = uint32_t(number);
        r->now = then ? time_of(words[2]) : r->now;
        return "";
    }

    string region(const Words &words) {
        memsys_set_timed(r->m, !words.empty() && words[0] == "begins");
        return "";
    }

    std::unique_ptr<Rig> r;
    uint8_t newest = 0;
    uint32_t core = 0;
    const std::map<string, std::function<string(const Words &)>> verbs = {
        {"with", [this](const Words &w) { return build(w); }},
        {"load",
         [this](const Words &w) {
             return each(w, [this](uint64_t a) { return memsys_load(r->m, core, a, r->now, &r->slot); });
         }},
        {"store", [this](const Words &w) { return store(w); }},
        {"locked", // the load of a locked instruction
         [this](const Words &w) {
             return each(w, [this](uint64_t a) { return memsys_locked(r->m, core, a, false, r->now, &r->slot); });
         }},
        {"ntstore", [this](const Words &w) { return nt_store(w); }},
        {"clwb", [this](const Words &w) { return flush(w, MEM_CLWB); }},
        {"clflushopt", [this](const Words &w) { return flush(w, MEM_CLFLUSHOPT); }},
        {"clflush", [this](const Words &w) { return flush(w, MEM_CLFLUSH); }},
        {"sfence", [this](const Words &) { return waits(memsys_fence(r->m, core, MEM_SFENCE, r->now)); }},
        {"lfence", [this](const Words &) { return waits(memsys_fence(r->m, core, MEM_LFENCE, r->now)); }},
        {"mfence", [this](const Words &) { return waits(memsys_fence(r->m, core, MEM_MFENCE, r->now)); }},
        {"cpuid", [this](const Words &) { return waits(memsys_instruction(r->m, core, MEM_INSN_CPUID, r->now)); }},
        {"pm_wbarrier", [this](const Words &) { return waits(memsys_barrier(r->m, core, r->now)); }},
        {"core", [this](const Words &w) { return use_core(w); }},
        {"wait", [this](const Words &w) { return wait(w); }},
        {"time", [this](const Words &) { return text_of(r->now); }},
        {"state", [this](const Words &w) { return state(w); }},
        {"count", [this](const Words &w) { return count(w); }},
        {"cut", [this](const Words &) { return cut(); }},
        {"region", [this](const Words &w) { return region(w); }},
    };
};

// ---- The comparison ----

string fault_of(Machine &machine, const Step &step) {
    string answer;
    try {
        answer = machine.answer(step.statement);
    } catch (const NotUnderstood &error) {
        answer = error.what();
    }
    if (answer == step.result) {
        return "";
    }
    return step.place + ": " + step.statement + " -> " + step.result + ", but the model says: " + answer;
}

std::vector<string> faults_of(const Example &example) {
    Machine machine;
    std::vector<string> faults;
    for (const Step &step : example.steps) {
        string fault = fault_of(machine, step);
        if (!fault.empty()) {
            faults.push_back(fault);
        }
    }
    return faults;
}

std::vector<Example> pages() {
    std::set<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::directory_iterator(MODEL_PAGES)) {
        paths.insert(entry.path());
    }
    std::vector<Example> found;
    for (const auto &path : paths) {
        std::ifstream file(path);
        EXPECT_TRUE(file) << path;
        std::vector<Example> more = examples_of(file, path.filename());
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

std::vector<string> faults_of_text(const string &text) {
    std::istringstream in("```model x\n" + text + "\n```\n");
    return faults_of(examples_of(in, "page").at(0));
}

} // namespace

TEST(Examples, TheModelSaysWhatThePageSays) {
    size_t steps = 0;
    for (const Example &example : pages()) {
        for (const string &fault : faults_of(example)) {
            ADD_FAILURE() << fault;
        }
        steps += example.steps.size();
    }
    std::printf("%zu examples, %zu steps\n", pages().size(), steps);
}

TEST(Examples, EachMechanismHasOne) {
    std::multiset<string> names;
    for (const Example &example : pages()) {
        names.insert(example.name);
    }
    EXPECT_EQ(names, std::multiset<string>(kMechanisms.begin(), kMechanisms.end()));
}

TEST(Examples, EachResultOfThePageIsCompared) {
    for (Example example : pages()) {
        for (Step &step : example.steps) {
            string right = step.result;
            step.result = right.empty() ? "1 ns" : "1" + right;
            EXPECT_EQ(faults_of(example).size(), 1u) << step.place << ": " << step.statement;
            step.result = right;
        }
    }
}

TEST(Examples, AWrongOrMissingResultIsAFault) {
    EXPECT_EQ(faults_of_text("load dram 1 -> 104 ns # 20 + 4 + 80"), std::vector<string>());
    EXPECT_EQ(faults_of_text("load dram 1 -> 105 ns"),
              std::vector<string>{"page:2: load dram 1 -> 105 ns, but the model says: 104 ns"});
    EXPECT_EQ(faults_of_text("load dram 1").size(), 1u);
    EXPECT_EQ(faults_of_text("wait 5us -> 5 us").size(), 1u);
}

TEST(Examples, WhatIsNotUnderstoodIsAFault) {
    for (const char *text : {"lod dram 1", "load", "load ram 1", "load line x", "load line 1-", "with store_buffr=2",
                             "with store_buffer=many", "with l2_size=3", "count nothing", "wait", "wait soon",
                             "state line 1 when", "core 1", "core", "core 0 now", "ntstore line 1 x"}) {
        EXPECT_EQ(faults_of_text(text).size(), 1u) << text;
    }
}
