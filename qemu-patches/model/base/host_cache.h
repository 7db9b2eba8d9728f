/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the model tells the caches of the host that it runs on. */
#ifndef MODEL_HOST_CACHE_H
#define MODEL_HOST_CACHE_H

/*
 * This line of the host is written soon. Volatile, since GCC takes a function that does no more than
 * __builtin_prefetch() for one without effect and drops its calls.
 */
static inline void mem_host_expect(const void *line) {
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line)); /* what the builtin does not give every x86-64 */
#else
    __builtin_prefetch(line, 1);
#endif
}

#endif
