// SPDX-License-Identifier: BSD-3-Clause
//
// The key-value store of the Snapshot paper: a fixed number of buckets, each a vector of entries that is scanned from
// its start. Keys are stored in the entries (the longest, "user9223372036854775807", has 23 characters), values are 4
// bytes. One source for every engine; an update writes the value of the entry that was found, and every update or
// insert is one transaction that also counts itself, so that a crash test knows which state to expect.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace workloads {

struct Key {
    char bytes[24]; // padded with zeros

    bool operator==(const Key &other) const {
        uint64_t mine[3], theirs[3];
        memcpy(mine, bytes, sizeof(mine));
        memcpy(theirs, other.bytes, sizeof(theirs));
        return mine[0] == theirs[0] && mine[1] == theirs[1] && mine[2] == theirs[2];
    }

    // FNV-1a over the characters.
    uint64_t hash() const {
        uint64_t hash = 0xcbf29ce484222325;
        for (const char *c = bytes; c < bytes + sizeof(bytes) && *c; c++)
            hash = (hash ^ static_cast<unsigned char>(*c)) * 0x100000001b3;
        return hash;
    }
};

struct Entry {
    Key key;
    uint32_t value;
};
static_assert(sizeof(Entry) == 28, "entries lie side by side");

// Not inlined, so that the loop most of the time goes to is the same machine code in every engine.
[[gnu::noinline]] inline Entry *findEntry(Entry *entries, uint32_t count, const Key &key) {
    Key wanted = key;
    for (Entry *entry = entries; entry < entries + count; entry++)
        if (entry->key == wanted)
            return entry;
    return nullptr;
}

template <class Engine> class KvStore {
  public:
    struct Bucket {
        typename Engine::template Ptr<Entry> entries;
        uint32_t count;
        uint32_t capacity;
    };

    struct Root {
        uint64_t commits;        // updates and inserts after loading
        uint64_t records_loaded; // by load()
        uint64_t bucket_count;   // 0: the pool has no store yet
        typename Engine::template Ptr<Bucket> buckets;
    };

    KvStore(Engine &engine, uint64_t bucket_count) : engine(engine), root(engine.template root<Root>()) {
        if (root->bucket_count == 0)
            create(bucket_count);
        buckets = root->buckets.get();
        count = root->bucket_count;
    }

    uint64_t commits() const { return root->commits; }
    uint64_t recordsLoaded() const { return root->records_loaded; }

    const Entry *find(const Key &key) const { return locate(key).entry; }

    bool update(const Key &key, uint32_t value) {
        Entry *entry = locate(key).entry;
        if (!entry)
            return false;
        engine.transaction([&] {
            engine.writing(&entry->value);
            entry->value = value;
            countCommit();
        });
        return true;
    }

    void insert(const Key &key, uint32_t value) {
        engine.transaction([&] {
            append(key, value);
            countCommit();
        });
    }

    // Several records in one transaction: loading is not measured.
    template <class Next> void load(uint64_t record_count, Next &&next) {
        engine.transaction([&] {
            for (uint64_t i = 0; i < record_count; i++) {
                auto [key, value] = next(i);
                append(key, value);
            }
            engine.writing(&root->records_loaded);
            root->records_loaded += record_count;
        });
    }

    // From the record of `key` on, `limit` records in storage order: its bucket, the next one, ... and around.
    template <class Visit> uint64_t scan(const Key &key, uint64_t limit, Visit &&visit) const {
        Place place = locate(key);
        if (!place.entry)
            return 0;
        uint64_t visited = 0, bucket = place.bucket;
        const Entry *entry = place.entry;
        for (uint64_t turn = 0; turn <= count; turn++) {
            const Entry *end = buckets[bucket].entries.get() + buckets[bucket].count;
            for (; entry < end && visited < limit; entry++, visited++)
                visit(*entry);
            if (visited == limit)
                break;
            bucket = (bucket + 1) % count;
            entry = buckets[bucket].entries.get();
        }
        return visited;
    }

    template <class Visit> void forEach(Visit &&visit) const {
        for (uint64_t bucket = 0; bucket < count; bucket++) {
            const Entry *entries = buckets[bucket].count ? buckets[bucket].entries.get() : nullptr;
            for (uint32_t i = 0; i < buckets[bucket].count; i++)
                visit(entries[i]);
        }
    }

  private:
    struct Place {
        uint64_t bucket;
        Entry *entry;
    };

    static constexpr uint32_t CapacityInitial = 8;

    Place locate(const Key &key) const {
        uint64_t number = key.hash() % count;
        Bucket &bucket = buckets[number];
        return {number, bucket.count ? findEntry(bucket.entries.get(), bucket.count, key) : nullptr};
    }

    void countCommit() {
        engine.writing(&root->commits);
        root->commits++;
    }

    void append(const Key &key, uint32_t value) {
        Bucket &bucket = buckets[key.hash() % count];
        engine.writing(&bucket);
        if (bucket.count == bucket.capacity)
            grow(bucket);
        Entry *slot = bucket.entries.get() + bucket.count;
        engine.fresh(slot);
        *slot = {key, value};
        bucket.count++;
    }

    void grow(Bucket &bucket) {
        uint32_t capacity = bucket.capacity ? 2 * bucket.capacity : CapacityInitial;
        auto larger = engine.template allocate<Entry>(capacity);
        if (bucket.capacity) {
            memcpy(larger.get(), bucket.entries.get(), bucket.count * sizeof(Entry));
            engine.release(bucket.entries, bucket.capacity);
        }
        bucket.entries = larger;
        bucket.capacity = capacity;
    }

    void create(uint64_t bucket_count) {
        engine.transaction([&] {
            engine.writing(root);
            root->buckets = engine.template allocate<Bucket>(bucket_count);
            Bucket *fresh = root->buckets.get();
            engine.fresh(fresh, bucket_count);
            memset(static_cast<void *>(fresh), 0, bucket_count * sizeof(Bucket));
            root->bucket_count = bucket_count;
        });
    }

    Engine &engine;
    Root *root;
    Bucket *buckets; // translated once
    uint64_t count;
};

} // namespace workloads
