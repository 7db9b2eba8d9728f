/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assigns each thread a log, which the thread finds without a lock and hands on when it ends. Orders announcements and
 * commits.
 *
 * A store follows its announcement after any time, and no call reports that it has been made. So a thread that has
 * announced is inside until it makes a call before which all its stores must have been made: a commit, a lock
 * operation, or its end. A commit contains the lines that the logs of all threads list. It empties the logs of threads
 * that are outside. The log of a thread that is inside is held: it lists the same lines for the next commit, too.
 *
 * A commit that collects shuts out announcements. Each thread has a separate flag for that, so that announcing threads
 * share no cache line. A thread sets its flag, and then checks whether a commit collects. A commit first declares that
 * it collects, and then waits for the flags. Meanwhile a thread can go outside but not come inside, because coming
 * inside requires an announcement.
 */
#define _GNU_SOURCE
#include "thread_log.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/epochs.h"

/* 0 is the generation of a slot whose file is being opened or closed: __snapshot_log() must not take it for its own. */
#define NO_GENERATION UINT64_MAX
_Thread_local struct thread_slot thread_slots[REGIONS_MAX] = {
    [0 ... REGIONS_MAX - 1] = {.generation = NO_GENERATION, .tag = LINE_NO_TAG}};
static _Thread_local struct presence *presence_own __attribute__((tls_model("initial-exec")));

static pthread_mutex_t presence_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct presence *presence_unused;
static atomic_uint presence_holds; /* number of commits that held a log */

static struct presence *presence_take(void) {
    pthread_mutex_lock(&presence_mutex);
    struct presence *taken = presence_unused;
    if (taken)
        presence_unused = taken->next;
    pthread_mutex_unlock(&presence_mutex);
    return taken ? taken : memory_map(sizeof(*taken));
}

static void presence_return(void) {
    if (!presence_own)
        return;
    pthread_mutex_lock(&presence_mutex);
    presence_own->next = presence_unused;
    presence_unused = presence_own;
    pthread_mutex_unlock(&presence_mutex);
    presence_own = NULL;
}

/* Another thread may have held the lock at the fork. */
void thread_logs_inherit(void) {
    pthread_mutex_init(&presence_mutex, NULL);
    presence_unused = NULL;
}

void thread_leaves(void) {
    if (!presence_own)
        return;
    for (size_t i = 0; i < REGIONS_MAX; i++)
        thread_slots[i].tag = LINE_NO_TAG;
    atomic_store_explicit(&presence_own->inside, false, memory_order_release);
}

void thread_rests(void) {
    struct presence *own = presence_own;
    if (!own)
        return;
    unsigned holds = atomic_load_explicit(&presence_holds, memory_order_relaxed);
    if (atomic_load_explicit(&own->holds_seen, memory_order_relaxed) == holds)
        return;
    atomic_store_explicit(&own->holds_seen, holds, memory_order_relaxed);
    thread_leaves();
}

void thread_waits(void) {
    if (!__libc_single_threaded)
        thread_leaves();
}

/*
 * Runs at the end of a thread: another thread may adopt its log, with the changes that the log still has for the next
 * commit. The mutex keeps the region from being closed, and the log from being freed, in between.
 */
static void thread_end(void *unused) {
    (void)unused;
    thread_leaves();
    regions_lock();
    epochs_thread_end(); /* first: another thread may adopt the log of a thread that is no member any more */
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        struct thread_slot *slot = &thread_slots[i];
        if (slot->log && regions[i].generation == slot->generation) {
            atomic_store(&slot->log->owner, NULL);
            atomic_store(&slot->log->in_use, false);
        }
        *slot = (struct thread_slot){.generation = NO_GENERATION, .tag = LINE_NO_TAG};
    }
    regions_unlock();
    presence_return();
}

static pthread_key_t thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void thread_end_key_create(void) {
    if (pthread_key_create(&thread_end_key, thread_end) != 0)
        abort();
}

