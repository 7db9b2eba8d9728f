/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hints for the caches of the host on which the model runs. */
#ifndef MODEL_HOST_CACHE_H
#define MODEL_HOST_CACHE_H

/*
 * Prefetch a line of the host that will be written soon. The assembly is volatile, because GCC regards a function that
 * only calls __builtin_prefetch() as free of effects and drops its calls.
 */
static inline void mem_host_expect(const void *line) {
#ifdef __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line)); /* the builtin does not emit it for every x86-64 */
#else
    __builtin_prefetch(line, 1);
#endif
}

#endif
