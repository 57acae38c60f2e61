"""Layers `wire`, `limits` and `rounds`: what is said to a device, and by whom it believes it."""

import hmac
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from edge.core import tightening, wire
from edge.core.budget import objection
from edge.core.node import Node
from edge.core.records import Reading
from edge.host import post, rootkeys

from ..arithmetic.finite import Family, enumerate_answers
from ..bench import SITE, SITE_KEY, Device, list_plans, sign_round_as, subject_of
from ..claim import Claim, Effort, claim_at_most, claim_fact, claim_none, is_refused
from .power import PAID_AHEAD

FEW = 1 << 40  # nano-rho of budget


def limits_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices take of limits.

    Limits that come over the air can only raise privacy. Limits are drawn at random, signed with
    the right key as if it had been stolen, and given to a real device. Whatever it takes must be
    at least as private as what it had; that is reckoned anew, by what the mechanism's subject
    says, in exact fractions. What it cannot see: a message of a kind that it does not know.
    """
    for room in list_plans(mechanism)[:2]:
        root = effort.root("bounded", room.name)
        yield from _claim_limits(room.name, room.round, root, effort)


def _claim_limits(name: str, round: Any, root: bytes, effort: Effort) -> Iterator[Claim]:
    rng, tries = effort.tape("limits", name), effort.pick(600, 20_000)
    device = Device(round, root, budget=FEW)
    topic, key = tightening.topic(SITE, device.identity.name), device.identity.config_key
    loosened: list[str] = []
    unsaid, taken, sent = 0, 0, []
    for turn in range(tries):
        held = device.budget.limits
        asked = device.asked.vary_limits(held, rng)
        if objection(asked):
            continue
        sent.append(post.pack_limits(asked, key, topic))
        again = rng.below(4) == 0
        ack = device.node.tighten(sent[rng.below(len(sent))] if again else sent[-1])
        now = device.budget.limits
        if now != held:
            taken += 1
            loosened += device.asked.list_loosened(held, now)
        if not again and now != asked:
            unsaid += bool(ack["taken"]) or not ack["why"]
        if turn % 25 == 0:  # a start of the device must not bring old limits back
            device.boot()
            loosened += [] if device.budget.limits == now else ["a start"]
    yield claim_at_most(
        f"{name}: no signed limits loosen a device, not over a start either",
        0,
        len(loosened),
        unit="limits loosened",
        samples=tries,
        detail=f"{taken} taken"
        + (f"; looser: {', '.join(sorted(set(loosened)))}" * bool(loosened)),
    )
    yield claim_fact(f"{name}: tighter limits are taken", taken > 2, samples=taken)
    yield claim_fact(
        f"{name}: a device says why it does not take limits", not unsaid, samples=tries
    )


MAC_BYTES = 16


class Kind(NamedTuple):
    """A kind of message: a genuine one, its key and topic, and who opens it."""

    name: str
    sent: bytes
    key: bytes
    topic: str
    opened: Callable[[bytes, bytes, str], Any]


def wire_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of the three kinds of message.

    Every bit of every message is signed, for its topic and its key alone. Each bit of a frame, a
    Round and a limits message is turned, each message is cut, put on another topic and signed with
    every other key of the house: none may be believed. The MAC is computed anew by Python's own
    hmac. What it cannot see: who has stolen a key.
    """
    round = list_plans(mechanism)[0].round
    root = effort.root("signed")
    device = Device(round, root, sensors=subject_of(round).SENSORS)
    who = device.identity
    _, asked = sign_round_as(round, 1)
    frame = device.answer(asked, device.make_readings(1)) or b""
    data, orders = wire.topic(SITE, who.name, "data"), tightening.topic(SITE, who.name)
    tighter = device.limits._replace(version=2)
    kinds = (
        Kind("frame", frame, who.mac_key, data, partial(post.unpack_report, sender=who.name)),
        Kind("Round", asked, SITE_KEY, wire.round_topic(SITE, round.mechanism), wire.unpack_round),
        Kind(
            "limits message",
            post.pack_limits(tighter, who.config_key, orders),
            who.config_key,
            orders,
            tightening.unpack_limits,
        ),
    )
    others = {who.mac_key, who.config_key, who.state_key, SITE_KEY, rootkeys.link_key(root), root}
    others |= {device.budget.chain, bytes(32)}
    for kind in kinds:
        yield _claim_mac(kind)
        yield _count_believed(kind, kinds, others)
    yield _claim_readings_refused(round)


