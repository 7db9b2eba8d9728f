# SPDX-License-Identifier: BSD-3-Clause
"""`python -m prose [--shares] [FILE...]` from tests/: faults of language in these files, or in all of the repository.

`--shares` prints the share of sentences with a free relative, by folder. The exit status is 1 if there is a fault.
"""

import sys
from pathlib import Path

from . import style


def main(words: list[str]) -> int:
    paths = [Path(word).resolve() for word in words if word != "--shares"] or style.files()
    if "--shares" in words:
        for share in style.shares(sentence for path in paths for sentence in style.sentences(path)):
            print(share)
        return 0
    found = style.faults(paths)
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
