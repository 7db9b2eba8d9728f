/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of each kind on the file system of this folder, each in a separate region of interest:
 *
 *     call_costs NUMBER     the regions of a call have the number of its place in `calls` below, plus NUMBER
 *
 * Each call is measured twice. Two calls come before, on other names or at the same place, so that code, names and logs
 * exist. A second passes before each measured call, so that the call also changes the times.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { BEFORE = 2, TIMES = 4, PART = 64, PAGE = 4096 };

static char bytes[2 * PAGE];
static int file, tail; /* descriptors: of two pages, and of a hundred bytes */
static char names[4][TIMES][8];

/* A negative result is a failure, and ends the program. */
static ssize_t create(int time) { return file = open(names[0][time], O_CREAT | O_EXCL | O_RDWR, 0644); }
static ssize_t make_folder(int time) { return mkdir(names[1][time], 0755); }
static ssize_t append(int time) { return write(tail, bytes, PART); }
static ssize_t overwrite(int time) { return pwrite(file, bytes, PART, PART); }
static ssize_t overwrite_page(int time) { return pwrite(file, bytes, PAGE, PAGE); }
static ssize_t look(int time) { return pread(file, bytes, PAGE, PAGE); }
static ssize_t change_mode(int time) { return fchmod(file, 0600 + (time & 1)); }
static ssize_t move(int time) { return rename(names[2][time], names[3][time]); }
static ssize_t cut(int time) { return ftruncate(tail, 50 - time); }
static ssize_t end(int time) { return unlink(names[3][time]); }

static ssize_t (*const calls[])(int time) = {create, make_folder, append, overwrite, overwrite_page,
                                             look,   change_mode, move,   cut,       end};

static void failed(const char *what) {
    perror(what);
    exit(1);
}

static int opened(const char *name, int flags, size_t size) {
    int found = open(name, O_CREAT | O_TRUNC | O_RDWR | flags, 0644);

    if (found < 0 || write(found, bytes, size) != (ssize_t)size)
        failed(name);
    return found;
}

int main(int argc, char **argv) {
    unsigned number = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

    memset(bytes, 'x', sizeof(bytes));
    for (int group = 0; group < 4; group++)
        for (int time = 0; time < TIMES; time++)
            snprintf(names[group][time], sizeof(names[group][time]), "%c%d", 'a' + group, time);
    for (int time = 0; time < TIMES; time++)
        close(opened(names[2][time], 0, sizeof(bytes)));
    tail = opened("tail", O_APPEND, 100);
    for (size_t call = 0; call < sizeof(calls) / sizeof(*calls); call++) {
        if (calls[call] == append || calls[call] == overwrite)
            file = opened("file", 0, sizeof(bytes));
        for (int time = 0; time < BEFORE; time++)
            if (calls[call](time) < 0)
                failed("a call before");
        for (int time = BEFORE; time < TIMES; time++) {
            usleep(1100000);
            testbed_roi_begin(number + (unsigned)call);
            ssize_t done = calls[call](time);
            testbed_roi_end();
            if (done < 0)
                failed("a call");
        }
    }
    return 0;
}
