"""Power cuts: at every byte of every write, and ten thousand by chance; and the flash's own moods.

The wrong budgets at the end show that the same witness sees each way to get it wrong.
"""

from collections.abc import Callable
from typing import Any

import pytest

from edge.core.budget import SIZE, Budget, Copies, Lost, Record, pack, unpack
from edge.core.limits import Limits
from edge.core.slots import COUNT, Ram
from edge.host.enrol import provision
from edge.host.rootkeys import chain_at, first_chain, state_key
from gateway.audit.attacks.power import ENDINGS, LEASE, Flash, PowerCut, live

ROOT = bytes(range(32))
KEY = state_key(ROOT)
LIMITS = Limits(1, 8, 400, 10_000, 1000, 0)
TIGHTER = LIMITS._replace(version=2, variance=20_000, budget=900)


def enrolled() -> Ram:
    """Return the slots of a device that has started once before."""
    slots = Ram()
    provision(slots, KEY, first_chain(ROOT), LIMITS)
    Budget(slots, KEY).boot()
    return slots


def day(slots: Any, said: list[str]) -> None:
    """Boot, two leases, a tightening, one more lease, and the end of the budget."""
    budget = Budget(slots, KEY, 2)
    budget.boot()
    said.append("booted")
    for round in (1, 2, 3):
        assert budget.charge(40, round)
        said.append("answered")
    budget.tighten(TIGHTER)
    said.append("tightened")
    assert budget.charge(40, 4)
    assert budget.charge(40, 5)
    said.append("answered twice")
    assert not budget.charge(800, 6)
    said.append("closed")


class Cut(Ram):
    """Power fails at one byte of one write, which leaves one of the possible endings."""

    def __init__(self, held: list[bytes], write: int, byte: int, ending: str) -> None:
        super().__init__()
        self._held = list(held)
        self._where = (write, byte, ending)

    def write(self, i: int, data: bytes) -> None:
        left, byte, ending = self._where
        self._where = (left - 1, byte, ending)
        if left:
            super().write(i, data)
            return
        old, size = self._held[i], len(data) - byte
        rest = {"old": old[byte:], "none": b"", "erased": b"\xff" * size, "noise": b"\x5a" * size}
        self._held[i] = data[:byte] + rest[ending]
        raise PowerCut


def writes_of_a_day() -> int:
    write = 0
    while True:
        try:
            day(Cut(enrolled()._held, write, 0, "none"), [])
        except PowerCut:
            write += 1
        else:
            return write


@pytest.mark.parametrize("write", range(writes_of_a_day()))
def test_a_power_cut_at_any_byte_of_any_write_loses_nothing(write: int) -> None:
    """Every write of a boot, of leases, of a tightening and of the end, at every byte."""
    held = enrolled()._held
    for ending in ENDINGS:
        for byte in range(SIZE + 1):
            flash, said = Cut(held, write, byte, ending), []
            with pytest.raises(PowerCut):
                day(flash, said)
            after = Ram()
            after._held = flash._held
            budget = Budget(after, KEY, 2)
            budget.boot()
            answered = 40 * said.count("answered") + 80 * said.count("answered twice")

            assert budget.epoch > (2 if "booted" in said else 1)
            assert budget.chain == chain_at(ROOT, budget.epoch)
            assert answered <= budget.spent <= 900 + 100 * ("tightened" not in said)
            assert "tightened" not in said or budget.limits == TIGHTER
            assert "closed" not in said or budget.exhausted
            assert all(unpack(after.read(i), KEY) for i in range(COUNT))


def test_a_day_has_as_many_writes_as_were_cut() -> None:
    """Three for each of six changes; were a change not written, the test above would be blind."""
    assert writes_of_a_day() == 18


@pytest.mark.long
def test_ten_thousand_power_cuts_break_nothing() -> None:
    """No block of noise twice, nothing forgotten, no limit loosened, and no key lost by them."""
    seen = live(10_000, b"ten thousand")

    assert seen.faults == []
    assert seen.lost == 0
    assert seen.cuts >= 10_000
    assert min(seen.answers, seen.tightened, seen.ended) > 500


@pytest.mark.long
def test_nor_do_spoilt_slots_and_writes_that_are_not_done() -> None:
    """Then a key may be lost, and is, but nothing is answered that was not paid for."""
    seen = live(4000, b"spite", spite=20)

    assert seen.faults == []
    assert min(seen.lost, seen.ended) > 100


