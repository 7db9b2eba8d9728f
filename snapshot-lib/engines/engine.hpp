// SPDX-License-Identifier: BSD-3-Clause
//
// What a workload may ask of an engine. Engines are template parameters, so that each compiles to what its own users
// would write; a data structure written against this interface is the same for all of them.
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
// Pointers stored in the pool are Engine::Ptr<T>, 8 bytes relative to where they lie, so that a data structure has the
// same layout in every engine; memory that is zero is not a null pointer. Raw pointers are good until the pool is
// closed. Memory that was allocated and not announced as fresh() need not survive.
//
// Engine::Name is what users call it, Engine::Durable whether it keeps anything, Engine::CommitsAllThreads whether a
// transaction covers what all threads have stored before it ends; else it is the calling thread's own.
#pragma once

#include <boost/interprocess/offset_ptr.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace engines {

// Threads that take part in an engine's epochs change what they like between their points; none has to wait for its
// turn.
template <class Engine>
concept JoinsEpochs = requires(Engine &engine) {
    engine.enter();
    engine.point();
    engine.leave();
};

template <class T> using RelativePtr = boost::interprocess::offset_ptr<T>;

enum class OpenMode { Create, OpenExisting };

// Thrown by a constructor in OpenExisting mode if there is no pool, or one whose creation never finished.
struct NoPool : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What an engine reports about itself; what it cannot know stays 0.
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
