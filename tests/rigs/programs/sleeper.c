/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Computes for a while and sleeps for a while, in turn: between two timers the only CPU executes more or fewer
 * instructions, and halts. At the end the program prints the time, and a digest of all times at which it woke.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}

int main(int argc, char **argv) {
    uint64_t digest = 1;
    for (int naps = argc > 1 ? atoi(argv[1]) : 1; naps > 0; naps--) {
        struct timespec nap = {.tv_nsec = 100000 + digest % 1000000};
        for (volatile unsigned steps = digest % 10000; steps > 0; steps--)
            ;
        nanosleep(&nap, NULL);
        digest = (digest ^ now_ns()) * 0x100000001b3; /* FNV-1a, a word at a time */
    }
    printf("%" PRIu64 " %" PRIx64 "\n", now_ns(), digest);
    return 0;
}
