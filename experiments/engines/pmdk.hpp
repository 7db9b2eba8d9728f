// SPDX-License-Identifier: BSD-3-Clause
//
// The PMDK engine: libpmemobj transactions as an expert in the library writes them.
//  - Exactly the changed fields are added to the undo log, neighbours in one piece. New memory is neither logged nor
//    flushed as a whole: only the part that is filled is flushed, at the commit.
//  - Pointers are 8 bytes, relative to their own address, as libpmemobj-cpp's self_relative_ptr.
//  - Small objects come from allocation classes of exactly their size, without headers.
//  - Reads run outside transactions; all pages are mapped when the pool is opened.
#pragma once

#include <libpmemobj.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <map>

#include "engine.hpp"

namespace engines {

template <bool OwnClasses> class PmdkOf {
  public:
    static constexpr const char *Name = OwnClasses ? "pmdk" : "pmdk-default";
    static constexpr bool Durable = true, CommitsAllThreads = false;

    template <class T> using Ptr = RelativePtr<T>;

    // The pool is created under another name, so that a pool with its final name is complete.
    PmdkOf(const std::string &path, size_t bytes, OpenMode mode) {
        if (mode == OpenMode::Create)
            create(path, std::max<size_t>(bytes * (OwnClasses ? 1 : 3) + PoolOverheadBytes, PMEMOBJ_MIN_POOL));
        else if (access(path.c_str(), F_OK) < 0)
            throw NoPool(path + " does not exist");
        int prefault = 1;
        if (pmemobj_ctl_set(nullptr, "prefault.at_open", &prefault) < 0)
            fail(errno, std::string("prefault.at_open: ") + pmemobj_errormsg());
        pool = pmemobj_open(path.c_str(), Layout);
        if (!pool)
            fail(errno, "cannot open " + path + ": " + pmemobj_errormsg());
    }
    ~PmdkOf() { pmemobj_close(pool); }
    PmdkOf(const PmdkOf &) = delete;
    PmdkOf &operator=(const PmdkOf &) = delete;

    template <class Root> Root *root() {
        PMEMoid oid = pmemobj_root(pool, sizeof(Root));
        pool_id = oid.pool_uuid_lo;
        return static_cast<Root *>(at(oid));
    }

    template <class T> Ptr<T> allocate(size_t count) {
        uint64_t flags = POBJ_XALLOC_NO_ABORT | POBJ_XALLOC_NO_FLUSH |
                         (OwnClasses && count == 1 && sizeof(T) <= SmallBytes ? classOf(sizeof(T)) : 0);
        PMEMoid oid = pmemobj_tx_xalloc(count * sizeof(T), 0, flags);
        if (OID_IS_NULL(oid))
            fail(errno, "pmemobj_tx_xalloc");
        return Ptr<T>(static_cast<T *>(at(oid)));
    }

    template <class T> void release(Ptr<T> old, size_t) {
        uint64_t offset = reinterpret_cast<uint64_t>(old.get()) - reinterpret_cast<uint64_t>(pool);
        check(pmemobj_tx_free({pool_id, offset}), "pmemobj_tx_free");
    }

    template <class T> void writing(T *field, size_t count = 1) {
        check(pmemobj_tx_add_range_direct(field, count * sizeof(T)), "pmemobj_tx_add_range_direct");
    }

    template <class T> void fresh(T *memory, size_t count = 1) {
        check(pmemobj_tx_xadd_range_direct(memory, count * sizeof(T), POBJ_XADD_NO_SNAPSHOT),
              "pmemobj_tx_xadd_range_direct");
    }

    template <class Change> void transaction(Change &&change) {
        check(pmemobj_tx_begin(pool, nullptr, TX_PARAM_NONE), "pmemobj_tx_begin");
        change();
        pmemobj_tx_commit();
        check(pmemobj_tx_end(), "transaction");
        commits.fetch_add(1, std::memory_order_relaxed);
    }

    Statistics statistics() const { return {.commits = commits}; }

  private:
    static constexpr const char *Layout = "testbed";
    static constexpr size_t PoolOverheadBytes = 24u << 20; // lanes and chunk headers
    static constexpr size_t LineBytes = 64, SmallBytes = 1024;

    static void check(int status, const char *what) {
        if (status != 0)
            fail(status, what);
    }

    static void create(const std::string &path, size_t bytes) {
        std::string temporary = path + ".new";
        unlink(temporary.c_str());
        PMEMobjpool *fresh = pmemobj_create(temporary.c_str(), Layout, bytes, 0644);
        if (!fresh)
            fail(errno, "cannot create " + path + ": " + pmemobj_errormsg());
        pmemobj_close(fresh);
        if (rename(temporary.c_str(), path.c_str()) < 0)
            fail(errno, "cannot rename " + temporary);
    }

    void *at(PMEMoid oid) const { return reinterpret_cast<char *>(pool) + oid.off; }

    // The class of single objects of this size, as a flag for pmemobj_tx_xalloc(). Objects of a line or more fill whole
    // lines.
    uint64_t classOf(size_t bytes) {
        auto found = classes.find(bytes);
        if (found != classes.end())
            return found->second;
        size_t unit = bytes < LineBytes ? 16 : LineBytes;
        struct pobj_alloc_class_desc description = {
            .unit_size = (bytes + unit - 1) / unit * unit,
            .alignment = unit == LineBytes ? LineBytes : 0,
            .units_per_block = 1000,
            .header_type = POBJ_HEADER_NONE,
            .class_id = 0,
        };
        if (pmemobj_ctl_set(pool, "heap.alloc_class.new.desc", &description) < 0)
            fail(errno, std::string("heap.alloc_class.new.desc: ") + pmemobj_errormsg());
        return classes[bytes] = POBJ_CLASS_ID(description.class_id);
    }

    PMEMobjpool *pool = nullptr;
    uint64_t pool_id = 0;
    std::map<size_t, uint64_t> classes;
    std::atomic<uint64_t> commits = 0;
};

using Pmdk = PmdkOf<true>;
// With libpmemobj's own allocation classes, as in its examples: the smallest object takes 128 bytes, 16 of them for a
// header.
using PmdkDefault = PmdkOf<false>;

} // namespace engines
