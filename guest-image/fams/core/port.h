/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * What the core uses of its surroundings: fixed-width integers, error numbers, memcpy(). A kernel has them under other
 * names of headers.
 */
#ifndef FAMS_PORT_H
#define FAMS_PORT_H

#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#else
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#endif

#endif
