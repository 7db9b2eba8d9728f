# SPDX-License-Identifier: BSD-3-Clause
"""Calls the builders (qemu-patches, guest-image) and keeps their products in the cache.

The key of a component is the hash of its builder's fingerprint (compilers, package versions, ...), of its environment,
of every input file's name, mode and content, and of the keys of the components from which it is built.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

from rich.console import Console

from ..errors import RunFailed, TestbedError
from ..paths import REPO, cache_root
from . import images, workloads
from .cache import Cache, DiskFull
from .fingerprints import remembered

console = Console(stderr=True)


@dataclass(frozen=True)
class Component:
    """One product of a builder script: the script with its arguments, and its inputs."""

    name: str
    script: str
    argument: str = ""
    needs: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    inputs: tuple[str, ...] = ()  # files of this repository that it is made from; if empty, the script lists them
    cold_minutes: int = 1
    is_root: bool = False  # a root to compile in, of tens of thousands of files; no guest gets any

    def command(self, verb: str, *arguments: str) -> list[str]:
        return [str(REPO / self.script), verb, *([self.argument] if self.argument else []), *arguments]


_QEMU = "qemu-patches/build.sh"
_WORKLOAD = "guest-image/image/workload.sh"
_MODULE = "guest-image/image/compile-module.sh"
_TBFS = "guest-image/modules/tbfs"
_TBFS_PARTS = tuple(f"{_TBFS}/{part}" for part in ("CMakeLists.txt", "Kbuild", "core", "module", "tbfs.sh", "tools"))
_COMPILING = ("guest-image/image/lib", "tests/ccached.sh")
# Builders with a fingerprint of Debian's present versions; QEMU's includes the host's compiler and libraries, too.
_RESOLVING = ("guest-image/image/build.sh", "guest-image/image/module-root.sh", _WORKLOAD, _QEMU)
_TOLD_OF_QEMU = re.compile("TESTBED_(QEMU|DEBIAN)|CC$|PKG_CONFIG")

COMPONENTS = {
    c.name: c
    for c in (
        Component("qemu", _QEMU, cold_minutes=7),
        Component("qemu-stock", _QEMU, environment=(("TESTBED_QEMU_STOCK", "1"),), cold_minutes=7),
        Component("replay", "qemu-patches/model/replay/build.sh"),
        Component("buildroot", "guest-image/image/build.sh", "buildroot", cold_minutes=3, is_root=True),
        Component("base", "guest-image/image/build.sh", "base", cold_minutes=2),
        Component("tools", "guest-image/image/build.sh", "tools", needs=("buildroot",)),
        Component("module-root", "guest-image/image/module-root.sh", is_root=True),
        Component(
            "tbfs",
            _WORKLOAD,
            "tbfs",
            ("buildroot", "module-root"),
            environment=(("PROJECT", _TBFS), ("MODULE", _TBFS), ("SOURCES", " ".join(_TBFS_PARTS))),
            inputs=(_WORKLOAD, *_COMPILING, _MODULE, *_TBFS_PARTS),
        ),
    )
}
TESTBED = ("qemu", "buildroot", "base", "tools")
_UNMEASURED = ("qemu-stock", "replay")  # no part of measured runs
_JUNK = {"__pycache__", ".git", "build"}


def component(name: str) -> "Component":
    """The component or workload of this name. Raises TestbedError if the name is unknown."""
    if name in COMPONENTS:
        return COMPONENTS[name]
    if name in workloads.known():
        return _of_workload(name)
    raise TestbedError(f"no component '{name}'; there are: {', '.join(names())}")


def names() -> tuple[str, ...]:
    """The names of all components and workloads."""
    return (*COMPONENTS, *workloads.known())


@cache
def _of_workload(name: str) -> Component:
    module_root = ("module-root",) if workloads.known()[name].module else ()
    inputs = (_WORKLOAD, *_COMPILING, *((_MODULE,) if module_root else ()), *workloads.inputs(name))
    return Component(name, _WORKLOAD, name, ("buildroot", *module_root), workloads.environment(name), inputs)


@dataclass(frozen=True)
class Product:
    """A built component: its folder, and its key in the cache."""

    path: Path
    key: str


def build(names: tuple[str, ...] = TESTBED, cache: Cache | None = None) -> dict[str, Product]:
    """Build the missing components of `names`, in order; return every product."""
    cache = cache or Cache(cache_root())
    image, products = images.chosen(cache), dict[str, Product]()
    for name in names:
        if image and name in image.keys:
            products[name] = Product(images.path_of(cache, image, name), image.keys[name])
        else:
            products[name] = build_component(component(name), products, cache)
    return products


def build_component(component: Component, products: dict[str, Product], cache: Cache | None = None) -> Product:
    """Build one component, if it is missing, from the products that it needs."""
    cache = cache or Cache(cache_root())
    for need in component.needs:
        if not products[need].path.exists():
            why = f"the image that {images.CHOSEN} names has no {component.name}, and no {need} to make it with"
            raise TestbedError(f"{why}; export it with --workload {component.name}, or leave {images.CHOSEN} out")
    key = component_key(component, products)
    builder = _Builder(component, products, cache.root / "logs" / f"{component.name}-{key[:16]}.log")
    return Product(cache.get_or_build(component.name, key, builder, summed=not component.is_root), key)


def own_archive(name: str) -> Path:
    """The archive that a workload or file system adds to a guest's root, built if it is missing."""
    image = images.chosen(Cache(cache_root()))
    needs = () if image and name in image.files else component(name).needs
    return build((*needs, name))[name].path / f"{name}.cpio"


