// SPDX-License-Identifier: GPL-2.0-or-later
// The whole memory system with its cores, written from docs/explanation/model.md in the obvious way: caches are
// lists, a request stays in a list for ever, and every query searches the whole list. ref_memsys.h and ref_persist.h
// cover the content that survives a power cut.
#pragma once

#include "ref_timed_device.h"

extern "C" {
#include "cpu/frames.h"
}

class RefSystem {
  public:
    RefSystem(const MemCpuConfig &cpu, const std::vector<MemDeviceConfig> &devices);

    mem_ps access(uint32_t core, uint64_t hpa, bool store, bool locked, mem_ps now, uint32_t *slot);
    mem_ps nt_store(uint32_t core, uint64_t hpa, uint32_t size, mem_ps now);
    mem_ps flush(uint32_t core, uint64_t hpa, MemFlushKind kind, mem_ps now);
    mem_ps fence(uint32_t core, MemFenceKind kind, mem_ps now);
    mem_ps instruction(uint32_t core, MemInsn insn, mem_ps now);
    mem_ps barrier(uint32_t core, mem_ps now);
    mem_ps wbinvd(uint32_t core, mem_ps now);
    void map_window(uint32_t index, const MemWindow &window, mem_ps now);
    void set_timed(bool timed);
    const std::vector<uint64_t> &losses(uint32_t device) const { return devices_[device].lost; }
    void forget_losses() {
        for (RefTimedDevice &device : devices_) {
            device.lost.clear();
        }
    }
    void reconfigure(uint32_t device, const MemDeviceConfig &config) { devices_[device].reconfigure(config); }
    void power(bool cut, mem_ps now);
    void reset_counters();

    mem_ps resumes(uint32_t core) const { return cores_[core].at; } // when the core continues after its latest call
    MemCounters counters() const;
    const MemCounters &core_counters(uint32_t core) const { return cores_[core].counters; }
    const RefSpans &spans(unsigned cause) const { return spans_[cause]; }
    // Pairs of core and slot since the caller last cleared the lists.
    std::vector<std::pair<uint32_t, uint32_t>> dropped, shared;

  private:
    // ---- Caches ----
    struct Way {
        bool used = false, dirty = false, prefetched = false;
        uint64_t line = 0;
    };
    struct Set {
        std::vector<Way> ways;
        std::list<size_t> order; // of the ways; the last one is replaced next
    };
    class Level {
      public:
        // The seed determines the location of page frames; L1 has no seed.
        explicit Level(const MemCacheConfig &config, uint64_t seed = 0);
        Way *find(uint64_t line);
        void use(uint64_t line); // makes it the last to be replaced
        // Replace the next way with a line. Returns the old content; `*slot` is the way's slot.
        Way fill(uint64_t line, bool dirty, bool prefetched, uint32_t *slot = nullptr);
        Way drop(uint64_t line); // returns the old content; its way is replaced next
        uint32_t slot(uint64_t line);
        std::vector<Set> sets;

      private:
        Set &set(uint64_t line) { return sets[mem_frames_seen(&frames_, line) % sets.size()]; }
        void move(uint64_t line, bool to_front);
        MemFrames frames_;
    };
    struct Found {
        enum { kL1, kL2, kLlc, kMemory } where;
        bool prefetched;
        bool others, given; // other cores hold the line; one of them supplies it
    };
    // ---- Streams ----
    struct Stream {
        bool used = false, recognised = false;
        uint64_t page = 0, last_use = 0;
        int last = 0, ahead = 0, step = 0;
    };
    // ---- The core ----
    struct Load {
        mem_ps done, full; // `full`: the computing time at which the core must wait
    };
    struct Store {
        uint64_t line;
        mem_ps commits;
    };
    struct Wanted { // a prefetched line
        uint64_t line;
        mem_ps asked;
        std::optional<mem_ps> arrives;
    };
    struct Written {
        uint64_t line;
        mem_ps completed;
    };
    struct Buffer {
        uint64_t line;
        RefTimedDevice::LineBytes bytes;
    };
    struct MemoryRead {
        mem_ps done;
        uint64_t *stall;
    };

