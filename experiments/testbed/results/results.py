# SPDX-License-Identifier: BSD-3-Clause
"""Results: canonical JSON files, one for each run, found by the hash of everything that can influence them.

The identity contains all that enters the hash: the format version; the keys of the QEMU and guest components; every
value of the CPU and device profiles, and a seed beside the CPU's values unless it is 0; memory size; file system, and
how each one is made and mounted; the workloads with programs in the guest; kernel modules of the guest, in their order;
a kernel of the user with its modules, and additional arguments of any kernel; for a machine with several devices or
custom regions, all profiles, bridges, regions and the script that makes the regions; the tables that tell the kernel
the speed of memory; page size by which files are mapped; time per instruction outside the region of interest; kernel
command line and CPU model; the command; for a [program], its script, the content of its files and the versions of its
packages. Host time, host name and paths are in neither the identity nor the result, so that equal runs give equal
bytes.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from .. import canonical, outputs
from ..errors import RunFailed, TestbedError
from ..guest import file_systems, memory_tables, own_archives, regions
from ..guest.executor import GuestOutcome
from ..guest.qemu_line import LSA_BYTES, cpu_model, devices_of, kernel_arguments
from ..manifest import profiles
from ..manifest.guest_config import GuestConfig
from ..manifest.render import Run
from ..manifest.topology import Topology
from ..program.kernel_module import KernelModule
from . import mapped_files

FORMAT = 1
PROBE_BYTES = 64 * 2**10  # about the size of a result
T = TypeVar("T")


@dataclass(frozen=True)
class Result:
    """A finished run as its file states it.

    Attributes:
        path: File of the result.
        data: Content of the file (docs/reference/results.md).
    """

    path: Path
    data: dict[str, Any]

    @property
    def outcome(self) -> str:
        """How the guest ended: "ok", or a kind of failure."""
        return str(self.data["outcome"])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON lines that the program in the guest wrote."""
        return list(self.data["rows"])

    @property
    def point(self) -> dict[str, Any]:
        """The values of the manifest's axes, by their names."""
        return dict(self.data["point"])

    @property
    def seed(self) -> int:
        """The seed of the run; 0 by default."""
        return int(self.data["identity"]["machine"]["cpu"].get("seed", 0))

    @property
    def rois(self) -> list[dict[str, Any]]:
        """Begin, end and counters of each region of interest."""
        return list(self.data["rois"])

    @property
    def files(self) -> dict[str, Path]:
        """The paths of the files that came back from the guest, by name."""
        return {name: files_folder(self.path) / name for name in self.data.get("files", {})}

    @property
    def counters(self) -> dict[str, int]:
        """The counters of the last region of interest; empty without a region."""
        return {**self.rois[-1]["counters"], **mapped_files.counters(self.rois[-1])} if self.rois else {}


def roi_counters(roi: Mapping[str, Any]) -> dict[str, int]:
    """Return the length of a region of interest, then its counters."""
    return {"time-ps": roi["end-ps"] - roi["begin-ps"], **roi["counters"], **mapped_files.counters(roi)}


def device_counters(rois: Sequence[Mapping[str, Any]]) -> list[dict[str, int]]:
    """Return the counters of each device in the last region of interest."""
    return [dict(device) for device in rois[-1].get("devices", [])] if rois else []


def machine_identity(guest: GuestConfig, keys: dict[str, str]) -> dict[str, Any]:
    """Return all properties of the machine that can influence a run. The host-time limit cannot."""
    return {
        "format": FORMAT,
        "components": keys,
        "cpu": profiles.as_data(guest.cpu),
        "device": profiles.as_data(guest.device),
        "memory_bytes": guest.memory_bytes,
        "boot_insn_ps": guest.boot_insn_ps,
        "file_system": guest.file_system,
        "file_systems": file_systems.identity(guest),
        **({"file_system_archives": own_archives.identity(own)} if (own := file_systems.components(guest)) else {}),
        "qemu_line": canonical.digest([kernel_arguments(), cpu_model(), LSA_BYTES]),
        **({"modules": [_module_identity(module) for module in guest.modules]} if guest.modules else {}),
        **({"kernel": guest.kernel.digest} if guest.kernel else {}),
        **({"kernel_arguments": guest.kernel_arguments} if guest.kernel_arguments else {}),
        **({"topology": _topology_identity(guest.topology)} if guest.topology else {}),
        **({"memory_tables": memory_tables.identity(guest.cpu, devices_of(guest))} if guest.hmat else {}),
        **({"machine_checks": cpu_model(machine_checks=True)} if guest.machine_checks else {}),
        **({"direct_stores": cpu_model(direct_stores=True)} if guest.direct_stores else {}),
        **({"page_size": guest.page_size} if guest.page_size else {}),
    }


def _topology_identity(topology: Topology) -> dict[str, Any]:
    return {
        "devices": {str(n): profiles.as_data(device) for n, device in enumerate(topology.others, 1)},
        "bridges": list(topology.bridges),
        "regions": {str(n): regions.as_data(region) for n, region in enumerate(topology.regions)},
        "script": canonical.digest(regions.SCRIPT),
    }


