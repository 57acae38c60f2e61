"""The budget: counted before it is used, and never given back by any power cut."""

from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import pytest

from edge.core.budget import BEHIND, COUNT, SIZE, Budget, Limits, Lost, Record, pack, unpack
from edge.core.wire import Fault
from edge.host.enrol import Ram, provision
from edge.host.rootkeys import chain_at, first_chain, state_key

ROOT = bytes(range(32))
KEY = state_key(ROOT)
LIMITS = Limits(1, 8, 400, 10_000, 1000, 0)
TIGHTER = LIMITS._replace(version=2, variance=20_000, budget=900)


def enrolled(limits: Limits = LIMITS) -> Ram:
    slots = Ram()
    provision(slots, KEY, first_chain(ROOT), limits)
    return slots


def started(slots: Any, lease: int = 3) -> Budget:
    budget = Budget(slots, KEY, lease)
    budget.boot()
    return budget


def told(slots: Any) -> list[Record]:
    """Return what the slots say, the oldest first."""
    found = [unpack(slots.read(i), KEY) for i in range(COUNT)]
    assert None not in found
    return sorted(found)


def test_a_new_device_has_its_whole_budget_and_the_first_chain() -> None:
    """Boot 1 is the first that draws noise."""
    budget = started(enrolled())

    assert (budget.epoch, budget.spent, budget.left, budget.round) == (1, 0, 1000, -1)
    assert budget.chain == chain_at(ROOT, 1)
    assert budget.limits == LIMITS
    assert (budget.exhausted, budget.fault, budget.mended) == (False, "", "")


def test_each_boot_raises_the_epoch_and_erases_the_chain_key_before_it() -> None:
    """A stream used twice gives two readings' exact difference; a thief must not go back."""
    slots = enrolled()
    for epoch in range(1, 6):
        budget = started(slots)

        assert (budget.epoch, budget.chain) == (epoch, chain_at(ROOT, epoch))
        assert [record.epoch for record in told(slots)] == [epoch] * COUNT
        for older in range(1, epoch):
            assert all(chain_at(ROOT, older) not in slots.read(i) for i in range(COUNT))


def test_an_answer_is_in_every_slots_before_it_is_paid() -> None:
    """Whatever happens after the charge, one slot may be lost and it still counts."""
    slots = enrolled()
    budget = started(slots)
    for round in range(20):
        assert budget.charge(40, round)
        assert all(record.spent >= 40 * (round + 1) for record in told(slots))
        assert all(record.spent <= 40 * (round + 3) for record in told(slots))


@pytest.mark.parametrize("lease", [1, 3, 8])
def test_an_answer_costs_three_writes_over_the_lease(lease: int) -> None:
    """Flash wears out: a million erasures of a block are few for an answer a minute."""
    writes: list[int] = []

    class Counted(Ram):
        def write(self, i: int, data: bytes) -> None:
            writes.append(i)
            super().write(i, data)

    slots = Counted()
    provision(slots, KEY, first_chain(ROOT), LIMITS)
    budget = started(slots, lease)
    writes.clear()
    for round in range(24):
        budget.charge(1, round)

    assert len(writes) == 3 * 24 // lease
    assert writes.count(0) == writes.count(1) == writes.count(2)


def test_a_whole_lease_counts_as_spent_after_a_power_cut() -> None:
    """Nobody knows how much of it was used, so all of it was; and no more than it."""
    slots = enrolled()
    budget = started(slots)
    for round in range(4):
        budget.charge(40, round)
    again = started(slots)

    assert again.spent == 6 * 40
    assert again.left == 1000 - 240
    assert again.round == 3


def test_no_number_is_answered_more_often_than_is_counted() -> None:
    """However the power is cut: an answer that is cheaper than the lease it is paid from, too.

    What noise from tables takes of delta is counted so.
    """
    slots = enrolled(LIMITS._replace(budget=10**6))
    answers: dict[int, int] = {}
    for most in [1, 3, 7, 8, 50] * 40:
        budget, price = started(slots, 8), 100
        for round in range(budget.round + 1, budget.round + 1 + most):
            assert budget.charge(price, round)
            answers[round] = answers.get(round, 0) + 1
            price = 1

    assert len(answers) > 200
    assert max(answers.values()) <= BEHIND


