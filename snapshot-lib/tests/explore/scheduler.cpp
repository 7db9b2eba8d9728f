// SPDX-License-Identifier: BSD-3-Clause
#include "scheduler.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <random>
#include <sched.h>
#include <semaphore.h>
#include <sstream>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

static constexpr unsigned StepsMax = 1 << 16;
static constexpr unsigned SwitchesMax = 8;
static constexpr unsigned StepsAlone = 20000; // a task that spins lets another go on

// Seen by all processes.
struct Shared {
    unsigned task_count, step, alone, kill_step;
    unsigned switch_count, switch_next;
    Switch switches[SwitchesMax];
    unsigned unfinished; // a bit for each task
    unsigned blocked;    // tasks that found a lock taken since one last got on
    bool deadlock;
    Run::Step steps[StepsMax];
    sem_t go[TasksMax], end[TasksMax], all_finished;
};

static Shared *shared;
static thread_local int this_task = -1;
static bool *is_scheduled; // false in a child that a task forks

static void wait(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0)
        ;
}

static unsigned nextTask(unsigned task) {
    for (unsigned i = 1; i <= shared->task_count; i++)
        if (shared->unfinished >> (task + i) % shared->task_count & 1)
            return (task + i) % shared->task_count;
    return task;
}

static void handTo(unsigned task) {
    unsigned self = static_cast<unsigned>(this_task);
    shared->alone = 0;
    if (task == self)
        return;
    sem_post(&shared->go[task]);
    wait(&shared->go[self]);
}

static void yield() {
    if (!shared || this_task < 0 || !*is_scheduled)
        return;
    unsigned step = shared->step++, self = static_cast<unsigned>(this_task);
    shared->blocked = 0;
    if (step < StepsMax)
        shared->steps[step] = {static_cast<uint8_t>(self), static_cast<uint8_t>(shared->unfinished)};
    if (step == shared->kill_step)
        kill(getpid(), SIGKILL);
    const Switch &next = shared->switches[shared->switch_next];
    if (shared->switch_next < shared->switch_count && next.step == step) {
        shared->switch_next++;
        if (shared->unfinished >> next.task & 1)
            handTo(next.task);
    } else if (++shared->alone > StepsAlone)
        handTo(nextTask(self));
}

// The lock is taken: by a task that waits.
static void block() {
    if (shared->blocked++ > 2 * shared->task_count) {
        shared->deadlock = true;
        printf("deadlock\n");
        fflush(stdout);
        _exit(*seeded_bug ? 0 : 1);
    }
    handTo(nextTask(static_cast<unsigned>(this_task)));
}

void yieldPoint() { yield(); }

void letOthersRun() {
    if (this_task >= 0)
        handTo(nextTask(static_cast<unsigned>(this_task)));
}

// How often a thread of the runtime looks before it sleeps, and whether others run between two looks.
extern "C" unsigned snapshot_spins;
unsigned snapshot_spins = 0;
extern "C" void letOthersRunHere();
extern "C" void letOthersRunHere() {
    if (snapshot_spins > 0)
        letOthersRun();
}

static void finish(unsigned task) {
    shared->unfinished &= ~(1u << task);
    shared->blocked = 0;
    if (shared->unfinished)
        sem_post(&shared->go[nextTask(task)]);
    else
        sem_post(&shared->all_finished);
}

