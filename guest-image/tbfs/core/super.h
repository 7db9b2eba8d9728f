/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#ifndef TBFS_SUPER_H
#define TBFS_SUPER_H

#include "tbfs.h"

/* The copy that is sound. -EINVAL, -EPROTONOSUPPORT, -EUCLEAN: why neither is. */
int super_find(struct tbfs_space space, struct tbfs_super **super);

#endif