def test_a_number_that_is_for_once_is_written_also_within_a_lease() -> None:
    """A lease may pay for it already; but when its number comes again it has another key."""
    slots = enrolled()
    budget = started(slots, 8)
    assert budget.charge(40, 1)
    assert budget.charge(40, 3, once=True)

    assert started(slots).round == 3


@pytest.mark.parametrize("far", range(1, 2 * BEHIND + 1))
def test_no_number_is_answered_once_more_from_any_distance(far: int) -> None:
    """The first answer of a start is on the medium at once, so each asks the least that is left.

    Then the number in question, which is so far from the first: BEHIND times, from BEHIND - 1.
    """
    slots = enrolled(LIMITS._replace(budget=10**6))
    answers = 0
    for number in range(1, far + 2):
        budget = started(slots, 8)
        for round in sorted({number, far + 1}):
            if round > budget.round:
                budget.charge(1, round)
                answers += round == far + 1

    assert answers == (far + 1 if far < BEHIND else 1)


def test_rounds_that_were_missed_are_not_answered_after_a_power_cut() -> None:
    """Numbers leap where a device was away, and a lease lasts for many more of them."""
    slots = enrolled()
    budget = started(slots, 8)
    for round in (1, 5, 100, 1000):
        budget.charge(1, round)

    assert started(slots).round == 1000


def test_a_lease_is_no_longer_than_what_is_left() -> None:
    """The last answers are not lost to rounding, and nothing beyond the budget is leased."""
    slots = enrolled()
    budget = started(slots, 8)
    paid = [budget.charge(150, round) for round in range(8)]

    assert paid == [True] * 6 + [False] * 2
    assert told(slots)[1].spent == 1000


def test_exhausted_is_for_ever() -> None:
    """Not for a cheaper answer, nor after a start: when it ends must tell nothing and stay so."""
    slots = enrolled()
    budget = started(slots)
    assert budget.charge(900, 1)
    assert not budget.exhausted

    assert not budget.charge(101, 2)
    assert budget.exhausted
    assert not budget.charge(1, 3)
    again = started(slots)
    assert (again.exhausted, again.left, again.charge(1, 4)) == (True, 0, False)


def test_exhausted_writes_nothing_more() -> None:
    """A device that says so every minute for years must not wear its flash out with it."""
    slots = enrolled()
    budget = started(slots)
    budget.charge(1001, 0)
    before = list(slots._held)
    budget.charge(1, 1)

    assert slots._held == before


def test_a_budget_of_nothing_never_answers() -> None:
    """Its owner may silence a device over the air."""
    slots = enrolled()
    budget = started(slots)
    budget.charge(40, 1)
    budget.tighten(LIMITS._replace(version=2, budget=0))

    assert budget.exhausted
    assert not budget.charge(1, 2)
    assert started(slots).exhausted


def test_tightening_is_kept_and_counts_at_once() -> None:
    """A smaller budget may end in the middle of a lease that the larger one had paid for."""
    slots = enrolled()
    budget = started(slots, 8)
    budget.charge(100, 0)
    budget.tighten(TIGHTER._replace(budget=350))
    paid = [budget.charge(100, round) for round in (1, 2, 3)]

    assert paid == [True, True, False]
    assert started(slots).limits == TIGHTER._replace(budget=350)


def test_the_same_limits_again_are_no_change() -> None:
    """A retained message comes at each reconnection; it must neither wear nor alarm."""
    slots = enrolled()
    budget = started(slots)
    budget.tighten(TIGHTER)
    before = list(slots._held)
    budget.tighten(TIGHTER)

    assert slots._held == before


