"""Layer: no Round, whoever signed it, makes a device less private.

Rounds are drawn at random, most of them worse than the one that was planned, signed with the
site's key as if it had been stolen, and given to a real device. It may answer those alone that its
limits let through, and must charge each in full; what that is is reckoned anew, in exact
fractions. Now and then its sensor fails once the answer is paid for, and the next Rounds bear the
number of the one that has none yet. Where answers can be enumerated, those to Rounds that were
answered are. What it cannot see: a Round that asks for what no rule here speaks of.
"""

from collections.abc import Iterator
from typing import Any

from edge import wire
from edge.host import post

from . import suited
from .bench import SITE, SITE_KEY, Device, asked_of, message
from .claim import Claim, Effort, at_most, true
from .scenes import plans
from .unlike import Family
from .weighed import enumerated

LAWS = 60  # answered Rounds whose every answer is looked at, where that can be done
LEASE = 8  # answers that a power cut may cost, and so the most Rounds that are asked anew
AGAIN = 8  # times at most that a number is answered, however often the power is cut


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices answer."""
    rooms = plans(mechanism)
    for room in rooms if len(rooms) < 4 else (*rooms[:2], *rooms[-2:]):
        root = effort.root("forged", room.name)
        yield from _rounds(room.name, room.round, mechanism.subject, root, effort)
        yield from _stale(room.name, room.round, root)
        yield from suited.claims(room.name, room.round, root)
    yield _again(room.round, root)
    yield from _said(room.round, root)


def _rounds(name: str, round: Any, subject: Any, root: bytes, effort: Effort) -> Iterator[Claim]:
    rng, tries = effort.tape("rounds", name), effort.pick(1200, 30_000)
    device, laws = Device(round, root), effort.pick(LAWS, 20 * LAWS)
    answered, reads = 0, [0]
    wrong: list[str] = []
    last: tuple[bytes, bytes] = (b"", b"")
    paid: Any = None  # the Round that is paid for and has no answer yet, for the sensor failed

    def read(params: Any) -> tuple[int, ...]:
        reads[0] += 1
        if paid is None and reads[0] % 3 == 0:
            raise OSError
        return device.seen(reads[0])

    for _ in range(tries):
        asked = device.asked.forged(round, rng, device.budget.round)
        if paid is not None:  # what bears its number, or it itself
            asked = asked._replace(number=paid.number) if rng.below(4) else paid
        signed = post.pack_round(asked, SITE_KEY, wire.round_topic(SITE, round.mechanism))
        spent, newest, looked = device.budget.spent, device.budget.round, reads[0]
        frame, name_of_it = device.node.answer(signed, read), wire.name_of(asked)
        if name_of_it == last[0] and frame == last[1]:
            continue  # asked again: the same bytes, for nothing
        if frame is None and paid is None and reads[0] > looked:
            paid = asked
        elif frame is None:
            if (device.budget.spent, reads[0]) != (spent, looked) or not device.node.refusal:
                wrong.append("a refused Round was charged or read for")
            continue
        else:
            answered, last = answered + 1, (name_of_it, frame)
            if asked == paid:
                paid = None
                continue
        wrong += device.asked.too_much(
            asked, device.limits, device.mode, device.identity.sensor, newest
        )
        wrong += _law(subject, asked) if answered <= laws else []
        if device.budget.spent - spent < device.asked.cost(asked, device.limits):
            wrong.append("an answer was not charged in full")
    yield at_most(
        f"{name}: no forged Round gets less privacy than the limits, or a lower price",
        0,
        len(wrong),
        unit="Rounds",
        samples=tries,
        detail="; ".join(sorted(set(wrong)))[:200],
    )
    yield true(f"{name}: Rounds within the limits are answered", answered > 20, samples=answered)


def _law(subject: Any, round: Any) -> list[str]:
    """Return what does not hold of all answers to a Round, where they can be enumerated."""
    if not hasattr(subject, "drawing"):
        return []
    seen = Family("an answered Round", subject.spent(round))
    enumerated(subject, round, seen, "")
    return [claim.sentence for claim in seen.claims() if not claim.holds]


def _stale(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether Rounds already answered get anything after a start, and what meta says."""
    device, answered = Device(round, root), 0
    for number in range(2 * LEASE):
        device.answer(message(round, number)[1], device.seen(number))
    device.boot()
    for number in range(2 * LEASE):
        again = device.answer(message(round, number)[1], device.seen(number))
        answered += again is not None
    yield at_most(
        f"{name}: after a start only Rounds of its last lease are answered again, and paid for",
        LEASE - 1,
        answered,
        unit="Rounds",
        samples=2 * LEASE,
    )


def _again(round: Any, root: bytes) -> Claim:
    """Return how often one number is answered where the power is cut as an attacker likes.

    The first answer of a start is on the medium at once, so each start asks the least number that
    is left, and then the one in question: from each distance there is.
    """
    most, asked = 0, 0
    for far in range(1, 2 * AGAIN + 1):
        device, answered = Device(round, root), 0
        for number in range(1, far + 2):
            device.boot()
            for one in sorted({number, far + 1}):
                frame = device.answer(message(round, one)[1], device.seen(one))
                answered += frame is not None and one == far + 1
                asked += 1
        most = max(most, answered)
    return at_most(
        "no number of a Round is answered more often than is counted, however the power is cut",
        AGAIN,
        most,
        unit="answers",
        samples=asked,
    )


def _said(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether everybody can see who holds a key, and how far a device will go."""
    for mode, asked in asked_of(round).modes(round):
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
