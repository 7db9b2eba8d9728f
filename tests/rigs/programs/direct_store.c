// SPDX-License-Identifier: BSD-3-Clause
// direct_store FILE: stores lines to a file and to memory by MOVDIR64B, with registers that are easily confused, and
// prints the results. Further stores must fail: to an address that is not the begin of a line, to read-only memory, and
// from a null pointer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static sigjmp_buf back;

static void on_signal(int number) { siglongjmp(back, number); }

static void store(void *to, const void *from) {
    __asm__ volatile(".byte 0x66, 0x0f, 0x38, 0xf8, 0x02" : : "a"(to), "d"(from) : "memory"); // (%rdx) to (%rax)
}

static void try_store(const char *what, void *to, const void *from) {
    int signal = sigsetjmp(back, 1);
    if (signal == 0)
        store(to, from);
    printf("%s: %s\n", what, signal ? strsignal(signal) : "stored");
}

int main(int argc, char **argv) {
    int file = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
    uint8_t from[200], *memory = aligned_alloc(4096, 4096), *media;
    if (file < 0 || posix_fallocate(file, 0, 4096))
        return 1;
    media = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (unsigned i = 0; i < sizeof(from); i++)
        from[i] = (uint8_t)(i * 7 + 1);
    signal(SIGSEGV, on_signal);
    signal(SIGILL, on_signal);
    memset(memory, 0, 4096);
    try_store("memory", memory + 128, from + 3);
    try_store("file", media + 4032, from + 64);
    __asm__ volatile("sfence" : : : "memory");
    printf("%d %d %d\n", memcmp(memory + 128, from + 3, 64), memcmp(media + 4032, from + 64, 64),
           memory[127] | memory[192]);
    try_store("behind a line's begin", memory + 8, from);
    mprotect(memory, 4096, PROT_READ);
    try_store("read-only", memory, from);
    try_store("from nowhere", media, NULL);
    media[0] = 9; // an ordinary store still works
    printf("%d %d\n", memory[8], media[0]);
    return 0;
}
