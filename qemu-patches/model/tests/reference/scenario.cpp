// SPDX-License-Identifier: GPL-2.0-or-later
#include "scenario.h"

#include <array>
#include <map>
#include <memory>

#include "ref_memsys.h"

namespace {

constexpr uint64_t kCapacity = 1 << 15;
constexpr uint64_t kDramLines = 128;
constexpr uint32_t kNoLine = UINT32_MAX;

// Caches so small that lines are evicted often, and times that do not divide each other.
MemCpuConfig draw_cpu(Choices &c) {
    return {.l1d = {256u << c.below(2), 2, 0},
            .l2 = {512, 1u << c.below(3), 1300},
            .llc = {1536, 3, 7700},
            .cores = 1,
            .dram_latency_ps = 81000,
            .dram_bandwidth = UINT64_C(9700000000),
            .wc_buffers = 1 + c.below(4),
            .clwb_keeps_line = true};
}

MemDeviceConfig draw_device(Choices &c) {
    uint32_t page = 256u << c.below(3);
    return {.capacity_bytes = kCapacity,
            .link_latency_ps = 70001 * c.below(2),
            .link_read_bandwidth = UINT64_C(31000000000),
            .link_write_bandwidth = c.below(2) ? UINT64_C(23000000000) : UINT64_C(300000000),
            .controller_latency_ps = 33000,
            .cache_size_bytes = page * 4,
            .cache_page_bytes = page,
            .cache_ways = c.below(3),
            .cache_latency_ps = 47000,
            .cache_tag_ps = 13000 * c.below(2),
            .cache_refresh_ps = 350000 * c.below(2),
            .cache_refresh_interval_ps = 1900001,
            .cache_refresh_groups = 1,
            .cache_power_loss_protected = c.below(2) == 0,
            .flash_channels = 1 + c.below(3),
            .flash_dies = 1,
            .flash_planes = 1,
            .flash_read_ps = 1500001,
            .flash_program_ps = 4100003 * c.below(2)};
}

class Scenario {
  public:
    explicit Scenario(Choices &choices)
        : c_(choices), cpu_(draw_cpu(choices)), device_(draw_device(choices)), media_(kCapacity, 0x11),
          ref_(cpu_, device_, media_) {
        MemCallbacks callbacks = {this, on_dropped, nullptr, on_state, nullptr, nullptr};
        MemMedia where = {.base = media_.data()};
        m_.reset(memsys_new(&cpu_, &callbacks));
        memsys_add_device(m_.get(), &device_, &where);
        slots_.resize(memsys_l1_slots(m_.get()));
        map(kWindow, 0, kCapacity);
        set_timed(c_.below(8) != 0);
    }

    std::string run() {
        while (difference_.empty() && c_.more()) {
            now_ += draw_span();
            step();
            check_step();
        }
        if (difference_.empty()) {
            power_cut();
        }
        return difference_;
    }
    uint64_t digest() const { return digest_; }

  private:
    struct Slot {
        uint64_t line = kNoLine;
        bool writable = false;
    };

    mem_ps draw_span() {
        static constexpr std::array<uint32_t, 4> kSpans = {1, 2000, 300000, 20000000};
        return c_.below(kSpans[c_.below(kSpans.size())]);
    }
    // Half of the draws of device lines hit 16 hot lines.
    uint64_t draw_hpa() {
        uint64_t lines = c_.below(2) ? 16 : kCapacity / kLine;
        return c_.below(5) ? kWindow + c_.below(uint32_t(lines)) * kLine : c_.below(kDramLines) * kLine;
    }
    void scribble(uint64_t hpa, uint32_t size) {
        if (hpa - window_ < window_size_) {
            for (uint32_t i = 0; i < size; i++) {
                media_[window_dpa_ + hpa - window_ + i] = uint8_t(++scribbles_ * 37 + i);
            }
        }
    }
    void fail(const std::string &what) {
        if (difference_.empty()) {
            difference_ = "step " + std::to_string(steps_) + ": " + what;
        }
    }
    void same(const char *what, uint64_t model, uint64_t reference) {
        digest_ = (digest_ ^ model) * UINT64_C(0x100000001b3);
        if (model != reference) {
            fail(std::string(what) + ": model " + std::to_string(model) + ", reference " + std::to_string(reference));
        }
    }
    // Compare the stalls and advance the guest's clock by them.
    void stalled(const char *what, mem_ps model, mem_ps reference) {
        same(what, model, reference);
        now_ += model;
    }

