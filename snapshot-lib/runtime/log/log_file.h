/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SNAPSHOT_LOG_FILE_H
#define SNAPSHOT_LOG_FILE_H

#include "base/region.h"

struct stat;

int log_file_find(struct region *region, const char *data_path);
int log_file_open(struct region *region, const char *data_path, unsigned flags);
int log_file_grow(struct region *region, uint64_t chunk_count);
void log_file_inherit(void); /* called by a forked child */
bool log_says_nothing(struct log_view log);
int log_file_move(struct region *region, uint64_t span_bytes);
void log_file_close(struct region *region);
int log_file_discard_stale(struct region *region, int data_fd, const struct stat *data);
void log_file_format(struct log_view log, const struct protocol *protocol);
int log_file_check(struct log_view log);
void *map_shared(int fd, uint64_t bytes, void *fixed);

#endif
