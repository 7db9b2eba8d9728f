// SPDX-License-Identifier: BSD-3-Clause
//
// An LMDB database in one file, with MDB_WRITEMAP: changes go through the mapping, and a commit is msync() of the data
// and then of the meta page. It counts its commits in a record of its own, within the transaction.
#pragma once

#include <lmdb.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "store_options.hpp"

namespace programs {

class LmdbStore {
  public:
    static constexpr bool HasKinds = false;

    // Only the file itself is tracked, where Snapshot is linked in: LMDB's lock file is shared memory, not data.
    LmdbStore(const StoreOptions &options, bool create) {
        const std::string &path = options.file;
        setenv("SNAPSHOT_DIR", path.c_str(), 1);
        if (create) {
            unlink(path.c_str());
            unlink((path + "-lock").c_str());
        }
        check(mdb_env_create(&env), "mdb_env_create");
        check(mdb_env_set_mapsize(env, (16u << 20) + options.records * 256), "mdb_env_set_mapsize");
        check(mdb_env_open(env, path.c_str(), MDB_NOSUBDIR | MDB_WRITEMAP, 0644), "mdb_env_open");
        begin();
        check(mdb_dbi_open(transaction, nullptr, 0, &db), "mdb_dbi_open");
        read(CountersKey, counters);
        abort();
    }
    ~LmdbStore() { mdb_env_close(env); }
    LmdbStore(const LmdbStore &) = delete;
    LmdbStore &operator=(const LmdbStore &) = delete;

    uint64_t commits() const { return counters.commits; }
    uint64_t recordsLoaded() const { return counters.records_loaded; }

    void begin() { check(mdb_txn_begin(env, nullptr, 0, &transaction), "mdb_txn_begin"); }
    void set(const std::string &key, uint64_t value) { write(key, value); }

    void remove(const std::string &name) {
        MDB_val key = bytesOf(name);
        int status = mdb_del(transaction, db, &key, nullptr);
        check(status == MDB_NOTFOUND ? 0 : status, "mdb_del");
    }

    void commit(uint64_t records_loaded) {
        records_loaded ? counters.records_loaded += records_loaded : counters.commits++;
        write(CountersKey, counters);
        check(mdb_txn_commit(transaction), "mdb_txn_commit");
    }

    void abort() { mdb_txn_abort(transaction); }

    // visit(key, value) for every record.
    template <class Visit> void forEach(Visit &&visit) {
        MDB_cursor *cursor = nullptr;
        MDB_val key, found;
        check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction), "mdb_txn_begin");
        check(mdb_cursor_open(transaction, db, &cursor), "mdb_cursor_open");
        while (mdb_cursor_get(cursor, &key, &found, MDB_NEXT) == 0) {
            std::string name(static_cast<const char *>(key.mv_data), key.mv_size);
            uint64_t value = 0;
            memcpy(&value, found.mv_data, sizeof(value));
            if (name != CountersKey)
                visit(name, value);
        }
        mdb_cursor_close(cursor);
        abort();
    }

    bool get(const std::string &key, uint64_t &value) {
        check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &transaction), "mdb_txn_begin");
        bool found = read(key, value);
        abort();
        return found;
    }

  private:
    static constexpr const char *CountersKey = "counters";
    struct Counters {
        uint64_t commits = 0, records_loaded = 0;
    };

    static MDB_val bytesOf(const std::string &text) { return {text.size(), const_cast<char *>(text.data())}; }

    template <class Value> bool read(const std::string &name, Value &value) {
        MDB_val key = bytesOf(name), found;
        if (mdb_get(transaction, db, &key, &found) != 0 || found.mv_size != sizeof(value))
            return false;
        memcpy(&value, found.mv_data, sizeof(value));
        return true;
    }

    template <class Value> void write(const std::string &name, Value value) {
        MDB_val key = bytesOf(name), data{sizeof(value), &value};
        check(mdb_put(transaction, db, &key, &data, 0), "mdb_put");
    }

    static void check(int status, const char *what) {
        if (status != 0)
            throw std::runtime_error(std::string(what) + ": " + mdb_strerror(status));
    }

    MDB_env *env = nullptr;
    MDB_txn *transaction = nullptr;
    MDB_dbi db = 0;
    Counters counters;
};

} // namespace programs
