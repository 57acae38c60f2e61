"""A step that is done again, after a kill, says what the disk says."""

import itertools
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

from edge.core.records import Release
from gateway.mechanisms import named
from gateway.service import steps
from gateway.service.ledger import Charge
from gateway.service.rounds import OpenRound
from gateway.service.steps import Steps
from gateway.store.store import Store


class Quiet:
    """An outbox that publishes nothing."""

    def wake(self) -> None: ...

    def wait_empty(self, patience_s: float) -> bool:
        return True


def test_a_round_is_released_once_whatever_is_drawn_later(tmp_path: Path, home: Any) -> None:
    """Drawn twice, the first is what was kept, charged and told; the second nobody ever sees."""
    store, told = Store(tmp_path / "heatveil.sqlite", "testsite"), list[Any]()
    asked = steps.signed(home.round(), 1, home.devices)
    assert store.open_round(asked, 2 * asked.rho, paid=False) == ""
    draws = itertools.count(100)
    mechanism = replace(
        named("thermal"), release=lambda round, payloads, rng: Release(round, [next(draws)], 0)
    )
    closed, nobody = OpenRound(asked.plan, asked.name, inf, {}, {}), Any
    for _ in range(3):
        with_steps = Steps(store, nobody, nobody, Quiet(), told.append)
        found = with_steps.release(mechanism, closed, home.devices, Charge(asked.rho))
        assert found.values == [100]

    assert next(draws) == 103  # it was drawn each time, or this shows nothing
    assert store.release(asked.name) == ([100], 0)
    assert store.charges() == (Charge(asked.rho),)
    assert len(store.letters()) == 1
    store.close()
