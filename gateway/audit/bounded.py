"""Layer: limits that come over the air can only raise privacy.

Limits are drawn at random, signed with the right key as if it had been stolen, and given to a
real device. Whatever it takes must be at least as private as what it had; the reckoning is
done here anew, in exact fractions. What it cannot see: a message of a kind that it does not know.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from edge import limits, tightening
from edge.host import post

from .bench import SITE, Device
from .claim import Claim, Effort, at_most, true
from .scenes import plans

FEW = 1 << 40  # nano-rho of budget


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices take of limits."""
    for room in plans(mechanism)[:2]:
        root = effort.tape("bounded", room.name).bits(256).to_bytes(32, "big")
        yield from _limits(room.name, room.round, root, effort)


def grain(exponent: int) -> Fraction:
    """Return the size of a grain in kelvin, exactly."""
    return Fraction(2) ** -exponent


def looser(old: Any, new: Any) -> list[str]:
    """Return in what the new limits protect less, in kelvin and nano-rho."""
    before, after = grain(old.exponent), grain(new.exponent)
    return [
        name
        for name, less in (
            ("version", new.version <= old.version),
            ("grain", after > before),
            ("sensitivity", new.square * after**2 < old.square * before**2),
            ("noise", new.variance * after**2 < old.variance * before**2),
            ("budget", new.budget > old.budget),
            ("pace", new.pace_ms < old.pace_ms),
        )
        if less
    ]


def _limits(name: str, round: Any, root: bytes, effort: Effort) -> Iterator[Claim]:
    rng, tries = effort.tape("limits", name), effort.pick(600, 20_000)
    device = Device(round, root, budget=FEW)
    topic, key = tightening.topic(SITE, device.identity.name), device.identity.config_key
    loosened: list[str] = []
    unsaid, taken, sent = 0, 0, []
    for turn in range(tries):
        held = device.budget.limits
        asked = _near(rng, held)
        if limits.objection(asked):
            continue
        sent.append(post.pack_limits(asked, key, topic))
        again = rng.below(4) == 0
        ack = device.node.tighten(sent[rng.below(len(sent))] if again else sent[-1])
        now = device.budget.limits
        if now != held:
            taken += 1
            loosened += looser(held, now)
        if not again and now != asked:
            unsaid += bool(ack["taken"]) or not ack["why"]
        if turn % 25 == 0:  # a start of the device must not bring old limits back
            device.boot()
            loosened += [] if device.budget.limits == now else ["a start"]
    yield at_most(
        f"{name}: no signed limits loosen a device, not over a start either",
        0,
        len(loosened),
        unit="limits loosened",
        samples=tries,
        detail=f"{taken} taken"
        + (f"; looser: {', '.join(sorted(set(loosened)))}" * bool(loosened)),
    )
    yield true(f"{name}: tighter limits are taken", taken > 2, samples=taken)
    yield true(f"{name}: a device says why it does not take limits", not unsaid, samples=tries)


def _near(rng: Any, held: Any) -> Any:
    """Return limits near those in force, one or two of them changed, up or down a little."""
    numbers = list(held)
    numbers[0] += rng.below(4) if rng.below(3) else 1
    for _ in range(1 + rng.below(2)):
        which = 1 + rng.below(5)
        if which == 1:  # a finer grain or a coarser one, with the same noise in kelvin, or nearly
            finer = rng.below(3) - 1
            numbers[1] += finer
            for i in (2, 3):
                numbers[i] = numbers[i] * 4 if finer > 0 else -(-numbers[i] // 4**-finer)
        numbers[which] += rng.below(5) - 2
    return limits.Limits(*numbers)
