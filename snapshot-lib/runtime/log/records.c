/* SPDX-License-Identifier: BSD-3-Clause */
/* The two records of the log file. They are written in turn, so one of them is always whole. */
#include "records.h"

#include "hash.h"
#include "persist.h"

static bool record_read(struct log_view log, uint64_t place, struct record *record) {
    *record = *(const struct record *)(const void *)(log.base + log_record_offset(place));
    return record->checksum == self_checksum(record) && (record->epoch & 1) == place;
}

/* One record may be torn. Two torn records, or two that do not follow each other, are damage. */
bool record_newest(struct log_view log, struct record *record) {
    struct record records[2];
    bool even = record_read(log, 0, &records[0]), odd = record_read(log, 1, &records[1]);
    if (!even && !odd)
        return false;
    unsigned newest = even && odd ? records[1].epoch > records[0].epoch : odd;
    *record = records[newest];
    return !(even && odd) || record->epoch_before == records[!newest].epoch;
}

void record_write(struct log_view log, struct record record) {
    _Alignas(LINE_BYTES) struct record sealed = record;
    sealed.checksum = self_checksum(&sealed);
    persist_copy(log.base + log_record_offset(sealed.epoch), &sealed, sizeof(sealed));
}

/* The new number is one or two beyond `epoch_used`: it selects the place that does not hold the last record. The
 * last record stays whole until the new one is. */
uint64_t record_retire(struct log_view log, uint32_t protocol, uint64_t epoch_last, uint64_t epoch_used) {
    uint64_t beyond = epoch_used + 1;
    uint64_t epoch = beyond + ((beyond ^ epoch_last ^ 1) & 1);
    record_write(log, (struct record){.epoch = epoch, .epoch_before = epoch_last, .protocol = protocol});
    return epoch;
}
