// SPDX-License-Identifier: GPL-2.0-or-later
#include "system_scenario.h"

#include <algorithm>
#include <array>
#include <map>

#include "ref_system.h"

namespace {

constexpr uint64_t kCapacity = 1 << 15;
constexpr uint64_t kDramLines = 320; // five 4 KiB pages
constexpr uint64_t kWindowStep = 1 << 20;
constexpr uint32_t kWindows = 4;
constexpr mem_ps kQuantum = 5000;
constexpr uint64_t kSlice = kCapacity / kWindows; // of each device, so that no line is in two windows

template <typename T, size_t n> T one_of(Choices &c, const T (&values)[n]) { return values[c.below(n)]; }

// Caches so small that lines are evicted often, few buffers of each kind, and times that do not divide each other.
MemCpuConfig draw_cpu(Choices &c, uint32_t cores) {
    static constexpr mem_ps kSpans[] = {0, 9001, 150001, 4000001};
    uint32_t distance = 1 + c.below(20);
    return {.l1d = {kLine * 2 * (1 + c.below(4)), 2, 0},
            .l2 = {kLine * 12, 1u + c.below(3), 1300},
            .llc = {kLine * 24, 3u + c.below(2), 7700},
            .cores = cores,
            .dram_latency_ps = 81000,
            .dram_bandwidth = UINT64_C(9700000000),
            .wc_buffers = 1 + c.below(4),
            .fill_buffers = c.below(5),
            .store_buffer = c.below(5),
            .overlap = c.below(3),
            .overlap_window_ps = one_of(c, kSpans),
            .prefetch_streams = c.below(4),
            .prefetch_distance = distance,
            .prefetch_degree = 1 + c.below(distance),
            .prefetch_buffers = c.below(4),
            .l2_requests = c.below(7),
            .clwb_keeps_line = c.below(2) == 1,
            .c2c_ps = 7700 + 9003 * c.below(3),
            .upgrade_ps = 7001 * c.below(2),
            .lock_ps = 503,
            .cpuid_ps = 7,
            .rdmsr_ps = 1007,
            .wrmsr_ps = 2007,
            .mov_cr_ps = 3007,
            .mov_cr3_ps = 4007,
            .mov_dr_ps = 5007,
            .invlpg_ps = 6007,
            .load_table_ps = 7007,
            .iret_ps = 8007,
            .rdtsc_ps = 9007,
            .wbinvd_ps = 10007,
            .seed = c.below(3)};
}

// Draw the parameters that may change at run time.
void draw_live(Choices &c, MemDeviceConfig &d) {
    static constexpr uint32_t kFlits[] = {0, 68, 256};
    d.link_latency_ps = 35001 * c.below(3);
    d.link_read_bandwidth = c.below(2) ? UINT64_C(31000000000) : UINT64_C(900000000);
    d.link_write_bandwidth = c.below(2) ? UINT64_C(23000000000) : UINT64_C(300000000);
    d.link_flit_bytes = one_of(c, kFlits);
    d.link_multi_header = c.below(2);
    d.controller_latency_ps = 33000;
    d.controller_interval_ps = 2300 * c.below(3);
    d.cache_tag_ps = 21000 * c.below(2);
    d.cache_latency_ps = 47000;
    d.cache_refresh_ps = 90001 * c.below(2);
    d.cache_refresh_interval_ps = 400003;
    d.cache_refresh_groups = 1 + c.below(5);
    d.cache_bandwidth = c.below(2) ? UINT64_C(19000000000) : 0;
    d.cache_policy = c.below(6);
    d.cache_write_miss = c.below(d.write_log_bytes ? 3 : 2);
    d.cache_write = d.cache_write_miss == MEM_WRITE_LOG ? 0 : c.below(2);
    d.cache_mshrs = c.below(4);
    d.cache_prefetch = c.below(3);
    d.cache_prefetch_pages = 1 + c.below(3);
    d.flash_read_ps = 1500001;
    d.flash_program_ps = 4100003 * c.below(2);
    d.flash_erase_ps = 9000007;
    d.flash_channel_bandwidth = c.below(2) ? UINT64_C(1000000000) : 0;
    d.flash_suspend = c.below(2) == 1;
    d.flash_suspend_ps = 300001;
    d.wbarrier_latency_ps = 700003 * c.below(2);
}

MemDeviceConfig draw_device(Choices &c) {
    static constexpr uint32_t kWays[] = {0, 1, 2, 3, 6};
    uint32_t page = 128u << c.below(4);
    MemDeviceConfig d = {.capacity_bytes = kCapacity,
                         .cache_size_bytes = page * 6,
                         .cache_page_bytes = page,
                         .cache_ways = one_of(c, kWays),
                         .cache_seed = c.below(1000),
                         .write_log_bytes = 2 * kLine * c.below(8),
                         .cache_power_loss_protected = c.below(2) == 0,
                         .flash_channels = c.below(4),
                         .flash_dies = 1 + c.below(2),
                         .flash_planes = 1,
                         .flash_ftl = c.below(2),
                         .flash_block_pages = 4,
                         .flash_over_provisioning_permille = 1000,
                         .flash_gc = c.below(2),
                         .flash_gc_free_blocks = 1 + c.below(2)};
    d.write_queue = d.cache_power_loss_protected || !d.flash_channels ? c.below(4) : 0;
    draw_live(c, d);
    if (d.flash_ftl == MEM_FTL_PAGE && c.below(2)) {
        d.flash_endurance_cycles = 1 + c.below(4);
        d.flash_worn_cycles = c.below(3);
        d.flash_read_errors = UINT64_C(100000000000) * (1 + c.below(10));
        d.flash_read_errors_seed = c.below(1000);
    }
    if (d.flash_channels && mem_flash_check(&d)) { // too few blocks for this number of planes
        d.flash_ftl = MEM_FTL_NONE;
        d.flash_read_errors = 0;
    }
    return d;
}

std::vector<MemDeviceConfig> draw_devices(Choices &c) {
    std::vector<MemDeviceConfig> devices(1 + c.below(3));
    for (MemDeviceConfig &d : devices) {
        d = draw_device(c);
    }
    return devices;
}

class Scenario {
  public:
    Scenario(Choices &choices, uint32_t cores)
        : c_(choices), cpu_(draw_cpu(choices, cores)), devices_(draw_devices(choices)), ref_(cpu_, devices_),
          clocks_(cores) {
        MemCallbacks callbacks = {this, on_dropped, on_shared, nullptr, nullptr, on_lost};
        m_.reset(memsys_new(&cpu_, &callbacks));
        for (size_t i = 0; i < devices_.size(); i++) {
            media_.emplace_back(kCapacity);
            MemMedia where = {.base = media_.back().data()};
            memsys_add_device(m_.get(), &devices_[i], &where);
        }
        for (uint32_t i = 0; i < kWindows; i++) {
            map(i);
        }
        set_timed(c_.below(8) != 0);
    }

