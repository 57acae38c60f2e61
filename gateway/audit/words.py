"""Layer: the length and the words of a device tell nothing of its noise or its reading.

Devices of one key that see different things are held side by side: nothing may differ but the
sums themselves. What it cannot see: what somebody adds to a device's firmware beside `edge`.
"""

from collections.abc import Iterator
from typing import Any

from edge import thermal, veil

from .bench import Device, message
from .claim import Claim, Effort, true
from .scenes import plans
from .watch import replaced

ROUNDS = 40
INFINITE, NO_NUMBER = float("inf"), float("nan")
RUBBISH: tuple[Any, ...] = (
    None,
    1.5,
    "21",
    (1, 2),
    (1.5,),
    (2.0,),
    (1e9,),
    (-1e9,),
    (INFINITE,),
    (NO_NUMBER,),
)
RUBBISH += (("21",), (None,), (True,), (1 << 127,), (-(1 << 127),), (), "7")


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices say that see different things, or rubbish, or draw huge noise."""
    round = plans(mechanism)[0].round
    root = effort.root("words")
    for wide in (0, 1 << 20):  # frames of 16 bits a number, and of 32
        low, high = round.params[2] - wide, round.params[3] + wide
        # A keyholder's noise can be repeated, so devices can be held side by side.
        asked = round._replace(params=(*round.params[:2], low, high, *round.params[4:6], 1))
        yield from _alike(asked, root, thermal.bits(asked))
    yield _silent(asked, root)
    yield _fits(asked, root)


def _alike(round: Any, root: bytes, bits: int) -> Iterator[Claim]:
    """Yield what differs between devices of one key that see different things: the sum alone."""
    low, high = round.params[2:4]
    still, odd = ((low, high), (0, 0), (high, low)), ((low, high), (1, low), (0, high))
    # Enough for some Rounds, and then it is exhausted: the words of that are compared as well.
    cost = -(-(10**9) * round.guarantee.rho[0] // round.guarantee.rho[1])
    budget = ROUNDS // 2 * cost + cost // 2
    devices = [Device(round, root, sensors=2, budget=budget) for _ in still]
    lengths, noises, words, silent = [], [], [], 0
    for number in range(1, ROUNDS + 1):
        _, signed = message(round, number)
        rooms = still if number % 2 else odd  # one sees the same always, the others do not
        frames = [device.answer(signed, room) for device, room in zip(devices, rooms, strict=True)]
        lengths.append({None if frame is None else len(frame) for frame in frames})
        words.append(
            {
                str((device.node.refusal, device.node.state(), device.node.meta()))
                for device in devices
            }
        )
        silent += frames[0] is None
        if None not in frames:
            reports = [device.opened(frame) for device, frame in zip(devices, frames, strict=True)]
            noises.append(
                {
                    tuple(y - x for y, x in zip(report.payload[1:], room, strict=True))
                    for report, room in zip(reports, rooms, strict=True)
                }
            )
    yield true(
        f"the noise of a frame of {bits}-bit numbers is the same whatever is read",
        bool(noises) and all(len(noise) == 1 for noise in noises),
        samples=len(noises),
    )
    yield true(
        f"the length of a frame of {bits}-bit numbers is the same whatever is read",
        all(len(length) == 1 for length in lengths),
        samples=len(lengths),
    )
    yield true(
        "what a device says of itself is the same whatever is read, and when its budget is out",
        all(len(said) == 1 for said in words),
        samples=len(words),
    )
    yield true(
        "a device whose budget is out stays silent, and says that it is exhausted",
        ROUNDS // 2 <= silent < ROUNDS
        and all(device.node.state() == "exhausted" for device in devices),
        samples=silent,
    )


def _silent(round: Any, root: bytes) -> Claim:
    """Return whether what a broken sensor gives, a secret still, gets into any word of it."""
    refusals = set()
    _, signed = message(round, 1)
    for rubbish in RUBBISH:
        device = Device(round, root)
        frame = device.node.answer(signed, lambda params, given=rubbish: given)
        spent = device.budget.spent, device.node.ahead.seq, device.node.faults
        refusals.add((frame, device.node.refusal, str(device.node.meta()), spent))
    return true(
        "a broken sensor makes no frame, and nothing that it gave is said",
        len(refusals) == 1,
        samples=len(RUBBISH),
        detail="" if len(refusals) == 1 else f"{len(refusals)} different answers",
    )


def _fits(round: Any, root: bytes) -> Claim:
    """Return whether noise of any size makes a frame: one that is missing would tell of it."""
    low, high = round.params[2:4]
    lengths, drawn = set(), []
    for noise in (0, 1 << 15, 1 << 31, -(1 << 31), 1 << 45, -(1 << 45)):
        for value in (low, 0, high):

            def huge(variance: int, count: int, *_: Any, z: int = noise) -> list[int]:
                drawn.append(z)
                return [z] * count

            with replaced(veil, "draw", huge):
                device = Device(round, root)
                frame = device.answer(message(round, 1)[1], (value,))
            lengths.add(None if frame is None else len(frame))
    return true(
        "noise of any size makes a frame, and one of the same length",
        len(drawn) == 18 and len(lengths) == 1 and None not in lengths,
        samples=len(drawn),
    )
