// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.h"

__attribute__((noinline)) void *kernel_chase(void *node, uint64_t rounds) {
    __asm__ volatile("1:\n\t"
                     ".rept 16\n\t"
                     "mov (%0), %0\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(node), "+r"(rounds)
                     :
                     : "memory", "cc");
    return node;
}

__attribute__((noinline)) void *kernel_store_clwb_sfence(void *lines, uint64_t rounds) {
    __asm__ volatile("1:\n\t"
                     ".set offset, 0\n\t"
                     ".rept 16\n\t"
                     "mov %1, offset(%0)\n\t"
                     "clwb offset(%0)\n\t"
                     "sfence\n\t"
                     ".set offset, offset + 64\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(lines), "+r"(rounds)
                     :
                     : "memory", "cc");
    return lines;
}

__attribute__((noinline)) void *kernel_ntstore_sfence(void *lines, uint64_t rounds) {
    __asm__ volatile("1:\n\t"
                     ".set offset, 0\n\t"
                     ".rept 16\n\t"
                     ".rept 8\n\t"
                     "movnti %1, offset(%0)\n\t"
                     ".set offset, offset + 8\n\t"
                     ".endr\n\t"
                     "sfence\n\t"
                     ".endr\n\t"
                     "dec %1\n\t"
                     "jnz 1b"
                     : "+r"(lines), "+r"(rounds)
                     :
                     : "memory", "cc");
    return lines;
}

void flush_range(const void *begin, uint64_t bytes) {
    const char *line = begin;
    for (const char *end = line + bytes; line < end; line += LINE_BYTES)
        __asm__ volatile("clflushopt %0" : : "m"(*line) : "memory");
    __asm__ volatile("sfence" : : : "memory");
}

void touch_range(const void *begin, uint64_t bytes, uint64_t step) {
    const volatile char *at = begin;
    for (const volatile char *end = at + bytes; at < end; at += step)
        (void)*at;
}
