/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group commit. When several threads commit one file at the same time, the thread with the mutex leads. The threads
 * that wait when announcements stop are its group. Their stores are in the leader's commit, and their calls return its
 * status. Each member writes and fences the lines of its own log, because a fence waits for the writes of its own
 * thread only. The leader does the work of a member that does not run.
 *
 * The leader releases the members when the whole commit is durable or has failed.
 */
#include "group.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/seeded_bug.h"
#include "log/persist.h"

#define EXPECTING_SPINS (SPINS / 10) /* about as long as a small commit takes */
#define MISSES_MAX 63u

static unsigned call_of(const struct thread_log *thread) {
    return atomic_load_explicit(&thread->call, memory_order_acquire);
}

static void call_set(struct thread_log *thread, enum call call) {
    atomic_store_explicit(&thread->call, call, memory_order_release);
}

static bool is_member(const struct thread_log *thread) {
    unsigned call = call_of(thread);
    return call == CALL_JOINED || call == CALL_OPEN || call == CALL_TAKEN;
}

/* Claims the work of this log. True for one thread only. */
static bool work_take(struct thread_log *thread) {
    unsigned open = CALL_OPEN;
    return call_of(thread) == CALL_OPEN && atomic_compare_exchange_strong(&thread->call, &open, CALL_TAKEN);
}

static void own_work(struct thread_log *own) {
    if (SEEDED_BUG(JOINED_LATE))
        call_set(own, CALL_JOINED);
    own->call_status = own->region->group.work(own);
    if (!SEEDED_BUG(NO_MEMBER_FENCE)) {
        persist_fence();
        own->counted.fences++;
    }
    call_set(own, CALL_JOINED);
}

static bool lock_try(struct region *region) {
    return !atomic_load_explicit(&region->busy, memory_order_relaxed) && pthread_mutex_trylock(&region->mutex) == 0;
}

/* Does the open work of the own log, then tries the mutex if no commit has taken this log. True: the mutex is held. */
static bool works_or_locks(struct thread_log *own) {
    if (work_take(own))
        own_work(own);
    return call_of(own) == CALL_WAITS && lock_try(own->region);
}

bool group_await(struct thread_log *own, int *status) {
    struct region *region = own->region;
    struct watch watch = {0};
    bool locked = false;
    call_set(own, CALL_WAITS);
    for (bool is_over = false; !is_over;) {
        watch_begin(region, &watch);
        locked = works_or_locks(own);
        is_over = locked || call_of(own) == CALL_DONE;
        watch_end(region, &watch, is_over);
    }
    bool done = call_of(own) == CALL_DONE; /* maybe just before the mutex was free */
    *status = own->call_status;
    call_set(own, CALL_NONE);
    if (done && locked)
        region_unlock(region);
    return done;
}

/*
 * Threads that commit again and again should commit together: without this wait, the leader would hold their logs, and
 * their lines would be written by this commit and once more by their own. After a wait in vain the leader skips the
 * thread for some of its commits; each further wait in vain doubles their number.
 */
void group_gather(struct region *region, const struct thread_log *own) {
    unsigned spins = 0;
    for_each_thread (thread, region) {
        if (thread == own || !thread->is_expected)
            continue;
        while (call_of(thread) != CALL_WAITS && atomic_load(&thread->owner) && spins++ < EXPECTING_SPINS)
            relax();
        if (call_of(thread) == CALL_WAITS)
            continue;
        thread->is_expected = false;
        thread->misses = thread->misses < MISSES_MAX ? (uint8_t)(2 * thread->misses + 1) : MISSES_MAX;
        thread->skips = thread->misses;
    }
}

/* After each commit of a thread, by itself or in a group. */
static void expect(struct thread_log *thread) {
    if (thread->is_expected)
        thread->misses = 0;
    else if (thread->skips > 0)
        thread->skips--;
    thread->is_expected = thread->skips == 0;
}

void group_release(struct region *region, struct thread_log *own, int status) {
    if (own)
        expect(own);
    for_each_thread (thread, region) {
        if (!region->group.any || !is_member(thread))
            continue;
        expect(thread);
        thread->call_status = status;
        call_set(thread, CALL_DONE);
    }
    region->group.any = false;
}

static void work_open(struct region *region) {
    for_each_thread (thread, region)
        if (is_member(thread))
            call_set(thread, CALL_OPEN);
    region_turn(region);
}

static void work_await(const struct thread_log *thread) {
    for (unsigned spin = 0; call_of(thread) == CALL_TAKEN && !SEEDED_BUG(NO_GROUP_BARRIER); spin++)
        if (spin < SPINS)
            relax();
        else
            syscall(SYS_sched_yield);
}

/* Does the work that no member has begun, then waits for the rest. */
static int members_finish(struct region *region) {
    int status = 0;
    for_each_thread (thread, region)
        if (work_take(thread)) {
            thread->call_status = region->group.work(thread);
            call_set(thread, CALL_JOINED);
        }
    for_each_thread (thread, region) {
        if (!is_member(thread))
            continue;
        work_await(thread);
        status = status < 0 ? status : thread->call_status;
    }
    return status;
}

int region_each_log(struct region *region, log_work *work) {
    int status = 0;
    region->group.work = work;
    if (region->group.any)
        work_open(region);
    for_each_thread (thread, region)
        if (!region->group.any || !is_member(thread)) {
            int done = work(thread);
            status = status < 0 ? status : done;
        }
    int members = region->group.any ? members_finish(region) : 0;
    return status < 0 ? status : members;
}
