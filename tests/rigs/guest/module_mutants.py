# SPDX-License-Identifier: BSD-3-Clause
"""The project's kernel modules with one rule broken, each by a change of a copy of the sources."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from testbed.program import kernel_module


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # below the module's folder
    changes: tuple[tuple[str, str], ...]  # each of these texts occurs once


def changed(module: Path, mutant: Mutant, folder: Path) -> Path:
    """Copy the sources and apply the mutant. AssertionError: a text to change does not occur exactly once."""
    copy = folder / mutant.name
    shutil.copytree(module, copy)
    path = copy / mutant.file
    text = path.read_text()
    for old, new in mutant.changes:
        assert text.count(old) == 1, f"{mutant.name}: {mutant.file} has {text.count(old)} times: {old}"
        text = text.replace(old, new)
    path.write_text(text)
    return copy


def compiled(module: Path, mutant: Mutant, folder: Path) -> Path:
    """Return the module file of the mutant."""
    copy = changed(module, mutant, folder)
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

# Mutants of the glue between tbfs and the kernel. Threads on several CPUs detect them without a power cut.
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
# Two critical sections in place of one: a fault must fall between them, which takes eight CPUs and a longer run.
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
# Only a power cut shows these, and the second one only while two calls write the same page back.
FSYNC = of(
    "fsync-writes-nothing-back",
    "module/file.c",
    ("int status = file_write_and_wait_range(file, begin, last);", "int status = 0;"),
)
BESIDE = of(
    "calls-do-not-wait-for-each-other",
    "module/file.c",
    ("    mutex_lock(&volume->writing_back);\n    status = ", "    status = "),
    ("    pm_fence();\n    mutex_unlock(&volume->writing_back);\n", "    pm_fence();\n"),
    ("    wait_for_writing_back(volume_of(file_inode(file)));\n", ""),
)

# Mutants of fams. Threads detect a torn or lost commit.
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
# A commit with other pages than the announced ones: the core's invariant stops the store.
FAMS_BROKEN = of(
    "announces-one-more", "module/pages.c", ("fams_begin(&store->fams, count);", "fams_begin(&store->fams, count + 1);")
)
# Each change of an existing block breaks the core's invariant that the block is in use.
TBFS_BROKEN = of(
    "blocks-look-free", "core/pages/data.c", ("!old || space_in_use(fs, old)", "!old || !space_in_use(fs, old)")
)
