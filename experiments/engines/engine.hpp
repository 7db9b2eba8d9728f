// SPDX-License-Identifier: BSD-3-Clause
//
// The interface of engines for workloads. Engines are template parameters, so that each compiles to the code that its
// own users would write; a data structure written against this interface is the same for all engines.
//
//     Engine engine(path, bytes, OpenMode::Create);
//     Root *root = engine.template root<Root>();          // zeroed when the pool was created
//     engine.transaction([&] {                            // durable, all or nothing, when it returns
//         engine.writing(&root->count);                   // about to change live data
//         root->count++;
//         auto items = engine.template allocate<Item>(8); // Engine::Ptr<Item>; items.get() is an Item *
//         engine.fresh(items.get(), 8);                   // about to fill memory that holds nothing yet
//     });
//
// Pointers stored in the pool are Engine::Ptr<T>, 8 bytes relative to their own address, so that a data structure has
// the same layout in every engine; zeroed memory is not a null pointer. Raw pointers are valid until the pool is
// closed. Memory that was allocated but not announced as fresh() need not survive.
//
// Engine::Name is the name that users know. Engine::Durable states whether the engine keeps data.
// Engine::CommitsAllThreads states whether a transaction covers the stores of all threads before its end, or only those
// of the calling thread.
#pragma once

#include <boost/interprocess/offset_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace engines {

// The threads of a workload take part in the engine's epochs: between their points they change any data, and no thread
// waits for its turn.
template <class Engine>
concept JoinsEpochs = requires(Engine &engine) {
    engine.enter();
    engine.point();
    engine.leave();
};

template <class T> using RelativePtr = boost::interprocess::offset_ptr<T>;

enum class OpenMode { Create, OpenExisting };

// Thrown by a constructor in OpenExisting mode if there is no pool, or if its creation never finished.
struct NoPool : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Counters that an engine reports. A counter that the engine does not know stays 0.
struct Statistics {
    uint64_t commits = 0;
    uint64_t log_bytes = 0;
    uint64_t data_bytes = 0;
    uint64_t fences = 0;
    uint64_t lines_undone = 0;   // by recovery when the pool was opened
    uint64_t lines_replayed = 0; // likewise
};

[[noreturn]] inline void fail(int error, const std::string &what) {
    throw std::system_error(error, std::generic_category(), what);
}

} // namespace engines
