// SPDX-License-Identifier: BSD-3-Clause
// bench_guest KERNEL [--ops N] [--file PATH]: a fixed amount of guest work, which the host times by its wall clock.
//
// The work is a fixed number of operations, never a fixed time. Begin and end are written to the results port, where
// the host sees the file grow (on any QEMU), and are marks 1 and 2 of the doorbell. In a testbed the work is also a
// region of interest.
#include "measure.h"
#include "testbed_roi.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <termios.h>
#include <unistd.h>
#include <unordered_map>

namespace {

constexpr uint64_t line_bytes = 64, mib = 1 << 20;
constexpr uint64_t cxl_file_bytes = 64 * mib;
constexpr uint64_t copy_bytes = 1 * mib;

struct Arguments {
    uint64_t ops = 0;
    const char *file = "/pmem/bench.bin";
};

volatile uint64_t sink; // keeps the compiler from removing the kernels

// Reports begin and end to the host: the span of virtual time between construction and destruction.
class Span {
  public:
    Span(const char *kernel, uint64_t ops) : kernel_(kernel), ops_(ops) {
        port_ = open("/dev/ttyS1", O_WRONLY | O_NOCTTY);
        say("{\"type\":\"bench\",\"kernel\":\"%s\",\"at\":\"begin\",\"ops\":%" PRIu64 "}\n", kernel_, ops_);
        testbed_mark(1);
        testbed_roi_begin(1);
        begin_ns_ = now_ns();
    }
    ~Span() {
        uint64_t took_ns = now_ns() - begin_ns_;
        testbed_roi_end();
        testbed_mark(2);
        say("{\"type\":\"bench\",\"kernel\":\"%s\",\"at\":\"end\",\"ops\":%" PRIu64 ",\"virtual_ns\":%" PRIu64 "}\n",
            kernel_, ops_, took_ns);
        close(port_);
    }
    Span(const Span &) = delete;
    Span &operator=(const Span &) = delete;

  private:
    // Waits until the last byte has been sent, so that the host's clock shows the moment.
    template <typename... T> void say(const char *format, T... values) {
        dprintf(port_ < 0 ? STDOUT_FILENO : port_, format, values...);
        if (port_ >= 0)
            tcdrain(port_);
    }
    const char *kernel_;
    uint64_t ops_, begin_ns_ = 0;
    int port_;
};

[[gnu::noinline]] void *chase(void *node, uint64_t ops) {
    for (; ops; ops--)
        node = *static_cast<void **>(node);
    return node;
}

void run_chase(const char *name, uint64_t ops, uint64_t bytes) {
    void *node = build_cycle(map_anonymous(bytes), bytes, line_bytes, 1);
    Span span(name, ops);
    sink = reinterpret_cast<uint64_t>(chase(node, ops));
}

void l1_chase(const Arguments &a) { run_chase("l1_chase", a.ops, 16 << 10); }

void chase_64mib(const Arguments &a) { run_chase("chase_64mib", a.ops, 64 * mib); }

// Half insertions and updates, half look-ups, of 200 000 keys.
void hash_map(const Arguments &a) {
    std::unordered_map<uint64_t, uint64_t> map;
    uint64_t random = 88172645463325252u, sum = 0;
    Span span("hash_map", a.ops);
    for (uint64_t i = 0; i < a.ops / 2; i++)
        map[next_random(&random) % 200000] += i;
    for (uint64_t i = 0; i < a.ops / 2; i++)
        if (auto found = map.find(next_random(&random) % 200000); found != map.end())
            sum += found->second;
    sink = sum;
}

// One operation copies eight bytes.
void copy_8b(const Arguments &a) {
    auto *from = static_cast<uint64_t *>(map_anonymous(copy_bytes)),
         *to = static_cast<uint64_t *>(map_anonymous(copy_bytes));
    const uint64_t words = copy_bytes / sizeof *from;
    Span span("copy_8b", a.ops);
    for (uint64_t i = 0; i < a.ops; i++) {
        to[i % words] = from[i % words];
        asm volatile("" : : : "memory");
    }
}

// One operation copies one mebibyte.
void memcpy_1mib(const Arguments &a) {
    void *from = map_anonymous(copy_bytes), *to = map_anonymous(copy_bytes);
    Span span("memcpy", a.ops);
    for (uint64_t i = 0; i < a.ops; i++) {
        memcpy(to, from, copy_bytes);
        asm volatile("" : : "r"(to) : "memory");
    }
}

// Eight-byte loads in address order.
void cxl_sequential(const Arguments &a) {
    auto *words = static_cast<volatile uint64_t *>(map_file(a.file, cxl_file_bytes));
    const uint64_t count = cxl_file_bytes / sizeof *words;
    Span span("cxl_sequential", a.ops);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < a.ops; i++)
        sum += words[i % count];
    sink = sum;
}

void cxl_random(const Arguments &a) {
    void *node = build_cycle(map_file(a.file, cxl_file_bytes), cxl_file_bytes, line_bytes, 1);
    Span span("cxl_random", a.ops);
    sink = reinterpret_cast<uint64_t>(chase(node, a.ops));
}

struct Kernel {
    std::string_view name;
    void (*run)(const Arguments &);
    uint64_t default_ops; // about half a second of host time on stock QEMU
};

constexpr Kernel kernels[] = {
    {"l1_chase", l1_chase, 60'000'000},      {"hash_map", hash_map, 1'000'000},
    {"copy_8b", copy_8b, 50'000'000},        {"memcpy", memcpy_1mib, 400},
    {"chase_64mib", chase_64mib, 5'000'000}, {"cxl_sequential", cxl_sequential, 1'500'000},
    {"cxl_random", cxl_random, 1'000'000},
};

[[noreturn]] void usage() {
    fail("usage: bench_guest l1_chase|hash_map|copy_8b|memcpy|chase_64mib|cxl_sequential|cxl_random [--ops N] [--file "
         "PATH]");
}

} // namespace

int main(int argc, char **argv) {
    for (const Kernel &kernel : kernels) {
        if (argc < 2 || kernel.name != argv[1])
            continue;
        Arguments a{.ops = kernel.default_ops};
        for (int i = 2; i < argc; i += 2) {
            std::string_view option = argv[i];
            if (i + 1 == argc)
                usage();
            else if (option == "--ops")
                a.ops = parse_bytes("--ops", argv[i + 1]);
            else if (option == "--file")
                a.file = argv[i + 1];
            else
                usage();
        }
        kernel.run(a);
        return 0;
    }
    usage();
}
