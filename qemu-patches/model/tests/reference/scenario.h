// SPDX-License-Identifier: GPL-2.0-or-later
// A random run of a memory system and of the reference, compared after every step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

// The source of random choices: a seeded generator, or a fuzzer's bytes.
class Choices {
  public:
    virtual ~Choices() = default;
    virtual bool more() = 0;
    virtual uint32_t below(uint32_t bound) = 0;
};

class SeededChoices : public Choices {
  public:
    SeededChoices(uint64_t seed, uint32_t steps) : random_(seed), left_(steps) {}
    bool more() override { return left_-- > 0; }
    uint32_t below(uint32_t bound) override { return uint32_t(random_() % bound); }

  private:
    std::mt19937_64 random_;
    int64_t left_;
};

class ByteChoices : public Choices {
  public:
    ByteChoices(const uint8_t *data, size_t size) : data_(data), left_(size) {}
    bool more() override { return left_ > 0; }
    uint32_t below(uint32_t bound) override { return (uint32_t(next()) | uint32_t(next()) << 8) % bound; }

  private:
    uint8_t next() { return left_ > 0 ? (left_--, *data_++) : 0; }
    const uint8_t *data_;
    size_t left_;
};

// Run until there are no more choices. Returns the first difference, or "" if the runs agree. `digest`, if
// given, receives a hash of every stall, transition and counter, for comparing two runs.
std::string run_scenario(Choices &choices, uint64_t *digest = nullptr);
