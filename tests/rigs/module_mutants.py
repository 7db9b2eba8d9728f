# SPDX-License-Identifier: BSD-3-Clause
"""Kernel modules of ours with one rule broken, each by a change of a copy of the sources."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed.program import kernel_module


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # below the module's folder
    changes: tuple[tuple[str, str], ...]  # each of these texts occurs once


def compiled(module: Path, mutant: Mutant, folder: Path) -> Path:
    """The module file of the mutant. AssertionError: the sources no longer have the text that it changes."""
    copy = folder / mutant.name
    shutil.copytree(module, copy)
    path = copy / mutant.file
    text = path.read_text()
    for old, new in mutant.changes:
        assert text.count(old) == 1, f"{mutant.name}: {mutant.file} has {text.count(old)} times: {old}"
        text = text.replace(old, new)
    path.write_text(text)
    ((_, content),) = kernel_module.compile_folder(copy).modules.items()
    made = folder / f"{mutant.name}.ko"
    made.write_bytes(content)
    return made


def of(name: str, file: str, *changes: tuple[str, str]) -> Mutant:
    return Mutant(name, file, changes)


INVALIDATE = "    filemap_invalidate_lock(inode->i_mapping);\n"
IN_A_LOCK = (
    "filemap_invalidate_lock(inode->i_mapping), status = file_unmap(inode, {}),"
    " filemap_invalidate_unlock(inode->i_mapping);"
)

# Those of the glue between tbfs and the kernel. Threads on several CPUs find them, without a power cut.
TBFS = (
    of(
        "faults-unlocked",
        "module/file.c",
        ("    filemap_invalidate_lock_shared(inode->i_mapping);\n", ""),
        ("    filemap_invalidate_unlock_shared(inode->i_mapping);\n", ""),
    ),
    of(
        "truncate-leaves-pages",
        "module/inode.c",
        ("status = file_unmap(inode, size, LLONG_MAX);", "status = 0;"),
        ("truncate_pagecache(inode, size);", "status = 0;"),
    ),
    of("truncate-unmaps-late", "module/inode.c", ("status = file_unmap(inode, size, LLONG_MAX);", "status = 0;")),
    of("punch-leaves-pages", "module/file.c", ("status = file_unmap(inode, begin, begin + bytes);", "status = 0;")),
    of("write-leaves-pages", "module/file.c", ("done = file_unmap(inode, begin, begin + bytes);", "done = 0;")),
    of(
        "reads-unlocked",
        "module/file.c",
        (
            "    inode_lock_shared(inode);\n    done = read_file(call, to);\n    inode_unlock_shared(inode);\n",
            "    done = read_file(call, to);\n",
        ),
    ),
    of(
        "writes-unlocked",
        "module/file.c",
        ("    inode_lock(inode);\n    done = generic_write_checks(", "    done = generic_write_checks("),
        (
            "        done = status < 0 ? status : write_all(call, from);\n    }\n    inode_unlock(inode);\n",
            "        done = status < 0 ? status : write_all(call, from);\n    }\n",
        ),
    ),
    of(
        "no-wait-for-pins",
        "module/file.c",
        (
            "status = ___wait_var_event(&page->_refcount, atomic_read(&page->_refcount) == 1, TASK_INTERRUPTIBLE, "
            "0, 0,\n                                   wait_unlocked(inode));",
            "break;",
        ),
        ("static void wait_unlocked(", "static __maybe_unused void wait_unlocked("),
    ),
    of(
        "unmap-may-fail",
        "module/file.c",
        (
            "truncate_inode_pages_range(mapping, begin, end == LLONG_MAX ? -1 : round_up(end, PAGE_SIZE) - 1);",
            "status = invalidate_inode_pages2_range(mapping, begin >> PAGE_SHIFT, last >> PAGE_SHIFT);",
        ),
    ),
    of(
        "attributes-outside-the-lock",
        "module/inode.c",
        (
            "    fs = core_lock(inode);\n    setattr_copy(idmap, inode, change);\n",
            "    setattr_copy(idmap, inode, change);\n    fs = core_lock(inode);\n",
        ),
    ),
    of(
        "mode-read-early",
        "module/inode.c",
        (
            "    struct tbfs *fs = core_lock(inode);\n    int status;\n\n    inode_update_timestamps(inode, flags);\n",
            "    umode_t mode = inode->i_mode;\n    struct tbfs *fs = core_lock(inode);\n    int status;\n\n"
            "    inode->i_mode = mode;\n    inode_update_timestamps(inode, flags);\n",
        ),
    ),
)
# Two locks where there is one: a fault has to come between them, for which this takes eight CPUs and longer.
RARE = of(
    "punch-lets-faults-in",
    "module/file.c",
    ("privs(file); /* the core sets the times, together with what it changes */\n" + INVALIDATE, "privs(file);\n"),
    ("status = file_unmap(inode, begin, begin + bytes);", IN_A_LOCK.format("begin, begin + bytes")),
    (
        "    }\n" + INVALIDATE.replace("lock(", "unlock(") + "    inode_unlock(inode);\n",
        "    }\n    inode_unlock(inode);\n",
    ),
)
# A power cut finds it.
FSYNC = of(
    "fsync-writes-nothing-back",
    "module/file.c",
    ("int status = file_write_and_wait_range(file, begin, last);", "int status = 0;"),
)

# Those of fams. Threads find a commit that is torn or lost.
FAMS = (
    of("commit-leaves-pages-writable", "module/pages.c", ("    folio_mkclean(page_folio(page));\n", "")),
    of(
        "store-to-declared-page",
        "module/pages.c",
        ("if (xa_get_mark(&store->pages, vmf->pgoff, PAGE_DECLARED) && pages_commit(store) < 0)", "if (false)"),
    ),
    of(
        "synchronise-without-the-lock",
        "module/device.c",
        (
            "    int status = -ENODEV;\n\n    mutex_lock(&store->lock);\n",
            "    int status = -ENODEV;\n\n",
        ),
        (
            "        status = pages_commit(store);\n    mutex_unlock(&store->lock);\n",
            "        status = pages_commit(store);\n",
        ),
    ),
)
# A commit whose pages are not those that were announced: the core's invariant stops the store.
FAMS_BROKEN = of(
    "announces-one-more", "module/pages.c", ("fams_begin(&store->fams, count);", "fams_begin(&store->fams, count + 1);")
)
# Each change of a block that exists breaks the core's invariant that it is in use.
TBFS_BROKEN = of("blocks-look-free", "core/data.c", ("!old || space_in_use(fs, old)", "!old || !space_in_use(fs, old)"))
