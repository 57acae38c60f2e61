"""Layer: two rooms that the promise keeps apart no better than it says, from plan to release.

The whole way is walked: the mechanism plans a Round, real devices with budgets answer it in
signed frames, the gateway's half of the keys opens them and the mechanism releases what it folds.

It sees whatever makes devices say more than is promised, in calibration, keys, noise, wire or
release. What it cannot see: faults that show after a very long time only or with chances below
one in thousands, and frames that come at a telling moment.

A sealed device mixes the system's own entropy in, so measured numbers differ from run to run.

Source: Nasr and others 2023, "Tight Auditing of Differentially Private Machine Learning".
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import whitebox
from .bench import Device, message
from .certificate import Between, apart, learnt
from .claim import Claim, Effort, at_most, true
from .scenes import Scenes, Seen, scenes, see, singly, stretched

SINGLE = 20_000  # single readings a side: what catches a sigma 10 % off
FEWEST = 20  # sensors of the fleet whose devices are held against each other


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what two scenes of every room give away, and what the noise in them is."""
    rooms = scenes(mechanism)
    for room in rooms:
        yield _priced(room)
        yield from told_apart(room, mechanism, effort, effort.pick(1200, 20_000))
    tries = effort.pick(SINGLE, 20 * SINGLE)
    yield from singly_told(max(rooms, key=lambda room: len(room.below)), mechanism, effort, tries)
    fleets = [room for room in rooms if len(room.below) >= FEWEST]
    for fleet in sorted(fleets, key=lambda room: len(room.below))[:1]:
        yield from in_company(fleet, mechanism, effort, effort.pick(120, 2000))


def _device(room: Scenes, effort: Effort, sensors: int, first: int = 0) -> Device:
    root = effort.root("root", room.name, sensors, first)
    return Device(room.round, root, name=f"bench-{first}", sensors=sensors, first=first)


def _priced(room: Scenes) -> Claim:
    """Return the exact claim on the two neighbours: rho as Theorem 14 of CKS20 counts it."""
    square = int(np.square(room.above - room.below).sum())
    return at_most(
        f"{room.name}: two neighbours cost no more than the round promises",
        room.mu**2 / 2,
        square / (2 * room.round.params[4]),
        unit="rho",
        samples=1,
    )


def told_apart(room: Scenes, mechanism: Any, effort: Effort, tries: int) -> Iterator[Claim]:
    """Yield what tells the two scenes of a room apart, and what the noise in them is."""
    device = _device(room, effort, sensors=len(room.below))
    seen = see(room, stretched(room), [device], mechanism.release, effort, tries)
    yield from _apart(room, seen, effort.alpha)
    yield from whitebox.claims(room.name, seen.noise, room.sigma, effort.alpha)
    yield _asked_again(room, device)
    yield _folded_once(room, device, mechanism.release, effort)


def _apart(room: Scenes, seen: Seen, alpha: float) -> Iterator[Claim]:
    """Yield how far apart along the direction known, and along one learnt."""
    cut = float(seen.apart @ seen.middle)
    found = apart(seen.below @ seen.apart, seen.above @ seen.apart, cut, alpha)
    yield _no_better(f"{room.name}: who knows both scenes tells them", seen, found, alpha)
    third = len(seen.below) // 3
    direction, cut = learnt(seen.below[:third], seen.above[:third])
    found = apart(seen.below[third:] @ direction, seen.above[third:] @ direction, cut, alpha)
    yield _no_better(f"{room.name}: who learns from examples tells them", seen, found, alpha)


def _no_better(words: str, seen: Seen, found: Between, alpha: float) -> Claim:
    return Claim(
        f"{words} no further apart than promised",
        seen.mu,
        found.found,
        found.low <= seen.mu,
        found.low,
        "sigmas",
        len(seen.below),
        alpha,
    )


def singly_told(room: Scenes, mechanism: Any, effort: Effort, samples: int) -> Iterator[Claim]:
    """Yield what so many single readings a side tell, all of a room's sensors counted as one."""
    device = _device(room, effort, sensors=len(room.below))
    tries = 2 * (samples // len(room.below) // 2 + 1)
    seen = see(room, singly(room), [device], mechanism.release, effort, tries)
    yield from whitebox.claims("of single sensors", seen.noise, room.sigma, effort.alpha)
    below, above = seen.below - seen.middle, seen.above - seen.middle
    found = apart(below.ravel(), above.ravel(), 0.0, effort.alpha)
    single = seen._replace(below=below.reshape(-1, 1))
    yield _no_better("of a single sensor, two readings are told", single, found, effort.alpha)
    yield Claim(
        "of a single sensor, two readings are told as far apart as promised: no noise is wasted",
        1.0,
        seen.mu / found.found,
        seen.mu <= found.high,
        seen.mu / found.high,
        "sigmas promised / found",
        below.size,
        effort.alpha,
    )


def _asked_again(room: Scenes, device: Device) -> Claim:
    """Return the claim that the same Round gets the same bytes, whatever is there to see."""
    _, signed = message(room.round, 10**6)
    first = [device.answer(signed, scene.tolist()) for scene in (room.below, room.above) * 4]
    return true(
        f"{room.name}: a Round asked again gets the same bytes, and no fresh noise",
        first[0] is not None and len(set(first)) == 1,
        samples=len(first),
    )


def _folded_once(room: Scenes, device: Device, release: Any, effort: Effort) -> Claim:
    """Return the claim that a second answer for one sensor is not folded in: it could average."""
    asked, signed = message(room.round, 2 * 10**6)
    payload = device.opened(device.answer(signed, room.below.tolist())).payload
    twice = [payload, [payload[0], payload[1] + 1]]
    try:
        release(asked, twice, effort.tape())
        left_out = False
    except ValueError:
        left_out = True
    return true(f"{room.name}: a release takes one answer for each sensor", left_out, samples=2)


def in_company(room: Scenes, mechanism: Any, effort: Effort, tries: int) -> Iterator[Claim]:
    """Yield what is shared by devices of one sensor each, which must be nothing."""
    devices = [_device(room, effort, 1, first) for first in range(len(room.below))]
    seen = see(room, stretched(room), devices, mechanism.release, effort, tries)
    name = f"{room.name}, {len(devices)} devices"
    yield from whitebox.claims(name, seen.noise, room.sigma, effort.alpha)
