// SPDX-License-Identifier: BSD-3-Clause
//
// The fams engines: failure-atomic msync() of programs that no pass has compiled. They are the snapshot engine with
// another tracker: its protocol `redo` commits each page that was stored to, which `fams-uffd` learns from userfaultfd
// and `fams-mprotect` from SIGSEGV. So what they cost above `snapshot` is what the compiler saves.
#pragma once

#include "snapshot.hpp"

namespace engines {

template <unsigned Tracker> class Fams : public TrackedFile<SNAPSHOT_PROTOCOL_REDO | Tracker> {
  public:
    static constexpr const char *Name = Tracker == SNAPSHOT_TRACK_UFFD ? "fams-uffd" : "fams-mprotect";
    using TrackedFile<SNAPSHOT_PROTOCOL_REDO | Tracker>::TrackedFile;
};

using FamsUffd = Fams<SNAPSHOT_TRACK_UFFD>;
using FamsMprotect = Fams<SNAPSHOT_TRACK_MPROTECT>;

} // namespace engines
