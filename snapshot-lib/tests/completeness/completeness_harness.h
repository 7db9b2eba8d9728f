/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of the completeness test. The tracked file is the byte-exact copy of the working copy at the last msync:
 * after a commit both are equal in every byte, unless a write was not tracked; after a rollback they are equal, unless
 * a byte was changed behind the log's back.
 */
#ifndef COMPLETENESS_HARNESS_H
#define COMPLETENESS_HARNESS_H

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BYTES 16384u

struct wide {
    long words[9];
    char tail[5];
};

static unsigned char *memory;
static int file;

static struct wide make_wide(uint64_t seed) {
    struct wide value;
    for (int i = 0; i < 9; i++)
        value.words[i] = (long)(seed * (unsigned)(i + 3));
    memset(value.tail, (int)seed, sizeof(value.tail));
    return value;
}

/* Not inlined: the caller passes a copy on the stack, the result is stored through a pointer to the caller's target. */
static __attribute__((noinline)) struct wide change_wide(struct wide value, uint64_t seed) {
    value.words[seed % 9]++;
    return value;
}

static int compare_bytes(const void *a, const void *b) { return *(const unsigned char *)a - *(const unsigned char *)b; }

static void check_equal(const char *program, const char *when) {
    static unsigned char content[BYTES];
    if (syscall(SYS_pread64, file, content, BYTES, 0) != BYTES) /* not from the working copy */
        exit(3);
    for (unsigned i = 0; i < BYTES; i++)
        if (content[i] != memory[i]) {
            printf("%s: byte %u differs after the %s\n", program, i, when);
            exit(1);
        }
}

/* Not known to the compiler: any call of it may commit. */
static __attribute__((noinline)) void commit_here(void) {
    if (msync(memory, BYTES, MS_SYNC) < 0)
        exit(3);
    check_equal("a program", "commit in its middle");
}

static __attribute__((noinline)) void keep_list(void *place, ...) {
    va_list list;
    va_start(list, place);
    va_copy(*(va_list *)place, list);
    va_end(list);
}

static __attribute__((noinline)) void jump_back(void *buffer) { longjmp(*(jmp_buf *)buffer, 1); }

static void *store_in_thread(void *target) {
    memset(target, 0x5a, 100);
    return target;
}

typedef void program_function(unsigned char *m, uint64_t r);

/* Twice: once to be committed, once to be rolled back. The lines of a rollback stay logged until the next commit. */
static void run_program(const char *name, program_function *program, uint64_t seed) {
    program(memory, seed);
    if (msync(memory, BYTES, MS_SYNC) < 0)
        exit(3);
    check_equal(name, "commit");
    program(memory, seed * 7 + 1);
    if (msync(memory, BYTES, MS_INVALIDATE) < 0)
        exit(3);
    check_equal(name, "rollback");
    if (msync(memory, BYTES, MS_SYNC) < 0)
        exit(3);
}

static void open_tracked(const char *path) {
    file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, BYTES) < 0)
        exit(3);
    memory = (unsigned char *)mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file, 0);
    if (memory == MAP_FAILED)
        exit(3);
}

#endif
