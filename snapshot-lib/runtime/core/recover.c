/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery: the protocol that wrote the log brings the file to a committed state. Once this state is durable, a record
 * declares it the one to start from. Until the record is durable, a crash leads to the same work on the same log.
 */
#include "recover.h"

#include <errno.h>

#include "log/persist.h"
#include "log/records.h"
#include "protocol/protocols.h"

int recover(struct log_view log, uint8_t *backing, uint64_t data_bytes, const struct protocol *next,
            struct recovery *result) {
    uint64_t line_limit = (data_bytes + LINE_BYTES - 1) / LINE_BYTES;
    struct recovery_job job = {.log = log, .backing = backing, .line_limit = line_limit};
    if (!record_newest(log, &job.last))
        return -EUCLEAN;
    const struct protocol *protocol = protocol_by_id(job.last.protocol);
    if (!protocol)
        return -EINVAL; /* a protocol of a later version */
    int status = protocol->recover(&job);
    if (status < 0)
        return status;
    persist_fence();
    uint64_t record = record_retire(log, next->id, job.last.epoch, epoch_used_max(job.epoch));
    persist_fence();
    *result = (struct recovery){.epoch = job.epoch,
                                .epoch_next = record + 1,
                                .lines_undone = job.lines_undone,
                                .lines_replayed = job.lines_replayed};
    return 0;
}
