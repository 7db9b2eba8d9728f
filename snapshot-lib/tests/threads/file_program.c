// SPDX-License-Identifier: BSD-3-Clause
// Calls by descriptor, mappings and sizes of one file, by two threads at the same time.
#define _GNU_SOURCE
#include "thread_cases.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static int fd;
static char *memory;
static atomic_int is_over;
static atomic_long turns;
static pthread_barrier_t barrier;

static void finish(pthread_t thread) {
    is_over = 1;
    pthread_join(thread, NULL);
}

// ---- Sizes beside mappings and reads ----

static void *map_and_commit(void *unused) {
    while (!is_over) {
        char *page = map(fd, PAGE);
        page[turns % PAGE]++;
        check(msync(page, PAGE, MS_SYNC) == 0, "msync");
        check(munmap(page, PAGE) == 0, "munmap");
        turns++;
    }
    return unused;
}

static void resize_beside_map(const char *folder) {
    fd = file_in(folder, "file", 2 * PAGE);
    memory = map(fd, 2 * PAGE);
    memory[0] = 1;
    check(msync(memory, PAGE, MS_SYNC) == 0 && munmap(memory, 2 * PAGE) == 0, "the file gets a log");
    pthread_t thread = start(map_and_commit, NULL);
    for (int i = 0; i < 5000; i++)
        check(ftruncate(fd, (i & 1 ? 2 : 3) * PAGE) == 0, "ftruncate");
    while (turns == 0)
        usleep(100);
    finish(thread);
}

#define READ_BYTES (1 << 20)

static void *read_all(void *unused) {
    static char bytes[READ_BYTES];
    for (; !is_over; turns++)
        check(pread(fd, bytes, sizeof(bytes), 0) >= 0, "pread");
    return unused;
}

static void *write_all(void *unused) {
    static char bytes[READ_BYTES / 4];
    for (; !is_over; turns++)
        check(pwrite(fd, bytes, sizeof(bytes), 0) == sizeof(bytes), "pwrite");
    return unused;
}

static void cut_beside(const char *folder, void *(*work)(void *)) {
    fd = file_in(folder, "file", READ_BYTES);
    memory = map(fd, READ_BYTES);
    memset(memory, 1, READ_BYTES);
    pthread_t thread = start(work, NULL);
    for (int i = 0; i < 2000; i++)
        check(ftruncate(fd, PAGE) == 0 && ftruncate(fd, READ_BYTES) == 0, "ftruncate");
    finish(thread);
}

static void cut_beside_read(const char *folder) { cut_beside(folder, read_all); }
static void cut_beside_write(const char *folder) { cut_beside(folder, write_all); }

// ---- Two threads that write ----

#define GROWN_BYTES 65536
#define ROUNDS 500

static void *grow(void *argument) {
    char mark = 'a' + (argument != NULL), bytes[GROWN_BYTES];
    memset(bytes, mark, sizeof(bytes));
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        off_t at = PAGE + (off_t)(2 * i + (argument != NULL)) * GROWN_BYTES;
        if (i & 1)
            check(posix_fallocate(fd, at, GROWN_BYTES) == 0, "posix_fallocate");
        check(pwrite(fd, bytes, sizeof(bytes), at) == sizeof(bytes), "pwrite");
    }
    return NULL;
}

static void grow_beside_grow(const char *folder) {
    fd = file_in(folder, "file", PAGE);
    memory = map(fd, PAGE);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread = start(grow, NULL);
    grow(&barrier);
    pthread_join(thread, NULL);
    struct stat status;
    check(fstat(fd, &status) == 0 && status.st_size == PAGE + 2ll * ROUNDS * GROWN_BYTES, "the size");
    for (int i = 0; i < 2 * ROUNDS; i++) {
        char ends[2] = {0};
        off_t at = PAGE + (off_t)i * GROWN_BYTES;
        check(pread(fd, ends, 1, at) == 1 && pread(fd, ends + 1, 1, at + GROWN_BYTES - 1) == 1, "pread");
        check(ends[0] == 'a' + i % 2 && ends[1] == ends[0], "a written block is lost");
    }
}

#define RECORDS 10000
#define RECORD_BYTES 16

static void *append(void *argument) {
    char record[RECORD_BYTES + 1];
    for (int i = 0; i < RECORDS; i++) {
        snprintf(record, sizeof(record), "%d %013d", argument != NULL, i);
        check(write(argument ? *(int *)argument : fd, record, RECORD_BYTES) == RECORD_BYTES, "write");
    }
    return NULL;
}

