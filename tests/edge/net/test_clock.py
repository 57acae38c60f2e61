"""The time of day is asked for until it is known, and a silent server stops nothing else."""

import asyncio
from itertools import count

from edge.net.clock import Clock, ask


def test_it_is_asked_for_until_it_is_known() -> None:
    """No network, then a server that is silent, then one that answers."""
    clock, looks, asked, slept = Clock(), count(), [], []

    def settime() -> None:
        asked.append(1)
        if len(asked) < 3:
            raise OSError(110)

    async def sleep_ms(ms: int) -> None:
        slept.append(ms)

    asyncio.run(ask(clock, lambda: next(looks) > 1, settime, sleep_ms))

    assert (clock.by, len(asked), len(slept)) == ("ntp", 3, 4)
    assert min(slept) >= 4000  # a server throws out who asks more often
