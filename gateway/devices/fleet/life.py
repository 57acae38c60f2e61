"""One device of a fleet from start to end, again and again: it says goodbye, or dies without."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

import structlog

from edge import wire
from edge.pause import Pauses

from ...mqtt import access
from ...operating import Mqtt
from .counts import Counts
from .entrance import Entrance, standing
from .loops import ended
from .member import Hall, Line, Member
from .shelf import Shelf
from .spool import Spool

FAREWELL_S = 2.0
OWN = ("identity", "budget")  # of a member; the rest are words of `edge.device.Device`

log = structlog.get_logger()


class Fleet(Protocol):
    """What devices are made of, by name, and what they read."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def member(self, name: str) -> Any: ...

    def read(self, name: str, params: Any) -> Any: ...

    def starts_again(self, name: str, budget: Any) -> None: ...


class Ground(NamedTuple):
    """What all devices of a fleet have in common."""

    broker: Mqtt
    door: Entrance | None
    fleet: Fleet
    spools: Callable[[str, bytes], Spool]
    hall: Hall
    turned: Callable[[str, bool], None]  # hears whose link is up, and whose is lost


class Life:
    """A device; its methods that wait are for one loop alone."""

    def __init__(self, name: str, broker: Mqtt, ground: Ground) -> None:
        """Begin as one that does not run. broker: as this device comes to it."""
        self.name, self.counts, self.up, self.dead = name, Counts(), False, False
        self._broker, self._ground = broker, ground
        self._tasks: list[asyncio.Task[Any]] = []
        self._identity = ground.fleet.member(name).identity
        self._shelf = self._opened()
        self.counts.found = len(self._shelf)
        self._client: Line | None = None
        self._device: Member | None = None
        self._refused = 0  # in earlier lives

    async def begin(self) -> None:
        """Start to run."""
        broker, member = self._broker, self._ground.fleet.member(self.name)
        who, budget = member.identity, member.budget
        client = Line(
            self._ground.hall,
            self.name,
            self.counts,
            self._turned,
            broker.host,
            broker.port,
            access.client_id(broker, f"heatveil-{who.site}-{self.name}"),
            user=broker.username,
            password=access.password(broker),
            door=self._ground.door,
            will=(wire.topic(who.site, self.name, "state"), b"lost", 1, True),
        )
        client.pauses = Pauses(200, 2500)  # a broker on this machine is back in a moment
        read = partial(self._ground.fleet.read, self.name)
        own = {name: part for name, part in member._asdict().items() if name not in OWN}
        device = Member(self._ground.hall, who, budget, read, client, self._shelf, **own)
        device.node.recorded_ms = getattr(self._ground.fleet, "recorded_ms", None)
        self._client, self._device = client, device
        self._tasks = [asyncio.create_task(job) for job in (self._answer(device), client.run())]

    async def die(self) -> None:
        """Be gone without a goodbye, as when the power fails."""
        self.dead = True
        await ended(*self._tasks)
        self._ground.hall.leave(self.name)
        self._shelf.abandon()
        self._refused, self._device = self.counted().refused, None

    async def again(self, budget: Any) -> None:
        """Come back with a budget that has booted, and with what the disk has kept."""
        self._ground.fleet.starts_again(self.name, budget)
        self._shelf, self.dead = self._opened(), False
        await self.begin()

    async def leave(self) -> None:
        """Say goodbye and disconnect; what waits for its tick stays unsent."""
        if self._tasks and not self.dead:
            await ended(self._tasks[0])
            await self._farewell()
            await ended(self._tasks[1])

    def counted(self) -> Counts:
        """Return what has become of its frames till now."""
        self.counts.refused = self._refused + (self._device.refused if self._device else 0)
        return self.counts

    @property
    def trouble(self) -> str:
        """Why it is not on the broker, as a sentence."""
        why = self._client.trouble if self._client is not None else ""
        name = f"heatveil-{self._identity.site}-{self.name}"
        return standing(self._broker, name, self._ground.door, why).trouble

    def _opened(self) -> Shelf:
        spool = self._ground.spools(self.name, self._identity.key_id)
        return Shelf(spool, self.name, self.counts)

    def _turned(self, up: bool) -> None:
        self.up = up
        self._ground.turned(self.name, up)

    async def _farewell(self) -> None:
        if self._client is not None and self._client.connected:
            where = wire.topic(self._identity.site, self.name, "state")
            with suppress(asyncio.TimeoutError):
                said = self._client.publish(where, b"disconnected", 1, True)
                await asyncio.wait_for(said, FAREWELL_S)
            await self._client.stop()

    async def _answer(self, device: Member) -> None:
        while True:
            try:
                await device.run()
            except Exception:  # one broken device must not silence the others
                log.exception("a device could not go on", device=self.name)
            await asyncio.sleep(1)
