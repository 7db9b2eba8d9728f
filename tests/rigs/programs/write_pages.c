/* SPDX-License-Identifier: BSD-3-Clause */
/* write_pages FILE PAGE TIMES ...: in a region of interest, writes each PAGE by non-temporal stores, so many TIMES. */
#include <fcntl.h>
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "testbed_roi.h"

#define PAGE_BYTES 4096

int main(int argc, char **argv) {
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    char *base = mmap(NULL, 64 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (base == MAP_FAILED) {
        perror("write_pages");
        return 1;
    }
    testbed_roi_begin(1);
    for (int i = 2; i + 1 < argc; i += 2) {
        __m128i *page = (__m128i *)(base + atol(argv[i]) * PAGE_BYTES);
        for (long times = atol(argv[i + 1]); times > 0; times--)
            for (size_t at = 0; at < PAGE_BYTES / sizeof *page; at++)
                _mm_stream_si128(page + at, _mm_set1_epi8((char)times));
    }
    _mm_sfence();
    testbed_roi_end();
    return 0;
}
