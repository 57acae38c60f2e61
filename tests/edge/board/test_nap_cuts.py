"""Power that fails in a deep sleep, before it and after it, ten thousand times: no epoch twice.

The witness writes down each epoch that was used and each price that was paid, outside of the
device, and holds the next start against it. Wrong ways to keep such a memory, at the end, are
seen by the same witness.
"""

import random
from typing import Any

import pytest

from edge.board.nap import WAKES, Nap
from edge.core.budget import Budget, Lost
from edge.core.slots import Ram
from edge.host.enrol import provision
from edge.host.rootkeys import first_chain
from tests.edge.board.test_nap import KEY, LIMITS, PRICE, ROOT, Rtc, enrolled


class Cut(Exception):
    """The power is gone."""


class Fading(Rtc):
    """A memory with a battery: at some of what is asked of it the power fails; noise is left."""

    def __init__(self, world: random.Random) -> None:
        super().__init__()
        self.world = world
        self.often = 0.0

    def __call__(self, *data: bytes) -> Any:
        if self.world.random() < self.often:
            if data and self.world.random() < 0.5:
                self.held = bytes(data[0])
            raise Cut
        return super().__call__(*data)

    def fade(self) -> None:
        kind = self.world.randrange(4)
        if kind == 0:
            self.held = b""
        elif kind == 1 and self.held:
            spoilt = bytearray(self.held)
            spoilt[self.world.randrange(len(spoilt))] ^= 1 << self.world.randrange(8)
            self.held = bytes(spoilt)
        elif kind == 2:
            self.held = self.world.randbytes(117)


class CutSlots(Ram):
    """Slots whose writes fail at times, with nothing, half or all of it done."""

    def __init__(self, world: random.Random) -> None:
        super().__init__()
        self.world, self.often = world, 0.0

    def write(self, i: int, data: bytes) -> None:
        if self.world.random() < self.often:
            super().write(i, self.world.choice([b"", data[:50], data]))
            raise Cut
        super().write(i, data)


def faults(made: Any, starts: int) -> set[str]:
    """Return what a witness saw go wrong over so many starts of a device with such a Nap."""
    world = random.Random(7)
    slots, rtc = CutSlots(world), Fading(world)
    provision(slots, KEY, first_chain(ROOT), LIMITS)
    slots.often = rtc.often = 0.05
    used: set[int] = set()
    paid, seen = 0, set()
    for number in range(starts):
        budget, nap = Budget(slots, KEY), made(rtc, KEY)
        try:
            budget.boot(nap)
            if budget.epoch in used:
                seen.add("an epoch again")
            used.add(budget.epoch)
            if budget.spent < paid:
                seen.add("answers forgotten")
            for _ in range(world.randrange(3)):
                if budget.charge(PRICE, number):
                    paid += PRICE
            if world.random() < 0.9:
                budget.sleep(nap)
        except Cut:
            pass
        except Lost:
            seen.add("lost")
            break
        if world.random() < 0.1:
            rtc.fade()
    return seen


@pytest.mark.long
def test_ten_thousand_starts_use_no_epoch_twice() -> None:
    """Whatever is cut: a write of the slots, of the memory, the sleep itself."""
    assert faults(Nap, 10_000) == set()


class NotErased(Nap):
    """Reads what was left and lets it lie."""

    def taken(self, record: Any) -> Any:
        held = self._memory()
        found = super().taken(record)
        self._memory(held)
        return found


class Unbound(Nap):
    """Believes what lies there, of whatever past it is."""

    def taken(self, record: Any) -> Any:
        from edge.core.budget import unpack

        left = unpack(bytes(self._memory()), self._key)
        self._memory(b"")
        return left


class Again(Nap):
    """Leaves the epoch that was used in place of the next one."""

    def leave(self, reserved: int, epoch: int, *rest: Any) -> None:
        super().leave(reserved, epoch - 1, *rest)


@pytest.mark.parametrize("wrong", [NotErased, Again])
def test_the_witness_sees_a_wrong_memory(wrong: type[Nap]) -> None:
    """Each is a mistake that a test with an even temper would let pass."""
    assert "an epoch again" in faults(wrong, 2000)


def test_what_is_of_the_past_is_not_believed() -> None:
    """A copy of the memory from before a boot by the slots alone."""
    for made, epoch in ((Nap, 2 * WAKES + 3), (Unbound, 2)):
        slots, rtc = enrolled(), Rtc()
        budget, nap = Budget(slots, KEY), made(rtc, KEY)
        budget.boot(nap)
        budget.sleep(nap)
        copy, rtc.held = rtc.held, b""
        Budget(slots, KEY).boot(nap)
        rtc.held = copy
        late = Budget(slots, KEY)
        late.boot(nap)
        assert late.epoch == epoch  # the second is the epoch of a boot whose noise may be known
