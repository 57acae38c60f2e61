"""Batches are not looked through for garbage, and what is garbage goes all the same."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from gateway.service.intake import writer


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """Leave the other tests their collector."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


class Knot:
    """Something that refers to itself."""

    def __init__(self) -> None:
        self.self = self


def looks(messages: int) -> int:
    """Return how often a batch of records as large as this has Python look for garbage."""
    before = sum(one["collections"] for one in gc.get_stats())
    kept = [(number, [number], (number,)) for number in range(messages)]
    assert len(kept) == messages
    return sum(one["collections"] for one in gc.get_stats()) - before


def test_a_batch_is_not_looked_through() -> None:
    """As it is by default: that is the control."""
    gc.set_threshold(700, 10, 10)  # a gateway that ran in this process left it otherwise
    gc.collect()
    by_default = looks(500)
    writer.seldom()
    gc.collect()

    assert looks(500) == 0
    assert by_default > 0


def test_what_refers_to_itself_is_still_let_go_of() -> None:
    """Seldom is not never: memory must stay bounded over the months."""
    writer.seldom()
    knot = weakref.ref(Knot())
    held = [[number] for number in range(2 * writer.BETWEEN[0])]

    assert held
    assert knot() is None
