"""A fleet of `edge.net.device` on a broker, any number of them in one process.

Some threads share the devices, each with an event loop: an answer is paid for on the disk, and a
disk flushes for several in the time that it takes for one. A device lives again and again: it
says goodbye, or dies without. TLS and passwords are the gateway's own (`mqtt.access`): what
verifies the broker's certificate for one verifies it for all.

Devices that die without a goodbye and come back a while later: `heatveil fleet --churn`.
"""

import asyncio
import gc
import random
import resource
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

from edge.core import wire
from edge.mechanisms.secure_sum import ROUND_BYTES
from edge.net import tls
from edge.net.link import Pauses

from ...faults import LinkFault, OperatorFault
from ...logs import log
from ...service.mqtt import access
from ...service.mqtt.connection import TWICE, LinkState
from ...settings.deployment import Mqtt
from ..enrol.budgets import WRITERS
from .member import Line, Member, SharedState
from .spool import FrameCounts, Shelf, add_counts, make_memory_spool

LOOK_S = 0.02


OBJECTS = 100_000  # more than before: some 20 MB


@contextmanager
def collect_garbage_rarely() -> Iterator[None]:
    """Search less often while the block lasts."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


EACH, APART = 3, 200  # of a device: its connection, two pipes; and of all that is no device


def allow_open_files(devices: int) -> None:
    """Let this process open as many files as so many devices need.

    Raises:
        OperatorFault: it may not.
    """
    needed = EACH * devices + APART
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise OperatorFault(
            f"{devices} devices need {needed} open files and {hard} are allowed here; the rest "
            "would not reach the broker, or could not write their budgets. Ask for fewer with "
            f"--nodes, or allow more: ulimit -Hn {needed}, as root"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


class Loop:
    """The thread; `close` it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def run_on_loop(self, work: Coroutine[Any, Any, Any]) -> "Future[Any]":
        """Let work be done there; return what it will come to."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End what is still under way there, and the thread."""
        self.run_on_loop(_cancel_all()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def cancel_tasks(*tasks: "asyncio.Task[Any]") -> None:
    """Cancel these, until they are over.

    Once is not enough: before Python 3.12 a wait that ends in the same moment swallows it.
    """
    while left := [task for task in tasks if not task.done()]:
        for task in left:
            task.cancel()
        await asyncio.wait(left, timeout=0.1)


async def _cancel_all() -> None:
    await cancel_tasks(*(asyncio.all_tasks() - {asyncio.current_task()}))


class Entrance(tls.Door):
    """TLS to the broker, as `edge.net.mqtt` wants it; `why` it was not trusted, or ""."""

    def __init__(self, broker: Mqtt) -> None:
        super().__init__(broker.host, access.make_tls_context(broker))
        self._broker, self.why, self.final = broker, "", False

    def judged(self, why: Exception) -> Exception:
        """Return the fault in words for the operator where it is one of trust."""
        if isinstance(why, OSError) and (said := access.explain_distrust(self._broker, why)):
            self.why, self.final = said, access.is_certificate_at_fault(why)
            return LinkFault(said)
        return why


def describe_link_trouble(
    broker: Mqtt, name: str, door: Entrance | None, trouble: str
) -> LinkState:
    """Return how one device's link stands that is not up, by the trouble that it had."""
    session = LinkState(f"{broker.host}:{broker.port}", name)
    if door is not None and door.why:
        session.note_unwilling(door.why, final=door.final)
    elif trouble.startswith("the broker refuses"):
        session.note_refusal(trouble)
    elif trouble:
        session.note_failure(trouble)
    return session


FAREWELL_S = 2.0
OWN = ("identity", "budget")  # of a member; the rest are words of `edge.net.device.Device`


class Fleet(Protocol):
    """What devices are made of, by name, and what they read."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def find_member(self, name: str) -> Any: ...

    def read(self, name: str, params: Any) -> Any: ...

    def restart(self, name: str, budget: Any) -> None: ...


class FleetContext(NamedTuple):
    """What all devices of a fleet have in common."""

    broker: Mqtt
    door: Entrance | None
    fleet: Fleet
    spools: Callable[[str, bytes], Shelf]
    hall: SharedState
    turned: Callable[[str, bool], None]  # hears whose link is up, and whose is lost


class DeviceLife:
    """A device; its methods that wait are for one loop alone."""

    def __init__(self, name: str, broker: Mqtt, ground: FleetContext) -> None:
        """Begin as one that does not run. broker: as this device comes to it."""
        self.name, self.up, self.dead = name, False, False
        self._broker, self._ground = broker, ground
        self._tasks: list[asyncio.Task[Any]] = []
        self._identity = ground.fleet.find_member(name).identity
        self._shelf = ground.spools(name, self._identity.key_id)
        self._client: Line | None = None
        self._device: Member | None = None
        self._said = FrameCounts()  # on the link
        self._refused = 0  # in earlier lives

    async def start(self) -> None:
        """Start to run."""
        broker, member = self._broker, self._ground.fleet.find_member(self.name)
        who, budget = member.identity, member.budget
        client = Line(
            self.name,
            self._said,
            self._handle_link_change,
            broker.host,
            broker.port,
            access.make_client_id(broker, f"heatveil-{who.site}-{self.name}"),
            user=broker.username,
            password=access.read_password(broker),
            door=self._ground.door,
            will=(wire.topic(who.site, self.name, "state"), b"lost", 1, True),
            **({"limit": 2 * ROUND_BYTES} if hasattr(who, "roster") else {}),
        )
        client.pauses = Pauses(200, 2500)  # a broker on this machine is back in a moment
        read = partial(self._ground.fleet.read, self.name)
        own = {name: part for name, part in member._asdict().items() if name not in OWN}
        device = Member(self._ground.hall, who, budget, read, client, self._shelf, **own)
        device.node.recorded_ms = getattr(self._ground.fleet, "recorded_ms", None)
        self._client, self._device = client, device
        self._tasks = [asyncio.create_task(job) for job in (self._answer(device), client.run())]

    async def kill(self) -> None:
        """Be gone without a goodbye, as when the power fails."""
        self.dead = True
        await cancel_tasks(*self._tasks)
        self._ground.hall.leave(self.name)
        self._shelf.lose_memory()
        if self._device is not None:
            self._refused += self._device.refused
            self._device = None

    async def restart(self, budget: Any) -> None:
        """Come back with a budget that has booted, and with what the disk has kept."""
        self._ground.fleet.restart(self.name, budget)
        self.dead = False
        await self.start()

    async def disconnect(self) -> None:
        """Say goodbye and disconnect; what waits for its tick stays unsent."""
        if self._tasks and not self.dead:
            await cancel_tasks(self._tasks[0])
            await self._leave()
            await cancel_tasks(self._tasks[1])

    def count_frames(self) -> FrameCounts:
        """Return what has become of its frames till now."""
        shelf, refused = self._shelf, self._refused
        if self._device is not None:
            refused += self._device.refused
        kept = FrameCounts(0, 0, shelf.received, len(shelf), shelf.overwritten, refused)
        return add_counts([self._said, kept])

    @property
    def trouble(self) -> str:
        """Why it is not on the broker, as a sentence."""
        why = self._client.trouble if self._client is not None else ""
        name = f"heatveil-{self._identity.site}-{self.name}"
        return describe_link_trouble(self._broker, name, self._ground.door, why).trouble

    def _handle_link_change(self, up: bool) -> None:
        self.up = up
        self._ground.turned(self.name, up)

    async def _leave(self) -> None:
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
                log.exception("a virtual device failed; it starts again", device=self.name)
            await asyncio.sleep(1)


PATIENCE_S = 3.0  # till the first of them is on the broker
OFTEN, OFTEN_S = 3, 5.0  # losses of one device: a network does not fail like that


class Crowd:
    """The devices; a context manager."""

    def __init__(
        self,
        broker: Mqtt,
        fleet: Fleet,
        passwords: Mapping[str, str] | None = None,
        spools: Callable[[str, bytes], Shelf] = make_memory_spool,
        boot: Callable[[str], Any] | None = None,
        loops: int = WRITERS,
    ) -> None:
        """Open what devices have kept; they start when the block begins.

        Args:
            passwords: of each device at the broker; without any, all come as [mqtt] says.
            spools: gives the spool of a device by its name and key id.
            boot: gives a device that died its budget, booted once more.
            loops: how many threads share them.

        Raises:
            OperatorFault: a file that [mqtt] names cannot be used.
        """
        self.up: set[str] = set()
        self._losses: dict[str, list[float]] = {}
        self._told, self._boot, self._closing = False, boot, False
        door = None if broker.insecure else Entrance(broker)
        ground = FleetContext(broker, door, fleet, spools, SharedState(), self._handle_link_change)
        self.lives: dict[str, DeviceLife] = {}
        for name in fleet.names:
            own = (
                access.make_device_settings(broker, name, passwords[name]) if passwords else broker
            )
            self.lives[name] = DeviceLife(name, own, ground)
        self._loops: list[Loop] = []
        self._of: dict[str, Loop] = {}
        self._count = min(loops, len(self.lives))
        self._own = ExitStack()

    def __enter__(self) -> "Crowd":
        self._own.enter_context(collect_garbage_rarely())
        self._loops = [Loop(f"devices {number}") for number in range(self._count)]
        self._of = {name: self._loops[i % self._count] for i, name in enumerate(self.lives)}
        try:
            self._act_on_all_lives(DeviceLife.start)
        except BaseException:
            self.close()  # nobody else will
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_connected(
        self,
        tell: Callable[[int], None] = lambda up: None,
        over: threading.Event | None = None,
        patience_s: float | None = None,
    ) -> dict[str, str]:
        """Return who is still not on the broker once nobody comes any more, and why.

        Args:
            tell: hears from time to time how many are.
            over: ends the wait, and says nothing of who is missing.
            patience_s: how long nobody may come, in looks: while a machine is frozen nobody waits.

        Raises:
            LinkFault: none of them is.
        """
        over, looks = over or threading.Event(), round((patience_s or PATIENCE_S) / LOOK_S)
        left, before = looks, 0
        while before < len(self.lives) and left > 0:
            if over.wait(LOOK_S):
                return {}
            left -= 1
            if (found := len(self.up)) > before:
                left, before = looks, found
            tell(found)
        missing = {name: life.trouble for name, life in self.lives.items() if not life.up}
        if len(missing) == len(self.lives):
            raise LinkFault(next(iter(missing.values())))
        return missing

    def kill(self, name: str) -> None:
        """End one device without a goodbye."""
        self._of[name].run_on_loop(self.lives[name].kill()).result()

    def restart(self, name: str) -> None:
        """Let one that died come back."""
        if self._boot is not None:
            self._of[name].run_on_loop(self.lives[name].restart(self._boot(name))).result()

    @property
    def names(self) -> list[str]:
        """Who is in the fleet."""
        return list(self.lives)

    @property
    def counts(self) -> FrameCounts:
        """What has become of all frames."""
        return add_counts([life.count_frames() for life in self.lives.values()])

    def close(self) -> None:
        """Say goodbye for every device, and disconnect."""
        if not self._closing:
            self._closing = True
            self._act_on_all_lives(DeviceLife.disconnect)
            for loop in self._loops:
                loop.close()
            self._own.close()

    def _act_on_all_lives(self, act: Callable[[DeviceLife], Any]) -> None:
        done = [self._of[name].run_on_loop(act(life)) for name, life in self.lives.items()]
        for one in wait(done).done:
            one.result()

    def _handle_link_change(self, name: str, up: bool) -> None:
        """Note whose link is up; on the device's own thread."""
        if up:
            self.up.add(name)
            return
        self.up.discard(name)
        if self._closing or self.lives[name].dead:
            return
        lost, now_s = self._losses.setdefault(name, []), time.monotonic()
        lost[:] = [*lost[1 - OFTEN :], now_s]
        log.warning("the broker is lost; connecting again", device=name)
        if len(lost) == OFTEN and now_s - lost[0] <= OFTEN_S and not self._told:
            self._told = True
            log.warning(TWICE)


AWAY_S = (1.0, 10.0)  # how long one is gone, at least and at most


class Churn:
    """So many deaths a minute, at random moments; a context manager."""

    def __init__(self, fleet: Crowd, per_minute: float) -> None:
        self._fleet, self._pause_s = fleet, 60 / per_minute if per_minute > 0 else None
        self.deaths = self.returns = 0
        self._over = threading.Event()
        self._away: dict[str, float] = {}  # who, and for how many seconds more
        self._lost: set[str] = set()  # who cannot come back
        self._thread = threading.Thread(target=self._run, name="churn", daemon=True)

    def __enter__(self) -> "Churn":
        if self._pause_s is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let nobody die any more; who is away stays away."""
        self._over.set()
        if self._pause_s is not None:
            self._thread.join()

    def _run(self) -> None:
        mean_s = self._pause_s or 0.0
        next_s = random.expovariate(1) * mean_s
        while True:
            wait_s = min([next_s, *self._away.values()])
            if self._over.wait(wait_s):
                return
            next_s -= wait_s
            self._away = {name: left_s - wait_s for name, left_s in self._away.items()}
            for name in [name for name, left_s in self._away.items() if left_s <= 0]:
                del self._away[name]
                self._restart_device(name)
            if next_s <= 0:
                next_s = random.expovariate(1) * mean_s
                self._kill()

    def _kill(self) -> None:
        gone = self._away.keys() | self._lost
        alive = [name for name in self._fleet.names if name not in gone]
        if alive:
            name = random.choice(alive)
            self._fleet.kill(name)
            self.deaths += 1
            self._away[name] = random.uniform(*AWAY_S)

    def _restart_device(self, name: str) -> None:
        try:
            self._fleet.restart(name)
            self.returns += 1
        except OperatorFault as fault:
            self._lost.add(name)
            log.error(
                "a virtual device that was switched off cannot start again",
                device=name,
                why=str(fault),
            )
