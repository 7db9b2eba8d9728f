// SPDX-License-Identifier: BSD-3-Clause
//
// A Kyoto Cabinet database in one of the modes that Kyoto Tycoon has for its own: how each call is made durable.
#pragma once

#include "kyoto_store.hpp"

namespace server {

namespace kc = kyotocabinet;

enum class Mode : uint32_t {
    None = 0,                                                      // when the database is closed
    Synchronize = kc::BasicDB::OAUTOSYNC,                          // msync() after each call: not all or nothing
    Transaction = kc::BasicDB::OAUTOTRAN | kc::BasicDB::OAUTOSYNC, // a hard transaction for each call
};

class Database {
  public:
    Database(const std::string &path, bool is_tree, uint64_t records, Mode mode, bool create) {
        uint32_t flags = kc::BasicDB::OWRITER | static_cast<uint32_t>(mode);
        flags |= create ? kc::BasicDB::OCREATE | kc::BasicDB::OTRUNCATE : 0;
        if (is_tree) {
            auto tree = std::make_unique<kc::TreeDB>();
            tree->tune_map(programs::kyotoMapBytes(records));
            tree->tune_buckets(static_cast<int64_t>(records / 10 + 100));
            db = std::move(tree);
        } else {
            auto hash = std::make_unique<kc::HashDB>();
            hash->tune_map(programs::kyotoMapBytes(records));
            hash->tune_buckets(static_cast<int64_t>(2 * records));
            db = std::move(hash);
        }
        check(db->open(path, flags), "open " + path);
    }
    ~Database() { db->close(); }
    Database(const Database &) = delete;
    Database &operator=(const Database &) = delete;

    // set(number) for all of them, durable at the end.
    template <class Set> void load(uint64_t count, Set &&set) {
        constexpr uint64_t Batch = 256;
        for (uint64_t done = 0; done < count; done += Batch) {
            check(db->begin_transaction(true), "begin_transaction");
            for (uint64_t i = done; i < std::min(count, done + Batch); i++)
                set(i);
            check(db->end_transaction(true), "end_transaction");
        }
        check(db->synchronize(true), "synchronize");
    }

    // Whether it was done: a key that is there cannot be inserted, and one that is not can be neither replaced nor
    // removed.
    bool insert(const std::string &key, uint64_t value) { return done(db->add(key, bytesOf(value)), "add"); }
    bool replace(const std::string &key, uint64_t value) { return done(db->replace(key, bytesOf(value)), "replace"); }
    bool remove(const std::string &key) { return done(db->remove(key), "remove"); }
    bool get(const std::string &key, uint64_t &value) {
        return db->get(key.data(), key.size(), reinterpret_cast<char *>(&value), sizeof(value)) == sizeof(value);
    }

  private:
    static std::string bytesOf(uint64_t value) { return {reinterpret_cast<const char *>(&value), sizeof(value)}; }

    bool done(bool good, const char *what) {
        kc::BasicDB::Error::Code code = db->error().code();
        check(good || code == kc::BasicDB::Error::NOREC || code == kc::BasicDB::Error::DUPREC, what);
        return good;
    }
    void check(bool good, const std::string &what) const {
        if (!good)
            throw std::runtime_error(what + ": " + db->error().name() + ": " + db->error().message());
    }

    std::unique_ptr<kc::BasicDB> db;
};

} // namespace server
