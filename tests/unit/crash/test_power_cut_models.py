# SPDX-License-Identifier: BSD-3-Clause
"""The two models of a power cut agree: that of `testbed crash`, and that of the native explorers."""

import random
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from rigs.crash.journal_writer import journal_of
from testbed.crash.journal import LINE_BYTES, Kind, Record
from testbed.crash.lines import Place
from testbed.crash.states import Bounds, explore

RIG = Path(__file__).resolve().parents[2] / "rigs" / "power_cut"
LINES, CORES, WORD_BYTES = 2, 2, 8
STORE_WORDS_MAX = 2  # of a non-temporal store
NT_STORES_MAX = 3
SEEDS = 500  # of the native model, which draws torn stores
CASES = 120
EVENTS_MAX = 7

ALL = Bounds(exhaustive=10**9)


@pytest.fixture(scope="module")
def print_states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("power-cut") / "print_states"
    sources = [RIG / "tests" / "print_states.cpp", RIG / "media.cpp", RIG / "choices.cpp"]
    subprocess.run(["clang++-19", "-std=c++20", "-O1", f"-I{RIG}", "-o", program, *sources], check=True)
    return program


def store(kind: Kind, core: int, address: int, data: bytes) -> Record:
    return Record(kind, core=core, dpa=address, data=data)


def random_record(draw: random.Random, number: int) -> Record:
    """Return an event on few words, so that stores often meet. Each store has bytes of its own."""
    core, word = draw.randrange(CORES), draw.randrange(3)
    address = draw.randrange(LINES) * LINE_BYTES + WORD_BYTES * word
    match draw.randrange(6):
        case 0 | 1:
            return store(Kind.STORE, core, address, bytes([number + 1]) * WORD_BYTES)
        case 2 | 3:
            words = draw.randint(1, STORE_WORDS_MAX)
            return store(Kind.NT_STORE, core, address, bytes([number + 1]) * WORD_BYTES * words)
        case 4:
            return Record(Kind.FLUSH, core=core, dpa=address)
        case _:
            return Record(Kind.FENCE, core=core)


def random_records(seed: int) -> list[Record]:
    draw = random.Random(seed)
    records = [random_record(draw, n) for n in range(draw.randint(1, EVENTS_MAX))]
    more = [record for record in records if record.kind == Kind.NT_STORE][NT_STORES_MAX:]
    return [record for record in records if record not in more]


def text_of(record: Record) -> str:
    """Return the event in the notation of print_states.cpp, where core 0 stands for all cores."""
    core = record.core + 1
    match record.kind:
        case Kind.STORE:
            return f"store {core} {record.dpa:x} {record.data.hex()}"
        case Kind.NT_STORE:
            return f"ntstore {core} {record.dpa:x} {record.data.hex()}"
        case Kind.FLUSH:
            return f"flush {core} {record.dpa:x}"
        case _:
            return f"fence {core}"


def native_states(program: Path, records: Iterable[Record]) -> set[str]:
    text = "".join(f"{text_of(record)}\n" for record in records)
    done = subprocess.run([program, str(SEEDS)], input=text, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def crash_states(records: Sequence[Record]) -> set[str]:
    """Return the states at the end, by the model of `testbed crash`: those between the last mark and the end."""
    journal = journal_of([*records, Record(Kind.MARK, value=1)])
    places = [Place(0, LINE_BYTES * n) for n in range(LINES)]
    found = set()
    for state in explore(journal, lambda _: bytes(LINE_BYTES), ALL):
        if state.point.mark == 1:
            found.add("".join(state.lines.get(place, bytes(LINE_BYTES)).hex() for place in places))
    return found


@pytest.mark.parametrize("seed", range(CASES))
def test_both_models_leave_the_same_states(print_states: Path, seed: int) -> None:
    records = random_records(seed)
    assert native_states(print_states, records) == crash_states(records), "\n".join(map(text_of, records))


def test_the_cases_have_many_states_and_all_kinds_of_events() -> None:
    counts, kinds = [], set()
    for seed in range(CASES):
        records = random_records(seed)
        counts.append(len(crash_states(records)))
        kinds |= {record.kind for record in records}
    assert kinds == {Kind.STORE, Kind.NT_STORE, Kind.FLUSH, Kind.FENCE}
    assert sum(count > 8 for count in counts) > CASES // 4
