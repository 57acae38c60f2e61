"""A round that was open when the gateway ended, and a device that has new keys since."""

import time
from pathlib import Path
from typing import Any

from edge.core import wire
from gateway.service import steps
from gateway.service.intake.outcomes import Asked, Kept
from gateway.service.intake.writer import Intake
from gateway.service.ledger import Charge, price
from gateway.service.mqtt.connection import Message
from gateway.store.store import Store

SITE, PATIENCE_S = "testsite", 10.0


class Link:
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
    plan, store, link = home.round(), Store(tmp_path / "heatveil.sqlite", SITE), Link()
    cost, name = price(plan.guarantee), wire.name_of(plan)
    asked = Asked(name, name, plan, b"message", cost)
    assert store.open_round(asked, 9 * cost) == ""
    store.keep([Kept("node-0", 7, 7, name, b"signed with an older key", b"old!")], [])

    round = steps.opened(asked, home.devices, store.answers(name), time.monotonic() + 60)
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
