# SPDX-License-Identifier: BSD-3-Clause
"""Checks TOML files against models. All messages that name the file, the key and the fix are made here."""

import difflib
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from .errors import RunFailed, TestbedError
from .paths import kind_of


class Strict(BaseModel):
    """A model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


def load_toml(path: Path) -> dict[str, Any]:
    """The TOML file as a dictionary."""
    return parse_toml(path, read_text(path))


def read_text(path: Path) -> str:
    """The content of a text file."""
    if kind_of(path) == "other":
        raise TestbedError(f"cannot read {path}: it is neither a file nor a folder")  # reading a FIFO would block
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise TestbedError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TestbedError(f"{path} is not valid TOML: {error}") from error


def parse_toml(path: Path, text: str) -> dict[str, Any]:
    """The text of the file as a dictionary."""
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise TestbedError(f"{path} is not valid TOML: its values are nested too deeply") from error
    except tomllib.TOMLDecodeError as error:
        raise TestbedError(f"{path} is not valid TOML: {error}") from error


def check(model: type[Model], data: dict[str, Any], origin: Path) -> Model:
    """`data` as a `model`. Raises TestbedError with one sentence about the first fault."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise TestbedError(f"{origin}: {_explain(model, first)}") from error


@contextmanager
def named(origin: Path, key: str) -> Iterator[None]:
    """Name this key of `origin` in a TestbedError or a ValueError that the context raises, as a TestbedError."""
    try:
        yield
    except RunFailed:  # the value of the key is not at fault
        raise
    except (TestbedError, ValueError) as error:
        raise TestbedError(f"{origin}: key '{key}': {error}") from error


def unknown_key(key: str, known: list[str]) -> str:
    """The message for an unknown key, with the nearest known key, or all of them if no key is near."""
    near = difflib.get_close_matches(key.rpartition(".")[2], known, n=1)
    hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(sorted(known))}"
    return f"unknown key '{key}'; {hint}"


WRONG_TYPES = {
    "int": "must be a whole number, as 64",
    "list": "must be a list, as ['a', 'b']",
    "string": "must be text in quotes",
    "bool": "must be true or false",
    "dict": "must be a table of keys and values, as { records = 1000 }",
    "model": "must be a table of keys and values",
}
UNION = ("str", "int", "float", "bool")  # pydantic appends these to the key of a value of several types


def _explain(model: type[BaseModel], error: Any) -> str:
    place = error["loc"]
    key = ".".join(str(part) for part in (place[:-1] if place and place[-1] in UNION else place))
    kind, _, wrong = str(error["type"]).partition("_")
    if place and place[-1] in UNION:
        return f"key '{key}': {error['input']!r} is neither text in quotes nor a whole number; write it as one of them"
    if kind in WRONG_TYPES and wrong != "pattern_mismatch":
        return f"key '{key}': {error['input']!r} has the wrong type; it {WRONG_TYPES[kind]}"
    if error["type"] == "extra_forbidden":
        return unknown_key(key, _known_keys(model, error["loc"][:-1]))
    if error["type"] == "missing":
        return f"key '{key}' is missing; add it"
    message = str(error["msg"]).removeprefix("Value error, ")
    return f"key '{key}': {message}" if key else message


def _known_keys(model: type[BaseModel], path: tuple[Any, ...]) -> list[str]:
    """The keys allowed at `path` inside `model`."""
    current: type[BaseModel] | None = model
    for part in (part for part in path if not isinstance(part, int)):  # all elements of a list have the same keys
        field = current.model_fields.get(part) if current else None
        current = _model_of(field.annotation) if field else None
    return list(current.model_fields) if current else []


def _model_of(annotation: Any) -> type[BaseModel] | None:
    """The model class in the annotation of a field, which may also be optional or a list."""
    kinds = (annotation, *get_args(annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
