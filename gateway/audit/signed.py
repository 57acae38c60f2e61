"""Layer: every bit of every message is signed, for its topic and its key alone.

Each bit of a frame, a Round and a limits message is turned, each message is cut, put on another
topic and signed with every other key of the house: none may be believed. The MAC is computed
anew by Python's own hmac. What it cannot see: who has stolen a key.
"""

import hmac
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from edge import cbor, tightening, wire
from edge.host import post, rootkeys
from edge.records import Reading

from .bench import SITE, SITE_KEY, Device, asked_of, message
from .claim import Claim, Effort, at_most, true
from .scenes import plans

MAC_BYTES = 16


class Kind(NamedTuple):
    """A kind of message: a genuine one, its key and topic, and who opens it."""

    name: str
    sent: bytes
    key: bytes
    topic: str
    opened: Callable[[bytes, bytes, str], Any]


def claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield what is to be said of the three kinds of message."""
    round = plans(mechanism)[0].round
    root = effort.root("signed")
    device = Device(round, root, sensors=asked_of(round).SENSORS)
    who = device.identity
    _, asked = message(round, 1)
    frame = device.answer(asked, device.seen(1)) or b""
    data, orders = wire.topic(SITE, who.name, "data"), tightening.topic(SITE, who.name)
    tighter = device.limits._replace(version=2)
    kinds = (
        Kind("frame", frame, who.mac_key, data, _as_report(who.name)),
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
        yield _genuine(kind)
        yield _believed(kind, kinds, others)
    yield _unpackable(round)


def _as_report(name: str) -> Callable[[bytes, bytes, str], Any]:
    return lambda frame, key, topic: post.unpack_report(frame, key, topic, name)


def _opens(kind: Kind, sent: bytes, key: bytes, topic: str) -> bool:
    try:
        kind.opened(sent, key, topic)
    except ValueError:  # a Fault is one
        return False
    return True


def _genuine(kind: Kind) -> Claim:
    topic, body = kind.topic.encode(), kind.sent[:-MAC_BYTES]
    whole = hmac.digest(kind.key, len(topic).to_bytes(2, "big") + topic + body, "sha256")
    return true(
        f"a {kind.name} carries 128 bits of HMAC-SHA256 over its topic and all of itself",
        whole[:MAC_BYTES] == kind.sent[-MAC_BYTES:] and _opens(kind, *kind[1:4]),
        samples=1,
    )


def _believed(kind: Kind, kinds: tuple[Kind, ...], others: set[bytes]) -> Claim:
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
    taken = [one for one in forged if _opens(kind, *one)]
    return at_most(
        f"no {kind.name} is believed that was changed, cut, moved or signed by another key",
        0,
        len(taken),
        unit="forgeries believed",
        samples=len(forged),
        detail=f"first: {taken[0][0].hex()[:40]} on {taken[0][2]}" if taken else "",
    )


def _unpackable(round: Any) -> Claim:
    """A Reading handed over in place of a message must be refused, not sent."""
    reading, sent = Reading(2, (1234,)), 0
    packs: tuple[Callable[[], bytes], ...] = (
        lambda: wire.pack_report(reading, SITE_KEY, "t", 16),
        lambda: wire.pack_report(round, reading, SITE_KEY, "t"),
        lambda: post.pack_round(reading, SITE_KEY, "t"),
        lambda: cbor.encode(reading),
        lambda: cbor.encode({1: [0, reading]}),
    )
    for pack in packs:
        try:
            sent += bool(pack())
        except (AttributeError, TypeError, ValueError):
            continue
    return true("nothing packs a Reading", not sent, samples=len(packs))
