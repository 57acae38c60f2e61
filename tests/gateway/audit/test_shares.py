"""The audit of noise that many devices bring together: known mistakes are planted, and found."""

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from edge.core.records import Release
from edge.core.shares import shares
from edge.mechanisms import quadtree as device
from edge.mechanisms import summing
from gateway.audit.arithmetic.shares import claims
from gateway.audit.claim import Effort
from gateway.mechanisms import find
from recovery.quadtree import cases

MECHANISM = find("quadtree")
Failed = Callable[..., list[str]]


@pytest.fixture
def failed() -> Failed:
    """Return what finds the claims that a mechanism fails in one of the audit's rooms."""

    def find(mechanism: Any, room: int = 0) -> list[str]:
        names = {name: getattr(cases, name) for name in dir(cases)}
        subject = ModuleType("cases")
        subject.__dict__.update(names, rooms=lambda: [list(cases.rooms())[room]])
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
