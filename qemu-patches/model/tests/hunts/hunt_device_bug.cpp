// SPDX-License-Identifier: GPL-2.0-or-later
// Built with one seeded bug in the device. Exit status 0 if the device differs from a reference or a law.
#include <cstdio>

#include "../reference/device_scenario.h"
#include "../reference/policy_trace.h"

static bool policies_differ() {
    for (uint32_t id = 0; mem_cache_policy(id); id++) {
        int hits = 0;
        if (make_reference(mem_cache_policy(id)->name, 1) && first_difference(id, 3, 12, 1, 4000, &hits) >= 0) {
            std::printf("found: %s hits where its reference misses, or the reverse\n", mem_cache_policy(id)->name);
            return true;
        }
    }
    return false;
}

static bool bytes_differ() {
    for (uint64_t seed = 1; seed <= 100; seed++) {
        std::string difference = DeviceScenario(seed).run(600);
        if (!difference.empty()) {
            std::printf("found with seed %llu, %s\n", (unsigned long long)seed, difference.c_str());
            return true;
        }
    }
    return false;
}

// Two misses at once with one MSHR; and a page of the log with a line in the filling half while its compaction is due.
static bool times_differ() {
    MemDeviceConfig c = small_device(true);
    c.cache_mshrs = 1;
    c.flash_channels = 1;
    c.cache_write_miss = MEM_WRITE_LOG;
    c.write_log_bytes = 4 * kLine;
    DeviceRig r(c);
    mem_ps first = r.read(0, 0).done_ps;
    c.flash_channels = 8;
    DeviceRig wide(c);
    wide.read(0, 0);
    bool early = wide.read(4096, 0).done_ps < first + c.flash_read_ps;
    r.write(8 * 4096, 100 * kUs);
    r.write(9 * 4096, 100 * kUs);
    r.write(9 * 4096 + 64, 110 * kUs);
    r.read(8 * 4096, 210 * kUs);
    std::printf("second of two misses %s, %llu lines of the log clean\n", early ? "early" : "on time",
                (unsigned long long)r.d.log.lines_cleaned);
    return early || r.d.log.lines_cleaned != 3;
}

// Lines of all refresh groups at the same time; completions that share the header of one line, or of a pair of lines;
// two lines in a write queue with room for one.
static bool laws_differ() {
    MemDeviceConfig c = small_device(true);
    c.cache_refresh_ps = kUs;
    c.cache_refresh_interval_ps = 1000 * kUs;
    c.cache_refresh_groups = 16;
    c.link_flit_bytes = 68;
    c.link_read_bandwidth = UINT64_C(1000000000);
    int in_refresh = 0;
    for (uint64_t line = 0; line < 64; line++) {
        in_refresh += DeviceRig(c).read(line * kLine, c.cache_refresh_interval_ps).why.queue_ps > 0;
    }
    DeviceRig linked(c);
    for (int i = 0; i < 64; i++) {
        linked.read(0, 2 * kUs);
    }
    mem_ps gap = linked.write(0, 13 * kUs).completed_ps;
    gap = linked.write(0, 13 * kUs).completed_ps - gap;
    c.link_multi_header = true;
    DeviceRig paired(c);
    mem_ps line = 0, behind = 0;
    for (int i = 0; i < 64; i++) {
        line = behind;
        behind = paired.read(0, 2 * kUs).done_ps;
    }
    line = behind - line;
    paired.write(0, 13 * kUs);
    behind = paired.read(0, 2 * kUs).done_ps - behind;
    std::printf("%d of 64 lines in refresh at once, completions %llu ps apart, lines %llu and %llu\n", in_refresh,
                (unsigned long long)gap, (unsigned long long)line, (unsigned long long)behind);
    c.write_queue = 1;
    DeviceRig queued(c);
    queued.write(0, 0);
    mem_ps second = queued.write(0, 0).accepted_ps;
    return in_refresh > 32 || gap < 85 * kNs || behind == line || second < c.flash_read_ps;
}

int main() {
    if (policies_differ() || bytes_differ() || times_differ() || laws_differ()) {
        return 0;
    }
    std::printf("not found\n");
    return 1;
}
