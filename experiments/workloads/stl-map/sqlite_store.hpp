// SPDX-License-Identifier: BSD-3-Clause
//
// SQLite with its defaults, a rollback journal and full synchronization: each call is a transaction of its own.
#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace stores {

class SqliteStore {
  public:
    SqliteStore(const std::string &path, uint64_t, bool create) {
        if (create)
            for (const char *part : {"", "-journal"})
                unlink((path + part).c_str());
        check(sqlite3_open(path.c_str(), &db), SQLITE_OK);
        check(sqlite3_exec(db, "PRAGMA synchronous = FULL", nullptr, nullptr, nullptr), SQLITE_OK);
        const char *table = "CREATE TABLE IF NOT EXISTS pairs (key INTEGER PRIMARY KEY, value INTEGER)";
        check(sqlite3_exec(db, table, nullptr, nullptr, nullptr), SQLITE_OK);
        inserts = prepared("INSERT INTO pairs (key, value) VALUES (?1, ?2)");
        replaces = prepared("UPDATE pairs SET value = ?2 WHERE key = ?1");
        removes = prepared("DELETE FROM pairs WHERE key = ?1");
        gets = prepared("SELECT value FROM pairs WHERE key = ?1");
    }
    ~SqliteStore() {
        for (sqlite3_stmt *statement : {inserts, replaces, removes, gets})
            sqlite3_finalize(statement);
        sqlite3_close(db);
    }
    SqliteStore(const SqliteStore &) = delete;
    SqliteStore &operator=(const SqliteStore &) = delete;

    void insert(uint64_t key, uint64_t value) { run(inserts, key, &value); }
    void replace(uint64_t key, uint64_t value) { run(replaces, key, &value); }
    void remove(uint64_t key) { run(removes, key, nullptr); }
    bool get(uint64_t key, uint64_t &value) {
        bind(gets, 1, key);
        bool there = sqlite3_step(gets) == SQLITE_ROW;
        if (there)
            value = static_cast<uint64_t>(sqlite3_column_int64(gets, 0));
        check(sqlite3_reset(gets), SQLITE_OK);
        return there;
    }

  private:
    sqlite3_stmt *prepared(const char *text) {
        sqlite3_stmt *made = nullptr;
        check(sqlite3_prepare_v2(db, text, -1, &made, nullptr), SQLITE_OK);
        return made;
    }
    void run(sqlite3_stmt *statement, uint64_t key, const uint64_t *value) {
        bind(statement, 1, key);
        if (value)
            bind(statement, 2, *value);
        check(sqlite3_step(statement), SQLITE_DONE);
        check(sqlite3_reset(statement), SQLITE_OK);
    }
    void bind(sqlite3_stmt *statement, int place, uint64_t number) {
        check(sqlite3_bind_int64(statement, place, static_cast<sqlite3_int64>(number)), SQLITE_OK);
    }
    void check(int status, int wanted) const {
        if (status != wanted)
            throw std::runtime_error(sqlite3_errmsg(db));
    }

    sqlite3 *db = nullptr;
    sqlite3_stmt *inserts = nullptr, *replaces = nullptr, *removes = nullptr, *gets = nullptr;
};

} // namespace stores
