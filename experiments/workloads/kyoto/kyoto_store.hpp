// SPDX-License-Identifier: BSD-3-Clause
//
// A Kyoto Cabinet database of fixed-size values that counts its commits: in the 16 bytes that every database keeps for
// its application in the header, within the transaction, so that a crash test knows which state to expect.
#pragma once

#include <kchashdb.h>
#include <kcplantdb.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "store_options.hpp"

namespace programs {

namespace kc = kyotocabinet;

struct KyotoShape {
    bool is_tree;
    uint64_t records;
    int64_t map_bytes; // all of the file: data beyond it is written with pwrite, or refused
    int32_t page_bytes = 8192;
};

// Room for pages that are half full and for the blocks that growing pages leave behind.
inline int64_t kyotoMapBytes(uint64_t records) { return static_cast<int64_t>((8u << 20) + records * 512); }

class KyotoStore {
  public:
    using Db = kc::BasicDB;
    static constexpr bool HasKinds = true;

    // With OAUTOTRAN a database that was not closed is as good as one that was; otherwise it would be rebuilt.
    KyotoStore(const std::string &path, const KyotoShape &shape, bool create) {
        uint32_t mode = Db::OWRITER | Db::OAUTOTRAN | (create ? Db::OCREATE | Db::OTRUNCATE : 0);
        if (shape.is_tree)
            openTree(path, shape, mode);
        else
            openHash(path, shape, mode);
    }
    ~KyotoStore() { db->close(); }
    KyotoStore(const KyotoStore &) = delete;
    KyotoStore &operator=(const KyotoStore &) = delete;

    KyotoStore(const StoreOptions &options, bool create)
        : KyotoStore(options.file, {options.is_tree, options.records, kyotoMapBytes(options.records)}, create) {}

    uint64_t commits() const { return counters().commits; }
    uint64_t recordsLoaded() const { return counters().records_loaded; }
    Db &database() { return *db; }

    void begin() { check(db->begin_transaction(true), "begin_transaction"); }

    void set(const std::string &key, uint64_t value) {
        check(db->set(key.data(), key.size(), reinterpret_cast<const char *>(&value), sizeof(value)), "set");
    }

    // A record that is not there is none that is wrong.
    void remove(const std::string &key) {
        bool done = db->remove(key.data(), key.size());
        check(done || db->error().code() == Db::Error::NOREC, "remove");
    }

    void commit(uint64_t records_loaded) {
        Counters changed = counters();
        records_loaded ? changed.records_loaded += records_loaded : changed.commits++;
        memcpy(opaque(), &changed, sizeof(changed));
        check(synchronizeOpaque(), "synchronize_opaque");
        check(db->end_transaction(true), "end_transaction");
    }

    void abort() { check(db->end_transaction(false), "end_transaction"); }

    // visit(key, value) for every record; a value of another size is an error.
    template <class Visit> void forEach(Visit &&visit) {
        Visitor<Visit> visitor(visit);
        check(db->iterate(&visitor, false), "iterate");
        if (visitor.wrong)
            throw std::runtime_error("a value is not 8 bytes long");
    }

    bool get(const std::string &key, uint64_t &value) {
        return db->get(key.data(), key.size(), reinterpret_cast<char *>(&value), sizeof(value)) == sizeof(value);
    }

  private:
    struct Counters {
        uint64_t commits, records_loaded;
    };

    template <class Visit> struct Visitor : Db::Visitor {
        explicit Visitor(Visit &visit) : visit(visit) {}
        const char *visit_full(const char *key, size_t key_bytes, const char *bytes, size_t value_bytes,
                               size_t *) override {
            uint64_t value = 0;
            wrong = wrong || value_bytes != sizeof(value);
            memcpy(&value, bytes, std::min(value_bytes, sizeof(value)));
            visit(std::string(key, key_bytes), value);
            return NOP;
        }
        Visit &visit;
        bool wrong = false;
    };

    void openTree(const std::string &path, const KyotoShape &shape, uint32_t mode) {
        auto fresh = std::make_unique<kc::TreeDB>();
        tree = fresh.get();
        db = std::move(fresh);
        tree->tune_map(shape.map_bytes);
        tree->tune_page(shape.page_bytes);
        tree->tune_buckets(static_cast<int64_t>(shape.records / 10 + 100));
        check(tree->open(path, mode), "open");
    }

    void openHash(const std::string &path, const KyotoShape &shape, uint32_t mode) {
        auto fresh = std::make_unique<kc::HashDB>();
        hash = fresh.get();
        db = std::move(fresh);
        hash->tune_map(shape.map_bytes);
        hash->tune_buckets(static_cast<int64_t>(2 * shape.records));
        check(hash->open(path, mode), "open");
    }

    char *opaque() const { return tree ? tree->opaque() : hash->opaque(); }
    bool synchronizeOpaque() { return tree ? tree->synchronize_opaque() : hash->synchronize_opaque(); }

    Counters counters() const {
        Counters found{};
        memcpy(&found, opaque(), sizeof(found));
        return found;
    }

    void check(bool good, const char *what) const {
        if (!good)
            throw std::runtime_error(std::string(what) + ": " + db->error().name() + ": " + db->error().message());
    }

    std::unique_ptr<Db> db;
    kc::TreeDB *tree = nullptr;
    kc::HashDB *hash = nullptr;
};

} // namespace programs
