"""What a field of a query says of itself is what its values are held against."""

from dataclasses import dataclass, field

import pytest

from recovery.fields import check, describe


@dataclass
class Query:
    """A number with each kind of bounds."""

    both: int = field(default=2, metadata=describe("Two bounds.", low=1, high=3))
    least: int = field(default=2, metadata=describe("A lower one.", low=1))
    most: int | None = field(default=None, metadata=describe("An upper one.", high=3))
    free: int = field(default=2, metadata=describe("None."))


def test_a_number_is_held_against_each_bound_that_is_given() -> None:
    """One bound alone counts as much as two."""
    for good in ({}, {"both": 3}, {"least": 10**9}, {"most": -5}, {"free": -5}):
        check(Query(**good))
    for bad in ({"both": 4}, {"least": 0}, {"least": 1.5}, {"most": 4}, {"most": True}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} is .* a whole number from"):
            check(Query(**bad))
