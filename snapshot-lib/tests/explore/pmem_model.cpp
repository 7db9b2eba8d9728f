// SPDX-License-Identifier: BSD-3-Clause
#include "pmem_model.hpp"

#include <libpmem.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

PmemModel *pmem_model;
bool pmem_bug_no_flush, pmem_bug_no_drain;

PmemModel::PmemModel(std::string path, std::function<void()> crash_point)
    : path(std::move(path)), crash_point(std::move(crash_point)) {
    std::ifstream stream(this->path, std::ios::binary);
    durable.assign(std::istreambuf_iterator<char>(stream), {});
    durable.resize((durable.size() + PageBytes - 1) / PageBytes * PageBytes);
    seen = durable;
    pmem_model = this;
}

PmemModel::~PmemModel() { pmem_model = nullptr; }

// A pool may be mapped after the model was made, so that its recovery is seen.
bool PmemModel::locate() {
    std::ifstream maps("/proc/self/maps");
    // 7f0000000000-7f0000800000 rw-s 00000000 00:1b 123 /dev/shm/pool
    for (std::string line; !memory && std::getline(maps, line);) {
        std::istringstream words(line);
        uintptr_t begin = 0;
        std::string end, rights, offset, device, inode, name;
        words >> std::hex >> begin >> end >> rights >> offset >> device >> inode >> name;
        if (name == path && rights == "rw-s" && std::stoul(offset, nullptr, 16) == 0)
            memory = reinterpret_cast<const char *>(begin);
    }
    return memory != nullptr;
}

PmemModel::Line PmemModel::lineAt(const char *address) {
    Line line;
    memcpy(line.data(), address, LineBytes);
    return line;
}

void PmemModel::lookAtPage(size_t offset) {
    for (size_t at = offset; at < offset + PageBytes; at += LineBytes) {
        if (memcmp(memory + at, seen.data() + at, LineBytes) == 0)
            continue;
        std::vector<Line> &versions = pending[at].versions;
        if (versions.empty())
            versions.push_back(lineAt(durable.data() + at));
        versions.push_back(lineAt(memory + at));
        memcpy(seen.data() + at, memory + at, LineBytes);
    }
}

void PmemModel::look() {
    if (busy || (!memory && !locate()))
        return;
    for (size_t offset = 0; offset < seen.size(); offset += PageBytes)
        if (memcmp(memory + offset, seen.data() + offset, PageBytes) != 0)
            lookAtPage(offset);
}

void PmemModel::flush(const void *address, size_t bytes) {
    look();
    size_t begin = static_cast<size_t>(static_cast<const char *>(address) - memory);
    if (busy || !memory || begin >= seen.size())
        return;
    auto first = pending.lower_bound(begin / LineBytes * LineBytes), last = pending.lower_bound(begin + bytes);
    for (auto line = first; line != last; ++line)
        line->second.flushed = line->second.versions.size() - 1;
}

void PmemModel::drain() {
    look();
    if (busy)
        return;
    busy = true;
    crash_point();
    busy = false;
    for (auto line = pending.begin(); line != pending.end();) {
        auto &[offset, held] = *line;
        held.versions.erase(held.versions.begin(), held.versions.begin() + static_cast<ptrdiff_t>(held.flushed));
        held.flushed = 0;
        memcpy(durable.data() + offset, held.versions[0].data(), LineBytes);
        line = held.versions.size() == 1 ? pending.erase(line) : std::next(line);
    }
}

void PmemModel::forEachState(size_t exhaustive, size_t samples, const Visit &visit) {
    size_t total = 1;
    for (const auto &[offset, held] : pending)
        total = std::min(total * held.versions.size(), exhaustive + 1);
    bool is_exhaustive = total <= exhaustive;
    std::string bytes = durable;
    for (size_t ordinal = 0; ordinal < (is_exhaustive ? total : samples + 2); ordinal++) {
        size_t rest = ordinal;
        for (const auto &[offset, held] : pending) {
            size_t count = held.versions.size(), newest = ordinal == 1 ? count - 1 : 0;
            size_t sampled = ordinal < 2 ? newest : random() % count;
            memcpy(bytes.data() + offset, held.versions[is_exhaustive ? rest % count : sampled].data(), LineBytes);
            rest /= count;
        }
        visit(bytes);
    }
}

static void flushed(const void *address, size_t bytes, unsigned flags) {
    if (!pmem_model || (flags & PMEM_F_MEM_NOFLUSH))
        return;
    if (!pmem_bug_no_flush)
        pmem_model->flush(address, bytes);
    if (!(flags & PMEM_F_MEM_NODRAIN) && !pmem_bug_no_drain)
        pmem_model->drain();
}

// The functions of libpmem that libpmemobj calls.
extern "C" {
int pmem_is_pmem(const void *, size_t) { return 1; }
void pmem_flush(const void *address, size_t bytes) { flushed(address, bytes, PMEM_F_MEM_NODRAIN); }
void pmem_deep_flush(const void *address, size_t bytes) { flushed(address, bytes, PMEM_F_MEM_NODRAIN); }
void pmem_persist(const void *address, size_t bytes) { flushed(address, bytes, 0); }
void pmem_drain(void) {
    if (pmem_model && !pmem_bug_no_drain)
        pmem_model->drain();
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
