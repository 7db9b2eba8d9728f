/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that use one file system at once. Each file has a known set of possible contents:
 *
 *     tbfs_stress run FOLDER SEED ROUNDS      fails at the first content or attribute that no thread has written
 *     tbfs_stress verify FOLDER               checks the contents again, after a mount
 *     tbfs_stress acknowledge FOLDER SEED ROUNDS    stores, synchronises and records it; ends with a power cut
 *     tbfs_stress acknowledged FOLDER         fails if a store that was synchronised is lost
 *
 * `cut` is cut, punched, written and mapped, and only ever gets bytes of 0xee. The pages of `own-N` are uniform, and
 * their writer remembers each. `record` is written and read as a whole. A block that is freed too early or written too
 * late therefore shows as a wrong byte in one of these files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE = 4096, CUT_PAGES = 32, OWN_PAGES = 16, OWNERS = 2, RECORD_BYTES = 16 * PAGE, NOBODY = 65534 };
enum { CUT_BYTE = 0xee, ACK_THREADS = 4, ACK_PAGES = 8 };

static const char *folder;
static unsigned first_seed;
static int rounds, failures;
static volatile int stopped;
static uint8_t *cut_map;
static __thread unsigned seed;
static __thread sigjmp_buf after_fault;
static __thread volatile sig_atomic_t may_fault;

static unsigned draw(unsigned below) { return (unsigned)rand_r(&seed) % below; }

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void fail(const char *format, ...) {
    va_list arguments;

    stopped = 1;
    if (__sync_fetch_and_add(&failures, 1) >= 5)
        return;
    va_start(arguments, format);
    fputs("tbfs_stress: ", stdout);
    vprintf(format, arguments);
    va_end(arguments);
    puts("");
}

static void expect(int holds, const char *call) {
    if (!holds)
        fail("%s: %s", call, strerror(errno));
}

