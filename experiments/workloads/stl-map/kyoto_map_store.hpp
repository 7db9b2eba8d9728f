// SPDX-License-Identifier: BSD-3-Clause
//
// Kyoto Cabinet's TreeDB as it is: each call is a hard transaction of its own.
#pragma once

#include <kchashdb.h>
#include <kcplantdb.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace stores {

class KyotoMapStore {
  public:
    KyotoMapStore(const std::string &path, uint64_t records, bool create) {
        using kyotocabinet::BasicDB;
        uint32_t mode = BasicDB::OWRITER | BasicDB::OAUTOTRAN | BasicDB::OAUTOSYNC;
        db.tune_map(static_cast<int64_t>((8u << 20) + records * 512));
        db.tune_buckets(static_cast<int64_t>(records / 10 + 100));
        check(db.open(path, mode | (create ? BasicDB::OCREATE | BasicDB::OTRUNCATE : 0)), "open");
    }

    void insert(uint64_t key, uint64_t value) { check(db.add(text(key), text(value)), "add"); }
    void replace(uint64_t key, uint64_t value) { check(db.replace(text(key), text(value)), "replace"); }
    void remove(uint64_t key) { check(db.remove(text(key)), "remove"); }
    bool get(uint64_t key, uint64_t &value) {
        std::string found;
        bool there = db.get(text(key), &found) && found.size() == sizeof(value);
        return there && memcpy(&value, found.data(), sizeof(value));
    }

  private:
    static std::string text(uint64_t number) { return {reinterpret_cast<const char *>(&number), sizeof(number)}; }
    void check(bool good, const char *what) const {
        if (!good)
            throw std::runtime_error(std::string(what) + ": " + db.error().message());
    }

    kyotocabinet::TreeDB db;
};

} // namespace stores
