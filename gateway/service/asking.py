"""A round between its plan and its opening: signed and numbered, with what came before a start.

And a round of ours that is met elsewhere: retained by the broker, or answered by a device.
"""

from collections.abc import Iterable
from typing import Any

from edge import wire
from edge.host import post
from edge.records import SealedRound
from edge.secure_sum import ROUND_BYTES

from ..devices.enrol.enrol import Devices
from ..faults import OperatorFault
from ..mechanisms import first_round, serving
from ..settings import config
from ..settings.deployment import Deployment
from ..store.round_rows import Lack
from .intake.genuine import Arrival, authenticate
from .intake.outcomes import Asked, Letter
from .ledger import price
from .mqtt.connection import Message
from .rounds import OpenRound
from .sealing import sealed_bytes

NEAR = 4096  # so many lost rounds are known again, and can be charged at once


def signed(planned: Any, number: int, devices: Devices, key: bytes = b"") -> Asked:
    """Return a planned round as it is sent, under a number that no device has passed.

    Args:
        key: the public key of a round of central trust.
    """
    plan = planned._replace(number=number)
    if key:
        plan = SealedRound(*(*plan, key))
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
    how: Any = {"sealed": sealed_bytes(asked.plan)}
    how["wrong"] = serving(asked.plan.mechanism).payload_fault(asked.plan)
    return OpenRound(asked.plan, asked.name, closes_s, places, answers, before=before, **how)


def opening(asked: Asked, devices: Devices) -> Letter:
    """Return the letter that asks a round, of whoever comes as long as it is open."""
    return Letter(0, wire.round_topic(devices.site, asked.plan.mechanism), asked.message, True)


def taken_back(mechanism: str, devices: Devices) -> Letter:
    """Return the letter after which nothing is asked any more."""
    return Letter(0, wire.round_topic(devices.site, mechanism), b"", True)


def met(message: bytes, mechanism: str, devices: Devices) -> Asked | None:
    """Return the round in a message, or None where this site did not sign it."""
    try:
        topic = wire.round_topic(devices.site, mechanism)
        plan = wire.unpack_round(message, devices.site_key, topic, ROUND_BYTES)
        rho = price(plan.guarantee)
    except (*wire.BROKEN, ArithmeticError):
        return None
    name = wire.name_of(plan)
    return Asked(name, name, plan, message, rho) if rho > 0 else None


class Foreseen:
    """The rounds that a deployment asks, by the four bytes that devices call them in answers."""

    def __init__(self, deployment: Deployment, devices: Devices) -> None:
        self._deployment, self._devices = deployment, devices
        self._next, self._numbers = 0, dict[bytes, int]()
        self._plan: Any = None

    def find(self, name: bytes, next: int) -> Asked | None:
        """Return the round of this name, where its number is within `NEAR` of the next one."""
        if self._next != next:
            query = None if self._plan else config.query(self._deployment)
            self._plan = self._plan or first_round(self._deployment, query)
            numbers = range(max(next - NEAR, 1), next + NEAR)
            self._numbers = {wire.name_of(self._plan._replace(number=n)): n for n in numbers}
            self._next = next
        number = self._numbers.get(name)
        return None if number is None else signed(self._plan, number, self._devices)


def lost(lack: Lack, devices: Devices) -> list[Asked]:
    """Return the rounds that a ledger lacks; between those that were found, they are as the next.

    Raises:
        OperatorFault: they are more than there can be, or not signed with the site's key.
    """
    number = max(lack.found)
    if number - lack.last > NEAR:
        raise OperatorFault(
            f"round {number} was found and the ledger ends with round {lack.last}; no more than "
            f"{NEAR} rounds are charged at once, for a gateway hardly asked so many since, and "
            "somebody may have the site's key. Enrol again, in a new folder"
        )
    rounds, one = list[Asked](), None
    for at in range(number, lack.last, -1):
        if at in lack.found:
            mechanism, message = lack.found[at]
            one = met(message, mechanism, devices)
            if one is None:
                raise OperatorFault(
                    f"round {number} was found for a site key that is not in the devices file of "
                    "this deployment, and only what this site signed is charged to it. Name the "
                    "devices file that the gateway had, under [site] devices"
                )
        elif one is not None:
            one = signed(one.plan, at, devices)
        rounds += [one] if one else []
    return rounds[::-1]
