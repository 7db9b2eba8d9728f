/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stores to mapped files, each followed by a call that promises to keep them:
 *
 *     mapped make FOLDER          two files: `old` has been written, `holes` has no blocks
 *     mapped run FOLDER FLUSH     each of the steps below; mark n is passed before step n, and two more at the end
 *     mapped check FOLDER MARK    all steps before the mark are there, that of the mark may be, and no later one is
 *
 * A step stores one word to a page of each file. POSIX promises the effects of fsync(), fdatasync() and msync(), and
 * Linux those of sync(), syncfs() and a clean umount(). A line that the program flushes itself is promised with
 * MAP_SYNC only. FLUSH says how: `fence`, or `barrier` for memory that needs a pm_wbarrier as well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE = 4096, FILES = 2 };
static const char *const names[FILES] = {"old", "holes"};
static const char *folder;
static int has_barrier, fds[FILES];
static volatile uint64_t *words[FILES]; /* of the page that the step stores to */

static void expect(int holds, const char *call) {
    if (holds)
        return;
    fprintf(stderr, "mapped: %s: %s\n", call, strerror(errno));
    exit(2);
}

static void flush_words(void) {
    for (int i = 0; i < FILES; i++)
        _mm_clwb((void *)words[i]);
    _mm_sfence();
    if (has_barrier)
        testbed_wbarrier();
}

static void call_fsync(void) { expect(!fsync(fds[0]) && !fsync(fds[1]), "fsync"); }
static void call_fdatasync(void) { expect(!fdatasync(fds[0]) && !fdatasync(fds[1]), "fdatasync"); }
static void call_syncfs(void) { expect(!syncfs(fds[0]), "syncfs"); }
static void call_sync(void) { sync(); }

static void call_msync(void) {
    for (int i = 0; i < FILES; i++)
        expect(!msync((void *)words[i], PAGE, MS_SYNC), "msync");
}

/* Of this process only the two maps and the two files keep the file system busy. */
static void call_umount(void) {
    for (int i = 0; i < FILES; i++) {
        munmap((void *)words[i], PAGE);
        close(fds[i]);
    }
    expect(!umount(folder), "umount");
}

static const struct step {
    void (*keep)(void);
    int flags; /* of the mapping */
} steps[] = {
    {call_fsync, MAP_SHARED},
    {call_fdatasync, MAP_SHARED},
    {call_msync, MAP_SHARED},
    {call_syncfs, MAP_SHARED},
    {call_sync, MAP_SHARED},
    {call_fsync, MAP_SHARED_VALIDATE | MAP_SYNC},
    {call_msync, MAP_SHARED_VALIDATE | MAP_SYNC},
    {call_syncfs, MAP_SHARED_VALIDATE | MAP_SYNC},
    {flush_words, MAP_SHARED_VALIDATE | MAP_SYNC},
    {call_umount, MAP_SHARED},
};
enum { STEPS = sizeof(steps) / sizeof(*steps) };

static int opened(int file, int flags) {
    char path[300];

    snprintf(path, sizeof(path), "%s/%s", folder, names[file]);
    int fd = open(path, flags, 0644);
    expect(fd >= 0, path);
    return fd;
}

static void make(void) {
    static char page[PAGE];

    for (int i = 0; i < FILES; i++) {
        int fd = opened(i, O_RDWR | O_CREAT | O_TRUNC);
        expect(!ftruncate(fd, STEPS * PAGE), "ftruncate");
        for (int step = 0; i == 0 && step < STEPS; step++)
            expect(write(fd, page, PAGE) == PAGE, "write");
        expect(!fsync(fd), "fsync");
        close(fd);
    }
    sync();
}

static void make_step(const struct step *step, int number) {
    for (int i = 0; i < FILES; i++) {
        void *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, step->flags, fds[i], number * PAGE);
        expect(map != MAP_FAILED, "mmap");
        words[i] = map;
        *words[i] = (uint64_t)number + 1;
    }
    step->keep();
    for (int i = 0; i < FILES && step->keep != call_umount; i++)
        munmap((void *)words[i], PAGE);
}

static void run(void) {
    for (int i = 0; i < FILES; i++)
        fds[i] = opened(i, O_RDWR);
    for (int number = 0; number < STEPS; number++) {
        testbed_mark((uint32_t)number);
        make_step(&steps[number], number);
    }
    testbed_mark(STEPS);
    testbed_mark(STEPS + 1); /* states between the two have lost content that the last step promised to keep */
}

static int check(int mark) {
    for (int i = 0; i < FILES; i++)
        fds[i] = opened(i, O_RDONLY);
    for (int number = 0; number < STEPS; number++) {
        for (int i = 0; i < FILES; i++) {
            uint64_t word = 0, stored = (uint64_t)number + 1;
            expect(pread(fds[i], &word, sizeof(word), number * PAGE) == sizeof(word), "pread");
            if (word == stored ? number <= mark : word == 0 && number >= mark)
                continue;
            fprintf(stderr, "step %d of %s: %lu is there after mark %d\n", number, names[i], word, mark);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "", *more = argc > 3 ? argv[3] : "";

    folder = argc > 2 ? argv[2] : "";
    has_barrier = !strcmp(more, "barrier");
    if (!strcmp(verb, "make"))
        make();
    else if (!strcmp(verb, "run") && (has_barrier || !strcmp(more, "fence")))
        run();
    else if (!strcmp(verb, "check"))
        return check(atoi(more));
    else
        return 2;
    return 0;
}