// Only one task runs at a time. On one CPU it is the next one to run as soon as another hands over to it; on several,
// each handover wakes another CPU, which takes 2 to 4 times as long on a busy host.
static void useOneCpu() {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &cpus);
    (void)sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void prepare(size_t task_count, const Schedule &schedule, unsigned kill_step) {
    if (!shared) {
        useOneCpu();
        shared = static_cast<Shared *>(
            mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(page, 4096, MADV_WIPEONFORK);
        is_scheduled = static_cast<bool *>(page);
    }
    *is_scheduled = true;
    shared->task_count = static_cast<unsigned>(task_count);
    shared->step = shared->alone = shared->switch_next = shared->blocked = 0;
    shared->kill_step = kill_step;
    shared->switch_count = static_cast<unsigned>(schedule.size());
    std::copy(schedule.begin(), schedule.end(), shared->switches);
    shared->unfinished = (1u << task_count) - 1;
    for (unsigned i = 0; i < TasksMax; i++) {
        sem_init(&shared->go[i], 1, 0);
        sem_init(&shared->end[i], 1, 0);
    }
    sem_init(&shared->all_finished, 1, 0);
}

static Run taken() {
    unsigned count = std::min(shared->step, StepsMax);
    return {{shared->steps, shared->steps + count}, {}, shared->deadlock};
}

// A thread has finished when the destructors of its thread-local data have run, the runtime's among them. This one asks
// to be called once more, after those of the first round.
static void threadEnds(void *calls);
static pthread_key_t end_key;

static void threadEnds(void *calls) {
    if (calls == reinterpret_cast<void *>(1))
        pthread_setspecific(end_key, reinterpret_cast<void *>(2));
    else
        finish(static_cast<unsigned>(this_task));
}

Run runThreads(const Tasks &tasks, const Schedule &schedule) {
    static const int made = pthread_key_create(&end_key, threadEnds);
    (void)made;
    prepare(tasks.size(), schedule, NeverKill);
    std::vector<std::thread> threads;
    for (unsigned task = 0; task < tasks.size(); task++)
        threads.emplace_back([&, task] {
            this_task = static_cast<int>(task);
            pthread_setspecific(end_key, reinterpret_cast<void *>(1));
            wait(&shared->go[task]);
            tasks[task]();
        });
    sem_post(&shared->go[0]);
    wait(&shared->all_finished);
    for (std::thread &thread : threads)
        thread.join();
    return taken();
}

[[noreturn]] static void runProcess(unsigned task, const std::function<void()> &work) {
    for (int number : {SIGSEGV, SIGBUS})
        signal(number, SIG_DFL); // the parent checks how its children end
    *is_scheduled = true;
    this_task = static_cast<int>(task);
    wait(&shared->go[task]);
    work();
    finish(task);
    this_task = -1;
    wait(&shared->end[task]);
    _exit(0);
}

// Children that end before they have finished died; the others go on without them.
static void reap(std::vector<pid_t> &children, std::vector<int> &signals) {
    for (size_t left = children.size(); left > 0; left--) {
        int status = 0;
        pid_t child = waitpid(-1, &status, 0);
        auto task = static_cast<unsigned>(std::find(children.begin(), children.end(), child) - children.begin());
        signals[task] = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        if (shared->unfinished >> task & 1)
            finish(task);
    }
}

Run runProcesses(const Tasks &tasks, const Schedule &schedule, unsigned kill_step) {
    prepare(tasks.size(), schedule, kill_step);
    std::vector<pid_t> children;
    std::vector<int> signals(tasks.size());
    for (unsigned task = 0; task < tasks.size(); task++) {
        children.push_back(fork());
        if (children.back() == 0)
            runProcess(task, tasks[task]);
    }
    // A process stays until all have finished. Another thread tells them; this one waits for those that end early.
    std::thread gate([&] {
        wait(&shared->all_finished);
        for (sem_t &semaphore : shared->end)
            sem_post(&semaphore);
    });
    sem_post(&shared->go[0]);
    reap(children, signals);
    gate.join();
    Run run = taken();
    run.signals = signals;
    return run;
}

std::string describe(const Schedule &schedule) {
    std::ostringstream out;
    for (const Switch &one : schedule)
        out << (out.tellp() > 0 ? "," : "") << one.step << ":" << one.task;
    return schedule.empty() ? "none" : out.str();
}

Schedule parseSchedule(const std::string &text) {
    Schedule schedule;
    std::istringstream in(text);
    Switch one;
    for (char colon, comma; in >> one.step >> colon >> one.task; in >> comma)
        schedule.push_back(one);
    return schedule;
}

uint64_t everySchedule(unsigned switches_max, const std::function<Run(const Schedule &)> &run) {
    std::vector<Schedule> open = {{}};
    uint64_t count = 0;
    while (!open.empty()) {
        Schedule schedule = open.back();
        open.pop_back();
        Run done = run(schedule);
        count++;
        if (schedule.size() == switches_max)
            continue;
        for (size_t step = schedule.empty() ? 0 : schedule.back().step + 1; step < done.steps.size(); step++)
            for (unsigned task = 0; task < TasksMax; task++)
                if (task != done.steps[step].task && done.steps[step].unfinished >> task & 1) {
                    open.push_back(schedule);
                    open.back().push_back({static_cast<unsigned>(step), task});
                }
    }
    return count;
}

uint64_t sampleSchedules(uint64_t count, uint64_t seed, const std::function<Run(const Schedule &)> &run) {
    std::mt19937_64 random(seed);
    size_t steps = run({}).steps.size();
    for (uint64_t i = 0; i < count; i++) {
        std::vector<unsigned> places(3 + random() % 4);
        for (unsigned &place : places)
            place = static_cast<unsigned>(random() % (steps + 1));
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
        Schedule schedule;
        for (unsigned place : places)
            schedule.push_back({place, static_cast<unsigned>(random() % shared->task_count)});
        steps = std::max(steps, run(schedule).steps.size());
    }
    return count + 1;
}

static bool watches;

void watchMemory(bool every) { watches = every; }

// A variable on a stack is the task's own. A task that spins on a line another one is about to mark lets it go on.
static void memoryPoint(const void *address) {
    if (!watches && this_task >= 0 && ++shared->alone > StepsAlone)
        letOthersRun();
    auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)), there = reinterpret_cast<uintptr_t>(address);
    if (watches && this_task >= 0 && there - here > (1u << 20))
        yield();
}

// The yield points, put before the runtime's calls by the linker (--wrap). `WRAPPED` calls report before they are made.
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!shared || this_task < 0)
        return __real_pthread_mutex_lock(mutex);
    yield();
    while (pthread_mutex_trylock(mutex) != 0)
        block();
    return 0;
}

int __real_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int __real_pthread_rwlock_unlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock);
int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock);

