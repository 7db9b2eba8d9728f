# SPDX-License-Identifier: BSD-3-Clause
"""snapcc and snap++ as CC and CXX: the ways build systems call a compiler, static and shared, link-time optimisation.

driver_test.py SCRATCH PROJECT...: projects of others, with CMake or ./configure, are built and configured in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

CC, CXX = os.environ["SNAPCC"], os.environ["SNAPCXX"]

LIBRARY = """
#include <string.h>
void library_store(char *to) { to[0] = 1; to[100] = 2; }
void library_copy(char *to, const char *from) { strcpy(to, from); }
"""

# Stores of its own, of the other file, and libc's, each committed and rolled back.
PROGRAM = """
#undef _GNU_SOURCE
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
void library_store(char *to);
void library_copy(char *to, const char *from);
#ifdef __cplusplus
}
#endif
static void change(char *memory, char value) {
    library_store(memory + 1000);
    memory[1000] = value;
    library_copy(memory + 2000, value == 1 ? "first" : "second");
    memory[3000] += value;
}
int main(int argc, char **argv) {
    int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || ftruncate(fd, 8192) < 0)
        return 2;
    char *memory = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    char content[8192];
    if (memory == MAP_FAILED)
        return 3;
    change(memory, 1);
    if (msync(memory, 8192, MS_SYNC) < 0 || pread(fd, content, 8192, 0) != 8192 || memcmp(content, memory, 8192))
        return 4;
    change(memory, 2);
    if (msync(memory, 8192, MS_INVALIDATE) < 0 || memcmp(content, memory, 8192))
        return 5;
    return strcmp(memory + 2000, "first") ? 6 : 0;
}
"""


class Folder:
    def __init__(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        self.path = path
        (path / "library.c").write_text(LIBRARY)
        (path / "program.c").write_text(PROGRAM)
        (path / "program.cpp").write_text(PROGRAM)
        self.cases = 0

    def call(self, *command: str, fails: bool = False) -> str:
        done = subprocess.run(command, cwd=self.path, capture_output=True, text=True, check=False)
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def run(self, program: str = "program") -> None:
        self.call("./" + program, "data")
        self.cases += 1


def build_systems(folder: Folder) -> None:
    folder.call(CC, "--version")
    folder.call(CC, "-v")
    folder.call(CC, "-print-search-dirs")
    folder.call(CC, "-Werror", "-E", "program.c")
    folder.call(CC, "-Werror", "-M", "program.c")
    folder.call(CC, "-Werror", "-Wall", "-MD", "-MF", "library.d", "-O2", "-c", "library.c", "-o", "library.o")
    assembly = folder.call(CC, "-Werror", "-S", "-O2", "library.c", "-o", "-")
    assert "__snapshot_log" in assembly
    folder.call(CC, "-Werror", "program.c", "library.o", "-o", "program")
    folder.run()
    (folder.path / "arguments").write_text("-O1 -c\nlibrary.c -o library.o\n")
    folder.call(CC, "-Werror", "@arguments")
    folder.call(CXX, "-Werror", "-O2", "-c", "program.cpp")
    folder.call(CXX, "-Werror", "-o", "program", "program.o", "library.o")
    folder.run()
    folder.call(CXX, "-x", "c++", "-O3", "program.c", "-x", "c", "library.c", "-o", "program")
    folder.run()
    folder.call(CC, "-no-pie", "-fno-pie", "-O2", "program.c", "library.c", "-o", "program")
    folder.run()
    folder.call(CC, "missing.c", fails=True)


def switches(folder: Folder) -> None:
    report = folder.call(CC, "-fsnapshot-report", "-O2", "-c", "library.c")
    assert "library.c: library_store: 1 instrumented, 0 hoisted, 1 coalesced," in report, report
    assert "library.c: total: 1 instrumented, 0 hoisted, 1 coalesced," in report, report
    report = folder.call(CC, "-fsnapshot-report", "-mllvm", "-snapshot-no-coalesce", "-O2", "-c", "library.c")
    assert "library.c: total: 2 instrumented, 0 hoisted, 0 coalesced," in report, report
    assembly = folder.call(CC, "-mllvm", "-snapshot-guard=noop", "-S", "-O2", "library.c", "-o", "-")
    assert "__snapshot_noop" in assembly and "__snapshot_log" not in assembly


def shared_library(folder: Folder) -> None:
    for level in ["-O0", "-O2"]:
        folder.call(CC, "-Werror", level, "-fPIC", "-shared", "library.c", "-o", "liblibrary.so")
        folder.call(CC, "-Werror", level, "program.c", "-L.", "-llibrary", "-Wl,-rpath,.", "-o", "program")
        folder.run()


def static_program(folder: Folder) -> None:
    """libsnapshot's mmap and its kin come before libc's."""
    for flags in [["-static"], ["-static-pie", "-fPIE"]]:
        folder.call(CC, "-Werror", *flags, "-O2", "program.c", "library.c", "-o", "program")
        assert "no dynamic section" in folder.call("readelf", "-d", "program") or "-static-pie" in flags
        folder.run()
    folder.call(CXX, "-static", "-O2", "program.cpp", "-x", "c", "library.c", "-o", "program")
    folder.run()


def link_time_optimisation(folder: Folder) -> None:
    for kind in ["full", "thin"]:
        for level in ["-O0", "-O1", "-O2", "-O3", "-Os"]:
            flags = ["-flto=" + kind, level, "-fuse-ld=lld"]
            folder.call(CC, *flags, "-c", "library.c", "-o", "library.o")
            folder.call(CC, *flags, "-c", "program.c", "-o", "program.o")
            folder.call(CC, *flags, "program.o", "library.o", "-o", "program")
            folder.run()
        for static in [["-static"], ["-static-pie", "-fPIE"]]:
            flags = ["-flto=" + kind, *static, "-O2", "-fuse-ld=lld"]
            folder.call(CC, *flags, "program.c", "library.c", "-o", "program")
            folder.run()


def cmake_project(folder: Folder, source: Path) -> None:
    """googletest, with CMake's checks of the compiler, and a test of its own."""
    compilers = [f"-DCMAKE_C_COMPILER={CC}", f"-DCMAKE_CXX_COMPILER={CXX}"]
    options = ["-Dgtest_build_samples=ON", "-DBUILD_GMOCK=OFF"]
    folder.call("cmake", "-G", "Ninja", "-S", str(source), "-B", "cmake", *compilers, *options)
    folder.call("ninja", "-j2", "-C", "cmake", "sample1_unittest")
    assert "__snapshot_log" in folder.call("nm", "cmake/googletest/sample1_unittest")
    folder.call("cmake/googletest/sample1_unittest")
    folder.cases += 1


def configure_project(folder: Folder, source: Path) -> None:
    """Kyoto Cabinet's configure script finds the same with the wrappers as with the compilers themselves."""
    found = []
    for cc, cxx in [(CC, CXX), ("clang-19", "clang++-19")]:
        shutil.copytree(source, folder.path / "configure", dirs_exist_ok=True)
        folder.call("sh", "-c", f"cd configure && ./configure CC={cc} CXX={cxx}")
        makefile = (folder.path / "configure" / "Makefile").read_text()
        assert f"CC = {cc}\n" in makefile
        found.append(makefile.replace(f"CC = {cc}\n", "").replace(f"CXX = {cxx}\n", ""))
    assert found[0] == found[1], "the wrappers answer configure's questions in another way"
    folder.cases += 1


def main() -> None:
    folder = Folder(Path(sys.argv[1]))
    for part in [build_systems, switches, shared_library, static_program, link_time_optimisation]:
        part(folder)
    for project in map(Path, sys.argv[2:]):
        (configure_project if (project / "configure").exists() else cmake_project)(folder, project)
    print(f"{folder.cases} programs")
    shutil.rmtree(folder.path)


if __name__ == "__main__":
    main()