    std::string run() {
        while (difference_.empty() && c_.more()) {
            draw_core();
            if (!timed_ && c_.below(16) == 0) {
                set_timed(true);
            }
            dropped_.clear();
            ref_.dropped.clear();
            shared_.clear();
            ref_.shared.clear();
            lost_.clear();
            ref_.forget_losses();
            step();
            clocks_[core_] = now_ + draw_span(); // the time of the core's next call
            check_step();
        }
        return difference_;
    }
    MemCounters counters() const { return memsys_counters(m_.get()); }

  private:
    // A program that walks through memory.
    struct Cursor {
        uint64_t hpa = 0;
        int64_t stride = kLine;
    };

    // Draw a core. If it is too far ahead of the core with the earliest clock, take the latter.
    void draw_core() {
        size_t least = size_t(std::min_element(clocks_.begin(), clocks_.end()) - clocks_.begin());
        core_ = clocks_.size() == 1 ? 0 : c_.below(uint32_t(clocks_.size()));
        core_ = clocks_[core_] > clocks_[least] + kQuantum ? uint32_t(least) : core_;
        now_ = clocks_[core_];
    }
    // Advance all cores to the latest clock, for operations that concern all of them.
    void meet() {
        now_ = *std::max_element(clocks_.begin(), clocks_.end());
        clocks_.assign(clocks_.size(), now_);
    }
    mem_ps draw_span() {
        static constexpr uint32_t kSpans[] = {1, 2000, 2000, 40000, 300000, 20000000};
        return c_.below(one_of(c_, kSpans));
    }
    uint64_t draw_line() {
        if (c_.below(4) == 0) {
            return c_.below(kDramLines) * kLine;
        }
        uint32_t window = c_.below(kWindows);
        uint64_t bytes = windows_[window].size_bytes ? windows_[window].size_bytes : kSlice;
        uint32_t lines = c_.below(2) ? 12 : uint32_t(bytes / kLine);
        return kWindow + window * kWindowStep + c_.below(lines) * kLine;
    }
    // Recently used lines, hot lines, other lines, and steps of walks, which continue at the edge of another page.
    uint64_t draw_hpa() {
        uint32_t draw = c_.below(10);
        uint64_t hpa = draw < 3 ? recent_[c_.below(uint32_t(recent_.size()))] : draw < 6 ? draw_line() : walk();
        recent_[steps_ % recent_.size()] = hpa;
        return hpa;
    }
    uint64_t walk() {
        static constexpr int64_t kStrides[] = {1, -1, 2, 3, -3, 4, 5, -4};
        Cursor &cursor = cursors_[c_.below(uint32_t(cursors_.size()))];
        uint64_t next = cursor.hpa + uint64_t(cursor.stride);
        if (c_.below(40) == 0) {
            next = draw_line();
            cursor.stride = one_of(c_, kStrides) * int64_t(kLine);
        } else if (next / 4096 != cursor.hpa / 4096) {
            next = draw_line() / 4096 * 4096 + next % 4096;
        }
        cursor.hpa = next;
        return next;
    }
    void fail(const std::string &what) {
        if (difference_.empty()) {
            difference_ = "step " + std::to_string(steps_) + " (" + what_ + "): " + what;
        }
    }
    void same(const std::string &what, uint64_t model, uint64_t reference) {
        if (model != reference) {
            fail(what + ": model " + std::to_string(model) + ", reference " + std::to_string(reference));
        }
    }
    // Compare the stalls and advance the guest's clock by them.
    void stalled(mem_ps model, mem_ps reference) {
        same("stall", model, reference);
        now_ += model;
    }

