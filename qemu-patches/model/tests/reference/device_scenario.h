// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of a device and its byte-level reference, compared after every request.
#pragma once

#include <random>
#include <string>

#include "../rigs/device_rig.h"
#include "ref_device.h"

class DeviceScenario {
  public:
    explicit DeviceScenario(uint64_t seed) : random_(seed), rig_(draw_config()), reference_(rig_.config) {
        mem_device_set_timed(&rig_.d, false, 0);
    }

    // The first difference, or "".
    std::string run(int steps) {
        for (int step = 0; step < steps && difference_.empty(); step++) {
            now_++;
            if (random_() % 100 == 0) {
                change_rules();
            }
            request();
            compare();
            difference_ = difference_.empty() ? "" : "step " + std::to_string(step) + ": " + difference_;
        }
        return difference_;
    }

  private:
    static constexpr uint32_t kPage = 256, kFrames = 12, kPages = 40;

    uint32_t below(uint32_t bound) { return uint32_t(random_() % bound); }
    void draw_rules(MemDeviceConfig &c) {
        c.cache_write_miss = below(3);
        c.cache_write = c.cache_write_miss == MEM_WRITE_LOG ? 0 : below(2);
        c.cache_prefetch = below(3) == 0 ? MEM_PREFETCH_NEXT : MEM_PREFETCH_NONE;
        c.cache_prefetch_pages = 1 + below(3);
    }
    MemDeviceConfig draw_config() {
        static constexpr uint32_t kWays[] = {0, 1, 3, 4};
        MemDeviceConfig c = small_device(true);
        c.capacity_bytes = kPages * kPage;
        c.cache_page_bytes = kPage;
        c.cache_size_bytes = kFrames * kPage;
        c.cache_ways = kWays[below(4)];
        c.write_log_bytes = 2 * kLine * (1 + below(12));
        draw_rules(c);
        return c;
    }
    void change_rules() {
        draw_rules(rig_.config);
        const char *fault = mem_device_reconfigure(&rig_.d, &rig_.config);
        difference_ = fault ? fault : "";
        reference_.set_config(rig_.config);
    }
    uint64_t draw_mask() {
        uint32_t from = below(kLine), bytes = 1 + below(uint32_t(kLine) - from);
        return below(2) ? MEM_ALL_BYTES : (MEM_ALL_BYTES >> (kLine - bytes)) << from;
    }
    void request() {
        uint64_t lines = below(2) ? 16 : kPages * kPage / kLine;
        uint64_t line = below(uint32_t(lines));
        if (below(2)) {
            uint64_t mask = draw_mask();
            rig_.write(line * kLine, now_, mask);
            reference_.write(line, mask);
        } else {
            rig_.read(line * kLine, now_);
            reference_.read(line);
        }
    }
    void same(const char *what, uint64_t model, uint64_t reference) {
        if (difference_.empty() && model != reference) {
            difference_ =
                std::string(what) + ": model " + std::to_string(model) + ", reference " + std::to_string(reference);
        }
    }
    void compare() {
        const MemCounters &m = rig_.d.ignored, &r = reference_.count; // counters outside the region of interest
        difference_ = difference_.empty() ? reference_.fault() : difference_;
        same("cache_hits", m.cache_hits, r.cache_hits);
        same("cache_misses", m.cache_misses, r.cache_misses);
        same("cache_unfetched", m.cache_unfetched, r.cache_unfetched);
        same("cache_completions", m.cache_completions, r.cache_completions);
        same("cache_writebacks", m.cache_writebacks, r.cache_writebacks);
        same("cache_through_programs", m.cache_through_programs, r.cache_through_programs);
        same("cache_prefetches", m.cache_prefetches, r.cache_prefetches);
        same("cache_prefetches_useful", m.cache_prefetches_useful, r.cache_prefetches_useful);
        same("cache_prefetches_useless", m.cache_prefetches_useless, r.cache_prefetches_useless);
        same("log_writes", m.log_writes, r.log_writes);
        same("log_hits", m.log_hits, r.log_hits);
        same("log_compactions", m.log_compactions, r.log_compactions);
        same("flash_reads", m.flash_reads, r.flash_reads);
        same("flash_programs", m.flash_programs, r.flash_programs);
        same("pages read", m.flash_reads + m.cache_unfetched,
             m.cache_misses + m.cache_prefetches + m.cache_completions);
        if (const char *broken = mem_device_check_state(&rig_.d); broken && difference_.empty()) {
            difference_ = broken;
        }
    }

    std::mt19937_64 random_;
    DeviceRig rig_;
    RefDevice reference_;
    mem_ps now_ = 0;
    std::string difference_;
};
