// SPDX-License-Identifier: GPL-2.0-or-later
#include "persist_scenario.h"

#include <algorithm>

#include "ref_persist.h"

namespace {

constexpr uint64_t kLines = 48; // of the device
constexpr uint32_t kGranule = 256;
constexpr uint8_t kOthers = 0xee; // content of the bytes of other devices in the interleave set

MemDeviceConfig draw_device(Choices &c) {
    MemDeviceConfig config = {};
    config.capacity_bytes = kLines * MEMSYS_LINE_BYTES;
    config.volatile_bytes = c.below(2) * 4 * kGranule;
    config.cache_page_bytes = 64u << c.below(4);
    config.cache_power_loss_protected = c.below(3) == 0;
    config.flash_channels = c.below(8) != 0;
    config.wbarrier_latency_ps = c.below(5000);
    return config;
}

void draw_rules(Choices &c, MemDeviceConfig *config) {
    config->persist_domain = c.below(4);
    config->cut_lines = c.below(3);
    config->cut_seed = c.below(1000);
    config->gpf_energy_uj = c.below(12);
    config->gpf_line_nj = c.below(900);
    config->gpf_page_nj = c.below(3000);
}

struct Program {
    uint64_t first;
    mem_ps start, end;
};

class PersistScenario {
  public:
    explicit PersistScenario(Choices &choices)
        : c_(choices), config_(draw_device(choices)), page_lines_(config_.cache_page_bytes / MEMSYS_LINE_BYTES),
          first_(config_.volatile_bytes / MEMSYS_LINE_BYTES), ways_(1 + c_.below(3)), position_(c_.below(ways_)),
          shared_from_(c_.below(3) * kGranule), shared_bytes_((1 + c_.below(6)) * kGranule),
          ram_(kLines * MEMSYS_LINE_BYTES * ways_, kOthers), plain_(kLines * MEMSYS_LINE_BYTES),
          ref_(config_, initial_media()) {
        draw_rules(c_, &config_);
        ref_.config = config_;
        MemMedia media = {plain_.data(), shared_from_, shared_bytes_, ram_.data(), ways_, position_, kGranule};
        MemCallbacks callbacks = {this, nullptr, nullptr, on_state, nullptr, nullptr};
        mem_persist_init(&p_, 0, &config_, &media, &callbacks, &supply_);
    }
    ~PersistScenario() { mem_persist_destroy(&p_); }

    std::string run() {
        while (difference_.empty() && c_.more()) {
            now_ += c_.below(c_.below(3) ? 400 : 9000);
            advance();
            if (mem_persist_power_is_gone(&p_)) {
                power_cut();
            } else {
                step();
            }
            compare();
        }
        advance();
        power_cut();
        return difference_;
    }

  private:
    // The location of a line's bytes: outside the interleave set, or in its RAM, granule by granule. Does not use
    // base/interleave.h, since this scenario checks it.
    uint8_t *ram_of(uint64_t line) {
        uint64_t at = (line - first_) * MEMSYS_LINE_BYTES, granule = 0;
        if (at < shared_from_ || at >= shared_from_ + shared_bytes_ || ways_ == 1) {
            return &plain_[at];
        }
        at -= shared_from_;
        for (; at >= kGranule; at -= kGranule) {
            granule++;
        }
        return &ram_[granule * ways_ * kGranule + position_ * kGranule + at];
    }
    const std::map<uint64_t, LineBytes> &initial_media() {
        for (uint64_t line = first_; line < kLines; line++) {
            live_[line].fill(0x11);
            std::copy(live_[line].begin(), live_[line].end(), ram_of(line));
        }
        return live_;
    }
    void scribble(uint64_t line) {
        if (line >= first_) {
            uint8_t value = uint8_t(1 + ++scribbles_ % 200);
            uint32_t from = c_.below(56);
            std::fill_n(live_[line].begin() + from, 8, value);
            std::fill_n(ram_of(line) + from, 8, value);
        }
    }
    void fail(const std::string &what) {
        if (difference_.empty()) {
            difference_ = "step " + std::to_string(steps_) + ": " + what;
        }
    }
    void same(const char *what, uint64_t model, uint64_t reference) {
        if (model != reference) {
            fail(std::string(what) + ": model " + std::to_string(model) + ", reference " + std::to_string(reference));
        }
    }
    void advance() {
        steps_++;
        mem_persist_run(&p_, now_);
        ref_.run(now_);
        same("power gone", mem_persist_power_is_gone(&p_), ref_.gone());
    }

