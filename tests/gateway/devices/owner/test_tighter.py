"""What devices say to tighter limits: anybody with a device's password may say anything."""

from typing import Any

import pytest

from edge.limits import Limits
from gateway.devices.owner.tighten import Answers
from gateway.mqtt.connection import Message

SENT = {"node-1": Limits(2, 0, 1, 1, 1, 0)}


class Link:
    """Counts what is let go of."""

    def __init__(self) -> None:
        self.gone = 0

    def ack(self, message: Message) -> None:
        self.gone += 1


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"7", b"\xff", b'{"verb": "limits"}', b"[" * 30_000, b'{"a":' * 5000],
)
def test_what_is_no_answer_ends_nothing(payload: bytes) -> None:
    """It would take the answers with it that came behind it."""
    answers, link = Answers(SENT), Link()
    bringing: Any = link
    answers.take(bringing, Message("heatveil/1/lab/node-1/ack", payload, (1, 1)))

    assert link.gone == 1
    assert not answers.taken
    assert not answers.refused
    taken = b'{"verb": "limits", "version": 2, "taken": true, "why": ""}'
    answers.take(bringing, Message("heatveil/1/lab/node-1/ack", taken, (1, 2)))
    assert answers.taken == {"node-1"}
