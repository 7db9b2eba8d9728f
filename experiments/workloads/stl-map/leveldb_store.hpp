// SPDX-License-Identifier: BSD-3-Clause
//
// LevelDB: each call is synchronized. Its table is in files of a folder, the path.
#pragma once

#include <leveldb/db.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace stores {

class LeveldbStore {
  public:
    LeveldbStore(const std::string &path, uint64_t, bool create) {
        if (create)
            std::filesystem::remove_all(path);
        leveldb::Options options;
        options.create_if_missing = create;
        leveldb::DB *opened = nullptr;
        check(leveldb::DB::Open(options, path, &opened));
        db.reset(opened);
        durable.sync = true;
    }

    void insert(uint64_t key, uint64_t value) { check(db->Put(durable, text(key), text(value))); }
    void replace(uint64_t key, uint64_t value) { insert(key, value); }
    void remove(uint64_t key) { check(db->Delete(durable, text(key))); }
    bool get(uint64_t key, uint64_t &value) {
        std::string found;
        leveldb::Status status = db->Get({}, text(key), &found);
        if (status.IsNotFound())
            return false;
        check(status);
        return found.size() == sizeof(value) && memcpy(&value, found.data(), sizeof(value));
    }

  private:
    static std::string text(uint64_t number) { return {reinterpret_cast<const char *>(&number), sizeof(number)}; }
    static void check(const leveldb::Status &status) {
        if (!status.ok())
            throw std::runtime_error(status.ToString());
    }

    std::unique_ptr<leveldb::DB> db;
    leveldb::WriteOptions durable;
};

} // namespace stores
