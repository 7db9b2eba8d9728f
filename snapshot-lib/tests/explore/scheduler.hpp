// SPDX-License-Identifier: BSD-3-Clause
//
// Interleavings, one by one. Tasks are threads of this process or processes of their own; one runs at a time, and at
// each of its yield points (system calls, locks, persistence calls of the runtime) a schedule may let another go on.
// The same schedule gives the same run, so that the one that is printed with a failure replays it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

// At this yield point, counted over all tasks, the task goes on.
struct Switch {
    unsigned step, task;
};
using Schedule = std::vector<Switch>;

std::string describe(const Schedule &schedule);
Schedule parseSchedule(const std::string &text); // as describe() prints it

struct Run {
    struct Step {
        uint8_t task, unfinished; // the tasks at the yield point; a bit for each task
    };
    std::vector<Step> steps;
    std::vector<int> signals; // by process: the signal that ended it, or 0
    bool deadlock = false;
};

constexpr unsigned TasksMax = 3;
constexpr unsigned NeverKill = ~0u;
using Tasks = std::vector<std::function<void()>>;

// A yield point of the task itself.
void yieldPoint();

// Within a task: let the others go on, as one does that waits for them.
void letOthersRun();

// Loads and stores of the runtime in this memory are yield points too, where it was compiled to report them.
void watchMemory(bool every);

Run runThreads(const Tasks &tasks, const Schedule &schedule);

// `kill_step`: the process at this yield point is killed. All stay until each has finished, then they end at once, as
// by a crash.
Run runProcesses(const Tasks &tasks, const Schedule &schedule, unsigned kill_step = NeverKill);

// Calls `run` for every schedule of at most so many switches that no lock forces. Returns how many.
uint64_t everySchedule(unsigned switches_max, const std::function<Run(const Schedule &)> &run);

// The same for so many schedules of three to six switches.
uint64_t sampleSchedules(uint64_t count, uint64_t seed, const std::function<Run(const Schedule &)> &run);
