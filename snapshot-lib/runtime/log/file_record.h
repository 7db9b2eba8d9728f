/* SPDX-License-Identifier: BSD-3-Clause */
/* Identifies the file of a log. */
#ifndef SNAPSHOT_FILE_RECORD_H
#define SNAPSHOT_FILE_RECORD_H

#include "base/region.h"
#include "format.h"

int file_identity_read(int fd, struct file_identity *identity);
bool file_record_is_of_another(int log_fd, const struct file_identity *identity);
int file_record_open(struct region *region, bool adopt);
struct file_record file_record_read(struct log_view log);
void file_record_write(struct log_view log, struct file_record record);

#endif
