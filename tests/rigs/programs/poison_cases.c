// SPDX-License-Identifier: BSD-3-Clause
// Accesses of a program to a poisoned line of a file on DAX:
//
//   poison_cases VERB FILE OFFSET
//
// prints the result of VERB at OFFSET, a multiple of 64. A signal ends the program, which prints the signal and exits
// with status 7.

#define _GNU_SOURCE
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { LINE_BYTES = 64, PAGE_BYTES = 4096, MAPPED_BYTES = 65536 };

static volatile char *base;

static void signalled(int number, siginfo_t *info, void *context) {
    (void)context;
    printf("signal %d code %d at %td, 1 << %d bytes\n", number, info->si_code, (volatile char *)info->si_addr - base,
           info->si_addr_lsb);
    fflush(stdout);
    _exit(7);
}

static sigjmp_buf after_signal;

static void skip(int number) {
    (void)number;
    siglongjmp(after_signal, 1);
}

// Load a byte of each page of a file that is full of x. Each load returns x or raises SIGBUS.
static void sweep(int file) {
    struct stat status;
    volatile long signals = 0, wrong = 0; // volatile: valid after a jump
    fstat(file, &status);
    volatile char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED)
        exit(1);
    signal(SIGBUS, skip);
    testbed_roi_begin(1);
    for (volatile long at = 0; at < status.st_size; at += PAGE_BYTES) {
        if (sigsetjmp(after_signal, 1))
            signals++;
        else
            wrong += bytes[at] != 'x';
    }
    testbed_roi_end();
    printf("%ld pages, %ld signals, %ld wrong\n", (long)status.st_size / PAGE_BYTES, signals, wrong);
}

// The device has one region, which begins at DPA 0.
static uint64_t dpa_of(const volatile char *address) {
    uint64_t entry = 0;
    unsigned long long region = 0;
    int pages = open("/proc/self/pagemap", O_RDONLY);
    FILE *resource = fopen("/sys/bus/cxl/devices/region0/resource", "r");
    if (pread(pages, &entry, sizeof entry, (off_t)((uintptr_t)address / PAGE_BYTES * sizeof entry)) != sizeof entry ||
        fscanf(resource, "%llx", &region) != 1)
        exit(1);
    return (entry & ((UINT64_C(1) << 55) - 1)) * PAGE_BYTES - region + (uintptr_t)address % PAGE_BYTES;
}

static void inject(const volatile char *address) {
    FILE *poison = fopen("/sys/kernel/debug/cxl/mem0/inject_poison", "w");
    fprintf(poison, "0x%llx\n", (unsigned long long)dpa_of(address));
    if (fclose(poison))
        exit(1);
}

static void store(volatile char *line, char value, int bytes) {
    for (int i = 0; i < bytes; i += 16)
        _mm_stream_si128((__m128i *)(line + i), _mm_set1_epi8(value));
}

static void run_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        exit(1);
}

static volatile int is_poisoned;

// The line is in all tables of this CPU when another CPU poisons it. The next load must not find the line there.
static void *load_until_poisoned(void *line) {
    run_on(1);
    while (!is_poisoned)
        (void)*(volatile char *)line;
    (void)*(volatile char *)line;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    const char *verb = argv[1];
    long offset = atol(argv[3]);
    int file = open(argv[2], O_RDWR);
    struct sigaction action = {.sa_sigaction = signalled, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
    base = mmap(NULL, MAPPED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || base == MAP_FAILED)
        return 1;
    volatile char *at = base + offset;

    if (!strcmp(verb, "sweep")) {
        sweep(file);
    } else if (!strcmp(verb, "dpa")) {
        (void)base[offset ^ LINE_BYTES]; // map the page without a load of the line, which may be poisoned
        printf("0x%llx\n", (unsigned long long)dpa_of(base + offset));
    } else if (!strcmp(verb, "load")) {
        printf("loaded %d\n", *at);
    } else if (!strcmp(verb, "add")) {
        printf("added to %d\n", __atomic_fetch_add((volatile int *)at, 1, __ATOMIC_SEQ_CST));
    } else if (!strcmp(verb, "store")) {
        for (int i = 0; i < LINE_BYTES; i++)
            at[i] = 8;
        printf("stored\n");
    } else if (!strcmp(verb, "stream")) {
        store(base + offset, 5, LINE_BYTES);
        _mm_sfence();
        printf("streamed, loaded %d\n", *at);
    } else if (!strcmp(verb, "stream-and-cut")) { // no fence or flush follows
        testbed_roi_begin(1);                     // here bytes take time to reach the device
        store(base + offset, 6, LINE_BYTES);
        testbed_power_cut();
    } else if (!strcmp(verb, "stream-most")) {
        store(base + offset, 7, LINE_BYTES - 16);
        _mm_sfence();
        printf("streamed\n");
    } else if (!strcmp(verb, "inject")) {
        (void)*at;
        inject(base + offset);
        printf("injected\n");
    } else if (!strcmp(verb, "load-while-injected")) {
        pthread_t loader;
        testbed_roi_begin(1); // here translated code finds lines in a line table
        pthread_create(&loader, NULL, load_until_poisoned, (void *)at);
        run_on(0);
        inject(base + offset);
        is_poisoned = 1;
        pthread_join(loader, NULL);
        printf("loaded to the end\n");
    } else if (!strcmp(verb, "read")) {
        char bytes[LINE_BYTES];
        ssize_t count = pread(file, bytes, sizeof bytes, offset);
        printf("read %zd %s\n", count, count < 0 ? strerror(errno) : "bytes");
    } else {
        return 2;
    }
    return 0;
}
