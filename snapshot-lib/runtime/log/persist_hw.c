/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MOVNTDQ and SFENCE are part of every x86-64, so there is nothing to detect. Full lines leave through the
 * write-combining buffers as one transfer each; a store followed by CLWB would first read the line from the device.
 */
#include "persist.h"

#include <assert.h>
#include <emmintrin.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

void persist_copy(void *target, const void *source, size_t bytes) {
    assert((uintptr_t)target % 64 == 0 && (uintptr_t)source % 64 == 0 && bytes % 64 == 0);
    __m128i *to = target;
    const __m128i *from = source;
    for (size_t i = 0; i < bytes / sizeof(__m128i); i += 4) {
        __m128i a = _mm_load_si128(from + i), b = _mm_load_si128(from + i + 1);
        __m128i c = _mm_load_si128(from + i + 2), d = _mm_load_si128(from + i + 3);
        _mm_stream_si128(to + i, a);
        _mm_stream_si128(to + i + 1, b);
        _mm_stream_si128(to + i + 2, c);
        _mm_stream_si128(to + i + 3, d);
    }
}

void persist_fence(void) { _mm_sfence(); }

static bool barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

/*
 * The kernel interrupts every CPU that runs a thread of the process. On the CPU of a thread that does not run, it has
 * switched to another thread. Both empty the CPU's write-combining buffers.
 */
void persist_fence_all(void) {
    if (!barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
        !(barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)))
        (void)barrier(MEMBARRIER_CMD_GLOBAL);
    _mm_sfence();
}

int persist_resize(int fd, uint64_t bytes) {
    return syscall(SYS_ftruncate, fd, bytes) < 0 || syscall(SYS_fsync, fd) < 0 ? -errno : 0;
}
