/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * All that the core needs from its environment: fixed-width integers, error numbers, memcpy(). A kernel provides them
 * in headers of other names.
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
