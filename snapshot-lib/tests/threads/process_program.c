/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that uses the library beside processes, threads and limits of its own: children that hold copies of
 * descriptors, cancelled threads, small stacks, a limit for sizes of files. SNAPSHOT_DIR names its folder, which is
 * empty.
 *
 *     process_program CASE FOLDER
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE ((size_t)4096)
#define TIME_LIMIT_S 20

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            dprintf(STDERR_FILENO, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                        \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)

static const char *folder;

/* The last two names stay valid. */
static const char *named(const char *name) {
    static char paths[2][256];
    static unsigned count;
    char *path = paths[count++ % 2];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int file_new(const char *name, size_t bytes) {
    int fd = open(named(name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    REQUIRE(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    return fd;
}

static uint8_t *map(int fd, size_t bytes) {
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(memory != MAP_FAILED);
    return memory;
}

static int end_of(pid_t child) {
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    return status;
}

/* As after posix_spawn() and before exec, the child has all descriptors, and no handler of fork() has run. */
static void locks_end_beside_a_child(void) {
    int fd = file_new("file", PAGE), ends[2];
    uint8_t *memory = map(fd, PAGE);
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = _Fork();
    if (child == 0) {
        char byte;
        syscall(SYS_close, ends[1]);
        syscall(SYS_read, ends[0], &byte, 1);
        syscall(SYS_exit_group, 0);
    }
    REQUIRE(munmap(memory, PAGE) == 0);
    REQUIRE(munmap(map(fd, PAGE), PAGE) == 0);
    REQUIRE(ftruncate(fd, 2 * PAGE) == 0); /* not mapped, and has a log */
    REQUIRE(munmap(map(fd, 2 * PAGE), 2 * PAGE) == 0);
    close(ends[1]);
    REQUIRE(end_of(child) == 0);
}

/* A file that is not mapped any more lost its last descriptor by a call that the library does not see. */
static void child_takes_over_an_idle_file(void) {
    int fd = file_new("file", PAGE), idle = file_new("idle", PAGE);
    uint8_t *memory = map(fd, PAGE), *stored = map(idle, PAGE);
    stored[0] = 1;
    REQUIRE(munmap(stored, PAGE) == 0);
    syscall(SYS_close, idle);
    pid_t child = fork();
    if (child == 0) {
        REQUIRE(msync(memory, PAGE, MS_SYNC) == -1 && errno == EPERM);
        REQUIRE(close(fd) == 0);
        int own = file_new("own", PAGE);
        uint8_t *mapped = map(own, PAGE);
        mapped[0] = 2;
        REQUIRE(msync(mapped, PAGE, MS_SYNC) == 0);
        exit(0);
    }
    REQUIRE(end_of(child) == 0);
    memory[0] = 3;
    REQUIRE(msync(memory, PAGE, MS_SYNC) == 0);
}

/* The table of files is full of files that are not mapped and have uncommitted stores. */
static void table_fill(void) {
    const int files_max = 32;
    for (int i = 0; i < files_max; i++) {
        char name[16];
        snprintf(name, sizeof(name), "idle%d", i);
        uint8_t *memory = map(file_new(name, PAGE), PAGE);
        memory[0] = 1;
        REQUIRE(munmap(memory, PAGE) == 0);
    }
}

static int calls_returned;

/* None of these calls is a cancellation point of libc. */
static void *call_while_cancelled(void *unused) {
    (void)unused;
    int fd = file_new("file", PAGE), other = file_new("other", PAGE), linked = file_new("linked", PAGE);
    int writable = open(named("file"), O_WRONLY | O_CLOEXEC);
    REQUIRE(writable >= 0 && link(named("linked"), named("linked2")) == 0);
    table_fill();
    REQUIRE(pthread_cancel(pthread_self()) == 0);
    for (int i = 0; i < 2; i++) { /* the first time another file makes room; the second time there is a log */
        uint8_t *memory = map(fd, (size_t)(i + 1) * PAGE);
        calls_returned++;
        REQUIRE(ftruncate(fd, (i + 2) * (off_t)PAGE) == 0);
        calls_returned++;
        REQUIRE(munmap(memory, (size_t)(i + 1) * PAGE) == 0);
        calls_returned++;
    }
    REQUIRE(ftruncate(fd, 2 * PAGE) == 0 && ftruncate(writable, PAGE) == 0);
    calls_returned++;
    REQUIRE(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, linked, 0) == MAP_FAILED && errno == EMLINK);
    calls_returned++;
    uint8_t *stored = map(fd, PAGE);
    stored[0] = 1;
    REQUIRE(munmap(stored, PAGE) == 0);
    REQUIRE(dup2(other, writable) == writable &&
            dup2(other, fd) == fd); /* closes the last descriptor of a file with uncommitted stores */
    calls_returned++;
    pthread_testcancel();
    return NULL;
}

static void cancelled_thread_holds_no_lock(void) {
    pthread_t thread;
    void *result;
    REQUIRE(pthread_create(&thread, NULL, call_while_cancelled, NULL) == 0);
    REQUIRE(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    printf("%d calls of the cancelled thread returned\n", calls_returned);
    fflush(stdout);
    REQUIRE(calls_returned == 9);
    uint8_t *memory = map(file_new("file", PAGE), PAGE);
    memory[0] = 1;
    REQUIRE(msync(memory, PAGE, MS_SYNC) == 0);
}

/* The file is below the limit, and its log would be above it. */
static void limit_is_not_passed(void) {
    const size_t bytes = 2 << 20;
    int fd = file_new("file", bytes), late = file_new("late", PAGE);
    uint8_t *memory = map(fd, bytes);
    struct rlimit limit;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = bytes;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    memset(memory, 1, bytes);
    REQUIRE(msync(memory, bytes, MS_SYNC) == -1 && errno == ENOSPC);
    limit.rlim_cur = PAGE;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    REQUIRE(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, late, 0) == MAP_FAILED && errno == ENOSPC);
    limit.rlim_cur = limit.rlim_max;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    REQUIRE(msync(memory, bytes, MS_SYNC) == 0);
    map(late, PAGE);
}

/* Every call, with and without a log beside the file, by a thread with the smallest stack that POSIX allows. */
static void *call_on_a_small_stack(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        int fd = open(named("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        REQUIRE(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
        uint8_t *memory = map(fd, 2 * PAGE);
        for (size_t at = 0; at < 2 * PAGE; at++)
            memory[at] = (uint8_t)(at + 1);
        REQUIRE(msync(memory, 2 * PAGE, MS_SYNC) == 0);
        memory[0] = 9;
        REQUIRE(msync(memory, PAGE, MS_INVALIDATE) == 0 && memory[0] == 1);
        REQUIRE(mremap(memory, 2 * PAGE, 3 * PAGE, 0) == memory);
        REQUIRE(ftruncate(fd, 3 * PAGE) == 0 && posix_fallocate(fd, 0, 4 * PAGE) == 0);
        REQUIRE(pwrite(fd, "bytes", 5, 0) == 5 && pread(fd, memory + PAGE, 5, 0) == 5 && fsync(fd) == 0);
        memory[0] = 9;
        REQUIRE(munmap(memory, 3 * PAGE) == 0);
        REQUIRE(close(fd) == 0); /* and discards a store */
        fd = open(named("file"), O_RDONLY | O_CLOEXEC);
        REQUIRE(fd >= 0 && read(fd, &i, 0) == 0 && close(fd) == 0);
        REQUIRE(truncate(named("file"), PAGE) == 0);
    }
    REQUIRE(unlink(named("file")) == 0);
    return NULL;
}

/* These calls have more paths, or a buffer. */
static void *move_and_copy(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        int fd = open(named("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        REQUIRE(fd >= 0 && ftruncate(fd, 2 * PAGE) == 0);
        uint8_t *memory = map(fd, 2 * PAGE);
        REQUIRE(rename(named("file"), named("moved")) == 0);
        REQUIRE(renameat(AT_FDCWD, named("moved"), AT_FDCWD, named("file")) == 0);
        off_t from = 0, to = PAGE;
        REQUIRE(copy_file_range(fd, &from, fd, &to, PAGE, 0) == (ssize_t)PAGE);
        REQUIRE(munmap(memory, 2 * PAGE) == 0 && close(fd) == 0);
    }
    REQUIRE(unlinkat(AT_FDCWD, named("file"), 0) == 0);
    return NULL;
}

static void run_on_a_stack(void *(*calls)(void *), size_t bytes) {
    pthread_attr_t attributes;
    pthread_t thread;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
    REQUIRE(pthread_create(&thread, &attributes, calls, NULL) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* The processor determines the smallest stack: it has room for all registers. */
static void small_stack_suffices(void) {
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    run_on_a_stack(call_on_a_small_stack, least);
    run_on_a_stack(move_and_copy, least + (16 << 10));
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"locks-end-beside-a-child", locks_end_beside_a_child},
    {"child-takes-over-an-idle-file", child_takes_over_an_idle_file},
    {"cancelled-thread-holds-no-lock", cancelled_thread_holds_no_lock},
    {"limit-is-not-passed", limit_is_not_passed},
    {"small-stack-suffices", small_stack_suffices},
};

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    folder = argv[2];
    alarm(TIME_LIMIT_S);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
