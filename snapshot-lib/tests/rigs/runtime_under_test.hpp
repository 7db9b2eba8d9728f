// SPDX-License-Identifier: BSD-3-Clause
//
// The runtime seen from inside, for tests.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <utility>

#define _Alignas alignas
#define _Static_assert static_assert
#include <atomic>
extern "C" {
#include "log/format.h"
#include "snapshot/epochs.h"
#include "snapshot/snapshot.h"

struct log_view {
    uint8_t *base;
    uint64_t bytes;
};
struct recovery {
    uint64_t epoch, epoch_next, lines_undone, lines_replayed;
};
struct protocol;
extern const struct protocol protocol_line;
const struct protocol *protocol_by_name(const char *name);
int recover(struct log_view log, uint8_t *backing, uint64_t data_bytes, const struct protocol *next,
            struct recovery *result);
int log_file_check(struct log_view log);
int snapshot_test_commit(const void *address, bool declared);
int snapshot_test_publish(const void *address);
int snapshot_test_views(const void *address, struct log_view *log, struct log_view *backing);
}

#include "image.hpp"

// Whether SNAPSHOT_TRACK names a tracker of pages, which has to find the stores by itself.
inline bool tracksPages() {
    const char *tracker = getenv("SNAPSHOT_TRACK");
    return tracker && *tracker && strcmp(tracker, "pass") != 0;
}
inline bool stores_are_announced = !tracksPages();

// The work of instrumented code for `*(uint64_t *)address = value`, or the store alone.
inline void trackedStore(uint8_t *address, uint64_t value) {
    if (stores_are_announced)
        snapshot_log_range(address, sizeof(value));
    memcpy(address, &value, sizeof(value));
}

// This thread stores nothing for now: where there are epochs, checkpoints need not wait for it.
inline void threadRests([[maybe_unused]] void *address) {
#ifdef SNAPSHOT_EPOCHS
    snapshot_epoch_idle(address, true);
#endif
}

struct Protocol {
    const char *name;
    unsigned flag;
};

inline constexpr Protocol Protocols[] = {
    {"line", SNAPSHOT_PROTOCOL_LINE},       {"undo", SNAPSHOT_PROTOCOL_UNDO},
    {"undo-nv", SNAPSHOT_PROTOCOL_UNDO_NV}, {"redo", SNAPSHOT_PROTOCOL_REDO},
#ifdef SNAPSHOT_EPOCHS
    {"epoch", SNAPSHOT_PROTOCOL_EPOCH},
#endif
};

// Only redo commits pages.
inline bool commitsWhatIsTracked(const Protocol &protocol) {
    return !tracksPages() || protocol.flag == SNAPSHOT_PROTOCOL_REDO;
}

class TrackedFile {
  public:
    TrackedFile(const std::string &path, size_t bytes, unsigned flags = 0) {
        status = snapshot_map(path.c_str(), bytes, flags, nullptr, &address);
    }
    ~TrackedFile() { close(); }
    TrackedFile(const TrackedFile &) = delete;
    TrackedFile &operator=(const TrackedFile &) = delete;

    void close() {
        if (address)
            snapshot_unmap(address);
        address = nullptr;
    }
    void *release() { return std::exchange(address, nullptr); }
    int error() const { return status; }
    uint8_t *working() const { return static_cast<uint8_t *>(address); }
    int commit() { return snapshot_sync(address); }
    int declare() { return snapshot_test_commit(address, true); }
    Mapping mapping() const {
        struct log_view log{}, backing{};
        snapshot_test_views(address, &log, &backing);
        return {log.base, backing.base, log.bytes, backing.bytes};
    }
    Image image() const {
        Mapping now = mapping();
        return imageOf(now.log, now.log_bytes, now.data, now.data_bytes);
    }
    struct snapshot_stats stats() const {
        struct snapshot_stats result{};
        snapshot_get_stats(address, &result);
        return result;
    }

  private:
    void *address = nullptr;
    int status = 0;
};