/* Runs before the program creates keys of its own, of which it may take all. A value of one of the first keys also
 * needs no memory, which libc would allocate by the program's calloc(). */
static __attribute__((constructor(101))) void thread_end_register(void) {
    pthread_once(&thread_end_once, thread_end_key_create);
}

/* Aborts if the end of the thread would pass unnoticed, because a store cannot report an error. */
static void thread_end_await(void) {
    thread_end_register();
    if (pthread_setspecific(thread_end_key, &thread_end_key) != 0)
        abort();
}

static struct thread_log *thread_log_create(struct region *region) {
    struct thread_log *thread = memory_map(sizeof(*thread));
    unsigned tag = LINE_TAG_FIRST + atomic_fetch_add(&region->tag_count, 1);
    thread->region = region;
    thread->tag = tag <= UINT8_MAX ? (uint8_t)tag : LINE_NO_TAG;
    thread->mark = tag <= UINT8_MAX ? (uint8_t)tag : LINE_LISTED;
    thread->group = NO_GROUP;
    atomic_store(&thread->in_use, true);
    atomic_store(&thread->owner, presence_own);
    thread->next = atomic_load(&region->threads);
    while (!atomic_compare_exchange_weak(&region->threads, &thread->next, thread))
        ;
    return thread;
}

static struct thread_log *thread_log_adopt(struct region *region) {
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next) {
        bool expected = false;
        if (!atomic_compare_exchange_strong(&thread->in_use, &expected, true))
            continue;
        atomic_store(&thread->owner, presence_own);
        return thread;
    }
    return NULL;
}

struct thread_log *thread_log_own(const struct region *region) {
    const struct thread_slot *slot = &thread_slots[region - regions];
    return slot->log && slot->generation == region->generation ? slot->log : NULL;
}

struct thread_log *thread_log_get(struct region *region) {
    struct thread_slot *slot = &thread_slots[region - regions];
    if (slot->log && slot->generation == region->generation)
        return slot->log;
    bool is_first = !presence_own;
    if (is_first)
        presence_own = presence_take();
    slot->log = thread_log_adopt(region);
    if (!slot->log)
        slot->log = thread_log_create(region);
    slot->generation = region->generation;
    slot->tag = LINE_NO_TAG;
    if (is_first) /* last: the program's calloc() may store to the file, and then finds the log */
        thread_end_await();
    return slot->log;
}

/* An announcement is part of a store, so it must not change errno. */
static void futex(atomic_uint *word, int operation, unsigned value) {
    int saved = errno;
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
    errno = saved;
}

/* A thread that may sleep declares this before it checks its condition, so that a later change finds it declared. */
void watch_begin(struct region *region, struct watch *watch) {
    if (++watch->looks <= SPINS)
        return;
    atomic_fetch_add(&region->sleepers, 1);
    watch->turn = atomic_load(&region->turn);
}

void watch_end(struct region *region, const struct watch *watch, bool is_over) {
    if (watch->looks <= SPINS) {
        relax();
        return;
    }
    if (!is_over)
        futex(&region->turn, FUTEX_WAIT_PRIVATE, watch->turn);
    atomic_fetch_sub(&region->sleepers, 1);
}

