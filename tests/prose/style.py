# SPDX-License-Identifier: BSD-3-Clause
"""The rules of language: limits for free relatives, our preferred forms, and the checks of proselint.

A free relative pronoun (see FREE_RELATIVE) must be resolved before the sentence makes sense. "The pass rejects a store
of unknown size" needs no second reading. Questions may have these words, and so may a few sentences of each folder: at
most one in a hundred sentences of code, one in fifty of documents.

proselint runs with CHECKS and with OURS, its own kind of rule with the words of this project.
"""

import itertools
import re
import subprocess
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from proselint.checks import __register__ as shipped
from proselint.config import Config
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.tools import LintFile

from testbed.paths import REPO

from . import texts

DOCUMENTS, PYTHON, C, SETTINGS = "documents", "Python", "C and its kin", "shell and settings"
FREE_RELATIVE = re.compile(r"\b(what|who|whoever|whose)\b(?!.*\?\s*$)", re.IGNORECASE)
CODE_MAX = 0.01  # of the sentences
DOCUMENTS_MAX = 0.02
FEW = 1  # so many are allowed in any folder
# Each change of these files builds QEMU or the guest image again, so a free relative goes with their next change.
OWN_MAX = {("guest-image", SETTINGS): 0.13, ("qemu-patches", SETTINGS): 0.14}
WORDS_MIN = 3  # a shorter remark is no sentence

PREFERRED = {
    "aforementioned": "this",
    "amongst": "among",
    "are able to": "can",
    "at the present time": "now",
    "due to the fact that": "because",
    "facilitate": "help",
    "facilitates": "helps",
    "functionality": "function",
    "in case of": "if",
    "in order to": "to",
    "in the case that": "if",
    "in the event that": "if",
    "in the event of": "if",
    "is able to": "can",
    "it is possible to": "can",
    "lags behind": "trails",
    "leverage": "use",
    "leverages": "uses",
    "make use of": "use",
    "makes use of": "uses",
    "nobody asked": "without a request",
    "prior to": "before",
    "subsequent to": "after",
    "utilise": "use",
    "utilize": "use",
    "utilizes": "uses",
    "whilst": "while",
    "with regard to": "about",
}
OURS = (
    Check(types.PreferredFormsSimple(items=PREFERRED), path="testbed.preferred", message="write '{}' instead of '{}'"),
)
# The first key that fits decides.
CHECKS = {
    "archaism": False,  # "for ever", which is British
    "dates_times": False,  # 2^31 is no date
    "typography": False,  # sources have straight quotes and three dots
    "uncomparables": False,  # "least sufficient" of sizes
    "misc.illogic": False,  # "more than all" of counts
    "misc.preferred_forms": False,  # "all of the time" of a run
    "annotations": True,
    "cliches": True,
    "hedging": True,
    "industrial_language": True,
    "lexical_illusions": True,
    "malapropisms": True,
    "misc": True,
    "mixed_metaphors": True,
    "mondegreens": True,
    "needless_variants": True,
    "nonwords": True,
    "oxymorons": True,
    "psychology": True,
    "redundancy": True,
    "skunked_terms": True,
    "social_awareness": True,
    "spelling": True,
    "terms": True,
    "testbed": True,
    "weasel_words": True,
}
# Free blocks, the end of a wait, "the very same pages", and usage or code in comments of files that are built for long.
ALLOWED = re.compile(r"for free|point in time|the very|slots slots|attach attach|calls calls")
ILLUSION = re.compile(r"[a-z]+( [a-z]+)*")  # of words alone; repeated numbers and names are none
BORDER = "\n\N{PILCROW SIGN}\n"  # between sentences
SUBFOLDERS = ("docs", "experiments", "snapshot-lib", "tests")  # each folder in these counts separately


class Sentence(NamedTuple):
    path: Path
    line: int  # on which its text begins
    words: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(REPO)}:{self.line}: {self.words}"


