// SPDX-License-Identifier: BSD-3-Clause
//
// The fams engines: failure-atomic msync() for programs compiled without the pass. They are the snapshot engine with
// another tracker: its protocol `redo` commits each page that was stored to. `fams-uffd` learns these pages from
// userfaultfd, `fams-mprotect` from SIGSEGV. Their cost above `snapshot` is therefore the saving of the compiler pass.
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
