// SPDX-License-Identifier: BSD-3-Clause
//
// One result: a flat JSON object on one line.
#pragma once

#include <cstdint>
#include <string>

namespace workloads {

class Report {
  public:
    Report &add(const std::string &name, const std::string &text);
    Report &add(const std::string &name, const char *text) { return add(name, std::string(text)); }
    Report &add(const std::string &name, uint64_t number);
    Report &addBool(const std::string &name, bool value);
    Report &addHex(const std::string &name, uint64_t number);

    // Prints to standard output, and appends to the file $TESTBED_RESULT if that is set.
    void print() const;

  private:
    Report &addRaw(const std::string &name, const std::string &value);
    std::string members;
};

} // namespace workloads
