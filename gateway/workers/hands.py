"""The parts in a worker's hands: those it works on, and those it is about to give back."""

import threading
import time
from collections.abc import Collection, Iterable, Sequence

import structlog

from ..devices.enrol.enrol import Devices
from ..storage.leases import Lease
from .part import Part, Surroundings
from .parts import devices_of

log = structlog.get_logger()


class Hands:
    """The parts by their leases; for one thread, but for `parts`, which any may ask for."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._parts: dict[Lease, Part] = {}
        self._leaving: dict[Lease, threading.Thread] = {}

    @property
    def parts(self) -> list[int]:
        """The parts that are worked on, in order."""
        return sorted(lease.part for lease in list(self._parts))

    @property
    def held(self) -> list[Lease]:
        """All leases that must be renewed, those too of which we are about to let go."""
        return [*self._parts, *self._leaving]

    def begin(self, taken: Sequence[Lease], until_s: float, around: Surroundings) -> None:
        """Work on these parts, surely ours until then."""
        for lease in taken:
            self._parts[lease] = Part(lease, until_s, around)
        if taken:
            log.info("parts taken", part=_listed(taken), of=self._partitions)

    def keep(self, kept: Collection[Lease], until_s: float) -> None:
        """Let go of all parts but these, which are surely ours until then."""
        for lease in kept & self._parts.keys():
            self._parts[lease].sure_until_s = until_s
        self._leave([part for lease, part in self._parts.items() if lease not in kept])

    def at_most(self, quota: int) -> int:
        """Let go of what is too much; return how many more there may be."""
        self._leave([self._parts[lease] for lease in sorted(self._parts)[quota:]])
        return quota - len(self._parts)

    def only_sure(self) -> None:
        """Let go of parts that another may have by now."""
        self._leave([part for part in self._parts.values() if not part.surely_ours()])

    def know(self, devices: Devices) -> None:
        """Let go of parts whose devices are others now: they are begun anew."""
        new = {lease: devices_of(devices, lease.part, self._partitions) for lease in self._parts}
        self._leave([part for part in self._parts.values() if part.devices != new[part.lease]])

    def gone(self) -> list[Lease]:
        """Return the leases that nobody works for any more, and forget them."""
        gone = [lease for lease, closing in self._leaving.items() if not closing.is_alive()]
        for lease in gone:
            del self._leaving[lease]
        return gone

    def end(self, patience_s: float) -> None:
        """Let go of everything, and wait for the last commits."""
        self.at_most(0)
        until_s = time.monotonic() + patience_s
        for closing in self._leaving.values():
            closing.join(max(until_s - time.monotonic(), 0))

    def _leave(self, parts: Sequence[Part]) -> None:
        """Begin to close parts; meanwhile they are still ours, so that nobody else begins.

        Each waits for its last commit and for the broker, and we must not: others' leases run.
        """
        for part in parts:
            del self._parts[part.lease]
            closing = threading.Thread(target=part.close, name="goodbye", daemon=True)
            self._leaving[part.lease] = closing
            closing.start()
        if parts:
            left = _listed(part.lease for part in parts)
            log.info("parts left", part=left, of=self._partitions)


def _listed(leases: Iterable[Lease]) -> str:
    return " ".join(str(lease.part) for lease in sorted(leases))
