"""A device in secure sums: what it joins, what that costs, and what it never tells."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from edge.core import tightening, wire
from edge.core.records import Grid
from edge.core.window import open_budget, pack_first, step_of
from edge.host import post
from edge.mechanisms.sum_node import SumNode
from edge.net.device import Device
from edge.net.ring import Ring
from gateway.devices.enrol import budgets, enrol, roster
from gateway.devices.enrol.capped import make_capped_limits
from gateway.service.secure_sum import ciphers
from gateway.service.secure_sum.collecting import RELEASED, Link, Shard, ShardSum
from recovery.quadtree import Query, plan
from tests.edge import timeless

SITE, DEVICES = "square", 8
QUERY = Query(
    Grid((4, 4), 0), (16, 1), "replace-one", DEVICES, dropout=(1, 4), colluders=(1, 8), rounds=1
)
TOPIC = wire.round_topic(SITE, "quadtree")
Read = Callable[[Any], Sequence[int]]


class Crowd(NamedTuple):
    """Eight devices in one shard, their gateway's half, and where their budgets lie."""

    made: enrol.Enrolment
    shard: Shard
    place: Any

    def booted(self, lease: int = 1) -> dict[str, SumNode]:
        """Return the devices, just started."""
        devices = budgets.boot_devices(self.made.secrets, self.place, lease).devices
        return {who.name: SumNode(who, held, "quadtree", ciphers) for who, held in devices}

    def message(self, round: Any) -> bytes:
        """Return a Round as the site signs it."""
        return bytes(post.pack_round(round, self.made.secrets.site_key, TOPIC))

    def summed(self, nodes: dict[str, SumNode], round: Any, read: dict[str, Read]) -> ShardSum:
        """Return a round of these devices, over; who is not among them has vanished."""
        known = enrol.derive_gateway_half(self.made.secrets)
        links = {
            at: Link(known.by_name[name].mac_key, known.by_name[name].config_key)
            for at, name in enumerate(self.shard.members)
        }
        given = wire.round_body(round), 16, len(round.params) - 10
        found = ShardSum(self.shard, *given, SITE, known.site_key, links)
        said = {
            name: one.handle(TOPIC, self.message(round), read[name]) for name, one in nodes.items()
        }
        while any(said.values()):
            for name, frames in said.items():
                for frame in frames:
                    assert found.take_frame(self.shard.members.index(name), frame) == ""
            sent, said = found.end_step(), {}
            for to, message in sent:
                for name in nodes if to is None else [self.shard.members[to]]:
                    where = nodes[name].topics[to is None]
                    said[name] = nodes[name].handle(where, message, read[name])
        return found


@pytest.fixture
def crowd() -> Crowd:
    """Return a crowd that was just enrolled."""
    made, drawn = roster.enrol_in_shards(enrol.enrol_fleet(SITE, DEVICES), QUERY)
    place = budgets.keep_slots_in_memory()
    budgets.write_first_budgets(made, make_capped_limits(Fraction(16), 1, 0.0), place)
    return Crowd(made, drawn[0].shard, place)


def in_cell(x: int, y: int) -> Read:
    """Return what reads a cell."""
    return lambda grid: (x, y)


def test_the_sum_is_of_those_who_stay_and_a_broken_sensor_marks_nothing(crowd: Crowd) -> None:
    """At epsilon 16, noise is 0 but once in a thousand numbers; one of eight is away for good.

    Nobody sees whose sensor it is: that a place is not known tells of it.
    """
    nodes, round = crowd.booted(), plan(QUERY, ())
    names = sorted(nodes)
    read = {name: in_cell(3, 0) for name in names}
    read[names[1]] = in_cell(0, 3)
    read[names[2]] = lambda grid: 1 // 0
    read[names[3]] = lambda grid: ("x",)
    del nodes[names[0]]

    found = crowd.summed(nodes, round, read)

    assert found.state == RELEASED
    counts = dict(zip(round.params[10:], found.total.astype("int16").tolist(), strict=True))
    off = {5: 4, 6: 1}  # squares of the second and the third quarter
    assert sum(abs(counts[square] - off.get(square, 0)) for square in counts) <= 3
    assert [(node.faults, node.state()) for node in nodes.values()] == [(0, "exhausted")] * 7


