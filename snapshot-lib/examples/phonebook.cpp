// SPDX-License-Identifier: BSD-3-Clause
//
// A map of strings in a tracked file, on boost.interprocess's allocator, which knows nothing of crashes:
//
//     snap++ -std=c++20 phonebook.cpp -o phonebook
//     ./phonebook POOL Ada 1815     # puts
//     ./phonebook POOL              # lists
#include <snapshot/snapshot.h>

#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/interprocess/allocators/allocator.hpp>
#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <cstdio>
#include <cstring>

namespace bip = boost::interprocess;
using Pool = bip::basic_managed_external_buffer<char, bip::rbtree_best_fit<bip::null_mutex_family>, bip::iset_index>;
template <class T> using Allocator = bip::allocator<T, Pool::segment_manager>;
using String = boost::container::basic_string<char, std::char_traits<char>, Allocator<char>>;
using Book = boost::container::map<String, String, std::less<>, Allocator<std::pair<const String, String>>>;

constexpr size_t PoolBytes = 1 << 20;

static int fail(const char *path, int status) {
    fprintf(stderr, "%s: %s\n", path, strerror(-status));
    return 1;
}

int main(int argc, char **argv) {
    void *memory = nullptr;
    if (argc != 2 && argc != 4)
        return fputs("usage: phonebook POOL [NAME NUMBER]\n", stderr), 2;
    if (int status = snapshot_map(argv[1], PoolBytes, 0, nullptr, &memory); status < 0)
        return fail(argv[1], status);
    auto *magic = static_cast<uint64_t *>(memory); // 0 in a new pool, and after a crash in the first run
    char *heap = static_cast<char *>(memory) + 64;
    Pool pool = *magic ? Pool(bip::open_only, heap, PoolBytes - 64) : Pool(bip::create_only, heap, PoolBytes - 64);
    *magic = 1;
    Allocator<char> allocator(pool.get_segment_manager());
    Book &book = *pool.find_or_construct<Book>("book")(allocator);
    if (argc == 4)
        book.insert_or_assign(String(argv[2], allocator), String(argv[3], allocator));
    if (int status = snapshot_sync(memory); status < 0) // all of the above, or nothing
        return fail(argv[1], status);
    for (const auto &[name, number] : book)
        printf("%s %s\n", name.c_str(), number.c_str());
}
