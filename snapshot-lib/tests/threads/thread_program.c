// SPDX-License-Identifier: BSD-3-Clause
//
// Threads, signals and cancellation beside stores and commits, as a program sees them. Each case maps DIRECTORY/CASE,
// and SNAPSHOT_DIR names the directory. The program exits with 0, or prints a line about the fault.
//
//     thread_program CASE DIRECTORY
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "snapshot/epochs.h"

#define BYTES ((size_t)1 << 20)
#define LINE 64
#define PAGE 4096
#define MANY_KEYS 40

static int file;
static char *mapped;

static void expect(bool condition, const char *what) {
    if (condition)
        return;
    fprintf(stderr, "%s\n", what);
    _exit(1);
}

static void commit(void) { expect(msync(mapped, BYTES, MS_SYNC) == 0, "msync fails"); }

// Returns the first line to its last commit, even if the library has missed a store to it.
static void roll_back(void) {
    mapped[LINE - 1] ^= 1;
    expect(msync(mapped, BYTES, MS_INVALIDATE) == 0, "the rollback fails");
}

static pthread_t begin(void *(*work)(void *)) {
    pthread_t thread;
    expect(pthread_create(&thread, NULL, work, NULL) == 0, "pthread_create fails");
    return thread;
}

static void *pauses(void *unused) {
    for (;;)
        pause();
    return unused;
}

static void wait_a_moment(void) { usleep(50000); }

static void await(atomic_bool *flag) {
    while (!*flag)
        usleep(1000);
}

// ---- The library notices the end of a thread, although the program takes all keys, or allocates memory in the file.

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static unsigned key_count;

static void key_end(void *value) { expect(value == keys, "a destructor receives a pointer of the library"); }

static void *stores_with_all_keys(void *unused) {
    for (unsigned i = 0; i < key_count; i++)
        pthread_setspecific(keys[i], keys);
    mapped[0] = 1;
    for (unsigned i = 0; i < key_count; i++)
        expect(pthread_getspecific(keys[i]) == keys, "a store changes a value of the program's keys");
    return unused;
}

static void case_keys(void) {
    while (key_count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[key_count], key_end) == 0)
        key_count++;
    pthread_join(begin(stores_with_all_keys), NULL);
    commit();
}

// In the file once it is mapped by the case `allocator`. Memory is not freed.
static bool allocates_in_file;
static atomic_size_t file_used = PAGE, other_used;
static char other_memory[BYTES];

void *malloc(size_t bytes) {
    size_t rounded = (bytes + 2 * LINE - 1) / LINE * LINE;
    bool is_in_file = allocates_in_file;
    size_t at = atomic_fetch_add(is_in_file ? &file_used : &other_used, rounded);
    expect(at + rounded <= BYTES, "an allocation recurs, or there is no memory left");
    char *place = (is_in_file ? mapped : other_memory) + at;
    *(size_t *)place = bytes;
    return place + LINE;
}

void free(void *memory) { (void)memory; }

void *calloc(size_t count, size_t bytes) {
    char *memory = malloc(count * bytes);
    for (size_t i = 0; i < count * bytes; i++)
        memory[i] = 0;
    return memory;
}

void *realloc(void *memory, size_t bytes) {
    char *larger = malloc(bytes);
    size_t old = memory ? *(size_t *)((char *)memory - LINE) : 0;
    for (size_t i = 0; i < old && i < bytes; i++)
        larger[i] = ((char *)memory)[i];
    return larger;
}

// Before the library takes a key: its values then need memory, by calloc().
__attribute__((constructor(101))) static void keys_take(int count, char **arguments) {
    pthread_key_t unused;
    for (int i = 0; count > 1 && strcmp(arguments[1], "allocator") == 0 && i < MANY_KEYS; i++)
        expect(pthread_key_create(&unused, NULL) == 0, "pthread_key_create fails");
}

static void *allocates(void *unused) {
    *(volatile char *)malloc(100) = 1;
    return unused;
}

static void case_allocator(void) {
    allocates_in_file = true;
    pthread_join(begin(allocates), NULL);
    commit();
}

// ---- Calls that store their results at their end.

static void *polls(void *descriptors) {
    expect(poll((struct pollfd *)mapped, 3, 5000) == 2, "poll() does not find two ready descriptors");
    return descriptors;
}

