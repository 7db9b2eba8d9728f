#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# work.sh WORK: the measured work, in /pmem, and a count after it: of all files, of those that grep found, of those that git
# has. All writes are durable when the measurement ends.
set -euo pipefail
cd /pmem
case $1 in
    tar) roi-run sh -c 'tar -xf /tmp/tree.tar -C new && sync -f .' ;;
    cp) roi-run sh -c 'cp -a tree new/ && sync -f .' ;;
    grep) roi-run sh -c 'grep -rl needle_of_ tree >/tmp/found' ;;
    git) roi-run sh -c 'cd tree && git init -q && git add -A && git commit -qm tree && sync -f .' ;;
    rm) roi-run sh -c 'rm -r tree && sync -f .' ;;
esac
case $1 in
    tar | cp) find new -type f | wc -l ;;
    grep) wc -l </tmp/found ;;
    git) git -C tree ls-tree -r --name-only HEAD | wc -l ;;
    rm) find . -type f | wc -l ;;
esac
