"""The page of an audit is for somebody who did not write it: plain words, the worst first."""

import math

from gateway.audit.claim import UNITS, Claim, Effort, at_most, failure, true
from gateway.audit.report import as_page, number


def variance(sentence: str, over: float) -> Claim:
    return at_most(sentence, 1.0, over, samples=1, unit="variance asked / given")


def test_a_sentence_cannot_break_the_page() -> None:
    """A table's columns are parted by a sign that a sentence may hold."""
    page = as_page([true("|x| is small\nand y", False, samples=1, detail="a | b")], Effort(), 0.1)

    assert "\\|x\\| is small and y (a \\| b)" in page
    assert "## What fails" in page


def test_one_row_shows_the_worst_of_all_rooms() -> None:
    """Eight rows that say the same hide the ninth that does not."""
    rooms = [variance(f"{room}: there is enough", over) for room, over in (("a", 0.5), ("b", 1.5))]
    page = as_page(rooms, Effort(), 0.1, ["a", "b"])

    assert page.count("| there is enough |") == 1
    assert "| **FAILS** (1 of 2) | there is enough | b (worst of 2) | 1 | 1.5 | 1.5 |" in page


def test_a_failure_of_every_unit_is_told_in_words() -> None:
    """What a unit's words name is what a claim has."""
    for name in UNITS:
        assert "{" not in failure(at_most("a", 1.0, 4.0, samples=1, unit=name))


def test_what_is_just_below_1_is_not_written_as_1() -> None:
    """It would look as if nothing were left."""
    assert [number(value) for value in (1.0, 0.999999999, 0.25, math.inf)] == [
        "1",
        "0.999999999",
        "0.25",
        "inf",
    ]
