# SPDX-License-Identifier: BSD-3-Clause
"""Calls the builders (qemu-patches, guest-image) and keeps what they make in the cache.

The key of a component is the hash of its builder's fingerprint (compilers, package versions, ...), of every input
file's name, mode and content, and of the keys of the components it is made from.
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
from . import images
from .cache import Cache, DiskFull
from .fingerprints import remembered

console = Console(stderr=True)


@dataclass(frozen=True)
class Component:
    """One thing to build: a builder script, its arguments and what it is made from."""

    name: str
    script: str
    argument: str = ""
    needs: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    cold_minutes: int = 1
    is_root: bool = False  # a root to compile in, of ten thousands of files: nothing in it is for a guest

    def command(self, verb: str, *arguments: str) -> list[str]:
        return [str(REPO / self.script), verb, *([self.argument] if self.argument else []), *arguments]


_QEMU = "qemu-patches/build.sh"
_NEO4J = "guest-image/neo4j/build.sh"
# Whose fingerprint is what Debian has now; QEMU's has the host's compiler and libraries, too.
_RESOLVING = (
    "guest-image/build.sh",
    "guest-image/memcached/build.sh",
    "guest-image/module-root/build.sh",
    _NEO4J,
    _QEMU,
)
_TOLD_OF_QEMU = re.compile("TESTBED_(QEMU|DEBIAN)|CC$|PKG_CONFIG")

COMPONENTS = {
    c.name: c
    for c in (
        Component("qemu", _QEMU, cold_minutes=7),
        Component("qemu-stock", _QEMU, environment=(("TESTBED_QEMU_STOCK", "1"),), cold_minutes=7),
        Component("replay", "qemu-patches/model/replay/build.sh"),
        Component("buildroot", "guest-image/build.sh", "buildroot", cold_minutes=3, is_root=True),
        Component("base", "guest-image/build.sh", "base", cold_minutes=2),
        Component("software", "guest-image/build.sh", "software", needs=("buildroot",), cold_minutes=2),
        Component("cores", "guest-image/cores/build.sh", needs=("buildroot",)),
        Component("module-root", "guest-image/module-root/build.sh", is_root=True),
        Component("tbfs", "guest-image/tbfs/build.sh", needs=("buildroot", "module-root")),
        Component("filework", "guest-image/filework/build.sh", needs=("buildroot",)),
        Component("pages-fams", "guest-image/fams/engine/build.sh", needs=("buildroot", "module-root")),
        Component("kyoto-server", "guest-image/kyoto-server/build.sh", needs=("buildroot",)),
        Component("neo4j", _NEO4J, cold_minutes=2),
        Component("memcached-ycsb", "guest-image/memcached/build.sh", needs=("buildroot",)),
        Component("stl-map", "guest-image/stl-map/build.sh", needs=("buildroot",)),
    )
}
TESTBED = ("qemu", "buildroot", "base", "software")
# The parts of measured runs.
_MEASURED = tuple(name for name in COMPONENTS if name not in ("qemu-stock", "replay", "cores"))
_JUNK = {"__pycache__", ".git", "build"}


@dataclass(frozen=True)
class Product:
    """A built component: where it is and the key it is stored under."""

    path: Path
    key: str


def build(names: tuple[str, ...] = TESTBED, cache: Cache | None = None) -> dict[str, Product]:
    """Build what is missing of `names`, in order; returns every product."""
    cache = cache or Cache(cache_root())
    image, products = images.chosen(cache), dict[str, Product]()
    for name in names:
        if image and name in image.keys:
            products[name] = Product(images.path_of(cache, image, name), image.keys[name])
        else:
            products[name] = build_component(COMPONENTS[name], products, cache)
    return products


def build_component(component: Component, products: dict[str, Product], cache: Cache | None = None) -> Product:
    """Build one component if it is missing, from the products it needs."""
    cache = cache or Cache(cache_root())
    for need in component.needs:
        if not products[need].path.exists():
            why = f"the image that {images.CHOSEN} names has no {need}, which {component.name} is made with"
            raise TestbedError(f"{why}; leave {images.CHOSEN} out")
    key = component_key(component, products)
    builder = _Builder(component, products, cache.root / "logs" / f"{component.name}-{key[:16]}.log")
    return Product(cache.get_or_build(component.name, key, builder, summed=not component.is_root), key)


def cores_program(name: str) -> Path:
    """A program of guest-image/cores, built if it is not. It is sent along with a run and is no part of the image."""
    return build((*COMPONENTS["cores"].needs, "cores"))["cores"].path / name


def own_archive(name: str) -> Path:
    """Of a component that is an archive of a guest's root and no part of the image; built if it is not."""
    return build(_with_needs(name))[name].path / f"{name}.cpio"


