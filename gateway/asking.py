"""A round between its plan and its opening: signed and numbered, with what came before a start."""

from collections.abc import Iterable
from typing import Any

from edge import wire
from edge.host import post

from .enrolment.enrol import Devices
from .intake.genuine import Arrival, authenticate
from .intake.outcomes import Asked, Letter
from .ledger import price
from .mechanisms.served import wrong_in
from .mqtt.session import Message
from .rounds import OpenRound


def signed(planned: Any, number: int, devices: Devices) -> Asked:
    """Return a planned round as it is sent, under a number that no device has passed."""
    plan = planned._replace(number=number)
    topic = wire.round_topic(devices.site, plan.mechanism)
    message = post.pack_round(plan, devices.site_key, topic)
    return Asked(wire.name_of(planned), wire.name_of(plan), plan, message, price(plan.guarantee))


def opened(
    asked: Asked, devices: Devices, stored: Iterable[tuple[str, bytes]], closes_s: float
) -> OpenRound:
    """Return the open round, with the answers (device, frame) that were stored before a start.

    An answer under a key that is no more does not count, and its device has answered all the same.
    """
    stored = list(stored)
    places = {name: device.place for name, device in devices.by_name.items()}
    found = [
        authenticate(Message(wire.topic(devices.site, name, "data"), frame, (0, 0)), devices)
        for name, frame in stored
    ]
    answers = {one.report.sender: one.report for one in found if isinstance(one, Arrival)}
    before = frozenset(name for name, _ in stored if name in places) - answers.keys()
    wrong = wrong_in(asked.plan)
    return OpenRound(asked.plan, asked.name, closes_s, places, answers, before=before, wrong=wrong)


def opening(asked: Asked, devices: Devices) -> Letter:
    """Return the letter that asks a round, of whoever comes as long as it is open."""
    return Letter(0, wire.round_topic(devices.site, asked.plan.mechanism), asked.message, True)


def taken_back(mechanism: str, devices: Devices) -> Letter:
    """Return the letter after which nothing is asked any more."""
    return Letter(0, wire.round_topic(devices.site, mechanism), b"", True)
