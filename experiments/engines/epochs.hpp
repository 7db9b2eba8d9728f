// SPDX-License-Identifier: BSD-3-Clause
//
// The checkpoint engines: one commit per epoch, for all its transactions. `snapshot-epoch` is compiled with the pass.
// `cpnvm` has its calls inserted by hand, as CpNvm's users do: the workload calls writing() and fresh(), and cpnvm's
// allocator announces its own writes.
//
// SNAPSHOT_EPOCH_NS in the environment sets the length of an epoch, and a crash loses as much.
// SNAPSHOT_EPOCH_TRANSACTIONS sets the number of transactions in an epoch. Without either, each transaction ends with a
// checkpoint. With SNAPSHOT_EPOCH_REPLAY=background a thread replays; with SNAPSHOT_EPOCH_OPEN=lazy cpnvm copies the
// content of a file page by page, at the first access to each page.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "environment.hpp"
#include "snapshot.hpp"
#include "snapshot/epochs.h"

namespace engines {

class Checkpoints {
  public:
    void start(void *address) {
        memory = address;
        by_clock = getenv("SNAPSHOT_EPOCH_NS");
        epoch_transactions = environmentNumber("SNAPSHOT_EPOCH_TRANSACTIONS", "a number of transactions", 1);
        struct snapshot_epochs options{};
        options.period_ns = environmentNumber("SNAPSHOT_EPOCH_NS", "a length in nanoseconds", SNAPSHOT_EPOCHS_BY_CALL);
        options.timeout_ns = 1000000000;
        options.flags = environmentSays("SNAPSHOT_EPOCH_REPLAY", "background") ? SNAPSHOT_REPLAY_BACKGROUND : 0;
        int result = snapshot_epochs_start(memory, &options);
        if (result < 0)
            fail(-result, "cannot start epochs");
    }

    void transactionEnds() {
        if (by_clock)
            point();
        else
            ends(++transactions);
    }
    // The same for several threads, with one common count.
    void transactionEnds(std::atomic<uint64_t> &counted) {
        if (by_clock)
            point();
        else
            ends(++counted);
    }

    void enter() { need(snapshot_epoch_enter(memory), "cannot enter epochs"); }
    void leave() { need(snapshot_epoch_leave(memory), "cannot leave epochs"); }
    void point() { need(snapshot_epoch_point(memory), "checkpoint"); }

    struct snapshot_epochs_stats stats() const {
        struct snapshot_epochs_stats stats{};
        snapshot_epochs_get_stats(memory, &stats);
        return stats;
    }

  private:
    void ends(uint64_t number) {
        if (number % epoch_transactions == 0)
            need(snapshot_sync(memory), "checkpoint");
    }
    static void need(int result, const char *what) {
        if (result < 0)
            fail(-result, what);
    }

    void *memory = nullptr;
    bool by_clock = false;
    uint64_t transactions = 0, epoch_transactions = 1;
};

class SnapshotEpoch : public TrackedFile<SNAPSHOT_PROTOCOL_EPOCH> {
  public:
    static constexpr const char *Name = "snapshot-epoch";

    SnapshotEpoch(const std::string &path, size_t bytes, OpenMode mode) : TrackedFile(path, bytes, mode) {
        checkpoints.start(memory);
    }

    template <class Change> void transaction(Change &&change) {
        change();
        checkpoints.transactionEnds();
    }

    struct snapshot_epochs_stats epochs() const { return checkpoints.stats(); }

  protected:
    Checkpoints checkpoints;
};

// For workloads that state when each thread enters and leaves.
template <class Engine> class Joined : public Engine {
  public:
    using Engine::Engine;

    template <class Change> void transaction(Change &&change) {
        change();
        Engine::checkpoints.transactionEnds(transactions);
    }

    void enter() { Engine::checkpoints.enter(); }
    void point() { Engine::checkpoints.point(); }
    void leave() { Engine::checkpoints.leave(); }

  private:
    std::atomic<uint64_t> transactions = 0;
};

// An allocator that announces its writes. Blocks have no headers; released blocks are kept in lists by size.
class AnnouncedHeap {
  public:
    AnnouncedHeap(void *memory, size_t bytes) : header(static_cast<Header *>(memory)), pool_bytes(bytes) {
        if (isFormatted(memory))
            return;
        announce(header, sizeof(*header));
        header->magic = Magic;
        header->top = HeapOffset;
    }

    static bool isFormatted(const void *memory) { return static_cast<const Header *>(memory)->magic == Magic; }

    // Memory that was never allocated is zero.
    void *root(size_t bytes) {
        if (!header->root) {
            uint64_t fresh = take(sizeOf(bytes));
            announce(&header->root, sizeof(header->root));
            header->root = fresh;
        }
        return at(header->root);
    }

    void *allocate(size_t wanted) {
        size_t bytes = sizeOf(wanted);
        uint64_t *list = &header->free[listOf(bytes)];
        while (*list && at(*list)->bytes != bytes)
            list = &at(*list)->next;
        if (!*list)
            return at(take(bytes));
        Block *block = at(*list);
        announce(list, sizeof(*list));
        *list = block->next;
        return block;
    }

