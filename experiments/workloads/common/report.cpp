// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <cstdio>
#include <cstdlib>

namespace workloads {

Report &Report::addRaw(const std::string &name, const std::string &value) {
    members += (members.empty() ? "\"" : ",\"") + name + "\":" + value;
    return *this;
}

Report &Report::add(const std::string &name, const std::string &text) {
    std::string quoted = "\"";
    for (char c : text) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return addRaw(name, quoted + '"');
}

Report &Report::add(const std::string &name, uint64_t number) { return addRaw(name, std::to_string(number)); }

Report &Report::addBool(const std::string &name, bool value) { return addRaw(name, value ? "true" : "false"); }

Report &Report::addHex(const std::string &name, uint64_t number) {
    char text[20];
    snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(number));
    return add(name, text);
}

void Report::print() const {
    std::string line = "{" + members + "}\n";
    fputs(line.c_str(), stdout);
    fflush(stdout);
    const char *path = getenv("TESTBED_RESULT");
    FILE *file = path ? fopen(path, "a") : nullptr;
    if (!file)
        return;
    fputs(line.c_str(), file);
    fclose(file);
}

} // namespace workloads