@cache
def own_archive_key(name: str) -> str:
    """Its key, asked for once for all runs of a study."""
    return keys(_with_needs(name))[name]


def _with_needs(name: str) -> tuple[str, ...]:
    return (*COMPONENTS[name].needs, name)


def tbfs_archive() -> Path:
    """What a guest with a tbfs has in its root."""
    return own_archive("tbfs")


def tbfs_key() -> str:
    return own_archive_key("tbfs")


def keys(names: tuple[str, ...] = TESTBED) -> dict[str, str]:
    """The keys of these components, whether they are built or not."""
    cache, products = Cache(cache_root()), dict[str, Product]()
    image = images.chosen(cache)
    for name in names:
        key = image.keys[name] if image and name in image.keys else component_key(COMPONENTS[name], products)
        products[name] = Product(cache.path(name, key), key)
    return {name: product.key for name, product in products.items()}


def component_key(component: Component, products: dict[str, Product]) -> str:
    """Everything that can change the product, hashed."""
    inputs = _inputs(component)
    total = hashlib.sha256()
    total.update(_fingerprint(component, inputs).encode())
    for need in component.needs:
        total.update(f"\0need {need} {products[need].key}".encode())
    return _hash_all(inputs, total)


def _fingerprint(component: Component, inputs: list[str]) -> str:
    """What else than its inputs can change the product: of most, what Debian has now, which takes apt seconds."""
    if component.script not in _RESOLVING:
        return _ask(component, "fingerprint")
    # The inputs have the lists of packages, and the scripts that resolve them.
    question = [component.name, _hash_all(inputs, hashlib.sha256())]
    if component.script == _QEMU:
        question += _host_tools(os.environ | dict(component.environment))
    return remembered(cache_root(), " ".join(question), lambda: _ask(component, "fingerprint"))


def _host_tools(environment: Mapping[str, str]) -> list[str]:
    """What the fingerprint of QEMU can depend on besides: variables, and the compiler and libraries of this host.

    These come by dpkg or by hand; either way a file that stands here is another one then.
    """
    told = [f"{name}={value}" for name, value in sorted(environment.items()) if _TOLD_OF_QEMU.match(name)]
    tools = (shutil.which(name, path=environment.get("PATH")) for name in (environment.get("CC", "cc"), "ld"))
    return told + [_as_it_is(Path(path)) for path in (*filter(None, tools), "/var/lib/dpkg/status")]


def _as_it_is(path: Path) -> str:
    """Where a file really is, its size and when it was written; only its name if there is none."""
    path = path.resolve()
    status = path.stat() if path.exists() else None
    return f"{path} {status.st_size} {status.st_mtime_ns}" if status else str(path)


def guest_packages() -> dict[str, str]:
    """Name -> version of what Debian gives the guest and compiles its software with; of a source archive, its hash."""
    software = COMPONENTS["software"]
    lines = _fingerprint(software, _inputs(software)).splitlines()
    return {
        name: version for name, _, version in (line.replace("=", " ", 1).partition(" ") for line in lines) if version
    }


def guest_builds() -> dict[str, str]:
    """Name -> version of everything that QEMU and the guest are built from: Debian's packages, and the sources here.

    An entry `sources/COMPONENT` has the hash of the files of this repository that the component is made from. It is the
    same on every host.
    """
    return guest_packages() | {f"sources/{name}": hash_inputs(COMPONENTS[name]) for name in _MEASURED}


def hash_inputs(component: Component) -> str:
    """The hash of the files of this repository that a component is made from."""
    return _hash_all(_inputs(component), hashlib.sha256())


def _inputs(component: Component) -> list[str]:
    return sorted(set(_ask(component, "inputs").split()))


def _hash_all(inputs: list[str], total: "hashlib._Hash") -> str:
    """Of these files and folders, after what `total` has seen."""
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
    """Runs one builder script, with its output in a log that stays if it fails."""

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
            if process.poll() is None:  # Ctrl-C, or a failure here: the compilers must not go on in the background
                os.killpg(process.pid, signal.SIGTERM)
                process.wait()

    def _failure(self, status: int) -> TestbedError:
        tail = self.log.read_text(errors="replace").splitlines()[-12:]
        if any("No space left on device" in line or "is full while building" in line for line in tail):
            return DiskFull(
                f"disk full while building {self.component.name} (log {self.log}); "
                "free some or set TESTBED_CACHE to a larger disk (nothing half-built was kept)"
            )
        if status == 2 and tail:  # the builder itself says, in one sentence, what the user can do
            return TestbedError(f"{tail[-1]} (log {self.log})")
        text = "\n  ".join(tail)
        return RunFailed(f"building {self.component.name} failed with status {status}; log {self.log} ends:\n  {text}")
