// SPDX-License-Identifier: GPL-2.0-or-later
// Replacement policies of one set, as their papers describe them: lists of pages, searched from end to end.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

using Page = uint64_t;

class RefPolicy {
  public:
    explicit RefPolicy(size_t ways) : ways_(ways) {}
    virtual ~RefPolicy() = default;
    virtual bool access(Page page) = 0; // returns whether the page was cached
    virtual bool has(Page page) const = 0;

  protected:
    static bool holds(const std::deque<Page> &q, Page page) { return std::find(q.begin(), q.end(), page) != q.end(); }
    static void drop(std::deque<Page> &q, Page page) { std::erase(q, page); }
    static Page pop_oldest(std::deque<Page> &q) {
        Page page = q.back();
        q.pop_back();
        return page;
    }
    size_t ways_;
};

class RefLru : public RefPolicy {
  public:
    using RefPolicy::RefPolicy;
    bool has(Page page) const override { return holds(pages_, page); }
    bool access(Page page) override {
        bool hit = holds(pages_, page);
        drop(pages_, page);
        pages_.push_front(page);
        if (pages_.size() > ways_) {
            pages_.pop_back();
        }
        return hit;
    }

  private:
    std::deque<Page> pages_;
};

class RefFifo : public RefPolicy {
  public:
    using RefPolicy::RefPolicy;
    bool has(Page page) const override { return holds(pages_, page); }
    bool access(Page page) override {
        if (holds(pages_, page)) {
            return true;
        }
        pages_.push_front(page);
        if (pages_.size() > ways_) {
            pages_.pop_back();
        }
        return false;
    }

  private:
    std::deque<Page> pages_;
};

// A FIFO in which a used page goes round once more, which is equivalent to a clock hand on a circle.
class RefClock : public RefPolicy {
  public:
    using RefPolicy::RefPolicy;
    bool has(Page page) const override { return holds(pages_, page); }
    bool access(Page page) override {
        if (holds(pages_, page)) {
            used_[page] = true;
            return true;
        }
        if (pages_.size() == ways_) {
            Page oldest = pop_oldest(pages_);
            while (used_[oldest]) {
                used_[oldest] = false;
                pages_.push_front(oldest);
                oldest = pop_oldest(pages_);
            }
        }
        pages_.push_front(page);
        used_[page] = false;
        return false;
    }

  private:
    std::deque<Page> pages_;
    std::map<Page, bool> used_;
};

class Ref2Q : public RefPolicy {
  public:
    using RefPolicy::RefPolicy;
    bool has(Page page) const override { return holds(a1in_, page) || holds(am_, page); }
    bool access(Page page) override {
        if (holds(am_, page)) {
            drop(am_, page);
            am_.push_front(page);
            return true;
        }
        if (holds(a1in_, page)) {
            return true;
        }
        bool returns = holds(a1out_, page);
        drop(a1out_, page);
        reclaim();
        (returns ? am_ : a1in_).push_front(page);
        return false;
    }

  private:
    void reclaim() {
        if (a1in_.size() + am_.size() < ways_) {
            return;
        }
        if (a1in_.size() > std::max<size_t>(1, ways_ / 4) || am_.empty()) {
            a1out_.push_front(pop_oldest(a1in_));
            if (a1out_.size() > std::max<size_t>(1, ways_ / 2)) {
                a1out_.pop_back();
            }
        } else {
            am_.pop_back();
        }
    }
    std::deque<Page> a1in_, a1out_, am_;
};

class RefS3Fifo : public RefPolicy {
  public:
    explicit RefS3Fifo(size_t ways) : RefPolicy(ways), small_room_(std::max<size_t>(1, ways / 10)) {}
    bool has(Page page) const override { return holds(small_, page) || holds(main_, page); }
    bool access(Page page) override {
        if (holds(small_, page) || holds(main_, page)) {
            hits_[page] = std::min(hits_[page] + 1, 3);
            return true;
        }
        if (small_.size() + main_.size() == ways_) {
            while (!(small_.size() >= small_room_ ? evict_small() : evict_main())) {
            }
        }
        (holds(ghosts_, page) ? main_ : small_).push_front(page);
        drop(ghosts_, page);
        hits_[page] = 0;
        return false;
    }

  private:
    bool evict_small() {
        Page page = pop_oldest(small_);
        if (hits_[page] > 1) {
            hits_[page] = 0;
            main_.push_front(page);
            return false;
        }
        ghosts_.push_front(page);
        if (ghosts_.size() > std::max<size_t>(1, ways_ - small_room_)) {
            ghosts_.pop_back();
        }
        return true;
    }
    bool evict_main() {
        Page page = pop_oldest(main_);
        if (hits_[page] == 0) {
            return true;
        }
        hits_[page]--;
        main_.push_front(page);
        return false;
    }
    size_t small_room_;
    std::deque<Page> small_, main_, ghosts_;
    std::map<Page, int> hits_;
};

// The policy of that name for one set, or null if the policy has no reference.
inline std::unique_ptr<RefPolicy> make_reference(const std::string &name, size_t ways) {
    static const std::map<std::string, std::function<std::unique_ptr<RefPolicy>(size_t)>> kMakers = {
        {"lru", [](size_t n) { return std::make_unique<RefLru>(n); }},
        {"fifo", [](size_t n) { return std::make_unique<RefFifo>(n); }},
        {"clock", [](size_t n) { return std::make_unique<RefClock>(n); }},
        {"2q", [](size_t n) { return std::make_unique<Ref2Q>(n); }},
        {"s3-fifo", [](size_t n) { return std::make_unique<RefS3Fifo>(n); }},
    };
    auto maker = kMakers.find(name);
    return maker == kMakers.end() ? nullptr : maker->second(ways);
}
