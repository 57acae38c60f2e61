"""How tests wait for what other threads and processes do, and hear what a broker says."""

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gateway.faults import LinkFault
from gateway.service.mqtt.connection import Message
from gateway.service.mqtt.pump import Pump
from gateway.service.mqtt.service import Link
from gateway.settings.deployment import Mqtt


def eventually(true: Callable[[], Any], patience_s: float = 60.0, every_s: float = 0.01) -> bool:
    """Wait until it is true; return whether it came to that.

    Patience is a number of looks: while a machine is frozen or has no time for us, nobody waits.
    """
    for _ in range(round(patience_s / every_s)):
        if true():
            return True
        time.sleep(every_s)
    return bool(true())


def may_come(pump: Pump, mqtt: Mqtt, site: str = "testsite") -> bool:
    """Return whether a broker lets a device in, under the session that is its own."""
    link = Link(mqtt, f"heatveil-{site}-{mqtt.username}", pump, lasting=False)
    try:
        link.wait_connected(10)
    except LinkFault:
        return False
    link.close()
    return True


@contextmanager
def hearing(mqtt: Mqtt, *topics: str, session: str = "") -> Iterator[list[Message]]:
    """Hear these topics, what is retained first, or what waits in a session; all is let go of."""
    heard: list[Message] = []

    def take(link: Link, message: Message) -> None:
        link.acknowledge(message)
        heard.append(message)

    own: dict[str, Any] = {"subscribe": topics, "on_message": take, "lasting": bool(session)}
    with Pump("hears") as pump:
        link = Link(mqtt, session or f"hears-{uuid.uuid4().hex[:8]}", pump, **own).wait_connected()
        try:
            yield heard
        finally:
            link.close()
            if session:  # which a clean start ends
                Link(mqtt, session, pump, lasting=False).wait_connected().close()


def find_kept(mqtt: Mqtt, *topics: str, session: str = "") -> list[Message]:
    """Return all that a broker retains at these topics, or keeps for a session.

    What is published after that comes after it, so a word of our own ends it.
    """
    own = f"kept/{uuid.uuid4().hex}"
    with hearing(mqtt, *topics, own, session=session) as heard, Pump("speaks") as pump:
        link = Link(mqtt, own, pump, lasting=False).wait_connected()
        link.publish(own, b"")
        assert eventually(lambda: any(one.topic == own for one in heard))
        link.close()
    return [one for one in heard if one.topic != own]