static void append_with(const char *folder, int flags) {
    static char seen[2][RECORDS];
    char path[4096], record[RECORD_BYTES + 1] = {0};
    int other = file_in(folder, "file", RECORD_BYTES);
    memory = map(other, PAGE);
    snprintf(path, sizeof(path), "%s/file", folder);
    fd = open(path, O_RDWR | flags);
    check(fd >= 0 && lseek(fd, RECORD_BYTES, SEEK_SET) == RECORD_BYTES, "open");
    int second = flags ? open(path, O_RDWR | flags) : dup(fd);
    pthread_t thread = start(append, NULL);
    append(&second);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2 * RECORDS; i++) {
        check(pread(fd, record, RECORD_BYTES, (i + 1) * RECORD_BYTES) == RECORD_BYTES, "a record is lost");
        int number = atoi(record + 2);
        check((record[0] == '0' || record[0] == '1') && number < RECORDS, "a torn record");
        check(!seen[record[0] - '0'][number]++, "a record twice");
    }
}

static void append_beside_append(const char *folder) { append_with(folder, O_APPEND); }
static void write_at_one_position(const char *folder) { append_with(folder, 0); }

// ---- Commits beside changes of the mappings ----

static void *commit_last_page(void *unused) {
    while (!is_over)
        check(msync(memory + 3 * PAGE, PAGE, MS_ASYNC) == 0, "msync of a page that stays mapped");
    return unused;
}

// mremap() makes the first mapping [0,4) beside [2,4); munmap() then removes the second one.
static void commit_beside_unmap(const char *folder) {
    fd = file_in(folder, "file", 4 * PAGE);
    memory = map(fd, 4 * PAGE);
    pthread_t thread = start(commit_last_page, NULL);
    for (int i = 0; i < 300000; i++) {
        check(munmap(memory + PAGE, PAGE) == 0, "munmap of the second page");
        check(mremap(memory, PAGE, 4 * PAGE, MREMAP_MAYMOVE) == memory, "mremap");
        check(munmap(memory + 2 * PAGE, 2 * PAGE) == 0, "munmap of half of the file");
    }
    finish(thread);
}

// ---- Recovery and the end of a file ----

#define RECOVERED_BYTES (8 << 20)

static void *read_last_byte(void *got) {
    pthread_barrier_wait(&barrier);
    check(pread(fd, got, 1, RECOVERED_BYTES - 1) == 1, "pread");
    return NULL;
}

static void read_beside_recovery(const char *folder) {
    char got[2] = {0};
    fd = file_in(folder, "file", RECOVERED_BYTES);
    pid_t child = fork();
    if (child == 0) {
        memory = map(fd, RECOVERED_BYTES);
        for (int value = 1; value <= 2; value++) {
            memset(memory, value, RECOVERED_BYTES);
            check(msync(memory, PAGE, MS_SYNC) == 0, "msync");
        }
        kill(getpid(), SIGKILL);
    }
    check(waitpid(child, NULL, 0) == child, "waitpid");
    fd = dup(fd);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_t thread = start(read_last_byte, &got[0]);
    pthread_barrier_wait(&barrier);
    usleep(500);
    check(pread(fd, &got[1], 1, RECOVERED_BYTES - 1) == 1, "pread");
    pthread_join(thread, NULL);
    check(got[0] == 2 && got[1] == 2, "content from before recovery");
}

static void *read_until_closed(void *unused) {
    static char bytes[RECOVERED_BYTES];
    for (; pread(fd, bytes, sizeof(bytes), 0) >= 0; turns++)
        ;
    check(errno == EBADF, "pread");
    return unused;
}

// Uncommitted stores are discarded when the last descriptor is closed, though a thread reads by it at that moment.
static void close_beside_read(const char *folder) {
    char path[4096], byte = 0;
    fd = file_in(folder, "file", RECOVERED_BYTES);
    memory = map(fd, RECOVERED_BYTES);
    memset(memory, 1, RECOVERED_BYTES);
    check(msync(memory, PAGE, MS_SYNC) == 0, "msync");
    memory[0] = 9;
    check(munmap(memory, RECOVERED_BYTES) == 0, "munmap");
    pthread_t thread = start(read_until_closed, NULL);
    while (turns == 0)
        usleep(100);
    close(fd);
    pthread_join(thread, NULL);
    snprintf(path, sizeof(path), "%s/file", folder);
    int again = open(path, O_RDWR);
    check(pread(again, &byte, 1, 0) == 1 && byte == 1, "a store without a commit was kept");
}

static const struct test_case cases[] = {
    {"resize-beside-map", resize_beside_map},       {"cut-beside-read", cut_beside_read},
    {"cut-beside-write", cut_beside_write},         {"grow-beside-grow", grow_beside_grow},
    {"append-beside-append", append_beside_append}, {"write-at-one-position", write_at_one_position},
    {"commit-beside-unmap", commit_beside_unmap},   {"read-beside-recovery", read_beside_recovery},
    {"close-beside-read", close_beside_read},       {0},
};

int main(int argc, char **argv) { return run_case(cases, argc, argv); }