    void release(void *memory, size_t wanted) {
        auto *block = static_cast<Block *>(memory);
        uint64_t *list = &header->free[listOf(sizeOf(wanted))];
        announce(block, sizeof(*block));
        announce(list, sizeof(*list));
        *block = {*list, sizeOf(wanted)};
        *list = static_cast<uint64_t>(static_cast<char *>(memory) - reinterpret_cast<char *>(header));
    }

  private:
    static constexpr uint64_t Magic = 0x3150414548444e48; // "HNDHEAP1"
    static constexpr size_t HeapOffset = 4096, LineBytes = 64, UnitBytes = 16, Lists = 64;

    struct Header {
        uint64_t magic, root, top;
        uint64_t free[Lists]; // one for each size up to 3776 bytes, then one for all larger blocks
    };
    struct Block {
        uint64_t next, bytes;
    };

    // Blocks smaller than a line are not aligned to a line.
    static size_t sizeOf(size_t wanted) {
        size_t unit = wanted < LineBytes ? UnitBytes : LineBytes;
        return (wanted + unit - 1) / unit * unit;
    }
    static size_t listOf(size_t bytes) {
        return bytes < LineBytes ? bytes / UnitBytes : std::min(bytes / LineBytes + 3, Lists - 1);
    }
    static void announce(const void *memory, size_t bytes) { snapshot_log_range(memory, bytes); }

    Block *at(uint64_t offset) const { return reinterpret_cast<Block *>(reinterpret_cast<char *>(header) + offset); }

    uint64_t take(size_t bytes) {
        uint64_t begin = bytes < LineBytes ? header->top : (header->top + LineBytes - 1) / LineBytes * LineBytes;
        if (begin + bytes > pool_bytes)
            fail(ENOMEM, "the pool has no room");
        announce(&header->top, sizeof(header->top));
        header->top = begin + bytes;
        return begin;
    }

    Header *header;
    size_t pool_bytes;
};

// A tracked file without a heap.
class EpochFile {
  public:
    EpochFile(const std::string &path, size_t wanted, OpenMode mode) {
        struct stat status{};
        bool creates = mode == OpenMode::Create;
        if (creates) {
            unlink(path.c_str());
            unlink((path + ".snapshot-log").c_str());
        } else if (stat(path.c_str(), &status) < 0 || status.st_size == 0) {
            throw NoPool(path + " does not exist or is empty");
        }
        unsigned flags = SNAPSHOT_POPULATE | SNAPSHOT_PROTOCOL_EPOCH;
        if (!creates && environmentSays("SNAPSHOT_EPOCH_OPEN", "lazy"))
            flags |= SNAPSHOT_EPOCH_LAZY;
        int result = snapshot_map(path.c_str(), creates ? wanted : 0, flags, nullptr, &memory);
        if (result < 0)
            fail(-result, "cannot map " + path);
        mapped_bytes = creates ? wanted : static_cast<size_t>(status.st_size);
    }
    ~EpochFile() { snapshot_unmap(memory); }
    EpochFile(const EpochFile &) = delete;
    EpochFile &operator=(const EpochFile &) = delete;

    void *address() const { return memory; }
    size_t bytes() const { return mapped_bytes; }

    Statistics statistics() const {
        struct snapshot_stats stats{};
        snapshot_get_stats(memory, &stats);
        return {stats.commits, stats.log_bytes,    stats.data_bytes,
                stats.fences,  stats.lines_undone, stats.lines_replayed};
    }

  private:
    void *memory = nullptr;
    size_t mapped_bytes = 0;
};

class Cpnvm {
  public:
    static constexpr const char *Name = "cpnvm";
    static constexpr bool Durable = true, CommitsAllThreads = true;

    template <class T> using Ptr = RelativePtr<T>;

    Cpnvm(const std::string &path, size_t bytes, OpenMode mode) : file(path, bytes, mode), heap(formatted(path, mode)) {
        checkpoints.start(file.address());
    }

    template <class Root> Root *root() { return static_cast<Root *>(heap.root(sizeof(Root))); }
    template <class T> Ptr<T> allocate(size_t count) {
        return Ptr<T>(static_cast<T *>(heap.allocate(count * sizeof(T))));
    }
    template <class T> void release(Ptr<T> old, size_t count) { heap.release(old.get(), count * sizeof(T)); }
    template <class T> void writing(T *field, size_t count = 1) { snapshot_log_range(field, count * sizeof(T)); }
    template <class T> void fresh(T *memory, size_t count = 1) { snapshot_log_range(memory, count * sizeof(T)); }

    template <class Change> void transaction(Change &&change) {
        change();
        checkpoints.transactionEnds();
    }

    Statistics statistics() const { return file.statistics(); }
    struct snapshot_epochs_stats epochs() const { return checkpoints.stats(); }

  private:
    AnnouncedHeap formatted(const std::string &path, OpenMode mode) const {
        if (mode == OpenMode::OpenExisting && !AnnouncedHeap::isFormatted(file.address()))
            throw NoPool(path + " was never committed");
        return AnnouncedHeap(file.address(), file.bytes());
    }

    EpochFile file;
    AnnouncedHeap heap;

  protected:
    Checkpoints checkpoints;
};

using CpnvmThreads = Joined<Cpnvm>;
using SnapshotEpochThreads = Joined<SnapshotEpoch>;

} // namespace engines
