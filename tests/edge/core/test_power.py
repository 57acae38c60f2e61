"""Power cuts at every byte of every write of a budget.

Cuts by chance are the audit's layer `crash`; slots that are spoilt are there and in `attack`.
Mistakes planted in `budget` hold both (tests/mutants).
"""

from typing import Any

import pytest

from edge.core.budget import COUNT, SIZE, Budget, Limits, unpack
from edge.host.enrol import Ram, provision
from edge.host.rootkeys import chain_at, first_chain, state_key
from gateway.audit.attacks.power import ENDINGS, PowerCut

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
