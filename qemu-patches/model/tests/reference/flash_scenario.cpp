// SPDX-License-Identifier: GPL-2.0-or-later
#include "flash_scenario.h"

#include "../rigs/flash_bytes.h"
#include "ref_flash.h"

extern "C" {
#include "flash/ftl_internal.h"
}

namespace {

MemDeviceConfig choose_config(Choices &c) {
    MemDeviceConfig config = {.capacity_bytes = (8 + c.below(90)) * UINT64_C(4096),
                              .cache_page_bytes = 4096,
                              .flash_channels = 1 + c.below(3),
                              .flash_dies = 1 + c.below(2),
                              .flash_planes = 1 + c.below(2),
                              .flash_read_ps = 1500001,
                              .flash_program_ps = 4100003,
                              .flash_erase_ps = 9000007,
                              .flash_channel_bandwidth = c.below(2) ? UINT64_C(5000000000) : 0,
                              .flash_suspend = c.below(2) == 1,
                              .flash_suspend_ps = 300001,
                              .flash_ftl = c.below(3) ? MEM_FTL_PAGE : MEM_FTL_NONE,
                              .flash_block_pages = 2 + c.below(5),
                              .flash_over_provisioning_permille = c.below(400),
                              .flash_gc = c.below(2),
                              .flash_gc_free_blocks = 1 + c.below(3)};
    if (config.flash_ftl == MEM_FTL_PAGE && c.below(2)) { // some worn pages are lost; with more wear, all of them
        config.flash_endurance_cycles = 1 + c.below(9);
        config.flash_worn_cycles = c.below(3);
        config.flash_read_errors = UINT64_C(1000000000) * (1 + c.below(1000));
        config.flash_read_errors_seed = c.below(1000);
    }
    while (mem_flash_check(&config)) { // too small for the spare blocks of many planes: increase both
        config.flash_over_provisioning_permille += 100;
        config.capacity_bytes += config.flash_over_provisioning_permille > 1000 ? 16 * 4096 : 0;
    }
    return config;
}

class Comparison {
  public:
    Comparison(Choices &choices, const MemDeviceConfig &config) : c_(choices), config_(config), ref_(config) {
        mem_flash_init(&f_, &config);
        MemMoveListener listener = {on_move, this};
        mem_flash_listen(&f_, &listener);
        MemPageLost losses = {on_lost, this};
        mem_flash_listen_to_losses(&f_, &losses);
        set_timed(true);
    }
    ~Comparison() { mem_flash_destroy(&f_); }

    std::string step() {
        uint32_t choice = c_.below(256);
        at_ += c_.below(4) ? c_.below(900000) : c_.below(20000000);
        if (choice == 0) {
            set_timed(!timed_);
        } else if (choice == 1) {
            mem_flash_load(&f_, save_flash(f_).data(), save_flash(f_).size());
        }
        uint64_t pages = config_.capacity_bytes / config_.cache_page_bytes;
        uint64_t page = c_.below(4) ? c_.below(uint32_t(pages / 4 + 1)) : c_.below(uint32_t(pages));
        mem_ps at = at_ - std::min(at_, mem_ps(c_.below(300000))); // a little out of order
        bool program = c_.below(5) > 1;

        moves_.clear();
        lost_.clear();
        MemFlashTimes ours = (program ? mem_flash_program : mem_flash_read)(&f_, &count_, page, at);
        MemFlashTimes theirs = program ? ref_.program(page, at) : ref_.read(page, at);
        std::string what = compare_times(ours, theirs);
        what = what.empty() && !program ? compare_moves() : what;
        what = what.empty() && program ? compare_losses() : what;
        what = what.empty() ? compare_maps() : what;
        const char *law = mem_flash_check_state(&f_);
        return what.empty() && law ? law : what;
    }

  private:
    void set_timed(bool timed) {
        timed_ = timed;
        mem_flash_set_timed(&f_, timed);
        ref_.set_timed(timed);
    }