def _claim_mac(kind: Kind) -> Claim:
    topic, body = kind.topic.encode(), kind.sent[:-MAC_BYTES]
    whole = hmac.digest(kind.key, len(topic).to_bytes(2, "big") + topic + body, "sha256")
    return claim_fact(
        f"a {kind.name} carries 128 bits of HMAC-SHA256 over its topic and all of itself",
        whole[:MAC_BYTES] == kind.sent[-MAC_BYTES:]
        and not is_refused(partial(kind.opened, *kind[1:4])),
        samples=1,
    )


def _count_believed(kind: Kind, kinds: tuple[Kind, ...], others: set[bytes]) -> Claim:
    """Return how many forgeries of a message are believed."""
    sent, forged = kind.sent, []
    for bit in range(8 * len(sent)):
        changed = bytearray(sent)
        changed[bit // 8] ^= 1 << bit % 8
        forged.append((bytes(changed), kind.key, kind.topic))
    forged += [(sent[:length], kind.key, kind.topic) for length in range(len(sent))]
    forged += [(sent + bytes([byte]), kind.key, kind.topic) for byte in (0, 255)]
    forged += [(sent[:-MAC_BYTES] + bytes(MAC_BYTES), kind.key, kind.topic)]
    forged += [(sent, key, kind.topic) for key in others - {kind.key}]
    topics = {other.topic for other in kinds} | {
        kind.topic + "x",
        kind.topic[:-1],
        kind.topic.replace(SITE, "other"),
        kind.topic.replace("bench-1", "bench-2"),
    }
    forged += [(sent, kind.key, topic) for topic in topics - {kind.topic}]
    taken = [one for one in forged if not is_refused(partial(kind.opened, *one))]
    return claim_at_most(
        f"no {kind.name} is believed that was changed, cut, moved or signed by another key",
        0,
        len(taken),
        unit="forgeries believed",
        samples=len(forged),
        detail=f"first: {taken[0][0].hex()[:40]} on {taken[0][2]}" if taken else "",
    )


def _claim_readings_refused(round: Any) -> Claim:
    """A Reading handed over in place of a message must be refused, not sent."""
    reading, sent = Reading(2, (1234,)), 0
    packs: tuple[Callable[[], bytes], ...] = (
        lambda: wire.pack_report(reading, SITE_KEY, "t", 16),
        lambda: wire.pack_report(round, reading, SITE_KEY, "t"),
        lambda: post.pack_round(reading, SITE_KEY, "t"),
        lambda: wire.encode(reading),
        lambda: wire.encode({1: [0, reading]}),
    )
    for pack in packs:
        try:
            sent += bool(pack())
        except (AttributeError, TypeError, ValueError):
            continue
    return claim_fact("nothing packs a Reading", not sent, samples=len(packs))


STEPS = tuple(map(Fraction, ("1/64", "1/32", "1/16", "1/48", "3/32", "1/10", "1/9", "1/8", "1")))
PACE_MS = 5000


def suited_claims(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield what devices answer that have a converter, and how fast any does.

    A device that a Round's noise is not made for does not answer it. A converter with coarser
    steps moves readings further than the noise hides, and answers that come faster than the limits
    say are more than were meant. What it cannot see: a converter that has other steps than the
    device was told.
    """
    if subject_of(round).CONVERTED:
        yield from _claim_converters(name, round, root)
    yield _claim_pace(name, round, root)


def _claim_converters(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    size = Fraction(2) ** -round.params[1]  # of a grain, in kelvin
    planned, wrong, silent = round.params[5] * size, [], []
    fine = [planned, planned / 3, *(step for step in STEPS if (planned / step).denominator == 1)]
    for step in {*STEPS, *fine}:
        device = Device(round, root)
        node = Node(device.identity, device.budget, step.as_integer_ratio())
        frame = node.answer(sign_round_as(round, 1)[1], lambda params: (7,))
        if frame is None and step in fine:
            silent.append(f"{step} K")
        if frame is not None and any(
            _measure_change(dy * size / 8, step, size)
            > _measure_change(dy * size / 8, planned, size)
            for dy in range(1, 8 * math.ceil(20 * max(step, planned) / size))
        ):
            wrong.append(f"{step} K")
    sentence = f"{name}: no device answers whose converter moves readings further than is hidden"
    yield claim_none(sentence, wrong, "converters", samples=len({*STEPS, *fine}))
    sentence = f"{name}: every device whose steps divide the planned ones answers"
    yield claim_none(sentence, silent, samples=len(fine))


def _measure_change(change: Fraction, step: Fraction, size: Fraction) -> int:
    """Return by how many grains a change of temperature can change what is sent, at the most."""
    return math.ceil(math.ceil(change / step) * step / size)


def _claim_pace(name: str, round: Any, root: bytes) -> Claim:
    device, answered, asked = Device(round, root), [], 40
    device.node.tighten(device.sign_limits(device.limits._replace(version=2, pace_ms=PACE_MS)))
    for number in range(1, asked + 1):
        now_ms = number * PACE_MS // 4
        signed, values = sign_round_as(round, number)[1], device.make_readings(number)
        if device.node.answer(signed, lambda params, given=values: given, now_ms=now_ms):
            answered.append(now_ms)
    gaps = [later - earlier for earlier, later in pairwise(answered)]
    return claim_fact(
        f"{name}: answers keep the time apart that the limits say, however fast they are asked",
        bool(gaps) and min(gaps) >= PACE_MS,
        samples=asked,
        detail=f"{len(answered)} answers, {min(gaps, default=0)} ms apart at the least",
    )


LAWS = 60  # answered Rounds whose every answer is looked at, where that can be done
AGAIN = 8  # times at most that a number is answered, however often the power is cut


def rounds_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what devices answer.

    No Round, whoever signed it, makes a device less private. Rounds are drawn at random, most of
    them worse than the one that was planned, signed with the site's key as if it had been stolen,
    and given to a real device. It may answer those alone that its limits let through, and must
    charge each in full; what that is is reckoned anew, in exact fractions. Now and then its sensor
    fails once the answer is paid for, and the next Rounds bear the number of the one that has none
    yet. Where answers can be enumerated, those to Rounds that were answered are. What it cannot
    see: a Round that asks for what no rule here speaks of.
    """
    rooms = list_plans(mechanism)
    for room in rooms if len(rooms) < 4 else (*rooms[:2], *rooms[-2:]):
        root = effort.root("forged", room.name)
        yield from _claim_forged_rounds(room.name, room.round, mechanism.subject, root, effort)
        yield from _claim_stale_rounds(room.name, room.round, root)
        yield from suited_claims(room.name, room.round, root)
    yield _claim_repeat_answers(room.round, root)
    yield from _claim_meta(room.round, root)


def _claim_forged_rounds(
    name: str, round: Any, subject: Any, root: bytes, effort: Effort
) -> Iterator[Claim]:
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
        return device.make_readings(reads[0])

    for _ in range(tries):
        asked = device.asked.forge_round(round, rng, device.budget.round)
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
        wrong += device.asked.list_violations(
            asked, device.limits, device.mode, device.identity.sensor, newest
        )
        wrong += _list_broken_claims(subject, asked) if answered <= laws else []
        if device.budget.spent - spent < device.asked.compute_cost(asked, device.limits):
            wrong.append("an answer was not charged in full")
    sentence = f"{name}: no forged Round gets less privacy than the limits, or a lower price"
    yield claim_none(sentence, wrong, "Rounds", samples=tries)
    yield claim_fact(
        f"{name}: Rounds within the limits are answered", answered > 20, samples=answered
    )


def _list_broken_claims(subject: Any, round: Any) -> list[str]:
    """Return what does not hold of all answers to a Round, where they can be enumerated."""
    if subject.KIND != "finite":
        return []
    seen = Family("an answered Round", subject.price_answer(round))
    enumerate_answers(subject, round, seen, "")
    return [claim.sentence for claim in seen.claims() if not claim.holds]


def _claim_stale_rounds(name: str, round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether Rounds already answered get anything after a start, and what meta says."""
    device, numbers = Device(round, root), range(2 * PAID_AHEAD)
    for number in numbers:
        device.ask(number)
    device.boot()
    answered = sum(device.ask(number) is not None for number in numbers)
    yield claim_at_most(
        f"{name}: after a start only Rounds of its last lease are answered again, and paid for",
        PAID_AHEAD - 1,
        answered,
        unit="Rounds",
        samples=2 * PAID_AHEAD,
    )


def _claim_repeat_answers(round: Any, root: bytes) -> Claim:
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
                frame = device.ask(one)
                answered += frame is not None and one == far + 1
                asked += 1
        most = max(most, answered)
    return claim_at_most(
        "no number of a Round is answered more often than is counted, however the power is cut",
        AGAIN,
        most,
        unit="answers",
        samples=asked,
    )


def _claim_meta(round: Any, root: bytes) -> Iterator[Claim]:
    """Yield whether everybody can see who holds a key, and how far a device will go."""
    for mode, asked in subject_of(round).list_modes(round):
        device = Device(asked, root)
        said = device.node.meta()
        yield claim_fact(
            f"the meta of a {mode} device says its mode, its key's name, its boot and its limits",
            said.get("mode") == mode
            and said.get("key") == device.identity.key_id.hex()
            and said.get("boot") == device.budget.epoch
            and said.get("limits", {}).get("variance") == device.limits.variance,
            samples=1,
        )