static void case_poll(void) {
    struct pollfd *polled = (struct pollfd *)mapped;
    int ready[2], other[2];
    expect(pipe(ready) == 0 && pipe(other) == 0, "pipe fails");
    polled[0] = polled[2] = (struct pollfd){.fd = ready[0], .events = POLLIN};
    polled[1] = (struct pollfd){.fd = other[0]};
    pthread_t thread = begin(polls);
    wait_a_moment();
    polled[1] = (struct pollfd){.fd = other[1], .events = POLLOUT};
    expect(write(ready[1], "x", 1) == 1, "write fails");
    pthread_join(thread, NULL);
    expect(polled[0].revents == POLLIN && polled[2].revents == POLLIN, "poll() reports nothing");
    expect(polled[1].fd == other[1] && polled[1].events == POLLOUT, "poll() takes back a store of another thread");
}

// The offset is in the file to which the call writes, and which it commits.
static void expect_committed(const off_t *offset, off_t expected, const char *what) {
    commit();
    roll_back();
    expect(*offset == expected, what);
}

static void case_offsets(void) {
    enum { COPIED = 40000 };
    int from = memfd_create("from", 0), ends[2];
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    int synchronous = open(path, O_RDWR | O_DSYNC);
    expect(from >= 0 && ftruncate(from, COPIED) == 0 && synchronous >= 0 && pipe(ends) == 0, "no descriptors");
    off_t *offsets = (off_t *)mapped, start = 0;
    offsets[0] = PAGE;
    expect(copy_file_range(from, &start, synchronous, &offsets[0], 100, 0) == 100, "copy_file_range() fails");
    expect_committed(&offsets[0], PAGE + 100, "the offset of copy_file_range() is not committed");
    offsets[1] = 0;
    lseek(synchronous, PAGE, SEEK_SET);
    expect(sendfile(synchronous, from, &offsets[1], COPIED) == COPIED, "sendfile() fails");
    expect_committed(&offsets[1], COPIED, "the offset of sendfile() is not committed");
    offsets[2] = PAGE;
    expect(write(ends[1], "1234", 4) == 4, "write fails");
    expect(splice(ends[0], NULL, synchronous, &offsets[2], 4, 0) == 4, "splice() fails");
    expect_committed(&offsets[2], PAGE + 4, "the offset of splice() is not committed");
}

// ---- A function that is declared pure, and waits for another thread, between two stores to a line.

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool looks_up;

__attribute__((pure, noinline)) int look_up(int key);

__attribute__((noinline)) static void pair_set(int *pair, int key) {
    pair[0] = 7;
    pair[1] = look_up(key);
}

static void *sets_pair(void *unused) {
    pair_set((int *)mapped, 0);
    return unused;
}

static void case_pure(void) {
    commit();
    pthread_mutex_lock(&table_mutex);
    pthread_t thread = begin(sets_pair);
    await(&looks_up);
    wait_a_moment();
    commit();
    pthread_mutex_unlock(&table_mutex);
    pthread_join(thread, NULL);
    commit();
    roll_back();
    expect(((int *)mapped)[1] == 5, "the second store of a line is not committed");
}

int look_up(int key) {
    static int table[] = {5};
    looks_up = true;
    pthread_mutex_lock(&table_mutex);
    int found = table[key];
    pthread_mutex_unlock(&table_mutex);
    return found;
}

// ---- A handler that does not return to the library. Here the handler of SIGABRT, when a list cannot grow.

static sigjmp_buf before_stores;
static bool exits;
static size_t lines_stored;

static void memory_set(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &limit);
}

static void on_abort(int number) {
    (void)number;
    memory_set(RLIM_INFINITY);
    if (exits)
        exit(0);
    siglongjmp(before_stores, 1);
}

static void stores_interrupt(void) {
    signal(SIGABRT, on_abort);
    mapped[0] = 1;
    if (sigsetjmp(before_stores, 1))
        return;
    memory_set(0);
    for (lines_stored = 1; lines_stored < BYTES / LINE; lines_stored++)
        mapped[lines_stored * LINE] = 1;
    expect(false, "no list had to grow");
}

static void case_jump(void) {
    stores_interrupt();
    commit();
    roll_back();
    for (size_t line = 0; line < lines_stored; line++)
        expect(mapped[line * LINE] == 1, "a store before the interrupted one is not committed");
}

static void case_jump_beside(void) {
    begin(pauses);
    case_jump();
}

static void case_exit_in_store(void) {
    exits = true;
    begin(pauses);
    stores_interrupt();
}

// The annotation keeps the write of the kernel from the pass.
__attribute__((annotate("snapshot_asm_ok"))) static void write_unannounced(void) {
    expect(syscall(SYS_getrandom, mapped, 8, 0) == 8, "getrandom fails");
}

// With SNAPSHOT_CHECK=abort, the commit aborts because of a write that was not announced.
static void case_exit_in_commit(void) {
    exits = true;
    signal(SIGABRT, on_abort);
    mapped[LINE] = 1;
    write_unannounced();
    commit();
    expect(false, "the check finds nothing");
}

