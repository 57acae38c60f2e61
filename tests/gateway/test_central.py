"""A mechanism whose noise the gateway draws: one payload and one charge, whenever it is killed.

The mechanism is planted: its release adds discrete Laplace noise from sealed entropy to a count,
so every draw differs, and a second draw of one round would show.
"""

import json
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.noise import dlaplace
from edge.records import Release
from gateway import campaign, steps
from gateway.campaign import Campaign
from gateway.deployment import Deployment
from gateway.devices.enrol import enrol
from gateway.mechanisms import Verbs, named
from gateway.outbox import Outbox
from gateway.rounds import OpenRound
from gateway.storage.store import Store
from recovery.maps.heatmap import Heatmap

SITE, ROUNDS, TRUTH = "central", 40, 1000


class Killed(BaseException):
    """The process ended here: nothing that comes after it is done."""


@cache
def asked(query: Any) -> Any:
    """Return a round of the right shape, planned once."""
    return named("thermal").plan(query, [])


def plan(query: Any, releases: Any) -> Any:
    """Return the next round of as many as there are, under central trust."""
    if len(releases) == ROUNDS:
        return None
    first = asked(query)
    promise = first.guarantee._replace(trust="central: the gateway blurs the sum")
    return first._replace(number=len(releases) + 1, guarantee=promise)


def release(round: Any, payloads: Any, rng: Any) -> Any:
    """Return the count with noise of scale 100: two draws hardly ever agree."""
    return Release(round, [TRUTH + dlaplace(100, 1, rng)], 1)


def recover(query: Any, releases: Any) -> Any:
    """Return a map that shows the last value, as its total."""
    columns, rows = query.grid.shape
    mass = np.full((rows, columns), 1 / (rows * columns))
    total = float(abs(releases[-1].values[0]))
    return Heatmap(query.grid, mass, releases[-1].round.guarantee, total, "optimal")


PLANTED = Verbs("thermal", plan, lambda *_: [], release, recover)


class Silent:
    """Gathers no answers, at once: what is counted is not what is tested."""

    _round: OpenRound | None = None

    def open(self, round: OpenRound) -> None:
        self._round = round

    def begin(self) -> None: ...

    def wait_complete(self, patience_s: float) -> bool:
        return True

    def close_round(self) -> OpenRound | None:
        return self._round

    def standing(self) -> OpenRound | None:
        return self._round

    def stop(self) -> None: ...


