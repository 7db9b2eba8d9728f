// SPDX-License-Identifier: BSD-3-Clause
//
// The key-value store of kv_store.hpp for several threads: the same entries in the same buckets and the same vector of
// values, but no key is added or removed after loading. Look-ups therefore need no lock, and an update changes one
// word. An update is one transaction, which counts itself in its thread's own tally.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kv_store.hpp"
#include "together.hpp"

namespace workloads {

template <class Engine> class SharedStore {
  public:
    struct Place {
        const Entry *entry; // nullptr: there is no such key
        uint64_t bucket;
    };

    // `each_commits`: each thread commits its own updates even if a commit covers the stores of all threads.
    SharedStore(Engine &engine, uint64_t bucket_count, uint64_t threads, Comparison comparison, bool each_commits)
        : engine(engine), root(engine.template root<Root>()), each_commits(each_commits),
          find_entry(comparison == Comparison::Strings ? findString : findWords) {
        if (root->threads == 0)
            create(bucket_count, threads);
        if (root->threads != threads)
            throw std::runtime_error("the pool was made for " + std::to_string(root->threads) + " threads");
        buckets = root->buckets.get();
        tallies = root->tallies.get();
        values = root->records_loaded ? root->values.get() : nullptr;
        locks = std::make_unique<BucketLock[]>(root->bucket_count);
    }

    uint64_t recordsLoaded() const { return root->records_loaded; }
    uint64_t updatesOf(uint64_t thread) const { return tallies[thread].updates; }

    // One transaction per bucket, then one that adds the values and marks the load as complete. Loading is not
    // measured.
    template <class KeyOf, class ValueOf> void load(uint64_t records, KeyOf &&keyOf, ValueOf &&valueOf) {
        std::vector<std::vector<uint64_t>> members(root->bucket_count);
        for (uint64_t i = 0; i < records; i++)
            members[keyOf(i).hash() % root->bucket_count].push_back(i);
        for (uint64_t bucket = 0; bucket < root->bucket_count; bucket++)
            engine.transaction([&] { fill(buckets[bucket], members[bucket], keyOf); });
        engine.transaction([&] {
            engine.writing(root);
            root->values = engine.template allocate<uint32_t>(records);
            values = root->values.get();
            engine.fresh(values, records);
            for (uint64_t i = 0; i < records; i++)
                values[i] = valueOf(i);
            root->records_loaded = records;
        });
    }

    Place find(const Key &key) const {
        uint64_t bucket = key.hash() % root->bucket_count, count = buckets[bucket].count;
        Entry *entries = count ? buckets[bucket].entries.get() : nullptr;
        return {count ? find_entry(entries, static_cast<uint32_t>(count), key) : nullptr, bucket};
    }

    uint32_t valueOf(const Entry &entry) const {
        return std::atomic_ref(values[entry.value_number]).load(std::memory_order_relaxed);
    }

    void update(const Place &place, uint32_t value, uint64_t thread) {
        uint32_t *word = &values[place.entry->value_number];
        uint64_t *tally = &tallies[thread].updates;
        auto change = [&] {
            engine.writing(word);
            std::atomic_ref(*word).store(value, std::memory_order_relaxed);
            engine.writing(tally);
            ++*tally;
        };
        if constexpr (engines::JoinsEpochs<Engine>) {
            engine.transaction(change);
        } else if constexpr (Engine::CommitsAllThreads) {
            if (each_commits)
                engine.transaction(change);
            else
                together.commit(change, [&] { engine.transaction([] {}); });
        } else {
            locks[place.bucket].lock.lock(); // concurrent transactions must not have a word in common
            engine.transaction(change);
            locks[place.bucket].lock.unlock();
        }
    }

    template <class Visit> void forEach(Visit &&visit) const {
        for (uint64_t bucket = 0; bucket < root->bucket_count; bucket++)
            for (uint64_t i = 0; i < buckets[bucket].count; i++)
                visit(buckets[bucket].entries.get()[i]);
    }

  private:
    struct Bucket {
        typename Engine::template Ptr<Entry> entries;
        uint64_t count;
    };
    struct alignas(64) Tally {
        uint64_t updates;
        uint64_t unused[7]; // threads have no line in common
    };
    struct Root {
        uint64_t threads; // 0: the pool has no store yet
        uint64_t bucket_count;
        uint64_t records_loaded; // all records, or 0 if the load is not complete
        typename Engine::template Ptr<Bucket> buckets;
        typename Engine::template Ptr<uint32_t> values;
        typename Engine::template Ptr<Tally> tallies;
    };
    struct alignas(64) BucketLock {
        SpinLock lock;
    };

    template <class T> T *zeroed(typename Engine::template Ptr<T> &pointer, uint64_t count) {
        pointer = engine.template allocate<T>(count);
        engine.fresh(pointer.get(), count);
        memset(static_cast<void *>(pointer.get()), 0, count * sizeof(T));
        return pointer.get();
    }

    void create(uint64_t bucket_count, uint64_t threads) {
        engine.transaction([&] {
            engine.writing(root);
            zeroed(root->buckets, bucket_count);
            zeroed(root->tallies, threads);
            root->bucket_count = bucket_count;
            root->threads = threads;
        });
    }

    template <class KeyOf> void fill(Bucket &bucket, const std::vector<uint64_t> &members, KeyOf &&keyOf) {
        if (members.empty())
            return;
        engine.writing(&bucket);
        bucket.entries = engine.template allocate<Entry>(members.size());
        bucket.count = members.size();
        Entry *entry = bucket.entries.get();
        engine.fresh(entry, members.size());
        for (uint64_t i : members) {
            Key key = keyOf(i);
            *entry++ = {key, key.length(), i};
        }
    }

    Engine &engine;
    Root *root;
    bool each_commits;
    Entry *(*find_entry)(Entry *entries, uint32_t count, const Key &key);
    Bucket *buckets; // a raw pointer, translated once
    Tally *tallies;
    uint32_t *values;
    Together together;                   // for engines with commits that cover all threads
    std::unique_ptr<BucketLock[]> locks; // for all other engines
};

} // namespace workloads
