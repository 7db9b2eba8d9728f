// SPDX-License-Identifier: BSD-3-Clause
// The measured loops, in assembly so that their instructions can be counted. Each round executes UNROLL operations,
// then two instructions of loop control (decrement, branch). One x86 instruction is one count of virtual time.
#ifndef KERNELS_H
#define KERNELS_H

#include <stdint.h>

enum { UNROLL = 16, LOOP_CONTROL_INSTRUCTIONS = 2, LINE_BYTES = 64 };
enum { CHASE_INSTRUCTIONS = 1, STORE_CLWB_SFENCE_INSTRUCTIONS = 3, NTSTORE_SFENCE_INSTRUCTIONS = 9 };

// mov (p), p: a load that depends on the previous one. Returns the node at which the chase stopped.
void *kernel_chase(void *node, uint64_t rounds);

// mov, clwb, sfence on UNROLL lines in turn.
void *kernel_store_clwb_sfence(void *lines, uint64_t rounds);

// Eight movnti, a whole line, and sfence, on UNROLL lines in turn.
void *kernel_ntstore_sfence(void *lines, uint64_t rounds);

// Evict every line of the range from the CPU's caches, writing dirty ones back.
void flush_range(const void *begin, uint64_t bytes);

// Load one byte every `step` bytes.
void touch_range(const void *begin, uint64_t bytes, uint64_t step);

#endif
