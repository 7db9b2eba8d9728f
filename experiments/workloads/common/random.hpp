// SPDX-License-Identifier: BSD-3-Clause
//
// Random numbers that are the same everywhere: xoshiro256**, seeded through splitmix64.
#pragma once

#include <bit>
#include <cstdint>

namespace workloads {

// A bijection: different values have different images.
inline uint64_t splitmix64(uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

class Random {
  public:
    explicit Random(uint64_t seed) {
        for (uint64_t i = 0; i < 4; i++)
            state[i] = splitmix64(seed + i * 0x9e3779b97f4a7c15);
    }

    uint64_t next() {
        uint64_t result = std::rotl(state[1] * 5, 7) * 9, carried = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= carried;
        state[3] = std::rotl(state[3], 45);
        return result;
    }

    // [0, 1), 53 bits.
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    uint64_t below(uint64_t bound) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(next()) * bound >> 64);
    }

  private:
    uint64_t state[4];
};

} // namespace workloads