    void access(bool store) {
        uint64_t hpa = draw_hpa();
        uint32_t slot, ref_slot;
        mem_ps stall = (store ? memsys_store : memsys_load)(m_.get(), core_, hpa, now_, &slot);
        mem_ps ref_stall = ref_.access(core_, hpa, store, false, now_, &ref_slot);
        same("slot", slot, ref_slot);
        stalled(stall, ref_stall);
    }
    void locked() {
        uint64_t hpa = draw_hpa();
        bool store = c_.below(3) == 0;
        uint32_t slot, ref_slot;
        mem_ps stall = memsys_locked(m_.get(), core_, hpa, store, now_, &slot);
        mem_ps ref_stall = ref_.access(core_, hpa, store, true, now_, &ref_slot);
        same("slot", slot, ref_slot);
        stalled(stall, ref_stall);
    }
    void nt_store() {
        uint32_t size = 8u << c_.below(4);
        uint64_t hpa = draw_hpa() + c_.below(uint32_t(kLine) / size) * size;
        mem_ps stall = memsys_nt_store(m_.get(), core_, hpa, size, now_);
        stalled(stall, ref_.nt_store(core_, hpa, size, now_));
    }
    void flush() {
        uint64_t hpa = draw_hpa();
        auto kind = MemFlushKind(c_.below(3));
        mem_ps stall = memsys_flush(m_.get(), core_, hpa, kind, now_);
        stalled(stall, ref_.flush(core_, hpa, kind, now_));
    }
    void fence() {
        auto kind = MemFenceKind(c_.below(5));
        mem_ps stall = memsys_fence(m_.get(), core_, kind, now_);
        stalled(stall, ref_.fence(core_, kind, now_));
    }
    void instruction() {
        auto insn = MemInsn(c_.below(MEM_INSN_COSTS + 1));
        mem_ps stall = memsys_instruction(m_.get(), core_, insn, now_);
        stalled(stall, ref_.instruction(core_, insn, now_));
    }
    void barrier() {
        mem_ps stall = memsys_barrier(m_.get(), core_, now_);
        stalled(stall, ref_.barrier(core_, now_));
    }
    void wbinvd() {
        mem_ps stall = memsys_wbinvd(m_.get(), core_, now_);
        stalled(stall, ref_.wbinvd(core_, now_));
    }
    // Map a window to another place, to other devices, or to nothing.
    void map(uint32_t index) {
        meet();
        core_ = 0;
        static constexpr uint32_t kGranularities[] = {64, 192, 256, 4096};
        MemWindow w = {.hpa = kWindow + index * kWindowStep, .ways = 1 + c_.below(uint32_t(devices_.size()))};
        uint32_t first = c_.below(w.ways);
        w.granularity_bytes = one_of(c_, kGranularities);
        uint32_t whole = uint32_t(kSlice / w.granularity_bytes);
        uint32_t pieces = c_.below(2) ? whole : c_.below(whole + 1);
        w.size_bytes = uint64_t(w.granularity_bytes) * pieces * w.ways;
        w.dpa = index * kSlice + c_.below(uint32_t((kSlice - w.granularity_bytes * pieces) / kLine + 1)) * kLine;
        for (uint32_t i = 0; i < w.ways; i++) {
            w.devices[i] = (first + i) % uint32_t(devices_.size());
        }
        bool changes = std::memcmp(&w, &windows_[index], sizeof(w)) != 0;
        windows_[index] = w;
        memsys_map_window(m_.get(), index, &w, now_);
        if (changes) {
            ref_.map_window(index, w, now_);
            now_ = std::max(now_, ref_.resumes(0)); // the call does not return its stall
        }
    }
    void set_timed(bool timed) {
        meet();
        timed_ = timed;
        memsys_set_timed(m_.get(), timed);
        ref_.set_timed(timed);
    }
    void reconfigure() {
        meet();
        uint32_t device = c_.below(uint32_t(devices_.size()));
        MemDeviceConfig &d = devices_[device];
        draw_live(c_, d);
        if (const char *fault = memsys_reconfigure_device(m_.get(), device, &d)) {
            fail(fault);
        }
        ref_.reconfigure(device, d);
    }
    void power() {
        meet();
        bool cut = c_.below(2);
        if (cut) {
            memsys_power_cut(m_.get(), now_);
        } else {
            memsys_power_off(m_.get(), now_);
        }
        ref_.power(cut, now_);
    }
    void reset_counters() {
        memsys_reset_counters(m_.get());
        ref_.reset_counters();
    }

