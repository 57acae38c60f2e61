"""Honest reports cost the store no question; every other one is asked about."""

import threading
from typing import Any

from edge.core import wire
from gateway.service.intake import judge
from gateway.service.intake.door import Arrival, authenticate
from gateway.service.intake.outcomes import Known
from gateway.service.mqtt.connection import Message
from gateway.service.rounds import OpenRound

SITE = "testsite"


class Asked:
    """A store that notes what it is asked."""

    def __init__(self) -> None:
        self.keys: list[Any] = []
        self.answers: list[Any] = []

    def known(self, keys: Any, answers: Any) -> Known:
        self.keys, self.answers = list(keys), list(answers)
        return Known({}, {}, frozenset())

    def newest(self) -> Any:
        return {("node-0", b"key!"): (2, 9)}


def arrival(home: Any, name: str, plan: Any) -> Arrival:
    topic = wire.topic(SITE, name, "data")
    found = authenticate(Message(topic, home.answer(name, plan), (1, 1)), home.devices)
    assert isinstance(found, Arrival)
    return found


def opened(home: Any, plan: Any) -> OpenRound:
    places = {name: device.place for name, device in home.devices.by_name.items()}
    return OpenRound(plan, wire.name_of(plan), 100.0, places)


def test_of_a_round_of_honest_devices_nothing_is_asked(home: Any) -> None:
    """Five thousand a second leave no time for a question each."""
    plan, store = home.round(), Asked()
    arrivals = [arrival(home, name, plan) for name in home.nodes]

    judge.read_known(store, arrivals, opened(home, plan), {}, 1.0)

    assert store.keys == []


def test_whoever_may_have_come_before_is_asked_about(home: Any) -> None:
    """Numbers that are not above, another round, one that is over or answered, or none open."""
    plan, one = home.round(), arrival(home, "node-0", home.round())
    answered = opened(home, plan)
    answered.settle({"node-0": one.report})
    cases = [
        (opened(home, plan), {one.who: (1, 1)}, 1.0),
        (opened(home, plan), {one.who: (5, 0)}, 1.0),
        (opened(home, home.round(2)), {}, 1.0),
        (opened(home, plan), {}, 100.0),
        (answered, {}, 1.0),
        (None, {}, 1.0),
    ]
    for round, newest, now_s in cases:
        store = Asked()
        judge.read_known(store, [one], round, newest, now_s)

        assert store.keys == [one.key]
        assert store.answers == [(wire.name_of(plan), "node-0")]


def test_a_commit_whose_answer_was_lost_is_remembered() -> None:
    """Its messages are handed over again, and must not pass for new."""
    newest = {("node-0", b"key!"): (1, 1), ("node-1", b"key!"): (4, 4)}

    judge.recall(threading.Event(), Asked(), newest)

    assert newest == {("node-0", b"key!"): (2, 9), ("node-1", b"key!"): (4, 4)}
