"""Layer: no Round, whoever signed it, makes a device less private.

Rounds are drawn at random, most of them worse than the one that was planned, signed with the
site's key as if it had been stolen, and given to a real device. It may answer those alone that
its limits let through, and must charge each in full; what that is is reckoned here anew, in
exact fractions. What it cannot see: a Round that asks for what no rule here speaks of.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from edge import wire
from edge.host import post

from . import suited
from .bench import SITE, SITE_KEY, Device, message
from .bounded import grain
from .claim import Claim, Effort, at_most, true
from .scenes import plans

NANO = 10**9
LEASE = 8  # answers that a power cut may cost, and so the most Rounds that are asked anew


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices answer."""
    for room in plans(mechanism)[:2]:
        root = effort.tape("forged", room.name).bits(256).to_bytes(32, "big")
        yield from _rounds(room.name, room.round, root, effort)
        yield from _stale(room.name, room.round, root)
        yield from suited.claims(room.name, room.round, root)
    yield from _said(room.round, root)


def _rounds(name: str, round: Any, root: bytes, effort: Effort) -> Iterator[Claim]:
    rng, tries = effort.tape("rounds", name), effort.pick(1200, 30_000)
    device = Device(round, root)
    answered, reads = 0, [0]
    wrong: list[str] = []
    last: tuple[bytes, bytes] = (b"", b"")

    def read(params: Any) -> tuple[int, ...]:
        reads[0] += 1
        return (7,)

    for _ in range(tries):
        asked = _forged(round, rng, device.budget.round)
        signed = post.pack_round(asked, SITE_KEY, wire.round_topic(SITE, round.mechanism))
        spent, newest, looked = device.budget.spent, device.budget.round, reads[0]
        frame, name_of_it = device.node.answer(signed, read), wire.name_of(asked)
        if name_of_it == last[0] and frame == last[1]:
            continue  # asked again: the same bytes, for nothing
        if frame is None:
            if (device.budget.spent, reads[0]) != (spent, looked) or not device.node.refusal:
                wrong.append("a refused Round was charged or read for")
            continue
        answered, last = answered + 1, (name_of_it, frame)
        wrong += _too_much(asked, device, newest)
        if device.budget.spent - spent < cost(asked, device.limits):
            wrong.append("an answer was not charged in full")
    yield at_most(
        f"{name}: no forged Round gets less noise, a coarser grain or a lower price",
        0,
        len(wrong),
        unit="Rounds",
        samples=tries,
        detail="; ".join(sorted(set(wrong)))[:200],
    )
    yield true(f"{name}: Rounds within the limits are answered", answered > 20, samples=answered)


def _forged(round: Any, rng: Any, newest: int) -> Any:
    """Return a Round with one or two things changed, most of them for the worse."""
    params, promise = list(round.params), round.guarantee
    num, den = promise.rho
    number, mechanism = newest + 1 + rng.below(3), round.mechanism
    for _ in range(1 + rng.below(2)):
        kind = rng.below(9)
        if kind == 0:
            before = params[4]
            params[4] = max(1, before + (rng.below(3) - 1) * (1 + rng.below(before)))
            if rng.below(2):  # and says honestly what that costs
                num, den = num * before + den * params[4], den * params[4]
        elif kind == 1:
            finer = rng.below(5) - 2
            params[1] += finer
            honest = rng.below(3)
            if honest == 1:  # with as much noise in kelvin
                params[4] = params[4] * 4 ** max(finer, 0)
            elif honest == 2:  # or with less, and says what that costs
                num = num * 4 ** max(finer, 0)
        elif kind == 2:
            num = max(0, num - 1 - rng.below(num)) if rng.below(2) else num + rng.below(9)
        elif kind == 3:
            number = max(0, newest - rng.below(3))
        elif kind == 4:
            params[6] = 1 - params[6]
        elif kind == 5:
            params = params[: rng.below(8)] if rng.below(2) else [*params, 0]
        elif kind == 6:
            params[0] = rng.below(3)
        elif kind == 7:
            promise = promise._replace(rho=None)
        else:
            mechanism = "thermal" if mechanism != "thermal" else "other"
        if len(params) < 7:
            break
    if promise.rho is not None:
        promise = promise._replace(rho=(num, den))
    return round._replace(
        number=number, mechanism=mechanism, params=tuple(params), guarantee=promise
    )


def cost(asked: Any, held: Any) -> Fraction:
    """Return the nano-rho of an answer, exactly: half of squared sensitivity over variance."""
    square = held.square * grain(held.exponent) ** 2
    return Fraction(NANO) * square / (2 * asked.params[4] * grain(asked.params[1]) ** 2)


def _too_much(asked: Any, device: Device, newest: int) -> Iterator[str]:
    """Yield why this Round should not have been answered."""
    held, params, promise = device.limits, asked.params, asked.guarantee
    if asked.mechanism != "thermal" or len(params) != 7:
        yield "a Round that is none was answered"
        return
    if grain(params[1]) > grain(held.exponent):
        yield "a coarser grain"
    if params[4] * grain(params[1]) ** 2 < held.variance * grain(held.exponent) ** 2:
        yield "less noise than the floor"
    if promise.rho is None or Fraction(*promise.rho) * NANO <= cost(asked, held) - 1:
        yield "a promise below its price"
    if params[6] != int(device.mode == "keyholder"):
        yield "a promise of another mode"
    if not device.identity.sensor < params[0]:
        yield "a sensor that is not in the Round"
    if asked.number <= newest:
        yield "an old Round"


def _stale(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether Rounds already answered get anything after a start, and what meta says."""
    device, answered = Device(round, root), 0
    for number in range(2 * LEASE):
        device.answer(message(round, number)[1], (1,))
    device.boot()
    for number in range(2 * LEASE):
        answered += device.answer(message(round, number)[1], (1,)) is not None
    yield at_most(
        f"{name}: after a start only Rounds of its last lease are answered again, and paid for",
        LEASE - 1,
        answered,
        unit="Rounds",
        samples=2 * LEASE,
    )


def _said(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether everybody can see who holds a key, and how far a device will go."""
    for mode in ("sealed", "keyholder"):
        asked = round._replace(params=(*round.params[:6], int(mode == "keyholder")))
        device = Device(asked, root)
        said = device.node.meta()
        yield true(
            f"the meta of a {mode} device says its mode, its key's name, its boot and its limits",
            said.get("mode") == mode
            and said.get("key") == device.identity.key_id.hex()
            and said.get("boot") == device.budget.epoch
            and said.get("limits", {}).get("variance") == device.limits.variance,
            samples=1,
        )