    void access(bool store) {
        uint64_t hpa = draw_hpa();
        uint32_t slot;
        mem_ps stall = store ? memsys_store(m_.get(), 0, hpa, now_, &slot) : memsys_load(m_.get(), 0, hpa, now_, &slot);
        Slot &s = slots_.at(slot);
        if (s.line != kNoLine && s.line != hpa) {
            fail("a slot changed its line and was not dropped");
        }
        s = {hpa, s.writable || store};
        stalled(store ? "store" : "load", stall, ref_.access(hpa, store, now_));
        if (store) {
            scribble(hpa + c_.below(8) * 8, 8);
        }
    }
    // A store that a CPU may run without calling the model.
    void silent_store() {
        Slot &s = slots_[c_.below(uint32_t(slots_.size()))];
        if (s.writable) {
            scribble(s.line, 16);
        }
    }
    void nt_store() {
        uint32_t size = 8u << c_.below(4);
        uint64_t hpa = draw_hpa() + c_.below(kLine / size) * size;
        mem_ps model = memsys_nt_store(m_.get(), 0, hpa, size, now_);
        stalled("nt_store", model, ref_.nt_store(hpa, size, now_));
        scribble(hpa, size);
    }
    void flush() {
        uint64_t hpa = draw_hpa();
        auto kind = MemFlushKind(c_.below(3));
        mem_ps model = memsys_flush(m_.get(), 0, hpa, kind, now_);
        stalled("flush", model, ref_.flush(hpa, kind, now_));
    }
    void fence() {
        mem_ps model = memsys_fence(m_.get(), 0, MEM_SFENCE, now_);
        stalled("fence", model, ref_.fence(now_));
    }
    // Runs untimed, where the order of write-backs has no effect on times: the reference has another order.
    void wbinvd() {
        bool timed = timed_;
        set_timed(false);
        same("wbinvd", memsys_wbinvd(m_.get(), 0, now_), ref_.wbinvd(now_));
        drop_page_order();
        set_timed(timed);
    }
    // Make the order of use in both device caches equal again: load the same pages in the same order.
    void drop_page_order() {
        for (uint64_t dpa = 0; dpa < kCapacity; dpa += device_.cache_page_bytes) {
            uint32_t slot;
            if (dpa - window_dpa_ < window_size_) {
                same("untimed load", memsys_load(m_.get(), 0, window_ + dpa - window_dpa_, now_, &slot),
                     ref_.access(window_ + dpa - window_dpa_, false, now_));
                slots_.at(slot) = {window_ + dpa - window_dpa_, false};
            }
        }
    }
    void map(uint64_t hpa, uint64_t dpa, uint64_t size) {
        bool timed = timed_;
        set_timed(false);
        map_window(m_.get(), hpa, dpa, size, now_);
        if (hpa != window_ || dpa != window_dpa_ || size != window_size_) {
            ref_.map_window(hpa, dpa, size, now_);
        }
        window_ = hpa;
        window_dpa_ = dpa;
        window_size_ = size;
        drop_page_order();
        set_timed(timed);
    }
    void remap() {
        uint64_t dpa = c_.below(2) * 4096;
        map(kWindow, dpa, kCapacity - dpa);
    }
    void set_timed(bool timed) {
        timed_ = timed;
        memsys_set_timed(m_.get(), timed);
        ref_.set_timed(timed);
    }
    void power_cut() {
        std::vector<uint8_t> live = media_;
        std::vector<uint8_t> expected = ref_.survivors(now_);
        uint64_t lost = memsys_power_cut(m_.get(), now_).lines_lost;
        uint64_t expected_lost = 0;
        for (uint64_t at = 0; at < kCapacity; at += kLine) {
            expected_lost += !std::equal(&live[at], &live[at] + kLine, &expected[at]);
            if (!std::equal(&media_[at], &media_[at] + kLine, &expected[at])) {
                fail("power cut: line at " + std::to_string(at) + " holds other bytes than what was durable");
            }
        }
        same("lines lost", lost, expected_lost);
        ref_states_.clear();
    }

