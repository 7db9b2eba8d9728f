/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapped file or device that holds a file system. */
#ifndef TBFS_IMAGE_H
#define TBFS_IMAGE_H

#include "../core/tbfs.h"

enum image_use { IMAGE_LOOK, IMAGE_CHANGE }; /* LOOK: recovery happens in memory, and the file stays unchanged */

/* 0 or -errno. */
int image_open(const char *path, enum image_use use, struct tbfs_space *space);
int image_close(const struct tbfs_space *space);

#endif
