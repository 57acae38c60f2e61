"""What the audit searches for: no true bound is passed, and every one too small.

It shares nothing with the plan whose bound it is held against. `tests/mutants` plants plans that
calibrate for another world than the one that is asked about.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from edge.core.entropy import Tape
from edge.core.records import Release
from edge.core.shares import shares
from edge.mechanisms import quadtree as device
from edge.mechanisms import summing
from edge.mechanisms.thermal import Params
from gateway.audit.arithmetic import readings, sensitivity
from gateway.audit.arithmetic.shares import claims
from gateway.audit.claim import Effort
from gateway.mechanisms import find
from physics.rooms.records import Air, Clock, Door, Room, Side, Thermometers, Wall
from physics.rooms.respond import respond, respond_day
from recovery import thermal
from recovery.quadtree import cases as squares
from recovery.thermal import cases
from recovery.thermal.search import search

# Off a corridor three rooms, whose doors open one after the other.
STAR = Room(
    name="star",
    size_m=(3.0, 2.0),
    height_m=2.5,
    cell_mm=100,
    air=Air(0.013, 0.05, 3.0, 20.0, ((0.0, 20.0),)),
    day=Clock(0.0, 1.5, 120.0),
    sides={name: Side(0.05, ((0.0, 20.0),)) for name in ("north", "south", "west", "east")},
    walls=(
        Wall((0.0, 1.05), (3.0, 1.05), 300.0, "insulation"),
        Wall((1.0, 0.0), (1.0, 0.9), 100.0, "insulation"),
        Wall((2.0, 0.0), (2.0, 0.9), 100.0, "insulation"),
    ),
    doors=tuple(
        Door((0.5 + nth, 1.05), 0.4, 40.0, ((1800.0 * nth, 1800.0 * (nth + 1)),))
        for nth in range(3)
    ),
    furniture=(),
    thermometers=(
        Thermometers(
            "perfect",
            (*tuple((0.25 + nth / 2, 0.2) for nth in range(6)), (0.5, 1.7), (2.5, 1.7)),
        ),
    ),
)


@pytest.mark.long
def test_where_doors_move_a_bound_for_doors_that_stand_is_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So the promise of a gateway's round says that none does, and PRIVACY by how much."""
    monkeypatch.setattr(sensitivity, "PAIRS", 600)
    until_s = STAR.day.until_s
    stand = respond(STAR, 0.2, through_walls=False)
    moved = respond_day(STAR, 0.2, [until_s], through_walls=False)
    found = sensitivity.longest(STAR, stand, until_s, 2, np.random.default_rng(1))

    assert stand.doors == "no door moving"
    assert round(found.joint, 2) == 1.10
    assert found.joint * stand.changes.joint[0] <= moved.changes.joint[0]
    monkeypatch.setattr(sensitivity, "read", lambda plan: STAR)
    own: Any = SimpleNamespace(
        plan="star.toml", name="star", query=SimpleNamespace(response=stand)
    )
    *stands, moves = sensitivity.paths_claims(None, Effort(own=own))
    assert all(claim.holds for claim in stands)
    assert not moves.holds
    assert 1.15 < moves.measured < 1.25  # on one sensor


ROOMS = dict(cases.rooms())
CORNER = "sensor in the corner"


def test_what_is_found_is_a_pair_of_neighbours() -> None:
    """In the corner there are four cells and one sensor: the worst can be reckoned by hand."""
    query, plan = ROOMS[CORNER], thermal.plan(ROOMS[CORNER], ())
    assert plan is not None
    found = search(query, plan, Tape(b"corner"), 20)
    near, far = (
        math.exp(-(distance**2) / 0.04) / math.sqrt(0.04 * math.pi) for distance in (0, 0.25)
    )
    grain = 2.0 ** -Params(*plan.params).exponent

    assert found.square == math.ceil((near - far) / grain) ** 2
    assert found.where.startswith("from cell 2 to cell 3")


