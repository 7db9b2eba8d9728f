/* SPDX-License-Identifier: BSD-3-Clause */
/* A file or device that holds a file system, mapped. */
#ifndef TBFS_IMAGE_H
#define TBFS_IMAGE_H

#include "../core/tbfs.h"

enum image_use { IMAGE_LOOK, IMAGE_CHANGE }; /* to look at it: recovery happens in memory, and the file stays */

/* 0 or -errno. */
int image_open(const char *path, enum image_use use, struct tbfs_space *space);
int image_close(const struct tbfs_space *space);

#endif
