/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * All that the core needs from its environment: fixed-width integers, error numbers, file modes, and memcpy() and
 * related functions. A kernel provides them in headers of other names.
 */
#ifndef TBFS_PORT_H
#define TBFS_PORT_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/stat.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#define UINT64_C(number) number##ull
#define UINT32_MAX U32_MAX
#define UINT64_MAX U64_MAX
#define UINTPTR_MAX ULONG_MAX
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#endif

#endif
