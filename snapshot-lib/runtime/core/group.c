/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group commit. When several threads commit one file at the same time, the thread with the mutex leads. The threads
 * that wait when announcements stop are its group. Their stores are in the leader's commit, and their calls return its
 * status. Each member writes and fences the lines of its own log, because a fence waits for the writes of its own
 * thread only. The leader does the work of a member that does not run.
 *
 * One counter of steps informs all members at once: the next step opens a piece of work to them. The first step of the
 * next group answers their calls, when the commit is durable or has failed. A member writes to the leader on one line
 * of memory, and the leader to the member on another line, so the leader fetches one line per member and step.
 */
#include "group.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "log/persist.h"

#define EXPECTING_SPINS (SPINS / 10) /* about as long as a small commit takes */
#define MISSES_MAX 63u
#define TAKING_SPINS (SPINS / 10)

#define STEP_TAKEN(step) (2 * (step))
#define STEP_DONE(step) (2 * (step) + 1)

static uint64_t step_of(struct region *region) {
    return atomic_load_explicit(&region->group.step, memory_order_acquire);
}

static void step_set(struct region *region, uint64_t step) {
    atomic_store_explicit(&region->group.step, step, memory_order_release);
    region_turn(region);
}

static bool is_member(const struct thread_log *thread) { return thread->group == group_number(thread->region); }

/* Claims the work of this log in this step. True for one thread only. */
static bool work_take(struct thread_log *thread, uint64_t step) {
    uint_fast64_t last = atomic_load_explicit(&thread->work, memory_order_relaxed);
    return last < STEP_TAKEN(step) && atomic_compare_exchange_strong(&thread->work, &last, STEP_TAKEN(step));
}

static void work_done(struct thread_log *thread, uint64_t step) {
    atomic_store_explicit(&thread->work, STEP_DONE(step), memory_order_release);
}

static void own_work(struct thread_log *own, uint64_t step) {
    own->work_status = own->region->group.work(own);
    persist_fence();
    own->counted.fences++;
    work_done(own, step);
}

/* Does the open work of the own log. True: the call has been answered. The step is read after the call joined, so it
 * cannot be a step of an earlier group. */
static bool follow(struct thread_log *own) {
    if (atomic_load_explicit(&own->joined_call, memory_order_acquire) != own->calls)
        return false;
    uint64_t step = step_of(own->region);
    if (step / GROUP_STEPS != own->group)
        return true;
    if (step % GROUP_STEPS > 0 && work_take(own, step))
        own_work(own, step);
    return false;
}

static bool lock_try(struct region *region) {
    return !atomic_load_explicit(&region->busy, memory_order_relaxed) && pthread_mutex_trylock(&region->mutex) == 0;
}

bool group_await(struct thread_log *own, int *status) {
    struct region *region = own->region;
    struct watch watch = {0};
    uint64_t seen = UINT64_MAX;
    bool locked = false, done = false;
    atomic_store_explicit(&own->call, ++own->calls, memory_order_release);
    while (!locked && !done) {
        watch_begin(region, &watch);
        uint64_t step = step_of(region);
        done = step != seen && follow(own);
        seen = step;
        locked = !done && lock_try(region);
        watch_end(region, &watch, locked || done);
    }
    atomic_store_explicit(&own->call, 0, memory_order_relaxed);
    *status = own->call_status;
    return done;
}

/*
 * Threads that commit again and again should commit together. Without this wait, the leader would hold their logs, and
 * their lines would be written by this commit and once more by their own. After a wait in vain the leader skips the
 * thread for some of its commits; each further wait in vain doubles their number.
 */
void group_gather(struct region *region, const struct thread_log *own) {
    unsigned spins = 0;
    for_each_thread (thread, region) {
        if (thread == own || !thread->is_expected)
            continue;
        while (!call_waiting(thread) && atomic_load(&thread->owner) && spins++ < EXPECTING_SPINS)
            relax();
        if (call_waiting(thread))
            continue;
        thread->is_expected = false;
        thread->misses = thread->misses < MISSES_MAX ? (uint8_t)(2 * thread->misses + 1) : MISSES_MAX;
        thread->skips = thread->misses;
    }
}

/* Called after each commit of a thread, by itself or in a group. */
static void expect(struct thread_log *thread) {
    if (thread->is_expected) {
        thread->misses = 0;
        return;
    }
    if (thread->skips > 0)
        thread->skips--;
    thread->is_expected = thread->skips == 0;
}

void group_release(struct region *region, struct thread_log *own, int status) {
    if (own)
        expect(own);
    if (!region->group.any)
        return;
    for_each_thread (thread, region) {
        if (!is_member(thread))
            continue;
        expect(thread);
        if (status < 0)
            thread->call_status = status;
    }
    region->group.any = false;
    step_set(region, (group_number(region) + 1) * GROUP_STEPS);
}

/* The leader first waits: a member that runs takes its work soon, and has its log in its caches. */
static void work_await(struct thread_log *thread, uint64_t step) {
    for (unsigned spin = 0; atomic_load_explicit(&thread->work, memory_order_acquire) != STEP_DONE(step); spin++)
        if (spin < TAKING_SPINS) {
            relax();
        } else if (work_take(thread, step)) {
            thread->work_status = thread->region->group.work(thread);
            work_done(thread, step);
        } else {
            syscall(SYS_sched_yield);
        }
}

/* Waits for the members' work, and does it for those that do not run. */
static int members_finish(struct region *region, uint64_t step) {
    int status = 0;
    for_each_thread (thread, region) {
        if (!is_member(thread))
            continue;
        work_await(thread, step);
        status = status < 0 ? status : thread->work_status;
    }
    return status;
}

int group_each_log(struct region *region, log_work *work) {
    int status = 0;
    uint64_t step = step_of(region) + 1;
    region->group.work = work;
    step_set(region, step);
    for_each_thread (thread, region)
        if (!is_member(thread)) {
            int done = work(thread);
            status = status < 0 ? status : done;
        }
    int members = members_finish(region, step);
    return status < 0 ? status : members;
}