int __wrap_pthread_rwlock_rdlock(pthread_rwlock_t *lock) {
    if (!shared || this_task < 0)
        return __real_pthread_rwlock_rdlock(lock);
    yield();
    while (pthread_rwlock_tryrdlock(lock) != 0)
        block();
    return 0;
}

int __wrap_pthread_rwlock_wrlock(pthread_rwlock_t *lock) {
    if (!shared || this_task < 0)
        return __real_pthread_rwlock_wrlock(lock);
    yield();
    while (__real_pthread_rwlock_trywrlock(lock) != 0)
        block();
    return 0;
}

int __wrap_pthread_rwlock_trywrlock(pthread_rwlock_t *lock) {
    yield();
    return __real_pthread_rwlock_trywrlock(lock);
}

int __wrap_pthread_rwlock_unlock(pthread_rwlock_t *lock) {
    int status = __real_pthread_rwlock_unlock(lock);
    yield();
    return status;
}

// Nothing here is about the power: no need to wait for a disk.
int __wrap_fsync(int fd);
int __wrap_fsync(int fd) {
    yield();
    return fd < 0 ? -1 : 0;
}

int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
    yield();
    return __real_pthread_mutex_trylock(mutex);
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    int status = __real_pthread_mutex_unlock(mutex);
    yield();
    return status;
}

// Of -fsanitize-coverage=func,trace-pc,trace-loads,trace-stores: functions do not matter here.
void __sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_pc() {}

#define MEMORY_POINT(name)                                                                                             \
    void __sanitizer_cov_##name(const void *address);                                                                  \
    void __sanitizer_cov_##name(const void *address) { memoryPoint(address); }

MEMORY_POINT(load1)
MEMORY_POINT(load2)
MEMORY_POINT(load4)
MEMORY_POINT(load8)
MEMORY_POINT(load16)
MEMORY_POINT(store1)
MEMORY_POINT(store2)
MEMORY_POINT(store4)
MEMORY_POINT(store8)
MEMORY_POINT(store16)

// A task that waits for a value to change sleeps until another one wakes it, and only then: a call that nobody wakes
// shows as a deadlock. Wakings are counted, for all words together.
static unsigned wakings;

static void sleepUntilWoken() {
    for (unsigned before = wakings; wakings == before;)
        block();
}

static long waitForWaking(const unsigned *word, unsigned value) {
    if (!shared || this_task < 0)
        return 0;
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
        return -1;
    sleepUntilWoken();
    return 0;
}

int __real_pthread_cond_broadcast(pthread_cond_t *condition);
int __real_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __real_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int __wrap_pthread_cond_broadcast(pthread_cond_t *condition);
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until);
int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);

int __wrap_pthread_cond_broadcast(pthread_cond_t *condition) {
    wakings++;
    return __real_pthread_cond_broadcast(condition);
}

int __wrap_pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    if (!shared || this_task < 0)
        return __real_pthread_cond_wait(condition, mutex);
    __real_pthread_mutex_unlock(mutex);
    sleepUntilWoken();
    return __wrap_pthread_mutex_lock(mutex);
}

// A wait that ends by itself is no deadlock.
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *until) {
    if (!shared || this_task < 0)
        return __real_pthread_cond_timedwait(condition, mutex, until);
    __real_pthread_mutex_unlock(mutex);
    letOthersRun();
    return __wrap_pthread_mutex_lock(mutex);
}

// A task that gives its turn away waits for another one.
long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    yield();
    if (number == SYS_futex && (b & FUTEX_CMD_MASK) == FUTEX_WAIT)
        return waitForWaking(reinterpret_cast<const unsigned *>(a), static_cast<unsigned>(c));
    if (number == SYS_futex)
        return ++wakings, 1;
    if (number != SYS_sched_yield)
        return __real_syscall(number, a, b, c, d, e, f);
    letOthersRun();
    return 0;
}

// As close() of the runtime, after which the number may be another file's.
int __real___close(int fd);
int __wrap___close(int fd);
int __wrap___close(int fd) {
    int status = __real___close(fd);
    yield();
    return status;
}

#define WRAPPED(type, name, parameters, arguments)                                                                     \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        yield();                                                                                                       \
        return __real_##name arguments;                                                                                \
    }

WRAPPED(int, open, (const char *path, int flags, mode_t mode), (path, flags, mode))
WRAPPED(int, close, (int fd), (fd))
WRAPPED(int, flock, (int fd, int operation), (fd, operation))
WRAPPED(int, ftruncate, (int fd, off_t bytes), (fd, bytes))
WRAPPED(int, posix_fallocate, (int fd, off_t from, off_t bytes), (fd, from, bytes))
WRAPPED(int, renameat2, (int from, const char *old, int to, const char *path, unsigned flags),
        (from, old, to, path, flags))
WRAPPED(int, unlink, (const char *path), (path))
WRAPPED(int, stat, (const char *path, struct stat *status), (path, status))
WRAPPED(int, madvise, (void *address, size_t bytes, int advice), (address, bytes, advice))
WRAPPED(void, persist_copy, (void *target, const void *source, size_t bytes), (target, source, bytes))
WRAPPED(void, persist_fence, (), ())
WRAPPED(void, persist_fence_all, (), ())
}
