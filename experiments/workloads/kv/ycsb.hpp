// SPDX-License-Identifier: BSD-3-Clause
//
// The YCSB core workloads A-F and the Snapshot paper's G, as a stream of requests that depends only on the options. The
// distributions are as in YCSB 0.17.
#pragma once

#include <cstdint>
#include <string>

#include "kv_store.hpp"
#include "random.hpp"

namespace workloads {

uint64_t fnv64(uint64_t value); // as in YCSB: over 8 octets, absolute value

// Gray et al.: ranks 0 .. items-1, rank 0 the most frequent.
class Zipfian {
  public:
    explicit Zipfian(uint64_t items);
    Zipfian(uint64_t items, double zeta_items);
    uint64_t next(Random &random);
    uint64_t next(Random &random, uint64_t items); // more items than before: zeta is extended
    static double zeta(uint64_t items);

  private:
    void setItems(uint64_t items);
    uint64_t items;
    double zeta_items;
    double eta;
};

// Ranks of 10^10 items, scattered by a hash over [0, items].
class ScrambledZipfian {
  public:
    explicit ScrambledZipfian(uint64_t items);
    uint64_t next(Random &random);

  private:
    uint64_t items;
    Zipfian ranks;
};

enum class Op : uint8_t { Read, Update, Insert, Scan, ReadModifyWrite };

struct Mix {
    double read, update, insert, scan, read_modify_write;
    bool latest;
};

// Throws std::invalid_argument unless `workload` is one letter from A to G.
Mix mixOf(const std::string &workload);

struct Request {
    uint64_t key_number;
    uint32_t value;
    Op op;
    uint8_t scan_length;
};

class RequestStream {
  public:
    RequestStream(const Mix &mix, uint64_t records, uint64_t operations, uint64_t seed);
    Request next();

  private:
    uint64_t chooseKey();
    Op chooseOp();

    Mix mix;
    uint64_t records; // grows with every insert
    Random random;
    ScrambledZipfian zipfian;
    Zipfian latest;
};

Key keyOf(uint64_t key_number);
uint32_t loadedValue(uint64_t key_number, uint64_t seed);

} // namespace workloads
