/* SPDX-License-Identifier: BSD-3-Clause */
/* A program of test cases: PROGRAM CASE FOLDER. It returns 0, or prints the fault and returns 1. */
#ifndef THREAD_CASES_H
#define THREAD_CASES_H

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

struct test_case {
    const char *name;
    void (*run)(const char *folder);
};

static inline void check(int is_good, const char *what) {
    if (is_good)
        return;
    printf("%s (%s)\n", what, strerror(errno));
    exit(1);
}

static inline int file_in(const char *folder, const char *name, size_t bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    check(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, path);
    return fd;
}

static inline char *map(int fd, size_t bytes) {
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(memory != MAP_FAILED, "mmap");
    return memory;
}

static inline pthread_t start(void *(*work)(void *), void *argument) {
    pthread_t thread;
    errno = pthread_create(&thread, NULL, work, argument);
    check(errno == 0, "pthread_create");
    return thread;
}

/* Run the case that the first argument names, in the folder of the second. */
static inline int run_case(const struct test_case *cases, int argc, char **argv) {
    for (; argc == 3 && cases->name; cases++)
        if (strcmp(cases->name, argv[1]) == 0) {
            alarm(60);
            cases->run(argv[2]);
            return 0;
        }
    return 2;
}

#endif
