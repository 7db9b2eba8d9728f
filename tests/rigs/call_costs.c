/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of each kind on the file system of this folder, each in a region of interest of its own:
 *
 *     call_costs NUMBER     the regions of a call have its place in `calls` below, and NUMBER more
 *
 * A call is measured twice. It was made twice before, on other names or at the same place, so that code, names and logs
 * are there. A second has passed since the last one, so that the times change, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { BEFORE = 2, TIMES = 4, PART = 64 };

static char bytes[8192];
static int file, tail; /* descriptors: of two pages, and of a hundred bytes */
static char names[4][TIMES][8];

static void create(int time) { file = open(names[0][time], O_CREAT | O_EXCL | O_RDWR, 0644); }
static void make_folder(int time) { (void)!mkdir(names[1][time], 0755); }
static void append(int time) { (void)!write(tail, bytes, PART); }
static void overwrite(int time) { (void)!pwrite(file, bytes, PART, PART); }
static void overwrite_page(int time) { (void)!pwrite(file, bytes, 4096, 4096); }
static void look(int time) { (void)!pread(file, bytes, 4096, 4096); }
static void change_mode(int time) { (void)!fchmod(file, 0600 + (time & 1)); }
static void move(int time) { (void)!rename(names[2][time], names[3][time]); }
static void cut(int time) { (void)!ftruncate(tail, 50 - time); }
static void end(int time) { (void)!unlink(names[3][time]); }

static void (*const calls[])(int time) = {create, make_folder, append, overwrite, overwrite_page,
                                          look,   change_mode, move,   cut,       end};

static int opened(const char *name, size_t size) {
    int found = open(name, O_CREAT | O_TRUNC | O_RDWR | O_APPEND * (size < 4096), 0644);

    if (found < 0 || write(found, bytes, size) != (ssize_t)size)
        exit((perror(name), 1));
    return found;
}

int main(int argc, char **argv) {
    unsigned number = argc > 1 ? (unsigned)atoi(argv[1]) : 0;

    memset(bytes, 'x', sizeof(bytes));
    for (int group = 0; group < 4; group++)
        for (int time = 0; time < TIMES; time++)
            snprintf(names[group][time], sizeof(names[group][time]), "%c%d", 'a' + group, time);
    for (int time = 0; time < TIMES; time++)
        close(opened(names[2][time], sizeof(bytes)));
    tail = opened("tail", 100);
    for (size_t call = 0; call < sizeof(calls) / sizeof(*calls); call++) {
        if (calls[call] == append || calls[call] == overwrite)
            file = opened("file", sizeof(bytes));
        for (int time = 0; time < BEFORE; time++)
            calls[call](time);
        for (int time = BEFORE; time < TIMES; time++) {
            usleep(1100000);
            testbed_roi_begin(number + (unsigned)call);
            calls[call](time);
            testbed_roi_end();
        }
    }
    return 0;
}
