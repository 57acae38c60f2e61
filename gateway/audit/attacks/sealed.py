"""Layer `sealed`: reports that are private, and who opens them."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from edge.core.budget import Budget
from edge.core.node import Node
from edge.core.records import Grid, Guarantee, SealedRound
from edge.core.slots import Ram
from edge.core.wire import round_topic, topic
from edge.host import post, rootkeys
from edge.host.enrol import provision
from edge.mechanisms import central, disk_limits

from ...devices.enrol.enrol import Device
from ...service.sealing import opened
from ..bench import SITE, SITE_KEY, replaced
from ..claim import Claim, Effort, at_most, true

NAME, SIDE = "sealed-audit", 64
PROMISE = Guarantee((1, 1), None, None, "a device comes or goes", "central", "a report", "who")
# What any mechanism of central trust is to a device; it reports the place that it reads.
REPORTER = SimpleNamespace(
    NAME=NAME,
    epsilon=lambda round: (1, 1),
    objection=lambda round: "",
    numbers=lambda round: 3,
    report=lambda round, reading, rng: [reading.sensor, *reading.values],
)


def sealed_claims(mechanism: Any, effort: Effort) -> Iterator[Claim]:
    """Yield who opens what devices seal, and what its length tells.

    Real devices answer Rounds of central trust; their frames are opened, or not, by another
    implementation of curve and cipher. What it cannot see: whether the gateway has destroyed a key
    (the tests kill it at every step), and what a gateway that is not honest does with it.
    """
    root, rng = effort.root("sealed"), effort.tape("sealed")
    keys = [X25519PrivateKey.from_private_bytes(rng.bits(256).to_bytes(32, "big")) for _ in "ab"]
    count = effort.pick(20, 200)
    with replaced(central, "module_of", {NAME: REPORTER}.get):
        node = _node(root, NAME)
        frames, wrong, strangers = set(), 0, 0
        for number in range(1, count + 1):
            round = _round(number, keys[0])
            place = (rng.below(SIDE), rng.below(SIDE)) if number % 5 else ()
            frame = node.answer(_message(round), lambda _, place=place: place)
            report = _report(frame, root)
            frames.add(len(report.payload))
            device, told = Device.of(node.identity), [0, *place] if place else []
            wrong += opened(keys[0], round, report, device, SITE) != told
            other = device._replace(seal_key=rootkeys.seal_key(effort.root("another")))
            named = device._replace(name="another")
            strangers += opened(keys[0], round, report, other, SITE) is not None
            strangers += opened(keys[0], round, report, named, SITE) is not None
            strangers += (
                opened(keys[0], _round(number + 1, keys[0]), report, device, SITE) is not None
            )
            strangers += opened(keys[1], round, report, device, SITE) is not None
        asked: list[Any] = []
        refusals = [
            node.answer(_message(_round(1, keys[0])), asked.append) is None
            and node.refusal.startswith("central-not-allowed")
            for node in (_node(root, ""), _node(root, "another"))
        ]
    yield true("a sealed report opens for its round's key, as it was", not wrong, samples=count)
    yield at_most(
        "a sealed report opens for no other key, device or Round",
        0,
        strangers,
        unit="reports opened",
        samples=4 * count,
    )
    yield at_most(
        "every sealed report of a mechanism has one length, also where nothing was read",
        1,
        len(frames),
        unit="lengths",
        samples=count,
    )
    yield true(
        "a device that was not enrolled for it by name reads and answers nothing",
        all(refusals) and not asked,
        samples=len(refusals),
    )


def _node(root: bytes, allowed: str) -> Node:
    who = rootkeys.identity(SITE, "n", root, SITE_KEY, 0, central=allowed)
    slots = Ram()
    limits = disk_limits.enrolled(1, 1, 1000)
    provision(slots, who.state_key, rootkeys.first_chain(root), limits)
    budget = Budget(slots, who.state_key)
    budget.boot()
    return Node(who, budget, mechanism=NAME)


def _round(number: int, key: X25519PrivateKey) -> Any:
    public = key.public_key().public_bytes_raw()
    return SealedRound(number, NAME, Grid((SIDE, SIDE), 0), (), PROMISE, public)


def _message(round: Any) -> bytes:
    return bytes(post.pack_round(round, SITE_KEY, round_topic(SITE, NAME)))


def _report(frame: bytes | None, root: bytes) -> Any:
    return post.unpack_report(frame, rootkeys.mac_key(root), topic(SITE, "n", "data"), "n")