class Process:
    """One life of a gateway on the store, that ends at the wanted call of the wanted step."""

    def __init__(self, place: Path, published: dict[int, set[bytes]], dies: Callable[[str], None]):
        self.dies, self.published, self.dead = dies, published, False
        self.store = Store(place, SITE)
        for step in ("open_round", "close_round", "keep_map", "post"):
            setattr(self.store, step, self.mortal(step, getattr(self.store, step)))
        self.deployment = Deployment(
            site={"name": SITE, "database": place},
            room={"cells": 12},
            heat={"spread_m2": 0.05},
            sensors={"count": 1},
            privacy={"epsilon": "10/1", "delta": "1/100000", "readings": ROUNDS},
            rounds={"every_s": 0},
        )
        self.outbox = Outbox(self.store, self.publish, open=True)

    def mortal(self, step: str, do: Callable[..., Any]) -> Callable[..., Any]:
        """Return a step of the store that may be killed before it, in it or after it."""

        def done(*args: Any, **words: Any) -> Any:
            self.dies(f"before {step}")
            found = do(*args, **words)
            self.dies(f"after {step}")
            return found

        return done

    def publish(self, topic: str, payload: bytes, *, retain: bool = False, on_sent: Any) -> None:
        """Note what a stranger sees; the process may die before the broker says that it has it."""
        if "/map/" in topic:
            event = json.loads(payload)
            self.published[event["number"]].add(payload)
        try:
            self.dies("in publish")
        except Killed:
            self.dead = True  # published, and nobody ever hears of it
        if not self.dead:
            on_sent()

    def wake(self) -> None:
        """Say that something was written: the campaign's outbox."""
        self.outbox.wake()

    def wait_empty(self, patience_s: float) -> bool:
        """Wait for the broker, unless the process has died meanwhile."""
        empty = self.outbox.wait_empty(0.01)
        if self.dead:
            raise Killed("in publish")
        return empty

    def recover(self, mechanism: str, query: Any, releases: Any) -> Any:
        return recover(query, releases)

    def stop(self) -> None: ...

    def live(self, devices: enrol.Devices) -> str:
        """Run until the end, or until death; return why it ended."""
        needs: list[Any] = [self.store, Silent(), self, self, lambda _: None]
        try:
            return Campaign(self.deployment, devices, *needs).run(None)
        except Killed as death:
            return f"killed {death}"
        finally:
            self.outbox._open = False  # who has died publishes nothing more
            self.outbox.close()
            self.store.close()


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the gateway know the planted mechanism alone."""
    monkeypatch.setattr(campaign, "named", lambda _: PLANTED)
    monkeypatch.setattr(campaign, "LINGER_S", 0.3)
    monkeypatch.setattr("gateway.outbox.END_S", 0.02)
    return


def lives(place: Path, every: int) -> tuple[dict[int, set[bytes]], int, int]:
    """Run lives until the promise is spent; return what was seen, the kills and the charges.

    Args:
        every: a life dies at its so manieth chance, and each later one at the next.
    """
    published: dict[int, set[bytes]] = defaultdict(set)
    devices = enrol.known(enrol.make(SITE, 1).secrets)
    kills, chance, lock = 0, 0, threading.Lock()
    while True:
        left = 1 + chance % every

        def dies(where: str) -> None:
            nonlocal left
            with lock:
                left -= 1
                if left == 0:
                    raise Killed(where)

        why = Process(place, published, dies).live(devices)
        if not why.startswith("killed") and left > 0:
            break
        kills, chance = kills + 1, chance + 1
        assert kills < 2000
    store = Store(place, SITE)
    charges = len(store.charges())
    store.close()
    return published, kills, charges


@pytest.mark.long
@pytest.mark.usefixtures("planted")
def test_two_hundred_deaths_between_draw_store_and_publish_show_one_noise(tmp_path: Path) -> None:
    """Every place at which it can die, many times over: one payload a round, and one charge."""
    published, kills, charges = lives(tmp_path / "heatveil.sqlite", 11)

    assert kills >= 200
    assert charges == ROUNDS
    assert {number: len(seen) for number, seen in published.items()} == dict.fromkeys(
        range(1, ROUNDS + 1), 1
    )


@pytest.mark.long
@pytest.mark.usefixtures("planted")
def test_who_publishes_first_and_stores_then_shows_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: a death between the two shows the fault where there is one."""
    real, turn = steps.Steps.release, count()

    def hasty(self: Any, mechanism: Any, closed: Any, *rest: Any) -> Any:
        drawn = mechanism.release(closed.plan, [], steps.sealed(steps.os.urandom(32)))
        shown = {"number": closed.plan.number, "values": drawn.values}
        self.outbox.publish("a/map/b", json.dumps(shown).encode(), on_sent=lambda: None)
        if next(turn) % 2 == 0:  # by chance alone it may not come on a busy machine
            raise Killed("between publish and store")
        again = replace(mechanism, release=lambda *_: drawn)
        return real(self, again, closed, *rest)

    monkeypatch.setattr(steps.Steps, "release", hasty)
    published, _, _ = lives(tmp_path / "heatveil.sqlite", 11)
    noises = [
        {json.loads(body)["values"][0] for body in seen if "values" in json.loads(body)}
        for seen in published.values()
    ]

    assert max(map(len, noises)) > 1


@pytest.mark.usefixtures("planted")
def test_a_round_that_dies_before_its_release_costs_nothing(tmp_path: Path) -> None:
    """Nothing was told, so nothing is charged; asked again, it is charged once."""
    place = tmp_path / "heatveil.sqlite"
    devices = enrol.known(enrol.make(SITE, 1).secrets)

    def dies(where: str) -> None:
        if where == "before close_round":
            raise Killed(where)

    assert Process(place, defaultdict(set), dies).live(devices) == "killed before close_round"
    store = Store(place, SITE)
    charges = store.charges()
    store.close()

    assert charges == ()