def _module_identity(module: KernelModule) -> str:
    return f"{module.name} {hashlib.sha256(module.content).hexdigest()}"


def identity(run: Run, keys: dict[str, str]) -> dict[str, Any]:
    """Return the documented list of inputs; its hash names the result."""
    program = {"program": run.program.identity()} if run.program else {}
    programs = {"workloads": own} if (own := own_archives.identity(run.workloads)) else {}
    return {"machine": machine_identity(run.guest, keys), "argv": list(run.argv)} | programs | program


def path_for(root: Path, run: Run, keys: dict[str, str]) -> Path:
    return Places(root, keys).of(run)


class Places:
    """The paths of the results of many runs. Data that their identities share is converted to text once."""

    def __init__(self, root: Path, keys: dict[str, str]) -> None:
        self._root, self._keys = root, keys
        self._programs: dict[tuple[str, ...], str] = {}  # texts of the programs' identities, by workloads
        self._texts: dict[int, tuple[object, str]] = {}  # by id() of an object, kept so that the id stays unique

    def of(self, run: Run) -> Path:
        parts = {
            "machine": self._text(run.guest, lambda guest: machine_identity(guest, self._keys)),
            "argv": canonical.dumps_words(run.argv),
        }
        if program := run.program:
            shared = {key: self._text(value, lambda same: same) for key, value in program.contents.items()}
            parts["program"] = canonical.dumps_parts({"script": canonical.dumps(program.script), **shared})
        if names := run.workloads:
            if names not in self._programs:
                self._programs[names] = canonical.dumps(own_archives.identity(names))
            parts["workloads"] = self._programs[names]
        digest = canonical.digest_text(canonical.dumps_parts(parts))
        return outputs.within(self._root, run.manifest, run.label, f"-{digest[:16]}.json")

    def _text(self, shared: T, as_data: Callable[[T], Any]) -> str:
        if id(shared) not in self._texts:
            self._texts[id(shared)] = shared, canonical.dumps(as_data(shared))
        return self._texts[id(shared)][1]


def files_folder(path: Path) -> Path:
    """Return the folder of the files that came back from the guest, for the result in `path`."""
    return path.with_suffix(".files")


def store(
    path: Path, run: Run, keys: dict[str, str], outcome: dict[str, Any], files: Mapping[str, bytes] = {}
) -> Result:
    """Write the result of `run` atomically, from the guest's `outcome` and the `files` that came back from the guest.

    If another command has stored the result meanwhile, both must be the same, byte for byte.
    RunFailed: they differ; the second one is kept beside the first.
    """
    data = outcome | {
        "manifest": run.manifest,
        "scale": run.scale,
        "point": run.point,
        "identity": identity(run, keys),
    }
    if files:
        data["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        if not path.exists():  # else the existing files belong to the finished result, and these may differ
            _with_remedy(lambda: outputs.replace_folder(files_folder(path), files))
    data["checksum"] = canonical.digest(data)
    text = canonical.dumps(data)
    if not _with_remedy(lambda: outputs.write_once(path, text)) and path.read_text(encoding="utf-8") != text:
        other = path.with_suffix(".other")
        outputs.write(other, text)
        raise RunFailed(f"one run gave two results: see `testbed diff {path} {other}`, and remove both to run it again")
    return Result(path, data)


def check_room(root: Path) -> None:
    """Fail before a guest has run if results cannot be written."""
    _with_remedy(lambda: outputs.check_room(root, PROBE_BYTES))


def _with_remedy(write: Callable[[], T]) -> T:
    try:
        return write()
    except TestbedError as error:
        remedy = "make room there or set TESTBED_RESULTS to another folder; finished results are kept"
        raise TestbedError(f"{error}; {remedy}") from error


def load(path: Path) -> Result:
    """Load the result in `path`. TestbedError: the file was cut short or edited, which never causes a silent re-run."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedError(f"cannot read result {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "is not whole JSON") from error
    if not isinstance(data, dict) or "checksum" not in data:
        raise _damaged(path, "has no checksum")
    stated = data["checksum"]
    if canonical.digest({k: v for k, v in data.items() if k != "checksum"}) != stated:
        raise _damaged(path, "does not match its checksum")
    result = Result(path, data)
    for name, file in result.files.items():
        if not file.is_file() or hashlib.sha256(file.read_bytes()).hexdigest() != data["files"][name]:
            raise _damaged(path, f"has not the file {file} that came back with it")
    return result


def load_all(folder: Path) -> list[Result]:
    """Load every result under `folder`, sorted by path."""
    return [load(path) for path in sorted(folder.rglob("*.json"))]


def guest_data(outcome: GuestOutcome) -> dict[str, Any]:
    """Return the part of a guest's outcome that belongs into a result."""
    return {
        "outcome": outcome.outcome,
        "exit_status": outcome.exit_status,
        "boot": outcome.boot,
        "rows": outcome.rows,
        "rois": outcome.rois,
        "stdout": outcome.stdout.decode(errors="replace"),
        "stderr": outcome.stderr.decode(errors="replace"),
    }


def _damaged(path: Path, how: str) -> TestbedError:
    return TestbedError(f"result {path} {how}: it was truncated or edited; remove that file to run it again")
