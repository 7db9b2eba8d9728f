// SPDX-License-Identifier: BSD-3-Clause
//
// The PMDK engine: libpmemobj transactions. Exactly the changed fields are added to the undo log; memory that holds
// nothing yet is flushed at the commit but not logged; reads run outside transactions on raw pointers, translated once.
#pragma once

#include <libpmemobj.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "engine.hpp"

namespace engines {

class Pmdk {
  public:
    static constexpr const char *Name = "pmdk";

    template <class T> struct Ptr {
        PMEMoid oid;
        T *get() const { return static_cast<T *>(pmemobj_direct(oid)); }
        explicit operator bool() const { return !OID_IS_NULL(oid); }
    };

    // Created under another name, so that a pool that exists is complete.
    Pmdk(const std::string &path, size_t bytes, OpenMode mode) {
        if (mode == OpenMode::Create)
            create(path, std::max<size_t>(bytes + PoolOverheadBytes, PMEMOBJ_MIN_POOL));
        else if (access(path.c_str(), F_OK) < 0)
            throw NoPool(path + " does not exist");
        pool = pmemobj_open(path.c_str(), Layout);
        if (!pool)
            fail(errno, "cannot open " + path + ": " + pmemobj_errormsg());
    }
    ~Pmdk() { pmemobj_close(pool); }
    Pmdk(const Pmdk &) = delete;
    Pmdk &operator=(const Pmdk &) = delete;

    template <class Root> Root *root() { return static_cast<Root *>(pmemobj_direct(pmemobj_root(pool, sizeof(Root)))); }

    template <class T> Ptr<T> allocate(size_t count) {
        PMEMoid oid = pmemobj_tx_xalloc(count * sizeof(T), TypeNumber, POBJ_XALLOC_NO_ABORT);
        if (OID_IS_NULL(oid))
            fail(errno, "pmemobj_tx_xalloc");
        return {oid};
    }

    template <class T> void release(Ptr<T> old, size_t) { check(pmemobj_tx_free(old.oid), "pmemobj_tx_free"); }

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
        stats.commits++;
    }

    Statistics statistics() const { return stats; }

  private:
    static constexpr const char *Layout = "testbed-kv";
    static constexpr uint64_t TypeNumber = 1;
    static constexpr size_t PoolOverheadBytes = 24u << 20; // lanes and chunk headers

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

    PMEMobjpool *pool = nullptr;
    Statistics stats;
};

} // namespace engines
