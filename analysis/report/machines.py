# SPDX-License-Identifier: BSD-3-Clause
"""The machines of the runs, each once: profiles, changed values, scale, memory, file system, components."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from testbed import canonical, units
from testbed.errors import TestbedError
from testbed.manifest import profiles
from testbed.manifest.parameters import key_of, units_of
from testbed.manifest.scale import scale_cpu, scale_device
from testbed.results.results import Result


@dataclass(frozen=True)
class Machine:
    """One machine and its short name in the report."""

    name: str
    scale: int
    cpu: dict[str, Any]
    device: dict[str, Any]
    memory: str
    file_system: str
    boot: str  # time per instruction outside the region of interest
    components: str  # the short name of its set of component keys
    changes: str  # values of the profiles that an override or an axis of the matrix changed


def show(field: str, value: Any) -> str:
    """Format a parameter's value with its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if field == "insn_ps":
        return f"{float(Fraction(value)):.4g} ps"
    if not isinstance(value, int):
        return str(value)
    kind = units_of(field)
    if kind is units.TIME_PS:
        return units.show_time(value)
    if kind is units.SIZE_BYTES:
        return units.show_size(value)
    if kind is units.BANDWIDTH:
        return f"{value / 1e9:.4g} GB/s"
    return f"{value:,}" if kind is units.COUNT else f"{value:,} {field[-2:-1]}J"


def profile_at(kind: str, name: str, scale: int) -> dict[str, Any] | None:
    """Return the values of a shipped profile at 1/`scale`; None if the profile can no longer be loaded."""
    origin = Path(f"{name}.toml")
    try:
        if kind == "cpu":
            return profiles.as_data(scale_cpu(profiles.load_cpu(name, {}, origin), scale))
        return profiles.as_data(scale_device(profiles.load_device(name, {}, origin), scale))
    except TestbedError:
        return None


def changes(kind: str, values: dict[str, Any], scale: int) -> list[str]:
    """List each value that differs from the profile's at this scale, followed by the profile's value."""
    stated = profile_at(kind, values["name"], scale)
    if stated is None:
        return [f"{kind}: its profile '{values['name']}' is no longer there"]
    return [
        f"{kind} {key_of(key)} = {show(key, value)} (profile: {show(key, stated.get(key))})"
        for key, value in values.items()
        if value != stated.get(key)
    ]


class Machines:
    """Every machine of the results and every set of component keys, numbered in order of appearance."""

    def __init__(self, found: Sequence[Result]) -> None:
        self.components: dict[str, dict[str, str]] = {}
        self.machines: dict[str, Machine] = {}
        self._names: dict[str, str] = {}
        for result in found:
            self._add(result)

    def of(self, result: Result) -> Machine:
        """The machine that this result was measured on."""
        return self.machines[self._key(result)]

    def profiles(self) -> list[tuple[str, str, list[int]]]:
        """List (kind, profile, scales at which machines use it), each profile once."""
        used: dict[tuple[str, str], set[int]] = {}
        for machine in self.machines.values():
            for kind, values in (("cpu", machine.cpu), ("device", machine.device)):
                used.setdefault((kind, values["name"]), set()).add(machine.scale)
        return [(kind, name, sorted(scales)) for (kind, name), scales in used.items()]

    def _key(self, result: Result) -> str:
        return canonical.digest([result.data["identity"]["machine"], result.data["scale"]])

    def _add(self, result: Result) -> None:
        key, identity, scale = self._key(result), result.data["identity"]["machine"], int(result.data["scale"])
        if key in self.machines:
            return
        cpu, device = identity["cpu"], identity["device"]
        self.machines[key] = Machine(
            name=f"M{len(self.machines) + 1}",
            scale=scale,
            cpu=cpu,
            device=device,
            memory=units.show_size(identity["memory_bytes"]),
            file_system=identity.get("file_system", "ext4-dax"),
            boot=f"{units.show_time(identity['boot_insn_ps'])} an instruction",
            components=self._components(identity["components"]),
            changes="; ".join(changes("cpu", cpu, scale) + changes("device", device, scale)),
        )

    def _components(self, keys: dict[str, str]) -> str:
        digest = canonical.digest(keys)
        name = self._names.setdefault(digest, f"S{len(self._names) + 1}")
        self.components[name] = keys
        return name
