"""What is on its way to the broker is waited for, and holds nothing up for ever."""

import asyncio
from typing import Any

from edge.net.mqtt import Window


class Way:
    """A link to a broker that takes everything and acknowledges nothing."""

    up, wait_ms = True, 5

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.trouble = ""

    async def send(self, packet: Any) -> bool:
        self.sent.append(bytes(packet))
        return True

    def end(self, why: str) -> None:
        self.trouble = why
        self.up = False


def test_a_message_that_was_given_up_does_not_keep_the_next_ones_out_for_ever() -> None:
    """A receipt may come where the broker owes its PUBACK: then nobody asks for that one again."""

    async def life() -> Way:
        way = Way()
        window = Window(1, way)
        assert not await window.deliver("data", b"a frame", False)
        for word in (b"ready", b"alert"):
            assert not await window.deliver("state", word, True)
        return way

    way = asyncio.run(life())

    assert len(way.sent) == 1
    assert way.trouble == "no PUBACK came in 5 ms"