    static std::string difference(const char *what, uint64_t ours, uint64_t theirs) {
        return std::string(what) + ": " + std::to_string(ours) + ", reference " + std::to_string(theirs);
    }

    static std::string compare_times(const MemFlashTimes &ours, const MemFlashTimes &theirs) {
        const std::tuple<const char *, uint64_t, uint64_t> fields[] = {
            {"start", ours.start_ps, theirs.start_ps},
            {"end", ours.end_ps, theirs.end_ps},
            {"wait for reads", ours.queue_wait_ps, theirs.queue_wait_ps},
            {"wait for programs", ours.program_wait_ps, theirs.program_wait_ps},
            {"wait for cleaning", ours.gc_wait_ps, theirs.gc_wait_ps},
            {"lost", ours.lost, theirs.lost}};
        for (const auto &[what, a, b] : fields) {
            if (a != b) {
                return difference(what, a, b);
            }
        }
        return "";
    }

    std::string compare_losses() const {
        return lost_ == ref_.lost ? "" : difference("pages lost by cleaning", lost_.size(), ref_.lost.size());
    }

    std::string compare_moves() const {
        auto same = [](const MemProgramMove &a, const MemProgramMove &b) {
            return a.page == b.page && a.old_end_ps == b.old_end_ps && a.start_ps == b.start_ps && a.end_ps == b.end_ps;
        };
        return std::equal(moves_.begin(), moves_.end(), ref_.moves.begin(), ref_.moves.end(), same)
                   ? ""
                   : difference("programs moved", moves_.size(), ref_.moves.size());
    }

    std::string compare_maps() const {
        if (!f_.ftl) {
            return "";
        }
        for (const auto &[page, place] : ref_.where) {
            MemFlashPlace ours = mem_ftl_place(&f_.ftl->geometry, mem_ftl_look_up(f_.ftl, page));
            if (RefFlash::Place{ours.plane, ours.block, ours.index} != place) {
                return difference("place of a page", mem_ftl_look_up(f_.ftl, page), page);
            }
        }
        for (uint64_t plane = 0; plane < ref_.blocks.size(); plane++) {
            for (uint32_t block = 0; block < ref_.blocks[plane].size(); block++) {
                const MemFlashBlock *b = mem_ftl_peek(f_.ftl, plane, block);
                if ((b ? b->wear : 0) != ref_.blocks[plane][block].wear) {
                    return difference("wear", b ? b->wear : 0, ref_.blocks[plane][block].wear);
                }
            }
        }
        return compare_totals();
    }

    std::string compare_totals() const {
        const MemFtlTotals &t = f_.ftl->totals;
        if (t.host_programs != ref_.host_programs || t.gc_moves != ref_.gc_moves || t.erases != ref_.erases) {
            return difference("moves so far", t.gc_moves, ref_.gc_moves);
        }
        bool counted = count_.flash_gc_moves == t.gc_moves && count_.flash_erases == t.erases &&
                       count_.flash_programs == t.host_programs + t.gc_moves;
        return counted ? "" : "counters differ from the totals";
    }

    static void on_move(void *opaque, const MemProgramMove *move) {
        static_cast<Comparison *>(opaque)->moves_.push_back(*move);
    }

    static void on_lost(void *opaque, uint64_t page) { static_cast<Comparison *>(opaque)->lost_.push_back(page); }

    Choices &c_;
    MemDeviceConfig config_;
    RefFlash ref_;
    MemFlash f_;
    MemCounters count_ = {};
    std::vector<MemProgramMove> moves_;
    std::vector<uint64_t> lost_;
    mem_ps at_ = 0;
    bool timed_ = false;
};

} // namespace

std::string run_flash_scenario(Choices &choices) {
    Comparison comparison(choices, choose_config(choices));
    for (uint64_t step = 0; choices.more(); step++) {
        std::string what = comparison.step();
        if (!what.empty()) {
            return "step " + std::to_string(step) + ": " + what;
        }
    }
    return "";
}