class Late(Budget):
    """Answers first and writes it down when it is next asked."""

    late: tuple[Any, ...] = ()

    def charge(self, price: int, round: int) -> bool:
        if self.late:
            self._put(*self.late)
        self.late = ()
        real, self._put = self._put, self._note  # type: ignore[method-assign]
        paid = super().charge(price, round)
        self._put = real  # type: ignore[method-assign]
        return paid

    def _note(self, *record: Any) -> None:
        self.late = record
        self._end = record[1]


class Part(Budget):
    """Writes what it has used, not the end of the lease that it goes on to use."""

    def _put(self, epoch: int, spent: int, *rest: Any) -> None:
        super()._put(epoch, self.spent if self.epoch else spent, *rest)
        self._end = spent


class Blind(Copies):
    """Believes that what it wrote is there."""

    def _look(self, i: int) -> Any:
        return self._held[i] if self._counter else super()._look(i)

    def put(self, *record: Any) -> None:
        for i in self._order:
            self._counter += 1
            self._slots.write(i, pack(Record(self._counter, *record, b""), self._key))


class Turns(Copies):
    """Writes some of the slots at each change, the oldest first, and not all."""

    often = 1

    def put(self, *record: Any) -> None:
        for _ in range(self.often):
            i = self._order.pop(0)
            self._order.append(i)
            self._counter += 1
            self._slots.write(i, pack(Record(self._counter, *record, b""), self._key))


class TwoTurns(Turns):
    """Writes two at each change: an old copy of one and another lost take back the last change."""

    often = 2


class Trusting(Copies):
    """Takes what verifies, one slot alone as well, whatever the others say."""

    def newest(self) -> Any:
        try:
            return super().newest()
        except Lost:
            found = [unpack(data, self._key) for data in self._held]
            if not any(found):
                raise
            self._counter = max(filter(None, found)).counter
            return max(filter(None, found))


class Afresh(Budget):
    """Starts anew where the slots are bad."""

    def boot(self) -> None:
        try:
            super().boot()
        except Lost:
            slots = Ram()
            provision(slots, KEY, bytes(32), Limits(1, 4, 1, 1, 10**12, 0))
            self.__init__(slots, KEY)  # type: ignore[misc]
            super().boot()


class Forgetful(Budget):
    """Renews its budget at every eighth start, as a clock that is set from outside would."""

    def boot(self) -> None:
        super().boot()
        if self.epoch % 8 == 0:
            self.spent = self._end = 0


class Same(Budget):
    """Raises the epoch in memory alone."""

    def boot(self) -> None:
        super().boot()
        self.epoch = 1


class Loose(Budget):
    """Keeps tighter limits in memory alone."""

    def tighten(self, limits: Any) -> None:
        self.limits = limits


class Unflushed:
    """The same flash behind a cache that nobody flushes: read-back sees what a cut forgets."""

    def __init__(self, flash: Flash) -> None:
        self._flash = flash
        self._cached: dict[int, bytes] = {}

    def read(self, i: int) -> bytes:
        """Return what slot i seems to hold."""
        return self._cached.get(i, self._flash.read(i))

    def write(self, i: int, data: bytes) -> None:
        """Put data into the cache, where it stays."""
        self._cached[i] = bytes(data)
        self._flash.writes += 1
        if self._flash.fuse == 0:
            raise PowerCut
        self._flash.fuse -= 1


def wrong(budget: Any = Budget, copies: type[Copies] | None = None) -> Callable[..., Budget]:
    def start(flash: Flash, key: bytes) -> Budget:
        made = budget(flash, key, LEASE)
        if copies:
            made._copies = copies(flash, key)
        return made

    return start


@pytest.mark.parametrize(
    ("start", "spite", "fault"),
    [
        (wrong(Late), 0, "it counts less than it answered"),
        (wrong(Part), 0, "it counts less than it answered"),
        (wrong(Same), 0, "an epoch came again"),
        (wrong(Loose), 0, "its limits are looser than it confirmed"),
        (wrong(Forgetful), 0, "it counts less than it answered"),
        (lambda flash, key: Budget(Unflushed(flash), key, LEASE), 0, "an epoch came again"),
        (wrong(copies=Blind), 20, "it counts less than it answered"),
        (wrong(copies=Turns), 20, "it counts less than it answered"),
        (wrong(copies=TwoTurns), 20, "it counts less than it answered"),
        (wrong(copies=Trusting), 20, "it counts less than it answered"),
        (wrong(copies=Trusting), 20, "an epoch came again"),
        (wrong(Afresh), 20, "an epoch came again"),
    ],
)
def test_each_way_to_get_it_wrong_is_seen(start: Any, spite: int, fault: str) -> None:
    """A witness that passes a wrong budget would prove nothing of the right one."""
    assert fault in live(500, b"wrong", start, spite).faults
