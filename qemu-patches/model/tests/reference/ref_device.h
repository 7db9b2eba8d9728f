// SPDX-License-Identifier: GPL-2.0-or-later
// The device cache and the write log at the level of bytes, in the most obvious form: each place holds the version of
// each byte, lists are searched, and a read must find the newest version. This reference has no times, so no request
// is ever under way. It counts hits, fetches, completions and programs.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "../rigs/rig.h"

class RefDevice {
  public:
    explicit RefDevice(const MemDeviceConfig &config)
        : config_(config), sets_(config.cache_ways ? frames() / config.cache_ways : 1) {}

    void set_config(const MemDeviceConfig &config) { config_ = config; }
    void read(uint64_t line) {
        drain_log();
        Found f = find_for_read(line);
        for (uint64_t i = 0; i < kLine; i++) {
            uint64_t byte = line * kLine + i;
            int held = f.page ? f.page->bytes[byte % page_bytes()] : log_version(byte);
            check(held == newest_[byte], "a read returns an old version of byte " + std::to_string(byte));
        }
        learn(f, line);
    }
    void write(uint64_t line, uint64_t mask) {
        drain_log();
        bool logs = config_.cache_write_miss == MEM_WRITE_LOG;
        Found f = logs ? find_for_log(line) : find_for_write(line);
        for (uint64_t i = 0; i < kLine; i++) {
            if (mask >> i & 1) {
                write_byte(line * kLine + i, f.page, logs);
            }
        }
        if (!logs && config_.cache_write == MEM_WRITE_THROUGH) {
            count.cache_through_programs++;
            program(*f.page);
        } else if (!logs) {
            f.page->dirty = true;
        }
        learn(f, line);
        if (++writes_ % 16 == 0) {
            check(bytes_in_ == bytes_out_ + bytes_overwritten_ + dirty_bytes(), "bytes in = bytes out + dirty");
        }
    }
    const std::string &fault() const { return fault_; }

    MemCounters count = {};

  private:
    static constexpr int kInvalid = -1;
    struct CachedPage {
        uint64_t page;
        std::vector<int> bytes;
        bool dirty = false, prefetched = false;
    };
    struct Found {
        CachedPage *page;
        bool learns;
    };
    struct Half {
        std::vector<uint64_t> lines, pages; // in the order of the first write
        std::map<uint64_t, int> bytes;      // versions
        std::map<uint64_t, bool> dirty;     // by page
    };

    uint64_t frames() const { return config_.cache_size_bytes / config_.cache_page_bytes; }
    uint64_t page_bytes() const { return config_.cache_page_bytes; }
    void check(bool holds, const std::string &what) { fault_ = holds || !fault_.empty() ? fault_ : what; }

    // ---- Bytes ----

    int log_version(uint64_t byte) const {
        for (const Half *half : {filling_, full_}) {
            if (auto held = half->bytes.find(byte); held != half->bytes.end()) {
                return held->second;
            }
        }
        return kInvalid;
    }
    int stored_version(uint64_t byte) {
        int logged = log_version(byte);
        return logged != kInvalid ? logged : flash_[byte];
    }
    void complete(CachedPage &p) {
        for (uint64_t i = 0; i < page_bytes(); i++) {
            p.bytes[i] = p.bytes[i] != kInvalid ? p.bytes[i] : stored_version(p.page * page_bytes() + i);
        }
    }
    static bool is_whole(const CachedPage &p) { return std::count(p.bytes.begin(), p.bytes.end(), kInvalid) == 0; }
    void write_byte(uint64_t byte, CachedPage *page, bool logs) {
        bytes_in_++;
        bytes_overwritten_ += newest_[byte] != flash_[byte];
        newest_[byte] = ++version_;
        if (page) {
            page->bytes[byte % page_bytes()] = version_;
        }
        filling_->bytes.erase(byte);
        full_->bytes.erase(byte);
        if (logs) {
            filling_->bytes[byte] = version_;
        }
    }
    void put_in_flash(uint64_t page, const std::vector<int> &bytes) {
        count.flash_programs++;
        for (uint64_t i = 0; i < page_bytes(); i++) {
            uint64_t byte = page * page_bytes() + i;
            check(bytes[i] == newest_[byte], "a program takes an old version of byte " + std::to_string(byte));
            bytes_out_ += flash_[byte] != newest_[byte];
            flash_[byte] = bytes[i];
        }
    }
    uint64_t dirty_bytes() {
        uint64_t dirty = 0;
        for (auto [byte, version] : newest_) {
            dirty += flash_[byte] != version;
        }
        return dirty;
    }

    // ---- Pages ----