def test_looser_limits_are_refused_and_nothing_is_written() -> None:
    """The config key is on a gateway, and gateways are broken into."""
    slots = enrolled()
    budget = started(slots)
    before = list(slots._held)
    for change in ({"budget": 1001}, {"variance": 9999}, {"version": 1, "budget": 9}):
        with pytest.raises(Fault):
            budget.tighten(LIMITS._replace(**{"version": 2, **change}))

    assert budget.limits == LIMITS
    assert slots._held == before


def test_a_budget_that_has_not_booted_does_nothing() -> None:
    """Without the slots it would start from nothing spent."""
    budget = Budget(enrolled(), KEY)

    assert (budget.left, budget.epoch, budget.chain) == (0, 0, b"")
    with pytest.raises(Lost, match="boot"):
        budget.charge(1, 1)
    with pytest.raises(Lost, match="boot"):
        budget.tighten(TIGHTER)


def test_a_budget_boots_once() -> None:
    """A second epoch in one life would leave a Node drawing noise under the name of the first."""
    budget = started(enrolled())

    with pytest.raises(ValueError, match="already"):
        budget.boot()
    assert budget.charge(1, 1)


@pytest.mark.parametrize(("cost", "round"), [(0, 1), (-5, 1), (5, -1)])
def test_an_answer_that_costs_nothing_is_refused(cost: int, round: int) -> None:
    """A price below 1 would let a device answer for ever, one below 0 give budget back."""
    budget = started(enrolled())

    with pytest.raises(ValueError, match="at least 1"):
        budget.charge(cost, round)
    assert budget.spent == 0


def test_a_lease_of_nothing_is_refused() -> None:
    """It would charge and never allow."""
    with pytest.raises(ValueError, match="at least 1"):
        Budget(enrolled(), KEY, 0)


def test_slots_that_hold_anything_are_not_provisioned() -> None:
    """A second enrolment over a live device would forget what it answered."""
    for i in range(COUNT):
        slots = Ram()
        slots.write(i, b"?")
        with pytest.raises(ValueError, match="already holds"):
            provision(slots, KEY, first_chain(ROOT), LIMITS)

        assert slots.read(i) == b"?"


@pytest.mark.parametrize(
    ("chain", "key", "limits"),
    [(b"short", KEY, LIMITS), (ROOT, b"short", LIMITS), (ROOT, KEY, LIMITS._replace(variance=0))],
)
def test_what_cannot_be_kept_is_not_provisioned(chain: bytes, key: bytes, limits: Limits) -> None:
    """Better the host says so now than the board in the attic."""
    slots = Ram()
    with pytest.raises(ValueError, match=r"32|whole number"):
        provision(slots, key, chain, limits)

    assert slots._held == [b""] * COUNT


def test_the_record_is_the_documented_one() -> None:
    """Whoever examines a board that failed has the page and a hex dump."""
    slots = enrolled()
    budget = started(slots)
    budget.charge(40, 6)
    data = slots.read(1)
    fields = [int.from_bytes(data[at : at + 8], "big") for at in (4, 12, 20, 28)]

    assert len(data) == SIZE == 117
    assert data[:4] == b"hvb1"
    assert fields == [8, 1, 120, 7]
    assert data[36:68] == chain_at(ROOT, 1)


# What a power cut alone never does: slots that are spoilt, full, worn out or shared.


def spoilt(kind: str, data: bytes) -> bytes:
    return {
        "cut short": data[:60],
        "empty": b"",
        "forged": data[:20] + bytes([data[20] ^ 128]) + data[21:],
        "longer": data + b"\0",
        "of another magic": b"hvb2" + data[4:],
        "of another key": data[:-16] + pack(unpack(data, KEY), bytes(32))[-16:],
    }[kind]