    uint64_t draw_line() { return c_.below(2) ? first_ + c_.below(6) : c_.below(kLines); }
    void store() {
        uint64_t line = draw_line();
        if (!ref_.cpu_dirty(line)) {
            mem_persist_dirtied(&p_, line, now_);
            ref_.dirtied(line);
        }
        scribble(line);
    }
    // Write back a line that a CPU holds dirty, or a line of the volatile part.
    void write_back() {
        uint64_t line = draw_line();
        for (uint32_t tries = 0; tries < kLines && line >= first_ && !ref_.cpu_dirty(line); tries++) {
            line = (line + 1) % kLines;
        }
        if (line >= first_ && !ref_.cpu_dirty(line)) {
            return;
        }
        mem_ps accepted = now_ + (c_.below(5) ? c_.below(3000) : 0);
        mem_persist_written_back(&p_, line, now_, accepted);
        ref_.written_back(line, accepted);
        if (!ref_.cpu_dirty(line) && c_.below(3) == 0) {
            scribble(line); // like the store that filled a WC buffer
        }
    }
    void program() {
        mem_ps start = now_ + c_.below(2000);
        Program p = {draw_line() / page_lines_ * page_lines_, start, start + c_.below(6000)};
        mem_persist_programmed(&p_, p.first, page_lines_, p.start, p.end);
        ref_.programmed(p.first, page_lines_, p.start, p.end);
        programs_.push_back(p);
    }
    void move_program() {
        std::erase_if(programs_, [this](const Program &p) { return p.end <= now_; });
        if (programs_.empty()) {
            return;
        }
        Program &p = programs_[c_.below(uint32_t(programs_.size()))];
        mem_ps old_end = p.end;
        p.start += p.start > now_ ? c_.below(2000) : 0;
        p.end = std::max(p.start, p.end) + c_.below(4000);
        mem_persist_program_moved(&p_, p.first, page_lines_, old_end, p.start, p.end);
        ref_.moved(p.first, page_lines_, old_end, p.start, p.end);
    }
    void settle() {
        if (!armed_) {
            mem_persist_settle(&p_, now_);
            ref_.settle();
            programs_.clear();
        }
    }
    void change_rules() {
        draw_rules(c_, &config_);
        config_.wbarrier_latency_ps = c_.below(5000);
        ref_.config = config_;
        mem_persist_reconfigure(&p_, &config_);
    }
    void move_media() {
        std::vector<uint8_t> moved(ram_), plain(plain_);
        MemMedia media = p_.media;
        media.base = plain.data();
        media.interleaved_base = moved.data();
        mem_persist_set_media(&p_, &media);
        ram_ = std::move(moved);
        plain_ = std::move(plain);
    }
    void arm() {
        uint64_t count = ref_.events() + 1 + c_.below(12);
        supply_.cut_after = count;
        ref_.cut_after(count);
        armed_ = true;
    }
    void power_off() {
        mem_persist_power_off(&p_, now_);
        ref_.power_off();
        lights_out();
    }
    void power_cut() {
        MemPowerCut model = mem_persist_power_cut(&p_, now_), reference = ref_.power_cut();
        same("lines lost", model.lines_lost, reference.lines_lost);
        same("lines kept", model.lines_kept, reference.lines_kept);
        same("energy used", model.energy_used_nj, reference.energy_used_nj);
        same("dirty shutdown", model.dirty_shutdown, reference.dirty_shutdown);
        live_ = ref_.survivors();
        lights_out();
    }
    void lights_out() {
        supply_.cut_after = UINT64_MAX;
        armed_ = false;
        programs_.clear();
        states_.clear();
        uint64_t others = uint64_t(std::count(ram_.begin(), ram_.end(), kOthers));
        same("bytes of other devices", others, ram_.size() - (ways_ > 1 ? shared_bytes_ : 0));
        for (uint64_t line = first_; line < kLines; line++) {
            if (!std::equal(live_[line].begin(), live_[line].end(), ram_of(line))) {
                fail("line " + std::to_string(line) + " holds other bytes than what survived");
            }
        }
    }

    void step() {
        uint32_t draw = c_.below(100);
        if (draw < 30) {
            store();
        } else if (draw < 58) {
            write_back();
        } else if (draw < 76) {
            program();
        } else if (draw < 84) {
            move_program();
        } else if (draw < 88) {
            same("barrier", mem_persist_barrier(&p_, now_), ref_.barrier());
        } else if (draw < 90) {
            settle();
        } else if (draw < 93) {
            arm();
        } else if (draw < 96) {
            change_rules();
        } else if (draw < 97) {
            move_media();
        } else {
            draw < 99 ? power_cut() : power_off();
        }
    }

    void compare() {
        if (mem_persist_power_is_gone(&p_) || ref_.gone()) {
            return same("power gone", mem_persist_power_is_gone(&p_), ref_.gone());
        }
        if (const char *broken = mem_persist_check(&p_)) {
            fail(std::string("invariant: ") + broken);
        }
        same("events", supply_.event_count, ref_.events());
        mem_ps probe = now_ + c_.below(4000);
        for (uint64_t line = 0; line < kLines; line++) {
            MemLineState expected = line < first_ ? MEM_LINE_DURABLE : ref_.state(line, probe);
            if (mem_persist_state(&p_, line, probe) != expected) {
                same(("state of line " + std::to_string(line)).c_str(), mem_persist_state(&p_, line, probe), expected);
            }
            same("CPU dirty", mem_persist_is_cpu_dirty(&p_, line), ref_.cpu_dirty(line));
        }
    }

    // The transitions of each line form a chain, with times that do not decrease.
    static void on_state(void *opaque, uint32_t, uint64_t dpa, MemLineState from, MemLineState to, mem_ps at_ps) {
        auto *s = static_cast<PersistScenario *>(opaque);
        auto [at, first] = s->states_.try_emplace(dpa, MEM_LINE_DURABLE, 0);
        if (at->second.first != from || at_ps < at->second.second || from == to) {
            s->fail("transitions of a line do not form a chain");
        }
        at->second = {to, at_ps};
    }

    Choices &c_;
    MemDeviceConfig config_;
    uint64_t page_lines_, first_;
    uint32_t ways_, position_;
    uint64_t shared_from_, shared_bytes_; // the range in the RAM of the interleave set; the rest is in plain_
    std::vector<uint8_t> ram_, plain_;
    std::map<uint64_t, LineBytes> live_;
    std::map<uint64_t, std::pair<MemLineState, mem_ps>> states_;
    std::vector<Program> programs_;
    MemPowerSupply supply_ = {.event_count = 0, .cut_after = UINT64_MAX};
    MemPersist p_;
    mem_ps now_ = 0;
    bool armed_ = false;
    uint64_t scribbles_ = 0, steps_ = 0;
    std::string difference_;
    RefPersist ref_; // declared after the members that its construction uses
};

} // namespace

std::string run_persist_scenario(Choices &choices) { return PersistScenario(choices).run(); }