void region_turn(struct region *region) {
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load(&region->sleepers) == 0)
        return;
    atomic_fetch_add(&region->turn, 1);
    futex(&region->turn, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void commit_await(struct region *region) {
    struct watch watch = {0};
    for (bool is_over = false; !is_over;) {
        watch_begin(region, &watch);
        is_over = !atomic_load(&region->collecting);
        watch_end(region, &watch, is_over);
    }
}

static void shut_out_commits(struct thread_log *thread) {
    struct region *region = thread->region;
    atomic_exchange(&thread->announcing, true);
    while (atomic_load(&region->collecting)) {
        atomic_store(&thread->announcing, false);
        commit_await(region);
        atomic_exchange(&thread->announcing, true);
    }
}

struct thread_log *announce_begin_slowly(struct region *region) {
    struct thread_log *thread = thread_log_get(region);
    if (region->protocol->enter && thread_slots[region - regions].tag == LINE_NO_TAG)
        region->protocol->enter(region);
    if (!__libc_single_threaded)
        shut_out_commits(thread);
    struct presence *owner = atomic_load_explicit(&thread->owner, memory_order_relaxed);
    atomic_store_explicit(&owner->inside, true, memory_order_relaxed);
    thread_slots[region - regions].tag = thread->tag;
    return thread;
}

/* An announcement of the calling thread is over, even if the handler of a signal did not return to it. */
static void announcement_await(struct thread_log *thread, const struct thread_log *own) {
    if (thread == own)
        atomic_store_explicit(&thread->announcing, false, memory_order_relaxed);
    for (unsigned spin = 0; atomic_load(&thread->announcing); spin++)
        relax_or_yield(spin);
}

static bool is_inside(const struct thread_log *thread) {
    const struct presence *owner = atomic_load(&thread->owner);
    return owner && atomic_load_explicit(&owner->inside, memory_order_acquire);
}

/* All stores of the thread precede its call, and it makes no store before the call returns. */
static bool joins_group(struct thread_log *thread) {
    uint64_t call = call_waiting(thread);
    if (call == 0)
        return false;
    thread->group = group_number(thread->region);
    thread->call_status = 0;
    atomic_store_explicit(&thread->joined_call, call, memory_order_release);
    return true;
}

/* glibc notes the owner, and has no call that returns it. */
bool mutex_is_own(const pthread_mutex_t *mutex) { return mutex->__data.__owner == gettid(); }

bool thread_is_at_work(const struct region *region) {
    const struct thread_log *own = thread_log_own(region);
    bool is_awaited = own && (atomic_load(&own->announcing) || atomic_load(&own->call) != 0);
    return is_awaited || mutex_is_own(&region->mutex) || epochs_are_at_work(region);
}

/* A log that is created from now on is empty until announcements resume. */
bool announcements_stop(struct region *region, bool joins) {
    const struct thread_log *own = thread_log_own(region);
    bool any = false;
    atomic_store(&region->collecting, true);
    for_each_thread (thread, region) {
        announcement_await(thread, own);
        bool is_joined = joins && thread != own && joins_group(thread);
        region->group.any |= is_joined;
        if (thread == own || is_joined || !is_inside(thread))
            continue;
        thread->held = any = true;
    }
    if (any)
        atomic_fetch_add_explicit(&presence_holds, 1, memory_order_relaxed);
    return any;
}

void announcements_resume(struct region *region) {
    if (region->held.any)
        for_each_thread (thread, region)
            thread->held = false;
    atomic_store_explicit(&region->collecting, false, memory_order_release);
}

void relisted_free(struct thread_log *thread) {
    if (thread->relisted)
        kernel_munmap(thread->relisted, thread->relisted_bytes);
    thread->relisted = NULL;
}

static void counts_add(struct log_counts *sum, const struct log_counts *more) {
    sum->log_bytes += more->log_bytes;
    sum->data_bytes += more->data_bytes;
    sum->lines_logged += more->lines_logged;
    sum->fences += more->fences;
}

void log_epoch_end(struct thread_log *thread) {
    counts_add(&thread->counted, &thread->counts);
    thread->counts = (struct log_counts){0};
    thread->change_count = 0;
    thread->chunk = NULL;
    thread->chunks.count = 0;
}

void thread_logs_free(struct region *region) {
    struct thread_log *thread = atomic_exchange(&region->threads, NULL);
    while (thread) {
        struct thread_log *next = thread->next;
        vector_free(&thread->changes);
        vector_free(&thread->committed);
        vector_free(&thread->due);
        vector_free(&thread->waiting);
        vector_free(&thread->held_lines);
        vector_free(&thread->chunks);
        relisted_free(thread);
        kernel_munmap(thread, sizeof(*thread));
        thread = next;
    }
}