class Share(NamedTuple):
    """The sentences of one kind in one folder."""

    folder: str
    kind: str
    total: int
    bad: list[Sentence]  # with a free relative

    @property
    def limit(self) -> float:
        usual = DOCUMENTS_MAX if self.kind == DOCUMENTS else CODE_MAX
        return max(FEW, OWN_MAX.get((self.folder, self.kind), usual) * self.total)

    def __str__(self) -> str:
        return f"{100 * len(self.bad) / self.total:5.1f} % of {self.total:5d}  {self.folder} ({self.kind})"


def files() -> list[Path]:
    """The files of the repository that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        check=True,
    )
    paths = [REPO / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def sentences(path: Path) -> Iterator[Sentence]:
    """The sentences of a file. Comments are read as a document without indents."""
    for text in texts.of(path):
        page = text.words if path.suffix == ".md" else re.sub(r"[ \t]*\n[ \t]*", "\n", text.words)
        yield from (Sentence(path, text.line, one) for one in texts.sentences(page) if len(one.split()) >= WORDS_MIN)


def kind(path: Path) -> str:
    if path.suffix in (".md", ".py"):
        return DOCUMENTS if path.suffix == ".md" else PYTHON
    return C if path.suffix in texts.C_SUFFIXES else SETTINGS


def folder(path: Path) -> str:
    parts = path.relative_to(REPO).parts[:-1]
    return "/".join(parts[: 2 if parts and parts[0] in SUBFOLDERS else 1]) or "."


def shares(found: Iterable[Sentence]) -> list[Share]:
    """The share of free relatives by folder and kind, largest first."""
    groups: dict[tuple[str, str], list[Sentence]] = defaultdict(list)
    for sentence in found:
        groups[folder(sentence.path), kind(sentence.path)].append(sentence)
    made = [
        Share(*key, len(group), [one for one in group if FREE_RELATIVE.search(one.words)])
        for key, group in groups.items()
    ]
    return sorted(made, key=lambda share: (-len(share.bad) / share.total, share.folder))


def too_many(found: Iterable[Sentence]) -> list[str]:
    """A fault for each folder in which too many sentences turn on a free relative, with these sentences."""
    over = [share for share in shares(found) if len(share.bad) > share.limit]
    return ["\n    ".join([f"{share} have a free what, who or whose:", *map(str, share.bad)]) for share in over]


def plain(words: str, numbers: Iterator[int]) -> str:
    """A sentence for proselint, which must not take two pieces of code for a repeated word, nor skip quotations."""
    return re.sub("CODE", lambda _: f"code{next(numbers)}", " ".join(words.split()).replace('"', ""))


def proselint(found: Sequence[Sentence]) -> list[str]:
    """The faults that proselint finds with CHECKS and OURS, in all sentences at once: each call costs a second."""
    if not CheckRegistry().checks:
        CheckRegistry().register_many((*shipped, *OURS))
    numbers = itertools.count()
    lines = [plain(sentence.words, numbers) for sentence in found]
    begins = list(itertools.accumulate((len(line) + len(BORDER) for line in lines), initial=0))
    whole = BORDER.join(lines)
    faults = []
    for hit in LintFile("sentences", whole).lint(Config(max_errors=len(whole), checks=CHECKS)):
        result = hit.check_result
        begin, end = (position - 1 for position in result.span)  # a LintFile puts an empty line before its text
        text = whole[begin:end]
        if ALLOWED.search(whole[max(0, begin - len("the ")) : end]) or (
            result.check_path.startswith("lexical_illusions") and not ILLUSION.fullmatch(text)
        ):
            continue
        faults.append(f"{found[bisect_right(begins, begin) - 1]}\n    {result.check_path}: {result.message}")
    return faults


def faults(paths: Iterable[Path]) -> list[str]:
    found = [sentence for path in paths for sentence in sentences(path)]
    return [*too_many(found), *proselint(found)]
