# SPDX-License-Identifier: BSD-3-Clause
"""The scorecard: the numbers that count, the groups that are in order, and the statements about all others."""

import pytest

from analysis.data.drawn import Comparison
from analysis.scorecard import score as scorecard


def number(what: str, ours: float, published: float, group: str = "g", unit: str = "s", **more: object) -> Comparison:
    return Comparison("f", group, what, unit, ours, published, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "counts"),
    [(1.0, (1, 1, 1)), (1.1, (1, 1, 1)), (1 / 1.1, (1, 1, 1)), (1.2, (0, 1, 1)), (0.5, (0, 0, 1)), (2.01, (0, 0, 0))],
)
def test_half_and_twice_are_equally_far(ours: float, counts: tuple[int, int, int]) -> None:
    card = scorecard.score([number("a", ours, 1.0)])
    assert (card.within_10, card.within_25, card.within_2x) == counts


def test_a_group_is_in_order_if_no_two_come_the_other_way_round() -> None:
    agrees = [number("a", 1, 10), number("b", 2, 20), number("c", 3, 30)]
    differs = [number("a", 1, 10, "h"), number("b", 3, 20, "h"), number("c", 2, 30, "h")]
    card = scorecard.score([*agrees, *differs])
    assert (card.orderings_agree, card.orderings_total) == (1, 2)
    assert {row[1]: row[8] for row in card.rows} == {"g": "as published", "h": "differs"}


def test_ties_and_single_numbers_have_no_order() -> None:
    card = scorecard.score([number("a", 2, 10), number("b", 1, 10.9), number("a", 1, 1, "h")])
    assert card.orderings_total == 0


def test_what_is_not_comparable_has_a_row_and_no_say() -> None:
    card = scorecard.score([number("a", 1, 9, comparable=False), number("b", 9, 9)])
    assert (card.total, card.orderings_total, len(card.rows)) == (1, 0, 2)
    assert card.rows[0][8] == "not comparable"


def test_a_cause_is_stated_or_said_to_be_missing() -> None:
    rows = scorecard.score([number("a", 1, 9), number("b", 2, 9, cause="tested: so"), number("c", 9, 9)]).rows
    assert [row[9] for row in rows] == ["not tested", "tested: so", ""]