static int opened(const char *name, int flags) {
    char path[300];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    fd = open(path, flags, 0644);
    if (fd < 0) {
        printf("tbfs_stress: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    return fd;
}

static uint8_t *mapped(int fd, size_t bytes) {
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (map == MAP_FAILED) {
        printf("tbfs_stress: mmap: %s\n", strerror(errno));
        exit(2);
    }
    return map;
}

static void check_uniform(const uint8_t *bytes, long count, int value, const char *what) {
    for (long i = 0; i < count; i++)
        if (bytes[i] != value) {
            fail("%s: byte %ld is %02x, not %02x", what, i, bytes[i], value);
            return;
        }
}

/* ---- A file that is cut while it is mapped ---- */

static void on_bus_error(int number) {
    if (!may_fault)
        _exit(128 + number);
    siglongjmp(after_fault, 1);
}

static void check_cut(const uint8_t *bytes, long count, const char *what) {
    for (long i = 0; i < count; i++)
        if (bytes[i] && bytes[i] != CUT_BYTE) {
            fail("%s: byte %ld of %ld is %02x, which nobody wrote there", what, i, count, bytes[i]);
            return;
        }
}

/* A store to a page that has just been cut off raises SIGBUS, after which the thread goes on. */
static void store_to_map(int number) {
    (void)number;
    while (!stopped) {
        volatile unsigned at = draw(CUT_PAGES * PAGE - 64);

        if (sigsetjmp(after_fault, 1))
            continue;
        may_fault = 1;
        memset(cut_map + at, CUT_BYTE, 64);
        if (draw(16) == 0)
            check_cut(cut_map + at, 64, "a mapped page of cut");
        may_fault = 0;
    }
}

static void read_cut(int number) {
    int fd = opened("cut", O_RDONLY);
    static __thread uint8_t bytes[8 * PAGE];

    (void)number;
    while (!stopped) {
        long got = pread(fd, bytes, sizeof(bytes), draw(CUT_PAGES) * PAGE);

        expect(got >= 0, "read of cut");
        check_cut(bytes, got, "a read of cut");
    }
    close(fd);
}

static void cut(int number) {
    int fd = opened("cut", O_RDWR);
    uint8_t bytes[2 * PAGE];

    (void)number;
    memset(bytes, CUT_BYTE, sizeof(bytes));
    for (int i = 0; i < rounds && !stopped; i++) {
        unsigned page = draw(CUT_PAGES - 2), count = 1 + draw(4);

        switch (draw(4)) {
        case 0:
            expect(ftruncate(fd, draw(CUT_PAGES * PAGE)) == 0, "ftruncate of cut");
            expect(ftruncate(fd, CUT_PAGES * PAGE) == 0, "ftruncate of cut");
            break;
        case 1:
            expect(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, page * PAGE, count * PAGE) == 0, "punch");
            break;
        case 2:
            expect(pwrite(fd, bytes, 1 + draw(sizeof(bytes)), page * PAGE + draw(PAGE)) > 0, "write to cut");
            break;
        case 3:
            expect(fallocate(fd, FALLOC_FL_KEEP_SIZE, page * PAGE, count * PAGE) == 0, "fallocate of cut");
            break;
        }
    }
    stopped = 1;
    close(fd);
}

/* ---- Files of one writer, which take the blocks that others free ---- */

static void own(int number) {
    char name[20];
    uint8_t now[OWN_PAGES] = {0}, bytes[PAGE];
    int fd;

    snprintf(name, sizeof(name), "own-%d", number);
    fd = opened(name, O_RDWR | O_CREAT | O_TRUNC);
    while (!stopped) {
        unsigned page = draw(OWN_PAGES);
        long got = pread(fd, bytes, PAGE, page * PAGE);

        expect(got >= 0, "read of own");
        check_uniform(bytes, got, now[page], name);
        now[page] = (uint8_t)(1 + draw(100) + 100 * (number % 2));
        memset(bytes, now[page], PAGE);
        expect(pwrite(fd, bytes, PAGE, page * PAGE) == PAGE, "write to own");
    }
    close(fd);
}

/* ---- A record that one write replaces: a read returns all of a write or nothing of it ---- */

static void write_record(int number) {
    int fd = opened("record", O_RDWR);
    static uint8_t bytes[RECORD_BYTES];

    (void)number;
    for (int i = 0; !stopped; i++) {
        memset(bytes, 1 + i % 200, sizeof(bytes));
        expect(pwrite(fd, bytes, sizeof(bytes), 0) == sizeof(bytes), "write of the record");
    }
    close(fd);
}

static void read_record(int number) {
    int fd = opened("record", O_RDONLY);
    static uint8_t bytes[RECORD_BYTES];

    (void)number;
    while (!stopped) {
        expect(pread(fd, bytes, sizeof(bytes), 0) == sizeof(bytes), "read of the record");
        check_uniform(bytes, sizeof(bytes), bytes[0], "the record");
    }
    close(fd);
}

/* ---- Attributes of a file that others map, write and cut ---- */

static void set_as(uid_t user) { syscall(SYS_setresuid, -1, user, -1); } /* of this thread alone */

static struct stat status_of(int fd) {
    struct stat status = {0};

    expect(fstat(fd, &status) == 0, "fstat");
    return status;
}

/* A write by a user without CAP_FSETID clears the setuid bit, and nothing may set it again. */
static void check_setuid(int fd) {
    uint8_t byte = CUT_BYTE;

    expect(fchmod(fd, 04777) == 0, "fchmod");
    set_as(NOBODY);
    expect(pwrite(fd, &byte, 1, 0) == 1, "write by nobody");
    set_as(0);
    if (status_of(fd).st_mode & S_ISUID)
        fail("a setuid bit that a write has cleared is back");
}

static void change_attributes(int number) {
    int fd = opened("cut", O_RDWR);
    time_t start = time(NULL);

    (void)number;
    for (int i = 0; !stopped; i++) {
        mode_t mode = 0600 | draw(0200);
        struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        struct stat status;

        expect(fchown(fd, (uid_t)i % 1000, (gid_t)i % 500) == 0, "fchown");
        expect(futimens(fd, times) == 0, "futimens");
        expect(fchmod(fd, mode) == 0, "fchmod");
        status = status_of(fd);
        if ((status.st_mode & 07777) != mode)
            fail("fchmod() gave the mode %o, and it is %o", mode, status.st_mode & 07777);
        if (status.st_uid != (uid_t)i % 1000 || status.st_gid != (gid_t)i % 500)
            fail("fchown() gave the owner %d, and it is %u", i % 1000, status.st_uid);
        if (status.st_atime != 1000 + i || (status.st_mtime != 1000 + i && status.st_mtime < start))
            fail("futimens() gave the times %d, and they are %ld, %ld", 1000 + i, status.st_atime, status.st_mtime);
        check_setuid(fd);
    }
    close(fd);
}

/* ---- Names ---- */

static void rename_over(int number) {
    uint8_t bytes[2 * PAGE];
    int at = opened("", O_RDONLY | O_DIRECTORY);

    (void)number;
    for (int i = 0; !stopped; i++) {
        int fd = openat(at, "new", O_RDWR | O_CREAT | O_EXCL, 0644);

        memset(bytes, 1 + i % 200, sizeof(bytes));
        expect(fd >= 0 && write(fd, bytes, sizeof(bytes)) == sizeof(bytes), "write of new");
        close(fd);
        expect(linkat(at, "new", at, "second", 0) == 0, "link");
        expect(renameat(at, "new", at, "name") == 0, "rename");
        expect(unlinkat(at, "second", 0) == 0, "unlink");
        if (openat(at, "second", O_RDONLY) >= 0)
            fail("a name is there after unlink()");
    }
    close(at);
}

static void read_name(int number) {
    uint8_t bytes[2 * PAGE];

    (void)number;
    while (!stopped) {
        int fd = opened("name", O_RDONLY);

        expect(read(fd, bytes, sizeof(bytes)) == sizeof(bytes), "read of name");
        check_uniform(bytes, sizeof(bytes), bytes[0], "name");
        close(fd);
    }
}

/* ---- Calls that synchronise, and a remount ---- */

static void synchronise(int number) {
    int fd = opened("cut", O_RDWR);

    (void)number;
    while (!stopped) {
        unsigned page = draw(CUT_PAGES);

        switch (draw(16)) {
        case 0:
            expect(syncfs(fd) == 0, "syncfs");
            break;
        case 1:
            expect(mount(NULL, folder, NULL, MS_REMOUNT, NULL) == 0, "remount");
            break;
        case 2:
            expect(mount(NULL, folder, NULL, MS_REMOUNT | MS_RDONLY, NULL) < 0, "a read-only remount is refused");
            break;
        case 3 ... 6:
            expect(fsync(fd) == 0, "fsync");
            break;
        default:
            expect(msync(cut_map + page * PAGE, (CUT_PAGES - page) * PAGE, MS_SYNC) == 0, "msync");
        }
        usleep(20);
    }
    close(fd);
}

/* ---- A page that a pipe holds keeps its block, as a page that a device reads by DMA does ---- */

static volatile int held;

static void hold_page(int number) {
    int fd = opened("held", O_RDWR), ends[2];
    uint8_t bytes[PAGE], *map = mapped(fd, PAGE);
    struct iovec page = {map, PAGE};

    (void)number;
    expect(pipe(ends) == 0, "pipe");
    while (!stopped) {
        memset(bytes, 'h', PAGE);
        expect(pwrite(fd, bytes, PAGE, 0) == PAGE, "write to held");
        if (vmsplice(ends[1], &page, 1, 0) != PAGE) { /* cut_held() cuts once more at the end */
            expect(stopped, "vmsplice");
            break;
        }
        held = 1;
        usleep(100 + draw(200));
        expect(read(ends[0], bytes, PAGE) == PAGE, "read of the pipe");
        check_uniform(bytes, PAGE, 'h', "a page that a pipe held");
        while (held && !stopped)
            usleep(10);
    }
    held = 0;
    close(fd);
}

static void cut_held(int number) {
    int fd = opened("held", O_RDWR), other = opened("taken", O_RDWR);
    uint8_t bytes[PAGE];

    (void)number;
    memset(bytes, 't', PAGE);
    while (!stopped) {
        while (!held && !stopped)
            usleep(10);
        expect(ftruncate(fd, 0) == 0, "ftruncate of held");
        for (int i = 0; i < 4; i++)
            expect(pwrite(other, bytes, PAGE, i * PAGE) == PAGE, "write to taken");
        expect(ftruncate(other, 0) == 0, "ftruncate of taken");
        held = 0;
    }
    close(fd);
    close(other);
}

/* ---- The whole run ---- */

struct worker {
    void (*work)(int number);
    int number;
    pthread_t thread;
};

static void *start(void *context) {
    struct worker *worker = context;

    seed = first_seed * 1009 + (unsigned)worker->number;
    worker->work(worker->number);
    return NULL;
}

static void run_all(struct worker *workers, size_t count) {
    for (size_t i = 0; i < count; i++)
        pthread_create(&workers[i].thread, NULL, start, &workers[i]);
    for (size_t i = 0; i < count; i++)
        pthread_join(workers[i].thread, NULL);
}

static void make_files(void) {
    static uint8_t bytes[RECORD_BYTES];
    int fd = opened("cut", O_RDWR | O_CREAT | O_TRUNC);

    memset(bytes, 1, sizeof(bytes));
    expect(ftruncate(fd, CUT_PAGES * PAGE) == 0, "ftruncate");
    cut_map = mapped(fd, CUT_PAGES * PAGE);
    close(fd);
    fd = opened("record", O_RDWR | O_CREAT | O_TRUNC);
    expect(write(fd, bytes, sizeof(bytes)) == sizeof(bytes), "write of the record");
    close(fd);
    fd = opened("name", O_RDWR | O_CREAT | O_TRUNC);
    expect(write(fd, bytes, 2 * PAGE) == 2 * PAGE, "write of name");
    close(fd);
    close(opened("held", O_RDWR | O_CREAT | O_TRUNC));
    close(opened("taken", O_RDWR | O_CREAT | O_TRUNC));
}

/* The contents that a mount must show, however the threads ended. */
static void verify(void) {
    static uint8_t bytes[CUT_PAGES * PAGE];
    int fd = opened("cut", O_RDONLY);

    check_cut(bytes, read(fd, bytes, sizeof(bytes)), "cut");
    close(fd);
    for (int i = 0; i < OWNERS; i++) {
        char name[20];

        snprintf(name, sizeof(name), "own-%d", i);
        fd = opened(name, O_RDONLY);
        while (read(fd, bytes, PAGE) == PAGE)
            check_uniform(bytes, PAGE, bytes[0], name);
        close(fd);
    }
    fd = opened("record", O_RDONLY);
    expect(read(fd, bytes, RECORD_BYTES) == RECORD_BYTES, "read of the record");
    check_uniform(bytes, RECORD_BYTES, bytes[0], "the record");
    close(fd);
}

static void run(void) {
    static struct worker workers[] = {
        {store_to_map, 0, 0}, {store_to_map, 1, 0},      {cut, 2, 0},          {own, 0, 0},
        {own, 1, 0},          {write_record, 5, 0},      {read_record, 6, 0},  {read_cut, 7, 0},
        {rename_over, 9, 0},  {read_name, 10, 0},        {synchronise, 11, 0}, {hold_page, 12, 0},
        {cut_held, 13, 0},    {change_attributes, 8, 0},
    };

    make_files();
    run_all(workers, sizeof(workers) / sizeof(*workers));
    verify();
}

/* ---- Stores that were synchronised, and a power cut ---- */

static int acks_fd;
static uint8_t *ack_map;

/* Each thread has separate pages. A number is recorded, durably, once its page is synchronised. */
static void store_and_acknowledge(int number) {
    int fd = opened("acks-data", O_RDWR);

    for (uint64_t i = 1; i <= (uint64_t)rounds && !stopped; i++) {
        unsigned page = (unsigned)number * ACK_PAGES + draw(ACK_PAGES);
        uint64_t *word = (uint64_t *)(ack_map + page * PAGE + draw(PAGE / 64) * 64);
        uint64_t record[2] = {(uint64_t)((uint8_t *)word - ack_map), i};

        __atomic_store_n(word, i, __ATOMIC_RELAXED);
        expect((draw(4) ? fsync(fd) : syncfs(fd)) == 0, "fsync");
        expect(pwrite(acks_fd, record, sizeof(record), number * PAGE) == sizeof(record), "write of the record");
    }
    testbed_power_cut(); /* called by the first thread that ends */
}

static void acknowledge(void) {
    struct worker workers[ACK_THREADS];
    int fd = opened("acks-data", O_RDWR | O_CREAT | O_TRUNC);

    expect(ftruncate(fd, ACK_THREADS * ACK_PAGES * PAGE) == 0, "ftruncate");
    ack_map = mapped(fd, ACK_THREADS * ACK_PAGES * PAGE);
    acks_fd = opened("acks", O_RDWR | O_CREAT | O_TRUNC);
    for (int i = 0; i < ACK_THREADS; i++)
        workers[i] = (struct worker){store_and_acknowledge, i, 0};
    run_all(workers, ACK_THREADS);
    fail("there was no power cut");
}

static void check_acknowledged(void) {
    int fd = opened("acks-data", O_RDONLY), acks = opened("acks", O_RDONLY);

    for (int i = 0; i < ACK_THREADS; i++) {
        uint64_t record[2] = {0}, word = 0;

        expect(pread(acks, record, sizeof(record), i * PAGE) == sizeof(record), "read of acks");
        expect(pread(fd, &word, sizeof(word), (off_t)record[0]) == sizeof(word), "read of acks-data");
        printf("thread %d: %lu acknowledged\n", i, record[1]);
        if (word < record[1] || record[1] == 0)
            fail("thread %d synchronised %lu, and %lu is there", i, record[1], word);
    }
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "";
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER};

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGBUS, &action, NULL);
    folder = argc > 2 ? argv[2] : "";
    first_seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
    rounds = argc > 4 ? atoi(argv[4]) : 0;
    if (!strcmp(verb, "run"))
        run();
    else if (!strcmp(verb, "verify"))
        verify();
    else if (!strcmp(verb, "acknowledge"))
        acknowledge();
    else if (!strcmp(verb, "acknowledged"))
        check_acknowledged();
    else
        return 2;
    return failures != 0;
}