@cache
def own_archive_key(name: str) -> str:
    """The key of this archive's component, computed once for all runs of a study."""
    return keys((*component(name).needs, name))[name]


def keys(names: tuple[str, ...] = TESTBED) -> dict[str, str]:
    """The keys of these components, whether they are built or not."""
    cache, products = Cache(cache_root()), dict[str, Product]()
    image = images.chosen(cache)
    for name in names:
        key = image.keys[name] if image and name in image.keys else component_key(component(name), products)
        products[name] = Product(cache.path(name, key), key)
    return {name: product.key for name, product in products.items()}


def component_key(component: Component, products: dict[str, Product]) -> str:
    """A hash of everything that can change the product."""
    inputs = inputs_of(component)
    total = hashlib.sha256()
    total.update(_fingerprint(component, inputs).encode())
    total.update(_stated(component))
    for need in component.needs:
        total.update(f"\0need {need} {products[need].key}".encode())
    return _hash_all(inputs, total)


def _fingerprint(component: Component, inputs: list[str]) -> str:
    """All else that can change the product: mostly Debian's present versions, which take apt seconds to resolve."""
    if component.script not in _RESOLVING:
        return _ask(component, "fingerprint")
    # The inputs include the lists of packages and the scripts that resolve them.
    question = [component.name, _hash_all(inputs, hashlib.sha256(_stated(component)))]
    if component.script == _QEMU:
        question += _host_tools(os.environ | dict(component.environment))
    return remembered(cache_root(), " ".join(question), lambda: _ask(component, "fingerprint"))


def _host_tools(environment: Mapping[str, str]) -> list[str]:
    """Further inputs of QEMU's fingerprint: variables, and the compiler and libraries of this host.

    A new compiler or library, installed by dpkg or by hand, changes one of the files examined here.
    """
    told = [f"{name}={value}" for name, value in sorted(environment.items()) if _TOLD_OF_QEMU.match(name)]
    tools = (shutil.which(name, path=environment.get("PATH")) for name in (environment.get("CC", "cc"), "ld"))
    return told + [_as_it_is(Path(path)) for path in (*filter(None, tools), "/var/lib/dpkg/status")]


def _as_it_is(path: Path) -> str:
    """The resolved path of a file, its size and its time of modification; only the path if there is no file."""
    path = path.resolve()
    status = path.stat() if path.exists() else None
    return f"{path} {status.st_size} {status.st_mtime_ns}" if status else str(path)


