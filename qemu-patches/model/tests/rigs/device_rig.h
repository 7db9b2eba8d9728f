// SPDX-License-Identifier: GPL-2.0-or-later
// One device without a host: a test chooses the times of requests and checks the results to the picosecond.
#pragma once

#include <cstdio>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

extern "C" {
#include "device/cxl_device.h"
}
#include "rig.h"

class DeviceRig {
  public:
    explicit DeviceRig(const MemDeviceConfig &device_config) : config(device_config), media(config.capacity_bytes) {
        MemCallbacks callbacks = {};
        MemMedia where = {.base = media.data()};
        mem_device_init(&d, 0, &config, &where, &callbacks, &supply);
        mem_device_set_timed(&d, true, 0);
    }
    ~DeviceRig() {
        EXPECT_STREQ(mem_device_check_state(&d), nullptr);
        EXPECT_STREQ(mem_persist_check(&d.persist), nullptr);
        mem_device_destroy(&d);
    }
    DeviceRig(const DeviceRig &) = delete;
    DeviceRig &operator=(const DeviceRig &) = delete;

    MemReadTimes read(uint64_t dpa, mem_ps at_ps) { return mem_device_read(&d, dpa / kLine, at_ps); }
    // A write for which persistence records that the CPU dirtied the line before.
    MemWriteTimes write(uint64_t dpa, mem_ps at_ps, uint64_t mask = MEM_ALL_BYTES, mem_ps way_ps = 0) {
        mem_persist_run(&d.persist, at_ps);
        mem_persist_dirtied(&d.persist, dpa / kLine, at_ps);
        return mem_device_write(&d, dpa / kLine, mask, at_ps, way_ps);
    }

    MemDeviceConfig config;
    std::vector<uint8_t> media;
    MemPowerSupply supply = {.event_count = 0, .cut_after = UINT64_MAX};
    MemDevice d;
    const MemCounters &count = d.counters;
};

// Compare a measurement with a closed form. Prints the deviation, which must be zero.
inline void expect_form(const char *what, mem_ps expected, mem_ps measured) {
    double ppm = expected ? (double(measured) - double(expected)) / double(expected) * 1e6 : 0;
    std::printf("%-52s expected %12llu ps, measured %12llu ps, deviation %+.1f ppm\n", what,
                (unsigned long long)expected, (unsigned long long)measured, ppm);
    EXPECT_EQ(expected, measured) << what;
}