    void program(CachedPage &p) {
        if (!is_whole(p)) {
            count.cache_completions++;
            count.flash_reads++;
            complete(p);
        }
        put_in_flash(p.page, p.bytes);
        p.dirty = false;
    }
    std::list<CachedPage> &set_of(uint64_t page) { return sets_[page % sets_.size()]; }
    CachedPage *find(uint64_t page) {
        for (CachedPage &p : set_of(page)) {
            if (p.page == page) {
                return &p;
            }
        }
        return nullptr;
    }
    CachedPage *use(uint64_t page) {
        auto &set = set_of(page);
        auto at = std::find_if(set.begin(), set.end(), [page](const CachedPage &p) { return p.page == page; });
        set.splice(set.begin(), set, at);
        return &set.front();
    }
    CachedPage *place(uint64_t page) {
        auto &set = set_of(page);
        if (set.size() == frames() / sets_.size()) {
            count.cache_prefetches_useless += set.back().prefetched;
            if (set.back().dirty) {
                count.cache_writebacks++;
                program(set.back());
            }
            set.pop_back();
        }
        set.push_front({page, std::vector<int>(page_bytes(), kInvalid)});
        return &set.front();
    }
    CachedPage *fetch(uint64_t page) {
        CachedPage *p = place(page);
        count.flash_reads++;
        complete(*p);
        return p;
    }
    // The first use of a prefetched page trains the prefetcher as a miss does.
    bool first_use(CachedPage *p) {
        bool first = p->prefetched;
        count.cache_prefetches_useful += first;
        p->prefetched = false;
        return first;
    }
    void learn(const Found &f, uint64_t line) {
        uint64_t page = line * kLine / page_bytes();
        for (uint32_t i = 1;
             f.learns && config_.cache_prefetch == MEM_PREFETCH_NEXT && i <= config_.cache_prefetch_pages; i++) {
            if ((page + i) * page_bytes() < config_.capacity_bytes && !find(page + i)) {
                count.cache_prefetches++;
                fetch(page + i)->prefetched = true;
            }
        }
    }

    // ---- Look-ups ----

    bool holds_line(const CachedPage &p, uint64_t line) const {
        auto first = p.bytes.begin() + ptrdiff_t(line * kLine % page_bytes());
        return std::count(first, first + kLine, kInvalid) == 0;
    }
    Found find_for_read(uint64_t line) {
        uint64_t page = line * kLine / page_bytes();
        CachedPage *p = find(page);
        if (p && holds_line(*p, line)) {
            count.cache_hits++;
            p = use(page);
            return {p, first_use(p)};
        }
        uint64_t logged = 0;
        for (uint64_t i = 0; i < kLine; i++) {
            logged += log_version(line * kLine + i) != kInvalid;
        }
        if (!p && logged == kLine) {
            count.cache_hits++;
            count.log_hits++;
            return {nullptr, false};
        }
        count.cache_misses++;
        if (!p) {
            return {fetch(page), true};
        }
        p = use(page);
        first_use(p);
        count.flash_reads++;
        complete(*p);
        return {p, true};
    }
    Found find_for_write(uint64_t line) {
        uint64_t page = line * kLine / page_bytes();
        if (find(page)) {
            count.cache_hits++;
            CachedPage *p = use(page);
            return {p, first_use(p)};
        }
        count.cache_misses++;
        if (config_.cache_write_miss != MEM_WRITE_NO_FETCH) {
            return {fetch(page), true};
        }
        count.cache_unfetched++;
        return {place(page), true};
    }

    // ---- The log ----

    Found find_for_log(uint64_t line) {
        uint64_t page = line * kLine / page_bytes();
        CachedPage *p = find(page);
        bool logged = false;
        for (uint64_t i = 0; i < kLine; i++) {
            logged |= log_version(line * kLine + i) != kInvalid;
        }
        bool learns = p && first_use(p);
        p = p ? use(page) : nullptr;
        (p || logged ? count.cache_hits : count.cache_misses)++;
        count.cache_unfetched += !p && !logged;
        count.log_writes++;
        if (!contains(filling_->lines, line)) {
            if (filling_->lines.size() == config_.write_log_bytes / 2 / kLine) {
                turn();
            }
            filling_->lines.push_back(line);
        }
        if (!contains(filling_->pages, page)) {
            filling_->pages.push_back(page);
        }
        filling_->dirty[page] = true;
        return {p, learns};
    }
    static bool contains(const std::vector<uint64_t> &list, uint64_t what) {
        return std::find(list.begin(), list.end(), what) != list.end();
    }
    void turn() {
        std::swap(filling_, full_);
        *filling_ = {};
        for (uint64_t page : full_->pages) {
            if (dirty_in_log(page)) {
                compact(page);
            }
        }
    }
    // False for a page if all its logged bytes have since been written elsewhere.
    bool dirty_in_log(uint64_t page) const {
        auto byte = full_->bytes.lower_bound(page * page_bytes());
        return full_->dirty.at(page) && byte != full_->bytes.end() && byte->first < (page + 1) * page_bytes();
    }
    void compact(uint64_t page) {
        CachedPage *cached = find(page);
        CachedPage merged = cached ? *cached : CachedPage{page, std::vector<int>(page_bytes(), kInvalid)};
        uint64_t logged = 0;
        for (uint64_t i = 0; i < page_bytes(); i++) {
            logged += full_->bytes.count(page * page_bytes() + i);
        }
        if (logged < page_bytes() && !(cached && is_whole(*cached))) {
            count.cache_completions++;
            count.flash_reads++;
        }
        complete(merged);
        count.log_compactions++;
        put_in_flash(page, merged.bytes);
    }
    // When writes no longer go to the log, compact its content.
    void drain_log() {
        if (config_.cache_write_miss != MEM_WRITE_LOG && !filling_->lines.empty()) {
            turn();
        }
    }

    MemDeviceConfig config_;
    std::vector<std::list<CachedPage>> sets_; // most recently used first
    Half halves_[2];
    Half *filling_ = &halves_[0], *full_ = &halves_[1];
    std::map<uint64_t, int> newest_, flash_;
    int version_ = 0;
    uint64_t bytes_in_ = 0, bytes_out_ = 0, bytes_overwritten_ = 0, writes_ = 0;
    std::string fault_;
};
