// SPDX-License-Identifier: GPL-2.0-or-later
// libFuzzer: a flash state made of raw bytes, or a real state with changes and a valid checksum. Loading fails and
// changes nothing, or yields a flash that works, satisfies its invariants and saves the same bytes.
#include <cstdlib>

#include "../rigs/flash_bytes.h"
#include "../rigs/flash_rig.h"

static void must(bool holds, const char *what) {
    if (!holds) {
        std::fprintf(stderr, "%s\n", what);
        std::abort();
    }
}

static MemDeviceConfig choose(uint8_t byte) {
    MemDeviceConfig config = with_ftl(small_flash(), byte & 1 ? MEM_GC_COST_BENEFIT : MEM_GC_GREEDY);
    config.flash_ftl = byte & 2 ? MEM_FTL_NONE : MEM_FTL_PAGE;
    config.flash_channels = 1 + (byte >> 2 & 1);
    config.flash_gc_free_blocks = 1 + (byte >> 3 & 1);
    config.flash_over_provisioning_permille = 3000;
    config.capacity_bytes = (byte >> 4 & 1 ? 61 : 64) * 4096;
    return config;
}

static void write_some(MemFlash &f, uint64_t count, uint64_t seed) {
    MemCounters ignored = {};
    for (uint64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        mem_flash_program(&f, &ignored, (seed >> 33) % 61, 0);
    }
}

static void try_bytes(const MemDeviceConfig &config, const std::vector<uint8_t> &bytes) {
    MemFlash f;
    mem_flash_init(&f, &config);
    std::vector<uint8_t> before = save_flash(f);
    if (load_flash(f, bytes)) {
        must(save_flash(f) == before, "a state that was refused changed something");
    } else {
        must(save_flash(f) == bytes, "a state that was loaded is saved otherwise");
    }
    must(!mem_flash_check_state(&f), "a law is broken after loading");
    write_some(f, 300, bytes.size());
    must(!mem_flash_check_state(&f), "a law is broken after programs");
    mem_flash_destroy(&f);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 3) {
        return 0;
    }
    MemDeviceConfig config = choose(data[0]);
    if (data[0] & 0x80) {
        try_bytes(config, {data + 1, data + size});
        return 0;
    }
    MemFlash f;
    mem_flash_init(&f, &config);
    write_some(f, data[1], data[2]);
    std::vector<uint8_t> bytes = save_flash(f);
    mem_flash_destroy(&f);
    for (size_t i = 3; i + 2 < size; i += 3) {
        size_t at = (data[i] | size_t(data[i + 1]) << 8) % bytes.size();
        uint8_t how = data[i + 1] >> 6; // mostly a change in place, else truncated or extended
        bytes[at] = data[i + 2];
        bytes.resize(how == 3 ? at + 1 : how == 2 ? bytes.size() + data[i + 2] : bytes.size());
    }
    seal(bytes);
    try_bytes(config, bytes);
    return 0;
}
