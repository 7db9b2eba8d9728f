// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: text as parameter values, names and options of the replayer, and arbitrary values as configurations. A
// value that was read is written and read back unchanged. A memory system with a configuration that passes the checks
// can be created and used.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../rigs/trace_rig.h"

extern "C" {
#include "config/param_text.h"
#include "device/cxl_device.h"
#include "memsys.h"
#include "replay/options.h"
}

namespace {

void require(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "%s\n", what);
        std::abort();
    }
}

// A value of each parameter: once read, it is written and read back unchanged.
void parse_value(const MemParamTable &table, const std::string &text) {
    for (size_t i = 0; i < table.count; i++) {
        const MemParam *param = &table.params[i];
        union {
            MemCpuConfig cpu;
            MemDeviceConfig device;
        } config = {};
        uint64_t value, again;
        if (mem_param_parse(param, text.c_str(), &value) || mem_param_set(param, &config, value)) {
            continue;
        }
        char written[MEM_PARAM_TEXT_BYTES];
        mem_param_format(param, &config, written);
        require(!mem_param_parse(param, written, &again) && again == value, "a value is not what was written");
        require(mem_param_get(param, &config) == value, "a value is not what was set");
    }
    require(mem_param_nearest(&table, text.c_str()) != nullptr, "no name is nearest");
    const MemParam *named = mem_param_named(&table, text.c_str());
    require(!named || mem_param_nearest(&table, text.c_str()) != nullptr, "a name has no parameter");
}

// A line of a grid is rejected with a message, or yields configurations that pass the checks or are rejected with one.
void assign_options(const std::string &text) {
    MemTraceSetup setup = small_setup();
    ReplayConfig config = {};
    Message message = {};
    std::string line = text;
    if (options_assign_line(&config, line.data(), &setup, &message)) {
        const char *fault = replay_configure(&setup, &config);
        require(!fault || *fault, "refused without a word");
    } else {
        require(message.text[0] != '\0', "refused without a word");
    }
    options_free(&config);
}

// Bytes choose parameters and values. Shifts of up to 63 bits produce values out of range.
class Values {
  public:
    Values(const uint8_t *data, size_t size) : data_(data), left_(size) {}
    bool more() const { return left_ > 0; }
    uint8_t byte() { return left_ ? (left_--, *data_++) : 0; }
    uint64_t value() {
        uint64_t low = byte(), shift = byte() % 64;
        return shift % 3 == 2 ? (low << shift) - 1 : low << shift;
    }

  private:
    const uint8_t *data_;
    size_t left_;
};

// Small enough to be created quickly.
bool is_small(const MemTraceSetup &s) {
    const MemCpuConfig &c = s.cpu;
    const MemDeviceConfig &d = s.devices[0];
    return c.cores * (c.l1d.size_bytes + c.l2.size_bytes) + c.llc.size_bytes < 1 << 20 && d.capacity_bytes <= 1 << 26 &&
           uint64_t(d.flash_channels) * (d.flash_dies + 1) * (d.flash_planes + 1) < 1 << 12 &&
           d.write_log_bytes < 1 << 20 && d.cache_size_bytes < 1 << 24;
}

// Use a memory system with a configuration that passed the checks; its invariants must hold.
void use(const MemTraceSetup &s) {
    auto ignore = [](void *, uint32_t, uint32_t) {};
    MemCallbacks callbacks = {nullptr, ignore, ignore, nullptr, nullptr, nullptr};
    MemSys *m = memsys_new(&s.cpu, &callbacks);
    memsys_add_device(m, &s.devices[0], nullptr);
    MemWindow window = {.hpa = UINT64_C(1) << 32, .size_bytes = s.devices[0].capacity_bytes / 64 * 64, .ways = 1};
    memsys_map_window(m, 0, &window, 0);
    memsys_set_timed(m, true);
    mem_ps now = 0;
    for (uint64_t i = 0; i < 64; i++) {
        uint32_t slot, core = uint32_t(i) % s.cpu.cores, other = uint32_t(i * 7) % s.cpu.cores;
        uint64_t line = i * i * 4801 % (s.devices[0].capacity_bytes / 64);
        now += memsys_store(m, core, window.hpa + line * 64, now, &slot);
        now += memsys_load(m, other, i % 2 ? line * 64 : window.hpa + line % 7 * 64, now, &slot);
        now += memsys_flush(m, core, window.hpa + line * 64, MEM_CLWB, now);
    }
    now += memsys_fence(m, 0, MEM_MFENCE, now);
    now += memsys_barrier(m, 0, now);
    if (const char *broken = memsys_check_invariants(m)) {
        require(false, broken);
    }
    memsys_power_cut(m, now);
    memsys_free(m);
}

void configure(Values v) {
    MemTraceSetup setup = small_setup();
    while (v.more()) {
        bool cpu = v.byte() % 2;
        const MemParamTable &table = cpu ? mem_cpu_params : mem_device_params;
        const MemParam *param = &table.params[v.byte() % table.count];
        mem_param_set(param, cpu ? static_cast<void *>(&setup.cpu) : &setup.devices[0], v.value());
    }
    const char *fault = memsys_check_cpu(&setup.cpu);
    fault = fault ? fault : memsys_check_device(&setup.devices[0]);
    require(!fault || *fault, "refused without a word");
    if (!fault && is_small(setup)) {
        use(setup);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || size > 4096) {
        return 0;
    }
    std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
    switch (data[0] % 4) {
    case 0:
        parse_value(mem_cpu_params, text);
        break;
    case 1:
        parse_value(mem_device_params, text);
        break;
    case 2:
        assign_options(text);
        break;
    default:
        configure(Values(data + 1, size - 1));
    }
    return 0;
}
