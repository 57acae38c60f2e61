"""Steps of a round for people: what counts, what is sent, and what comes of it."""

import itertools
import time
from collections import Counter
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edge.core import cbor, wire
from edge.core.records import Grid, Guarantee, Release, Report, Round
from gateway.devices.enrol import budgets, enrol
from gateway.devices.fleet.crowd import Crowd
from gateway.mechanisms import find, first_limits
from gateway.mechanisms.places import People
from gateway.service import steps
from gateway.service.intake.outcomes import Asked, Kept
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge, price
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.service.rounds import OpenRound, Place, Refused
from gateway.service.serving import Service
from gateway.service.steps import Steps
from gateway.settings import config
from gateway.settings.deployment import Deployment, Mqtt
from gateway.store.store import Store
from tests.waiting import eventually

# A step that is done again, after a kill, says what the disk says.


class Quiet:
    """An outbox that publishes nothing."""

    def wake(self) -> None: ...

    def wait_empty(self, patience_s: float) -> bool:
        return True


def test_a_round_is_released_once_whatever_is_drawn_later(tmp_path: Path, home: Any) -> None:
    """Drawn twice, the first is what was kept, charged and told; the second nobody ever sees."""
    store, told = Store(tmp_path / "heatveil.sqlite", "testsite"), list[Any]()
    asked = steps.sign_round(home.round(), 1, home.devices)
    assert store.open_round(asked, 2 * asked.rho, paid=False) == ""
    draws = itertools.count(100)
    mechanism = replace(
        find("thermal"), release=lambda round, payloads, rng: Release(round, [next(draws)], 0)
    )
    closed, nobody = OpenRound(asked.plan, asked.name, inf, {}, {}), Any
    for _ in range(3):
        with_steps = Steps(store, nobody, nobody, Quiet(), told.append)
        found = with_steps.release(mechanism, closed, home.devices, Charge(asked.rho))
        assert found.values == [100]

    assert next(draws) == 103  # it was drawn each time, or this shows nothing
    assert store.release(asked.name) == ([100], 0)
    assert store.charges() == (Charge(asked.rho),)
    assert len(store.letters()) == 1
    store.close()


# A round that was open when the gateway ended, and a device that has new keys since.

SITE, PATIENCE_S = "testsite", 10.0


class Telling:
    """Lets go of what it brought, and counts it."""

    def __init__(self) -> None:
        self.gone, self.receipts = 0, 0

    def settle(self, receipts: Any, messages: Any) -> None:
        self.receipts += len(receipts)
        self.gone += len(messages)

    def publish(self, topic: str, payload: bytes, *, retain: bool = False) -> None:
        self.receipts += 1


def test_who_answered_under_an_older_key_has_answered(home: Any, tmp_path: Path) -> None:
    """Two answers give away more than one, whatever they are signed with: the second is charged.

    It is a dead letter with a receipt and not one that cannot be stored, and nobody waits for it.
    """
    plan, store, link = home.round(), Store(tmp_path / "heatveil.sqlite", SITE), Telling()
    cost, name = price(plan.guarantee), wire.name_of(plan)
    asked = Asked(name, name, plan, b"message", cost)
    assert store.open_round(asked, 9 * cost) == ""
    store.keep([Kept("node-0", 7, 7, name, b"signed with an older key", b"old!")], [])

    round = steps.open_round(asked, home.devices, store.answers(name), time.monotonic() + 60)
    intake = Intake(store, home.devices, lambda *_: None, lambda _: None)
    intake.open(round)
    for one in home.devices.by_name:
        frame = home.answer(one, plan)
        intake.put(link, Message(wire.topic(SITE, one, "data"), frame, (1, 1)))

    assert intake.wait_complete(PATIENCE_S)
    intake.stop()
    assert sorted(round.reports) == sorted(set(home.devices.by_name) - {"node-0"})
    assert [letter.kind for letter in store.refused()] == ["second"]
    assert store.charges() == (Charge(cost), Charge(cost, "node-0"))
    assert link.receipts == link.gone == len(home.devices.by_name)
    store.close()


# A round's doors: who may answer it, when, how often and for which sensor.

NAME = b"\x01\x02\x03\x04"
PROMISE = Guarantee((1, 1), (1, 1000), (1, 50), "one source moves", "local", "a day", "presence")
PLAN = Round(7, "thermal", Grid((10, 1), 0), (2, 8, 0, 4096, 10_000, 1, 0), PROMISE)


def opened() -> OpenRound:
    return OpenRound(PLAN, NAME, 100.0, {"north": Place(0, 1), "south": Place(1, 1)})


def report(sender: str = "north", **changes: Any) -> Report:
    return Report(NAME, sender, 1, 1, [0, 1234])._replace(**changes)


@pytest.mark.parametrize(
    ("changes", "now_s", "word", "kind"),
    [
        ({"round": b"\xff\xff\xff\xff"}, 1.0, "ffffffff", "other-round"),
        ({}, 100.0, "closed", "late"),
        ({"sender": "stranger"}, 1.0, "not enrolled", "place"),
        ({"payload": [1, 1234]}, 1.0, "from sensor 0", "place"),
        ({"payload": [0, 1234, 5678]}, 1.0, "for 1 from sensor 0", "place"),
        ({"payload": []}, 1.0, "from sensor 0", "place"),
    ],
)
def test_what_does_not_belong_into_the_round_is_refused_with_a_reason(
    changes: dict[str, Any], now_s: float, word: str, kind: str
) -> None:
    """A reading in the wrong place would put warmth where there is none."""
    round = opened()
    outcome = round.take(report(**changes), now_s)

    assert isinstance(outcome, Refused)
    assert word in outcome.why
    assert outcome.kind == kind
    assert round.reports == {}
    assert round.late == (kind == "late")


