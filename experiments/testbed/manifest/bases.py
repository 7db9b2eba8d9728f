# SPDX-License-Identifier: BSD-3-Clause
"""Finds manifests, and merges a manifest that names a `base` over the data of the base."""

from pathlib import Path
from typing import Any

from ..errors import TestbedError
from ..paths import MANIFESTS, kind_of
from ..validation import Model, check, load_toml

Data = dict[str, Any]
_OWN = ("name", "summary")  # keys that are not inherited
# Tables, and their keys that name files for the guest: lists of files, and single ones.
_TAKING, _TAKEN = ("guest", "program", "crash"), ("files", "flags", "host", "modules", "sources")
_TAKEN_ALONE = ("kernel", "kernel_modules")


def shipped() -> list[Path]:
    """Every manifest that ships, by name. Manifests that only test a cause are in the folder causes."""
    return sorted((*MANIFESTS.glob("*.toml"), *MANIFESTS.glob("causes/*.toml")), key=lambda path: path.stem)


def find(name: str, folder: Path = Path()) -> Path:
    """The file of a manifest, given by its path from `folder` or by the name of one that ships."""
    path = folder / name
    if path.suffix == ".toml" or kind_of(path) in ("file", "other"):
        return path
    for one in shipped():
        if one.stem == name:
            return one
    have = ", ".join(one.stem for one in shipped())
    raise TestbedError(f"no manifest '{name}'; give the path of a .toml file or one of: {have}")


def load(model: type[Model], path: Path) -> tuple[Model, Data]:
    """The manifest in `path` merged over its chain of bases, as a `model` and as data. Each base must be valid, too."""
    data, above = load_toml(path), [path]
    layers = [(path, data)]
    while "base" in data:
        base = _base(data["base"], above)
        data = load_toml(base)
        layers.append((base, data))
        above.append(base)
    path, data = layers.pop()
    manifest = check(model, data, path)
    for upper, own in reversed(layers):
        data, path = over(_inherited(data, path.parent.absolute()), own, upper), upper
        manifest = check(model, data, path)
    return manifest, data


def _base(name: object, above: list[Path]) -> Path:
    """The file of the base that the last manifest of `above` names; each of `above` is the base of its predecessor."""
    path = above[-1]
    if not isinstance(name, str) or not name:
        raise TestbedError(f"{path}: key 'base': {name!r} is no name of a manifest; write it as 'btree'")
    try:
        base = find(name, path.parent)
    except TestbedError as error:
        raise TestbedError(f"{path}: key 'base': {error}") from error
    if not kind_of(base):
        raise TestbedError(f"{path}: key 'base': {base} does not exist; paths are relative to the manifest")
    if base.resolve() in [one.resolve() for one in above]:
        circle = " -> ".join(one.name for one in (*above, base))
        raise TestbedError(f"{path}: key 'base': it goes in a circle, {circle}; remove it from one of them")
    return base


def _inherited(base: Data, folder: Path) -> Data:
    """The data that a manifest elsewhere inherits from `base`; its files for the guest stay relative to `folder`."""
    data = {key: value for key, value in base.items() if key not in _OWN}
    return data | {table: _in_place(data[table], folder) for table in _TAKING if table in data}


def _in_place(table: Data, folder: Path) -> Data:
    def place(key: str, name: str) -> str:
        if key == "flags" and name.startswith("-"):
            return f"-I{folder / name[2:]}" if name.startswith("-I") else name
        return name if key == "host" and "/" not in name else str(folder / name)  # a program on the PATH

    several = {key: [place(key, name) for name in table[key]] for key in _TAKEN if key in table}
    return table | several | {key: str(folder / table[key]) for key in _TAKEN_ALONE if table.get(key)}


def over(base: Data, own: Data, origin: Path, place: str = "") -> Data:
    """`own` merged over `base`, key by key in tables of both. An empty list or table removes the key of `base`."""
    merged = dict(base)
    for key, value in own.items():
        if value in ({}, []):
            if key not in base:
                why = "it is empty, which takes away what the base says there, but that says nothing"
                raise TestbedError(f"{origin}: key '{place}{key}': {why}; remove it")
            del merged[key]
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            merged[key] = over(base[key], value, origin, f"{place}{key}.")
        elif isinstance(value, dict) and _are_tables(base.get(key)):
            merged[key] = _over_each(base[key], value, origin, f"{place}{key}.")
        else:
            merged[key] = value
    return merged


def _are_tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) for one in value)


def is_number(key: str) -> bool:
    """Whether a key is the index of a table in an array of tables."""
    return key.isdecimal() and len(key) < 4


def _over_each(tables: list[Data], own: Data, origin: Path, place: str) -> list[Data]:
    """Merge keys of `own` over all tables, and keys under an index over that table. The next index adds a table."""
    of_all = {key: value for key, value in own.items() if not is_number(key)}
    merged = [over(table, of_all, origin, place) for table in tables]
    for number in sorted(filter(is_number, own), key=int):
        n, value = int(number), own[number]
        if n > len(merged):
            raise TestbedError(
                f"{origin}: key '{place}{n}': there is none of number {len(merged)}, the next one; add that first"
            )
        table = merged[n] if n < len(merged) else {}
        merged[n : n + 1] = [over(table, value, origin, f"{place}{n}.") if isinstance(value, dict) else value]
    return merged