def guest_packages() -> dict[str, str]:
    """Name -> version of Debian's packages in the guest and in its build; for a source archive, its hash."""
    parts = (COMPONENTS["tools"], *map(component, workloads.known()))
    lines = (line for part in parts for line in _fingerprint(part, inputs_of(part)).splitlines())
    return {
        name: version for name, _, version in (line.replace("=", " ", 1).partition(" ") for line in lines) if version
    }


def guest_builds() -> dict[str, str]:
    """Name -> version of everything that QEMU and the guest are built from: Debian's packages, and the sources here.

    An entry `sources/COMPONENT` holds the hash of the files of this repository from which the component is built. The
    hash is the same on every host.
    """
    measured = (name for name in names() if name not in _UNMEASURED)
    return guest_packages() | {f"sources/{name}": hash_inputs(component(name)) for name in measured}


def hash_inputs(component: Component) -> str:
    """The hash of a component's inputs in this repository and of its environment."""
    return _hash_all(inputs_of(component), hashlib.sha256(_stated(component)))


def _stated(component: Component) -> bytes:
    """The environment of a component's script, as bytes to hash."""
    return "".join(f"\0{name}={value}" for name, value in component.environment).encode()


def inputs_of(component: Component) -> list[str]:
    return sorted(set(component.inputs or _ask(component, "inputs").split()))


def _hash_all(inputs: list[str], total: "hashlib._Hash") -> str:
    """The hash of the previous input of `total` and of these files and folders."""
    for line in inputs:
        _hash_path(REPO / line, total)
    return total.hexdigest()


def _ask(component: Component, verb: str) -> str:
    environment = os.environ | dict(component.environment)
    try:
        done = subprocess.run(component.command(verb), capture_output=True, text=True, env=environment, cwd=REPO)
    except OSError as error:
        raise TestbedError(f"cannot run {component.script}: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise TestbedError(f"{component.script} {verb} {component.argument}: {last}")
    return done.stdout


def files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        for child in sorted(path.iterdir()):
            if child.name not in _JUNK:
                yield from files(child)
    else:
        yield path


def _hash_path(path: Path, total: "hashlib._Hash") -> None:
    if not path.exists():
        raise TestbedError(f"build input {path.relative_to(REPO)} does not exist")
    for file in files(path):
        mode = "x" if os.access(file, os.X_OK) else "-"
        total.update(f"\0{file.relative_to(REPO)}\0{mode}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())


@dataclass(frozen=True)
class _Builder:
    """Runs one builder script, with its output in a log file that is kept."""

    component: Component
    products: dict[str, Product]
    log: Path

    def __call__(self, out: Path, work: Path) -> None:
        name, started = self.component.name, time.monotonic()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        needs = {f"{n.upper().replace('-', '_')}_DIR": str(self.products[n].path) for n in self.component.needs}
        environment = os.environ | dict(self.component.environment) | needs
        command = self.component.command("build", str(out), str(work))
        with self.log.open("w") as log:
            status = self._run(command, environment, log)
        if status:
            raise self._failure(status)
        console.print(f"built {name} in {time.monotonic() - started:.0f} s")

    def _run(self, command: list[str], environment: dict[str, str], log: IO[str]) -> int:
        about = f"building {self.component.name} (about {self.component.cold_minutes} min, once; log {self.log})"
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment, cwd=REPO,
            start_new_session=True,
        )  # fmt: skip
        try:
            with console.status(about):
                if not console.is_terminal:
                    console.print(about)
                return process.wait()
        finally:
            if process.poll() is None:  # after Ctrl-C or a failure here, compilers must not go on in the background
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    def _failure(self, status: int) -> TestbedError:
        tail = self.log.read_text(errors="replace").splitlines()[-12:]
        if any("No space left on device" in line or "is full while building" in line for line in tail):
            return DiskFull(
                f"disk full while building {self.component.name} (log {self.log}); "
                "free some or set TESTBED_CACHE to a larger disk (nothing half-built was kept)"
            )
        if status == 2 and tail:  # the last line of the builder tells the user the remedy
            return TestbedError(f"{tail[-1]} (log {self.log})")
        text = "\n  ".join(tail)
        return RunFailed(f"building {self.component.name} failed with status {status}; log {self.log} ends:\n  {text}")