    void step() {
        struct Kind {
            uint32_t weight;
            const char *name;
            void (*run)(Scenario &);
        };
        static constexpr Kind kKinds[] = {
            {90, "load", [](Scenario &s) { s.access(false); }},
            {70, "store", [](Scenario &s) { s.access(true); }},
            {14, "locked", [](Scenario &s) { s.locked(); }},
            {20, "flush", [](Scenario &s) { s.flush(); }},
            {30, "nt_store", [](Scenario &s) { s.nt_store(); }},
            {16, "fence", [](Scenario &s) { s.fence(); }},
            {6, "instruction", [](Scenario &s) { s.instruction(); }},
            {3, "barrier", [](Scenario &s) { s.barrier(); }},
            {2, "wbinvd", [](Scenario &s) { s.wbinvd(); }},
            {2, "map", [](Scenario &s) { s.map(s.c_.below(kWindows)); }},
            {2, "set_timed", [](Scenario &s) { s.set_timed(!s.timed_); }},
            {3, "reconfigure", [](Scenario &s) { s.reconfigure(); }},
            {1, "power", [](Scenario &s) { s.power(); }},
            {1, "reset_counters", [](Scenario &s) { s.reset_counters(); }},
        };
        uint32_t draw = c_.below(260);
        const Kind *kind = kKinds;
        while (draw >= kind->weight) {
            draw -= kind++->weight;
        }
        steps_++;
        what_ = kind->name;
        kind->run(*this);
    }