def test_a_round_is_paid_for_before_anything_is_said_and_joined_once(crowd: Crowd) -> None:
    """A device that starts anew keeps out of the round that it joined: twice would be two sets."""
    name, round = crowd.shard.members[0], plan(QUERY, ())
    node = crowd.booted()[name]
    message = crowd.message(round)

    join = node.handle(TOPIC, message, in_cell(0, 0))
    assert len(join) == 1
    assert wire.decode(join[0][: -wire.MAC_BYTES])[1] == 1
    assert node.budget.exhausted
    assert node.handle(TOPIC, message, in_cell(0, 0)) == []
    assert node.refusal == ""
    assert crowd.booted()[name].handle(TOPIC, message, in_cell(0, 0)) == []


def test_no_limits_are_taken_that_let_the_epsilons_of_sums_grow(crowd: Crowd) -> None:
    """Cheaper answers out of the same budget are more of them, and more epsilon in all."""
    node = crowd.booted()[crowd.shard.members[0]]
    held, who = node.budget.limits, node.identity
    limits = held._replace(version=2, variance=4 * held.variance)
    where = tightening.topic(who.site, who.name)
    ack = node.tighten(post.pack_limits(limits, who.config_key, where))

    assert not ack["taken"]
    assert "add up to more" in ack["why"]
    assert node.budget.limits == held


def test_answers_keep_their_distance_and_none_is_given_again_after_a_cut(crowd: Crowd) -> None:
    """Whoever asks faster than agreed is not answered; each Round is written down by itself."""
    crowd = crowd._replace(place=budgets.keep_slots_in_memory())
    budgets.write_first_budgets(crowd.made, make_capped_limits(Fraction(16), 12, 2.0), crowd.place)
    name, round = crowd.shard.members[0], plan(QUERY, ())
    assert round is not None
    rounds = [crowd.message(round._replace(number=round.number + at)) for at in range(3)]
    node = crowd.booted(3)[name]
    pace_ms = node.budget.limits.pace_ms

    assert pace_ms > 0
    assert node.handle(TOPIC, rounds[0], in_cell(0, 0), 5000)
    assert node.handle(TOPIC, rounds[1], in_cell(0, 0), 5000 + pace_ms - 1) == []
    assert f"before the {pace_ms} ms" in node.refusal
    assert node.handle(TOPIC, rounds[1], in_cell(0, 0), 5000 + pace_ms)
    assert crowd.booted(3)[name].handle(TOPIC, rounds[1], in_cell(0, 0)) == []
    assert crowd.booted(3)[name].handle(TOPIC, rounds[2], in_cell(0, 0))