KINDS = ["cut short", "empty", "forged", "longer", "of another magic", "of another key"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", range(COUNT))
def test_one_spoilt_slot_loses_nothing_and_is_told(kind: str, which: int) -> None:
    """Whoever forges one gains nothing: the others say as much, and the evidence is named."""
    slots = enrolled()
    budget = started(slots)
    for round in range(5):
        budget.charge(40, round)
    budget.tighten(TIGHTER)
    slots.write(which, spoilt(kind, slots.read(which)))
    again = started(slots)

    assert (again.spent, again.epoch, again.limits) == (240, 2, TIGHTER)
    assert f"slot {which} holds" in again.mended
    assert not started(slots).mended


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("left", range(COUNT))
@pytest.mark.parametrize("old", [False, True])
def test_one_slot_alone_ends_the_key(kind: str, left: int, old: bool) -> None:
    """It may be an old copy: of a full budget, and of an epoch whose noise is known."""
    slots = enrolled()
    copy = slots.read(left)
    started(slots).charge(40, 1)
    for i in range(COUNT):
        if i != left:
            slots.write(i, spoilt(kind, slots.read(i)))
    if old:
        slots.write(left, copy)
    before = list(slots._held)
    budget = Budget(slots, KEY)

    with pytest.raises(Lost, match="with a new key"):
        budget.boot()
    assert slots._held == before  # the evidence
    assert "with a new key" in budget.fault
    with pytest.raises(Lost, match="with a new key"):
        budget.charge(1, 1)
    with pytest.raises(ValueError, match="already"):
        budget.boot()


def record(**change: Any) -> Record:
    return Record(4, 2, 80, 5, chain_at(ROOT, 2), TIGHTER, b"")._replace(**change)


@pytest.mark.parametrize(
    ("older", "newer", "why"),
    [
        (record(counter=4), record(counter=4), "follow"),
        (record(counter=4), record(counter=7), "follow"),
        (record(epoch=3), record(counter=5), "backwards"),
        (record(spent=81), record(counter=5), "backwards"),
        (record(round=6), record(counter=5), "backwards"),
        (record(), record(counter=5, limits=LIMITS), "limits went backwards"),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_slots_that_contradict_each_other_end_the_key(
    older: Record, newer: Record, why: str, first: int
) -> None:
    """One was put back from a copy; which counters it said is told, the chain key never is."""
    slots = Ram()
    slots.write(first, pack(older, KEY))
    slots.write(1 - first, pack(newer, KEY))

    with pytest.raises(Lost, match=why) as raised:
        started(slots)
    said = str(raised.value)
    assert f"slot {first} says counter {older.counter}, epoch {older.epoch}" in said
    assert f"slot {1 - first} says counter {newer.counter}" in said
    assert older.chain.hex() not in said
    assert repr(older.chain) not in said


def test_an_old_slot_takes_nothing_back_whatever_becomes_of_another() -> None:
    """At any time of a life: put back, with a second one erased, it is behind or not believed."""
    slots, copies = enrolled(), []
    for _ in range(3):
        budget = started(slots)
        for round in range(5):
            copies.append(list(slots._held))
            budget.charge(40, budget.round + 1 + round)
            for then in copies[:-1]:
                for i, lost in product(range(COUNT), range(COUNT)):
                    after = Ram()
                    after._held = list(slots._held)
                    after.write(lost, b"")
                    after.write(i, then[i])
                    again = Budget(after, KEY)
                    with suppress(Lost):
                        again.boot()
                        assert again.epoch > budget.epoch
                        assert again.spent >= budget.spent


# The slots of a device in its second boot, with 360 of 1000 leased and a third answer to come, as
# devices wrote them that had two.
TWO = (
    "68766231000000000000000b000000000000000200000000000001680000000000000008edd1233d5eeb06c51c"
    "8e8ad218b6a13ccf6128e4acc0600f010f59a60c044ecc0000000148000000000000019000000000000027100000"
    "0000000003e80000000090f26626a0a6b90ff393da7446e4a494",
    "68766231000000000000000c000000000000000200000000000001680000000000000008edd1233d5eeb06c51c"
    "8e8ad218b6a13ccf6128e4acc0600f010f59a60c044ecc0000000148000000000000019000000000000027100000"
    "0000000003e800000000ae90e16d517b1b4549bfc9dfb844da4d",
)


def test_a_device_of_two_slots_goes_on_and_gets_its_third() -> None:
    """Whatever is cut while it is written; one of its slots alone is believed no more."""
    for whole in range(COUNT + 1):
        slots = Bad([*map(bytes.fromhex, TWO), b""], whole, full)
        with suppress(Lost):
            started(slots)
        slots._whole = 99
        again = started(slots)

        assert again.epoch in (3, 4)
        assert (again.spent, again.round, again.chain) == (360, 7, chain_at(ROOT, again.epoch))
        assert len(told(slots)) == COUNT
    for kept in TWO:
        alone = Ram()
        alone.write(TWO.index(kept), bytes.fromhex(kept))
        with pytest.raises(Lost, match="one alone may be an old copy"):
            started(alone)


def test_a_slot_put_back_while_the_device_runs_stops_it() -> None:
    """Two processes with one budget would each forget what the other one answered."""
    slots = enrolled()
    first = started(slots)
    first.charge(40, 1)
    second = started(slots)
    second.charge(40, 2)
    for _ in range(2):
        assert first.charge(40, 3)  # within the lease that it had

    with pytest.raises(Lost, match="somebody else"):
        first.charge(40, 4)
    with pytest.raises(Lost, match="somebody else"):
        first.charge(1, 5)
    assert second.charge(40, 6)


class Bad(Ram):
    """A flash that does something else than write, from the given write on."""

    def __init__(self, held: list[bytes], whole: int, fault: Callable[[bytes], bytes]) -> None:
        super().__init__()
        self._held = list(held)
        self._whole = whole
        self._fault = fault

    def write(self, i: int, data: bytes) -> None:
        self._whole -= 1
        super().write(i, data if self._whole >= 0 else self._fault(data))


def full(data: bytes) -> bytes:
    raise OSError(28, "no space left")


def interrupted(data: bytes) -> bytes:
    raise KeyboardInterrupt


@pytest.mark.parametrize("whole", range(9))
@pytest.mark.parametrize("fault", [full, interrupted, lambda data: data[:-1], lambda data: b""])
def test_a_write_that_fails_stops_the_device_until_it_starts_again(
    whole: int, fault: Callable[[bytes], bytes]
) -> None:
    """Full or worn out, nothing is answered; and once mended, nothing was forgotten."""
    slots = Bad(enrolled()._held, whole, fault)
    budget, answered = Budget(slots, KEY, 2), 0
    try:
        budget.boot()
        while budget.charge(40, answered):
            answered += 1
    except (Lost, KeyboardInterrupt):
        pass

    assert budget.spent == 40 * answered
    assert answered == max(whole - COUNT, 0) // COUNT * 2
    with pytest.raises(Lost, match=r"start the device again|start it again"):
        budget.charge(1, 10)
    with pytest.raises(Lost, match=r"start the device again|start it again"):
        budget.tighten(TIGHTER)
    slots._whole = 99
    assert started(slots).spent >= 40 * answered


def test_a_slot_that_cannot_be_read_is_written_again() -> None:
    """A file system may find one file broken; the other slots say the same."""

    class Broken(Ram):
        broken = True

        def read(self, i: int) -> bytes:
            if i == 0 and self.broken:
                raise OSError(5, "input/output error")
            return super().read(i)

        def write(self, i: int, data: bytes) -> None:
            self.broken = self.broken and i != 0
            super().write(i, data)

    slots = Broken()
    slots._held = enrolled()._held
    budget = started(slots)

    assert budget.mended == "slot 0 cannot be read, and is written again"
    assert budget.charge(40, 1)


def test_a_slot_that_can_never_be_read_stops_the_device() -> None:
    """What cannot be read back may not be there."""

    class Broken(Ram):
        def read(self, i: int) -> bytes:
            if i == 0:
                raise OSError(5, "input/output error")
            return super().read(i)

    slots = Broken()
    slots._held = enrolled()._held

    with pytest.raises(Lost, match="does not hold"):
        started(slots)


def test_the_newest_round_never_becomes_an_older_one() -> None:
    """Or a Round of before could be answered once more; not by a charge, nor by a boot."""
    slots = enrolled()
    budget = started(slots)
    assert [budget.charge(20, number) for number in (9, 3)] == [True, True]
    assert budget.round == 9
    assert started(slots).round == 9