    void check_step() {
        if (const char *broken = memsys_check_invariants(m_.get())) {
            fail(std::string("invariant: ") + broken);
        }
        if (shared_ != ref_.shared) {
            fail("other slots were shared, or in another order");
        }
        if (dropped_ != ref_.dropped) {
            fail("other slots were dropped, or in another order");
        }
        MemCounters model = memsys_counters(m_.get());
        const MemCounters reference = ref_.counters();
#define X(field, what) same(#field, model.field, reference.field);
        MEM_COUNTERS(X)
        MEM_COHERENCE_COUNTERS(X)
        MEM_ERROR_COUNTERS(X)
#undef X
        for (uint32_t device = 0; device < devices_.size(); device++) {
            if (lost_[device] != ref_.losses(device)) {
                fail("other lines of device " + std::to_string(device) + " were lost, or in another order");
            }
        }
        for (uint32_t core = 0; core < cpu_.cores; core++) {
            same_counters(core);
        }
        for (MemCause cause : {MEM_CAUSE_dram, MEM_CAUSE_cxl_hit, MEM_CAUSE_cxl_miss, MEM_CAUSE_link,
                               MEM_CAUSE_device_cache, MEM_CAUSE_fence}) {
            same_histogram(cause);
        }
        same_waits();
    }
    void same_counters(uint32_t core) {
        const MemCounters model = memsys_core_counters(m_.get(), core), reference = ref_.core_counters(core);
#define X(field, what) same("core " + std::to_string(core) + ", " #field, model.field, reference.field);
        MEM_CPU_COUNTERS(X)
        MEM_STALL_COUNTERS(X)
        MEM_COHERENCE_COUNTERS(X)
#undef X
    }
    void same_histogram(MemCause cause) {
        const MemHistogram *h = memsys_histogram(m_.get(), cause);
        const RefSpans &r = ref_.spans(cause);
        std::string name = "spans of cause " + std::to_string(cause);
        same(name, h->count, r.count);
        same(name + ", sum", h->sum_ps, r.sum);
        same(name + ", longest", h->max_ps, r.longest);
    }
    // Compares sums, since flash may forget the cause of a wait (model-flash.md). test_ftl compares each.
    void same_waits() {
        mem_ps model = 0, reference = 0;
        for (MemCause cause : {MEM_CAUSE_queue, MEM_CAUSE_flash_read, MEM_CAUSE_program, MEM_CAUSE_gc}) {
            model += memsys_histogram(m_.get(), cause)->sum_ps;
            reference += ref_.spans(cause).sum;
        }
        same("waits and flash reads", model, reference);
    }

    static void on_dropped(void *opaque, uint32_t core, uint32_t slot) {
        static_cast<Scenario *>(opaque)->dropped_.push_back({core, slot});
    }
    static void on_shared(void *opaque, uint32_t core, uint32_t slot) {
        static_cast<Scenario *>(opaque)->shared_.push_back({core, slot});
    }

    static void on_lost(void *opaque, uint32_t device, uint64_t dpa, uint64_t size_bytes) {
        for (uint64_t line = dpa / kLine; line < (dpa + size_bytes) / kLine; line++) {
            static_cast<Scenario *>(opaque)->lost_[device].push_back(line);
        }
    }

    struct Free {
        void operator()(MemSys *m) const { memsys_free(m); }
    };

    Choices &c_;
    MemCpuConfig cpu_;
    std::vector<MemDeviceConfig> devices_;
    std::vector<std::vector<uint8_t>> media_;
    RefSystem ref_;
    std::unique_ptr<MemSys, Free> m_;
    std::array<MemWindow, kWindows> windows_ = {};
    std::array<Cursor, 3> cursors_ = {};
    std::array<uint64_t, 5> recent_ = {};
    std::vector<std::pair<uint32_t, uint32_t>> dropped_, shared_;
    std::map<uint32_t, std::vector<uint64_t>> lost_; // lines, by device
    std::vector<mem_ps> clocks_;
    uint32_t core_ = 0;
    mem_ps now_ = 0;
    bool timed_ = false;
    uint64_t steps_ = 0;
    const char *what_ = "";
    std::string difference_;
};

} // namespace

std::string run_system_scenario(Choices &choices, uint32_t cores, MemCounters *counters) {
    Scenario scenario(choices, cores);
    std::string difference = scenario.run();
    if (counters) {
        *counters = scenario.counters();
    }
    return difference;
}