@pytest.mark.parametrize(("bits", "words"), [(16, 16), (17, 32), (32, 32)])
def test_numbers_are_sent_in_words_that_hold_the_sum(
    crowd: Crowd, bits: int, words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 16 bits or of 32, and never of fewer than the Round says."""
    asked, round = [], plan(QUERY, ())
    changed = round._replace(params=(*round.params[:7], bits, *round.params[8:]))
    node = crowd.booted()[crowd.shard.members[0]]
    monkeypatch.setattr(node._member, "begin", lambda body, terms, *_: asked.append(terms) or [])
    node.handle(TOPIC, crowd.message(changed), in_cell(0, 0))

    assert [terms.bits for terms in asked] == [words]


def test_what_cannot_be_written_down_is_not_joined(crowd: Crowd) -> None:
    """No write, no join; and from then on nothing."""
    node = crowd.booted()[crowd.shard.members[0]]
    node.budget._copies.put = lambda *given: 1 // 0

    assert node.handle(TOPIC, crowd.message(plan(QUERY, ())), in_cell(0, 0)) == []
    assert node.state() == "alert"


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({1: 0}, "hides whether a device marks anything"),
        ({5: 8}, "its noise is for 7 devices"),
        ({6: 0}, "this one holds to 5 and 1"),
        ({2: 17}, "it costs epsilon 17"),
        ({3: 0}, "is not above 0"),
        ({7: 40}, "keeps out of the secure sum of this round (modulus)"),
    ],
)
def test_what_protects_less_is_refused_and_costs_nothing(
    crowd: Crowd, params: dict[int, int], why: str
) -> None:
    """Whatever the site has signed: the roster and the limits are the owner's."""
    node = crowd.booted()[crowd.shard.members[0]]
    round = plan(QUERY, ())
    changed = list(round.params)
    for at, number in params.items():
        changed[at] = number
    left = node.budget.left

    assert node.handle(TOPIC, crowd.message(round._replace(params=tuple(changed))), None) == []
    assert why in node.refusal
    assert node.budget.left == left


def test_who_did_not_sign_is_not_heard(crowd: Crowd) -> None:
    """Neither a Round nor what a gateway tells; and both are counted."""
    node = crowd.booted()[crowd.shard.members[0]]
    message = crowd.message(plan(QUERY, ()))

    for where in (TOPIC, *node.topics):
        assert node.handle(where, message[:-1] + bytes([message[-1] ^ 1]), None) == []
    assert node.forged == 3


def test_only_who_is_enrolled_for_sums_is_made_one(crowd: Crowd) -> None:
    """Nor does one of them answer another mechanism."""
    who, held = budgets.boot_devices(crowd.made.secrets, crowd.place).devices[0]
    for mechanism in ("ranks", "thermal", "nosuch"):
        with pytest.raises(ValueError, match=r"enrolled for secure sums"):
            SumNode(who, held, mechanism)


@pytest.mark.parametrize("late", [False, True])
def test_who_reads_in_a_later_bucket_than_it_paid_in_keeps_out(crowd: Crowd, late: bool) -> None:
    """It pays when it joins and reads when all have joined; the others' sum is opened."""
    limits, place = make_capped_limits(Fraction(16), 1, 0.0), budgets.keep_slots_in_memory()
    budgets.write_first_budgets(crowd.made, limits, place, pack_first(86_400, limits.budget))
    nodes, ran_ms = {}, dict.fromkeys(crowd.shard.members, 0)
    for one in crowd.made.secrets.devices:
        who = one.identity
        clock = SimpleNamespace(now_ms=lambda name=who.name: ran_ms[name])
        budget = open_budget(place(who.name), who.state_key, 1, clock)
        budget.boot()
        nodes[who.name] = SumNode(who, budget, "quadtree", ciphers)
    slow = crowd.shard.members[0]

    def read_slowly(grid: Any) -> tuple[int, int]:
        ran_ms[slow] += 1000 * step_of(86_400) * late
        return 0, 0

    read = dict.fromkeys(nodes, in_cell(0, 0)) | {slow: read_slowly}
    found = crowd.summed(nodes, plan(QUERY, ()), read)

    assert found.state == RELEASED
    assert len(found.counted) == DEVICES - late


def test_every_device_brings_its_part_of_the_noise(crowd: Crowd) -> None:
    """With nobody's mark, all numbers are noise: wide at a small epsilon, and 0 at a large one.

    Of 400 numbers at epsilon 1/2 about one in eight is 0; the deviation is that of at least one
    whole discrete Laplace law of scale 4, as paper 001 asks for of a sum.
    """
    grid = Grid((64, 64), 0)
    prior = tuple((4, x, y) for x in range(16) for y in range(16))
    found = {}
    for epsilon in (1, 32):
        query = replace(QUERY, grid=grid, epsilon=(epsilon, 2), prior=prior)
        made, drawn = roster.enrol_in_shards(enrol.enrol_fleet(SITE, DEVICES), query)
        place = budgets.keep_slots_in_memory()
        budgets.write_first_budgets(made, make_capped_limits(Fraction(epsilon, 2), 1, 0.0), place)
        own = Crowd(made, drawn[0].shard, place)
        nodes = own.booted()
        total = own.summed(nodes, plan(query, ()), dict.fromkeys(nodes, lambda grid: ())).total
        found[epsilon] = total.astype("int16").astype(float)

    assert np.var(found[1]) > 2 * 4**2 / 2
    assert np.count_nonzero(found[1]) > 150
    assert np.count_nonzero(found[32]) < 10


def test_its_frames_leave_on_a_tick_and_a_round_that_comes_again_takes_none_back(
    crowd: Crowd,
) -> None:
    """How long noise took to draw must not show; a link that comes back loses nothing."""
    who, held = budgets.boot_devices(crowd.made.secrets, crowd.place).devices[0]
    said: list[tuple[float, str]] = []
    link = SimpleNamespace(busy=False, hush=lambda clock, due_ms: None)

    async def publish(topic: str, payload: bytes, qos: int = 0, retain: bool = False) -> bool:
        said.append((asyncio.get_running_loop().time(), topic.rpartition("/")[2]))
        await asyncio.sleep(0)
        return True

    async def lived() -> float:
        client: Any = SimpleNamespace(link=link, connected=True, reconnects=0, publish=publish)
        device = Device(
            who, held, in_cell(0, 0), client, Ring(1024), tick_ms=300, mechanism="quadtree"
        )
        running = asyncio.ensure_future(device.run())
        await asyncio.sleep(0.05)
        began, message = asyncio.get_running_loop().time(), crowd.message(plan(QUERY, ()))
        for _ in range(2):
            client.on_message(TOPIC, message)
        await asyncio.sleep(0.8)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert {*device.node.topics} < {*client.topics}
        return began

    began = timeless.run(lived())
    times = [at - began for at, leaf in said if leaf == "sum"]
    assert len(times) == 1
    assert 0.29 < times[0] < 0.6
