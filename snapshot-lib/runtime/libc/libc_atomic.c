/* SPDX-License-Identifier: BSD-3-Clause */
/* Atomics of libatomic that the compiler does not inline: of any size, or of 16 bytes without -mcx16. */
#include <stdbool.h>

#include "libc_wrap.h"

/* The compiler reserves these names, so the functions are declared under other names here. */
void libatomic_load(size_t n, void *from, void *to, int order) __asm__("__atomic_load");
void libatomic_store(size_t n, void *to, void *from, int order) __asm__("__atomic_store");
void libatomic_exchange(size_t n, void *object, void *value, void *old, int order) __asm__("__atomic_exchange");
bool libatomic_compare_exchange(size_t n, void *object, void *expected, void *value, int success,
                                int failure) __asm__("__atomic_compare_exchange");

void WRAP(load)(size_t n, void *from, void *to, int order) __asm__("__snapshot_libc___atomic_load");
void WRAP(load)(size_t n, void *from, void *to, int order) {
    writes(to, n);
    libatomic_load(n, from, to, order);
}

void WRAP(store)(size_t n, void *to, void *from, int order) __asm__("__snapshot_libc___atomic_store");
void WRAP(store)(size_t n, void *to, void *from, int order) {
    writes(to, n);
    libatomic_store(n, to, from, order);
}

void WRAP(exchange)(size_t n, void *object, void *value, void *old,
                    int order) __asm__("__snapshot_libc___atomic_exchange");
void WRAP(exchange)(size_t n, void *object, void *value, void *old, int order) {
    writes(object, n);
    writes(old, n);
    libatomic_exchange(n, object, value, old, order);
}

bool WRAP(compare_exchange)(size_t n, void *object, void *expected, void *value, int success,
                            int failure) __asm__("__snapshot_libc___atomic_compare_exchange");
bool WRAP(compare_exchange)(size_t n, void *object, void *expected, void *value, int success, int failure) {
    writes(object, n);
    writes(expected, n);
    return libatomic_compare_exchange(n, object, expected, value, success, failure);
}
