"""What may be asked of people who trust nobody."""

from fractions import Fraction
from typing import Any

import pytest

from edge.records import Grid
from recovery.disk.query import Query, epsilon_of_one, radius_of


def asked(**more: Any) -> Query:
    return Query(**({"grid": Grid((15, 15), 100), "epsilon": (7, 2)} | more))


def test_reports_share_epsilon_exactly() -> None:
    """A third of a seventh is no float."""
    assert epsilon_of_one(asked(epsilon=(1, 7), readings=3)) == Fraction(1, 21)


def test_the_radius_is_the_one_that_tells_most_of_one_report() -> None:
    """Four reports have a quarter of epsilon each, and reach further; a radius given is kept."""
    assert radius_of(asked(scheme="dam")) == 3
    assert radius_of(asked(scheme="dam", readings=5)) == 14  # 7/10
    assert radius_of(asked(radius=2.5)) == 2.5
    assert radius_of(asked(scheme="krr")) == 0
    assert radius_of(asked(scheme="wave")) == 2  # by its own score
    assert radius_of(asked(scheme="dam", epsilon=(7, 1))) == 0  # legal: randomised response


@pytest.mark.parametrize("more", [{"radius": 0}, {"grid": Grid((1, 1), 0)}, {"readings": 100}])
def test_the_ends_of_what_is_allowed_are_allowed(more: dict[str, Any]) -> None:
    """Radius nought, one cell, many reports."""
    assert asked(**more)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"grid": Grid((0, 5), 0)}, "the grid is"),
        ({"grid": Grid((5.0, 5), 0)}, "the grid is"),
        ({"grid": Grid((5, 5), -1)}, "the grid is"),
        ({"grid": Grid((5, 5), 0.5)}, "the grid is"),
        ({"grid": Grid((2000, 2000), 0)}, "Take larger cells"),
        ({"epsilon": 3.5}, "epsilon is 3.5 but must be a pair"),
        ({"epsilon": (0, 1)}, "epsilon is"),
        ({"epsilon": (17, 1)}, "epsilon of one report is 17"),
        ({"epsilon": (1, 10), "readings": 1000}, "or readings, by which it is divided"),
        ({"readings": 0}, "readings is 0"),
        ({"readings": True}, "readings is True"),
        ({"scheme": "circle"}, "scheme is 'circle' but must be one of auto, dam, "),
        ({"radius": -1}, "radius is -1"),
        ({"radius": float("nan")}, "radius is nan"),
        ({"radius": "3"}, "radius is '3'"),
        ({"radius": 1e9}, "Take a smaller radius or larger cells"),
        ({"radius": 2, "scheme": "krr"}, "answers know no distance"),
        ({"estimator": "l1"}, "estimator is 'l1' but must be one of auto, em"),
        ({"level": 1.0}, "level is 1.0"),
    ],
)
def test_what_means_nothing_is_refused_with_what_to_do(more: dict[str, Any], words: str) -> None:
    """Before anything is planned, in one sentence."""
    with pytest.raises(ValueError, match=words):
        asked(**more)


def test_no_epsilon_is_too_odd_for_whole_numbers() -> None:
    """The price of a report, epsilon squared over two, must fit into a message as well."""
    with pytest.raises(ValueError, match="squared"):
        asked(epsilon=(2**40 + 1, 2**40))
