"""One answer for all who ask the same: pages do, all at once, whenever something has happened.

An answer is good for a second, or until something is told. Two hundred pages that ask for the
devices when a round has closed are so one look at the store, and not two hundred.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import NamedTuple

from .feed import Feed
from .reading import Reading

FRESH_S = 1.0
HELD = 32  # answers; of maps, the largest, that is a few megabytes


class _Answer(NamedTuple):
    body: "asyncio.Task[bytes]"
    told: int
    until_s: float


class Shared:
    """The answers of the last moment; lives on the event loop."""

    def __init__(self, reading: Reading, feed: Feed) -> None:
        self._reading, self._feed = reading, feed
        self._held: OrderedDict[Hashable, _Answer] = OrderedDict()

    async def answer(self, asked: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what `make` returns, or did for somebody else just now.

        Raises:
            Refusal: there is no answer; the next to ask has another try.
        """
        now_s, told = asyncio.get_running_loop().time(), self._feed.number
        held = self._held.pop(asked, None)
        if held is None or held.told != told or held.until_s < now_s or _failed(held.body):
            reading = asyncio.ensure_future(self._reading.run(make))
            reading.add_done_callback(_failed)  # looked at, even if whoever asked has gone
            held = _Answer(reading, told, now_s + FRESH_S)
        self._held[asked] = held
        if len(self._held) > HELD:
            self._held.popitem(last=False)
        return await asyncio.shield(held.body)


def _failed(body: "asyncio.Task[bytes]") -> bool:
    return body.done() and (body.cancelled() or body.exception() is not None)
