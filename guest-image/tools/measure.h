// SPDX-License-Identifier: BSD-3-Clause
// Clocks, working sets and statistics shared by the guest's measuring programs.
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// CLOCK_MONOTONIC, which is virtual time.
uint64_t now_ns(void);

// The least difference between two readings of the clock with nothing between them.
uint64_t clock_overhead_ns(void);

uint64_t read_tsc(void);

// A pseudo-random number; the sequence is the same in every run.
uint64_t next_random(uint64_t *state);

// Populated anonymous memory; never returns NULL.
void *map_anonymous(uint64_t bytes);

// Creates a file of that size, with every byte written (an unwritten extent would be read from the DRAM zero page), and
// maps and populates it.
void *map_file(const char *path, uint64_t bytes);

// Link one node every `step` bytes into one random cycle and return a node of it.
void *build_cycle(void *begin, uint64_t bytes, uint64_t step, uint64_t seed);

// Parses "32K", "64M", "1G" or a number of bytes. Exits with status 2 and a sentence that names the option on anything
// else.
uint64_t parse_bytes(const char *option, const char *text);

// Print a sentence to stderr and exit with status 2.
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#ifdef __cplusplus
}
#endif

#endif
