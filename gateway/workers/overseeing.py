"""What the leader sees of the workers: who is at work, what is nobody's, whom they suspect."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy.exc import DatabaseError

from ..deployment import Deployment
from ..intake.outcomes import Alarm, Who
from ..operate.health import Health
from ..storage.store import Store
from . import roll
from .roll import Roll

LOOK_S = 1.0


class Said(NamedTuple):
    """How the part "workers" is."""

    ok: bool
    why: str


class Overseer:
    """Looks at what is in the database, whichever worker wrote it."""

    def __init__(
        self,
        deployment: Deployment,
        store: Store,
        health: Health | None,
        alarm: Callable[[Sequence[Alarm]], None],
    ) -> None:
        """Begin with the alarms that there are, which are no news.

        Args:
            alarm: hears of devices that need a new key.
        """
        self._workers, self._store = deployment.workers, store
        self._health, self._alarm = health, alarm
        self._alarms: dict[Who, tuple[str, int]] = store.alarms()

    def look(self, mark: int) -> None:
        """Say how the workers are, and who needs a new key since the last time.

        Args:
            mark: of the devices that the leader knows.
        """
        shape = self._workers.lease_s, self._workers.partitions
        try:
            found = roll.called(self._store.engine, *shape)
            self._suspect()
        except DatabaseError as fault:
            self._tell("store", Said(False, f"the database does not answer: {fault.orig}"))
            return
        self._tell("store", Said(True, ""))
        self._tell("workers", told(found, mark))

    def _suspect(self) -> None:
        was, self._alarms = self._alarms, self._store.alarms()
        news = [
            Alarm(*who, found[0]) for who, found in self._alarms.items() if was.get(who) != found
        ]
        if news:
            self._alarm(news)

    def _tell(self, part: str, said: Said) -> None:
        if self._health is not None:
            self._health.say(part, *said)


def told(found: Roll, mark: int) -> Said:
    """Return how the workers are, in words.

    >>> from .roll import Member
    >>> told(Roll([Member("ada-1-f00", 7, True, 2), Member("bob-2-f00", 7, False, 0)], []), 7).why
    '1 at work: ada-1-f00 has 2 parts; gone without a goodbye: bob-2-f00'
    """
    alive = [one for one in found.members if one.alive]
    each = ", ".join(f"{one.holder} has {one.parts} parts" for one in alive)
    words = [f"{len(alive)} at work: {each}" if alive else "none is at work"]
    if gone := [one.holder for one in found.members if not one.alive]:
        words.append(f"gone without a goodbye: {', '.join(gone)}")
    wrong = []
    if found.nobodys:
        parts = " ".join(map(str, found.nobodys))
        wrong.append(f"nobody has part {parts}, whose devices wait at the broker")
    if old := [one.holder for one in alive if one.mark != mark]:
        wrong.append(
            f"{', '.join(old)} works with another devices file than this gateway: give both the "
            "same, and send them SIGHUP"
        )
    return Said(not wrong, "; ".join(wrong + words))
