/* SPDX-License-Identifier: BSD-3-Clause */
/* Group commit of threads that commit the same file at the same time. */
#ifndef SNAPSHOT_GROUP_H
#define SNAPSHOT_GROUP_H

#include "log/thread_log.h"

/* True: another thread's commit includes the stores of the calling thread; `status` is the result of that commit.
 * False: the calling thread holds the mutex and must commit. `own`: its log. */
bool group_await(struct thread_log *own, int *status);

/* Called with the mutex, before announcements stop. */
void group_gather(struct region *region, const struct thread_log *own);

/* Called when the commit is durable, or has failed, and announcements have resumed. */
void group_release(struct region *region, struct thread_log *own, int status);

#endif
