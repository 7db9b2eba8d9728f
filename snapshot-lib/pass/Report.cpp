// SPDX-License-Identifier: BSD-3-Clause
#include "Report.h"

#include "llvm/Support/raw_ostream.h"

#include <iterator>

using namespace llvm;

namespace snapshot {

struct Field {
    const char *name;
    unsigned Counts::*count;
};

static constexpr Field Fields[] = {
    {"instrumented", &Counts::instrumented},  {"hoisted", &Counts::hoisted},     {"coalesced", &Counts::coalesced},
    {"repeated", &Counts::repeated},          {"stack", &Counts::stack},         {"global", &Counts::global},
    {"thread-local", &Counts::thread_local_}, {"exception", &Counts::exception}, {"segment", &Counts::segment},
    {"libc uses", &Counts::libcUses},         {"refused", &Counts::refused},
};

void Counts::add(const Counts &other) {
    for (const Field &field : Fields)
        this->*field.count += other.*field.count;
}

void Counts::countElided(Target target) {
    switch (target) {
    case Target::Stack:
        stack++;
        return;
    case Target::Global:
        global++;
        return;
    case Target::ThreadLocal:
        thread_local_++;
        return;
    case Target::Exception:
        exception++;
        return;
    case Target::Segment:
        segment++;
        return;
    case Target::Unknown:
        return;
    }
}

bool Counts::empty() const {
    return all_of(Fields, [this](const Field &field) { return this->*field.count == 0; });
}

void printCounts(const Module &module, StringRef name, const Counts &counts) {
    errs() << "snapshot: " << module.getSourceFileName() << ": " << name << ": ";
    for (const Field &field : Fields)
        errs() << (&field == Fields ? "" : ", ") << counts.*field.count << " " << field.name;
    errs() << "\n";
}

} // namespace snapshot
