# SPDX-License-Identifier: BSD-3-Clause
"""The files of `cmake --install` suffice: wrappers, pkg-config, man pages, examples, wherever the prefix is moved."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2]


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith("SNAPSHOT_")} | environment
    done = subprocess.run([str(w) for w in words], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(w) for w in words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def expect(found: str, wanted: str) -> None:
    if found != wanted:
        raise SystemExit(f"{found!r} instead of {wanted!r}")


def install(build: Path, scratch: Path) -> Path:
    """Installed in one place and moved to another, as a package manager does."""
    run("cmake", "--install", build, "--prefix", scratch / "staged", cwd=scratch)
    prefix = scratch / "usr"
    (scratch / "staged").rename(prefix)
    return prefix


def check_examples(prefix: Path, pool: Path) -> None:
    (folder,) = prefix.glob("share/doc/*/examples")
    (pkgconfig,) = prefix.glob("lib/**/pkgconfig")
    tools = {"PATH": f"{prefix}/bin:{os.environ['PATH']}", "PKG_CONFIG_PATH": str(pkgconfig)}
    run("make", cwd=folder, **tools)
    for number in (1, 2, 3):
        expect(run(folder / "counter", cwd=pool, SNAPSHOT_DIR=str(pool)), f"run {number}")
    if not (pool / "counter.pool.snapshot-log").exists():
        raise SystemExit("counter.pool was not tracked")
    expect(run(folder / "transfer", pool / "accounts", "30", cwd=pool, SNAPSHOT_DIR=str(pool)), "70 30")
    overdrawn = subprocess.run(
        [folder / "transfer", pool / "accounts", "80"],
        env={**os.environ, "SNAPSHOT_DIR": str(pool)},
        capture_output=True,
        text=True,
        check=False,
    )
    expect(f"{overdrawn.returncode} {overdrawn.stdout.strip()}", "1 70 30")
    run(folder / "phonebook", pool / "book", "Grace", "1906", cwd=pool)
    expect(run(folder / "phonebook", pool / "book", "Ada", "1815", cwd=pool), "Ada 1815\nGrace 1906")
    check_pkg_config(folder / "phonebook.cpp", pool, tools)


def check_pkg_config(source: Path, pool: Path, tools: dict[str, str]) -> None:
    """Without the wrapper: the compiler itself, told by pkg-config where everything is."""
    flags = run("pkg-config", "--cflags", "--libs", "snapshot", cwd=pool, **tools).split()
    plugin = run("pkg-config", "--variable=plugin", "snapshot", cwd=pool, **tools)
    compiler = os.environ.get("CXX", "clang++-19")
    run(compiler, "-std=c++20", f"-fpass-plugin={plugin}", source, *flags, "-o", "by-pkg-config", cwd=pool)
    expect(run(pool / "by-pkg-config", pool / "book", cwd=pool), "Ada 1815\nGrace 1906")


def public_functions() -> list[str]:
    headers = [SOURCE / "include" / "snapshot" / name for name in ("snapshot.h", "epochs.h")]
    text = "".join(header.read_text() for header in headers)
    return re.findall(r"^(?:int|void) (snapshot_\w+)\(", text, re.MULTILINE)


def check_manual(prefix: Path) -> None:
    """A page for each public function, with its return value, and for each program that is installed."""
    for name in public_functions():
        page = prefix / "share" / "man" / "man3" / f"{name}.3"
        if not page.exists() or "RETURN VALUES" not in page.read_text():
            raise SystemExit(f"{page.name} is missing, or has no RETURN VALUES")
    for program in sorted((prefix / "bin").iterdir()):
        # kv-ENGINE, which `kv --engine ENGINE` becomes, is explained on kv's page; payloads-ENGINE on that of leaves.
        several = r"^(kv|list|btree|mtree|pages|leaves|payloads|threads|shared-kv|commits|kyoto|lmdb)-"
        if not re.search(several, program.name):
            check_program(program, prefix / "share" / "man" / "man1" / f"{program.name}.1")


def usage_of(program: Path) -> str:
    """Of the program of one engine, if it has several: without arguments they say which."""
    said = subprocess.run([program], capture_output=True, text=True, check=False).stderr
    engines = re.search(r"must be one of ([\w-]+)", said)
    return run(program, "--engine", engines[1], "--help", cwd=program.parent) if engines else said


def check_program(program: Path, page: Path) -> None:
    """Every option that the program's usage names is explained."""
    if not page.exists():
        raise SystemExit(f"{program.name} has no man page")
    if program.name in ("snapcc", "snap++"):  # all options but one are the compiler's
        return
    options = re.findall(r"^  --(\S+)", usage_of(program), re.MULTILINE)
    missing = [option for option in options if f".It Fl -{option}" not in page.read_text()]
    if missing or not options:
        raise SystemExit(f"{page.name} does not explain {missing or 'any option'}")


def main() -> None:
    build, scratch = Path(sys.argv[1]), Path(sys.argv[2])
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "pool").mkdir(parents=True)
    prefix = install(build, scratch)
    check_examples(prefix, scratch / "pool")
    check_manual(prefix)
    shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
