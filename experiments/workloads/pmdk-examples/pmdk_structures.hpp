// SPDX-License-Identifier: BSD-3-Clause
//
// Data structures that PMDK ships as examples, behind one interface. Every change is one libpmemobj transaction, as in
// PMDK's own programs (data_store.c, fifo.c). A change that fails throws std::runtime_error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace programs {

class Structure {
  public:
    virtual ~Structure() = default;
    virtual void insert(uint64_t key, uint64_t value) = 0; // a list appends
    virtual uint64_t read(uint64_t key) = 0;               // its value
    virtual uint64_t traverse() = 0;                       // the sum of all values
    virtual void erase(uint64_t key) = 0;                  // a list takes its first element
};

// In a new pool of `bytes`; kind is btree, hashmap or list.
std::unique_ptr<Structure> makeStructure(const std::string &kind, const std::string &path, size_t bytes);

} // namespace programs
