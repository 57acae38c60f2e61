"""Layer: limits that come over the air can only raise privacy.

Limits are drawn at random, signed with the right key as if it had been stolen, and given to a real
device. Whatever it takes must be at least as private as what it had; that is reckoned anew, by
what the mechanism's subject says, in exact fractions. What it cannot see: a message of a kind that
it does not know.
"""

from collections.abc import Iterator
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
        root = effort.root("bounded", room.name)
        yield from _limits(room.name, room.round, root, effort)


def _limits(name: str, round: Any, root: bytes, effort: Effort) -> Iterator[Claim]:
    rng, tries = effort.tape("limits", name), effort.pick(600, 20_000)
    device = Device(round, root, budget=FEW)
    topic, key = tightening.topic(SITE, device.identity.name), device.identity.config_key
    loosened: list[str] = []
    unsaid, taken, sent = 0, 0, []
    for turn in range(tries):
        held = device.budget.limits
        asked = device.asked.near(held, rng)
        if limits.objection(asked):
            continue
        sent.append(post.pack_limits(asked, key, topic))
        again = rng.below(4) == 0
        ack = device.node.tighten(sent[rng.below(len(sent))] if again else sent[-1])
        now = device.budget.limits
        if now != held:
            taken += 1
            loosened += device.asked.looser(held, now)
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
