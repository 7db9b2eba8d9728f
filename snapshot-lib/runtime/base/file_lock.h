/* SPDX-License-Identifier: BSD-3-Clause */
/* The lock that lets one process at a time use a file. */
#ifndef SNAPSHOT_FILE_LOCK_H
#define SNAPSHOT_FILE_LOCK_H

#include "region.h"

int file_lock(struct region *region, const struct open_request *request);
void lock_close(int *fd);
int lock_exclusively(int fd);
bool path_is_of(const char *path, int fd);

#endif
