/* SPDX-License-Identifier: BSD-3-Clause */
/* Which log a thread uses: its own, found without a lock, handed on when it ends. */
#include "thread_log.h"

#include "base/arena.h"
#include "base/seeded_bug.h"

struct thread_slot {
    struct thread_log *log;
    uint64_t generation;
};

static _Thread_local struct thread_slot thread_slots[REGIONS_MAX];

/*
 * At the end of a thread: another may take its log over, with whatever it still holds for the next commit. The mutex
 * keeps the region from being closed, and the log from being freed, in between.
 */
static void thread_end(void *unused) {
    (void)unused;
    bool locks = !SEEDED_BUG(THREAD_END_UNLOCKED);
    if (locks)
        pthread_mutex_lock(&regions_mutex);
    for (size_t i = 0; i < REGIONS_MAX; i++) {
        struct thread_slot *slot = &thread_slots[i];
        if (slot->log && regions[i].in_use && regions[i].generation == slot->generation)
            atomic_store(&slot->log->in_use, false);
        slot->log = NULL;
    }
    if (locks)
        pthread_mutex_unlock(&regions_mutex);
}

static pthread_key_t thread_end_key;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;

static void thread_end_register(void) { (void)pthread_key_create(&thread_end_key, thread_end); }

static struct thread_log *thread_log_create(struct region *region) {
    struct thread_log *thread = memory_map(sizeof(*thread));
    thread->region = region;
    atomic_store(&thread->in_use, true);
    thread->next = atomic_load(&region->threads);
    while (!atomic_compare_exchange_weak(&region->threads, &thread->next, thread))
        ;
    return thread;
}

static struct thread_log *thread_log_adopt(struct region *region) {
    for (struct thread_log *thread = atomic_load(&region->threads); thread; thread = thread->next) {
        bool expected = false;
        if (atomic_compare_exchange_strong(&thread->in_use, &expected, true))
            return thread;
    }
    return NULL;
}

struct thread_log *thread_log_get(struct region *region) {
    struct thread_slot *slot = &thread_slots[region - regions];
    if (slot->log && slot->generation == region->generation)
        return slot->log;
    pthread_once(&thread_end_once, thread_end_register);
    pthread_setspecific(thread_end_key, slot);
    slot->log = thread_log_adopt(region);
    if (!slot->log)
        slot->log = thread_log_create(region);
    slot->generation = region->generation;
    return slot->log;
}

void thread_logs_free(struct region *region) {
    struct thread_log *thread = atomic_exchange(&region->threads, NULL);
    while (thread) {
        struct thread_log *next = thread->next;
        vector_free(&thread->changes);
        vector_free(&thread->waiting);
        kernel_munmap(thread, sizeof(*thread));
        thread = next;
    }
}