#ifdef WITH_EPOCHS
static uint64_t exiting_clock(void) { exit(0); }

// The clock runs while the library has a lock.
static void case_exit_in_clock(void) {
    struct snapshot_epochs options = {.period_ns = 1000000, .timeout_ns = 1000000, .now_ns = exiting_clock};
    mapped[0] = 1;
    commit();
    snapshot_epochs_start(mapped, &options);
    expect(false, "the clock is not read");
}

// ---- Cancellation of a thread that waits for a checkpoint.

static atomic_bool has_entered, is_over, asks, has_stored;

static void *computes(void *unused) {
    mapped[2 * LINE] = 1;
    has_entered = true;
    await(&is_over);
    return unused;
}

static void *commits(void *unused) {
    mapped[3 * LINE] = 1;
    asks = true;
    msync(mapped, BYTES, MS_SYNC);
    return unused;
}

static void *stores(void *unused) {
    mapped[4 * LINE] = 1;
    has_stored = true;
    pthread_testcancel();
    return unused;
}

// A checkpoint waits for the first thread, and the second thread for the checkpoint.
static void cancelled(bool in_store) {
    pthread_t first = begin(computes), second, third;
    await(&has_entered);
    second = begin(commits);
    await(&asks);
    wait_a_moment();
    third = in_store ? begin(stores) : second;
    wait_a_moment();
    pthread_cancel(third);
    wait_a_moment();
    is_over = true;
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    if (in_store)
        pthread_join(third, NULL);
    expect(has_stored == in_store, "a store is a cancellation point");
    mapped[LINE] = 1;
    commit();
}

static void case_cancel_commit(void) { cancelled(false); }
static void case_cancel_store(void) { cancelled(true); }

// ---- A checkpoint asked for by descriptor, beside a thread that writes by descriptor.

static void *writes_and_points(void *unused) {
    static char bytes[16 * PAGE];
    while (!is_over) {
        expect(pwrite(file, bytes, sizeof(bytes), 0) == sizeof(bytes), "pwrite fails");
        has_stored = true;
        snapshot_epoch_point(mapped);
    }
    snapshot_epoch_idle(mapped, true);
    return unused;
}

static void case_checkpoint_beside_write(void) {
    pthread_t thread = begin(writes_and_points);
    await(&has_stored);
    for (int i = 0; i < 500; i++)
        expect(fsync(file) == 0, "fsync waits in vain for a thread that waits for it");
    is_over = true;
    pthread_join(thread, NULL);
}
#endif

// ---- With a tracker that handles SIGSEGV: a thread that has blocked all signals.

static void *stores_to_page(void *unused) {
    mapped[0] = 1;
    return unused;
}

static void blocked(int block(int, const sigset_t *, sigset_t *)) {
    sigset_t all, old;
    sigfillset(&all);
    expect(block(SIG_BLOCK, &all, &old) == 0 && block(SIG_SETMASK, &all, &old) == 0, "no signal is blocked");
    expect(sigismember(&old, SIGTERM) == 1, "SIGTERM is not blocked");
    pthread_join(begin(stores_to_page), NULL);
    expect(block(SIG_UNBLOCK, &all, &old) == 0 && sigismember(&old, SIGTERM) == 1, "SIGTERM was not blocked");
    expect(block(-1, &all, NULL) != 0, "there is no such change of a mask");
    commit();
}

static void case_blocked(void) {
    blocked(pthread_sigmask);
    blocked(sigprocmask);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"keys", case_keys},
    {"allocator", case_allocator},
    {"poll", case_poll},
    {"offsets", case_offsets},
    {"pure", case_pure},
    {"jump", case_jump},
    {"jump-beside", case_jump_beside},
    {"exit-in-store", case_exit_in_store},
    {"exit-in-commit", case_exit_in_commit},
#ifdef WITH_EPOCHS
    {"exit-in-clock", case_exit_in_clock},
    {"cancel-commit", case_cancel_commit},
    {"cancel-store", case_cancel_store},
    {"checkpoint-beside-write", case_checkpoint_beside_write},
#endif
    {"blocked", case_blocked},
};

static void map(const char *directory, const char *name) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        (void)mkdir(path, 0755);
        *slash = '/';
    }
    unlink(path);
    file = open(path, O_RDWR | O_CREAT, 0644);
    expect(file >= 0 && ftruncate(file, BYTES) == 0, "the file cannot be created");
    mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    expect(mapped != MAP_FAILED, "mmap fails");
}

int main(int count, char **arguments) {
    expect(count == 3, "usage: thread_program CASE DIRECTORY");
    alarm(20);
    map(arguments[2], arguments[1]);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return 0;
        }
    expect(false, "there is no such case");
}