# A gateway of people over a real broker: what they answered is counted, mapped and paid for.

DEVICES, COLUMNS, ROWS = 40, 5, 4


class Square:
    """A site of forty people with a device each, most of them in one corner."""

    def __init__(self, mqtt: Mqtt, folder: Path, site: str) -> None:
        self.mqtt, self.folder, self.site = mqtt, folder, site
        self.made, self.place = enrol.enrol_fleet(site, DEVICES), budgets.keep_in_memory()
        self.devices = enrol.derive_devices(self.made.secrets)
        deployment = self.deployment()
        self.query = config.query(deployment)
        self.limits = first_limits(deployment, self.query)
        budgets.provision(self.made, self.limits, self.place)
        self.events: list[dict[str, Any]] = []
        self.frames: dict[bytes, str] = {}
        self.said: list[tuple[str, str, bytes]] = []
        self.cells = np.array([[person % 3 for person in range(DEVICES)]])

    def deployment(self, **changes: Any) -> Deployment:
        """Return the deployment, with these sections changed."""
        sections: dict[str, Any] = {
            "site": {"name": self.site, "database": self.folder / "heatveil.sqlite"},
            "room": {"cells": [COLUMNS, ROWS]},
            "disk": {"devices": DEVICES, "scheme": "dam-ns", "radius": 1},  # corners are out
            "privacy": {"epsilon": "6/1", "readings": 2},
            "rounds": {"mechanism": "disk", "gather_s": 60, "every_s": 0, "solve_s": 60},
            "mqtt": self.mqtt,
        }
        for name, section in changes.items():
            sections[name] = {**sections[name], **section}
        return Deployment(**sections)

    def people(self, some: int = DEVICES) -> People:
        """Return the devices of the first so many, freshly started."""
        secrets = self.made.secrets._replace(devices=self.made.secrets.devices[:some])
        return People(budgets.boot(secrets, self.place).devices, self.cells, COLUMNS, "disk")

    def service(self, **changes: Any) -> Service:
        """Return the gateway; what it tells is added to `events`."""
        return Service(self.deployment(**changes), self.devices, on_event=self.events.append)

    def told(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a kind, in order."""
        return [event for event in self.events if event["kind"] == kind]

    def hear(self, link: Link, message: Message) -> None:
        """Keep what devices say: their frames, each once."""
        link.ack(message)
        name, leaf = message.topic.split("/")[3:]
        self.said.append((name, leaf, message.payload))
        if leaf == "data":
            self.frames[message.payload] = name

    def listening(self, pump: Pump) -> Link:
        """Return a link that hears what devices say."""
        topics = [f"heatveil/1/{self.site}/+/+"]
        name = f"listens-{self.site}"
        return Link(self.mqtt, name, pump, subscribe=topics, on_message=self.hear).wait()

    def exhausted(self) -> set[str]:
        """Return who has said that all that was promised is used up."""
        return {name for name, leaf, said in self.said if (leaf, said) == ("state", b"exhausted")}

    def answered(self) -> dict[bytes, Counter[int]]:
        """Return how often each place was answered, by a round's name: read off the wire."""
        found: dict[bytes, Counter[int]] = {}
        for frame in self.frames:
            body = cbor.decode(frame[: -wire.MAC_BYTES])
            found.setdefault(bytes(body[3]), Counter())[body[4][0]] += 1
        return found


@pytest.fixture
def square(mosquitto: Mqtt, tmp_path: Path, request: pytest.FixtureRequest) -> Square:
    """Return a square whose site no other test has."""
    return Square(mosquitto, tmp_path, f"square-{abs(hash(request.node.name)) % 10**9}")


@pytest.mark.long
def test_what_was_answered_is_counted_drawn_and_paid_for(square: Square) -> None:
    """Every answer that went over the broker, and none beside; then nothing more is asked."""
    with Pump("listens") as pump:
        link = square.listening(pump)
        with Crowd(square.mqtt, square.people()) as fleet, square.service() as service:
            why = service.run()
            ledger = service.ledger()
            assert eventually(lambda: fleet.unreceipted == 0)
            assert eventually(lambda: len(square.exhausted()) == DEVICES)
            said = "all 2 readings that the promise is for have been taken"
            assert why == said
        link.close()

    releases = square.told("release")
    assert [release["reports"] for release in releases] == [DEVICES, DEVICES]
    names = {event["number"]: bytes.fromhex(event["name"]) for event in square.told("round")}
    answered = square.answered()
    for release in releases:
        seen = answered[names[release["number"]]]
        assert {place: n for place, n in enumerate(release["values"]) if n} == dict(seen)
        assert len(release["values"]) == (COLUMNS + 2) * (ROWS + 2)
    last = square.told("map")[-1]
    assert last["status"] == "solved"
    assert (np.shape(last["mass"]), np.shape(last["sd"])) == ((ROWS, COLUMNS),) * 2
    assert last["total"] == 2 * DEVICES
    # Everybody is in the first three cells: epsilon 3 a report shows that much.
    assert sum(last["mass"][0][:3]) > 0.5
    budget = square.told("budget")[-1]
    assert (budget["epsilon_spent"], budget["epsilon"]) == (6.0, 6.0)
    assert (budget["delta"], budget["rounds_left"]) == (None, 0)
    assert (budget["unit"], budget["epsilon_left"]) == ("epsilon", 0.0)
    assert (ledger.left, len(ledger.charges)) == (0, 2)
