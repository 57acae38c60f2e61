"""Layer `sealed`: reports that are private, and who opens them."""

from collections.abc import Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import SealedRound
from edge.core.slots import Ram
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.mechanisms import central, disk_limits

from ...devices.enrol.enrol import Device
from ...service.sealing import open_report
from ..bench import SITE, SITE_KEY
from ..claim import Claim, Effort, at_most, true


def sealed_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield who opens what devices seal, and what its length tells.

    Real devices answer the Rounds of each room; their frames are opened, or not, by another
    implementation of curve and cipher. What it cannot see: whether the gateway has destroyed a key
    (the tests kill it at every step), and what a gateway that is not honest does with it.
    """
    root, rng, name = effort.root("sealed"), effort.tape("sealed"), mechanism.name
    keys = [X25519PrivateKey.from_private_bytes(rng.bits(256).to_bytes(32, "big")) for _ in "ab"]
    count = wrong = strangers = lengths = 0
    asked: list[Any] = []
    refusals = []
    for _, query in mechanism.subject.rooms():
        plain = mechanism.plan(query, ())
        node, frames = _node(root, plain, name), set()
        for number, reading in enumerate([None, *mechanism.subject.inputs(plain)], 1):
            round = _round(plain, number, keys[0])
            values = reading.values if reading else ()
            frame = node.answer(_message(round), lambda _, values=values: values)
            report = _report(frame, root)
            frames.add(len(frame or b""))
            device = Device.of(node.identity)
            told = list(mechanism.report(round, reading, None)) if reading else []
            wrong += open_report(keys[0], round, report, device, SITE) != told
            for key, to, who in (
                (
                    keys[0],
                    round,
                    device._replace(seal_key=rootkeys.seal_key(effort.root("another"))),
                ),
                (keys[0], round, device._replace(name="another")),
                (keys[0], _round(plain, number + 1, keys[0]), device),
                (keys[1], round, device),
            ):
                strangers += open_report(key, to, report, who, SITE) is not None
            count += 1
        lengths = max(lengths, len(frames))
        for node in (_node(root, plain, ""), _node(root, plain, "another")):
            none = node.answer(_message(_round(plain, 1, keys[0])), asked.append) is None
            refusals.append(none and node.refusal.startswith("central-not-allowed"))
    yield true("a sealed report opens for its round's key, as it was", not wrong, samples=count)
    yield at_most(
        "a sealed report opens for no other key, device or Round",
        0,
        strangers,
        unit="reports opened",
        samples=4 * count,
    )
    yield at_most(
        "every frame of a round has one length, also where nothing was read",
        1,
        lengths,
        unit="lengths",
        samples=count,
    )
    yield true(
        "a device that was not enrolled for it by name reads and answers nothing",
        all(refusals) and not asked,
        samples=len(refusals),
    )


def _node(root: bytes, round: Any, allowed: str) -> Node:
    who = rootkeys.identity(SITE, "n", root, SITE_KEY, 0, central=allowed)
    slots = Ram()
    num, den = central.module_of(round.mechanism).epsilon(round)
    limits = disk_limits.make_limits(num, den, 1000)
    provision(slots, who.state_key, rootkeys.first_chain(root), limits)
    budget = Budget(slots, who.state_key)
    budget.boot()
    return Node(who, budget, mechanism=round.mechanism)


def _round(plain: Any, number: int, key: X25519PrivateKey) -> Any:
    _, name, grid, params, promise = plain
    public = key.public_key().public_bytes_raw()
    return SealedRound(number, name, grid, params, promise, public)


def _message(round: Any) -> bytes:
    return bytes(post.pack_round(round, SITE_KEY, round_topic(SITE, round.mechanism)))


def _report(frame: bytes | None, root: bytes) -> Any:
    return post.unpack_report(frame, rootkeys.mac_key(root), topic(SITE, "n", "data"), "n")