def test_counts_become_the_grains_that_are_planned_for() -> None:
    """On devices with an array; and another rounding is seen."""
    assert all(claim.holds for claim in readings.counts_claims(None, Effort()))


# Noise that many devices bring together: known mistakes are planted, and found.


MECHANISM = find("quadtree")
Failed = Callable[..., list[str]]


@pytest.fixture
def failed() -> Failed:
    """Return what finds the claims that a mechanism fails in one of the audit's rooms."""

    def find(mechanism: Any, room: int = 0) -> list[str]:
        names = {name: getattr(squares, name) for name in dir(squares)}
        subject = ModuleType("cases")
        subject.__dict__.update(names, rooms=lambda: [list(squares.rooms())[room]])
        found = claims(replace(mechanism, subject=subject), Effort())
        return [claim.sentence for claim in found if not claim.holds]

    return find


@pytest.mark.parametrize("room", range(5))
def test_what_devices_really_do_holds(failed: Failed, room: int) -> None:
    """Each room is there for a fault that others hide; without one none is found."""
    assert failed(MECHANISM, room) == []


def of_short_floats(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """A gamma number of half precision and a Poisson number of it, as public code has it."""
    world = np.random.default_rng(rng.below(1 << 32))
    q = np.exp(-num / den)
    gamma = [
        world.gamma(1 / divisor, q / (1 - q), length).astype(np.float16).astype(float) // 1
        for _ in range(2)
    ]
    return [int(z) for z in world.poisson(gamma[0]) - world.poisson(gamma[1])]


def of_the_other_chance(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """p for 1 - p: of e**(-x) falls 1 - e**(-x), which is another width."""
    other = -np.log(-np.expm1(-num / den))
    return shares(length, divisor, int(other * 10**6), 10**6, rng)


def of_others_missing(length: int, divisor: int, num: int, den: int, rng: Any) -> list[int]:
    """Divided by all that take part, although a tenth may be missing and a tenth collude."""
    return shares(length, divisor + divisor // 3, num, den, rng)


@pytest.mark.parametrize("noise", [of_short_floats, of_the_other_chance, of_others_missing])
def test_noise_of_another_law_is_found(
    failed: Failed, noise: Callable[..., list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each ran and looked plausible somewhere."""
    monkeypatch.setattr(device, "shares", noise)

    assert any("noise that hides" in one for one in failed(MECHANISM))


def test_one_who_is_replaced_and_taken_for_one_who_joins_is_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half the noise that two changed numbers need."""
    once = device.sensitivity
    monkeypatch.setattr(device, "sensitivity", lambda p: once(p._replace(replace=0)))

    assert any("noise that hides" in one for one in failed(MECHANISM, 1))


def test_parts_that_are_rounded_up_each_are_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More marks than the scale, under noise for the scale."""

    def generous(weights: Any, order: list[int], scale: int, rng: Any) -> list[tuple[int, int]]:
        total = sum(weights.values())
        return [(place, -(-scale * weights[place] // total)) for place in order]

    monkeypatch.setattr(device, "_systematic", generous)

    assert any("one device changes" in one for one in failed(MECHANISM, 3))


def test_a_sum_that_is_opened_although_parts_are_missing_is_found(failed: Failed) -> None:
    """And one that counts a device in two shards."""

    def always(round: Any, payloads: Any, rng: Any) -> Release:
        columns = zip(*(payload[1:] for payload in payloads), strict=True)
        return Release(round, [sum(column) for column in columns], len(payloads))

    found = failed(replace(MECHANISM, release=always))

    assert any("not opened" in one for one in found)
    assert any("two sums" in one for one in found)


def test_a_device_that_believes_what_it_is_told_is_found(
    failed: Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The divisor is the owner's, never the gateway's."""
    monkeypatch.setattr(summing, "refusal", lambda *given: "")

    assert any("whatever a gateway says" in one for one in failed(MECHANISM))