    void step() {
        static constexpr std::array<uint32_t, 10> kWeights = {30, 30, 20, 12, 16, 8, 1, 1, 2, 1};
        uint32_t draw = c_.below(121), op = 0;
        while (draw >= kWeights[op]) {
            draw -= kWeights[op++];
        }
        steps_++;
        switch (op) {
        case 0:
            return access(false);
        case 1:
            return access(true);
        case 2:
            return silent_store();
        case 3:
            return flush();
        case 4:
            return nt_store();
        case 5:
            return fence();
        case 6:
            return wbinvd();
        case 7:
            return remap();
        case 8:
            return c_.below(2) ? power_cut() : set_timed(!timed_);
        default:
            memsys_reset_counters(m_.get());
            ref_.reset_counters();
        }
    }

    void check_step() {
        if (const char *broken = memsys_check_invariants(m_.get())) {
            fail(std::string("invariant: ") + broken);
        }
        MemCounters model = memsys_counters(m_.get());
        const MemCounters &reference = ref_.counters();
#define X(field, what) same(#field, model.field, reference.field);
        MEM_COUNTERS(X)
#undef X
        mem_ps later = now_ + draw_probe();
        for (uint64_t line = 0; line < kCapacity / kLine; line++) {
            if (memsys_line_state(m_.get(), 0, line * kLine, later) != ref_.state(line, later)) {
                fail("state of line " + std::to_string(line));
            }
        }
    }
    mem_ps draw_probe() const { return (steps_ * 7919) % 7 * 900000; }

    static void on_dropped(void *opaque, uint32_t, uint32_t slot) {
        static_cast<Scenario *>(opaque)->slots_.at(slot) = {};
    }
    // The transitions of each line form a chain, with times that do not decrease.
    static void on_state(void *opaque, uint32_t, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps) {
        auto *s = static_cast<Scenario *>(opaque);
        auto [at, first] = s->ref_states_.try_emplace(dpa, MEM_LINE_DURABLE, 0);
        if (at->second.first != from || at_ps < at->second.second || from == to) {
            s->fail("transitions of a line do not form a chain: after " + std::to_string(at->second.first) + " at " +
                    std::to_string(at->second.second) + " came " + std::to_string(from) + " to " + std::to_string(to) +
                    " at " + std::to_string(at_ps));
        }
        at->second = {to, at_ps};
        s->same("transition", dpa + to + at_ps, dpa + to + at_ps);
    }

    struct Free {
        void operator()(MemSys *m) const { memsys_free(m); }
    };

    Choices &c_;
    MemCpuConfig cpu_;
    MemDeviceConfig device_;
    std::vector<uint8_t> media_;
    RefMemSys ref_;
    std::unique_ptr<MemSys, Free> m_;
    std::vector<Slot> slots_;
    std::map<uint64_t, std::pair<MemLineState, mem_ps>> ref_states_;
    mem_ps now_ = 0;
    bool timed_ = false;
    uint64_t window_ = 0, window_dpa_ = 0, window_size_ = 0;
    uint64_t scribbles_ = 0, steps_ = 0, digest_ = 0;
    std::string difference_;
};

} // namespace

std::string run_scenario(Choices &choices, uint64_t *digest) {
    Scenario scenario(choices);
    std::string difference = scenario.run();
    if (digest) {
        *digest = scenario.digest();
    }
    return difference;
}
