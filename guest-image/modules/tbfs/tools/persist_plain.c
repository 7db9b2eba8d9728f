/* SPDX-License-Identifier: BSD-3-Clause */
/* Plain stores to a mapped file; image_close() makes all of them durable. */
#include "../core/persist.h"

void pm_store8(void *target, uint64_t value) { memcpy(target, &value, sizeof(value)); }
void pm_store16(void *target, const void *source) { memcpy(target, source, 16); }
void pm_store64(void *target, const void *source) { memcpy(target, source, 64); }
void pm_copy(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
void pm_copy_nt(void *target, const void *source, size_t bytes) { memcpy(target, source, bytes); }
void pm_zero_nt(void *target, size_t bytes) { memset(target, 0, bytes); }
void pm_flush(const void *target, size_t bytes) {
    (void)target;
    (void)bytes;
}
void pm_fence(void) {}
