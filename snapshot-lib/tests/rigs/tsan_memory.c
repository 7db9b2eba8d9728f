/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For tests under ThreadSanitizer: the library unmaps memory by a system call, which ThreadSanitizer does not see. It
 * would report a race between the last use of the memory and another thread that maps the same address next.
 */
#include <stddef.h>
#include <sys/mman.h>

int __wrap_kernel_munmap(void *address, size_t bytes);
int __wrap_kernel_munmap(void *address, size_t bytes) { return munmap(address, bytes); }
