// SPDX-License-Identifier: BSD-3-Clause
#include "pmem_program.hpp"

#include <libpmem.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

PmemProgram *pmem_program;
bool pmem_bug_no_flush, pmem_bug_no_drain;

static Medium contentOf(const std::string &path, size_t page_bytes) {
    std::ifstream stream(path, std::ios::binary);
    Medium content(std::istreambuf_iterator<char>(stream), {});
    content.resize((content.size() + page_bytes - 1) / page_bytes * page_bytes);
    return content;
}

PmemProgram::PmemProgram(std::string path, std::function<void()> crash_point)
    : path(std::move(path)), crash_point(std::move(crash_point)), seen(contentOf(this->path, PageBytes)),
      states(seen, 1) {
    pmem_program = this;
}

PmemProgram::~PmemProgram() { pmem_program = nullptr; }

// A pool may be mapped after the model was made, so that its recovery is seen.
bool PmemProgram::locate() {
    std::ifstream maps("/proc/self/maps");
    // 7f0000000000-7f0000800000 rw-s 00000000 00:1b 123 /dev/shm/pool
    for (std::string line; !memory && std::getline(maps, line);) {
        std::istringstream words(line);
        uintptr_t begin = 0;
        std::string end, rights, offset, device, inode, name;
        words >> std::hex >> begin >> end >> rights >> offset >> device >> inode >> name;
        if (name == path && rights == "rw-s" && std::stoul(offset, nullptr, 16) == 0)
            memory = reinterpret_cast<const uint8_t *>(begin);
    }
    return memory != nullptr;
}

void PmemProgram::lookAtPage(size_t offset) {
    for (size_t at = offset; at < offset + PageBytes; at += LineBytes) {
        if (memcmp(memory + at, seen.data() + at, LineBytes) == 0)
            continue;
        MediaEvent store{.kind = MediaEvent::Store, .line = at, .bytes = ~0ull};
        memcpy(store.content.data(), memory + at, LineBytes);
        states.follow(store);
        memcpy(seen.data() + at, memory + at, LineBytes);
    }
}

void PmemProgram::look() {
    if (busy || (!memory && !locate()))
        return;
    for (size_t offset = 0; offset < seen.size(); offset += PageBytes)
        if (memcmp(memory + offset, seen.data() + offset, PageBytes) != 0)
            lookAtPage(offset);
}

void PmemProgram::flush(const void *address, size_t bytes) {
    look();
    size_t begin = static_cast<size_t>(static_cast<const uint8_t *>(address) - memory);
    if (busy || !memory || begin >= seen.size())
        return;
    for (size_t line = begin / LineBytes * LineBytes; line < std::min(begin + bytes, seen.size()); line += LineBytes)
        states.follow({.kind = MediaEvent::Flush, .line = line});
}

void PmemProgram::drain() {
    look();
    if (busy)
        return;
    busy = true;
    crash_point();
    busy = false;
    states.follow({.kind = MediaEvent::Fence});
}

static void flushed(const void *address, size_t bytes, unsigned flags) {
    if (!pmem_program || (flags & PMEM_F_MEM_NOFLUSH))
        return;
    if (!pmem_bug_no_flush)
        pmem_program->flush(address, bytes);
    if (!(flags & PMEM_F_MEM_NODRAIN) && !pmem_bug_no_drain)
        pmem_program->drain();
}

// The functions of libpmem that libpmemobj calls.
extern "C" {
int pmem_is_pmem(const void *, size_t) { return 1; }
void pmem_flush(const void *address, size_t bytes) { flushed(address, bytes, PMEM_F_MEM_NODRAIN); }
void pmem_deep_flush(const void *address, size_t bytes) { flushed(address, bytes, PMEM_F_MEM_NODRAIN); }
void pmem_persist(const void *address, size_t bytes) { flushed(address, bytes, 0); }
void pmem_drain(void) {
    if (pmem_program && !pmem_bug_no_drain)
        pmem_program->drain();
}
int pmem_msync(const void *address, size_t bytes) {
    flushed(address, bytes, 0);
    return 0;
}
void *pmem_memcpy(void *to, const void *from, size_t bytes, unsigned flags) {
    memcpy(to, from, bytes);
    flushed(to, bytes, flags);
    return to;
}
void *pmem_memmove(void *to, const void *from, size_t bytes, unsigned flags) {
    memmove(to, from, bytes);
    flushed(to, bytes, flags);
    return to;
}
void *pmem_memset(void *to, int value, size_t bytes, unsigned flags) {
    memset(to, value, bytes);
    flushed(to, bytes, flags);
    return to;
}
}