    // The private state of one core.
    struct Core {
        explicit Core(const MemCpuConfig &cpu);
        uint32_t number = 0;
        Level l1, l2;
        std::vector<Stream> streams;
        uint64_t misses = 0;
        mem_ps now = 0;     // time of the latest call
        mem_ps at = 0;      // the core's time, within a call and after it
        mem_ps issued = 0;  // when operations together with the latest one are issued
        bool begun = false; // the access has issued an operation to memory
        mem_ps stalled = 0; // all waits so far
        std::vector<Load> loads;
        std::vector<Store> stores;
        std::vector<Wanted> wanted;
        RefPlaces fill_buffers, prefetch_buffers, l2_requests;
        std::list<Buffer> open;         // oldest first
        std::vector<mem_ps> held_until; // of the WC buffers that are not open
        mem_ps flushed = 0, fence_until = 0;
        MemCounters counters = {}, ignored = {};
        MemCounters *count = nullptr;
    };
    mem_ps enter(uint32_t core, mem_ps now);
    void wait(mem_ps until, uint64_t &counter);
    void catch_up();
    void begin_operation();
    mem_ps time_now() const;

    void spill(Level &level, const Way &victim, std::vector<uint64_t> &victims);
    void spill_llc(const Way &victim, std::vector<uint64_t> &victims);
    Way take(Level &level, uint64_t line);
    void drop_slot(const Core &core, uint32_t slot) { dropped.push_back({core.number, slot}); }
    bool drop(uint64_t line);

    bool train(uint64_t line, std::vector<uint64_t> &ahead);
    bool continues_another(Stream &stream, int line);

    std::pair<RefTimedDevice *, uint64_t> route(uint64_t line);
    mem_ps over_channel(mem_ps at);
    MemoryRead read_memory(uint64_t line, mem_ps at, bool demand);
    mem_ps write_memory(uint64_t line, const RefTimedDevice::LineBytes &bytes, mem_ps at, mem_ps *taken,
                        const Core &by);
    mem_ps write_from_core(uint64_t line, const RefTimedDevice::LineBytes &bytes, mem_ps at, mem_ps *taken);

    void miss(uint64_t line, bool store, const Found &found, const std::vector<uint64_t> &victims);
    MemoryRead demand(uint64_t line, bool load);
    void load(uint64_t line, bool independent);
    void store(uint64_t line);
    void touch(uint64_t line, bool store, bool independent);
    void load_under_way(mem_ps done);
    void wait_for_store_buffer();
    void post_store(uint64_t line, mem_ps there, uint64_t &counter);
    void evict(const std::vector<uint64_t> &victims);
    void prefetch(uint64_t line);
    void send_prefetches(mem_ps until);
    mem_ps arrival(uint64_t line);
    void take_transfer(uint64_t line, bool store, bool independent);
    void upgrade(uint64_t line);
    void write_back(uint64_t line);
    void send_buffer(std::list<Buffer>::iterator buffer);
    void send_all_buffers();
    std::list<Buffer>::iterator find_buffer(uint64_t line);
    void wait_fence(mem_ps until);
    mem_ps loads_done() const;
    mem_ps stores_done() const;
    void empty_caches();
    void write_back_level(const Level &level);
    void forget_all();
    void nothing_under_way();

    struct UnderWay { // a line that a core has asked for
        uint64_t line;
        mem_ps arrives;
        uint32_t core;
    };

    // The part of other cores in an access.
    std::vector<Core *> others_with(uint64_t line);
    bool dirty_in(Core &core, uint64_t line);
    bool lose(Core &core, uint64_t line);  // returns whether it was dirty
    bool clean(Core &core, uint64_t line); // the same
    Wanted *unsent(uint64_t line, Core **whose);
    const UnderWay *under_way(uint64_t line) const;
    bool comes_for_another(uint64_t line);
    void note_under_way(uint64_t line, mem_ps arrives);
    mem_ps given(uint64_t line, mem_ps span);
    mem_ps joined(uint64_t line);
    bool may_prefetch(uint64_t line);
    void send_others_buffers(uint64_t line);

    MemCpuConfig cpu_;
    bool timed_ = false;
    bool locked_ = false; // the access belongs to a locked instruction, with several cores
    std::deque<RefTimedDevice> devices_;
    std::vector<MemWindow> windows_;
    Level llc_;
    std::deque<Core> cores_;
    Core *c_; // the core of the present call
    std::vector<UnderWay> under_way_;
    std::vector<Written> written_;
    RefCalendar dram_;
    MemCounters device_counters_ = {}, device_ignored_ = {};
    MemCounters *device_count_ = &device_ignored_;
    RefSpans spans_[MEM_CAUSE_COUNT];
};
