# SPDX-License-Identifier: BSD-3-Clause
"""Subjects of the mutation test: their sources, their persistence calls and locks, and their native tests."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    name: str
    part: str  # folder with the CMakeLists.txt
    needed: tuple[str, ...]  # folders copied for the build
    sources: tuple[str, ...]  # globs of mutated files
    persists: frozenset[str]  # stores, flushes and fences: dropped and swapped
    locks: tuple[tuple[str, str], ...] = ()  # dropped as a pair
    drops: frozenset[str] = frozenset()  # other calls, dropped but not swapped
    fences: frozenset[str] = frozenset()  # macros that make a statement
    fails: frozenset[str] = frozenset()  # dropped calls that return 1 instead of 0
    values: tuple[tuple[str, str], ...] = ()  # results of other dropped calls, with {} for their arguments
    tests: str = ".*"  # regular expression of ctest names
    without: str = "^$"
    options: tuple[str, ...] = ()  # options of cmake
    targets: tuple[str, ...] = ("all",)
    checked: str = ""  # header of a module's part, to which checks of its locks are added


PM = frozenset(["pm_store8", "pm_store16", "pm_store64", "pm_copy", "pm_copy_nt", "pm_zero_nt", "pm_flush", "pm_fence"])
LIBRARY = frozenset(
    [
        "persist_copy",
        "persist_fence",
        "persist_fence_all",
        "persist_resize",
        "block_write",  # from here on: functions with several callers that make one or two of the calls above
        "file_record_write",
        "line_write",
        "list_write",
        "lists_write",
        "record_retire",
        "record_write",
        "region_fence",
        "region_settle",
        "thread_block_end",
        "thread_logs_write",
    ]
)
DURABLE = frozenset(
    ["fsync", "msync", "syncfs", "fdatasync", "posix_fallocate", "directory_sync", "log_file_sync", "size_sync"]
)
ATOMICS = frozenset(
    [
        "atomic_store",
        "atomic_store_explicit",
        "atomic_exchange",
        "atomic_exchange_explicit",
        "atomic_fetch_add",
        "atomic_fetch_sub",
        "atomic_fetch_add_explicit",
        "atomic_fetch_sub_explicit",
        "atomic_flag_clear",
        "atomic_flag_clear_explicit",
        "atomic_flag_test_and_set",
        "atomic_flag_test_and_set_explicit",
    ]
)
EXCHANGES = frozenset(["atomic_compare_exchange_strong", "atomic_compare_exchange_weak"])
WAITS = frozenset(
    [
        "pthread_cond_wait",
        "pthread_cond_timedwait",
        "pthread_cond_broadcast",
        "pthread_join",
        "all_wait",
        "replay_allow",
    ]
)
LOCKS = (
    ("pthread_mutex_lock", "pthread_mutex_unlock"),
    ("region_enter", "region_leave"),
    ("region_lock", ""),
    ("lock", "unlock"),
    ("file_lock", "file_unlock"),
    ("log_file_lock", ""),
    ("lock_exclusively", ""),
    ("epochs_pause", "epochs_resume"),
    ("regions_lock", "regions_unlock"),
    ("contents_share", "contents_release"),
    ("contents_take", "contents_release"),
    ("contents_take_late", "contents_release"),
)
LIBRARY_NEEDS = (
    "snapshot-lib",
    "experiments/engines",
    "experiments/workloads",
    "guest-image/tools/include",
    "guest-image/modules/fams",
    "guest-image/modules/tbfs",
)
LIBRARY_RUN = {
    "part": "snapshot-lib",
    "needed": LIBRARY_NEEDS,
    "persists": LIBRARY,
    "locks": LOCKS,
    "drops": DURABLE | ATOMICS | WAITS,
    "fails": EXCHANGES,
    "options": ("-DSNAPSHOT_PROGRAMS=OFF", "-DSNAPSHOT_MANUALS=OFF"),
}

SUBJECTS = {
    s.name: s
    for s in (
        Subject(
            "tbfs-core",
            "guest-image/modules/tbfs",
            ("guest-image/modules/tbfs",),
            ("guest-image/modules/tbfs/core/*", "guest-image/modules/tbfs/core/*/*"),
            PM,
            fails=frozenset({"journal_yield"}),
            without="-catches-",
        ),
        Subject(
            "fams-core",
            "guest-image/modules/fams",
            ("guest-image/modules/fams", "snapshot-lib", "guest-image/tools/include"),
            ("guest-image/modules/fams/core/*",),
            frozenset({"persist_copy", "persist_fence"}),
            without="-catches-|needs-the-module",
        ),
        Subject(
            name="epochs",
            sources=("snapshot-lib/runtime/epochs/*",),
            tests="(?i)epoch|fuzz-recovery|statistics",
            without="-catches-|workload-",
            targets=(
                "calls_of_epochs",
                "epoch_tests",
                "epoch_tests_tsan",
                "epoch_thread_tests",
                "explore_crashes-epochs",
                "explore_epochs",
                "explore_files-epochs",
                "fuzz_recovery",
                "stats_thread_tests",
            ),
            **LIBRARY_RUN,  # type: ignore[arg-type]
        ),
        Subject(
            name="snapshot-lib",
            sources=tuple(
                f"snapshot-lib/runtime/{part}/*" for part in ("base", "core", "log", "posix", "protocol", "track")
            ),
            tests=r"^(explore-(crashes|files|power-cuts|schedules|epochs|waits)|calls-under|epochs-under|epoch-replays"
            r"|statistics|file-|process-|threads-|[A-Z]\w*(/\w+)*\.)",
            without="-catches-|^(Ycsb|Latency|Exchange|Pass|Mtree|Leaf|Payload)|WouldBeNoticed",
            targets=(
                "runtime_tests",
                "page_tests",
                "calls_of_epochs",
                "calls_of_pages",
                "epoch_tests",
                "epoch_tests_tsan",
                "thread_tests",
                "thread_tests-pages",
                "epoch_thread_tests",
                "explore_crashes",
                "explore_crashes-pages",
                "explore_crashes-epochs",
                "explore_epochs",
                "explore_files",
                "explore_files-epochs",
                "explore_power_cuts",
                "explore_schedules",
                "explore_waits",
                "file_program",
                "process_program",
                "stats_thread_tests",
                "thread_program-snapshot",
                "thread_program-snapshot-epochs",
                "thread_program-snapshot-pages",
            ),
            **LIBRARY_RUN,  # type: ignore[arg-type]
        ),
    )
}

# Kernel modules. Guests judge the mutants of tbfs: tests/guest/modules/test_module_mutants.py
KERNEL_LOCKS = (
    ("inode_lock", "inode_unlock"),
    ("inode_lock_shared", "inode_unlock_shared"),
    ("filemap_invalidate_lock", "filemap_invalidate_unlock"),
    ("filemap_invalidate_lock_shared", "filemap_invalidate_unlock_shared"),
    ("core_lock", "core_unlock"),
    ("mutex_lock", "mutex_unlock"),
    ("lock_page", "unlock_page"),
    ("sb_start_pagefault", "sb_end_pagefault"),
    ("pagefault_disable", "pagefault_enable"),
)
KERNEL_WAITS = frozenset(
    [
        "cancel_delayed_work_sync",
        "dax_writeback_mapping_range",
        "file_remove_privs",
        "file_unmap",
        "file_update_time",
        "file_write_and_wait_range",
        "filemap_write_and_wait_range",
        "folio_mkclean",
        "inode_refresh",
        "inode_update_timestamps",
        "mod_delayed_work",
        "pages_commit",
        "truncate_inode_pages_final",
        "truncate_inode_pages_range",
        "truncate_pagecache",
        "wait_until_idle",
        "xa_clear_mark",
        "xa_set_mark",
    ]
)
MODULES = {
    s.name: s
    for s in (
        Subject(
            "tbfs-module",
            "guest-image/modules/tbfs",
            ("guest-image/modules/tbfs",),
            ("guest-image/modules/tbfs/module/*.c",),
            PM | {"arch_wb_cache_pmem", "memcpy_flushcache", "ring", "setattr_copy", "write_attributes"},
            KERNEL_LOCKS,
            KERNEL_WAITS,
            values=(("core_lock", "&volume_of({})->fs"),),
            fences=frozenset({"wmb"}),
            checked="module/glue.h",
        ),
        Subject(
            "fams-module",
            "guest-image/modules/fams",
            ("guest-image/modules/fams",),
            ("guest-image/modules/fams/module/*.c",),
            frozenset({"persist_copy", "persist_fence", "arch_wb_cache_pmem", "memcpy_flushcache"}),
            KERNEL_LOCKS,
            KERNEL_WAITS,
            checked="module/store.h",
        ),
    )
}
