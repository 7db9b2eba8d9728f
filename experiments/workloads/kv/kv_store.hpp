// SPDX-License-Identifier: BSD-3-Clause
//
// The key-value store of the Snapshot paper: a fixed number of buckets, each a vector of entries that is scanned from
// its start, and one vector of all values, 4 bytes each, to which the entries refer by number. The sizes are as in the
// published program: a string of 32 bytes that holds up to 23 characters in place (the longest key,
// "user9223372036854775807", has 23), and a 64-bit number. Keys are compared as in that program. All engines use this
// source. An update writes the value of the entry that was found, and every update or insert is one transaction that
// also counts itself, so that a crash test knows which state to expect.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

namespace workloads {

struct Key {
    char bytes[24]; // padded with zeros

    bool operator==(const Key &other) const {
        uint64_t mine[3], theirs[3];
        memcpy(mine, bytes, sizeof(mine));
        memcpy(theirs, other.bytes, sizeof(theirs));
        return mine[0] == theirs[0] && mine[1] == theirs[1] && mine[2] == theirs[2];
    }

    size_t length() const { return strnlen(bytes, sizeof(bytes)); }

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
    uint64_t key_length;
    uint64_t value_number;
};
static_assert(sizeof(Entry) == 40, "entries lie side by side");

// The result of a look-up, or of a step of a walk over the store.
struct Record {
    const Key &key;
    uint32_t value;
};

// The comparison of a scanned entry's key with the wanted key.
enum class Comparison {
    Strings, // as in the published program: the lengths, then the characters by a call of memcmp()
    Words,   // all 24 bytes as three words, inlined: the cost of a look-up that is not limited by its code
};

// Not inlined, so that the loops that take most of the time are the same machine code in every engine.
[[gnu::noinline]] inline Entry *findString(Entry *entries, uint32_t count, const Key &key) {
    size_t length = key.length();
    for (Entry *entry = entries; entry < entries + count; entry++)
        if (entry->key_length == length && memcmp(entry->key.bytes, key.bytes, length) == 0)
            return entry;
    return nullptr;
}

[[gnu::noinline]] inline Entry *findWords(Entry *entries, uint32_t count, const Key &key) {
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

    struct Values {
        typename Engine::template Ptr<uint32_t> items;
        uint64_t count;
        uint64_t capacity;
    };

    struct Root {
        uint64_t commits;        // updates and inserts after loading
        uint64_t records_loaded; // by load()
        uint64_t bucket_count;   // 0: the pool has no store yet
        typename Engine::template Ptr<Bucket> buckets;
        Values values;
    };

    KvStore(Engine &engine, uint64_t bucket_count, Comparison comparison = Comparison::Strings)
        : engine(engine), root(engine.template root<Root>()),
          find_entry(comparison == Comparison::Strings ? findString : findWords) {
        if (root->bucket_count == 0)
            create(bucket_count);
        buckets = root->buckets.get();
        count = root->bucket_count;
        values = root->values.capacity ? root->values.items.get() : nullptr;
    }

    uint64_t commits() const { return root->commits; }
    uint64_t recordsLoaded() const { return root->records_loaded; }

    std::optional<Record> find(const Key &key) const {
        const Entry *entry = locate(key).entry;
        return entry ? std::optional(recordOf(*entry)) : std::nullopt;
    }

    bool update(const Key &key, uint32_t value) {
        Entry *entry = locate(key).entry;
        if (!entry)
            return false;
        engine.transaction([&] {
            engine.writing(&values[entry->value_number]);
            values[entry->value_number] = value;
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

    // Visits `limit` records in storage order, from the record of `key` on: its bucket, then the next buckets, with
    // wrap-around. Returns the number of visited records.
    template <class Visit> uint64_t scan(const Key &key, uint64_t limit, Visit &&visit) const {
        Place place = locate(key);
        if (!place.entry)
            return 0;
        uint64_t visited = 0, bucket = place.bucket;
        const Entry *entry = place.entry;
        for (uint64_t turn = 0; turn <= count; turn++) {
            const Entry *end = buckets[bucket].entries.get() + buckets[bucket].count;
            for (; entry < end && visited < limit; entry++, visited++)
                visit(recordOf(*entry));
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
                visit(recordOf(entries[i]));
        }
    }

  private:
    struct Place {
        uint64_t bucket;
        Entry *entry;
    };

    static constexpr uint32_t CapacityInitial = 8;

    Record recordOf(const Entry &entry) const { return {entry.key, values[entry.value_number]}; }

    Place locate(const Key &key) const {
        uint64_t number = key.hash() % count;
        Bucket &bucket = buckets[number];
        return {number, bucket.count ? find_entry(bucket.entries.get(), bucket.count, key) : nullptr};
    }

    void countCommit() {
        engine.writing(&root->commits);
        root->commits++;
    }

    void append(const Key &key, uint32_t value) {
        Bucket &bucket = buckets[key.hash() % count];
        engine.writing(&bucket);
        if (bucket.count == bucket.capacity)
            grow(bucket.entries, bucket.count, bucket.capacity);
        Entry *slot = bucket.entries.get() + bucket.count;
        engine.fresh(slot);
        *slot = {key, key.length(), appendValue(value)};
        bucket.count++;
    }

    uint64_t appendValue(uint32_t value) {
        Values &all = root->values;
        engine.writing(&all);
        if (all.count == all.capacity)
            grow(all.items, all.count, all.capacity);
        values = all.items.get();
        engine.fresh(&values[all.count]);
        values[all.count] = value;
        return all.count++;
    }

    // Doubles the capacity, as std::vector does. The caller has announced the fields.
    template <class Pointer, class Count> void grow(Pointer &items, Count count_now, Count &capacity) {
        using Item = std::remove_pointer_t<decltype(items.get())>;
        Count larger_capacity = capacity ? 2 * capacity : CapacityInitial;
        Pointer larger = engine.template allocate<Item>(larger_capacity);
        if (capacity) {
            engine.fresh(larger.get(), count_now);
            memcpy(larger.get(), items.get(), count_now * sizeof(Item));
            engine.release(items, capacity);
        }
        items = larger;
        capacity = larger_capacity;
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
    Entry *(*find_entry)(Entry *entries, uint32_t count, const Key &key);
    Bucket *buckets; // a raw pointer, translated once
    uint32_t *values;
    uint64_t count;
};

} // namespace workloads
