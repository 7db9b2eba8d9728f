#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs a user's own xfstests on tbfs, in a guest that has the tool and two devices: docs/howto/tbfs.md.
#
#   xfstests.sh FOLDER [WHAT ITS check TAKES]
set -eu
[[ $# -ge 1 && -x $1/check ]] || { echo "xfstests.sh: give the folder of an xfstests that is built, then what its check takes" >&2; exit 2; }

# What mkfs and fsck look for. The device comes last, behind options that are not ours.
programs=$(mktemp -d)
cat >"$programs/mkfs.tbfs" <<'END'
#!/bin/bash
exec tbfs make "${!#}"
END
cat >"$programs/fsck.tbfs" <<'END'
#!/bin/bash
tbfs check "${!#}" || exit 4 # as fsck has it: there is something wrong, and it was left
END
chmod +x "$programs"/*

export PATH=$programs:$PATH FSTYP=tbfs
export TEST_DEV=${TEST_DEV-/dev/pmem0} SCRATCH_DEV=${SCRATCH_DEV-/dev/pmem1}
export TEST_DIR=${TEST_DIR-/tmp/test} SCRATCH_MNT=${SCRATCH_MNT-/tmp/scratch}
mkdir -p "$TEST_DIR" "$SCRATCH_MNT"
for device in "$TEST_DEV" "$SCRATCH_DEV"; do
    umount "$device" 2>/dev/null || : # as the guest has it when it begins
done
tbfs make "$TEST_DEV"
cd "$1"
shift
exec ./check "$@"
